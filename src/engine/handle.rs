//! What sessions see of the engine.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::io::admin_queries::{self, NoAnswer};
use super::io::held_locks::{self, Census};
use super::io::last_known::Rows;
use super::lease::state::Lease;
use super::lease::stuck::Stuck;
use super::sight::Sight;
use crate::lock::name::{Key, Name};
use crate::store::overview::{LockRow, ProxyRow, Which};
use crate::store::releases::Fate;
use crate::types::{ConnectionId, ProxyId};

/// What the engine may tell a session at any time.
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
    /// The server no longer works for this connection.
    ServerDone,
    /// Somebody wants its lock at once: look whether the client is still there, and say so with this
    /// number. A client that has left is told of by [`Engine::leaving`].
    Look(u64),
}

/// The end of a session that receives its events.
pub type EventSender = mpsc::UnboundedSender<SessionEvent>;

/// How a wait for a lock ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acquired {
    /// Held now.
    Granted(Grant),
    /// Somebody else has it, and the time is over.
    NotFree,
    /// Waiting on would be in vain: who has it waits, in the end, for this session.
    Deadlock,
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

/// Who asks for a lock.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The lock.
    pub name: Name,
    /// The client's connection id.
    pub conn: ConnectionId,
    /// user@host.
    pub owner: Arc<[u8]>,
    /// Answer at once when it is not free.
    pub once: bool,
    /// Whether the session holds other locks.
    pub holds: bool,
    /// How often it gave up to end a deadlock, where the server counts that.
    pub weight: u32,
    /// Where to tell that the lock is lost.
    pub events: EventSender,
}

/// What a key looks like to somebody who does not hold it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// Nobody holds it.
    Free,
    /// Held by this connection.
    Used(ConnectionId),
    /// The store failed.
    Failed(String),
}

/// Requests to the engine's task.
#[derive(Debug)]
pub(super) enum Request {
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
    ReleaseWhenGone {
        conn: ConnectionId,
        locks: Vec<(Key, u64)>,
        proxy: ProxyId,
    },
    /// The session that holds these ends, and they are released soon.
    Leaving {
        locks: Vec<(Key, u64)>,
    },
    /// The client of this connection is there, as this question wanted to know.
    Present {
        conn: ConnectionId,
        question: u64,
    },
    /// Whether the server still works for the holder of this grant.
    Serves {
        lock: (Key, u64),
    },
    Look {
        key: Key,
        reply: oneshot::Sender<Look>,
    },
    /// These rows name the incarnation as holder. Those that nobody here has are given back.
    Reconcile {
        proxy: ProxyId,
        rows: Vec<(Key, u64)>,
    },
    /// The locks that are held for certain, to be compared with their rows.
    Held {
        proxy: ProxyId,
        reply: oneshot::Sender<HeldNow>,
    },
    /// These held locks have no row any more.
    Lost {
        proxy: ProxyId,
        locks: Vec<(Key, u64)>,
    },
    /// For people.
    Sight {
        reply: oneshot::Sender<Sight>,
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
    /// Greatest token known.
    pub(super) last_token: u64,
}

/// A handle to the engine, one a session, cheap to clone.
#[derive(Debug, Clone)]
pub struct Engine {
    pub(super) requests: mpsc::UnboundedSender<Request>,
    pub(super) lease: Arc<Lease>,
    pub(super) census: mpsc::UnboundedSender<held_locks::Asked>,
    pub(super) desk: admin_queries::Desk,
    pub(super) stuck: Arc<Stuck>,
}

/// A wait under way.
#[derive(Debug)]
pub struct Ticket {
    id: u64,
    /// The lock's key.
    pub key: Key,
    /// Receives the outcome exactly once; an error means that the engine has ended.
    pub outcome: oneshot::Receiver<Acquired>,
}

#[cfg(test)]
impl Ticket {
    /// Of a wait that ends as somebody else says.
    pub(crate) fn of(key: Key, outcome: oneshot::Receiver<Acquired>) -> Self {
        Self { id: 1, key, outcome }
    }
}

impl Engine {
    /// Where there is no engine: nothing is ever granted.
    pub(super) fn none() -> Self {
        let requests = mpsc::unbounded_channel().0;
        let census = mpsc::unbounded_channel().0;
        let desk = admin_queries::Desk::closed();
        Self { requests, lease: Arc::default(), census, desk, stuck: Arc::default() }
    }

    /// The lease, to check deadlines against.
    pub fn lease(&self) -> &Lease {
        &self.lease
    }

    /// The same, to be kept.
    pub fn lease_handle(&self) -> Arc<Lease> {
        Arc::clone(&self.lease)
    }

    /// What keeps locks held that nobody has any more.
    pub fn stuck(&self) -> &Stuck {
        &self.stuck
    }

    /// Queues for a lock.
    pub fn acquire(&self, claim: Claim) -> Ticket {
        let id = rand::random_range(1..=u64::MAX >> 1);
        let key = claim.name.key.clone();
        let (reply, outcome) = oneshot::channel();
        self.send(Request::Acquire { id, claim, reply });
        Ticket { id, key, outcome }
    }

    /// Leaves the queue. The outcome follows at once; a grant that was already on its way is
    /// given back unless the outcome says `Granted`.
    pub fn cancel(&self, ticket: &Ticket) {
        self.send(Request::Cancel { id: ticket.id, key: ticket.key.clone() });
    }

