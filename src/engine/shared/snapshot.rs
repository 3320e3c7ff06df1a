//! What people are shown of the engine's own state: the locks, waits and deadlocks of this proxy.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::lock::name::Key;
use crate::types::ConnectionId;

/// Deadlocks that are remembered.
pub const DEADLOCKS: usize = 100;

/// A lock that a session of this proxy holds.
#[derive(Debug, Clone)]
pub struct HoldInfo {
    /// The lock.
    pub key: Key,
    /// Fencing token.
    pub token: u64,
    /// Whose it is.
    pub conn: ConnectionId,
    /// For how long.
    pub held: Duration,
}

/// A session of this proxy that waits for a lock.
#[derive(Debug, Clone)]
pub struct WaitInfo {
    /// The lock.
    pub key: Key,
    /// The lock's name as the session wrote it.
    pub name: Box<[u8]>,
    /// Who waits.
    pub conn: ConnectionId,
    /// user@host.
    pub owner: Arc<[u8]>,
    /// How long it has been waiting.
    pub waited: Duration,
    /// Its place among the waiters of this proxy, from 1.
    pub place: usize,
    /// Who holds the lock, if that is a session of this proxy.
    pub holder: Option<ConnectionId>,
}

/// A deadlock that this proxy has ended.
#[derive(Debug, Clone)]
pub struct Deadlock {
    /// When.
    pub at: SystemTime,
    /// Whether it went over several proxies.
    pub across: bool,
    /// Whose wait was given up.
    pub victim: ConnectionId,
    /// Who waited for what; each lock was held by the next, the last one's by the first.
    pub circle: Vec<(ConnectionId, String)>,
}

/// All of it, at one moment: whoever counts must not count a part.
#[derive(Debug, Clone, Default)]
pub struct EngineSnapshot {
    /// Locks held here.
    pub held: Vec<HoldInfo>,
    /// Waits here.
    pub waiting: Vec<WaitInfo>,
    /// The last deadlocks, the latest last.
    pub deadlocks: Vec<Deadlock>,
}
