//! While a switchover is prepared: whether the next command would begin something, and which has waited.

use std::sync::Arc;

use crate::frontend::shared::activity::{Activity, Doing};
use crate::frontend::shared::switchover::Switchover;
use crate::metrics::GaugeGuard;

/// What is held back while a switchover is prepared.
#[derive(Debug, Default)]
pub(crate) struct HeldForSwitchover {
    /// The number of the switchover for which the session rests; 0: it does not.
    number: u64,
    /// The number of the one for which the command in the inbox waits, or has waited; 0: for none.
    kept: u64,
    /// That command is counted.
    statement: Option<GaugeGuard>,
    /// What the session does, as others are told.
    activity: Arc<Activity>,
}

impl HeldForSwitchover {
    /// Where the session says what it does while a switchover is prepared.
    pub(crate) fn say_at(&mut self, activity: Arc<Activity>) {
        self.activity = activity;
    }

    /// The session rests for a switchover while it waits for a connection.
    pub(crate) fn say_rests(&self, number: u64) {
        self.activity.say(number, Doing::Rests);
    }

    /// Keeps the next command in the inbox until the session looks at it again, for the switchover of this number.
    /// False if the command has waited for an earlier switchover: then it goes on.
    pub(crate) fn keep_back(&mut self, number: u64) -> bool {
        if self.kept == 0 {
            self.kept = number;
        }
        self.kept == number
    }

    /// The number of the switchover for which the next command was kept back; 0: for none.
    pub(crate) fn kept_for(&self) -> u64 {
        self.kept
    }

    /// The next command has not waited yet.
    pub(crate) fn let_go(&mut self) {
        self.kept = 0;
    }

    /// The next command has waited for the switchover of this number.
    pub(crate) fn note_waited(&mut self, number: u64) {
        self.kept = number;
    }

    /// Whether the session rests for a switchover, or did until now.
    pub(crate) fn rests(&self) -> bool {
        self.number != 0
    }

    /// The session rests for the switchover of this number. `waits`: a command was kept back. Whether it did not rest before.
    pub(crate) fn rest(&mut self, switchover: &Switchover, number: u64, waits: bool) -> bool {
        let first = std::mem::replace(&mut self.number, number) != number;
        if waits && self.statement.is_none() {
            self.statement = Some(switchover.count_statement());
        }
        first
    }

    /// The session rests no more.
    pub(crate) fn end_rest(&mut self) {
        (self.number, self.statement) = (0, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_waits_for_one_switchover() {
        let mut held = HeldForSwitchover::default();
        assert!(held.keep_back(3) && held.keep_back(3));
        assert!(!held.keep_back(4), "it has waited before");
        held.let_go();
        assert!(held.keep_back(4));
    }
}
