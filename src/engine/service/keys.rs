//! The state of one key: its holder here, its waiters, the change under way.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::countdown::Countdown;
use super::ownership::Owned;
use crate::engine::messages::{Acquired, Claim, EventSender};
use crate::engine::shared::current_backend::CurrentBackend;
use crate::engine::shared::wait_graph::Edge;
use crate::types::ConnectionId;

/// A session that wants the key.
#[derive(Debug)]
pub(super) struct Waiter {
    /// Id of the request.
    pub(super) id: u64,
    pub(super) claim: Claim,
    /// `None` once it was answered: a waiter that gave up while its grant was under way.
    pub(super) reply: Option<oneshot::Sender<Acquired>>,
    /// The lock's token when it was first found taken; 0: not yet.
    pub(super) ticket: u64,
    /// The edge in the graph of waits, until the waiter is answered.
    pub(super) edge: Option<Edge>,
    /// When the wait began.
    pub(super) since: Instant,
    /// The lock's row was found free after an attempt, which was repeated at once.
    pub(super) hurried: bool,
}

impl Waiter {
    /// Whether somebody waits for the answer.
    pub(super) fn is_awaited(&self) -> bool {
        self.reply.as_ref().is_some_and(|reply| !reply.is_closed())
    }

    /// Tells the outcome. Whether the session was still listening.
    pub(super) fn answer(&mut self, outcome: Acquired) -> bool {
        self.edge = None;
        self.reply.take().is_some_and(|reply| reply.send(outcome).is_ok())
    }
}

/// A lock held by a session of this proxy.
#[derive(Debug)]
pub(super) struct LocalHold {
    pub(super) token: u64,
    /// The session that holds the lock.
    pub(super) conn: ConnectionId,
    /// The name as the client wrote it.
    pub(super) name: Box<[u8]>,
    /// user@host.
    pub(super) owner: Arc<[u8]>,
    /// The server's connection that works for the session.
    pub(super) backend: CurrentBackend,
    /// The server's start when the lock was granted: the session's connection was of this run then.
    pub(super) run: i64,
    pub(super) events: EventSender,
    pub(super) since: Instant,
    /// The session is ending, for this reason: the release follows.
    pub(super) leaving: Option<&'static str>,
    /// The server holds the lock for the session, too.
    pub(super) native: bool,
}

impl LocalHold {
    /// A hold that begins now.
    pub(super) fn new(token: u64, claim: &Claim, run: i64) -> Self {
        Self {
            token,
            conn: claim.conn,
            name: claim.name.given.clone(),
            owner: Arc::clone(&claim.owner),
            backend: claim.backend.clone(),
            run,
            events: claim.events.clone(),
            since: Instant::now(),
            leaving: None,
            native: claim.native,
        }
    }

    /// The server's start as its session's connection knows it: in another run that connection is gone.
    pub(super) fn run(&self) -> i64 {
        self.backend.run().unwrap_or(self.run)
    }
}

/// A release on its way to the store.
#[derive(Debug)]
pub(super) struct PendingRelease {
    pub(super) token: u64,
    /// Tells the caller when it is dropped.
    pub(super) done: Option<Countdown>,
}

impl PendingRelease {
    /// Whether a client waits for it. If not, all know already that the lock is released, but the lock tables.
    pub(super) fn is_awaited(&self) -> bool {
        self.done.as_ref().is_some_and(Countdown::is_awaited)
    }
}

