//! Reading lock rows and proxies, page by page where there may be many.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::connection::{StoreConnection, StoreError};
use super::quoting::{ids, keys, literal};
use super::rows::{LOCK_ROW, LockRow, PROXY_ROW, ProxyRow, column, to_proxy, to_row};
use super::statement::Others;
use crate::lock::name::Key;
use crate::types::ProxyId;

/// A lock that is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldRow {
    /// Key of the row.
    pub key: Vec<u8>,
    /// The holder's connection.
    pub conn: u64,
    /// For how long, for display.
    pub held_ms: u64,
}

/// Rows of the locks table that one statement goes through at most.
pub(super) const PAGE: u32 = 20_000;

pub(super) fn between(from: Option<&[u8]>, to: &[u8]) -> String {
    format!("k>{} AND k<={}", literal(from.unwrap_or_default()), literal(to))
}

impl StoreConnection {
    /// The rows of `wanted`; and of those rows of `probed` that may be taken, the keys that no
    /// transaction is at: a change of another would wait for that transaction.
    pub async fn read_locks(
        &mut self,
        wanted: &[Key],
        probed: &[Key],
        others: &Others,
    ) -> Result<(Vec<LockRow>, HashSet<Vec<u8>>), StoreError> {
        let schema = self.schema();
        let mut sql =
            format!("SELECT {LOCK_ROW} FROM `{schema}`.locks WHERE k IN ({})", keys(wanted));
        if probed.is_empty() {
            let rows = self.query(sql, 1).await?;
            return Ok((rows[0].iter().map(to_row).collect(), HashSet::new()));
        }
        let _ = write!(
            sql,
            ";SELECT k FROM `{schema}`.locks WHERE k IN ({}) AND holder IN (0,{}) \
             FOR UPDATE SKIP LOCKED",
            keys(probed),
            ids(&others.clean)
        );
        let results = self.query(sql, 2).await?;
        let at_rest = results[1].iter().map(|r| column(r, 0)).collect();
        Ok((results[0].iter().map(to_row).collect(), at_rest))
    }

    /// Up to `most` held locks, of all proxies.
    pub async fn read_all_held(&mut self, most: usize) -> Result<Vec<HeldRow>, StoreError> {
        let schema = self.schema();
        let sql = format!(
            "SELECT k,conn,GREATEST(TIMESTAMPDIFF(MICROSECOND,since,UTC_TIMESTAMP(3)) DIV 1000,0) \
             FROM `{schema}`.locks l WHERE holder<>0 AND conn<>0 AND NOT EXISTS \
             (SELECT 1 FROM `{schema}`.proxies p WHERE p.id=l.holder AND p.state=3) LIMIT {most}"
        );
        let held = |r: &mysql_async::Row| HeldRow {
            key: column(r, 0),
            conn: column(r, 1),
            held_ms: column(r, 2),
        };
        Ok(self.query(sql, 1).await?[0].iter().map(held).collect())
    }

    /// All rows that name `proxy` as holder. A scan, since the holder has no index by design: in
    /// pages, so that no statement is long.
    pub async fn read_held(&mut self, proxy: ProxyId) -> Result<Vec<LockRow>, StoreError> {
        let schema = self.schema();
        let mut rows = Vec::new();
        let mut from = None;
        while let Some(page) = self.next_page(from.as_deref(), PAGE).await? {
            let sql = format!(
                "SELECT {LOCK_ROW} FROM `{schema}`.locks WHERE {} AND holder={}",
                between(from.as_deref(), &page),
                proxy.0
            );
            rows.extend(self.query(sql, 1).await?[0].iter().map(to_row));
            from = Some(page);
        }
        Ok(rows)
    }

    /// The locks among these whose rows do not name `proxy` as holder with this token.
    pub async fn without_row(
        &mut self,
        proxy: ProxyId,
        locks: &[(Key, u64)],
    ) -> Result<Vec<(Key, u64)>, StoreError> {
        let schema = self.schema();
        let sql = format!(
            "SELECT k,tok FROM `{schema}`.locks WHERE holder={} AND k IN ({})",
            proxy.0,
            keys(locks.iter().map(|(key, _)| key))
        );
        let rows = self.query(sql, 1).await?;
        let there: HashSet<(Vec<u8>, u64)> =
            rows[0].iter().map(|r| (column(r, 0), column(r, 1))).collect();
        let gone = |(key, token): &&(Key, u64)| !there.contains(&(key.as_bytes().to_vec(), *token));
        Ok(locks.iter().filter(gone).cloned().collect())
    }

    /// The last key of the page after `from`; `None` after the last page.
    pub(super) async fn next_page(
        &mut self,
        from: Option<&[u8]>,
        rows: u32,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let schema = self.schema();
        let sql = format!(
            "SELECT k FROM (SELECT k FROM `{schema}`.locks WHERE k>{} ORDER BY k LIMIT {rows}) p \
             ORDER BY k DESC LIMIT 1",
            literal(from.unwrap_or_default())
        );
        Ok(self.query(sql, 1).await?[0].first().map(|r| column(r, 0)))
    }

    /// All proxies.
    pub async fn read_proxies(&mut self) -> Result<Vec<ProxyRow>, StoreError> {
        let schema = self.schema();
        let sql = format!("SELECT {PROXY_ROW} FROM `{schema}`.proxies");
        Ok(self.query(sql, 1).await?[0].iter().map(to_proxy).collect())
    }
}
