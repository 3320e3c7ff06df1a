//! What administrators ask: about the lock tables, and for the end of a connection.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::pipe::{Line, StoreAccess};
use crate::store::connection::StoreError;
use crate::store::overview::{LockRow, ProxyRow};
use crate::types::ConnectionId;

/// Rows of an answer at most.
pub const MOST: usize = 10_000;

/// A question, and where the answer goes; an error in words for people.
#[derive(Debug)]
pub(super) enum Asked {
    /// Held locks whose names match.
    Locks(Option<Vec<u8>>, oneshot::Sender<Result<Vec<LockRow>, String>>),
    /// All incarnations.
    Proxies(oneshot::Sender<Result<Vec<ProxyRow>, String>>),
    /// KILL CONNECTION. False when the store account may not.
    Kill(ConnectionId, oneshot::Sender<Result<bool, String>>),
}

/// Answers, one question at a time, until the last handle is dropped.
pub(super) async fn answer(access: Arc<StoreAccess>, mut asked: mpsc::UnboundedReceiver<Asked>) {
    let mut line = Line::new(Arc::clone(&access));
    let schema = access.url.schema.clone();
    while let Some(question) = asked.recv().await {
        // Who asked may have left: then nobody reads the answer.
        match question {
            Asked::Locks(pattern, reply) => {
                let rows = twice(&mut line, async |line| {
                    line.get().await?.overview_locks(&schema, pattern.as_deref(), MOST).await
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
        }
    }
}

/// An idle connection may have been closed meanwhile: once more on a new one. A KILL that is
/// repeated finds nobody.
async fn twice<T>(
    line: &mut Line,
    ask: impl AsyncFn(&mut Line) -> Result<T, StoreError>,
) -> Result<T, String> {
    let mut last = ask(line).await;
    line.judge(&last);
    if last.as_ref().is_err_and(StoreError::is_unknown) {
        last = ask(line).await;
        line.judge(&last);
    }
    last.map_err(|e| e.to_string())
}
