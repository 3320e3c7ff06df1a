//! Locks of proxies whose rows were deleted: without them no proxy would take the locks over.

use std::collections::HashMap;
use std::time::Duration;

use crate::clock;
use crate::lock::lease::Terms;
use crate::store::connection::{StoreConnection, StoreError};
use crate::types::ProxyId;

/// Proxies without a row that hold locks, and since when each was seen.
#[derive(Debug, Default)]
pub(in crate::engine) struct Orphans {
    seen: HashMap<ProxyId, Duration>,
    longest: Duration,
}

impl Orphans {
    /// Looks for them. Those that were there for the longest lease known are entered as dead: without
    /// its row, none of them can have renewed its lease.
    pub(in crate::engine) async fn enter(
        &mut self,
        conn: &mut StoreConnection,
    ) -> Result<(), StoreError> {
        let meta = conn.read_meta().await?;
        let found = conn.orphan_holders().await?;
        self.longest = Duration::from_millis(u64::from(meta.max_ttl_ms));
        self.seen.retain(|id, _| found.contains(id));
        let (terms, now) = (Terms { ttl: self.longest }, clock::now());
        for id in found {
            let since = *self.seen.entry(id).or_insert(now);
            if now >= terms.revocable(since) && meta.here {
                conn.enter_dead(id, meta.epoch).await?;
                tracing::warn!(proxy = %id, "there are locks of a proxy whose row was deleted: it is registered as dead");
            }
        }
        Ok(())
    }

    /// How long to wait for the next look, by which some may have been there long enough.
    pub(in crate::engine) fn pause(&self, usual: Duration) -> Duration {
        if self.seen.is_empty() { usual } else { usual.min(self.longest) }
    }
}
