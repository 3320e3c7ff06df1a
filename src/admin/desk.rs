//! What the connections of one entrance share: places, and counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::CONNECTIONS;
use super::control::Control;
use crate::lock::codes;
use crate::protocol::reply::ErrorReply;

/// Between lines of the log that say that there is no place.
const SAID: Duration = Duration::from_secs(10);

/// An entrance's own: who fills one keeps nobody out of another.
pub(super) struct Desk {
    places: Arc<Semaphore>,
    control: Control,
    since: Instant,
    questions: AtomicU64,
    /// When that was last said, and how many there were since.
    refused: Mutex<(Option<Instant>, u64)>,
}

impl Desk {
    pub(super) fn new(control: Control) -> Self {
        Self {
            places: Arc::new(Semaphore::new(CONNECTIONS)),
            control,
            since: Instant::now(),
            questions: AtomicU64::new(0),
            refused: Mutex::new((None, 0)),
        }
    }

    /// A place behind the login.
    pub(super) fn place(&self) -> Result<OwnedSemaphorePermit, ErrorReply> {
        Arc::clone(&self.places).try_acquire_owned().map_err(|_| {
            self.refuse();
            codes::too_many_connections()
        })
    }

    /// Counts somebody for whom there is no place, and says so now and then.
    pub(super) fn refuse(&self) {
        let metrics = &self.control.clusters[0].metrics;
        metrics.limits.with_label_values(&["admin_connections"]).inc();
        let mut refused = self.refused.lock();
        refused.1 += 1;
        if refused.0.is_none_or(|said| said.elapsed() >= SAID) {
            tracing::warn!(target: "lockstead::audit", times = refused.1, "administrators are refused: there are too many, or too many logins under way");
            *refused = (Some(Instant::now()), 0);
        }
    }

    /// Counts a command.
    pub(super) fn asked(&self) {
        self.questions.fetch_add(1, Ordering::Relaxed);
    }

    /// As servers answer COM_STATISTICS: clients take numbers out of it, and crash where there is none.
    pub(super) fn statistics(&self) -> String {
        let (uptime, questions) = (self.since.elapsed(), self.questions.load(Ordering::Relaxed));
        #[expect(clippy::cast_precision_loss, reason = "for people")]
        let rate = questions as f64 / uptime.as_secs_f64().max(1.0);
        format!(
            "Uptime: {}  Threads: {}  Questions: {questions}  Slow queries: 0  Opens: 0  \
             Flush tables: 0  Open tables: 0  Queries per second avg: {rate:.3}",
            uptime.as_secs(),
            self.control.registry.shown(usize::MAX).len(),
        )
    }
}
