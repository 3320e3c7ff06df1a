//! Taking a snapshot of the state, for administrators.

use super::Service;
use crate::engine::service::keys::{KeyState, Waiter};
use crate::engine::shared::snapshot::{EngineSnapshot, HoldInfo, WaitInfo};

impl Service {
    /// Locks and waits of this moment.
    pub(super) fn snapshot(&self) -> EngineSnapshot {
        let deadlocks = self.deadlocks.list();
        let mut snapshot = EngineSnapshot { deadlocks, ..EngineSnapshot::default() };
        for (key, state) in self.keys.iter() {
            let held = state.held.as_ref().filter(|_| state.release.is_none());
            snapshot.held.extend(held.map(|held| HoldInfo {
                key: key.clone(),
                token: held.token,
                conn: held.conn,
                held: held.since.elapsed(),
            }));
            // A waiter whose grant is at the store still waits for it.
            let first = state.granting.iter().filter(|w| w.reply.is_some());
            let waiters = first.chain(&state.queue).enumerate();
            snapshot.waiting.extend(waiters.map(|(place, w)| shown(state, place + 1, w)));
        }
        snapshot
    }
}

fn shown(state: &KeyState, place: usize, waiter: &Waiter) -> WaitInfo {
    WaitInfo { conn: waiter.claim.conn, place, holder: state.held.as_ref().map(|held| held.conn) }
}
