//! What the engine knows of one key: who holds it here, who waits, what is under way.

use std::collections::VecDeque;
use std::rc::Rc;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::handle::{Acquired, Claim, EventSender};
use crate::types::ConnectionId;

/// A session that wants the key.
#[derive(Debug)]
pub(super) struct Waiter {
    /// Id of the request, and of the grant it becomes.
    pub(super) id: u64,
    pub(super) claim: Claim,
    /// `None` once it was answered: a waiter that gave up while its grant was under way.
    pub(super) reply: Option<oneshot::Sender<Acquired>>,
}

impl Waiter {
    /// Tells the outcome. False when nobody listens any more.
    pub(super) fn answer(&mut self, outcome: Acquired) -> bool {
        self.reply.take().is_some_and(|reply| reply.send(outcome).is_ok())
    }
}

/// A lock held by a session of this proxy.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) token: u64,
    pub(super) conn: ConnectionId,
    /// The server's start when it was granted; `conn` is of this run.
    pub(super) run: i64,
    pub(super) events: EventSender,
    pub(super) since: Instant,
}

/// Tells a caller when the last of several releases is done: when the last clone is dropped.
#[derive(Debug, Clone)]
pub(super) struct Countdown(#[expect(dead_code, reason = "dropped with the last clone")] Rc<Done>);

impl Countdown {
    pub(super) fn new(reply: oneshot::Sender<()>) -> Self {
        Self(Rc::new(Done(Some(reply))))
    }
}

#[derive(Debug)]
struct Done(Option<oneshot::Sender<()>>);

impl Drop for Done {
    fn drop(&mut self) {
        if let Some(reply) = self.0.take() {
            let _ = reply.send(());
        }
    }
}

/// A release on its way to the store.
#[derive(Debug)]
pub(super) struct PendingRelease {
    pub(super) token: u64,
    #[expect(dead_code, reason = "dropping it tells the caller")]
    pub(super) done: Option<Countdown>,
}

/// The state of a key. A key without any is dropped from memory.
#[derive(Debug, Default)]
pub(super) struct KeyState {
    pub(super) held: Option<Held>,
    pub(super) release: Option<PendingRelease>,
    /// First come, first served. While a grant is under way its waiter is in `granting`.
    pub(super) queue: VecDeque<Waiter>,
    pub(super) granting: Option<Waiter>,
    /// A change of this key is at the store; no second one is sent.
    pub(super) in_flight: bool,
    /// Stands in the list of keys to be sent.
    pub(super) listed: bool,
    /// Held by another proxy when last looked at: wait for the poll.
    pub(super) remote: bool,
}

impl KeyState {
    /// Whether there is something to send.
    pub(super) fn has_work(&self, grants: bool) -> bool {
        !self.in_flight && (self.release.is_some() || (grants && self.may_grant()))
    }

    /// Whether the next waiter's turn has come.
    pub(super) fn may_grant(&self) -> bool {
        !self.queue.is_empty() && (self.held.is_none() || self.release.is_some()) && !self.remote
    }

    /// Whether nothing needs to be remembered.
    pub(super) fn is_idle(&self) -> bool {
        self.held.is_none()
            && self.release.is_none()
            && self.queue.is_empty()
            && self.granting.is_none()
            && !self.in_flight
    }
}
