//! A session that has a connection of the pool.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::key::PoolKey;
use crate::clock;

/// A session that has a connection, and since when it does nothing with it.
pub(super) struct PoolHolder {
    /// Which connections it may have.
    pub(super) key: Arc<PoolKey>,
    /// Why it keeps its connection.
    pub(super) reasons: Mutex<Vec<&'static str>>,
    /// In nanoseconds of the boot clock; 0 while it is busy, or cannot give it back.
    idle_since: AtomicU64,
    nudge: Box<dyn Fn() + Send + Sync>,
}

impl PoolHolder {
    pub(super) fn new(key: Arc<PoolKey>, nudge: impl Fn() + Send + Sync + 'static) -> Self {
        let (idle_since, nudge) = (AtomicU64::new(0), Box::new(nudge));
        Self { key, reasons: Mutex::default(), idle_since, nudge }
    }

    /// Notes that the session does nothing with its connection from here on.
    pub(super) fn mark_idle(&self) {
        let now = u64::try_from(clock::now().as_nanos()).unwrap_or(u64::MAX);
        self.idle_since.store(now.max(1), Ordering::SeqCst);
    }

    /// Notes that the session works with its connection.
    pub(super) fn mark_busy(&self) {
        self.idle_since.store(0, Ordering::SeqCst);
    }

    pub(super) fn idle_since(&self) -> Option<Duration> {
        match self.idle_since.load(Ordering::SeqCst) {
            0 => None,
            since => Some(Duration::from_nanos(since)),
        }
    }

    /// Asks for it, once for each time that the session rests.
    pub(super) fn nudge(&self) {
        self.mark_busy();
        (self.nudge)();
    }
}
