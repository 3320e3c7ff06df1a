//! A session's end: its locks go back when the server has stopped working for it, not before.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::{ClientState, End, Session};
use crate::engine::handle::SessionEvent;
use crate::frontend::link::pending::Owed;
use crate::frontend::login::closed;
use crate::lock::codes;
use crate::mutants::{self, Mutant};
use crate::protocol::command::{Command, Shape};
use crate::protocol::frame::put_frame;
use crate::protocol::status::Status;
use crate::seldom::Turn;
use crate::types::Flavour;

impl End {
    /// One word for counters and the log.
    pub(in crate::frontend) fn reason(&self) -> &'static str {
        match self {
            Self::ClientGone => "client",
            Self::ServerGone => "server",
            Self::Fenced => "fenced",
            Self::Drained => "drained",
            Self::Moved => "moved",
            Self::Revoked(_) => "revoked",
            Self::Lost(_) => "lost",
            Self::Broken(_) => "broken",
        }
    }
}

impl Session {
    /// Ends the other side and gives the locks back.
    pub(in crate::frontend) async fn finish(self, end: End) {
        let end = match end {
            End::ServerGone if self.check_lease().is_err() => End::Fenced,
            end => end,
        };
        let (connection, owner, peer) = (self.connection, Arc::clone(&self.owner), self.peer);
        let reason = end.reason();
        self.wind_up(end).await;
        let owner = String::from_utf8_lossy(&owner);
        tracing::debug!(target: "lockstead::sessions", %connection, %owner, %peer, reason, "closed");
    }

    pub(in crate::frontend) fn log_opened(&self) {
        tracing::debug!(
            target: "lockstead::sessions",
            connection = %self.connection,
            owner = %String::from_utf8_lossy(&self.owner),
            peer = %self.peer,
            "opened"
        );
    }

    async fn wind_up(mut self, end: End) {
        self.say_goodbye(&end);
        match end {
            End::ServerGone => {
                if mutants::on(Mutant::ReleaseOnEof) {
                    let _ = self.release_held().await;
                }
                self.abandon();
                // What the server said last still goes out, to a client that reads.
                let limit = self.context.config.login_timeout;
                let _ = timeout(limit, self.drain_to_client()).await;
            }
            // A fence seen by this session alone, at the deadline's edge, must not leave its locks
            // behind in an incarnation that lives on.
            End::Fenced | End::Moved | End::Revoked(_) | End::Lost(_) | End::Broken(_) => {
                self.abandon();
            }
            End::ClientGone | End::Drained => {
                if self.held.is_empty() {
                    return;
                }
                self.context.engine.leaving(self.held.grants());
                if mutants::on(Mutant::ReleaseBeforeRollback) {
                    let _ = self.release_held().await;
                }
                match timeout(FINISH, self.let_server_finish()).await {
                    Ok(Ok(())) => {
                        // Done at the server. An error here means that the lease is lost.
                        let _ = self.release_held().await;
                        self.quit_server();
                    }
                    Ok(Err(End::Fenced)) => {
                        self.say_goodbye(&End::Fenced);
                        self.abandon();
                    }
                    Ok(Err(_)) | Err(_) => self.abandon(),
                }
            }
        }
    }

    /// The last words, as far as the client still listens, and a count of why.
    fn say_goodbye(&mut self, end: &End) {
        if !matches!(end, End::ClientGone | End::ServerGone) {
            closed(&self.context, end.reason());
        }
        let error = match end {
            End::Fenced => {
                self.context.metrics.fenced_sessions.inc();
                tracing::error!(
                    connection = %self.connection,
                    owner = %String::from_utf8_lossy(&self.owner),
                    locks = self.held.len(),
                    "a session is closed because its locks can no longer be vouched for"
                );
                codes::fenced(&self.held)
            }
            End::Drained => codes::draining(),
            End::Moved => codes::moved(),
            End::Revoked(name) => codes::revoked(name),
            End::Lost(name) => {
                self.context.metrics.fenced_sessions.inc();
                codes::lost(name.as_deref())
            }
            End::Broken(why) => {
                if let Some(Turn { left_out }) = self.context.lines.broken.turn() {
                    tracing::warn!(connection = %self.connection, why, left_out, "a session is closed");
                }
                return;
            }
            End::ClientGone | End::ServerGone => return,
        };
        if self.client.is_flushed() && self.tracker.at_packet_boundary() {
            let mut out = Vec::new();
            let seq = u8::from(self.answering || !self.owed.is_empty());
            error.encode(&mut out, seq, false);
            // Best effort: a client that does not read is only closed.
            let _ = self.client.send(&out);
        }
    }

