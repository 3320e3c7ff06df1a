//! The engine's settings at its start.

use std::sync::Arc;
use std::time::Duration;

use super::io::link::StoreAccess;
use crate::state::StateDir;

/// The engine's settings at its start.
#[derive(Debug)]
pub struct Setup {
    /// Store access.
    pub access: Arc<StoreAccess>,
    /// The lease's length.
    pub ttl: Duration,
    /// Whether sessions that hold locks are suspended at the deadline, before they are closed.
    pub suspends: bool,
    /// Where the proxy listens, shown in the tables.
    pub addr: String,
    /// The schema was created by this process just now.
    pub fresh: bool,
    /// Rows of locks that were not taken for this long are deleted.
    pub collect_after: Duration,
    /// Proves that this process lives, and shows which others do not.
    pub state: Option<StateDir>,
}
