//! While a switchover is prepared: a session rests without a connection, and waits before it gets one.

use super::Mover;
use crate::frontend::link::asker::Asker;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::shared::switchover::Switchover;

impl Mover<'_> {
    /// Outside a transaction, the session rests for the switchover of this number: it gives its connection back, once.
    pub(super) async fn rest_for_switchover(
        &mut self,
        switchover: &Switchover,
        number: u64,
    ) -> Result<(), CloseReason> {
        let waits = self.link.is_kept_back();
        let first = self.link.held_mut().rest(switchover, number, waits);
        if first && self.link.pooled().is_shared() { self.leave().await } else { Ok(()) }
    }

    /// Waits while a switchover is prepared, before the session gets a connection for a command.
    pub(super) async fn until_let_go(
        &mut self,
        switchover: &Switchover,
    ) -> Result<(), CloseReason> {
        let number = switchover.number();
        if number == 0 || self.link.has_waited(number) {
            return Ok(());
        }
        let _waits = switchover.count_statement();
        // The switchover may have been prepared after the session has begun to wait for a connection.
        self.link.held().say_rests(number);
        Asker::of(self.link).read_ahead_until(switchover.over(number)).await?;
        self.link.held_mut().note_waited(number);
        Ok(())
    }
}
