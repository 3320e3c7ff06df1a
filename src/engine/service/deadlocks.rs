//! Deadlocks that this proxy has ended: counted, logged and remembered.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;

use crate::engine::shared::snapshot::{DEADLOCKS, Deadlock};
use crate::metrics::Metrics;
use crate::seldom::{Seldom, Turn};
use crate::types::ConnectionId;

/// The last ones.
pub(super) struct Deadlocks {
    metrics: Arc<Metrics>,
    past: VecDeque<Deadlock>,
    log_limit: Seldom,
}

impl Deadlocks {
    pub(super) fn new(metrics: Arc<Metrics>) -> Self {
        Self { metrics, past: VecDeque::new(), log_limit: Seldom::default() }
    }

    /// Remembers a deadlock that is about to be ended by giving up the wait of `victim`.
    pub(super) fn note(
        &mut self,
        across: bool,
        victim: ConnectionId,
        circle: Vec<(ConnectionId, String)>,
    ) {
        let way = if across { "across" } else { "here" };
        self.metrics.deadlocks.with_label_values(&[way]).inc();
        if let Some(Turn { left_out }) = self.log_limit.turn() {
            tracing::info!(target: "lockstead::locks", connection = %victim, ?circle, way, left_out, "a deadlock is ended");
        }
        if self.past.len() == DEADLOCKS {
            self.past.pop_front();
        }
        #[expect(clippy::disallowed_methods, reason = "nothing is decided by it")]
        let at = SystemTime::now();
        self.past.push_back(Deadlock { at, across, victim, circle });
    }

    /// The last ones, the latest last.
    pub(super) fn list(&self) -> Vec<Deadlock> {
        self.past.iter().cloned().collect()
    }
}
