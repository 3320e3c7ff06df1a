//! Facts that decide whether locks are safe on a server: variables, engines, clusters, rights.

use std::collections::HashMap;

use super::connection::{StoreConnection, StoreError};
use super::rows::column;
use crate::types::Flavour;

/// Variables that matter; absent where the server does not know them.
const VARIABLES: &str = "'version','log_bin','binlog_format','sync_binlog','read_only',\
    'super_read_only','innodb_flush_log_at_trx_commit','event_scheduler','wsrep_on',\
    'wsrep_provider','group_replication_single_primary_mode'";

/// Name and value of everything that was asked.
pub type Facts = HashMap<String, String>;

/// One line of SHOW GRANTS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantLine {
    /// The rights, in capitals.
    pub rights: Vec<String>,
    /// On what, without quotes: `*.*`, `mysql.proc`.
    pub on: String,
}

impl GrantLine {
    /// `GRANT a, b ON c TO d`; `None` for a role and other lines.
    fn parse(line: &str) -> Option<Self> {
        let (rights, rest) = line.strip_prefix("GRANT ")?.split_once(" ON ")?;
        let (on, _) = rest.split_once(" TO ")?;
        Some(Self {
            rights: rights.split(", ").map(str::to_ascii_uppercase).collect(),
            on: on.replace(['`', '"'], ""),
        })
    }

    /// Whether it gives a right.
    pub fn gives(&self, right: &str) -> bool {
        self.rights.iter().any(|r| r == right || r == "ALL PRIVILEGES")
    }
}

/// Server settings that decide whether the lock tables can work.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// The server writes a binary log.
    pub binlog: bool,
    /// `ROW`, `MIXED` or `STATEMENT`.
    pub binlog_format: String,
    /// The server takes no writes from ordinary accounts.
    pub read_only: bool,
    /// `VERSION()`.
    pub version: String,
    /// Seconds the server waits for a handshake.
    pub connect_timeout: u64,
    /// The server refuses clients without TLS.
    pub tls_only: bool,
}

impl StoreConnection {
    /// Reads these settings.
    pub async fn read_settings(&mut self) -> Result<ServerSettings, StoreError> {
        let (read_only, tls_only) = match self.flavour() {
            Flavour::MySql => (
                "@@global.super_read_only OR @@global.read_only",
                "@@global.require_secure_transport",
            ),
            // Old versions do not know the latter; they are refused for their age.
            Flavour::MariaDb => (
                "@@global.read_only",
                "(SELECT variable_value='ON' FROM information_schema.global_variables \
                  WHERE variable_name='REQUIRE_SECURE_TRANSPORT')",
            ),
        };
        let sql = format!(
            "SELECT @@global.log_bin, @@session.binlog_format, {read_only}, @@version, \
             @@global.connect_timeout, {tls_only}"
        );
        let rows = self.query(sql, 1).await?;
        let row = &rows[0][0];
        Ok(ServerSettings {
            binlog: column::<u8>(row, 0) == 1,
            binlog_format: column(row, 1),
            read_only: column::<u8>(row, 2) == 1,
            version: column(row, 3),
            connect_timeout: column(row, 4),
            tls_only: column::<u8>(row, 5) == 1,
        })
    }

    /// Reads the variables, and `group`: `yes` while the server is a member of a replication group.
    pub async fn facts(&mut self) -> Result<Facts, StoreError> {
        let schema = match self.flavour() {
            Flavour::MySql => "performance_schema",
            Flavour::MariaDb => "information_schema",
        };
        let sql = format!(
            "SELECT LOWER(variable_name),variable_value FROM {schema}.global_variables \
             WHERE variable_name IN ({VARIABLES})"
        );
        let rows = self.query(sql, 1).await?;
        let mut facts: Facts = rows[0].iter().map(|r| (column(r, 0), column(r, 1))).collect();
        if facts.contains_key("group_replication_single_primary_mode") && self.is_grouped().await? {
            facts.insert("group".to_owned(), "yes".to_owned());
        }
        Ok(facts)
    }

    /// True for each server with the plugin, if the members cannot be seen.
    async fn is_grouped(&mut self) -> Result<bool, StoreError> {
        let sql = "SELECT COUNT(*) FROM performance_schema.replication_group_members \
                   WHERE member_state<>'OFFLINE'";
        match self.query(sql.to_owned(), 1).await {
            Err(StoreError::Refused { code: 1142, .. }) => Ok(true),
            rows => Ok(rows?[0].first().is_none_or(|r| column::<u32>(r, 0) > 0)),
        }
    }

    /// The lock tables in another engine than InnoDB, as `table (engine)`.
    pub async fn odd_engines(&mut self) -> Result<Vec<String>, StoreError> {
        let schema = self.schema();
        let sql = format!(
            "SELECT CONCAT(table_name,' (',engine,')') FROM information_schema.tables \
             WHERE table_schema='{schema}' AND table_type='BASE TABLE' AND engine<>'InnoDB' \
             AND table_name IN ('meta','proxies','locks','waits','adoptions') ORDER BY table_name"
        );
        Ok(self.query(sql, 1).await?[0].iter().map(|r| column(r, 0)).collect())
    }

    /// The grants of this account, active roles included.
    pub async fn grants(&mut self) -> Result<Vec<GrantLine>, StoreError> {
        let rows = self.query("SHOW GRANTS".to_owned(), 1).await?;
        Ok(rows[0].iter().filter_map(|r| GrantLine::parse(&column::<String>(r, 0))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_gives_what_it_lists_and_nothing_that_only_sounds_like_it() {
        let line = "GRANT SHOW VIEW, EVENT ON *.* TO `a`@`%` IDENTIFIED BY PASSWORD '*D8'";
        let grant = GrantLine::parse(line).expect("a grant");
        assert_eq!(grant.on, "*.*");
        assert!(grant.gives("EVENT") && grant.gives("SHOW VIEW") && !grant.gives("VIEW"));
        let all = GrantLine::parse("GRANT ALL PRIVILEGES ON `mysql`.`proc` TO `a`@`%`");
        assert!(all.is_some_and(|g| g.on == "mysql.proc" && g.gives("SELECT")));
        assert_eq!(GrantLine::parse("GRANT `role`@`%` TO `a`@`%`"), None);
    }
}
