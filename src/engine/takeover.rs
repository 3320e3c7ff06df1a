//! Making a dead proxy's locks free: its server sessions are ended first.
//!
//! DEAD means that the incarnation can neither renew nor grant. Its sessions may still run and
//! commit, so they are killed, and only when the server shows none of them is it CLEAN (I8).

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::sleep;

use super::pipe::{Line, StoreAccess};
use crate::mutants::{self, Mutant};
use crate::store::connection::{StoreConnection, StoreError, same_run};
use crate::store::lease::ProxyRow;
use crate::types::ProxyId;

/// Takeovers under way, so that one proxy is not taken over twice by the same process.
#[derive(Debug, Default)]
pub(super) struct Running(Mutex<HashSet<ProxyId>>);

impl Running {
    /// True for the first to start on `id`.
    pub(super) fn start(&self, id: ProxyId) -> bool {
        self.0.lock().insert(id)
    }

    fn end(&self, id: ProxyId) {
        self.0.lock().remove(&id);
    }
}

/// Ends the sessions of a DEAD incarnation and declares it CLEAN, however long that takes.
///
/// `own`: an earlier incarnation of this very process, whose sessions without locks live on.
pub(super) async fn take_over(
    access: Arc<StoreAccess>,
    running: Arc<Running>,
    row: ProxyRow,
    own: bool,
) {
    let mut line = Line::new(Arc::clone(&access));
    let home = access.home.lock().clone();
    let mut pause = Duration::from_millis(10);
    let mut longest = Duration::from_millis(250);
    let mut warned = false;
    loop {
        let result = match line.get().await {
            Ok(conn) => {
                // The row was read on that server: its ids mean nothing on the next one.
                let same = same_run(conn.started(), row.server_start)
                    && home.as_ref().is_none_or(|h| **h == *conn.ident());
                end_sessions(conn, &access.url.schema, &row, (own, same)).await
            }
            Err(e) => Err(e),
        };
        line.judge(&result);
        if matches!(result, Ok(End::Powerless(_))) {
            // A right that is granted meanwhile counts for new connections.
            line.drop_connection();
        }
        match result {
            Ok(End::Clean) => break,
            Ok(End::Powerless(why)) if !warned => {
                warned = true;
                // Somebody else must act first.
                longest = Duration::from_secs(5);
                tracing::error!(proxy = %row.id, why, "the locks of a dead proxy stay held");
            }
            Err(e) if !warned => {
                warned = true;
                tracing::warn!(proxy = %row.id, error = %e, "takeover of a dead proxy is delayed");
            }
            Ok(End::Waiting | End::Powerless(_)) | Err(_) => {}
        }
        // Ends when the server shows no session of the dead proxy any more.
        sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
    access.metrics.takeovers.inc();
    tracing::info!(proxy = %row.id, addr = row.addr, "a dead proxy's locks are free");
    if let Ok(conn) = line.get().await {
        let result = conn.sweep_clean(&access.url.schema).await;
        line.judge(&result);
    }
    line.drop_connection();
    running.end(row.id);
}

enum End {
    Clean,
    Waiting,
    Powerless(&'static str),
}

async fn end_sessions(
    conn: &mut StoreConnection,
    schema: &str,
    row: &ProxyRow,
    (own, same_run): (bool, bool),
) -> Result<End, StoreError> {
    let mut ids = conn.sessions_of(schema, row.id, !own, same_run).await?;
    if same_run && !own {
        ids.extend(row.conns.iter().copied().filter(|id| *id != u64::from(conn.id())));
    }
    let there = match conn.still_there(&ids).await {
        Err(StoreError::Blind) => {
            return Ok(End::Powerless("the store account may not see other accounts' sessions"));
        }
        there => there?,
    };
    if there.is_empty() || mutants::on(Mutant::StealBeforeGone) {
        conn.declare_clean(schema, row.id).await?;
        return Ok(End::Clean);
    }
    let mut refused = false;
    for id in there {
        refused |= !conn.kill(id).await?;
    }
    Ok(if refused {
        End::Powerless("the store account may not end a session; waiting until the server does")
    } else {
        End::Waiting
    })
}
