//! A session's end: its locks go back when the server has stopped working for it, not before.

use std::time::Duration;

use tokio::time::timeout;

use super::Session;
use crate::engine::handle::SessionEvent;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::errand::Errand;
use crate::frontend::link::errands::{run, settled};
use crate::frontend::link::reply::Keep;
use crate::frontend::locks::lock_owner::LockOwner;
use crate::frontend::locks::operations::release_held;
use crate::frontend::locks::owner::Locks;
use crate::frontend::moves::begin::leave_for_good;
use crate::lock::codes;
use crate::mutants::{self, Mutant};
use crate::protocol::packet;
use crate::protocol::status::Status;
use crate::seldom::Turn;
use crate::types::Flavour;

/// How long a server may take over a reset. A longer one is left to the end of its thread.
const FINISH: Duration = Duration::from_secs(2);

/// How long sessions that were told to stop may take to hand their locks over.
pub const LAST_MOMENT: Duration = Duration::from_secs(2);

impl Session {
    /// Ends the other side and gives the locks back.
    pub(super) async fn finish(mut self, end: CloseReason) {
        let end = match end {
            CloseReason::ServerGone | CloseReason::Left if !self.link.guard().is_certain() => {
                CloseReason::Fenced
            }
            end => end,
        };
        let reason = end.label();
        self.locks.end_with(reason);
        if let Some(watch) = &mut self.watch {
            watch.end_with(reason);
        }
        self.wind_up(end).await;
        let (identity, owner) = (&self.identity, self.identity.owner_text());
        let (connection, peer) = (identity.connection(), identity.peer());
        tracing::debug!(target: "lockstead::sessions", %connection, %owner, %peer, reason, "closed");
    }

    pub(super) fn log_opened(&self) {
        tracing::debug!(
            target: "lockstead::sessions",
            connection = %self.identity.connection(),
            owner = %self.identity.owner_text(),
            peer = %self.identity.peer(),
            "opened"
        );
    }

    async fn wind_up(&mut self, end: CloseReason) {
        self.say_goodbye(&end);
        match end {
            CloseReason::ServerGone => {
                if mutants::on(Mutant::ReleaseOnEof) {
                    let _ = release_held(&mut self.cx()).await;
                }
                self.locks.abandon();
                // The server's last packets still go out, to a client that reads.
                let limit = self.context.config.login_timeout;
                let _ = timeout(limit, self.link.client_mut().drain()).await;
            }
            // A fence seen by this session alone, at the deadline's edge, must not leave its locks
            // in an incarnation that lives on.
            CloseReason::Fenced
            | CloseReason::Left
            | CloseReason::Moved
            | CloseReason::Revoked(_)
            | CloseReason::Lost(_)
            | CloseReason::Broken(_)
            | CloseReason::Panicked(_)
            | CloseReason::BadResponse(..) => self.locks.abandon(),
            CloseReason::ClientGone
            | CloseReason::ClientQuit
            | CloseReason::Drained
            | CloseReason::Killed
            | CloseReason::Inactive => {
                self.release_after_rollback(matches!(end, CloseReason::ClientQuit)).await;
            }
        }
    }

    /// Gives the locks back once the server has rolled back; `quits`: it has not heard COM_QUIT.
    async fn release_after_rollback(&mut self, quits: bool) {
        if self.locks.ledger().held().is_empty() && !self.link.pooled().is_shared() {
            return;
        }
        if self.keeps_rows() {
            // The server frees its locks when its thread has ended, and the rows are next to nothing then.
            return self.locks.abandon();
        }
        self.locks.announce_end();
        if !self.link.server().is_there() {
            // Nothing of the session can run anywhere.
            let _ = release_held(&mut self.cx()).await;
            return;
        }
        if mutants::on(Mutant::ReleaseBeforeRollback) {
            let _ = release_held(&mut self.cx()).await;
        }
        match timeout(FINISH, self.let_server_finish()).await {
            Ok(Ok(())) => {
                // Done at the server. An error here means that the lease is lost.
                let _ = release_held(&mut self.cx()).await;
                if self.link.pooled().is_shared() {
                    leave_for_good(&mut self.link);
                } else if quits {
                    // Without it the server would count the connection as broken off.
                    let _ = self.link.server_mut().send(&packet::quit());
                }
            }
            Ok(Err(CloseReason::Fenced)) => {
                self.say_goodbye(&CloseReason::Fenced);
                self.locks.abandon();
            }
            Ok(Err(_)) | Err(_) => self.locks.abandon(),
        }
    }

