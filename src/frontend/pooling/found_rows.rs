//! ROW_COUNT() and FOUND_ROWS() of a session: what its statements do to them, and who knows them.

use super::capture::Doubts;
use super::finding::{RowsFound, finding};
use super::lost::only_reads_variables;
use crate::mutants::{self, Mutant};
use crate::protocol::cut::LastResult;
use crate::sql::find::first_word::begins_with;
use crate::sql::find::words::Back;
use crate::sql::session::effects::{Mark, SessionEffects};
use crate::types::Flavour;

/// A session's last results, and what the statement under way does to them.
#[derive(Debug, Default)]
pub(crate) struct ResultCounts {
    row_count: i64,
    found_rows: i64,
    /// Which of the results are of statements on another connection.
    forgotten: Forgotten,
    finding: RowsFound,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Forgotten {
    row_count: bool,
    found_rows: bool,
}

impl ResultCounts {
    /// A statement is about to run. `alone`: the server owes nothing before it; `limited`: a limit is set for queries that
    /// have none.
    pub(super) fn note(
        &mut self,
        text: &[u8],
        effects: &SessionEffects,
        (alone, limited): (bool, bool),
        flavour: Flavour,
    ) {
        let has = |mark| effects.has(mark);
        // One that stores its row says nothing of it.
        let stores = !effects.variables.is_empty()
            && begins_with(text, &[b"select", b"with", b"values", b"table"])
            && !only_reads_variables(text);
        let unseen = [Mark::CalcFoundRows, Mark::Call, Mark::Execute, Mark::Block].map(has);
        // The results of several statements on their way are not told apart.
        let before = Some(self.finding).filter(|_| !alone);
        self.finding = match finding(text, flavour) {
            _ if stores || unseen.contains(&true) => RowsFound::Unseen,
            _ if before == Some(RowsFound::Unseen) => RowsFound::Unseen,
            _ if before == Some(RowsFound::More) => RowsFound::More,
            RowsFound::Rows if limited => RowsFound::More,
            RowsFound::Rows | RowsFound::One | RowsFound::Matched if !alone => RowsFound::Perhaps,
            finding => finding,
        };
    }

    /// A statement is about to run of which nothing is known.
    pub(super) fn note_unknown(&mut self) {
        self.finding = RowsFound::Unseen;
    }

    /// A statement has ended. What is not known of FOUND_ROWS() is in doubt.
    pub(super) fn note_result(&mut self, result: Option<LastResult>, doubts: &mut Doubts) {
        self.count(result, self.finding == RowsFound::Nothing);
        // Commands without a text find nothing.
        let Some(result) = result else { return };
        let finding = std::mem::take(&mut self.finding);
        if result == LastResult::Failed {
            return;
        }
        match (finding, result) {
            (RowsFound::Unseen, _) => {
                doubts.found_rows = true;
                self.forgotten.found_rows = false;
            }
            (RowsFound::More, _) => {
                doubts.found_more = true;
                self.forgotten.found_rows = false;
            }
            // If the connection knows the number, it does so in any case.
            (RowsFound::Maybe, _) => doubts.found_more |= !self.forgotten.found_rows,
            (RowsFound::Rows, LastResult::Rows(_)) => is_found(doubts),
            (RowsFound::One, LastResult::Changed { .. }) => self.find(1, doubts),
            (RowsFound::Matched, LastResult::Changed { rows, told }) => {
                self.find(told.unwrap_or(rows), doubts);
            }
            (
                RowsFound::Rows
                | RowsFound::Perhaps
                | RowsFound::Nothing
                | RowsFound::One
                | RowsFound::Matched,
                _,
            ) => {}
        }
    }

    /// A statement has ended. `aside`: its rows are not those of FOUND_ROWS().
    fn count(&mut self, result: Option<LastResult>, aside: bool) {
        self.row_count = match result {
            None => return,
            Some(LastResult::Rows(_)) if aside => -1,
            Some(LastResult::Rows(rows)) => {
                self.found_rows = number(rows);
                self.forgotten.found_rows = false;
                -1
            }
            Some(LastResult::Changed { rows, .. }) => number(rows),
            Some(LastResult::Failed) => -1,
        };
        self.forgotten.row_count = false;
    }

    /// FOUND_ROWS() is this number, and the connection knows it.
    fn find(&mut self, rows: u64, doubts: &mut Doubts) {
        is_found(doubts);
        self.found_rows = number(rows);
        self.forgotten.found_rows = false;
    }

    /// The server has told FOUND_ROWS().
    pub(crate) fn note_found(&mut self, rows: i64) {
        self.found_rows = rows;
    }

    /// The session has another connection than its last statement had, or its connection has heard something that is not the
    /// session's.
    pub(crate) fn note_move(&mut self) {
        self.forgotten = Forgotten { row_count: true, found_rows: true };
    }

    /// The client hears all reports from here on: results are not counted any more.
    pub(crate) fn note_reports_left(&mut self) {
        self.forgotten = Forgotten::default();
    }

    /// The client hears an error in place of what the command under way has come to.
    pub(super) fn note_failed(&mut self) {
        self.count(Some(LastResult::Failed), false);
    }

    /// The client has had rows of which the connection does not know; `found`: so many for FOUND_ROWS().
    pub(super) fn tell_rows(&mut self, found: Option<i64>) {
        self.row_count = -1;
        self.forgotten.row_count = true;
        if let Some(rows) = found {
            self.found_rows = rows;
            self.forgotten.found_rows = true;
        }
    }

    /// What the connection does not know.
    pub(super) fn remembered(&self, back: Back) -> Option<i64> {
        match back {
            Back::RowCount => self.forgotten.row_count.then_some(self.row_count),
            Back::FoundRows if mutants::on(Mutant::ForwardFoundRows) => None,
            Back::FoundRows => self.forgotten.found_rows.then_some(self.found_rows),
            Back::Warnings | Back::Errors | Back::ConnectionId | Back::ThreadId => None,
        }
    }

    /// Whether the connection does not know the session's last results.
    pub(super) fn have_moved(&self) -> bool {
        [Back::RowCount, Back::FoundRows].iter().any(|back| self.remembered(*back).is_some())
    }
}

fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// FOUND_ROWS() is known.
fn is_found(doubts: &mut Doubts) {
    (doubts.found_rows, doubts.found_more) = (false, false);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_remembered_after_a_move_until_there_are_others() {
        let mut results = ResultCounts::default();
        results.count(Some(LastResult::Rows(3)), false);
        results.count(Some(LastResult::Changed { rows: 7, told: None }), false);
        let said = |results: &ResultCounts| {
            [Back::RowCount, Back::FoundRows].map(|back| results.remembered(back))
        };
        assert_eq!(said(&results), [None, None], "the connection knows");
        results.note_move();
        assert_eq!(said(&results), [Some(7), Some(3)]);
        results.count(None, false);
        assert_eq!(said(&results), [Some(7), Some(3)]);
        results.count(Some(LastResult::Failed), false);
        assert_eq!(said(&results), [None, Some(3)]);
        results.count(Some(LastResult::Rows(2)), true);
        assert_eq!(said(&results), [None, Some(3)], "of SHOW WARNINGS");
        results.count(Some(LastResult::Rows(0)), false);
        assert_eq!(said(&results), [None, None]);
        results.note_move();
        results.note_reports_left();
        assert_eq!(said(&results), [None, None]);
    }
}
