//! Locks whose session's server connection broke: free only when the server is done with it.
//!
//! A closed socket proves nothing: both servers go on rolling back for seconds after it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;

use super::link::{StoreAccess, StoreLink};
use crate::engine::messages::{EventSender, SessionEvent};
use crate::lock::name::Key;
use crate::store::connection::StoreError;
use crate::store::identity::same_run;
use crate::types::{ConnectionId, ProxyId};

/// Locks to release when the server no longer works for `conn`.
#[derive(Debug)]
pub(in crate::engine) struct DeferredRelease {
    pub(in crate::engine) conn: ConnectionId,
    /// The server's start when the locks were granted. Connection ids begin again with each start: in a
    /// later run this one may be another client's.
    pub(in crate::engine) run: i64,
    pub(in crate::engine) locks: Vec<(Key, u64)>,
    pub(in crate::engine) proxy: ProxyId,
}

/// A session that wants to know whether the server still works for it.
#[derive(Debug)]
pub(in crate::engine) struct Question {
    pub(in crate::engine) conn: ConnectionId,
    pub(in crate::engine) run: i64,
    pub(in crate::engine) events: EventSender,
}

/// A connection to look for.
#[derive(Debug)]
pub(in crate::engine) enum Errand {
    /// Until it is over.
    DeferredRelease(DeferredRelease),
    /// Once.
    Ask(Question),
}

/// Bounds of the pause between two looks.
const PAUSE: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(150));

/// The pause where the account may not see sessions: an operator must act first.
const BLIND: Duration = Duration::from_secs(5);

/// Watches connections until the service drops its end; hands each watch back when it is over.
pub(in crate::engine) async fn watch(
    access: Arc<StoreAccess>,
    mut inbox: mpsc::UnboundedReceiver<Errand>,
    gone: mpsc::UnboundedSender<DeferredRelease>,
) {
    let mut link = StoreLink::new(Arc::clone(&access));
    let mut watches: Vec<DeferredRelease> = Vec::new();
    let mut pause = PAUSE.0;
    let mut complained = false;
    loop {
        let mut questions = Vec::new();
        let mut next = if watches.is_empty() {
            let Some(errand) = inbox.recv().await else { return };
            pause = PAUSE.0;
            Some(errand)
        } else {
            inbox.try_recv().ok()
        };
        while let Some(errand) = next {
            match errand {
                Errand::DeferredRelease(watch) => {
                    watches.push(watch);
                    pause = PAUSE.0;
                }
                Errand::Ask(question) => questions.push(question),
            }
            next = inbox.try_recv().ok();
        }
        let ids = watches.iter().map(|w| w.conn.0).chain(questions.iter().map(|q| q.conn.0));
        let ids: Vec<u64> = ids.collect();
        match look(&mut link, &ids).await {
            Ok((run, there)) => {
                complained = false;
                access.stuck.sessions(&access.metrics, 0, None);
                let serves =
                    |at: i64, conn: ConnectionId| same_run(at, run) && there.contains(&conn.0);
                for Question { conn, run, events } in questions {
                    if !serves(run, conn) {
                        let _ = events.send(SessionEvent::ServerDone);
                    }
                }
                let (still, over) =
                    watches.into_iter().partition(|w: &DeferredRelease| serves(w.run, w.conn));
                watches = still;
                for watch in over {
                    let _ = gone.send(watch);
                }
            }
            Err(e) => {
                if matches!(e, StoreError::Blind) {
                    // A right that is granted meanwhile counts for new connections.
                    link.drop_connection();
                    pause = BLIND;
                }
                if matches!(e, StoreError::Blind | StoreError::Refused { .. }) {
                    let why = Some(e.to_string());
                    access.stuck.sessions(&access.metrics, watches.len(), why);
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
async fn look(link: &mut StoreLink, ids: &[u64]) -> Result<(i64, Vec<u64>), StoreError> {
    let conn = link.get().await?;
    let run = conn.started();
    let result = conn.still_there(ids).await.map(|there| (run, there));
    link.judge(&result);
    result
}
