//! The store account's rights, found out by trying.

use super::connection::{StoreConnection, StoreError};
use super::rows::column;
use crate::types::Flavour;

/// The store account's rights beyond the lock tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    /// May see the sessions of other accounts (PROCESS).
    pub process: bool,
    /// May end sessions of other accounts (CONNECTION_ADMIN / CONNECTION ADMIN).
    pub kill: bool,
    /// MySQL: may read performance_schema, and it is on.
    pub performance_schema: bool,
    /// See the texts of stored functions and procedures; not told for MariaDB.
    pub routines: bool,
    /// See triggers.
    pub triggers: bool,
}

impl StoreConnection {
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
        Ok(Rights {
            process: self.sees_all().await?,
            kill,
            performance_schema,
            routines: global("SHOW_ROUTINE") || global("SELECT"),
            triggers: global("TRIGGER"),
        })
    }

    /// Tries the rights on the tables that every batch needs; changes nothing.
    pub async fn check_tables(&mut self) -> Result<(), StoreError> {
        let schema = self.schema();
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

    /// MySQL: whether performance_schema.threads may be read, and is on.
    pub(super) async fn sees_threads(&mut self) -> Result<bool, StoreError> {
        let own = self.id();
        let sql = format!("SELECT 1 FROM performance_schema.threads WHERE processlist_id={own}");
        match self.query(sql, 1).await {
            Err(StoreError::Refused { code: 1142, .. }) => Ok(false),
            rows => Ok(!rows?[0].is_empty()),
        }
    }

    /// Whether this connection sees the sessions of others, by a statement that needs the same right. SHOW GRANTS would
    /// show a right that was given after the login, which counts for the next login only.
    pub(super) async fn sees_all(&mut self) -> Result<bool, StoreError> {
        if let Some(known) = self.sees_all {
            return Ok(known);
        }
        let sql = "SELECT COUNT(*) FROM information_schema.innodb_metrics WHERE name=''";
        let sees = match self.query(sql.to_owned(), 1).await {
            Ok(_) => true,
            Err(StoreError::Refused { code: 1227, .. }) => false,
            Err(e) => return Err(e),
        };
        self.sees_all = Some(sees);
        Ok(sees)
    }
}
