//! While a switchover is prepared: whether the next command would begin something, and the wait until it may.

use std::sync::Arc;

use super::Link;
use super::close_reason::CloseReason;
use super::input::ClientInput;
use crate::frontend::shared::activity::{Activity, Doing};
use crate::frontend::shared::switchover::Switchover;
use crate::metrics::GaugeGuard;
use crate::protocol::status::Status;

/// What is held back while a switchover is prepared.
#[derive(Debug, Default)]
pub(super) struct HeldForSwitchover {
    /// The number of the switchover for which the session rests; 0: it does not.
    number: u64,
    /// The number of the one for which the command in the inbox waits, or has waited; 0: for none.
    kept: u64,
    /// It is counted.
    statement: Option<GaugeGuard>,
    /// What the session does, as others are told.
    activity: Arc<Activity>,
}

impl Link {
    /// Where the session says what it does while a switchover is prepared.
    pub(crate) fn say_at(&mut self, activity: Arc<Activity>) {
        self.held.activity = activity;
    }

    /// Whether a transaction is open, as the server said last.
    pub(crate) fn in_transaction(&self) -> bool {
        self.status.has(Status::IN_TRANS)
    }

    /// Whether a transaction may be open in which something was changed: after an error nobody knows.
    pub(crate) fn may_have_changes(&self) -> bool {
        let open = self.status.has(Status::IN_TRANS) && !self.status.has(Status::IN_TRANS_READONLY);
        open || !self.status_known
    }

    /// Whether nothing runs at the server, and nothing of a command is on its way there.
    pub(crate) fn between_commands(&self) -> bool {
        self.pending.is_empty()
            && self.server.is_flushed()
            && matches!(self.input, ClientInput::Command)
    }

    /// The next command stays in the inbox until the session looks at it again, for the switchover of this number. It does not
    /// if it has waited for an earlier one: then this is false.
    pub(crate) fn keep_back(&mut self, number: u64) -> bool {
        if self.held.kept == 0 {
            self.held.kept = number;
        }
        self.held.kept == number
    }

    /// Whether a command was kept back, and is there still.
    pub(crate) fn is_kept_back(&self) -> bool {
        self.held.kept != 0 && !self.inbox.is_empty()
    }

    /// Whether a command was kept back, but not for the switchover of this number.
    pub(crate) fn has_waited(&self, number: u64) -> bool {
        self.is_kept_back() && self.held.kept != number
    }

    /// The next command has not waited yet.
    pub(crate) fn let_go(&mut self) {
        self.held.kept = 0;
    }

    /// The same, if there is none that waits.
    pub(crate) fn let_go_if_none(&mut self) {
        if self.inbox.is_empty() {
            self.let_go();
        }
    }

    /// Whether the session rests for a switchover, or did until now.
    pub(crate) fn rests_for_switchover(&self) -> bool {
        self.held.number != 0
    }

    /// It does so no more.
    pub(crate) fn end_rest(&mut self) {
        (self.held.number, self.held.statement) = (0, None);
    }

    /// Outside a transaction, the session rests for the switchover of this number: it gives its connection back, once.
    pub(super) async fn rest_for_switchover(
        &mut self,
        switchover: &Switchover,
        number: u64,
    ) -> Result<(), CloseReason> {
        let first = std::mem::replace(&mut self.held.number, number) != number;
        if self.is_kept_back() && self.held.statement.is_none() {
            self.held.statement = Some(switchover.count_statement());
        }
        if first && self.pooled.is_some() { self.leave().await } else { Ok(()) }
    }

    /// Whether both sides talk freely.
    pub(crate) fn is_endless(&self) -> bool {
        self.server.is_endless()
    }

    /// Whether the session ends with its connection.
    pub(crate) fn is_tied(&self) -> bool {
        self.server.is_there() && !self.survives()
    }

    /// Has the server say whether a transaction is open, if that is not known after an error. Nothing may be owed. A
    /// session with a connection of its own is not asked: that would change its ROW_COUNT().
    pub(super) async fn learn_whether_inside(&mut self) -> Result<(), CloseReason> {
        if self.status_known || self.pooled.is_none() || !self.server.is_there() {
            return Ok(());
        }
        self.learn().await
    }

    /// Waits while a switchover is prepared, before the session gets a connection for a command.
    pub(super) async fn until_let_go(
        &mut self,
        switchover: &Switchover,
    ) -> Result<(), CloseReason> {
        let number = switchover.number();
        if number == 0 || self.has_waited(number) {
            return Ok(());
        }
        let _waits = switchover.count_statement();
        // The switchover may have been prepared after the session has begun to wait for a connection.
        self.held.activity.say(number, Doing::Rests);
        self.read_ahead_until(switchover.over(number)).await?;
        self.held.kept = number;
        Ok(())
    }
}
