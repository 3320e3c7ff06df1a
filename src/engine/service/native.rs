//! Claims by the server's own locks: a session has been granted one there, and its row is taken by that proof.

use std::collections::HashSet;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Service, events};
use crate::engine::messages::{
    Acquired, Claim, Differences, FindSessions, NativeHold, SessionEvent,
};
use crate::engine::service::keys::{KeyState, Waiter};
use crate::lock::name::Key;
use crate::store::identity::{is_same_run, run_number};
use crate::store::rows::LockRow;
use crate::types::ConnectionId;

/// What the service knows of native locks beside its keys.
#[derive(Debug)]
pub(super) struct Native {
    /// Whether sessions here take the server's own locks.
    pub(super) is_on: bool,
    sessions: Option<FindSessions>,
    /// Holds that the server did not have when it was asked last.
    gone: HashSet<NativeHold>,
}

impl Native {
    pub(super) fn new(is_on: bool, sessions: Option<FindSessions>) -> Self {
        Self { is_on, sessions, gone: HashSet::new() }
    }
}

impl Service {
    /// A session that has the server's own lock claims the row. It waits for no session here: what the server
    /// has granted, the one before has let go.
    pub(super) fn claim(&mut self, id: u64, claim: Claim, reply: oneshot::Sender<Acquired>) {
        let key = claim.name.key.clone();
        let (claim, since) = (Claim { once: false, holds: false, ..claim }, Instant::now());
        let reply = Some(reply);
        let waiter = Waiter { id, claim, reply, ticket: 0, edge: None, since, hurried: false };
        let state = self.keys.enter(&key);
        state.queue.push_back(waiter);
        if state.remote.is_some() {
            self.poll.start_now();
        }
        self.keys.list(&key);
    }

    /// A claim was won: the session that had the lock here has let go, and its release is not needed.
    pub(super) fn supersede(&mut self, key: &Key) {
        let Some(state) = self.keys.get_mut(key) else {
            return;
        };
        state.release = None;
        if let Some(held) = state.held.take() {
            events::ended(&self.metrics, key, &held, "let go at the server");
            self.metrics.hold_seconds.observe(held.since.elapsed().as_secs_f64());
        }
    }

    /// The server does not have the lock for this session.
    pub(super) fn refuse_claim(&mut self, key: &Key, mut waiter: Waiter) {
        self.metrics.unproven.inc();
        waiter.answer(Acquired::Unproven);
        let next = self
            .keys
            .get_mut(key)
            .filter(|state| state.queue.front().is_some_and(|waiter| waiter.claim.native));
        if let Some(state) = next {
            // It has been granted the lock since.
            state.remote = None;
        }
    }

    /// Whether the holder that the row names has the server's own lock, too, in the present run.
    pub(super) fn is_native_here(&self, row: &LockRow) -> bool {
        let here = self.writer.as_ref().map(|w| run_number(&self.lease.home(), w.run));
        row.run != 0 && here.is_some_and(|here| is_same_run(here, row.run))
    }

    /// Tells sessions whose locks at the server are others than here to read them: one whose lock is gone when
    /// that was seen twice, since its release may be on the way.
    pub(super) fn differ(&mut self, Differences { gone, more }: Differences) {
        let mut told = HashSet::new();
        for hold in gone.intersection(&self.native.gone) {
            if let Some(held) = self.keys.held_under(&hold.key, hold.token)
                && self.keys.get(&hold.key).is_some_and(|state| state.release.is_none())
            {
                self.metrics.differences.inc();
                if told.insert(hold.conn) {
                    let _ = held.events.send(SessionEvent::ReadLocks);
                }
            }
        }
        self.native.gone = gone;
        let knows = |state: &KeyState, conn: ConnectionId| {
            let mut waiters = state.granting.iter().chain(&state.queue);
            state.held.as_ref().is_some_and(|held| held.conn == conn)
                || waiters.any(|waiter| waiter.claim.conn == conn)
        };
        let is_new = |(conn, key): &&(ConnectionId, Key)| {
            !told.contains(conn) && !self.keys.get(key).is_some_and(|state| knows(state, *conn))
        };
        let new: HashSet<ConnectionId> =
            more.iter().filter(is_new).map(|(conn, _)| *conn).collect();
        if let Some(sessions) = self.native.sessions.as_ref().filter(|_| !new.is_empty()) {
            for events in sessions.find(&new).into_values() {
                self.metrics.differences.inc();
                let _ = events.send(SessionEvent::ReadLocks);
            }
        }
    }
}
