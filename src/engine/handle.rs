//! The sessions' handle to the engine.

use std::sync::Arc;
use std::time::Duration;

use prometheus::IntCounter;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::io::admin_queries;
use super::io::held_locks::{self, Census};
use super::io::last_known::{PATIENCE, Rows};
use super::io::native_locks::{DirectLocks, NativeQuestion};
use super::io::query_error::QueryError;
use super::messages::{Differences, EngineRequest, HeldNow};
use super::shared::deferred::{Deferred, MOMENT};
use super::shared::engine_wake::EngineWake;
use super::shared::keep_names::KeepNames;
use super::shared::late_rows::{LateRows, LateSession};
use super::shared::lease::Lease;
use super::shared::peers::Peers;
use super::shared::snapshot::EngineSnapshot;
use super::shared::stuck::Stuck;
use crate::lock::name::{Key, Name};
use crate::store::overview::{LockFilter, LockInfo, ProxyInfo};
use crate::store::releases::{GrantId, ReleaseStatus};
use crate::store::sessions::KillResult;
use crate::store::waiters::{WaitsAsked, WaitsSeen};
use crate::types::{BackendId, ConnectionId, ProxyId};

pub use super::io::native_locks::NativeLocks;
pub use super::messages::{Acquired, Claim, EventSender, FindSessions, Grant, Look, SessionEvent};

/// A handle to the engine, one a session, cheap to clone.
#[derive(Debug, Clone)]
pub struct Engine {
    pub(super) requests: mpsc::UnboundedSender<EngineRequest>,
    pub(super) wake: Arc<EngineWake>,
    pub(super) deferred: Arc<Deferred>,
    pub(super) lease: Arc<Lease>,
    pub(super) census: mpsc::UnboundedSender<held_locks::CensusRequest>,
    pub(super) queries: admin_queries::AdminQueries,
    pub(super) stuck: Arc<Stuck>,
    pub(super) native: mpsc::UnboundedSender<NativeQuestion>,
    pub(super) direct: Arc<DirectLocks>,
    pub(super) peers: Arc<Peers>,
    pub(super) keep_names: KeepNames,
    pub(super) late_rows: Arc<LateRows>,
    pub(super) failed_rows: Option<IntCounter>,
    pub(super) confirms: mpsc::UnboundedSender<oneshot::Sender<()>>,
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
    /// A ticket for a wait that another party ends.
    pub(crate) fn of(key: Key, outcome: oneshot::Receiver<Acquired>) -> Self {
        Self { id: 1, key, outcome }
    }
}

impl Engine {
    /// A handle without an engine: nothing is ever granted.
    pub(super) fn none() -> Self {
        let requests = mpsc::unbounded_channel().0;
        let census = mpsc::unbounded_channel().0;
        let queries = admin_queries::AdminQueries::closed();
        Self {
            requests,
            wake: Arc::default(),
            deferred: Arc::default(),
            lease: Arc::default(),
            census,
            queries,
            stuck: Arc::default(),
            native: mpsc::unbounded_channel().0,
            direct: Arc::default(),
            peers: Arc::default(),
            keep_names: KeepNames::new(|| Duration::ZERO),
            late_rows: Arc::new(LateRows::new(|| Duration::ZERO)),
            failed_rows: None,
            confirms: mpsc::unbounded_channel().0,
        }
    }

    /// The lease, to check deadlines against.
    pub fn lease(&self) -> &Lease {
        &self.lease
    }

    /// A shared handle to the lease, for code that keeps it.
    pub fn lease_handle(&self) -> Arc<Lease> {
        Arc::clone(&self.lease)
    }

    /// Locks that stay held until an operator helps.
    pub fn stuck(&self) -> &Stuck {
        &self.stuck
    }

    /// The other proxies, as far as their modes matter.
    pub fn peers(&self) -> Arc<Peers> {
        Arc::clone(&self.peers)
    }

    /// The server's own locks of clients that do not come through a proxy, as they were listed last.
    pub fn direct_locks(&self) -> &DirectLocks {
        &self.direct
    }

    /// Queues for a lock.
    pub fn acquire(&self, claim: Claim) -> Ticket {
        let id = rand::random_range(1..=u64::MAX >> 1);
        let key = claim.name.key.clone();
        let (reply, outcome) = oneshot::channel();
        self.leave(EngineRequest::Acquire { id, claim, reply });
        Ticket { id, key, outcome }
    }

    /// Leaves the queue. The outcome follows at once; a grant that was already on its way is
    /// given back unless the outcome says `Granted`.
    pub fn cancel(&self, ticket: &Ticket) {
        self.send(EngineRequest::Cancel { id: ticket.id, key: ticket.key.clone() });
    }

    /// Releases locks and waits until the store has them free, or until they are no longer this
    /// proxy's to release.
    pub async fn release(&self, locks: Vec<(Key, u64)>, proxy: ProxyId) {
        let (reply, done) = oneshot::channel();
        self.leave(EngineRequest::Release { locks, proxy, reply });
        let _ = done.await;
    }

