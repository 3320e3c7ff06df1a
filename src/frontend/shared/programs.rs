//! What is known of stored programs, where sessions share server connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use tokio::sync::Notify;

use crate::sql::session::stateful::StatefulNames;

/// Names that may run stateful programs, as they were read last. Copies speak of the same.
#[derive(Debug, Clone, Default)]
pub struct KnownPrograms(Arc<Known>);

#[derive(Debug, Default)]
struct Known {
    /// `None`: they were never read.
    names: RwLock<Option<Arc<StatefulNames>>>,
    /// Readings that have begun, and the last of them that has ended.
    begun: AtomicU64,
    ended: AtomicU64,
    /// The first that shows the last change that is known of.
    wanted: AtomicU64,
    changed: Notify,
}

impl KnownPrograms {
    /// As they were read last.
    pub fn names(&self) -> Arc<StatefulNames> {
        self.0.names.read().clone().unwrap_or_default()
    }

    /// Whether they were read.
    pub fn are_read(&self) -> bool {
        self.0.names.read().is_some()
    }

    /// Begins a reading, and returns its number.
    pub fn start_reading(&self) -> u64 {
        self.0.begun.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Replaces the names by those of this reading.
    pub fn learn(&self, names: StatefulNames, reading: u64) {
        *self.0.names.write() = Some(Arc::new(names));
        self.0.ended.store(reading, Ordering::SeqCst);
    }

    /// The first reading that shows what has changed before now.
    pub(crate) fn next_reading(&self) -> u64 {
        self.0.begun.load(Ordering::SeqCst) + 1
    }

    /// The last reading that has ended.
    pub(crate) fn last_reading(&self) -> u64 {
        self.0.ended.load(Ordering::SeqCst)
    }

    /// The names, if they were read after the last change that is known of.
    pub fn current_names(&self) -> Option<Arc<StatefulNames>> {
        let names = self.0.names.read().clone()?;
        (self.last_reading() >= self.0.wanted.load(Ordering::SeqCst)).then_some(names)
    }

    /// A client has changed one.
    pub fn are_stale(&self) {
        self.0.wanted.fetch_max(self.next_reading(), Ordering::SeqCst);
        self.0.changed.notify_one();
    }

    /// Waits until a client has changed one.
    pub async fn wait_until_stale(&self) {
        self.0.changed.notified().await;
    }
}
