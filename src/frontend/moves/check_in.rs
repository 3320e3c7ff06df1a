//! A session gives its connection back when it can.

use super::Mover;
use crate::frontend::link::asker::Asker;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::pooling::pooled_session::PooledSession;
use crate::frontend::pooling::restore::{left_by_strangers, strangers};
use crate::mutants;

impl Mover<'_> {
    /// The session is between two commands: gives its connection back if it is wanted.
    pub(super) async fn rest(&mut self) -> Result<(), CloseReason> {
        let wanted = self.link.pooled().is_wanted();
        if wanted {
            self.loosen();
        }
        if self.link.owed().is_nothing() {
            self.link.pooled_mut().note_made_way();
        }
        let between = self.link.client().inbox_is_empty()
            || wanted && self.link.client().has_part_of_command();
        let free =
            between && (self.is_free() || self.may_be_audited() || self.has_only_diagnostics());
        let outlived = self.has_outlived();
        let Some(pooled) = self.pooled_mut() else { return Ok(()) };
        pooled.look_at_secrets();
        pooled.show_pins();
        if !free {
            return self.learn_while_locked().await;
        }
        pooled.place.mark_idle();
        let asked = pooled.place.take_wish(pooled.account.key()) || mutants::shuffles() || outlived;
        if asked || wanted {
            self.leave().await?;
            // Warnings tie it for a short time only.
            let tied = self.link.server().is_there() && !self.has_only_diagnostics();
            if let Some(pooled) = self.pooled().filter(|_| tied) {
                pooled.place.refuse();
            }
        }
        self.learn_while_locked().await
    }

    /// Gives the connection back, if nothing ties the session to it, after the server has told what it
    /// does not report.
    pub(super) async fn leave(&mut self) -> Result<(), CloseReason> {
        self.take_diagnostics_along().await?;
        if !(self.is_free() || self.may_be_audited() && self.audit().await?) {
            return Ok(());
        }
        if self.pooled().is_some_and(|pooled| pooled.place.is_killed()) {
            return Err(CloseReason::Killed);
        }
        self.link.pooled().mark_busy();
        self.learn().await?;
        if !self.is_free() {
            return Ok(());
        }
        // Before the session forgets which of its statements the connection has.
        let mut left = self.pooled().map(PooledSession::left).unwrap_or_default();
        if mutants::shuffles()
            && let Some(pooled) = self.pooled_mut()
        {
            let more = pooled.place.next_stranger_leaves_more();
            let has_schema = pooled.state.is_in_schema();
            let others = strangers(more, self.link.capabilities(), has_schema);
            Asker::of(self.link).exchange_all(&others).await?;
            left = left_by_strangers(left, more, &self.link.server_mut().take_reported());
        }
        let used = self.link.server().used();
        self.link.pooled_mut().begin_idle(used);
        let Some(backend) = self.link.take_server() else { return Ok(()) };
        let incarnation = self.link.guard().incarnation();
        let Some(pooled) = self.pooled_mut() else { return Ok(()) };
        if pooled.leaves_connection()
            && backend.tag() == incarnation
            && let Ok(backend) = backend.detach(left)
        {
            pooled.place.give(backend);
        }
        Ok(())
    }

    /// Gives the connection back, as [`Self::leave`], before a statement that waits. What it may change is in doubt
    /// again when it has run.
    pub(super) async fn leave_before_statement(&mut self) -> Result<(), CloseReason> {
        let ahead = self.pooled().map(|pooled| pooled.doubts.clone());
        self.leave().await?;
        if let (Some(pooled), Some(ahead)) = (self.pooled_mut(), ahead) {
            pooled.doubts.add_effects(ahead);
        }
        Ok(())
    }
}
