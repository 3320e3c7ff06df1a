//! Looking: at lock rows, at the server's sessions, at what the account may do.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::batch::{Row, to_row};
use super::connection::{StoreConnection, StoreError, column};
use super::statement::{Others, ROW, ids, literal};
use crate::lock::name::Key;
use crate::protocol::handshake::TAG_ATTRIBUTE;
use crate::types::{Flavour, ProxyId};

/// What the store account may do beyond the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    /// May see the sessions of other accounts (PROCESS).
    pub process: bool,
    /// May end them (CONNECTION_ADMIN / CONNECTION ADMIN).
    pub kill: bool,
    /// MySQL: may read performance_schema, and it is on.
    pub performance_schema: bool,
}

/// A lock that is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldRow {
    /// Its key.
    pub key: Vec<u8>,
    /// The holder's connection.
    pub conn: u64,
    /// Since when, for people.
    pub held_ms: u64,
}

/// Rows of the locks table that one statement goes through at most.
const PAGE: u32 = 20_000;

pub(super) fn between(from: Option<&[u8]>, to: &[u8]) -> String {
    format!("k>{} AND k<={}", literal(from.unwrap_or_default()), literal(to))
}

impl StoreConnection {
    /// The rows of `keys`; and of those rows of `probed` that may be taken, the keys which nobody is
    /// at: to change another now would be to wait for somebody.
    pub async fn read_locks(
        &mut self,
        schema: &str,
        keys: &[Key],
        probed: &[Key],
        others: &Others,
    ) -> Result<(Vec<Row>, HashSet<Vec<u8>>), StoreError> {
        let list = |keys: &[Key]| {
            let keys: Vec<String> = keys.iter().map(|k| literal(k.as_bytes())).collect();
            keys.join(",")
        };
        let mut sql = format!("SELECT {ROW} FROM `{schema}`.locks WHERE k IN ({})", list(keys));
        if probed.is_empty() {
            let rows = self.query(sql, 1).await?;
            return Ok((rows[0].iter().map(to_row).collect(), HashSet::new()));
        }
        let _ = write!(
            sql,
            ";SELECT k FROM `{schema}`.locks WHERE k IN ({}) AND holder IN (0,{}) \
             FOR UPDATE SKIP LOCKED",
            list(probed),
            ids(&others.clean)
        );
        let results = self.query(sql, 2).await?;
        let at_rest = results[1].iter().map(|r| column(r, 0)).collect();
        Ok((results[0].iter().map(to_row).collect(), at_rest))
    }

