//! The right to one connection.

use std::fmt;

use super::Pool;

/// Counts one connection as open for as long as it lives.
pub struct Permit(Pool);

impl Permit {
    pub(super) fn new(pool: &Pool) -> Self {
        Self(pool.clone())
    }

    /// Whose it is.
    pub fn pool(&self) -> &Pool {
        &self.0
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.make_room();
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Permit")
    }
}
