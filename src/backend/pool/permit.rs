//! The right to one connection.

use std::fmt;
use std::sync::Arc;

use super::key::PoolKey;

/// Gives the rights, and hears when one is not used any more.
pub(super) trait Permits: Send + Sync {
    /// A connection has ended that was opened with this key.
    fn make_room(self: Arc<Self>, key: &PoolKey);
}

/// Counts one connection as open for as long as it lives.
pub struct Permit {
    of: Arc<dyn Permits>,
    key: Arc<PoolKey>,
}

impl Permit {
    pub(super) fn new(of: Arc<dyn Permits>, key: Arc<PoolKey>) -> Self {
        Self { of, key }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        Arc::clone(&self.of).make_room(&self.key);
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Permit")
    }
}
