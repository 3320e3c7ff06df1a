//! The engine's own state as administrators are shown it: the locks, waits and deadlocks of this proxy.

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
    /// The connection that holds it.
    pub conn: ConnectionId,
    /// For how long.
    pub held: Duration,
}

/// A session of this proxy in the queue for a lock.
#[derive(Debug, Clone)]
pub struct WaitInfo {
    /// The waiting connection.
    pub conn: ConnectionId,
    /// The session's place among the waiters of this proxy, from 1.
    pub place: usize,
    /// The holder, if it is a session of this proxy.
    pub holder: Option<ConnectionId>,
}

/// A deadlock that this proxy has ended.
#[derive(Debug, Clone)]
pub struct Deadlock {
    /// When the deadlock was ended.
    pub at: SystemTime,
    /// Whether it went over several proxies.
    pub across: bool,
    /// The connection whose wait was given up.
    pub victim: ConnectionId,
    /// Each connection and the lock it waited for, which the next one held; the first held the last one's.
    pub circle: Vec<(ConnectionId, String)>,
}

/// The engine at one moment: counts must not be of a part.
#[derive(Debug, Clone, Default)]
pub struct EngineSnapshot {
    /// Locks held here.
    pub held: Vec<HoldInfo>,
    /// Waits here.
    pub waiting: Vec<WaitInfo>,
    /// The last deadlocks, the latest last.
    pub deadlocks: Vec<Deadlock>,
}
