//! What the connections of one entrance share: places, and counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::CONNECTIONS;
use super::control::Control;
use super::sources::Sources;
use crate::lock::codes;
use crate::protocol::reply::ErrorReply;
use crate::seldom::{Seldom, Turn};

/// An entrance's own: who fills one keeps nobody out of another.
pub(super) struct Desk {
    places: Arc<Semaphore>,
    control: Control,
    since: Instant,
    questions: AtomicU64,
    /// What those may take who have not logged in.
    pub(super) sources: Mutex<Sources>,
    full: Seldom,
    /// Lines about those who are refused.
    pub(super) refusals: Seldom,
    /// Lines about what lets nobody in.
    pub(super) failures: Seldom,
}

impl Desk {
    pub(super) fn new(control: Control) -> Self {
        Self {
            places: Arc::new(Semaphore::new(CONNECTIONS)),
            control,
            since: Instant::now(),
            questions: AtomicU64::new(0),
            sources: Mutex::new(Sources::new()),
            full: Seldom::default(),
            refusals: Seldom::default(),
            failures: Seldom::default(),
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
        self.met("admin_connections");
        if let Some(Turn { left_out }) = self.full.turn() {
            tracing::warn!(target: "lockstead::audit", left_out, "administrators are refused: there are too many, or too many logins under way");
        }
    }

    /// Counts somebody whose password is not looked at.
    pub(super) fn block(&self) {
        self.met("admin_passwords");
    }

    fn met(&self, limit: &str) {
        self.control.clusters[0].metrics.limits.with_label_values(&[limit]).inc();
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
