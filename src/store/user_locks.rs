//! The server's own locks, as it lists them.

use std::collections::HashMap;

use super::connection::{StoreConnection, StoreError};
use super::identity::run_number;
use super::proof::{asked_sql, to_held};
use super::quoting::{keys, numbers};
use super::rows::column;
use crate::lock::name::{Key, Name, listed};
use crate::types::{BackendId, Flavour};

/// A lock of the server's own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UserLock {
    /// The connection that holds it.
    pub conn: BackendId,
    /// Name of the lock, as the server compares names.
    pub name: Name,
}

/// The server's answer to the question which locks it holds.
#[derive(Debug)]
pub enum UserLocks {
    /// All locks of the server. `garbled`: connections with further locks, whose names the list does not tell.
    Listed {
        /// The locks.
        locks: Vec<UserLock>,
        /// Connections.
        garbled: Vec<BackendId>,
    },
    /// The server has no list for this account; the text says what to do about it.
    Unlisted(&'static str),
}

const NO_RIGHT: &str = "the store account lacks SELECT on performance_schema.metadata_locks or threads. See `lockstead grants`";
const NOT_WHOLE: &str = "performance_schema does not list all metadata locks: it is off, its instrument wait/lock/metadata/sql/mdl is off, or performance_schema_max_metadata_locks or performance_schema_max_thread_instances limits it";
const NO_PLUGIN: &str = "the plugin that lists the server's own locks is not there: INSTALL SONAME 'metadata_lock_info'";

/// Names that one statement asks for.
pub const ASKED: usize = 256;
/// Rows that one statement looks for.
const PAGE: usize = 1000;

const MYSQL: &str = "t.processlist_id,CAST(m.object_name AS BINARY),1 \
    FROM performance_schema.threads t \
    JOIN performance_schema.metadata_locks m ON m.owner_thread_id=t.thread_id \
    WHERE m.object_type='USER LEVEL LOCK' AND m.lock_status='GRANTED' \
    AND t.processlist_id";
/// For a few connections: without it MySQL begins with all user locks. With 50,000 of them that takes eight times as long.
const MYSQL_OF_FEW: &str = "/*+ JOIN_ORDER(t,m) INDEX(m OWNER_THREAD_ID) */ ";
/// Each is looked for by itself.
const FEW: usize = 8;
/// A last row, of no connection: the statement's own lock on the table that it reads shows that the list is kept, for
/// as many locks as there are.
const MYSQL_LISTS: &str = " UNION ALL SELECT 0,'',COUNT(*) FROM performance_schema.metadata_locks \
    WHERE owner_thread_id=PS_CURRENT_THREAD_ID() AND object_name='metadata_locks' \
    AND @@global.performance_schema_max_metadata_locks=-1 \
    AND @@global.performance_schema_max_thread_instances=-1";
/// The table has utf8mb3 names, and so not all.
const MARIADB: &str = "thread_id,CAST(table_schema AS BINARY),\
    IS_USED_LOCK(IF(table_schema='',x'00',CAST(table_schema AS BINARY)))<=>thread_id \
    FROM information_schema.metadata_lock_info WHERE lock_type='User lock' AND thread_id";

/// Errors by which a list is not there: no right to read it; no such table.
pub(super) const NO_LIST: [u16; 2] = [1142, 1109];

/// A host of MariaDB's process list, where a port follows the address.
fn without_port(host: &str) -> &str {
    host.rsplit_once(':').map_or(host, |(address, _)| address)
}

impl StoreConnection {
    /// The run of the server that this connection leads to.
    pub fn run_number(&self) -> u64 {
        run_number(self.ident(), self.started())
    }

    /// For each of these: whether the connection holds the server's own lock.
    pub async fn holds_natively(
        &mut self,
        asked: &[(Key, BackendId)],
    ) -> Result<Vec<bool>, StoreError> {
        let mut held = Vec::with_capacity(asked.len());
        for some in asked.chunks(ASKED) {
            let rows = self.query(format!("SELECT {}", asked_sql(some.iter())), 1).await?;
            held.extend(to_held(&rows[0], some.len()));
        }
        Ok(held)
    }