    /// Up to `most` held locks, in whatever proxy's hands.
    pub async fn read_all_held(
        &mut self,
        schema: &str,
        most: usize,
    ) -> Result<Vec<HeldRow>, StoreError> {
        let sql = format!(
            "SELECT k,conn,GREATEST(TIMESTAMPDIFF(MICROSECOND,since,UTC_TIMESTAMP(3)) DIV 1000,0) \
             FROM `{schema}`.locks l WHERE holder<>0 AND NOT EXISTS \
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
    pub async fn read_held(
        &mut self,
        schema: &str,
        proxy: ProxyId,
    ) -> Result<Vec<Row>, StoreError> {
        let mut rows = Vec::new();
        let mut from = None;
        while let Some(page) = self.next_page(schema, from.as_deref(), PAGE).await? {
            let sql = format!(
                "SELECT {ROW} FROM `{schema}`.locks WHERE {} AND holder={}",
                between(from.as_deref(), &page),
                proxy.0
            );
            rows.extend(self.query(sql, 1).await?[0].iter().map(to_row));
            from = Some(page);
        }
        Ok(rows)
    }

    /// Frees all rows that name `proxy` as holder, page by page.
    pub(super) async fn free_held(
        &mut self,
        schema: &str,
        proxy: ProxyId,
    ) -> Result<(), StoreError> {
        let mut from = None;
        while let Some(page) = self.next_page(schema, from.as_deref(), PAGE).await? {
            let page_of = between(from.as_deref(), &page);
            let sql = format!(
                "UPDATE `{schema}`.locks SET holder=0 WHERE {page_of} AND holder={}",
                proxy.0
            );
            self.execute(sql).await?;
            from = Some(page);
        }
        Ok(())
    }

    /// The last key of the page behind `from`; `None` behind the last page.
    pub(super) async fn next_page(
        &mut self,
        schema: &str,
        from: Option<&[u8]>,
        rows: u32,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = format!(
            "SELECT k FROM (SELECT k FROM `{schema}`.locks WHERE k>{} ORDER BY k LIMIT {rows}) p \
             ORDER BY k DESC LIMIT 1",
            literal(from.unwrap_or_default())
        );
        Ok(self.query(sql, 1).await?[0].first().map(|r| column(r, 0)))
    }

    /// Which of these connection ids the server still works for; an error when that cannot be
    /// known.
    pub async fn still_there(&mut self, ids: &[u64]) -> Result<Vec<u64>, StoreError> {
        if let Some(there) = self.among_threads(ids).await? {
            return Ok(there);
        }
        if !self.sees_all().await? {
            return Err(StoreError::Blind);
        }
        self.among_processes(ids).await
    }

    /// The same for connections of this very account, which it always sees.
    pub async fn own_still_there(&mut self, ids: &[u64]) -> Result<Vec<u64>, StoreError> {
        match self.among_threads(ids).await? {
            Some(there) => Ok(there),
            None => self.among_processes(ids).await,
        }
    }

    /// MySQL: performance_schema.threads shows a killed session to the end of its rollback.
    /// `None` where it does not show this very connection, so where it is off or not allowed.
    async fn among_threads(&mut self, ids: &[u64]) -> Result<Option<Vec<u64>>, StoreError> {
        if self.flavour() == Flavour::MariaDb {
            return Ok(None);
        }
        let sql = format!(
            "SELECT processlist_id FROM performance_schema.threads WHERE processlist_id IN ({})",
            self.with_own(ids)
        );
        match self.query(sql, 1).await {
            Err(StoreError::Refused { code: 1142, .. }) => Ok(None),
            rows => Ok(self.without_own(&rows?[0])),
        }
    }

    /// MySQL's list hides a killed session while it still rolls back; its transaction shows then.
    async fn among_processes(&mut self, ids: &[u64]) -> Result<Vec<u64>, StoreError> {
        let list = self.with_own(ids);
        let mut sql = format!("SELECT id FROM information_schema.processlist WHERE id IN ({list})");
        if self.flavour() == Flavour::MySql && self.sees_all().await? {
            let _ = write!(
                sql,
                " UNION SELECT trx_mysql_thread_id FROM information_schema.innodb_trx \
                 WHERE trx_mysql_thread_id IN ({list})"
            );
        }
        let rows = self.query(sql, 1).await?;
        self.without_own(&rows[0]).ok_or(StoreError::Blind)
    }

    fn with_own(&self, ids: &[u64]) -> String {
        let own = u64::from(self.id());
        let ids: Vec<String> = ids.iter().chain([&own]).map(u64::to_string).collect();
        ids.join(",")
    }

    /// The ids of others; `None` if this connection's own is not there, so that nothing is proved.
    fn without_own(&self, rows: &[mysql_async::Row]) -> Option<Vec<u64>> {
        let own = u64::from(self.id());
        let mut ids: Vec<u64> = rows.iter().map(|r| column(r, 0)).collect();
        ids.contains(&own).then(|| {
            ids.retain(|id| *id != own);
            ids
        })
    }

    async fn sees_all(&mut self) -> Result<bool, StoreError> {
        if let Some(known) = self.sees_all {
            return Ok(known);
        }
        let sees = self.rights().await?.process;
        self.sees_all = Some(sees);
        Ok(sees)
    }

    /// The server sessions of a proxy: those that carry its tag (`tagged`), and those its lock
    /// rows name (`named`, meaningful only in the server run that gave these ids).
    pub async fn sessions_of(
        &mut self,
        schema: &str,
        proxy: ProxyId,
        tagged: bool,
        named: bool,
    ) -> Result<Vec<u64>, StoreError> {
        let mut ids = Vec::new();
        if named {
            ids.extend(self.read_held(schema, proxy).await?.into_iter().map(|r| r.conn));
        }
        if tagged && self.has_performance_schema().await? {
            let tag = String::from_utf8_lossy(TAG_ATTRIBUTE);
            let sql = format!(
                "SELECT processlist_id FROM performance_schema.session_connect_attrs \
                 WHERE attr_name='{tag}' AND attr_value='{proxy}'"
            );
            match self.query(sql, 1).await {
                Ok(rows) => ids.extend(rows[0].iter().map(|r| column::<u64>(r, 0))),
                // Without the right to look there, the lock rows name the sessions that matter.
                Err(StoreError::Refused { code: 1142, .. }) => {}
                Err(e) => return Err(e),
            }
        }
        ids.sort_unstable();
        ids.dedup();
        ids.retain(|id| *id != 0 && *id != u64::from(self.id()));
        Ok(ids)
    }

    async fn has_performance_schema(&mut self) -> Result<bool, StoreError> {
        let rows = self.query("SELECT @@global.performance_schema".to_owned(), 1).await?;
        Ok(rows[0].first().is_some_and(|r| column::<u8>(r, 0) == 1))
    }

    /// Ends a server session. True when the server accepted or the session is gone; false when
    /// this account may not.
    pub async fn kill(&mut self, id: u64) -> Result<bool, StoreError> {
        match self.execute(format!("KILL CONNECTION {id}")).await {
            Ok(_) | Err(StoreError::Refused { code: 1094, .. }) => Ok(true),
            Err(StoreError::Refused { code: 1095 | 1227, .. }) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// When the server was started, in seconds of its own clock; two readings of one run differ
    /// by at most two seconds. Constant through steps of that clock, since both terms move together.
    pub async fn server_start(&mut self) -> Result<i64, StoreError> {
        let table = match self.flavour() {
            Flavour::MySql => "performance_schema",
            Flavour::MariaDb => "information_schema",
        };
        let sql = format!(
            "SELECT UNIX_TIMESTAMP()-CAST(variable_value AS SIGNED) FROM {table}.global_status \
             WHERE variable_name='Uptime'"
        );
        let rows = self.query(sql, 1).await?;
        // Never a default: two unknown starts would look like one run.
        let start = rows[0].first().and_then(|r| r.get_opt::<i64, usize>(0)?.ok());
        start.ok_or_else(|| StoreError::Refused {
            code: 1105,
            message: "the server does not tell since when it runs".to_owned(),
        })
    }

    /// Whether this server is part of a replication set-up or a cluster, so that another server
    /// may have been primary before.
    pub async fn has_peers(&mut self) -> Result<bool, StoreError> {
        let sessions = "SELECT COUNT(*) FROM information_schema.processlist WHERE \
                        command LIKE 'Binlog Dump%' OR command LIKE 'Slave%' OR \
                        (user='system user' AND state LIKE '%source%')";
        let sql = match self.flavour() {
            Flavour::MySql => {
                "SELECT (SELECT COUNT(*) FROM performance_schema.replication_connection_configuration) \
                 + (SELECT COUNT(*) FROM performance_schema.threads \
                    WHERE processlist_command LIKE 'Binlog Dump%')"
                    .to_owned()
            }
            Flavour::MariaDb => format!(
                "SELECT ({sessions}) + (SELECT COUNT(*) FROM information_schema.global_status \
                 WHERE variable_name='WSREP_CLUSTER_SIZE' AND CAST(variable_value AS SIGNED)>0)"
            ),
        };
        let rows = self.query(sql, 1).await?;
        Ok(rows[0].first().is_none_or(|r| column::<i64>(r, 0) > 0))
    }

    /// Finds out by trying what the account may do, without touching anyone.
    pub async fn rights(&mut self) -> Result<Rights, StoreError> {
        let process = self
            .query("SHOW GRANTS".to_owned(), 1)
            .await?
            .into_iter()
            .flatten()
            .map(|r| column::<String>(&r, 0).to_ascii_uppercase())
            .collect::<Vec<_>>();
        let global = |right: &str| {
            process.iter().any(|g| {
                g.contains(" ON *.* ") && (g.contains(right) || g.contains("ALL PRIVILEGES"))
            })
        };
        let kill = match self.flavour() {
            Flavour::MySql => global("CONNECTION_ADMIN") || global("SUPER"),
            Flavour::MariaDb => global("CONNECTION ADMIN") || global("SUPER"),
        };
        let performance_schema = match self.flavour() {
            Flavour::MySql => self.among_threads(&[]).await?.is_some(),
            Flavour::MariaDb => true,
        };
        Ok(Rights { process: global("PROCESS"), kill, performance_schema })
    }

    /// Tries the rights on the tables that every batch needs; changes nothing.
    pub async fn check_tables(&mut self, schema: &str) -> Result<(), StoreError> {
        for (table, column) in [
            ("meta", "epoch"),
            ("proxies", "epoch"),
            ("locks", "tok"),
            ("waits", "weight"),
            ("adoptions", "epoch"),
            ("releases", "tok"),
        ] {
            let sql = format!("UPDATE `{schema}`.{table} SET {column}={column} WHERE 1=0");
            self.execute(sql).await?;
            self.execute(format!("DELETE FROM `{schema}`.{table} WHERE 1=0")).await?;
            let sql = format!(
                "INSERT INTO `{schema}`.{table} SELECT * FROM `{schema}`.{table} WHERE 1=0"
            );
            self.execute(sql).await?;
        }
        Ok(())
    }
}
