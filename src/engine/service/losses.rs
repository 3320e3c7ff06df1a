//! Held locks whose rows were deleted or changed: other sessions may have them by now.

use super::Service;
use crate::engine::messages::{HeldNow, NativeHold, SessionEvent};
use crate::engine::service::keys::{KeyState, LocalHold};
use crate::lock::name::Key;
use crate::mutants::{self, Mutant};
use crate::types::ProxyId;

/// A lock that stays its session's until a change is sent: its row names it.
fn at_rest(state: &KeyState) -> Option<&LocalHold> {
    state.held.as_ref().filter(|_| !state.in_flight && state.release.is_none())
}

impl Service {
    /// The locks whose rows must name this proxy in every reading that begins later, for as long as
    /// they are at rest.
    pub(super) fn held_now(&self, proxy: ProxyId) -> HeldNow {
        if self.writer.as_ref().is_none_or(|w| w.proxy != proxy) {
            return HeldNow::default();
        }
        let mut now = HeldNow { last_token: self.last_token, ..HeldNow::default() };
        for (key, state) in self.keys.iter() {
            match at_rest(state) {
                Some(LocalHold { token, backend, native: true, leaving: None, .. }) => {
                    let hold = |conn| NativeHold { key: key.clone(), token: *token, conn };
                    now.native.extend(backend.id().map(hold));
                }
                Some(LocalHold { token, native: false, .. }) => {
                    now.locks.push((key.clone(), *token));
                }
                Some(_) | None => {}
            }
        }
        now
    }

    /// Closes the sessions of locks whose rows were gone when they were read: they were held before,
    /// and are at rest under the same token still.
    pub(super) fn lose(&mut self, proxy: ProxyId, locks: Vec<(Key, u64)>) {
        if self.writer.as_ref().is_none_or(|w| w.proxy != proxy) || mutants::on(Mutant::TrustRows) {
            return;
        }
        let lost = locks.into_iter().filter(|(key, token)| {
            let held = self.keys.get(key).and_then(at_rest);
            held.is_some_and(|held| held.token == *token)
        });
        let lost = lost.collect();
        let known = std::mem::replace(&mut self.lost, lost);
        for (key, token) in self.lost.difference(&known) {
            let Some(held) = self.keys.held(key) else {
                continue;
            };
            self.tell_lost(key, *token, held);
            // A statement that runs would go on without the lock.
            self.end_statement(held);
        }
    }

    /// The release of a lock has found that its row is not this proxy's. The session that asked for the
    /// release is told before it is done. A native lock's row may be the next session's by then.
    pub(super) fn miss(&self, key: &Key) {
        let held = self.keys.held(key).filter(|held| !held.native);
        if let Some(held) = held
            && !self.lost.contains(&(key.clone(), held.token))
        {
            self.tell_lost(key, held.token, held);
        }
    }

    /// Ends what runs at the server for a session that is to close. Without the right to kill, it runs to
    /// its end.
    pub(super) fn end_statement(&self, held: &LocalHold) {
        if let Some((conn, run)) = held.backend.condemn() {
            self.queries.kill(conn, run.unwrap_or(held.run));
        }
    }

    /// Tells the holder's session that the lock is lost. The session closes, and its other locks are released as at any
    /// end of a session.
    pub(super) fn tell_lost(&self, key: &Key, token: u64, held: &LocalHold) {
        self.metrics.lost_rows.inc();
        tracing::error!(lock = key.shown(), token, connection = %held.conn, "the row of a held lock was deleted or changed: its session is closed");
        let _ = held.events.send(SessionEvent::Lost(token));
    }
}
