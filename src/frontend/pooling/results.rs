//! What ROW_COUNT() and FOUND_ROWS() say of a session's last results, after it has moved to another connection.

use crate::mutants::{self, Mutant};
use crate::protocol::cut::LastResult;
use crate::sql::find::words::Back;

/// A session's last results, and whether its connection knows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LastResults {
    row_count: i64,
    found_rows: i64,
    /// Which of the results are of statements on another connection.
    forgotten: Forgotten,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Forgotten {
    row_count: bool,
    found_rows: bool,
}

impl LastResults {
    /// A statement of the session has ended. `aside`: its rows are not those of FOUND_ROWS().
    pub(crate) fn note_result(&mut self, result: Option<LastResult>, aside: bool) {
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
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

    /// The client has had rows of which the connection does not know; `found`: so many for FOUND_ROWS().
    pub(crate) fn tell_rows(&mut self, found: Option<i64>) {
        self.row_count = -1;
        self.forgotten.row_count = true;
        if let Some(rows) = found {
            self.found_rows = rows;
            self.forgotten.found_rows = true;
        }
    }

    /// The server has told FOUND_ROWS().
    pub(crate) fn found(&mut self, rows: i64) {
        self.found_rows = rows;
    }

    /// A statement has changed FOUND_ROWS(), and the connection knows it.
    pub(crate) fn found_unseen(&mut self) {
        self.forgotten.found_rows = false;
    }

    /// Whether the connection knows FOUND_ROWS().
    pub(crate) fn are_found(&self) -> bool {
        !self.forgotten.found_rows
    }

    /// The session has another connection.
    pub(crate) fn moved(&mut self) {
        self.forgotten = Forgotten { row_count: true, found_rows: true };
    }

    /// From here on the connection alone knows the results.
    pub(crate) fn stay(&mut self) {
        self.forgotten = Forgotten::default();
    }

    /// What the connection does not know.
    pub(crate) fn remembered(&self, back: Back) -> Option<i64> {
        match back {
            Back::RowCount => self.forgotten.row_count.then_some(self.row_count),
            Back::FoundRows if mutants::on(Mutant::ForwardFoundRows) => None,
            Back::FoundRows => self.forgotten.found_rows.then_some(self.found_rows),
            Back::Warnings | Back::Errors | Back::ConnectionId | Back::ThreadId => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_remembered_after_a_move_until_there_are_others() {
        let mut results = LastResults::default();
        results.note_result(Some(LastResult::Rows(3)), false);
        results.note_result(Some(LastResult::Changed { rows: 7, told: None }), false);
        let said = |results: &LastResults| {
            [Back::RowCount, Back::FoundRows].map(|back| results.remembered(back))
        };
        assert_eq!(said(&results), [None, None], "the connection knows");
        results.moved();
        assert_eq!(said(&results), [Some(7), Some(3)]);
        results.note_result(None, false);
        assert_eq!(said(&results), [Some(7), Some(3)]);
        results.note_result(Some(LastResult::Failed), false);
        assert_eq!(said(&results), [None, Some(3)]);
        results.note_result(Some(LastResult::Rows(2)), true);
        assert_eq!(said(&results), [None, Some(3)], "of SHOW WARNINGS");
        results.note_result(Some(LastResult::Rows(0)), false);
        assert_eq!(said(&results), [None, None]);
        results.moved();
        results.stay();
        assert_eq!(said(&results), [None, None]);
    }
}
