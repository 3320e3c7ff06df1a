//! Connections of one entrance: how many there may be, and what is counted of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::limits::CONNECTIONS;
use super::sources::Sources;
use crate::frontend::shared::registry::Registry;
use crate::lock::codes;
use crate::metrics::Metrics;
use crate::protocol::reply::ErrorReply;
use crate::seldom::{Seldom, Turn};

/// Slots for connections: each entrance has its own, so filling one does not block the others.
pub(super) struct ConnectionSlots {
    slots: Arc<Semaphore>,
    metrics: Arc<Metrics>,
    registry: Registry,
    since: Instant,
    questions: AtomicU64,
    /// Limits for connections that have not logged in.
    pub(super) sources: Mutex<Sources>,
    full: Seldom,
    /// Log lines about refused logins.
    pub(super) refusals: Seldom,
    /// Log lines about faults that let nobody in.
    pub(super) failures: Seldom,
}

impl ConnectionSlots {
    pub(super) fn new(metrics: Arc<Metrics>, registry: Registry) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(CONNECTIONS)),
            metrics,
            registry,
            since: Instant::now(),
            questions: AtomicU64::new(0),
            sources: Mutex::new(Sources::new()),
            full: Seldom::default(),
            refusals: Seldom::default(),
            failures: Seldom::default(),
        }
    }

    /// A slot for a connection whose login has succeeded.
    pub(super) fn take(&self) -> Result<OwnedSemaphorePermit, ErrorReply> {
        Arc::clone(&self.slots).try_acquire_owned().map_err(|_| {
            self.refuse();
            codes::too_many_connections()
        })
    }

    /// Counts a connection for which there is no slot, and logs it now and then.
    pub(super) fn refuse(&self) {
        self.limit_reached("admin_connections");
        if let Some(Turn { left_out }) = self.full.turn() {
            tracing::warn!(target: "lockstead::audit", left_out, "administrators are refused: too many connections, or too many unfinished logins");
        }
    }

    /// Counts a login whose password is not checked.
    pub(super) fn block(&self) {
        self.limit_reached("admin_passwords");
    }

    fn limit_reached(&self, limit: &str) {
        self.metrics.limits.with_label_values(&[limit]).inc();
    }

    /// Counts a command.
    pub(super) fn count_command(&self) {
        self.questions.fetch_add(1, Ordering::Relaxed);
    }

    /// The answer to COM_STATISTICS, with the numbers of a server's: some clients crash without them.
    pub(super) fn statistics(&self) -> String {
        let (uptime, questions) = (self.since.elapsed(), self.questions.load(Ordering::Relaxed));
        #[expect(clippy::cast_precision_loss, reason = "a rate to read")]
        let rate = questions as f64 / uptime.as_secs_f64().max(1.0);
        format!(
            "Uptime: {}  Threads: {}  Questions: {questions}  Slow queries: 0  Opens: 0  \
             Flush tables: 0  Open tables: 0  Queries per second avg: {rate:.3}",
            uptime.as_secs(),
            self.registry.shown(usize::MAX).len(),
        )
    }
}
