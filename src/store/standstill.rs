//! What the lock tables say while they cannot be written: during a backup, or on a server that is read-only.

use super::connection::{StoreConnection, StoreError};
use super::meta::{Meta, meta_sql, to_meta};
use super::proxies::others_of;
use super::rows::{PROXY_ROW, ProxyRow, ProxyState, column, to_proxy};
use super::statement::Others;
use crate::types::{Flavour, ProxyId};

/// What was read instead of a renewal.
#[derive(Debug)]
pub struct Standstill {
    /// The row of `meta`.
    pub meta: Meta,
    /// Whether the server refuses writes of ordinary accounts.
    pub read_only: bool,
    proxies: Vec<ProxyRow>,
}

impl Standstill {
    /// Whether the row of this incarnation is LIVE, with one of these versions: nobody had revoked it.
    pub fn has(&self, id: ProxyId, versions: &[u64]) -> bool {
        let is_live = |row: &ProxyRow| row.state == ProxyState::Live && versions.contains(&row.rvn);
        self.proxies.iter().any(|row| row.id == id && is_live(row))
    }

    /// The incarnations beside `me`.
    pub fn others(&self, me: ProxyId) -> Others {
        others_of(&self.proxies, me)
    }
}

impl StoreConnection {
    /// Reads what a renewal would have read, without a write.
    pub async fn read_standstill(&mut self) -> Result<Standstill, StoreError> {
        let schema = self.schema();
        let meta = meta_sql(&schema, self.flavour());
        let read_only = match self.flavour() {
            Flavour::MySql => "@@global.super_read_only OR @@global.read_only",
            Flavour::MariaDb => "CAST(@@global.read_only AS CHAR) NOT IN ('0','OFF')",
        };
        let sql = format!("SELECT {read_only};{meta};SELECT {PROXY_ROW} FROM `{schema}`.proxies");
        let results = self.query(sql, 3).await?;
        Ok(Standstill {
            meta: to_meta(&schema, &results[1])?,
            read_only: results[0].first().is_none_or(|row| column::<u8>(row, 0) == 1),
            proxies: results[2].iter().map(to_proxy).collect(),
        })
    }

    /// The connection that holds the global read lock, as far as this account can see it.
    pub async fn read_lock_holder(&mut self) -> Result<Option<u64>, StoreError> {
        let sql = match self.flavour() {
            Flavour::MySql => {
                "SELECT t.processlist_id FROM performance_schema.metadata_locks m \
                 JOIN performance_schema.threads t ON t.thread_id=m.owner_thread_id \
                 WHERE m.object_type='GLOBAL' AND m.lock_type='SHARED' AND m.lock_status='GRANTED' LIMIT 1"
            }
            Flavour::MariaDb => {
                "SELECT thread_id FROM information_schema.metadata_lock_info \
                 WHERE lock_mode IN ('MDL_BACKUP_FTWRL1','MDL_BACKUP_FTWRL2','MDL_BACKUP_WAIT_COMMIT') LIMIT 1"
            }
        };
        match self.query(sql.to_owned(), 1).await {
            // The table is not there, or not for this account.
            Err(StoreError::Refused { code: 1109 | 1142 | 1146, .. }) => Ok(None),
            rows => Ok(rows?[0].first().map(|row| column(row, 0))),
        }
    }
}