    /// The server's own locks of these connections, or of all.
    pub async fn user_locks(&mut self, of: Option<&[u64]>) -> Result<UserLocks, StoreError> {
        let (list, none, lists) = match self.flavour() {
            Flavour::MySql => (MYSQL, NO_RIGHT, MYSQL_LISTS),
            Flavour::MariaDb => (MARIADB, NO_PLUGIN, ""),
        };
        let few = of.is_some_and(|ids| ids.len() <= FEW) && self.flavour() == Flavour::MySql;
        let hint = if few { MYSQL_OF_FEW } else { "" };
        let which = match of {
            Some(ids) => format!(" IN ({})", numbers(ids.iter().copied())),
            None => " IS NOT NULL".to_owned(),
        };
        let rows = match self.query(format!("SELECT {hint}{list}{which}{lists}"), 1).await {
            Err(StoreError::Refused { code, .. }) if NO_LIST.contains(&code) => {
                return Ok(UserLocks::Unlisted(none));
            }
            rows => rows?,
        };
        let (mut locks, mut garbled) = (Vec::new(), Vec::new());
        let mut kept = lists.is_empty();
        for row in &rows[0] {
            let conn = BackendId(column(row, 0));
            if conn == BackendId(0) {
                kept = column::<u64>(row, 2) > 0;
            } else if column::<u8>(row, 2) == 1 {
                locks.push(UserLock { conn, name: listed(&column::<Vec<u8>>(row, 1)) });
            } else {
                garbled.push(conn);
            }
        }
        if !kept {
            return Ok(UserLocks::Unlisted(NOT_WHOLE));
        }
        Ok(UserLocks::Listed { locks, garbled })
    }

    /// user@host of each of these connections that the server still has and shows.
    pub async fn owners(
        &mut self,
        of: &[BackendId],
    ) -> Result<HashMap<BackendId, String>, StoreError> {
        let list = match self.flavour() {
            Flavour::MySql => {
                "SELECT processlist_id,processlist_user,processlist_host FROM performance_schema.threads WHERE processlist_id"
            }
            Flavour::MariaDb => "SELECT id,user,host FROM information_schema.processlist WHERE id",
        };
        let without_port: fn(&str) -> &str = match self.flavour() {
            Flavour::MySql => |host| host,
            Flavour::MariaDb => without_port,
        };
        let mut owners = HashMap::new();
        for page in of.chunks(PAGE) {
            let sql = format!("{list} IN ({})", numbers(page.iter().map(|conn| conn.0)));
            owners.extend(self.query(sql, 1).await?[0].iter().map(|r| {
                let user = column::<Option<String>>(r, 1).unwrap_or_default();
                let host = column::<Option<String>>(r, 2).unwrap_or_default();
                (BackendId(column(r, 0)), format!("{user}@{}", without_port(&host)))
            }));
        }
        Ok(owners)
    }

    /// Which connections the rows of these locks name as holders; and the proxies' own connections.
    pub async fn named_holders(
        &mut self,
        wanted: &[Key],
    ) -> Result<(Vec<(BackendId, Key)>, Vec<u64>), StoreError> {
        let schema = self.schema();
        let mut holders = Vec::new();
        for page in wanted.chunks(PAGE) {
            let sql = format!(
                "SELECT k,conn FROM `{schema}`.locks WHERE k IN ({}) AND holder<>0 AND conn<>0",
                keys(page)
            );
            let holder = |r: &mysql_async::Row| {
                Some((BackendId(column(r, 1)), Key::from_row(&column::<Vec<u8>>(r, 0))?))
            };
            holders.extend(self.query(sql, 1).await?[0].iter().filter_map(holder));
        }
        let proxies = self.read_proxies().await?;
        Ok((holders, proxies.into_iter().flat_map(|proxy| proxy.conns).collect()))
    }
}
