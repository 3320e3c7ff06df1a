//! The rows of a session's locks that are written after the client has its answer: when they are due, and what comes of
//! their claims.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::time::{Sleep, sleep};

use crate::engine::handle::{Acquired, Ticket};
use crate::engine::shared::late_rows::LateSession;
use crate::frontend::state::ledger::Ledger;
use crate::lock::name::Key;

/// What has become of a late row.
#[derive(Debug)]
pub(super) enum LateStep {
    /// A row may be due.
    Due,
    /// The claim of a row was decided, of a lock that was granted then.
    Claimed(Key, Instant, Acquired),
}

/// A session's late rows.
#[derive(Debug, Default)]
pub(super) struct LateLocks {
    /// Listed with the engine at the first lock whose row is late.
    session: Option<LateSession>,
    due: Option<Pin<Box<Sleep>>>,
    /// Claims under way, and when their locks were granted.
    claims: Vec<(Ticket, Instant)>,
}

impl LateLocks {
    /// The session as the engine lists it.
    pub(super) fn session(&self) -> Option<&LateSession> {
        self.session.as_ref()
    }

    /// The engine has listed the session.
    pub(super) fn list(&mut self, session: LateSession) {
        self.session = Some(session);
    }

    /// The session is over: what the engine has of it, if the server may hold a lock without a row for it.
    pub(super) fn take(&mut self) -> Option<LateSession> {
        self.due = None;
        self.session.take().filter(LateSession::is_late)
    }

    /// Claims under way, which the session waits for no more.
    pub(super) fn take_claims(&mut self) -> Vec<Ticket> {
        self.claims.drain(..).map(|(ticket, _)| ticket).collect()
    }

    /// Claims of locks that were released meanwhile.
    pub(super) fn drop_stale(&mut self, ledger: &Ledger) -> Vec<Ticket> {
        let is_stale = |(ticket, since): &mut (Ticket, Instant)| {
            ledger.held().late_since(&ticket.key) != Some(*since)
        };
        self.claims.extract_if(.., is_stale).map(|(ticket, _)| ticket).collect()
    }

    /// A row is due after that time. An earlier time that is set stays.
    pub(super) fn arm(&mut self, after: Duration) {
        // In a loop of lock and unlock most times find nothing to do: one timer serves many locks.
        self.due.get_or_insert_with(|| Box::pin(sleep(after)));
    }

    /// Whether the row of this lock, granted then, is being claimed.
    pub(super) fn claims(&self, key: &Key, since: Instant) -> bool {
        self.claims.iter().any(|(ticket, of)| ticket.key == *key && *of == since)
    }

    /// The row of a lock that was granted then is claimed from now on.
    pub(super) fn claim(&mut self, ticket: Ticket, since: Instant) {
        self.claims.push((ticket, since));
    }

    /// Waits for the next step. The future may be dropped at any time.
    pub(super) async fn next(&mut self) -> LateStep {
        poll_fn(|cx| {
            if self.due.as_mut().is_some_and(|due| due.as_mut().poll(cx).is_ready()) {
                self.due = None;
                return Poll::Ready(LateStep::Due);
            }
            for at in 0..self.claims.len() {
                if let Poll::Ready(outcome) = Pin::new(&mut self.claims[at].0.outcome).poll(cx) {
                    let ended = |_| Acquired::Failed("the lock engine has ended".to_owned());
                    let (ticket, since) = self.claims.swap_remove(at);
                    return Poll::Ready(LateStep::Claimed(
                        ticket.key,
                        since,
                        outcome.unwrap_or_else(ended),
                    ));
                }
            }
            Poll::Pending
        })
        .await
    }
}

/// How long after `since` a row is due that is written after `delay`; `None`: it is due.
pub(super) fn left(since: Instant, delay: Duration) -> Option<Duration> {
    delay.checked_sub(since.elapsed()).filter(|left| !left.is_zero())
}
