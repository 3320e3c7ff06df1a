//! Administrators' questions to the lock tables, and their orders: to release a lock, to end a connection.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_local;
use tokio::time::{Instant, timeout_at};

use super::last_known::LastKnown;
use super::link::{StoreAccess, StoreLink};
use super::query_error::QueryError;
use crate::store::connection::StoreConnection;
use crate::store::identity::same_run;
use crate::store::overview::{LockFilter, LockInfo, ProxyInfo};
use crate::store::releases::{GrantId, ReleaseStatus};
use crate::store::sessions::KillResult;
use crate::store::waiters::{WaitsAsked, WaitsSeen};
use crate::types::BackendId;

/// When to read for the first time without a question: the engine may have registered by then.
const FIRST: Duration = Duration::from_secs(1);

/// Rows of an answer at most.
pub const MOST: usize = 10_000;

/// Receives the answer.
pub(in crate::engine) type QueryReply<T> = oneshot::Sender<Result<T, QueryError>>;

/// A question or an order.
#[derive(Debug)]
pub(in crate::engine) enum AdminQuery {
    /// Held locks.
    Locks(LockFilter, QueryReply<Vec<LockInfo>>),
    /// All incarnations.
    Proxies(QueryReply<Vec<ProxyInfo>>),
    /// Ends a connection at the server; with the server's start, if the connection has told it. In another run it has
    /// ended already, and its id may be another client's.
    Kill(BackendId, Option<i64>, QueryReply<KillResult>),
    /// Asks the holder's proxy to release a grant; the text names the administrator.
    Release(GrantId, String, QueryReply<()>),
    /// Asks for the holders that sessions wait for.
    Waits(WaitsAsked, QueryReply<WaitsSeen>),
    /// Asks for the state of a grant.
    Status(GrantId, QueryReply<ReleaseStatus>),
}

impl AdminQuery {
    /// Whether it changes nothing, and its caller has left.
    fn is_vain(&self) -> bool {
        match self {
            Self::Locks(_, reply) => reply.is_closed(),
            Self::Proxies(reply) => reply.is_closed(),
            Self::Waits(_, reply) => reply.is_closed(),
            Self::Status(_, reply) => reply.is_closed(),
            Self::Kill(..) | Self::Release(..) => false,
        }
    }
}

/// Where queries are sent. Questions do not hold up orders: each have a connection of their own.
#[derive(Debug, Clone)]
pub(in crate::engine) struct AdminQueries {
    looks: mpsc::UnboundedSender<AdminQuery>,
    acts: mpsc::UnboundedSender<AdminQuery>,
    /// The last answers.
    pub(in crate::engine) known: Arc<LastKnown>,
}

impl AdminQueries {
    /// Questions that are answered until the last copy is dropped.
    pub(in crate::engine) fn open(access: &Arc<StoreAccess>) -> Self {
        let known = Arc::new(LastKnown::default());
        let (looks, asked) = mpsc::unbounded_channel();
        spawn_local(answer_questions(Arc::clone(access), asked, Arc::clone(&known)));
        let (acts, asked) = mpsc::unbounded_channel();
        spawn_local(act(Arc::clone(access), asked));
        Self { looks, acts, known }
    }

    /// Questions without an engine: nothing is answered.
    pub(in crate::engine) fn closed() -> Self {
        let closed = || mpsc::unbounded_channel().0;
        Self { looks: closed(), acts: closed(), known: Arc::default() }
    }

    /// Ends a connection at the server if the store account may, without waiting for the result.
    pub(in crate::engine) fn kill(&self, conn: BackendId, run: i64) {
        self.send(AdminQuery::Kill(conn, Some(run), oneshot::channel().0));
    }

