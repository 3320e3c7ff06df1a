//! Showing the state to people.

use std::time::SystemTime;

use tokio::time::Instant;

use super::Service;
use crate::engine::service::keys::{KeyState, Waiter};
use crate::engine::shared::snapshot::{DEADLOCKS, Deadlock, EngineSnapshot, HoldInfo, WaitInfo};
use crate::lock::name::Key;
use crate::seldom::Turn;
use crate::types::ConnectionId;

impl Service {
    /// Locks and waits of this moment.
    pub(super) fn snapshot(&self) -> EngineSnapshot {
        let deadlocks = self.deadlocks.iter().cloned().collect();
        let mut snapshot = EngineSnapshot { deadlocks, ..EngineSnapshot::default() };
        for (key, state) in &self.keys {
            let held = state.held.as_ref().filter(|_| state.release.is_none());
            snapshot.held.extend(held.map(|held| HoldInfo {
                key: key.clone(),
                token: held.token,
                conn: held.conn,
                held: held.since.elapsed(),
            }));
            // One whose grant is at the store still waits for it.
            let first = state.granting.iter().filter(|w| w.reply.is_some());
            let waiters = first.chain(&state.queue).enumerate();
            snapshot.waiting.extend(waiters.map(|(place, w)| shown(key, state, place + 1, w)));
        }
        snapshot
    }

    /// Remembers a deadlock that is about to be ended by giving up the wait of `victim`.
    pub(super) fn note_deadlock(
        &mut self,
        across: bool,
        victim: ConnectionId,
        circle: Vec<(ConnectionId, String)>,
    ) {
        let way = if across { "across" } else { "here" };
        self.metrics.deadlocks.with_label_values(&[way]).inc();
        if let Some(Turn { left_out }) = self.lines.deadlocks.turn() {
            tracing::info!(target: "lockstead::locks", connection = %victim, ?circle, way, left_out, "a deadlock is ended");
        }
        if self.deadlocks.len() == DEADLOCKS {
            self.deadlocks.pop_front();
        }
        #[expect(clippy::disallowed_methods, reason = "nothing is decided by it")]
        let at = SystemTime::now();
        self.deadlocks.push_back(Deadlock { at, across, victim, circle });
    }
}

fn shown(key: &Key, state: &KeyState, place: usize, waiter: &Waiter) -> WaitInfo {
    WaitInfo {
        key: key.clone(),
        name: waiter.claim.name.given.clone(),
        conn: waiter.claim.conn,
        owner: waiter.claim.owner.clone(),
        waited: Instant::now() - waiter.since,
        place,
        holder: state.held.as_ref().map(|held| held.conn),
    }
}
