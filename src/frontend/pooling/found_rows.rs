//! ROW_COUNT() and FOUND_ROWS() of a session: what its statements do to them, and who knows them.

use super::capture::Doubts;
use super::finding::{RowsFound, finding};
use super::lost::only_reads_variables;
use super::results::LastResults;
use crate::protocol::cut::LastResult;
use crate::sql::find::first_word::begins_with;
use crate::sql::find::words::Back;
use crate::sql::session::effects::{Mark, SessionEffects};
use crate::types::Flavour;

/// A session's last results, and what the statement under way does to them.
#[derive(Debug, Default)]
pub(crate) struct ResultCounts {
    last: LastResults,
    finding: RowsFound,
}

/// What a statement is about to run in.
#[derive(Debug, Clone, Copy)]
pub(super) struct StatementPlace {
    /// The server owes nothing before it.
    pub(super) alone: bool,
    /// A limit is set for queries that have none.
    pub(super) limited: bool,
    pub(super) flavour: Flavour,
}

impl ResultCounts {
    /// A statement is about to run.
    pub(super) fn note(&mut self, text: &[u8], effects: &SessionEffects, place: StatementPlace) {
        let StatementPlace { alone, limited, flavour } = place;
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
        self.last.note_result(result, self.finding == RowsFound::Nothing);
        // Commands without a text find nothing.
        let Some(result) = result else { return };
        let finding = std::mem::take(&mut self.finding);
        if result == LastResult::Failed {
            return;
        }
        match (finding, result) {
            (RowsFound::Unseen, _) => {
                doubts.found_rows = true;
                self.last.found_unseen();
            }
            (RowsFound::More, _) => {
                doubts.found_more = true;
                self.last.found_unseen();
            }
            // If the connection knows the number, it does so in any case.
            (RowsFound::Maybe, _) => doubts.found_more |= self.last.are_found(),
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

    /// FOUND_ROWS() is this number, and the connection knows it.
    fn find(&mut self, rows: u64, doubts: &mut Doubts) {
        is_found(doubts);
        self.last.found(i64::try_from(rows).unwrap_or(i64::MAX));
        self.last.found_unseen();
    }

    /// The server has told FOUND_ROWS().
    pub(crate) fn note_found(&mut self, rows: i64) {
        self.last.found(rows);
    }

    /// The session has another connection than its last statement had, or its connection has heard something that is not the
    /// session's.
    pub(crate) fn note_move(&mut self) {
        self.last.moved();
    }

    /// The client hears all reports from here on: results are not counted any more.
    pub(crate) fn note_reports_left(&mut self) {
        self.last.stay();
    }

    /// The client hears an error in place of what the command under way has come to.
    pub(super) fn note_failed(&mut self) {
        self.last.note_result(Some(LastResult::Failed), false);
    }

    /// The client has had rows of which the connection does not know; `found`: so many for FOUND_ROWS().
    pub(super) fn tell_rows(&mut self, found: Option<i64>) {
        self.last.tell_rows(found);
    }

    /// What the connection does not know.
    pub(super) fn remembered(&self, back: Back) -> Option<i64> {
        self.last.remembered(back)
    }

    /// Whether the connection does not know the session's last results.
    pub(super) fn have_moved(&self) -> bool {
        [Back::RowCount, Back::FoundRows].iter().any(|back| self.remembered(*back).is_some())
    }
}

/// FOUND_ROWS() is known.
fn is_found(doubts: &mut Doubts) {
    (doubts.found_rows, doubts.found_more) = (false, false);
}
