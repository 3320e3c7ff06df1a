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
    names: RwLock<Arc<StatefulNames>>,
    changed: Notify,
}

impl KnownPrograms {
    /// As they were read last.
    pub fn names(&self) -> Arc<StatefulNames> {
        Arc::clone(&self.0.names.read())
    }

    /// They were read.
    pub fn learn(&self, names: StatefulNames) {
        *self.0.names.write() = Arc::new(names);
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