    /// Sends a query. An engine that has ended drops it, and the reply's sender with it.
    pub(in crate::engine) fn send(&self, asked: AdminQuery) {
        let link = match asked {
            AdminQuery::Locks(LockFilter::All | LockFilter::Like(_), _)
            | AdminQuery::Waits(..)
            | AdminQuery::Proxies(_) => &self.looks,
            // To release a lock is to look for it first.
            AdminQuery::Locks(LockFilter::Named(_), _)
            | AdminQuery::Kill(..)
            | AdminQuery::Release(..)
            | AdminQuery::Status(..) => &self.acts,
        };
        let _ = link.send(asked);
    }
}

/// Answers questions. Reads by itself now and then, so that the rows shown while the lock tables do not
/// answer are not old.
async fn answer_questions(
    access: Arc<StoreAccess>,
    mut asked: mpsc::UnboundedReceiver<AdminQuery>,
    known: Arc<LastKnown>,
) {
    let mut link = StoreLink::new(access);
    let mut next = Instant::now() + FIRST;
    loop {
        match timeout_at(next, asked.recv()).await {
            Ok(None) => return,
            Ok(Some(question)) if question.is_vain() => {}
            Ok(Some(question)) => answer(question, &mut link, Some(&known)).await,
            Err(_) => {
                let begun = Instant::now();
                let (all, _) = oneshot::channel();
                answer(AdminQuery::Locks(LockFilter::All, all), &mut link, Some(&known)).await;
                let (all, _) = oneshot::channel();
                answer(AdminQuery::Proxies(all), &mut link, Some(&known)).await;
                next = Instant::now() + known.refresh_after(begun.elapsed());
            }
        }
    }
}

/// Carries out orders.
async fn act(access: Arc<StoreAccess>, mut asked: mpsc::UnboundedReceiver<AdminQuery>) {
    let mut link = StoreLink::new(access);
    while let Some(question) = asked.recv().await {
        if !question.is_vain() {
            answer(question, &mut link, None).await;
        }
    }
}

/// Answers one query. If the caller has left meanwhile, the answer is dropped.
async fn answer(question: AdminQuery, link: &mut StoreLink, known: Option<&LastKnown>) {
    match question {
        AdminQuery::Locks(which, reply) => {
            let rows = link.ask_twice(async |conn| conn.overview_locks(&which, MOST).await).await;
            let rows = rows.map_err(QueryError::from);
            if let Some(known) = known {
                known.heard(&rows, which != LockFilter::All);
                if let (LockFilter::All, Ok(rows)) = (&which, &rows) {
                    known.saw_locks(rows);
                }
            }
            let _ = reply.send(rows);
        }
        AdminQuery::Proxies(reply) => {
            let rows = link.ask_twice(async |conn| conn.overview_proxies(MOST).await).await;
            let rows = rows.map_err(QueryError::from);
            if let Some(known) = known {
                known.heard(&rows, false);
                if let Ok(rows) = &rows {
                    known.saw_proxies(rows);
                }
            }
            let _ = reply.send(rows);
        }
        AdminQuery::Waits(asked, reply) => {
            let seen = link.ask_twice(async |conn| conn.waits_seen(&asked).await).await;
            let _ = reply.send(seen.map_err(QueryError::from));
        }
        AdminQuery::Kill(id, run, reply) => {
            let kill = async |conn: &mut StoreConnection| {
                if run.is_some_and(|run| !same_run(run, conn.started())) {
                    return Ok(KillResult::Accepted);
                }
                conn.kill(id.0).await
            };
            let _ = reply.send(link.ask_twice(kill).await.map_err(QueryError::from));
        }
        AdminQuery::Release(grant, who, reply) => {
            let done = link.ask_twice(async |conn| conn.ask_release(&grant, &who).await).await;
            let _ = reply.send(done.map_err(QueryError::from));
        }
        AdminQuery::Status(grant, reply) => {
            let status = link.ask_twice(async |conn| conn.release_status(&grant).await).await;
            let _ = reply.send(status.map_err(QueryError::from));
        }
    }
}
