//! What of a server decides whether locks are safe there: variables, engines, clusters, rights.

use std::collections::HashMap;

use super::connection::{StoreConnection, StoreError, column};
use crate::types::Flavour;

/// Variables that matter; absent where the server does not know them.
const VARIABLES: &str = "'version','log_bin','binlog_format','sync_binlog','read_only',\
    'super_read_only','innodb_flush_log_at_trx_commit','event_scheduler','wsrep_on',\
    'wsrep_provider','group_replication_single_primary_mode'";

/// Name and value of everything that was asked.
pub type Facts = HashMap<String, String>;

/// One line of SHOW GRANTS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The rights, in capitals.
    pub rights: Vec<String>,
    /// On what, without quotes: `*.*`, `mysql.proc`.
    pub on: String,
}

impl Grant {
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

impl StoreConnection {
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

    /// Said of all that have the plugin, where that cannot be seen.
    async fn is_grouped(&mut self) -> Result<bool, StoreError> {
        let sql = "SELECT COUNT(*) FROM performance_schema.replication_group_members \
                   WHERE member_state<>'OFFLINE'";
        match self.query(sql.to_owned(), 1).await {
            Err(StoreError::Refused { code: 1142, .. }) => Ok(true),
            rows => Ok(rows?[0].first().is_none_or(|r| column::<u32>(r, 0) > 0)),
        }
    }

    /// The lock tables in another engine than InnoDB, as `table (engine)`.
    pub async fn odd_engines(&mut self, schema: &str) -> Result<Vec<String>, StoreError> {
        let sql = format!(
            "SELECT CONCAT(table_name,' (',engine,')') FROM information_schema.tables \
             WHERE table_schema='{schema}' AND table_type='BASE TABLE' AND engine<>'InnoDB' \
             AND table_name IN ('meta','proxies','locks','waits','adoptions') ORDER BY table_name"
        );
        Ok(self.query(sql, 1).await?[0].iter().map(|r| column(r, 0)).collect())
    }

    /// What this account was granted, active roles included.
    pub async fn grants(&mut self) -> Result<Vec<Grant>, StoreError> {
        let rows = self.query("SHOW GRANTS".to_owned(), 1).await?;
        Ok(rows[0].iter().filter_map(|r| Grant::parse(&column::<String>(r, 0))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_gives_what_it_lists_and_nothing_that_only_sounds_like_it() {
        let line = "GRANT SHOW VIEW, EVENT ON *.* TO `a`@`%` IDENTIFIED BY PASSWORD '*D8'";
        let grant = Grant::parse(line).expect("a grant");
        assert_eq!(grant.on, "*.*");
        assert!(grant.gives("EVENT") && grant.gives("SHOW VIEW") && !grant.gives("VIEW"));
        let all = Grant::parse("GRANT ALL PRIVILEGES ON `mysql`.`proc` TO `a`@`%`");
        assert!(all.is_some_and(|g| g.on == "mysql.proc" && g.gives("SELECT")));
        assert_eq!(Grant::parse("GRANT `role`@`%` TO `a`@`%`"), None);
    }
}
