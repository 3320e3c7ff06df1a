//! Looking: at lock rows, at the server, at what the account may do.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::batch::{Row, to_row};
use super::connection::{StoreConnection, StoreError, column};
use super::statement::{Others, ROW, ids, literal};
use crate::lock::name::Key;
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
pub(super) const PAGE: u32 = 20_000;

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

    /// Those of these locks, with their tokens, whose rows do not say that `proxy` holds them.
    pub async fn without_row(
        &mut self,
        schema: &str,
        proxy: ProxyId,
        locks: &[(Key, u64)],
    ) -> Result<Vec<(Key, u64)>, StoreError> {
        let keys: Vec<String> = locks.iter().map(|(key, _)| literal(key.as_bytes())).collect();
        let sql = format!(
            "SELECT k,tok FROM `{schema}`.locks WHERE holder={} AND k IN ({})",
            proxy.0,
            keys.join(",")
        );
        let rows = self.query(sql, 1).await?;
        let there: HashSet<(Vec<u8>, u64)> =
            rows[0].iter().map(|r| (column(r, 0), column(r, 1))).collect();
        let gone = |(key, token): &&(Key, u64)| !there.contains(&(key.as_bytes().to_vec(), *token));
        Ok(locks.iter().filter(gone).cloned().collect())
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
                let dumps = if self.lists_all_threads().await? {
                    "performance_schema.threads WHERE processlist_command LIKE 'Binlog Dump%'"
                } else if self.sees_all().await? {
                    "information_schema.processlist WHERE command LIKE 'Binlog Dump%'"
                } else {
                    return Ok(true);
                };
                format!(
                    "SELECT (SELECT COUNT(*) FROM performance_schema.replication_connection_configuration) \
                     + (SELECT COUNT(*) FROM {dumps})"
                )
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
        let grants = self
            .query("SHOW GRANTS".to_owned(), 1)
            .await?
            .into_iter()
            .flatten()
            .map(|r| column::<String>(&r, 0).to_ascii_uppercase())
            .collect::<Vec<_>>();
        let global = |right: &str| {
            grants.iter().any(|g| {
                g.contains(" ON *.* ") && (g.contains(right) || g.contains("ALL PRIVILEGES"))
            })
        };
        let kill = match self.flavour() {
            Flavour::MySql => global("CONNECTION_ADMIN") || global("SUPER"),
            Flavour::MariaDb => global("CONNECTION ADMIN") || global("SUPER"),
        };
        let performance_schema = match self.flavour() {
            Flavour::MySql => self.sees_threads().await?,
            Flavour::MariaDb => true,
        };
        Ok(Rights { process: self.sees_all().await?, kill, performance_schema })
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
