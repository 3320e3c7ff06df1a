//! A row that names this incarnation: what it says, and what is to be written there.

use std::time::Duration;

use tokio::time::Instant;

use super::countdown::Countdown;
use crate::store::rows::LockRow;
use crate::store::statement::{RowRelease, WINDOW};

/// Until this time after a change in memory it is sent to the store.
pub(super) const BEHIND: Duration = Duration::from_millis(25);

/// What is to be written of an owned name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// Who has the lock.
    Show,
    /// Nobody needs the name here.
    GiveBack,
    /// The row is right: the question of another proxy is taken out of it.
    Answer,
}

/// A row that names this incarnation.
#[derive(Debug)]
pub(super) struct Owned {
    /// The token that the row has.
    row: u64,
    /// The last token that was handed out.
    last: u64,
    /// Token of the hold that the row shows; 0: it shows none.
    shown: u64,
    /// Another proxy wants the name: each change is written.
    wanted: bool,
    /// The row says that each change of it is written.
    exact: bool,
    due: Option<Due>,
    /// The name is kept, and was used last at this time.
    used: Option<Instant>,
    /// Callers that wait until the row is right.
    told: Vec<Countdown>,
    /// Those of them for whom the row is being written.
    telling: Vec<Countdown>,
    /// The name is in the list of those to be shown.
    listed: bool,
    /// The name is in the list of those that are kept.
    timed: bool,
}

impl Owned {
    /// The row after a grant. `exact`: it says that each change of it is written.
    pub(super) fn granted(token: u64, exact: bool) -> Self {
        let (wanted, listed, timed) = (false, false, false);
        let (told, telling) = <_>::default();
        Self {
            row: token,
            last: token,
            shown: token,
            wanted,
            exact,
            due: None,
            used: None,
            told,
            telling,
            listed,
            timed,
        }
    }

    /// The row after another grant: what waits for it goes on.
    pub(super) fn after(before: Option<Self>, token: u64, exact: bool) -> Self {
        let now = Self::granted(token, exact);
        let Some(before) = before else { return now };
        let Self { told, telling, listed, timed, used, .. } = before;
        Self { used, told, telling, listed, timed, ..now }
    }

    /// The row was written in another epoch, with this token.
    pub(super) fn carried(&mut self, token: u64) {
        (self.row, self.last, self.shown) = (token, self.last.max(token), token);
        self.exact = false;
    }

    /// The token that the row has.
    pub(super) fn row(&self) -> u64 {
        self.row
    }

    /// Frees the row.
    pub(super) fn release(&self) -> RowRelease {
        RowRelease { token: self.row, last: self.last }
    }

    pub(super) fn due(&self) -> Option<Due> {
        self.due
    }

    /// Whether the row shows another hold than that of this token; 0: than none.
    pub(super) fn is_behind(&self, token: u64) -> bool {
        self.shown != token
    }

    /// Whether the row is to be written now. A hold that has only begun may soon be over, and the row shows none.
    pub(super) fn is_overdue(&self, token: u64, since: Option<Instant>) -> bool {
        let asked = self.wanted || !self.told.is_empty() || self.shown != 0;
        self.is_behind(token) && (asked || since.is_none_or(|since| since.elapsed() >= BEHIND))
    }

    /// The row is being written, as it is to be now. A hold that comes later is no concern of those who have asked.
    pub(super) fn begin_telling(&mut self) {
        let told = std::mem::take(&mut self.told);
        self.telling.extend(told);
    }

    /// Whether another proxy wants the name.
    pub(super) fn is_wanted(&self) -> bool {
        self.wanted
    }

    /// Another proxy wants the name: it is not kept.
    pub(super) fn want(&mut self) {
        (self.wanted, self.used) = (true, None);
    }

    /// Whether the row says that each change of it is written.
    pub(super) fn is_exact(&self) -> bool {
        self.exact
    }

    /// The row says so from now on.
    pub(super) fn note_exact(&mut self) {
        self.exact = true;
    }

    /// Whether a client may have its answer before the change is written.
    pub(super) fn may_be_behind(&self) -> bool {
        !self.wanted && !self.exact
    }

    /// The name was used now, and is kept.
    pub(super) fn use_now(&mut self) {
        self.used = Some(Instant::now());
    }

    /// When a name that is kept was used last.
    pub(super) fn used(&self) -> Option<Instant> {
        self.used
    }

    /// Has this written.
    pub(super) fn set_due(&mut self, due: Due) {
        self.due = Some(due);
    }

    /// Tells a caller when the row is right.
    pub(super) fn tell_later(&mut self, told: Countdown) {
        self.told.push(told);
        self.due.get_or_insert(Due::Show);
    }

    /// Enters the list of names to be shown, unless it is there. Whether it was not.
    pub(super) fn enter_list(&mut self) -> bool {
        !std::mem::replace(&mut self.listed, true)
    }

    /// Leaves that list.
    pub(super) fn leave_list(&mut self) {
        self.listed = false;
    }

    /// Enters the list of names that are kept, unless it is there. Whether it was not.
    pub(super) fn enter_kept(&mut self) -> bool {
        !std::mem::replace(&mut self.timed, true)
    }

    /// Leaves that list.
    pub(super) fn leave_kept(&mut self) {
        self.timed = false;
    }

    /// Whether nobody is to look at the row again.
    pub(super) fn is_left(&self) -> bool {
        !self.timed && self.due.is_none()
    }

    /// Whether another proxy may be served by a look at the row.
    pub(super) fn is_ahead(&self) -> bool {
        self.used.is_some() || self.row != self.last
    }

    /// The token for a row that shows nobody: it is spent.
    pub(super) fn spend(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// The row was not written after all.
    pub(super) fn show_again(&mut self) {
        let telling = std::mem::take(&mut self.telling);
        self.told.extend(telling);
        self.due.get_or_insert(Due::Show);
    }

    /// The change that was due is under way.
    pub(super) fn take_due(&mut self) -> Option<Due> {
        self.due.take()
    }

    /// The row was written, and shows this.
    pub(super) fn shows(&mut self, row: &LockRow, wanted: bool) {
        let (token, held) = (row.token, row.conn != 0);
        self.telling.clear();
        (self.row, self.last) = (token, self.last.max(token));
        self.shown = if held { token } else { 0 };
        (self.wanted, self.exact) = (wanted, row.is_exact());
    }

    /// Callers that wait for the row are told, or it is written again.
    pub(super) fn tell(&mut self, token: u64) {
        if !self.is_behind(token) {
            self.told.clear();
        } else if !self.told.is_empty() {
            self.due.get_or_insert(Due::Show);
        }
    }

    /// The next token, if the row need not be written for it.
    pub(super) fn next(&mut self) -> Option<u64> {
        (self.last + 1 < self.row + WINDOW).then(|| {
            self.last += 1;
            self.last
        })
    }
}
