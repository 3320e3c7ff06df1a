//! Making a dead proxy's locks free: its server sessions are ended first.
//!
//! DEAD means that the incarnation can neither renew nor grant. Sessions of a dead proxy may still run and commit, so
//! they are killed. Only when the server shows none of them does the incarnation become CLEAN (I8).

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::sleep;

use crate::engine::io::link::{StoreAccess, StoreLink};
use crate::engine::shared::fenced_sessions::Fenced;
use crate::mutants::{self, Mutant};
use crate::store::connection::{StoreConnection, StoreError};
use crate::store::identity::same_run;
use crate::store::rows::{ProxyRow, UNKNOWN_RUN};
use crate::store::sessions::KillResult;
use crate::types::ProxyId;

/// Takeovers under way, so that one proxy is not taken over twice by the same process.
#[derive(Debug, Default)]
pub(in crate::engine) struct Takeovers(Mutex<HashSet<ProxyId>>);

impl Takeovers {
    /// Begins the takeover of a DEAD incarnation, unless it is under way.
    pub(in crate::engine) fn start(
        self: &Arc<Self>,
        access: &Arc<StoreAccess>,
        row: &ProxyRow,
        own: bool,
    ) {
        if self.0.lock().insert(row.id) {
            tokio::spawn(take_over(Arc::clone(access), Arc::clone(self), row.clone(), own));
        }
    }

    /// Whether it is under way.
    pub(in crate::engine) fn is_under_way(&self, id: ProxyId) -> bool {
        self.0.lock().contains(&id)
    }

    fn end(&self, id: ProxyId) {
        self.0.lock().remove(&id);
    }
}

/// Ends the sessions of a DEAD incarnation and declares it CLEAN, however long that takes.
///
/// `own`: an earlier incarnation of this very process, whose sessions without locks live on.
async fn take_over(access: Arc<StoreAccess>, running: Arc<Takeovers>, row: ProxyRow, own: bool) {
    let mut link = StoreLink::new(Arc::clone(&access));
    let home = access.home.lock().clone();
    let mut pause = Duration::from_millis(10);
    let mut longest = Duration::from_millis(250);
    let mut warned = false;
    let mut begun: Option<(i64, u64)> = None;
    loop {
        let fenced = if own { access.fenced.of(row.id) } else { Fenced::Unknown };
        let end = async |conn: &mut StoreConnection| {
            let held = match &fenced {
                Fenced::Soon => return Ok(TakeoverStatus::Waiting),
                Fenced::Known(connections) => Some(connections.as_slice()),
                Fenced::Unknown => None,
            };
            let (run, id) = (conn.started(), u64::from(conn.id()));
            let (_, last) = match begun {
                Some(seen) if same_run(seen.0, run) => seen,
                _ => *begun.insert((run, id)),
            };
            // The row was read on that server: its ids mean nothing on the next one.
            let same = same_run(run, row.server_start)
                && home.as_ref().is_none_or(|h| **h == *conn.ident());
            let ids = match same {
                _ if row.server_start == UNKNOWN_RUN => Ids::Doubtful,
                true => Ids::OfThisRun,
                false => Ids::OfAnother,
            };
            let tagged = (!own || access.shares).then_some(last);
            let late = if own { access.late_rows.connections(row.id) } else { Vec::new() };
            end_sessions(conn, &row, ids, tagged, (held, &late)).await
        };
        let result = link.ask(end).await;
        if matches!(result, Ok(TakeoverStatus::Powerless(_))) {
            // A right that is granted meanwhile counts for new connections.
            link.drop_connection();
        }
        let stuck = match &result {
            Ok(TakeoverStatus::Powerless(why)) => Some(why.clone()),
            Err(e @ StoreError::Refused { .. }) => Some(e.to_string()),
            Ok(TakeoverStatus::Clean | TakeoverStatus::Waiting) | Err(_) => None,
        };
        access.stuck.takeover(&access.metrics, row.id, stuck);
        match result {
            Ok(TakeoverStatus::Clean) => break,
            Ok(TakeoverStatus::Powerless(ref why)) if !warned => {
                warned = true;
                // An operator must act first.
                longest = Duration::from_secs(5);
                tracing::error!(proxy = %row.id, why, "the locks of a dead proxy stay held");
            }
            Err(e) if !warned => {
                warned = true;
                tracing::warn!(proxy = %row.id, error = %e, "takeover of a dead proxy is delayed");
            }
            Ok(TakeoverStatus::Waiting | TakeoverStatus::Powerless(_)) | Err(_) => {}
        }
        // Ends when the server shows no session of the dead proxy any more.
        sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
    access.metrics.takeovers.inc();
    tracing::info!(proxy = %row.id, addr = row.addr, "a dead proxy's locks are free");
    if let Ok(conn) = link.get().await {
        let result = conn.sweep_clean().await;
        link.note_result(&result);
    }
    link.drop_connection();
    access.fenced.forget(row.id);
    running.end(row.id);
}

enum TakeoverStatus {
    Clean,
    Waiting,
    Powerless(String),
}

/// The meaning of the ids in the dead proxy's rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ids {
    /// The ids are of this run of the server.
    OfThisRun,
    /// The ids are of another run, with which their sessions ended.
    OfAnother,
    /// The ids may be of another run, and other clients' ids by now: those must not be ended.
    Doubtful,
}