    /// Releases locks and waits until the store has them free, or until they are no longer this
    /// proxy's to release.
    pub async fn release(&self, locks: Vec<(Key, u64)>, proxy: ProxyId) {
        let (reply, done) = oneshot::channel();
        self.send(Request::Release { locks, proxy, reply });
        let _ = done.await;
    }

    /// Releases locks once the server no longer works for `conn`.
    pub fn release_when_gone(&self, conn: ConnectionId, locks: Vec<(Key, u64)>, proxy: ProxyId) {
        self.send(Request::ReleaseWhenGone { conn, locks, proxy });
    }

    /// Tells that the session which holds these locks is ending. Who asks for one of them now waits a
    /// moment for its release.
    pub fn leaving(&self, locks: Vec<(Key, u64)>) {
        self.send(Request::Leaving { locks });
    }

    /// Answers [`SessionEvent::Look`]: the client is still there.
    pub fn present(&self, conn: ConnectionId, question: u64) {
        self.send(Request::Present { conn, question });
    }

    /// Asks whether the server still works for the session that holds this lock. If not, the session is
    /// told; else there is no answer.
    pub fn ask_whether_served(&self, lock: (Key, u64)) {
        self.send(Request::Serves { lock });
    }

    /// Looks at a lock.
    pub async fn look(&self, key: Key) -> Look {
        let (reply, look) = oneshot::channel();
        self.send(Request::Look { key, reply });
        look.await.unwrap_or_else(|_| Look::Failed("the lock engine has ended".to_owned()))
    }

    /// All locks that are held, by whatever proxy.
    pub async fn census(&self) -> Result<Census, String> {
        let (reply, census) = oneshot::channel();
        let _ = self.census.send(reply);
        census.await.unwrap_or_else(|_| Err("the lock engine has ended".to_owned()))
    }

    /// What this proxy's sessions hold and wait for; nothing where there is no engine.
    pub async fn sight(&self) -> Sight {
        let (reply, sight) = oneshot::channel();
        self.send(Request::Sight { reply });
        sight.await.unwrap_or_default()
    }

    /// Held locks, by whatever proxy, those whose names match a LIKE pattern; of before, while the lock
    /// tables do not answer.
    pub async fn known_locks(&self, like: Option<&str>) -> Result<Rows<LockRow>, NoAnswer> {
        let which = like.map_or(Which::All, |pattern| Which::Like(pattern.to_owned()));
        self.desk.known.locks(which.clone(), self.locks(which)).await
    }

    /// Whether the lock tables have not answered those who look, so far.
    pub fn misses_answers(&self) -> bool {
        self.desk.known.is_silent()
    }

    /// All proxies of the cluster; of before, while the lock tables do not answer.
    pub async fn known_proxies(&self) -> Result<Rows<ProxyRow>, NoAnswer> {
        self.desk.known.proxies(self.ask_desk(admin_queries::Asked::Proxies)).await
    }

    /// Held locks, by whatever proxy.
    pub async fn locks(&self, which: Which) -> Result<Vec<LockRow>, NoAnswer> {
        self.ask_desk(|reply| admin_queries::Asked::Locks(which, reply)).await
    }

    /// Asks its proxy to release a grant, in the name of `who`.
    pub async fn ask_release(
        &self,
        grant: admin_queries::Grant,
        who: String,
    ) -> Result<(), NoAnswer> {
        self.ask_desk(|reply| admin_queries::Asked::Release(grant, who, reply)).await
    }

    /// What has become of a grant.
    pub async fn fate(&self, grant: admin_queries::Grant) -> Result<Fate, NoAnswer> {
        self.ask_desk(|reply| admin_queries::Asked::Fate(grant, reply)).await
    }

    /// Ends a connection at the server. False when the store account may not.
    pub async fn kill(&self, conn: ConnectionId) -> Result<bool, NoAnswer> {
        self.ask_desk(|reply| admin_queries::Asked::Kill(conn, reply)).await
    }

    async fn ask_desk<T>(
        &self,
        question: impl FnOnce(oneshot::Sender<Result<T, NoAnswer>>) -> admin_queries::Asked,
    ) -> Result<T, NoAnswer> {
        let (reply, answer) = oneshot::channel();
        self.desk.send(question(reply));
        answer.await.unwrap_or_else(|_| Err(NoAnswer::NoEngine))
    }

    /// Waits until every release asked for is done.
    pub async fn settle(&self) {
        let (reply, done) = oneshot::channel();
        self.send(Request::Settled { reply });
        let _ = done.await;
    }

    /// Has the rows that name an incarnation as holder compared with what is held here.
    pub(super) fn reconcile(&self, proxy: ProxyId, rows: Vec<(Key, u64)>) {
        self.send(Request::Reconcile { proxy, rows });
    }

    /// What an incarnation holds.
    pub(super) async fn held(&self, proxy: ProxyId) -> HeldNow {
        let (reply, held) = oneshot::channel();
        self.send(Request::Held { proxy, reply });
        held.await.unwrap_or_default()
    }

    /// Tells that the rows of held locks are gone.
    pub(super) fn lose(&self, proxy: ProxyId, locks: Vec<(Key, u64)>) {
        self.send(Request::Lost { proxy, locks });
    }

    fn send(&self, request: Request) {
        // A dropped request drops its reply, which the receiver sees as the engine's end.
        let _ = self.requests.send(request);
    }
}