/// The state of a key. A key without any is dropped from memory.
#[derive(Debug, Default)]
pub(super) struct KeyState {
    pub(super) held: Option<LocalHold>,
    pub(super) release: Option<PendingRelease>,
    /// The row names this incarnation.
    pub(super) owned: Option<Owned>,
    /// First come, first served. While a grant is under way its waiter is in `granting`.
    pub(super) queue: VecDeque<Waiter>,
    pub(super) granting: Option<Waiter>,
    /// A change of this key is at the store; no second one is sent.
    pub(super) in_flight: bool,
    /// A session asks who has the lock, and the row's owner must be asked.
    pub(super) asks: bool,
    /// Sessions that wait for the owner's answer.
    pub(super) asking: u32,
    /// That change only shows in the row who has the lock.
    pub(super) showing: bool,
    /// The key is in the list of keys to be sent.
    pub(super) listed: bool,
    /// Another proxy had the lock at the last look: wait for the poll.
    pub(super) remote: Option<Remote>,
    /// Hand-overs here since another proxy was seen waiting.
    pub(super) passed: u32,
}

/// A key that another proxy has.
#[derive(Debug, Default)]
pub(super) struct Remote {
    /// A look has shown that a grant may be tried, or that the row should name this proxy as waiting.
    pub(super) attempt: bool,
    /// The row names this proxy as waiting.
    pub(super) placed: bool,
    /// Left free for this other proxy, and since when.
    pub(super) left_to: Option<(u64, Instant)>,
    /// That proxy has not taken it: take it.
    pub(super) take: bool,
    /// The owner keeps names, and a session that tries once needs to know who has the lock.
    pub(super) asks: bool,
}

impl KeyState {
    /// The session that has the lock here, or is about to, and does not give it back.
    pub(super) fn holder(&self) -> Option<ConnectionId> {
        if self.release.is_some() {
            return None;
        }
        let held = self.held.as_ref().map(|h| h.conn);
        let wanted = self.granting.as_ref().filter(|w| w.reply.is_some());
        held.or_else(|| wanted.map(|w| w.claim.conn))
    }

    /// Whether its holder here gives it back, or is about to.
    pub(super) fn is_leaving(&self) -> bool {
        self.release.is_some() || self.held.as_ref().is_some_and(|h| h.leaving.is_some())
    }

    /// Whether the grant under way is by the server's own lock.
    pub(super) fn claims(&self) -> bool {
        self.granting.as_ref().is_some_and(|waiter| waiter.claim.native)
    }

    /// Whether there is something to send.
    pub(super) fn has_work(&self, grants: bool) -> bool {
        !self.in_flight
            && (self.release.is_some()
                || self.withdraws()
                || self.asks
                || self.owned.as_ref().is_some_and(|owned| owned.due().is_some())
                || (grants && self.may_grant()))
    }

    /// Whether the next waiter's turn has come. If the server holds the lock for it, the session that seems to
    /// hold it here has let go.
    pub(super) fn may_grant(&self) -> bool {
        let free = self.held.is_none() || self.release.is_some();
        self.queue.front().is_some_and(|next| free || next.claim.native)
            && self.remote.as_ref().is_none_or(|r| r.attempt)
    }

    /// Whether the row names this proxy as waiting, though no session here waits any more.
    pub(super) fn withdraws(&self) -> bool {
        self.queue.is_empty() && self.asking == 0 && self.remote.as_ref().is_some_and(|r| r.placed)
    }

    /// Puts a waiter back in front, unless it has its answer.
    pub(super) fn requeue(&mut self, waiter: Waiter) {
        if waiter.reply.is_some() {
            self.queue.push_front(waiter);
        }
    }

    /// The token of the hold, and when it began; 0: there is none.
    pub(super) fn hold(&self) -> (u64, Option<Instant>) {
        self.held.as_ref().map_or((0, None), |held| (held.token, Some(held.since)))
    }

    /// Whether no session here has the lock, or wants it.
    pub(super) fn is_unused(&self) -> bool {
        self.held.is_none()
            && self.release.is_none()
            && self.queue.is_empty()
            && self.granting.is_none()
    }

    /// Whether nothing needs to be remembered.
    pub(super) fn is_idle(&self) -> bool {
        self.held.is_none()
            && self.release.is_none()
            && self.owned.is_none()
            && self.asking == 0
            && self.queue.is_empty()
            && self.granting.is_none()
            && !self.in_flight
            && !self.withdraws()
    }
}