const BLIND: &str =
    "the store account may not see whether its sessions have ended: GRANT PROCESS ON *.* to it";

const UNSEEN: &str = "sessions of a proxy in mode coexist may have locks without rows, and the store account cannot find them: \
     GRANT SELECT ON performance_schema.* to it, and set performance_schema=ON at the server";

/// `held`: the connections that the rows should name, where this process knows better. `late`: those of sessions that have
/// locks without rows.
///
/// `tagged`: an id that was given when the proxy was dead already, if sessions are sought by their
/// attribute. One that came later took no lock for it, whatever its attribute: any client may set one.
async fn end_sessions(
    conn: &mut StoreConnection,
    row: &ProxyRow,
    of_rows: Ids,
    tagged: Option<u64>,
    (held, late): (Option<&[u64]>, &[u64]),
) -> Result<TakeoverStatus, StoreError> {
    let named = of_rows != Ids::OfAnother;
    if row.native && row.keeps > 0 && tagged.is_some() && named && !conn.finds_all_tagged().await? {
        return Ok(TakeoverStatus::Powerless(UNSEEN.to_owned()));
    }
    let mut ids = conn.sessions_of(row.id, tagged, named && held.is_none()).await?;
    ids.extend(held.unwrap_or_default().iter().chain(late).filter(|_| named));
    if of_rows == Ids::OfThisRun && tagged.is_some() {
        ids.extend(row.conns.iter().copied().filter(|id| *id != u64::from(conn.id())));
    }
    let there = match conn.still_there(&ids).await {
        Err(StoreError::Blind) => return Ok(TakeoverStatus::Powerless(BLIND.to_owned())),
        there => there?,
    };
    if there.is_empty() || mutants::on(Mutant::StealBeforeGone) {
        conn.declare_clean(row.id).await?;
        return Ok(TakeoverStatus::Clean);
    }
    if of_rows == Ids::Doubtful {
        return Ok(TakeoverStatus::Powerless(format!(
            "its row was deleted, and the server has sessions with the ids in its lock rows ({}), which may be other clients': waiting until they end",
            list(&there)
        )));
    }
    let mut refused = Vec::new();
    for id in there {
        if conn.kill(id).await? == KillResult::NotAllowed {
            refused.push(id);
        }
    }
    Ok(if refused.is_empty() {
        TakeoverStatus::Waiting
    } else {
        TakeoverStatus::Powerless(format!(
            "the store account may not end connection {} of the server: GRANT CONNECTION_ADMIN (MariaDB: CONNECTION ADMIN) ON *.* to it, or KILL there",
            list(&refused)
        ))
    })
}

/// Some ids, for a log line.
fn list(ids: &[u64]) -> String {
    let mut shown: Vec<String> = ids.iter().take(5).map(u64::to_string).collect();
    if ids.len() > shown.len() {
        shown.push(format!("{} more", ids.len() - shown.len()));
    }
    shown.join(", ")
}
