//! Messages between sessions, the engine's tasks and the keeper of the lease.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::shared::current_backend::CurrentBackend;
use super::shared::late_rows::LateSession;
use super::shared::snapshot::EngineSnapshot;
use crate::lock::name::{Key, Name};
use crate::store::releases::ReleaseRequest;
use crate::store::statement::{BatchWriter, Others};
use crate::store::succession::CarriedLock;
use crate::types::{BackendId, ConnectionId, ProxyId};

/// An event that the engine may send to a session at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEvent {
    /// Locks of this incarnation can no longer be vouched for.
    Fence(ProxyId),
    /// An administrator takes the lock of this token away.
    Revoke(u64),
    /// The row of the lock of this token is gone, or says otherwise.
    Lost(u64),
    /// The proxy shuts down: end when the running statement has ended.
    Drain,
    /// The drain limit is over: end now.
    Stop,
    /// KILL has ended the session, of which the server does not know.
    Kill,
    /// KILL QUERY: what the session waits for ends, if it is not the server's.
    Interrupt,
    /// The server no longer works for this connection.
    ServerDone,
    /// Another session wants its lock at once: check whether the client is still there, and say so with
    /// this number. If the client has left, the session calls `Engine::leaving`.
    Look(u64),
    /// The server's own locks of this session are others than its rows say: read them.
    ReadLocks,
    /// A row that follows its lock was claimed, or written.
    LateRow,
    /// Another session needs a connection to the server: give this one's back, if nothing needs it.
    GiveBack,
    /// Another server may be the writer now: a session whose connection does not lead to it loses that.
    WriterChanged,
    /// Statements that would begin now wait, or go on: a switchover is prepared.
    SwitchoverChanged,
}

/// The end of a session that receives its events.
pub type EventSender = mpsc::UnboundedSender<SessionEvent>;

type FindFn = dyn Fn(&HashSet<BackendId>) -> HashMap<BackendId, EventSender> + Send + Sync;

/// Finds the sessions of this cluster here that have one of these connections.
#[derive(Clone)]
pub struct FindSessions(Arc<FindFn>);

impl FindSessions {
    /// Finds sessions by asking `find`.
    pub fn new(
        find: impl Fn(&HashSet<BackendId>) -> HashMap<BackendId, EventSender> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(find))
    }

    /// Events of the sessions of these connections, as far as there are any.
    pub(super) fn find(&self, connections: &HashSet<BackendId>) -> HashMap<BackendId, EventSender> {
        (self.0)(connections)
    }
}

impl fmt::Debug for FindSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FindSessions")
    }
}

/// How a wait for a lock ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acquired {
    /// Held now.
    Granted(Grant),
    /// Another session has the lock, and the time is over.
    NotFree,
    /// Waiting on would be in vain: its holder waits, in the end, for this session.
    Deadlock,
    /// The server does not hold a lock of this name for the connection. (Native claims only.)
    Unproven,
    /// The store failed; the text says how. The lock is not held.
    Failed(String),
}

/// A lock that was granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// Fencing token.
    pub token: u64,
    /// Incarnation it was granted to.
    pub proxy: ProxyId,
}

/// A session's request for a lock.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The lock.
    pub name: Name,
    /// The session's own id.
    pub conn: ConnectionId,
    /// The server's connection that works for it.
    pub backend: CurrentBackend,
    /// user@host.
    pub owner: Arc<[u8]>,
    /// Answer at once when it is not free.
    pub once: bool,
    /// Whether the session holds other locks.
    pub holds: bool,
    /// How often it gave up to end a deadlock, where the server counts that.
    pub weight: u32,
    /// Receives the session's events, a lost lock for example.
    pub events: EventSender,
    /// The server's own lock is held by that connection: the row is taken by that proof. `holds` and `weight` mean
    /// nothing then.
    pub native: bool,
    /// When the session began to wait, if that was before the claim.
    pub began: Option<Instant>,
}

/// The state of a key, for a session that does not hold it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// No session holds it.
    Free,
    /// Held by this session.
    Used(ConnectionId),
    /// The store failed.
    Failed(String),
}

