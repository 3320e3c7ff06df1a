//! Compares the locks that are held here with their rows, which an administrator may have deleted
//! or changed: a lock without its row may have another holder by now. Also reads the account's
//! rights again.
//!
//! Where the server holds a lock, too, a row that names another session is no loss: this one may have let go at the
//! server, and another proxy have claimed the row. It is one if the server still holds the lock for this session, when
//! that is seen twice.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::engine::handle::Engine;
use crate::engine::io::link::{StoreAccess, StoreLink};
use crate::engine::messages::{HeldNow, NativeHold};
use crate::lock::name::Key;
use crate::store::connection::{StoreConnection, StoreError};
use crate::store::rights::Rights;
use crate::types::{BackendId, ProxyId};

/// The account's rights are read again in each round of this number.
const RIGHTS: u64 = 3;
/// Locks that one statement reads.
const PAGE: usize = 1000;

/// Compares three times a lease, as long as the process lives.
pub(in crate::engine) async fn audit(access: Arc<StoreAccess>, engine: Engine, lease: Duration) {
    let mut link = StoreLink::new(Arc::clone(&access));
    let mut suspects = HashSet::new();
    for round in 1_u64.. {
        sleep(lease / 3).await;
        if round % RIGHTS == 0 {
            // A right that was granted meanwhile counts for new connections.
            link.drop_connection();
            let rights = rights(&mut link).await;
            link.judge(&rights);
            if let Ok(rights) = rights {
                access.show_rights(rights);
            }
        }
        let Some(proxy) = engine.lease().proxy() else { continue };
        let held = engine.held(proxy).await;
        if held.locks.is_empty() && held.native.is_empty() {
            link.drop_connection();
            continue;
        }
        let result = compare(&mut link, &access, &engine, proxy, &held, &mut suspects).await;
        link.judge(&result);
        if let Err(e) = result {
            tracing::debug!(error = %e, "could not compare held locks with their rows");
        }
    }
}

async fn rights(link: &mut StoreLink) -> Result<Rights, StoreError> {
    link.get().await?.rights().await
}

async fn compare(
    link: &mut StoreLink,
    access: &StoreAccess,
    engine: &Engine,
    proxy: ProxyId,
    held: &HeldNow,
    suspects: &mut HashSet<(Key, u64)>,
) -> Result<(), StoreError> {
    let schema = &access.url.schema;
    let conn = link.get().await?;
    let mut lost = Vec::new();
    for page in held.locks.chunks(PAGE) {
        lost.extend(conn.without_row(schema, proxy, page).await?);
    }
    let without_row = lost_natively(conn, schema, proxy, &held.native).await?;
    lost.extend(without_row.intersection(suspects).cloned());
    *suspects = without_row;
    let some = !lost.is_empty();
    // An empty list, too: a lock that was lost once and is found again is not lost any more.
    engine.lose(proxy, lost);
    if some {
        // A row that is made again must not begin below the tokens that were given.
        conn.raise_base(schema, held.last_token).await?;
    }
    Ok(())
}

/// The native holds without a row for which the server still has the lock.
async fn lost_natively(
    conn: &mut StoreConnection,
    schema: &str,
    proxy: ProxyId,
    holds: &[NativeHold],
) -> Result<HashSet<(Key, u64)>, StoreError> {
    let mut lost = HashSet::new();
    for page in holds.chunks(PAGE) {
        let locks: Vec<(Key, u64)> =
            page.iter().map(|hold| (hold.key.clone(), hold.token)).collect();
        let without = conn.without_row(schema, proxy, &locks).await?;
        let holder = |(key, _): &(Key, u64)| page.iter().find(|hold| hold.key == *key);
        let asked: Vec<(Key, BackendId)> =
            without.iter().filter_map(holder).map(|hold| (hold.key.clone(), hold.conn)).collect();
        let held = conn.holds_natively(&asked).await?;
        lost.extend(without.into_iter().zip(held).filter(|(_, held)| *held).map(|(lock, _)| lock));
    }
    Ok(lost)
}
