//! Deletes the rows of locks that were not taken for long, a page at a time, and has the rows that name
//! this proxy compared with the locks it holds.
//!
//! The base of tokens measures time. A proxy moves it on when it has not changed for an interval on this process's own
//! clock, so several proxies together move it once an interval. Rows below a base that has not changed for so long were
//! not taken meanwhile.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::orphans::Orphans;
use crate::engine::handle::Engine;
use crate::engine::io::link::{StoreAccess, StoreLink};
use crate::lock::name::Key;
use crate::store::connection::{StoreConnection, StoreError};
use crate::store::meta::Meta;

/// Pause between two pages.
const PAUSE: Duration = Duration::from_millis(50);
/// How far the base moves for each second of the interval: more tokens than are ever granted.
const TOKENS_A_SECOND: u64 = 1 << 20;

/// Collects as long as the process lives.
pub(in crate::engine) async fn collect(
    access: Arc<StoreAccess>,
    engine: Engine,
    interval: Duration,
) {
    let mut link = StoreLink::new(Arc::clone(&access));
    let mut stands: Option<(u64, Instant)> = None;
    let mut orphans = Orphans::default();
    loop {
        sleep(orphans.pause(interval / 4)).await;
        if !engine.lease().is_good() {
            stands = None;
            continue;
        }
        // The next round does again what failed.
        let _ = link.ask(async |conn| audit(conn, &engine).await).await;
        let _ = link.ask(async |conn| orphans.enter(conn).await).await;
        match link.ask(async |conn| round(conn, &mut stands, interval).await).await {
            Ok(0) => {}
            Ok(rows) => {
                access.metrics.rows_collected.inc_by(rows);
                tracing::debug!(rows, "rows of unused locks deleted");
            }
            // The next round does it.
            Err(e) => tracing::debug!(error = %e, "could not delete all rows of unused locks"),
        }
        // Most of the time there is nothing to do.
        link.drop_connection();
    }
}

async fn audit(conn: &mut StoreConnection, engine: &Engine) -> Result<(), StoreError> {
    let Some(proxy) = engine.lease().proxy() else { return Ok(()) };
    let rows = conn.read_held(proxy).await?;
    let rows = rows.iter().filter_map(|r| Some((Key::from_row(&r.key)?, r.token))).collect();
    engine.reconcile(proxy, rows);
    Ok(())
}

async fn round(
    conn: &mut StoreConnection,
    stands: &mut Option<(u64, Instant)>,
    interval: Duration,
) -> Result<u64, StoreError> {
    let Meta { epoch, base, here, .. } = conn.read_meta().await?;
    let since = match *stands {
        Some((seen, since)) if seen == base => since,
        _ => {
            *stands = Some((base, Instant::now()));
            return Ok(0);
        }
    };
    if !here || since.elapsed() < interval {
        return Ok(0);
    }
    let mut from = None;
    let mut rows = 0;
    while let Some(page) = conn.collect(base, from.as_deref()).await? {
        rows += page.rows;
        from = Some(page.to);
        sleep(PAUSE).await;
    }
    let next = base + interval.as_secs().max(1) * TOKENS_A_SECOND;
    conn.move_base(epoch, base, next).await?;
    Ok(rows)
}