/// Requests to the engine's task.
#[derive(Debug)]
pub(super) enum EngineRequest {
    Acquire {
        id: u64,
        claim: Claim,
        reply: oneshot::Sender<Acquired>,
    },
    Cancel {
        id: u64,
        key: Key,
    },
    Release {
        locks: Vec<(Key, u64)>,
        proxy: ProxyId,
        reply: oneshot::Sender<()>,
    },
    /// The rows of these locks are to say who holds them; of all, if none is named.
    WriteNow {
        keys: Vec<Key>,
        reply: oneshot::Sender<()>,
    },
    /// Nothing but what comes with every request: to take the releases that sessions have left.
    TakeDeferred,
    ReleaseWhenGone {
        conn: Option<BackendId>,
        locks: Vec<(Key, u64)>,
        proxy: ProxyId,
        why: &'static str,
    },
    /// The session counts as one with late rows until the server no longer works for this connection.
    LateUntilGone {
        conn: BackendId,
        run: i64,
        proxy: ProxyId,
        session: LateSession,
    },
    /// The session that holds these ends, for this reason, and they are released soon.
    Leaving {
        locks: Vec<(Key, u64)>,
        why: &'static str,
    },
    /// The client of this session is there, as this question wanted to know.
    Present {
        conn: ConnectionId,
        question: u64,
    },
    /// Ends a connection at the server, and tells when the server no longer works for it.
    UntilGone {
        conn: BackendId,
        run: Option<i64>,
        reply: oneshot::Sender<()>,
    },
    /// Asks whether the server still works for the holder of this grant.
    Serves {
        lock: (Key, u64),
    },
    Look {
        key: Key,
        reply: oneshot::Sender<Look>,
    },
    /// These rows name the incarnation as holder. Those that no session here has are given back.
    Reconcile {
        proxy: ProxyId,
        rows: Vec<(Key, u64)>,
    },
    /// The locks that are held for certain, to be compared with their rows.
    Held {
        proxy: ProxyId,
        reply: oneshot::Sender<HeldNow>,
    },
    /// Native holds and the server's own locks, where they differ.
    Differ(Differences),
    /// This session has a lock at the server without a row: it is told when that may be written.
    WithoutRow {
        conn: ConnectionId,
        events: EventSender,
    },
    /// These held locks have no row any more.
    Lost {
        proxy: ProxyId,
        locks: Vec<(Key, u64)>,
    },
    /// The engine's state, for administrators.
    Snapshot {
        reply: oneshot::Sender<EngineSnapshot>,
    },
    /// All releases asked for so far are done, gone sessions included.
    Settled {
        reply: oneshot::Sender<()>,
    },
}

/// The locks of an incarnation whose grants are done and whose releases have not begun.
#[derive(Debug, Default)]
pub(super) struct HeldNow {
    pub(super) locks: Vec<(Key, u64)>,
    /// The locks that the server holds, too.
    pub(super) native: Vec<NativeHold>,
    /// Greatest token known.
    pub(super) last_token: u64,
}

/// A lock that the server holds, too.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct NativeHold {
    pub(super) key: Key,
    pub(super) token: u64,
    pub(super) conn: BackendId,
}

/// Native holds without the server's lock, and the server's locks without a hold, when they were read.
#[derive(Debug, Default)]
pub(super) struct Differences {
    pub(super) gone: HashSet<NativeHold>,
    pub(super) more: HashSet<(BackendId, Key)>,
}

/// An event from the keeper of the lease.
#[derive(Debug)]
pub(super) enum LeaseEvent {
    /// A new incarnation is registered.
    Joined(BatchWriter),
    /// The incarnation is over; its locks are lost.
    Fenced(ProxyId),
    /// The other incarnations have changed.
    Others(Others),
    /// Administrators want these locks released.
    Asked(Vec<ReleaseRequest>),
    /// The incarnation goes on in this run of the server: which locks are held, of which the rows are to be
    /// compared there.
    Restarted { proxy: ProxyId, run: i64, reply: oneshot::Sender<HeldNow> },
    /// The rows were compared. These locks have no row: their sessions are told.
    Compared { proxy: ProxyId, lost: Vec<(Key, u64)>, reply: oneshot::Sender<()> },
    /// The incarnation is about to carry its locks into another epoch: which are held. Until [`Self::Moved`], or the
    /// end of the incarnation, nothing is sent for it.
    Moving { proxy: ProxyId, reply: oneshot::Sender<Vec<CarriedLock>> },
    /// The incarnation has carried its locks into another epoch. These are lost: their sessions are told.
    Moved { writer: BatchWriter, lost: HashSet<Key>, reply: oneshot::Sender<()> },
    /// These rows name the incarnation as holder. Those that no session here has are given back.
    Read { proxy: ProxyId, rows: Vec<(Key, u64)> },
}
