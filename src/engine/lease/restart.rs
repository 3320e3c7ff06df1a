//! The incarnation goes on in another run of the server, if its row is as this proxy wrote it.
//!
//! Locks are rows, which outlive a run. A server that does not write each commit to its disk may have lost the last
//! ones. So every lock that is held is compared with its row before a session may rely on the run
//! (docs/adr/0025-runs.md).

use tokio::sync::{mpsc, oneshot};

use super::incarnation::Incarnation;
use crate::engine::messages::{HeldNow, LeaseEvent};
use crate::lock::name::Key;
use crate::store::connection::{StoreConnection, StoreError};
use crate::types::ProxyId;

/// Locks that one statement reads.
const PAGE: usize = 1000;

/// Compares all held locks with their rows in the run that `conn` leads to, and has the service go on in that
/// run. Sessions whose locks have no row are told before this ends.
pub(in crate::engine) async fn go_on(
    conn: &mut StoreConnection,
    incarnation: &mut Incarnation,
    events: &mpsc::UnboundedSender<LeaseEvent>,
) -> Result<(), StoreError> {
    let Incarnation { id: proxy, epoch, .. } = *incarnation;
    let ended = |_| StoreError::Connect("the lock engine has ended".to_owned());
    let run = conn.started();
    let (reply, held) = oneshot::channel();
    let _ = events.send(LeaseEvent::Restarted { proxy, run, reply });
    let HeldNow { locks, last_token, .. } = held.await.map_err(ended)?;
    let lost = lost(conn, proxy, &locks).await?;
    if !lost.is_empty() {
        tracing::error!(proxy = %proxy, locks = lost.len(), "the server has lost locks in its restart: innodb_flush_log_at_trx_commit is not 1, or its rows were changed");
        // A row that is made again must not begin below the tokens that were given.
        conn.raise_base(last_token).await?;
    }
    let (reply, told) = oneshot::channel();
    let _ = events.send(LeaseEvent::Compared { proxy, lost, reply });
    told.await.map_err(ended)?;
    incarnation.run = run;
    tracing::warn!(proxy = %proxy, epoch, "the server was restarted: the locks of this proxy are still held");
    Ok(())
}

async fn lost(
    conn: &mut StoreConnection,
    proxy: ProxyId,
    locks: &[(Key, u64)],
) -> Result<Vec<(Key, u64)>, StoreError> {
    let mut lost = Vec::new();
    for page in locks.chunks(PAGE) {
        lost.extend(conn.without_row(proxy, page).await?);
    }
    Ok(lost)
}
