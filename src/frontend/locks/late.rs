//! The rows of a session's locks that are written after the client has its answer: when they are due, and what their
//! claims come to.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::time::{Sleep, sleep};

use crate::engine::handle::{Acquired, Engine, SessionEvent, Ticket};
use crate::engine::shared::late_rows::LateSession;
use crate::frontend::state::ledger::{Ledger, OtherIncarnation};
use crate::lock::held::LateLock;
use crate::lock::name::{Key, Name};
use crate::types::{BackendId, ProxyId};

/// Time until a row that could not be written is claimed again.
const AGAIN: Duration = Duration::from_secs(1);

/// What there is to do for late rows.
#[derive(Debug)]
pub(super) enum LateStep {
    /// A row may be due.
    Due,
    /// The claim of a row was decided.
    Claimed(ClaimedLock, Acquired),
}

/// A lock whose row was claimed.
#[derive(Debug)]
pub(super) struct ClaimedLock {
    key: Key,
    /// When the lock was granted.
    since: Instant,
}

/// A claim under way.
#[derive(Debug)]
struct LateClaim {
    ticket: Ticket,
    since: Instant,
}

/// A session's late rows.
pub(super) struct LateLocks {
    engine: Engine,
    /// Listed with the engine at the first lock whose row is late.
    session: Option<LateSession>,
    due: Option<Pin<Box<Sleep>>>,
    claims: Vec<LateClaim>,
}

impl LateLocks {
    pub(super) fn new(engine: Engine) -> Self {
        Self { engine, session: None, due: None, claims: Vec::new() }
    }

    /// Enters a lock that the server has granted on this connection. `None`: its row may not be late.
    pub(super) fn enter(
        &mut self,
        ledger: &mut Ledger,
        conn: BackendId,
        name: Name,
    ) -> Result<Option<ProxyId>, OtherIncarnation> {
        let lease = self.engine.lease();
        let Some(proxy) = lease.proxy() else { return Ok(None) };
        let all = self.engine.late_rows();
        let session = self.session.get_or_insert_with(|| all.enter(conn));
        if !session.begin(proxy, lease.run()) || !lease.vouches_for(proxy) {
            self.note(ledger);
            return Ok(None);
        }
        let delay = all.delay();
        let entered = ledger.enter_late(name, Instant::now(), proxy);
        self.note(ledger);
        entered?;
        self.arm(delay);
        Ok(Some(proxy))
    }

    /// Shows that each lock has its row, if that is so.
    pub(super) fn note(&self, ledger: &Ledger) {
        if let Some(session) = &self.session
            && ledger.held().late().next().is_none()
        {
            session.end();
        }
    }

    /// A row is due after that time. An earlier time that is set stays.
    fn arm(&mut self, after: Duration) {
        // In a loop of lock and unlock most times find nothing to do: one timer serves many locks.
        self.due.get_or_insert_with(|| Box::pin(sleep(after)));
    }

    /// Locks whose rows are due.
    pub(super) fn due(&mut self, ledger: &mut Ledger) -> Vec<(Name, Instant)> {
        // Of locks that were released meanwhile.
        let is_stale = |claim: &mut LateClaim| {
            ledger.held().late_since(&claim.ticket.key) != Some(claim.since)
        };
        let stale: Vec<LateClaim> = self.claims.extract_if(.., is_stale).collect();
        for claim in stale {
            self.give_up(claim);
        }
        let mut due = Vec::new();
        let mut next: Option<Duration> = None;
        let unwritable = self.engine.lease().unwritable().is_some();
        let delay = self.engine.late_rows().delay();
        for LateLock { name, since, .. } in ledger.held().late() {
            let claimed = |claim: &LateClaim| claim.ticket.key == name.key && claim.since == *since;
            let left = delay.checked_sub(since.elapsed()).filter(|left| !left.is_zero());
            match left {
                Some(left) => next = Some(next.map_or(left, |next| next.min(left))),
                None if self.claims.iter().any(claimed) => {}
                None => due.push((name.clone(), *since)),
            }
        }
        if unwritable && !due.is_empty() {
            // Nothing need be tried now.
            due.drain(..).for_each(|(name, _)| self.note_failed(ledger, &name.key));
            next = Some(AGAIN);
        }
        if let Some(next) = next {
            self.arm(next);
        }
        self.note(ledger);
        due
    }

