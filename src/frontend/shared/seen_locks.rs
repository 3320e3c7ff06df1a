//! What windows show of the locks of a cluster's sessions, in every mode.

use std::sync::Arc;

use super::seen_holds::SeenHolds;
use super::waits::LockWaits;
use crate::engine::shared::history::History;
use crate::metrics::Metrics;

/// The waits of a cluster's sessions, those of their holds that have no rows, and the holds that are over.
#[derive(Debug, Clone)]
pub struct SeenLocks {
    /// Sessions that wait.
    pub waits: LockWaits,
    /// Locks that sessions were seen to take, where no rows are kept.
    pub holds: SeenHolds,
    /// Holds that have ended.
    pub history: Arc<History>,
}

impl SeenLocks {
    /// Empty lists of waits and holds.
    pub fn new(metrics: &Arc<Metrics>, history: Arc<History>) -> Self {
        let metrics = || Arc::clone(metrics);
        let holds = SeenHolds::new(metrics(), Arc::clone(&history));
        Self { waits: LockWaits::new(metrics()), holds, history }
    }
}
