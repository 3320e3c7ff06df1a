//! ROW_COUNT() and FOUND_ROWS() of a session: what its statements do to them, and who knows them.

use super::finding::{RowsFound, finding};
use super::lost::only_reads_variables;
use super::pins::Pin;
use super::pooled_session::PooledSession;
use crate::protocol::cut::LastResult;
use crate::sql::find::first_word::begins_with;
use crate::sql::find::words::Back;
use crate::sql::session::effects::{Mark, SessionEffects};
use crate::types::Flavour;

/// A limit for queries that have none.
const SELECT_LIMIT: &[u8] = b"sql_select_limit";

impl PooledSession {
    /// A statement is about to run. The one after SQL_CALC_FOUND_ROWS may ask for the number in a way in which the
    /// connection alone can answer; after that the session takes the number along.
    pub(super) fn note_finding(&mut self, text: &[u8], effects: &SessionEffects) {
        self.pins.remove(Pin::FoundRows);
        let has = |mark| effects.has(mark);
        // One that stores its row says nothing of it.
        let stores = !effects.variables.is_empty()
            && begins_with(text, &[b"select", b"with", b"values", b"table"])
            && !only_reads_variables(text);
        let unseen = [Mark::CalcFoundRows, Mark::Call, Mark::Execute, Mark::Block].map(has);
        // The results of several statements on their way are not told apart.
        let alone = self.loss_tracking.before.is_some();
        let before = Some(self.finding).filter(|_| !alone);
        let limited = self.state.variable(SELECT_LIMIT).is_some();
        let finding = finding(text, self.flavour);
        self.finding = match finding {
            _ if stores || unseen.contains(&true) => RowsFound::Unseen,
            _ if before == Some(RowsFound::Unseen) => RowsFound::Unseen,
            _ if before == Some(RowsFound::More) => RowsFound::More,
            RowsFound::Rows if limited => RowsFound::More,
            RowsFound::Rows | RowsFound::One | RowsFound::Matched if !alone => RowsFound::Perhaps,
            finding => finding,
        };
    }

    /// A statement has ended.
    pub(super) fn take_in_result(&mut self, result: Option<LastResult>) {
        self.results.take_in(result, self.finding == RowsFound::Nothing);
        // Commands without a text find nothing.
        let Some(result) = result else { return };
        let finding = std::mem::take(&mut self.finding);
        if result == LastResult::Failed {
            return;
        }
        match (finding, result) {
            (RowsFound::Unseen, _) => {
                self.doubts.found_rows = true;
                self.results.found_unseen();
            }
            (RowsFound::More, _) => {
                self.doubts.found_more = true;
                self.results.found_unseen();
            }
            // If the connection knows the number, it does so in any case.
            (RowsFound::Maybe, _) => self.doubts.found_more |= self.results.are_found(),
            (RowsFound::Rows, LastResult::Rows(_)) => self.is_found(),
            (RowsFound::One, LastResult::Changed { .. }) => self.find(1),
            (RowsFound::Matched, LastResult::Changed { rows, told }) => {
                self.find(told.unwrap_or(rows));
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

    /// FOUND_ROWS() is known.
    fn is_found(&mut self) {
        (self.doubts.found_rows, self.doubts.found_more) = (false, false);
    }

    /// FOUND_ROWS() is this number, and the connection knows it.
    fn find(&mut self, rows: u64) {
        self.is_found();
        self.results.found(i64::try_from(rows).unwrap_or(i64::MAX));
        self.results.found_unseen();
    }

    /// The server has told it.
    pub(crate) fn note_found_rows(&mut self, rows: i64) {
        self.results.found(rows);
    }

    /// The session has another connection than its last statement had.
    pub(crate) fn note_move(&mut self) {
        self.results.moved();
    }

    /// Its connection has heard something that is not the session's. A question `ahead` of a COMMIT leaves FOUND_ROWS() as
    /// it was on MySQL, and the COMMIT sets ROW_COUNT(). Where the client hears all reports, nothing was remembered.
    pub(crate) fn note_unseen(&mut self, ahead: bool) {
        let leaves = ahead && self.flavour == Flavour::MySql;
        if !(leaves || self.tracks && self.pins.has(Pin::Tracking)) {
            self.note_move();
        }
    }

    /// The client hears all reports from here on: results are not counted any more.
    pub(crate) fn note_reports_left(&mut self) {
        self.results.stay();
    }

    /// The client hears an error in place of what the command under way has come to.
    pub(crate) fn note_failed(&mut self) {
        self.results.take_in(Some(LastResult::Failed), false);
    }

    /// Whether the connection does not know the session's last results.
    pub(crate) fn has_moved(&self) -> bool {
        [Back::RowCount, Back::FoundRows].iter().any(|back| self.remembered(*back).is_some())
    }

    /// What the session must remember of its last results, since its connection does not.
    pub(crate) fn remembered(&self, back: Back) -> Option<i64> {
        self.results.remembered(back).or_else(|| self.diagnostics.as_ref()?.number(back))
    }
}