    /// Whether rows may be older than the locks of this proxy's sessions.
    pub fn writes_behind(&self) -> bool {
        self.keep_names.is_on()
    }

    /// Has the rows of these locks say who holds them, and waits for that; of all that sessions here have, if none is
    /// named.
    pub async fn write_now(&self, keys: Vec<Key>) {
        let (reply, done) = oneshot::channel();
        self.send(EngineRequest::WriteNow { keys, reply });
        let _ = done.await;
    }

    /// Releases native locks some milliseconds later. If a native claim of one of them comes before that, the
    /// claim takes its row over instead.
    pub fn release_later(&self, locks: Vec<(Key, u64)>, proxy: ProxyId) {
        self.deferred.leave((locks, proxy));
        match Handle::try_current() {
            Ok(runtime) if self.deferred.begins_watch() => {
                runtime.spawn(self.clone().wake_for_deferred());
            }
            Ok(_) => {}
            // No timer.
            Err(_) => self.send(EngineRequest::TakeDeferred),
        }
    }

    /// Wakes the engine for what it has not taken in time.
    async fn wake_for_deferred(self) {
        loop {
            tokio::time::sleep(MOMENT).await;
            if self.deferred.is_over() {
                return;
            }
            self.leave(EngineRequest::TakeDeferred);
        }
    }

    /// A session has a lock at the server without a row: it is told to read its locks when that may be written.
    pub fn without_row(&self, conn: ConnectionId, events: EventSender) {
        self.leave(EngineRequest::WithoutRow { conn, events });
    }

    /// Locks whose rows are written later.
    pub fn late_rows(&self) -> &Arc<LateRows> {
        &self.late_rows
    }

    /// The row of a lock could not be written, and its session holds the server's lock.
    pub fn note_failed_row(&self) {
        if let Some(count) = &self.failed_rows {
            count.inc();
        }
    }

    /// Asks the server whether its run is the one in which locks are held. When the future ends, the lease knows.
    pub fn confirm(&self) -> impl Future<Output = ()> + Send + use<> {
        let (reply, done) = oneshot::channel();
        let _ = self.confirms.send(reply);
        async move { drop(done.await) }
    }

    /// A session has ended for which the server may hold locks without rows: it counts until the server no longer works
    /// for it.
    pub fn late_until_gone(&self, conn: BackendId, proxy: ProxyId, session: LateSession) {
        let run = session.run();
        self.send(EngineRequest::LateUntilGone { conn, run, proxy, session });
    }

    /// The server's own locks that `conn` holds, read after this call. Where the server has no list of them,
    /// only the names in `asked` are looked at.
    pub async fn native_locks(
        &self,
        conn: BackendId,
        asked: Vec<Name>,
    ) -> Result<NativeLocks, String> {
        let (reply, locks) = oneshot::channel();
        let _ = self.native.send(NativeQuestion { conn, asked, reply });
        locks.await.unwrap_or_else(|_| Err("the lock engine has ended".to_owned()))
    }

    /// Releases locks once the server no longer works for their session on `conn`; at once without one. `why` the
    /// session ends.
    pub fn release_when_gone(
        &self,
        conn: Option<BackendId>,
        locks: Vec<(Key, u64)>,
        proxy: ProxyId,
        why: &'static str,
    ) {
        self.send(EngineRequest::ReleaseWhenGone { conn, locks, proxy, why });
    }

    /// Tells that the session which holds these locks is ending, and why. A session that asks for one of them now
    /// waits a moment for its release.
    pub fn leaving(&self, locks: Vec<(Key, u64)>, why: &'static str) {
        self.send(EngineRequest::Leaving { locks, why });
    }

    /// Answers [`SessionEvent::Look`]: the client is still there.
    pub fn present(&self, conn: ConnectionId, question: u64) {
        self.send(EngineRequest::Present { conn, question });
    }

    /// Ends a connection at the server, if its `run` tells that the id is its, and waits until the server no longer
    /// works for it. Whether that is certain.
    pub async fn until_gone(&self, conn: BackendId, run: Option<i64>) -> bool {
        let (reply, gone) = oneshot::channel();
        self.send(EngineRequest::UntilGone { conn, run, reply });
        gone.await.is_ok()
    }

    /// Asks whether the server still works for the session that holds this lock. If not, the session is
    /// told; else there is no answer.
    pub fn ask_whether_served(&self, lock: (Key, u64)) {
        self.send(EngineRequest::Serves { lock });
    }

    /// Looks at a lock.
    pub async fn look_up(&self, key: Key) -> Look {
        let (reply, look) = oneshot::channel();
        self.send(EngineRequest::Look { key, reply });
        look.await.unwrap_or_else(|_| Look::Failed("the lock engine has ended".to_owned()))
    }

