//! Changes of locks, their writer, and the other proxies that they must heed.

use std::sync::Arc;

use crate::lock::name::Key;
use crate::types::{ConnectionId, ProxyId};

/// The incarnation that writes, and its epoch.
#[derive(Debug, Clone)]
pub struct BatchWriter {
    /// Schema of the lock tables.
    pub schema: String,
    /// The incarnation.
    pub proxy: ProxyId,
    /// The epoch it joined.
    pub epoch: u64,
    /// Base of new tokens, which are greater. A batch does nothing if it has moved on: rows with
    /// tokens below the base may be deleted, and must not come back with smaller ones.
    pub base: u64,
    /// The server's start: connection ids in this incarnation's rows are of this run of it.
    pub run: i64,
}

/// Tokens above its row's that the owner of a name may have handed out without writing them.
pub const WINDOW: u64 = 1 << 16;

/// The attempts that write who has the lock have this bit.
pub const SHOW: u64 = 1 << 63;

/// A row whose attempt has this bit is exact: until it is free or another attempt's, its owner writes each change before it
/// answers a client.
pub const EXACT: u64 = 1 << 62;

/// A row of the writer's is to be free, or the next session's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowRelease {
    /// The token that the row has.
    pub token: u64,
    /// The last one that was handed out, which the row keeps.
    pub last: u64,
}

impl RowRelease {
    /// Of a lock that has not passed on in memory.
    pub fn of(token: u64) -> Self {
        Self { token, last: token }
    }
}

/// A change of one key: a release, a grant, or a hand-over from one session to another; or the end of
/// this proxy's wait for it.
#[derive(Debug, Clone)]
pub struct LockChange {
    /// The key.
    pub key: Key,
    /// The row to release first.
    pub release: Option<RowRelease>,
    /// Grant to try then.
    pub acquire: Option<GrantAttempt>,
    /// Whether to leave the row's place for a waiting proxy.
    pub withdraw: bool,
}

impl LockChange {
    /// Whether it is a grant by the server's own lock.
    pub fn is_native(&self) -> bool {
        self.acquire.as_ref().is_some_and(|grant| grant.native)
    }
}

/// A grant to try.
#[derive(Debug, Clone)]
pub struct GrantAttempt {
    /// Unique id of the attempt.
    pub id: u64,
    /// Proposed token. The row gets it, or one above its last if that is not smaller.
    pub token: u64,
    /// The session's own id.
    pub conn: ConnectionId,
    /// The name as given.
    pub name: Box<[u8]>,
    /// user@host.
    pub owner: Arc<[u8]>,
    /// Whether the grant comes before or after a proxy that waits.
    pub turn: Precedence,
    /// The connection holds the server's own lock, which is the grant's condition and its right.
    pub native: bool,
    /// The token of the session here that had that lock before, by all that is known.
    pub after: Option<u64>,
}

impl GrantAttempt {
    /// An id of this attempt alone, without the bits [`SHOW`] and [`EXACT`]: the row of an earlier one must not look like
    /// its own.
    pub fn new_id() -> u64 {
        rand::random_range(1..EXACT)
    }
}

/// How a grant treats other proxies that want the same lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precedence {
    /// Leaves a free row to the proxy that it names as waiting.
    Yield,
    /// Leaves a free row to the waiting proxy, too. But where one session after the other holds the server's own lock,
    /// the next one takes the row whatever proxy waits.
    Pass,
    /// Leaves a free row as [`Self::Yield`] does. If the grant does not get the lock, the row names this proxy as
    /// waiting since this token, unless the row names a proxy that waits longer.
    Queue(u64),
    /// Takes a free row even if another proxy waits.
    Take,
    /// Writes who has the lock into the writer's own row, if that has this token. Its attempt has the bit [`SHOW`].
    Show(u64),
    /// Takes nothing: the row names this proxy as waiting, unless it names another one, so that its owner says who has the
    /// lock.
    Ask,
    /// Makes the writer's own row [`EXACT`], and takes another proxy's question out of it.
    Answer,
}

/// The other incarnations, as a batch needs them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Others {
    /// In state CLEAN: their locks may be taken.
    pub clean: Vec<ProxyId>,
    /// LIVE: a free row that names one of them as waiting is left to it.
    pub waiting: Vec<ProxyId>,
    /// Some of them may hold locks that the server does not know: only rows show them.
    pub by_rows: bool,
    /// Some of them, LIVE, hold the server's own locks beside their rows.
    pub native: bool,
    /// Those of them, LIVE, that keep names: their rows may be older than their locks.
    pub keeping: Vec<ProxyId>,
    /// All of them, LIVE, know that a row may be older than its lock.
    pub know_windows: bool,
    /// Some of them, in mode coexist and not yet CLEAN, have locks whose rows are not written yet, or may have.
    pub late: bool,
    /// All of them, LIVE, were renewed in the run of the server in which this one was.
    pub in_this_run: bool,
}

impl Others {
    /// The other incarnations before they are known: some may hold locks by their rows alone.
    pub fn unknown() -> Self {
        Self { by_rows: true, ..Self::default() }
    }
}
