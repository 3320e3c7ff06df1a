//! Writes holds that are over into the table `lock_history`, where that is wanted. No client waits for it, and no lock
//! depends on it: what cannot be written waits in memory, as far as there is room.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::engine::handle::Engine;
use crate::engine::io::link::{StoreAccess, StoreLink};
use crate::engine::shared::history::{PastHold, Unwritten};
use crate::lock::name;
use crate::store::connection::StoreError;
use crate::store::history::HistoryRow;

/// Rows of one statement: of the longest names and owners they take half a megabyte.
const PAGE: usize = 200;
/// Pause after a failure.
const RETRY: Duration = Duration::from_secs(1);
/// Old rows are deleted when so many were written.
const TRIM: usize = 10_000;
/// Rows that are deleted at a time: more than are written meanwhile.
const DELETED: u64 = 2000;

/// Writes as long as the process lives.
pub(in crate::engine) async fn write_history(access: Arc<StoreAccess>, engine: Engine) {
    let mut link = StoreLink::new(Arc::clone(&access));
    let mut since_trim = TRIM;
    let mut fails = false;
    loop {
        access.history.is_due().await;
        match write(&mut link, &access, &engine, &mut since_trim).await {
            // Most of the time there is nothing to do.
            Ok(0) => link.drop_connection(),
            Ok(_) => {
                if std::mem::take(&mut fails) {
                    tracing::info!("the history of locks is written again");
                }
            }
            Err(e) => {
                link.drop_connection();
                // No error of the lock tables: those are counted, and alerted on, elsewhere.
                access.metrics.history_failures.inc();
                if !std::mem::replace(&mut fails, true) {
                    let hint = hint(&e);
                    tracing::warn!(error = %e, "the history of locks cannot be written{hint}");
                }
                sleep(RETRY).await;
            }
        }
    }
}

/// Writes what there is, and deletes old rows now and then. How many were written.
async fn write(
    link: &mut StoreLink,
    access: &StoreAccess,
    engine: &Engine,
    since_trim: &mut usize,
) -> Result<usize, StoreError> {
    let history = &access.history;
    let mut written = 0;
    loop {
        let Unwritten { holds, lost, next } = history.unwritten(PAGE);
        access.metrics.history_lost.inc_by(lost);
        // Without a lease another server may be the primary.
        if holds.is_empty() || !engine.lease().is_good() {
            return Ok(written);
        }
        let rows: Vec<HistoryRow> = holds.into_iter().map(row).collect();
        let conn = link.get().await?;
        if *since_trim >= TRIM {
            // Room is made first: without the right to delete the table must not grow.
            let kept = history.rows().saturating_sub(rows.len() as u64);
            if conn.trim_history(kept, DELETED).await? < DELETED {
                *since_trim = 0;
            }
        }
        conn.add_history(history.proxy(), &rows).await?;
        history.wrote(next);
        *since_trim += rows.len();
        written += rows.len();
        if rows.len() < PAGE {
            return Ok(written);
        }
    }
}

/// What to do about it.
fn hint(e: &StoreError) -> &'static str {
    match e {
        StoreError::Refused { code: 1146, .. } => {
            ": run `lockstead schema install`, or let a DBA run what `lockstead schema print` says"
        }
        StoreError::Refused { code: 1142 | 1044, .. } => {
            ": GRANT SELECT, INSERT and DELETE on the table lock_history, as `lockstead grants` does, and run \
             `lockstead schema install` if it is missing"
        }
        _ => "",
    }
}

fn row(hold: PastHold) -> HistoryRow {
    let PastHold { name, token, conn, owner, ended, held, end } = hold;
    let (name, owner) = (name::shown(&name), String::from_utf8_lossy(&owner).into_owned());
    HistoryRow { name, token, conn: conn.0, owner, ended, held, end }
}
