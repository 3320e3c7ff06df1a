//! What administrators ask and order: about the lock tables, and for the end of a connection.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_local;

use super::pipe::{Line, StoreAccess};
use crate::store::connection::StoreError;
use crate::store::overview::{LockRow, ProxyRow, Which};
use crate::store::releases::Fate;
use crate::types::ConnectionId;

/// Rows of an answer at most.
pub const MOST: usize = 10_000;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// Nobody is there to ask.
    #[error("there is no lock engine")]
    NoEngine,
    /// The lock tables have not answered, or refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Where an answer goes.
pub(super) type Reply<T> = oneshot::Sender<Result<T, NoAnswer>>;

/// A grant of a lock: key and token.
pub type Grant = (Vec<u8>, u64);

/// A question or an order.
#[derive(Debug)]
pub(super) enum Asked {
    /// Held locks.
    Locks(Which, Reply<Vec<LockRow>>),
    /// All incarnations.
    Proxies(Reply<Vec<ProxyRow>>),
    /// KILL CONNECTION. False when the store account may not.
    Kill(ConnectionId, Reply<bool>),
    /// Ask its proxy to release a grant, in somebody's name.
    Release(Grant, String, Reply<()>),
    /// What has become of a grant.
    Fate(Grant, Reply<Fate>),
}

impl Asked {
    /// It changes nothing, and who asked has left.
    fn is_vain(&self) -> bool {
        match self {
            Self::Locks(_, reply) => reply.is_closed(),
            Self::Proxies(reply) => reply.is_closed(),
            Self::Fate(_, reply) => reply.is_closed(),
            Self::Kill(..) | Self::Release(..) => false,
        }
    }
}

/// Where it is asked and ordered. Who looks does not hold up who acts: there are two lines to the lock
/// tables.
#[derive(Debug, Clone)]
pub(super) struct Desk {
    looks: mpsc::UnboundedSender<Asked>,
    acts: mpsc::UnboundedSender<Asked>,
}

impl Desk {
    /// One that is answered until its last copy is dropped.
    pub(super) fn open(access: &Arc<StoreAccess>) -> Self {
        let line = || {
            let (sender, asked) = mpsc::unbounded_channel();
            spawn_local(answer(Arc::clone(access), asked));
            sender
        };
        Self { looks: line(), acts: line() }
    }

    /// One that nobody answers.
    pub(super) fn closed() -> Self {
        let closed = || mpsc::unbounded_channel().0;
        Self { looks: closed(), acts: closed() }
    }

    /// Asks, or orders. An engine that has ended drops it, with where the answer would go.
    pub(super) fn send(&self, asked: Asked) {
        let line = match asked {
            Asked::Locks(Which::All | Which::Like(_), _) | Asked::Proxies(_) => &self.looks,
            // To release a lock is to look for it first.
            Asked::Locks(Which::Named(_), _)
            | Asked::Kill(..)
            | Asked::Release(..)
            | Asked::Fate(..) => &self.acts,
        };
        let _ = line.send(asked);
    }
}

/// Answers, one question at a time.
async fn answer(access: Arc<StoreAccess>, mut asked: mpsc::UnboundedReceiver<Asked>) {
    let mut line = Line::new(Arc::clone(&access));
    let schema = access.url.schema.clone();
    while let Some(question) = asked.recv().await {
        if question.is_vain() {
            continue;
        }
        // Who asked may leave meanwhile: then nobody reads the answer.
        match question {
            Asked::Locks(which, reply) => {
                let rows = twice(&mut line, async |line| {
                    line.get().await?.overview_locks(&schema, &which, MOST).await
                });
                let _ = reply.send(rows.await);
            }
            Asked::Proxies(reply) => {
                let rows = twice(&mut line, async |line| {
                    line.get().await?.overview_proxies(&schema, MOST).await
                });
                let _ = reply.send(rows.await);
            }
            Asked::Kill(conn, reply) => {
                let done = twice(&mut line, async |line| line.get().await?.kill(conn.0).await);
                let _ = reply.send(done.await);
            }
            Asked::Release((key, token), who, reply) => {
                let done = twice(&mut line, async |line| {
                    line.get().await?.ask_release(&schema, (&key, token), &who).await
                });
                let _ = reply.send(done.await);
            }
            Asked::Fate((key, token), reply) => {
                let fate = twice(&mut line, async |line| {
                    line.get().await?.fate(&schema, &key, token).await
                });
                let _ = reply.send(fate.await);
            }
        }
    }
}

/// An idle connection may have been closed meanwhile: once more on a new one. What is done twice
/// is as if it were done once.
async fn twice<T>(
    line: &mut Line,
    ask: impl AsyncFn(&mut Line) -> Result<T, StoreError>,
) -> Result<T, NoAnswer> {
    let mut last = ask(line).await;
    line.judge(&last);
    if last.as_ref().is_err_and(StoreError::is_unknown) {
        last = ask(line).await;
        line.judge(&last);
    }
    Ok(last?)
}
