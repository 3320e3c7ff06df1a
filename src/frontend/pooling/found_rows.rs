//! FOUND_ROWS() of a session: what its statements do to it, and who knows it.

use super::lost::{is_single, only_reads_variables};
use super::pins::Pin;
use super::seat::Seat;
use crate::protocol::cut::LastResult;
use crate::sql::find::first_word::begins_with;
use crate::sql::session::effects::{Mark, SessionEffects};

/// Statements whose rows it counts.
const QUERIES: [&[u8]; 4] = [b"select", b"with", b"values", b"table"];

/// What the statement under way does to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Finding {
    /// It is perhaps the number of its rows.
    #[default]
    Perhaps,
    /// It is the number of its rows.
    Rows,
    /// Nothing, though there are rows.
    Nothing,
    /// The connection alone knows.
    Unseen,
}

impl Seat {
    /// A statement is about to run. The one after SQL_CALC_FOUND_ROWS may ask for the number in a way in which the
    /// connection alone can answer; after that the session takes the number along.
    pub(super) fn note_finding(&mut self, text: &[u8], effects: &SessionEffects) {
        self.pins.remove(Pin::FoundRows);
        let has = |mark| effects.has(mark);
        let query = || begins_with(text, &QUERIES);
        // One that stores its row says nothing of it.
        let stores = !effects.variables.is_empty() && query() && !only_reads_variables(text);
        let unseen = [Mark::CalcFoundRows, Mark::Call, Mark::Execute, Mark::Block].map(has);
        // The results of several statements on their way are not told apart.
        let alone = self.if_lost.before.is_some();
        let before = !alone && self.finding == Finding::Unseen;
        self.finding = if before || stores || unseen.contains(&true) {
            Finding::Unseen
        } else if has(Mark::Diagnostics) && begins_with(text, &[b"show"]) && !text.contains(&b'(') {
            // SHOW COUNT(*) WARNINGS is counted.
            Finding::Nothing
        } else if self.doubts.found_rows && alone && query() && is_single(text) {
            Finding::Rows
        } else {
            Finding::Perhaps
        };
    }

    /// A statement has ended.
    pub(super) fn take_in_result(&mut self, result: Option<LastResult>) {
        self.results.take_in(result, self.finding == Finding::Nothing);
        match (self.finding, result) {
            (_, None | Some(LastResult::Failed)) => {}
            (Finding::Unseen, Some(LastResult::Rows(_) | LastResult::Changed(_))) => {
                self.doubts.found_rows = true;
                self.results.found_unseen();
            }
            (Finding::Rows, Some(LastResult::Rows(_))) => self.doubts.found_rows = false,
            (Finding::Rows | Finding::Perhaps | Finding::Nothing, Some(_)) => {}
        }
    }

    /// The server has told it.
    pub(crate) fn note_found_rows(&mut self, rows: i64) {
        self.results.found(rows);
    }
}
