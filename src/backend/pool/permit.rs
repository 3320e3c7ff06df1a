//! The right to one connection.

use std::fmt;
use std::sync::Arc;

/// Gives the rights, and hears when one is not used any more.
pub(super) trait Permits: Send + Sync {
    /// A connection has ended.
    fn make_room(self: Arc<Self>);
}

/// Counts one connection as open for as long as it lives.
pub struct Permit(Arc<dyn Permits>);

impl Permit {
    pub(super) fn new(of: Arc<dyn Permits>) -> Self {
        Self(of)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        Arc::clone(&self.0).make_room();
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Permit")
    }
}