    /// Leaves the release to the engine, once the server shows the connection no more.
    pub(in crate::frontend) fn abandon(&mut self) {
        let (_, locks) = self.held.take_all();
        if let (Some(proxy), false) = (self.granted_by, locks.is_empty()) {
            self.context.engine.release_when_gone(self.connection, locks, proxy);
        }
    }

    /// Has the server roll back: its OK to COM_RESET_CONNECTION comes when it has. An error means
    /// that its connection is to be closed: so the server learns that the client is gone, and the end of
    /// its thread is the proof.
    async fn let_server_finish(&mut self) -> Result<(), End> {
        // Nobody reads any more.
        self.lose_client();
        if !matches!(self.client_state, ClientState::Command) {
            return Err(End::Broken("the client left inside a command"));
        }
        let asks = self.tracker.active() && self.owed.is_empty();
        if asks || self.owed.iter().any(Owed::is_clients) {
            return Err(End::Broken("the client left while a statement runs"));
        }
        // What is owed was asked by the proxy. It is done soon.
        while !self.owed.is_empty() || !self.server.is_flushed() {
            tokio::select! {
                event = self.events.recv() => {
                    if let Some(event) = event {
                        self.final_event(event)?;
                    }
                }
                ready = self.server.readable() => {
                    ready.map_err(|_| End::ServerGone)?;
                    match self.hear_server() {
                        Ok(()) | Err(End::ClientGone) => {}
                        Err(end) => return Err(end),
                    }
                }
                ready = self.server.writable(), if !self.server.is_flushed() => {
                    ready.map_err(|_| End::ServerGone)?;
                    std::future::poll_fn(|cx| std::task::Poll::Ready(self.flush_server(cx))).await?;
                }
            }
        }
        // MariaDB forgets a prepared XA transaction when it resets; closing keeps it.
        if self.flavour == Flavour::MariaDb && self.status.has(Status::IN_TRANS) {
            return Err(End::Broken("an open transaction is ended by closing"));
        }
        let mut packet = Vec::new();
        put_frame(&mut packet, 0, &[Command::RESET_CONNECTION.0]);
        let reply = self.exchange(&packet, Shape::Results).await?;
        if reply.is_error() { Err(End::ServerGone) } else { Ok(()) }
    }

    /// Passes on a COM_QUIT, without which the server would count the connection as broken off.
    fn quit_server(&mut self) {
        if self.has_quit {
            let mut packet = Vec::new();
            put_frame(&mut packet, 0, &[Command::QUIT.0]);
            // Best effort: it is closed in any case.
            let _ = self.server.send(&packet);
        }
    }

    /// What somebody else tells the session.
    pub(in crate::frontend) fn event(&mut self, event: SessionEvent) -> Result<(), End> {
        match event {
            SessionEvent::Fence(proxy)
                if self.granted_by == Some(proxy) && !self.held.is_empty() =>
            {
                Err(End::Fenced)
            }
            SessionEvent::Fence(_) => Ok(()),
            SessionEvent::Revoke(token) => match self.held.name_of(token) {
                Some(name) => Err(End::Revoked(name)),
                None => Ok(()),
            },
            SessionEvent::Lost(token) => Err(End::Lost(self.held.name_of(token))),
            SessionEvent::Drain => {
                self.draining = true;
                Ok(())
            }
            SessionEvent::Stop => Err(End::Drained),
            SessionEvent::ServerDone => {
                tracing::info!(
                    connection = %self.connection,
                    locks = self.held.len(),
                    "the server has ended a session whose client does not read; its locks are released"
                );
                // What the server sent last still goes to a client that reads it after all.
                self.abandon();
                Ok(())
            }
            SessionEvent::Look(question) => {
                self.looked_for(question);
                Ok(())
            }
        }
    }

    fn final_event(&mut self, event: SessionEvent) -> Result<(), End> {
        match event {
            SessionEvent::Fence(_) => self.event(event),
            // Ending already; at the drain's limit the rest is the server's.
            SessionEvent::Drain
            | SessionEvent::Revoke(_)
            | SessionEvent::Lost(_)
            | SessionEvent::Look(_) => Ok(()),
            SessionEvent::Stop | SessionEvent::ServerDone => Err(End::ServerGone),
        }
    }
}

/// How long a server may take over a reset. A longer one is left to the end of its thread.
const FINISH: Duration = Duration::from_secs(2);

/// How long sessions that were told to stop may take to hand their locks over.
pub const LAST_MOMENT: Duration = Duration::from_secs(2);