    /// All locks that are held, of all proxies.
    pub async fn census(&self) -> Result<Census, String> {
        if self.writes_behind() {
            let _ = timeout(PATIENCE, self.write_now(Vec::new())).await;
        }
        let (reply, census) = oneshot::channel();
        let _ = self.census.send(reply);
        census.await.unwrap_or_else(|_| Err("the lock engine has ended".to_owned()))
    }

    /// The locks and waits of this proxy's sessions; nothing without an engine.
    pub async fn snapshot(&self) -> EngineSnapshot {
        let (reply, snapshot) = oneshot::channel();
        self.send(EngineRequest::Snapshot { reply });
        snapshot.await.unwrap_or_default()
    }

    /// Held locks of all proxies whose names match a LIKE pattern; the last known ones while the lock
    /// tables do not answer.
    pub async fn known_locks(&self, like: Option<&str>) -> Result<Rows<LockInfo>, QueryError> {
        let which = like.map_or(LockFilter::All, |pattern| LockFilter::Like(pattern.to_owned()));
        self.queries.known.locks(which.clone(), self.locks(which)).await
    }

    /// Whether the lock tables do not answer.
    pub fn misses_answers(&self) -> bool {
        self.queries.known.is_silent()
    }

    /// Holders that sessions wait for; nothing while the lock tables do not answer.
    pub async fn waits_seen(&self, asked: WaitsAsked) -> Option<WaitsSeen> {
        if self.misses_answers() {
            return None;
        }
        let answer = self.ask_store(|reply| admin_queries::AdminQuery::Waits(asked, reply));
        timeout(PATIENCE, answer).await.ok()?.ok()
    }

    /// All proxies of the cluster; the last known ones while the lock tables do not answer.
    pub async fn known_proxies(&self) -> Result<Rows<ProxyInfo>, QueryError> {
        self.queries.known.proxies(self.ask_store(admin_queries::AdminQuery::Proxies)).await
    }

    /// Held locks of all proxies.
    pub async fn locks(&self, which: LockFilter) -> Result<Vec<LockInfo>, QueryError> {
        self.ask_store(|reply| admin_queries::AdminQuery::Locks(which, reply)).await
    }

    /// Asks its proxy to release a grant, in the name of `who`.
    pub async fn ask_release(&self, grant: GrantId, who: String) -> Result<(), QueryError> {
        self.ask_store(|reply| admin_queries::AdminQuery::Release(grant, who, reply)).await
    }

    /// The state of a grant that was to be released.
    pub async fn release_status(&self, grant: GrantId) -> Result<ReleaseStatus, QueryError> {
        self.ask_store(|reply| admin_queries::AdminQuery::Status(grant, reply)).await
    }

    /// Ends a connection at the server, unless its `run` tells that it was of an earlier one and has ended.
    pub async fn kill(&self, conn: BackendId, run: Option<i64>) -> Result<KillResult, QueryError> {
        self.ask_store(|reply| admin_queries::AdminQuery::Kill(conn, run, reply)).await
    }

    async fn ask_store<T>(
        &self,
        question: impl FnOnce(oneshot::Sender<Result<T, QueryError>>) -> admin_queries::AdminQuery,
    ) -> Result<T, QueryError> {
        let (reply, answer) = oneshot::channel();
        self.queries.send(question(reply));
        answer.await.unwrap_or_else(|_| Err(QueryError::NoEngine))
    }

    /// Waits until every release asked for is done.
    pub async fn settle(&self) {
        let (reply, done) = oneshot::channel();
        self.send(EngineRequest::Settled { reply });
        let _ = done.await;
    }

    /// Has the rows that name an incarnation as holder compared with the locks held here.
    pub(super) fn reconcile(&self, proxy: ProxyId, rows: Vec<(Key, u64)>) {
        self.send(EngineRequest::Reconcile { proxy, rows });
    }

    /// The locks that an incarnation holds.
    pub(super) async fn held(&self, proxy: ProxyId) -> HeldNow {
        let (reply, held) = oneshot::channel();
        self.send(EngineRequest::Held { proxy, reply });
        held.await.unwrap_or_default()
    }

    /// Tells where native holds and the server's own locks differ.
    pub(super) fn differ(&self, differences: Differences) {
        self.send(EngineRequest::Differ(differences));
    }

    /// Tells that the rows of held locks are gone.
    pub(super) fn lose(&self, proxy: ProxyId, locks: Vec<(Key, u64)>) {
        self.send(EngineRequest::Lost { proxy, locks });
    }

    fn send(&self, request: EngineRequest) {
        // A dropped request drops its reply, which the receiver sees as the engine's end.
        let _ = self.requests.send(request);
        self.wake.urgent();
    }

    /// Sends a request that waits for a batch in any case.
    fn leave(&self, request: EngineRequest) {
        let _ = self.requests.send(request);
        self.wake.may_wait();
    }
}
