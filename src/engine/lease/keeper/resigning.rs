//! The end of the process: the rows of its incarnations go.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::Keeper;
use crate::engine::lease::incarnation::Incarnation;
use crate::store::connection::StoreError;
use crate::store::rows::{ProxyRow, ProxyState};
use crate::types::ProxyId;

/// How long that may take.
const LIMIT: Duration = Duration::from_secs(5);
/// How often it is checked that the last sessions are gone.
const LOOK: Duration = Duration::from_millis(10);

impl Keeper {
    /// Leaves in order: the rows of its incarnations go at once. No session can do anything under a lock of theirs any
    /// more, so none needs a lease to run out.
    pub(super) async fn resign(&mut self) {
        let mine = self.incarnation.take();
        self.access.late_rows.allow(false);
        self.suspension.close();
        self.lease.end();
        // A renewal may have been interrupted: its connection is in the middle of an answer.
        self.link.drop_connection();
        if let Some(mine) = &mine {
            self.predecessors.add(mine.id);
        }
        match timeout(self.terms.ttl.min(LIMIT), self.leave(mine.as_ref())).await {
            Ok(Ok(left)) => {
                for id in left {
                    tracing::info!(proxy = %id, "left the lease table");
                }
            }
            Ok(Err(e)) => {
                tracing::warn!(error = %e, "could not leave the lease table; the lease will run out");
            }
            Err(_) => {
                tracing::warn!("could not leave the lease table in time; the lease will run out");
            }
        }
    }

    /// Ends all incarnations of this process, with what the server still runs for them. Those of which nothing is left.
    async fn leave(&mut self, mine: Option<&Incarnation>) -> Result<Vec<ProxyId>, StoreError> {
        let conn = self.link.get().await?;
        let changed = |row: &ProxyRow| {
            mine.is_some_and(|mine| mine.id == row.id && !mine.versions.contains(&row.rvn))
        };
        let mut rows = conn.read_proxies().await?;
        // Ends when no row of this process is live, or by `LIMIT`.
        loop {
            let own = |row: &&ProxyRow| self.predecessors.is_own(row.id) && !changed(row);
            let live: Vec<_> =
                rows.iter().filter(own).filter(|row| row.state == ProxyState::Live).collect();
            if live.is_empty() {
                break;
            }
            // Others take over at once what is dead, if this is all that there is time for.
            for row in live {
                conn.revoke(row.id, row.rvn).await?;
            }
            // A renewal that was on its way may have arrived before.
            rows = conn.read_proxies().await?;
        }
        if let Some(row) = rows.iter().find(|row| changed(row)) {
            tracing::warn!(proxy = %row.id, "its row was changed, and stays in the lease table");
        }
        let over = |row: &ProxyRow| {
            self.predecessors.is_own(row.id) && !changed(row) && row.state == ProxyState::Dead
        };
        let ended: Vec<_> = rows.into_iter().filter(over).collect();
        for row in &ended {
            let late = self.access.late_rows.connections(row.id);
            if late.is_empty() && conn.read_held(row.id).await?.is_empty() {
                conn.declare_clean(row.id).await?;
            } else {
                self.running.start(&self.access, row, true);
            }
        }
        conn.sweep_clean().await?;
        while ended.iter().any(|row| self.running.is_under_way(row.id)) {
            sleep(LOOK).await;
        }
        let left: Vec<ProxyId> = ended.iter().map(|row| row.id).collect();
        self.predecessors.forget(|own| left.contains(&own));
        Ok(left)
    }
}
