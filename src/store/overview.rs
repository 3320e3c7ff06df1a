//! Held locks and proxies, as administrators are shown them.

use super::connection::{StoreConnection, StoreError};
use super::quoting::literal;
use super::rows::column;
use super::schema::held_locks_with;
use crate::lock::name::{is_plain, plain};

/// A held lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockInfo {
    /// Key of the row.
    pub key: Vec<u8>,
    /// As the client wrote it; in hexadecimal digits if that is no text.
    pub name: String,
    /// Fencing token.
    pub token: u64,
    /// Address where its proxy listens; `None` for one that is not known any more.
    pub proxy: Option<String>,
    /// `live`, or `dead` where a takeover is under way.
    pub proxy_state: Option<String>,
    /// The holder's connection id.
    pub conn: u64,
    /// user@host.
    pub owner: String,
    /// UTC.
    pub since: String,
    /// How long by the server's clock.
    pub held_ms: u64,
}

/// LockFilter locks are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockFilter {
    /// All.
    All,
    /// Locks whose names match a LIKE pattern.
    Like(String),
    /// Locks of this name: one, as a rule.
    Named(String),
}

/// A proxy incarnation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyInfo {
    /// Id of the incarnation.
    pub id: u64,
    /// 1 live, 2 dead, 3 clean.
    pub state: u8,
    /// Address where it listens.
    pub addr: String,
    /// Lease, in milliseconds.
    pub ttl_ms: u64,
    /// The epoch that it belongs to.
    pub epoch: u64,
    /// Whether it takes the server's own locks, too (mode `coexist`).
    pub native: bool,
}

impl StoreConnection {
    /// Up to `most` held locks in the order of their names.
    pub async fn overview_locks(
        &mut self,
        which: &LockFilter,
        most: usize,
    ) -> Result<Vec<LockInfo>, StoreError> {
        let schema = self.schema();
        let text = |bytes: &[u8]| format!("CONVERT({} USING utf8mb4)", literal(bytes));
        let which = match which {
            LockFilter::All => String::new(),
            LockFilter::Like(pattern) => format!(" WHERE name LIKE {}", text(pattern.as_bytes())),
            LockFilter::Named(name) => {
                let name = name.as_bytes();
                // As it is shown; or as the server compares it, where that is known here.
                let key = plain(name, self.flavour()).filter(|_| is_plain(name));
                let key = key.map(|name| format!(" OR k={}", literal(name.key.as_bytes())));
                let key = key.unwrap_or_default();
                format!(" WHERE CAST(name AS BINARY)={}{key}", literal(name))
            }
        };
        let held = held_locks_with(&schema, "l.k AS k, ");
        let sql = format!(
            "SELECT k,name,token,proxy,proxy_state,connection_id,owner,CAST(since_utc AS CHAR),\
             GREATEST(TIMESTAMPDIFF(MICROSECOND,since_utc,UTC_TIMESTAMP(3)) DIV 1000,0) \
             FROM ({held}) held{which} ORDER BY name LIMIT {most}"
        );
        let row = |r: &mysql_async::Row| LockInfo {
            key: column(r, 0),
            name: column(r, 1),
            token: column(r, 2),
            proxy: column(r, 3),
            proxy_state: column(r, 4),
            conn: column(r, 5),
            owner: column(r, 6),
            since: column(r, 7),
            held_ms: column(r, 8),
        };
        Ok(self.query(sql, 1).await?[0].iter().map(row).collect())
    }

    /// Up to `most` incarnations.
    pub async fn overview_proxies(&mut self, most: usize) -> Result<Vec<ProxyInfo>, StoreError> {
        let schema = self.schema();
        let sql = format!(
            "SELECT id,state,addr,ttl_ms,epoch,mode FROM `{schema}`.proxies ORDER BY addr,id LIMIT {most}"
        );
        let row = |r: &mysql_async::Row| ProxyInfo {
            id: column(r, 0),
            state: column(r, 1),
            addr: column(r, 2),
            ttl_ms: column(r, 3),
            epoch: column(r, 4),
            native: column::<u8>(r, 5) == 1,
        };
        Ok(self.query(sql, 1).await?[0].iter().map(row).collect())
    }
}
