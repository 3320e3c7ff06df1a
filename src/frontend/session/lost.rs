//! A session whose shared connection to the server has ended: it goes on without one, or ends as well.

use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};

use super::Session;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::loss::{LostBackend, end_with_server, go_on_without, judge_loss};
use crate::frontend::locks::attend::attend;
use crate::frontend::locks::operations::give_back_unanswered;
use crate::frontend::locks::owner::{Asked, Locks};
use crate::frontend::moves::errands::check_in;
use crate::frontend::pooling::lost::{Loss, WhyEnds};
use crate::frontend::state::phase::Phase;
use crate::seldom::Turn;
use crate::store::patience::ANSWER;

/// How long a session waits in all until the server has proved the end of its connections, with their rollbacks. Then it
/// ends as well.
const PROOF: Duration = ANSWER;
/// How long a server that was left may take to tell what it knows of the session.
const FAREWELL: Duration = Duration::from_secs(1);

impl Session {
    /// If the turn has found that a shared connection has ended, the session goes on without it, or ends: then why.
    pub(super) async fn survive_server_loss(
        &mut self,
        turn: Result<(), CloseReason>,
    ) -> Result<(), CloseReason> {
        match turn {
            // Boxed, so that other turns do not carry the room for it.
            Err(end @ (CloseReason::ServerGone | CloseReason::Left))
                if self.link.pooled().is_shared() =>
            {
                Box::pin(self.go_on_or_end(end)).await
            }
            turn => turn,
        }
    }

    async fn go_on_or_end(&mut self, mut end: CloseReason) -> Result<(), CloseReason> {
        if matches!(end, CloseReason::Left) && self.take_along().await? {
            return self.run_without_server().await;
        }
        let until = Instant::now() + PROOF;
        loop {
            let lost = match self.lost(until).await? {
                Ok(lost) => lost,
                Err(why) => {
                    self.log_end_with_server(why);
                    end_with_server(&mut self.link, why);
                    return Err(end);
                }
            };
            match self.go_on(&lost).await {
                // The next one has ended as well.
                Err(next @ (CloseReason::ServerGone | CloseReason::Left)) => end = next,
                next => return next,
            }
        }
    }

    /// A server that is not the writer any more may still answer: an idle session takes along what only that server
    /// knows of it. Whether it has left.
    async fn take_along(&mut self) -> Result<bool, CloseReason> {
        // An answer that is under way comes no more.
        if !self.phase.takes_commands() || self.link.left_inside().is_some() {
            return Ok(false);
        }
        match timeout(FAREWELL, attend(&mut self.locks, &self.context, check_in(&mut self.link)))
            .await
        {
            Ok(Ok(())) => Ok(!self.link.server().is_there()),
            Ok(Err(CloseReason::ServerGone)) | Err(_) => Ok(false),
            Ok(Err(end)) => Err(end),
        }
    }

    /// The connection that has ended, after the server works for it no more; or why the session ends.
    async fn lost(&mut self, until: Instant) -> Result<Result<LostBackend, WhyEnds>, CloseReason> {
        let lost = match self.phase {
            Phase::Relaying | Phase::Parked | Phase::Bringing(_) | Phase::Answering => {
                judge_loss(&mut self.link)
            }
            Phase::Refusing(_) | Phase::Several(_) | Phase::Settling(_) => Err(WhyEnds::Answering),
        };
        let lost = match lost {
            Ok(lost) => lost,
            Err(why) => return Ok(Err(why)),
        };
        let over = lost.loss == Loss::Unnoticed || self.until_gone(&lost, until).await?;
        Ok(if over { Ok(lost) } else { Err(WhyEnds::Unproved) })
    }

    /// Says why the session ends with its connection. Of many that do so at once, a few are named.
    fn log_end_with_server(&self, why: WhyEnds) {
        let Some(Turn { left_out }) = self.context.lines.lost.turn() else { return };
        let (connection, owner) = (self.identity.connection(), self.identity.owner_text());
        let locks = self.locks.ledger().held().len();
        let tied_by = self.link.pooled().pin_names();
        tracing::warn!(
            %connection, %owner, reason = why.label(), tied_by, locks, left_out,
            "a session ends with its connection to the server"
        );
    }

    /// Waits until the server works for the connection no more: until then the locks of the session protect what a
    /// statement still does. Whether that is certain.
    async fn until_gone(
        &mut self,
        ended: &LostBackend,
        until: Instant,
    ) -> Result<bool, CloseReason> {
        let engine = self.context.engine.clone();
        // A server that was left has not ended the connection itself.
        self.link.server_mut().end_abruptly();
        let mut gone = pin!(timeout_at(until, engine.until_gone(ended.conn, ended.run)));
        loop {
            // The lock tables are elsewhere: the old server is not asked there. Without locks nothing is to be protected.
            if self.link.server().is_left() && self.locks.ledger().held().is_empty() {
                return Ok(true);
            }
            tokio::select! {
                biased;
                event = self.locks.next_event() => match self.locks.handle_event(event) {
                    Ok(Asked::Look(question)) => self.locks.present(question),
                    Ok(Asked::End) => return Err(CloseReason::Killed),
                    Ok(Asked::Nothing | Asked::GiveBack) | Err(CloseReason::Left) => {}
                    Err(end) => return Err(end),
                },
                gone = &mut gone => return Ok(gone.unwrap_or(false)),
                () = self.link.client_mut().speaks() => self.link.read_ahead()?,
            }
        }
    }

    async fn go_on(&mut self, ended: &LostBackend) -> Result<(), CloseReason> {
        self.link.lose_server();
        self.cx().check_lease().await?;
        if self.link.pooled().is_answering() {
            give_back_unanswered(&mut self.cx()).await?;
        }
        go_on_without(&mut self.link, ended)?;
        self.phase = Phase::Relaying;
        self.run_without_server().await
    }
}
