//! The limit of the proxy's own questions to the session's server.
//!
//! All of them wait in [`Link::next`]. A server that is silent for so long does not answer any more: its connection
//! counts as ended. What a client asks for has no limit. Both end when the locks are lost, or the server is left.

use std::task::Context as TaskContext;

use super::Link;
use super::close_reason::CloseReason;
use super::pending::Recipient;
use crate::engine::shared::lease::Standing;
use crate::seldom::Turn;
use crate::store::patience::ANSWER;

impl Link {
    /// An error, if the server does not answer any more what it was asked.
    pub(super) fn check_unanswered(&mut self, cx: &mut TaskContext<'_>) -> Result<(), CloseReason> {
        while let Some(question) = &mut self.unanswered.question {
            if question.poll_look(cx).is_pending() {
                break;
            }
            self.look_at_question()?;
        }
        Ok(())
    }

    fn look_at_question(&mut self) -> Result<(), CloseReason> {
        let Some(question) = &mut self.unanswered.question else { return Ok(()) };
        if question.is_owed() {
            let is_own = |of: &Recipient| matches!(of, Recipient::Nobody | Recipient::Release(..));
            if !self.owed.iter().any(|response| is_own(&response.recipient)) {
                self.unanswered.question = None;
                return Ok(());
            }
            if !self.owed.front().is_some_and(|next| is_own(&next.recipient)) {
                // The server is busy with something of the client's before.
                question.begin_again();
                return Ok(());
            }
        }
        let (overdue, asked) = (question.is_overdue(), question.asked());
        if self.guard().standing() == Standing::Over {
            return Err(CloseReason::Fenced);
        }
        if self.server.is_left() {
            // With a connection of its own it has no other to go on with.
            let shares = self.pooled.is_shared();
            return Err(if shares { CloseReason::ServerGone } else { CloseReason::Left });
        }
        // A server that is silent to all may come back: then locks wait for the lease, which ends before long.
        if !overdue || !self.guard().was_renewed_since(asked) {
            return Ok(());
        }
        self.metrics.limits.with_label_values(&["answer"]).inc();
        if let Some(Turn { left_out }) = self.unanswered.lines.unanswered.turn() {
            let connection = self.server.id().map(|id| id.0);
            tracing::warn!(connection, limit = ?ANSWER, left_out, "the server does not answer a question of the proxy's: the connection is given up");
        }
        Err(CloseReason::ServerGone)
    }
}
