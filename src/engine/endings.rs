//! Locks whose session's server connection broke: free only when the server is done with it.
//!
//! A closed socket proves nothing: both servers go on rolling back for seconds behind it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;

use super::pipe::{Line, StoreAccess};
use crate::lock::name::Key;
use crate::store::connection::{StoreError, same_run};
use crate::types::{ConnectionId, ProxyId};

/// Locks to release when the server no longer works for `conn`.
#[derive(Debug)]
pub(super) struct Watch {
    pub(super) conn: ConnectionId,
    /// The server's start when the locks were granted. Connection ids begin anew with each start:
    /// in a later run this one may be somebody else's.
    pub(super) run: i64,
    pub(super) locks: Vec<(Key, u64)>,
    pub(super) proxy: ProxyId,
}

/// Bounds of the pause between two looks.
const PAUSE: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(150));

/// The pause where the account may not see sessions: somebody must act first.
const BLIND: Duration = Duration::from_secs(5);

/// Watches connections until the service drops its end; hands each watch back when it is over.
pub(super) async fn watch(
    access: Arc<StoreAccess>,
    mut inbox: mpsc::UnboundedReceiver<Watch>,
    gone: mpsc::UnboundedSender<Watch>,
) {
    let mut line = Line::new(Arc::clone(&access));
    let mut watches: Vec<Watch> = Vec::new();
    let mut pause = PAUSE.0;
    let mut complained = false;
    loop {
        if watches.is_empty() {
            match inbox.recv().await {
                Some(watch) => watches.push(watch),
                None => return,
            }
            pause = PAUSE.0;
        }
        while let Ok(watch) = inbox.try_recv() {
            watches.push(watch);
            pause = PAUSE.0;
        }
        let ids: Vec<u64> = watches.iter().map(|w| w.conn.0).collect();
        match look(&mut line, &ids).await {
            Ok((run, there)) => {
                complained = false;
                access.stuck.sessions(&access.metrics, 0, None);
                let (still, over) = watches
                    .into_iter()
                    .partition(|w| same_run(w.run, run) && there.contains(&w.conn.0));
                watches = still;
                for watch in over {
                    let _ = gone.send(watch);
                }
            }
            Err(e) => {
                if matches!(e, StoreError::Blind) {
                    // A right that is granted meanwhile counts for new connections.
                    line.drop_connection();
                    pause = BLIND;
                }
                if matches!(e, StoreError::Blind | StoreError::Refused { .. }) {
                    let why = Some(e.to_string());
                    access.stuck.sessions(&access.metrics, ids.len(), why);
                }
                if !std::mem::replace(&mut complained, true) {
                    tracing::warn!(error = %e, sessions = ids.len(), "cannot see whether ended sessions are gone; their locks stay held");
                }
            }
        }
        if !watches.is_empty() {
            sleep(pause).await;
            pause = (pause * 2).min(PAUSE.1);
        }
    }
}

/// The run of the server, and which of `ids` it works for in this run.
async fn look(line: &mut Line, ids: &[u64]) -> Result<(i64, Vec<u64>), StoreError> {
    let conn = line.get().await?;
    let run = conn.started();
    let result = conn.still_there(ids).await.map(|there| (run, there));
    line.judge(&result);
    result
}