    /// The row of a lock that was granted then is claimed from now on.
    pub(super) fn claim(&mut self, ticket: Ticket, since: Instant) {
        self.claims.push(LateClaim { ticket, since });
    }

    /// The row of a lock could not be written.
    fn note_failed(&self, ledger: &mut Ledger, key: &Key) {
        if ledger.note_failed(key) {
            self.engine.note_failed_row();
        }
        // A command that reads rows tries it again.
        ledger.ask_for_rows();
    }

    /// Takes in what a claim has come to. What the session is to do about it.
    pub(super) fn take_claimed(
        &mut self,
        ledger: &mut Ledger,
        ClaimedLock { key, since }: &ClaimedLock,
        acquired: &Acquired,
    ) -> SessionEvent {
        // The server may have released the lock meanwhile, and have granted it again: that is another claim's.
        let late = ledger.held().late_since(key) == Some(*since);
        let mut event = SessionEvent::LateRow;
        match acquired {
            Acquired::Granted(grant) => {
                let entered =
                    if late { ledger.enter(key.clone(), *grant) } else { Err(OtherIncarnation) };
                if entered.is_err() {
                    self.engine.release_later(vec![(key.clone(), grant.token)], grant.proxy);
                    let lost = ledger.granted_by().filter(|proxy| late && *proxy != grant.proxy);
                    event = lost.map_or(event, SessionEvent::Fence);
                }
            }
            Acquired::Unproven if late => {
                // The locks that are read may still have this one.
                self.arm(AGAIN);
                event = SessionEvent::ReadLocks;
            }
            Acquired::NotFree | Acquired::Deadlock | Acquired::Failed(_) if late => {
                self.note_failed(ledger, key);
                self.arm(AGAIN);
            }
            Acquired::Unproven | Acquired::NotFree | Acquired::Deadlock | Acquired::Failed(_) => {}
        }
        self.note(ledger);
        event
    }

    /// Waits no more for a claim.
    fn give_up(&self, LateClaim { mut ticket, .. }: LateClaim) {
        self.engine.cancel(&ticket);
        // From here on the engine sees that nobody hears it.
        ticket.outcome.close();
        if let Ok(Acquired::Granted(grant)) = ticket.outcome.try_recv() {
            self.engine.release_later(vec![(ticket.key, grant.token)], grant.proxy);
        }
    }

    /// The session is over. The session as the engine lists it, if the server may hold a lock without a row for it.
    pub(super) fn end(&mut self) -> Option<LateSession> {
        for claim in std::mem::take(&mut self.claims) {
            self.give_up(claim);
        }
        self.due = None;
        self.session.take().filter(LateSession::is_late)
    }

    /// The next step.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<LateStep> {
        if self.due.as_mut().is_some_and(|due| due.as_mut().poll(cx).is_ready()) {
            self.due = None;
            return Poll::Ready(LateStep::Due);
        }
        for at in 0..self.claims.len() {
            if let Poll::Ready(outcome) = Pin::new(&mut self.claims[at].ticket.outcome).poll(cx) {
                let ended = |_| Acquired::Failed("the lock engine has ended".to_owned());
                let LateClaim { ticket, since } = self.claims.swap_remove(at);
                let lock = ClaimedLock { key: ticket.key, since };
                return Poll::Ready(LateStep::Claimed(lock, outcome.unwrap_or_else(ended)));
            }
        }
        Poll::Pending
    }
}
