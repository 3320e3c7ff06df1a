//! The engine's settings at its start.

use std::sync::Arc;
use std::time::Duration;

use super::io::link::StoreAccess;
use super::messages::FindSessions;
use crate::state::StateDir;

/// The engine's settings at its start.
#[derive(Debug)]
pub struct Setup {
    /// Store access.
    pub access: Arc<StoreAccess>,
    /// The lease's length.
    pub ttl: Duration,
    /// Where the proxy listens, shown in the tables.
    pub addr: String,
    /// The schema was created by this process just now.
    pub fresh: bool,
    /// Rows of locks that were not taken for this long are deleted.
    pub collect_after: Duration,
    /// Whether sessions take the server's own locks, and claim the rows by them (mode `coexist`).
    pub native: bool,
    /// Whether locks outlive a run of the server: all sessions share their connections, so that none is tied to a run.
    pub outlives: bool,
    /// Whether the next epoch is opened when another server is the primary.
    pub reclaims: bool,
    /// Finds sessions by their connections; without it only those that hold rows learn of other locks.
    pub sessions: Option<FindSessions>,
    /// Proves that this process lives, and shows which others do not.
    pub state: Option<StateDir>,
}
