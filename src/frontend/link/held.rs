//! While a switchover is prepared: whether the next command would begin something, and the wait until it may.

use std::pin::pin;

use super::close_reason::CloseReason;
use super::input::ClientInput;
use super::{Interest, Link, LinkEvent};
use crate::frontend::shared::switchover::Switchover;
use crate::metrics::GaugeGuard;
use crate::protocol::status::Status;

/// What is held back while a switchover is prepared.
#[derive(Debug, Default)]
pub(super) struct HeldForSwitchover {
    /// The number of the switchover for which the session rests; 0: it does not.
    number: u64,
    /// A command waits in the inbox.
    command: bool,
    /// It is counted.
    statement: Option<GaugeGuard>,
}

impl Link {
    /// Whether a transaction is open, as the server said last.
    pub(crate) fn is_inside(&self) -> bool {
        self.status.has(Status::IN_TRANS)
    }

    /// Whether nothing runs at the server, and nothing of a command is on its way there.
    pub(crate) fn is_between(&self) -> bool {
        self.pending.is_empty()
            && self.server.is_flushed()
            && matches!(self.input, ClientInput::Command)
    }

    /// The next command stays in the inbox until the session looks at it again.
    pub(crate) fn keep_back(&mut self) {
        self.held.command = true;
    }

    /// Whether a command was kept back.
    pub(crate) fn is_kept_back(&self) -> bool {
        self.held.command
    }

    /// The command that was kept back is to be looked at. Whether there was one.
    pub(crate) fn take_kept_back(&mut self) -> bool {
        std::mem::take(&mut self.held.command)
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
    pub(crate) async fn rest_for_switchover(
        &mut self,
        switchover: &Switchover,
        number: u64,
    ) -> Result<(), CloseReason> {
        let first = std::mem::replace(&mut self.held.number, number) != number;
        if self.held.command && self.held.statement.is_none() {
            self.held.statement = Some(switchover.count_statement());
        }
        if first && self.seat.is_some() { self.leave().await } else { Ok(()) }
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
    pub(crate) async fn learn_whether_inside(&mut self) -> Result<(), CloseReason> {
        if self.status_known || self.seat.is_none() || !self.server.is_there() {
            return Ok(());
        }
        self.learn().await
    }

    /// Waits while a switchover is prepared, before the session gets a connection for a command.
    pub(super) async fn until_let_go(
        &mut self,
        switchover: &Switchover,
    ) -> Result<(), CloseReason> {
        if !switchover.is_on() {
            return Ok(());
        }
        let _waits = switchover.count_statement();
        let mut over = pin!(switchover.over());
        loop {
            tokio::select! {
                biased;
                () = &mut over => return Ok(()),
                event = self.next(Interest::Ahead) => if event? == LinkEvent::Client {
                    self.read_ahead()?;
                },
            }
        }
    }
}
