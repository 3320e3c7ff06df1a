//! Held locks whose rows were deleted or changed: other sessions may have them by now.

use super::Service;
use super::ownership::Owned;
use crate::engine::messages::{HeldNow, NativeHold, SessionEvent};
use crate::engine::service::keys::{KeyState, LocalHold};
use crate::lock::name::Key;
use crate::mutants::{self, Mutant};
use crate::types::ProxyId;

/// The token of a row that names this incarnation until a change is sent.
fn at_rest(state: &KeyState) -> Option<u64> {
    let owned = state.owned.as_ref().filter(|_| !state.in_flight && state.release.is_none());
    owned.map(Owned::row)
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
            let Some(row) = at_rest(state) else { continue };
            match &state.held {
                Some(LocalHold { token, backend, native: true, leaving: None, .. }) => {
                    let hold = |conn| NativeHold { key: key.clone(), token: *token, conn };
                    now.native.extend(backend.id().map(hold));
                }
                Some(LocalHold { native: true, .. }) => {}
                Some(_) | None => now.locks.push((key.clone(), row)),
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
        let same = |(key, row): &(Key, u64)| self.keys.get(key).and_then(at_rest) == Some(*row);
        let (held, idle): (Vec<_>, Vec<_>) =
            locks.into_iter().filter(same).partition(|(key, _)| self.keys.held(key).is_some());
        // The next grant is a write.
        for (key, _) in held.iter().chain(&idle) {
            if let Some(state) = self.keys.get_mut(key) {
                state.owned = None;
            }
            self.keys.forget_if_idle(key);
        }
        let token = |(key, _): (Key, u64)| {
            let token = self.keys.held(&key)?.token;
            Some((key, token))
        };
        let lost = held.into_iter().filter_map(token).collect();
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
