//! The servers that may be promoted while the former primary still takes writes.

use std::fmt;
use std::sync::Arc;

use crate::config::ServerAddress;

type ReadFn = dyn Fn() -> Vec<ServerAddress> + Send + Sync;

/// The servers of `failover_candidates`, as they are in force. None by default.
#[derive(Clone)]
pub struct Candidates(Arc<ReadFn>);

impl Candidates {
    /// The servers that `read` tells each time.
    pub fn new(read: impl Fn() -> Vec<ServerAddress> + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    /// All of them.
    pub fn all(&self) -> Vec<ServerAddress> {
        (self.0)()
    }

    /// The candidates beside the writer.
    pub fn beside(&self, writer: &ServerAddress) -> Vec<ServerAddress> {
        self.all().into_iter().filter(|server| server != writer).collect()
    }
}

impl Default for Candidates {
    fn default() -> Self {
        Self::new(Vec::new)
    }
}

impl fmt::Debug for Candidates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Candidates").field(&self.all()).finish()
    }
}
