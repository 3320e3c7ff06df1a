//! Whether the server is still in the run in which locks are held: asked for sessions whose connections are younger than the
//! last renewal.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::link::{StoreAccess, StoreLink};
use crate::clock;
use crate::engine::shared::lease::Lease;
use crate::store::connection::StoreConnection;

/// A session that waits for an answer.
type Waiting = oneshot::Sender<()>;

/// Starts the task that asks.
pub(in crate::engine) fn start(
    access: &Arc<StoreAccess>,
    lease: &Arc<Lease>,
) -> mpsc::UnboundedSender<Waiting> {
    let (confirms, asked) = mpsc::unbounded_channel();
    tokio::spawn(confirm(Arc::clone(access), Arc::clone(lease), asked));
    confirms
}

/// Asks for all that wait, and again for those that come meanwhile, until the last handle is dropped.
async fn confirm(
    access: Arc<StoreAccess>,
    lease: Arc<Lease>,
    mut asked: mpsc::UnboundedReceiver<Waiting>,
) {
    let mut link = StoreLink::new(access);
    while let Some(first) = asked.recv().await {
        let mut waiting = vec![first];
        while let Ok(another) = asked.try_recv() {
            waiting.push(another);
        }
        let sent = clock::now();
        let ask = async |conn: &mut StoreConnection| {
            conn.ask_nothing().await?;
            Ok((conn.ident().to_owned(), conn.started()))
        };
        if let Ok((ident, started)) = link.ask_twice(ask).await
            && *ident == *lease.home()
        {
            lease.confirm(sent, started);
        }
        for waiting in waiting {
            let _ = waiting.send(());
        }
    }
}
