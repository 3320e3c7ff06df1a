//! A session while a switchover is prepared: it gives its connection back, and its next command waits, unless a
//! transaction is open.

use super::Session;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::loss::ends_with_server;
use crate::frontend::link::wait::Interest;
use crate::frontend::locks::attend::attend;
use crate::frontend::moves::errands::{ask_whether_inside, check_in_for_switchover};
use crate::frontend::shared::activity::Doing;

impl Session {
    /// Whether the session has to look at a switchover that is prepared, or was prepared until now.
    pub(super) fn switchover_pending(&self) -> bool {
        self.context.switchover.is_on() || self.link.held().rests() || self.link.is_kept_back()
    }

    /// Looks at it.
    pub(super) async fn handle_switchover(&mut self) -> Result<(), CloseReason> {
        let number = self.context.switchover.number();
        if self.link.client().inbox_is_empty() {
            self.link.held_mut().let_go();
        }
        if number == 0 || self.link.has_waited(number) {
            return self.go_on_after_switchover().await;
        }
        let doing = self.rest_for_switchover(number).await?;
        self.identity.activity().say(number, doing);
        if doing == Doing::Rests && !self.link.server().is_there() && self.link.is_kept_back() {
            // The session waits for a connection instead, and is counted there.
            self.link.held_mut().end_rest();
            return self.run_without_server().await;
        }
        Ok(())
    }

    /// Gives the connection back if the session does nothing. What it does.
    async fn rest_for_switchover(&mut self, number: u64) -> Result<Doing, CloseReason> {
        if self.link.server().is_endless() {
            return Ok(Doing::Tied);
        }
        if !self.phase.takes_commands() || !self.link.between_commands() {
            let inside = self.link.status().in_transaction();
            return Ok(if inside { Doing::Transaction } else { Doing::Runs });
        }
        attend(&mut self.locks, &self.context, ask_whether_inside(&mut self.link)).await?;
        if self.link.status().in_transaction() {
            self.link.held_mut().end_rest();
            if self.link.is_kept_back() {
                // The command came before that was known.
                self.process_inbox()?;
            }
            return Ok(Doing::Transaction);
        }
        let Self { link, locks, context, .. } = self;
        let gives_back = check_in_for_switchover(link, &context.switchover, number);
        attend(locks, context, gives_back).await?;
        Ok(if ends_with_server(&self.link) { Doing::Tied } else { Doing::Rests })
    }

    /// Runs the command that has waited.
    async fn go_on_after_switchover(&mut self) -> Result<(), CloseReason> {
        self.link.held_mut().end_rest();
        if self.link.server().is_left() {
            // The event that says so is on its way. The command is not for that server.
            return Err(CloseReason::Left);
        }
        if !self.phase.takes_commands() || !self.link.is_kept_back() {
            return Ok(());
        }
        if self.link.server().is_there() {
            self.process_inbox()
        } else {
            self.run_without_server().await
        }
    }

    /// What the session waits for, between two turns. Of a command that waits no more is read than is read ahead.
    pub(super) fn interest(&self) -> Interest {
        if !self.phase.takes_commands() {
            Interest::Settled
        } else if self.link.is_kept_back() {
            Interest::Ahead
        } else {
            Interest::Commands
        }
    }
}
