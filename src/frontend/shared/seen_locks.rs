//! What windows show of the locks of a cluster's sessions, in every mode.

use std::sync::Arc;

use super::seen_holds::SeenHolds;
use super::waits::LockWaits;
use crate::metrics::Metrics;

/// The waits of a cluster's sessions, and those of their holds that have no rows.
#[derive(Debug, Clone)]
pub struct SeenLocks {
    /// Sessions that wait.
    pub waits: LockWaits,
    /// Locks that sessions were seen to take, where no rows are kept.
    pub holds: SeenHolds,
}

impl SeenLocks {
    /// None yet.
    pub fn new(metrics: &Arc<Metrics>) -> Self {
        let metrics = || Arc::clone(metrics);
        Self { waits: LockWaits::new(metrics()), holds: SeenHolds::new(metrics()) }
    }
}
