//! The holders that sessions wait for: by the rows of locks, and by the server's own word.

use std::collections::HashMap;

use super::connection::{StoreConnection, StoreError};
use super::proof::name_of;
use super::quoting::{keys, literal, numbers};
use super::rows::column;
use super::user_locks::{ASKED, NO_LIST};
use crate::lock::name::{Key, Name, listed};
use crate::types::{BackendId, Flavour};

/// Rows that one statement looks for.
const PAGE: usize = 1000;

const MYSQL: &str = "SELECT t.processlist_id,CAST(m.object_name AS BINARY) \
    FROM performance_schema.threads t \
    LEFT JOIN performance_schema.metadata_locks m ON m.owner_thread_id=t.thread_id \
    AND m.object_type='USER LEVEL LOCK' AND m.lock_status='PENDING' \
    WHERE t.processlist_state='User lock' AND t.processlist_id";
const MARIADB: &str =
    "SELECT id,NULL FROM information_schema.processlist WHERE state='User lock' AND id";

/// The holder of a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockHolder {
    /// The holder's connection.
    pub conn: u64,
    /// user@host, if that is known.
    pub owner: Option<String>,
}

/// Sessions that wait, and the locks that they name, to be looked for.
#[derive(Debug, Clone, Default)]
pub struct WaitsAsked {
    /// The server's connections of the sessions.
    pub conns: Vec<BackendId>,
    /// The locks.
    pub keys: Vec<Key>,
    /// The sessions wait for the server's own locks.
    pub natively: bool,
}

/// What the server knows of waits.
#[derive(Debug, Clone, Default)]
pub struct WaitsSeen {
    /// The holders of locks that are held.
    pub holders: HashMap<Key, LockHolder>,
    /// The connections that wait for one of the server's own locks, with its name where the server tells it.
    pub waiting: HashMap<BackendId, Option<Name>>,
}

impl StoreConnection {
    /// Looks for whom sessions wait. Where the account may not read a list of the server's, that is left out.
    pub async fn waits_seen(&mut self, asked: &WaitsAsked) -> Result<WaitsSeen, StoreError> {
        let schema = self.schema();
        let mut seen = WaitsSeen::default();
        if asked.natively {
            seen.waiting = self.waiting_natively(&asked.conns).await?;
        }
        let named = seen.waiting.values().flatten().map(|name| name.key.clone());
        let mut wanted: Vec<Key> = asked.keys.iter().cloned().chain(named).collect();
        wanted.sort_unstable_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
        wanted.dedup();
        for page in wanted.chunks(PAGE) {
            let sql = format!(
                "SELECT k,conn,CONVERT(owner USING utf8mb4) FROM `{schema}`.locks \
                 WHERE k IN ({}) AND holder<>0 AND conn<>0",
                keys(page)
            );
            seen.holders.extend(self.query(sql, 1).await?[0].iter().filter_map(|r| {
                let key = Key::from_row(&column::<Vec<u8>>(r, 0))?;
                Some((key, LockHolder { conn: column(r, 1), owner: column(r, 2) }))
            }));
        }
        if asked.natively {
            self.hold_natively(&wanted, &mut seen.holders).await?;
        }
        Ok(seen)
    }

    /// Which of these connections wait for one of the server's own locks.
    async fn waiting_natively(
        &mut self,
        conns: &[BackendId],
    ) -> Result<HashMap<BackendId, Option<Name>>, StoreError> {
        let list = match self.flavour() {
            Flavour::MySql => MYSQL,
            Flavour::MariaDb => MARIADB,
        };
        let mut waiting = HashMap::new();
        for page in conns.chunks(PAGE) {
            let sql = format!("{list} IN ({})", numbers(page.iter().map(|conn| conn.0)));
            let rows = match self.query(sql, 1).await {
                Err(StoreError::Refused { code, .. }) if NO_LIST.contains(&code) => break,
                rows => rows?,
            };
            waiting.extend(rows[0].iter().map(|r| {
                let name = column::<Option<Vec<u8>>>(r, 1);
                (BackendId(column(r, 0)), name.map(|name| listed(&name)))
            }));
        }
        Ok(waiting)
    }

    /// Finds the holders of these locks by the server's word, which is right where a row says otherwise. A lock that no
    /// connection has there may still have a row, of a session at a proxy in mode durable.
    async fn hold_natively(
        &mut self,
        wanted: &[Key],
        holders: &mut HashMap<Key, LockHolder>,
    ) -> Result<(), StoreError> {
        let used = |key| format!("IS_USED_LOCK({})", literal(name_of(key)));
        for page in wanted.chunks(ASKED) {
            let calls: Vec<String> = page.iter().map(used).collect();
            let rows = self.query(format!("SELECT {}", calls.join(",")), 1).await?;
            let Some(row) = rows[0].first() else { continue };
            for (nth, key) in page.iter().enumerate() {
                let conn = column::<Option<u64>>(row, nth);
                let is_news = |conn: &u64| holders.get(key).is_none_or(|row| row.conn != *conn);
                if let Some(conn) = conn.filter(is_news) {
                    holders.insert(key.clone(), LockHolder { conn, owner: None });
                }
            }
        }
        let unknown = holders.values().filter(|holder| holder.owner.is_none());
        let unknown: Vec<BackendId> = unknown.map(|holder| BackendId(holder.conn)).collect();
        let owners = self.owners(&unknown).await?;
        for holder in holders.values_mut().filter(|holder| holder.owner.is_none()) {
            holder.owner = owners.get(&BackendId(holder.conn)).cloned();
        }
        Ok(())
    }
}
