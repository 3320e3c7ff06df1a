//! Compares the locks that are held here with their rows, which an administrator may have deleted
//! or changed: a lock without its row may have another holder by now. Also reads the account's
//! rights again.
//!
//! Where the server holds a lock, too, a row that names another session is usually no loss. The session may have
//! released the lock at the server, and another proxy have claimed the row. The lock is lost if two readings show that
//! the server still holds it for this session.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::engine::handle::Engine;
use crate::engine::io::link::{StoreAccess, StoreLink};
use crate::engine::messages::{HeldNow, NativeHold};
use crate::lock::name::Key;
use crate::store::connection::{StoreConnection, StoreError};
use crate::types::{BackendId, ProxyId};

/// The account's rights are read again in each round of this number.
const RIGHTS: u64 = 3;
/// Bytes of keys in one statement: as literals they are twice as many, and a packet of a megabyte is demanded.
const PAGE: usize = 256 * 1024;
/// What a key counts for beside its bytes.
const AROUND: usize = 16;

/// Compares three times a lease, as long as the process lives.
pub(in crate::engine) async fn audit(access: Arc<StoreAccess>, engine: Engine, lease: Duration) {
    let mut link = StoreLink::new(Arc::clone(&access));
    let mut suspects = HashSet::new();
    for round in 1_u64.. {
        sleep(lease / 3).await;
        if round % RIGHTS == 0 {
            // A right that was granted meanwhile counts for new connections.
            link.drop_connection();
            if let Ok(rights) = link.ask(async |conn| conn.rights().await).await {
                access.show_rights(rights);
            }
            if let Ok(found) = link.ask(async |conn| conn.finds_all_tagged().await).await {
                access.set_found(found);
            }
        }
        let Some(proxy) = engine.lease().proxy() else { continue };
        let held = engine.held(proxy).await;
        if held.locks.is_empty() && held.native.is_empty() {
            link.drop_connection();
            continue;
        }
        let compared = async |conn: &mut StoreConnection| {
            compare(conn, &engine, proxy, &held, &mut suspects).await
        };
        if let Err(e) = link.ask(compared).await {
            tracing::debug!(error = %e, "could not compare held locks with their rows");
        }
    }
}

async fn compare(
    conn: &mut StoreConnection,
    engine: &Engine,
    proxy: ProxyId,
    held: &HeldNow,
    suspects: &mut HashSet<(Key, u64)>,
) -> Result<(), StoreError> {
    let mut lost = Vec::new();
    for page in pages(&held.locks, |(key, _)| key) {
        lost.extend(conn.without_row(proxy, page).await?);
    }
    let without_row = lost_natively(conn, proxy, &held.native).await?;
    lost.extend(without_row.intersection(suspects).cloned());
    *suspects = without_row;
    let some = !lost.is_empty();
    // An empty list, too: a lock that was lost once and is found again is not lost any more.
    engine.lose(proxy, lost);
    if some {
        // A row that is made again must not begin below the tokens that were given.
        conn.raise_base(held.last_token).await?;
    }
    Ok(())
}

/// The locks of one statement each.
fn pages<T>(locks: &[T], key: impl Fn(&T) -> &Key) -> Vec<&[T]> {
    let mut pages = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (nth, lock) in locks.iter().enumerate() {
        let more = key(lock).as_bytes().len() + AROUND;
        if bytes + more > PAGE {
            pages.push(&locks[start..nth]);
            (start, bytes) = (nth, 0);
        }
        bytes += more;
    }
    if start < locks.len() {
        pages.push(&locks[start..]);
    }
    pages
}

/// The native holds without a row for which the server still has the lock.
async fn lost_natively(
    conn: &mut StoreConnection,
    proxy: ProxyId,
    holds: &[NativeHold],
) -> Result<HashSet<(Key, u64)>, StoreError> {
    let mut lost = HashSet::new();
    for page in pages(holds, |hold| &hold.key) {
        let locks: Vec<(Key, u64)> =
            page.iter().map(|hold| (hold.key.clone(), hold.token)).collect();
        let without = conn.without_row(proxy, &locks).await?;
        let holder = |(key, _): &(Key, u64)| page.iter().find(|hold| hold.key == *key);
        let asked: Vec<(Key, BackendId)> =
            without.iter().filter_map(holder).map(|hold| (hold.key.clone(), hold.conn)).collect();
        let held = conn.holds_natively(&asked).await?;
        lost.extend(without.into_iter().zip(held).filter(|(_, held)| *held).map(|(lock, _)| lock));
    }
    Ok(lost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::statement::NEEDED;

    #[test]
    fn a_page_has_as_many_locks_as_a_packet_that_is_demanded() {
        let key = |n: u32, length: usize| {
            let digits = format!("{n:0length$}");
            Key::from_row(&[&b"L"[..], digits.as_bytes()].concat()).expect("a key")
        };
        for (count, length, most) in [(0, 10, 0), (1, 254, 1), (10_000, 12, 2), (10_000, 254, 11)] {
            let locks: Vec<(Key, u64)> = (0..count).map(|n| (key(n, length), 1)).collect();
            let pages = pages(&locks, |(key, _)| key);
            assert!(pages.len() <= most, "{count} of {length}: {}", pages.len());
            assert_eq!(pages.concat(), locks);
            for page in pages {
                let literals = page.iter().map(|(key, _)| 2 * key.as_bytes().len() + 4);
                assert!(!page.is_empty() && literals.sum::<usize>() as u64 + 1024 < NEEDED);
            }
        }
    }
}
