//! Compares the locks that are held here with their rows, which an administrator may have deleted
//! or changed: a lock without its row may have another holder by now. Also reads the account's
//! rights again.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::engine::handle::Engine;
use crate::engine::io::link::{StoreAccess, StoreLink};
use crate::engine::messages::HeldNow;
use crate::lock::name::Key;
use crate::store::connection::StoreError;
use crate::store::rights::Rights;
use crate::types::ProxyId;

/// The account's rights are read again in each round of this number.
const RIGHTS: u64 = 3;
/// Locks that one statement reads.
const PAGE: usize = 1000;

/// Compares three times a lease, as long as the process lives.
pub(in crate::engine) async fn audit(access: Arc<StoreAccess>, engine: Engine, lease: Duration) {
    let mut link = StoreLink::new(Arc::clone(&access));
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
        let HeldNow { locks, last_token } = engine.held(proxy).await;
        if locks.is_empty() {
            link.drop_connection();
            continue;
        }
        let result = compare(&mut link, &access, &engine, proxy, &locks, last_token).await;
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
    locks: &[(Key, u64)],
    last_token: u64,
) -> Result<(), StoreError> {
    let schema = &access.url.schema;
    let conn = link.get().await?;
    let mut lost = Vec::new();
    for page in locks.chunks(PAGE) {
        lost.extend(conn.without_row(schema, proxy, page).await?);
    }
    let some = !lost.is_empty();
    // An empty list, too: a lock that was lost once and is found again is not lost any more.
    engine.lose(proxy, lost);
    if some {
        // A row that is made again must not begin below the tokens that were given.
        conn.raise_base(schema, last_token).await?;
    }
    Ok(())
}
