//! What is known of stored programs, where sessions share server connections.

use std::sync::Arc;

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

    /// They were read.
    pub fn learn(&self, names: StatefulNames) {
        *self.0.names.write() = Some(Arc::new(names));
    }

    /// A client has changed one.
    pub fn are_stale(&self) {
        self.0.changed.notify_one();
    }

    /// Waits until a client has changed one.
    pub async fn wait_until_stale(&self) {
        self.0.changed.notified().await;
    }
}