    /// The last words, as far as the client still listens, and a count of why.
    fn say_goodbye(&mut self, end: &CloseReason) {
        let client_or_server = matches!(
            end,
            CloseReason::ClientGone | CloseReason::ClientQuit | CloseReason::ServerGone
        );
        if !client_or_server {
            self.context.count_closed(end.label());
        }
        let error = match end {
            CloseReason::Fenced => {
                let held = self.locks.ledger().held();
                self.context.metrics.fenced_sessions.inc();
                tracing::error!(
                    connection = %self.identity.connection(),
                    owner = %self.identity.owner_text(),
                    locks = held.len(),
                    "a session is closed because its locks can no longer be vouched for"
                );
                codes::fenced(held)
            }
            CloseReason::Drained | CloseReason::Left => codes::draining(),
            CloseReason::Inactive if self.view.flavour() == Flavour::MySql => codes::inactive(),
            CloseReason::Moved => codes::moved(),
            CloseReason::Revoked(name) => codes::revoked(name),
            CloseReason::Lost(name) => {
                self.context.metrics.fenced_sessions.inc();
                codes::lost(name.as_deref())
            }
            CloseReason::Broken(why) => {
                if let Some(Turn { left_out }) = self.context.lines.broken.turn() {
                    let connection = self.identity.connection();
                    tracing::warn!(%connection, why, left_out, "a session is closed");
                }
                return;
            }
            CloseReason::Panicked(what) => {
                self.context.metrics.panics.inc();
                let (connection, owner) = (self.identity.connection(), self.identity.owner_text());
                let locks = self.locks.ledger().held().len();
                tracing::error!(%connection, %owner, locks, what, "a fault of the proxy ends a session");
                return;
            }
            CloseReason::BadResponse(command, why) => {
                if let Some(Turn { left_out }) = self.context.lines.bad_responses.turn() {
                    let connection = self.identity.connection();
                    let what = "the server's answer cannot be followed: its session is closed";
                    tracing::error!(%connection, command, why, left_out, "{what}");
                }
                return;
            }
            // The last two without a word, as servers do.
            CloseReason::ClientGone
            | CloseReason::ClientQuit
            | CloseReason::ServerGone
            | CloseReason::Killed
            | CloseReason::Inactive => return,
        };
        let answers = self.phase.answers() || self.link.is_kept_back();
        self.link.send_last_word(&error, answers);
    }

    /// Has the server roll back: its OK to COM_RESET_CONNECTION comes when it has. An error means
    /// that its connection is to be closed: so the server learns that the client is gone, and the end of
    /// its thread is the proof.
    async fn let_server_finish(&mut self) -> Result<(), CloseReason> {
        // The client learns at once that its session is over, and nobody reads any more.
        self.link.client_mut().end();
        self.link.client_mut().lose();
        if let Some(why) = self.link.left_inside() {
            return Err(CloseReason::Broken(why));
        }
        // The proxy has asked for what is owed, so the server is done soon.
        attend_at_end(&mut self.locks, settled(&mut self.link)).await?;
        // MariaDB forgets a prepared XA transaction when it resets; closing keeps it.
        let in_transaction = self.link.status().flags().has(Status::IN_TRANS);
        if self.view.flavour() == Flavour::MariaDb && in_transaction {
            return Err(CloseReason::Broken("an open transaction is ended by closing"));
        }
        let packet = packet::reset_connection();
        let reply = attend_at_end(&mut self.locks, run(&mut self.link, &packet, Keep::All)).await?;
        if reply.is_error() { Err(CloseReason::ServerGone) } else { Ok(()) }
    }
}

/// Carries out an errand of a session that ends.
async fn attend_at_end<T>(
    locks: &mut LockOwner,
    mut errand: Errand<'_, T>,
) -> Result<T, CloseReason> {
    // Ends with the errand, with the lease, or at the drain's limit.
    loop {
        tokio::select! {
            event = locks.next_event() => hear_at_end(locks, event)?,
            done = errand.work() => return done,
        }
    }
}

fn hear_at_end(locks: &mut LockOwner, event: SessionEvent) -> Result<(), CloseReason> {
    match event {
        SessionEvent::Fence(_) => locks.handle_event(event).map(|_| ()),
        // Ending already; at the drain's limit the rest is the server's.
        SessionEvent::Drain
        | SessionEvent::Revoke(_)
        | SessionEvent::Lost(_)
        | SessionEvent::Kill
        | SessionEvent::Interrupt
        | SessionEvent::Look(_)
        | SessionEvent::ReadLocks
        | SessionEvent::LateRow
        | SessionEvent::GiveBack
        | SessionEvent::WriterChanged
        | SessionEvent::SwitchoverChanged => Ok(()),
        SessionEvent::Stop | SessionEvent::ServerDone => Err(CloseReason::ServerGone),
    }
}
