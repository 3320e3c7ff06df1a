//! The lock schema: its tables, installing it, and what the server must be like to hold it.

use std::fmt::Write as _;

use super::connection::{StoreConnection, StoreError};
use super::history::history_table;
use super::identity::ident_expression;
use crate::types::Flavour;

/// Version of the tables; a proxy refuses a newer one, and an older one that it may not upgrade.
pub const VERSION: u32 = 3;

/// The view of the locks that are held.
pub const VIEW: &str = "held_locks";

/// A column that tables of an earlier version do not have: its table, its name, its definition.
const ADDED: [(&str, &str, &str); 5] = [
    (
        "locks",
        "run",
        "BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'server and start: where the grant in proof has the lock of the server, too'",
    ),
    (
        "locks",
        "proof",
        "BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'sess of the last grant by a lock of the server; another than sess: rows alone'",
    ),
    (
        "proxies",
        "mode",
        "TINYINT NOT NULL DEFAULT 0 COMMENT '0 durable: rows alone, 1 coexist: locks of the server, too'",
    ),
    (
        "proxies",
        "tables",
        "INT UNSIGNED NOT NULL DEFAULT 2 COMMENT 'version of the tables that it knows; from 3 on, rows may be older than locks'",
    ),
    (
        "proxies",
        "keeps",
        "INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'milliseconds for which it keeps names without a holder'",
    ),
];

/// Statements that bring tables of an earlier version up to this one. Running proxies go on with them: those
/// of version 1 leave the new columns alone, and `proof` is that of another grant then.
pub fn upgrades(schema: &str) -> Vec<String> {
    let add = |(table, column, definition): &(&str, &str, &str)| {
        format!("ALTER TABLE `{schema}`.{table} ADD COLUMN {column} {definition}")
    };
    let last = format!("UPDATE `{schema}`.meta SET ver={VERSION} WHERE id=1 AND ver<{VERSION}");
    ADDED.iter().map(add).chain([history_table(schema), last]).collect()
}

/// The definitions of such columns, for the text that creates a table.
fn added(to: &str) -> String {
    let mut text = String::new();
    for (_, column, definition) in ADDED.iter().filter(|(table, ..)| *table == to) {
        let _ = write!(text, ",\n  {column} {definition}");
    }
    text
}

/// Text that `schema print` shows and `--create-schema` runs, statement by statement. Existing
/// tables stay.
pub fn statements(schema: &str, flavour: Flavour) -> Vec<String> {
    let ident = ident_expression(flavour);
    // MySQL knows it for views since 9.1. A view must not be replaced: `lockstead grants --viewer`
    // may have changed it for others to read.
    let missing = match flavour {
        Flavour::MySql => "/*!90100 IF NOT EXISTS */",
        Flavour::MariaDb => "IF NOT EXISTS",
    };
    let mut all = vec![format!("CREATE DATABASE IF NOT EXISTS `{schema}`")];
    all.extend(tables(schema));
    all.extend([
        format!(
            "CREATE SQL SECURITY INVOKER VIEW {missing} `{schema}`.held_locks AS {}",
            held_locks(schema)
        ),
        // Last, so that its row says that the schema is whole.
        format!(
            "INSERT IGNORE INTO `{schema}`.meta (id,epoch,base,ident,ttl_ms,ver) \
             SELECT 1, UNIX_TIMESTAMP(), UNIX_TIMESTAMP()<<31, {ident}, 0, {VERSION}"
        ),
    ]);
    all
}

/// The tables.
fn tables(schema: &str) -> Vec<String> {
    vec![
        // One row: which server this schema belongs to, and the epoch that tokens start from.
        format!(
            "CREATE TABLE IF NOT EXISTS `{schema}`.meta (\n  \
             id TINYINT NOT NULL PRIMARY KEY,\n  \
             epoch BIGINT UNSIGNED NOT NULL COMMENT 'reign of one primary',\n  \
             base BIGINT UNSIGNED NOT NULL COMMENT 'floor of new tokens: epoch << 31, raised by garbage collection',\n  \
             ident VARCHAR(96) NOT NULL COMMENT 'identity of the primary',\n  \
             grace_done BIGINT UNSIGNED NOT NULL DEFAULT 0,\n  \
             ttl_ms INT UNSIGNED NOT NULL COMMENT 'longest lease known',\n  \
             ver INT UNSIGNED NOT NULL\n) ENGINE=InnoDB"
        ),
        // One row a proxy incarnation; the lease is kept by changing rvn.
        format!(
            "CREATE TABLE IF NOT EXISTS `{schema}`.proxies (\n  \
             id BIGINT UNSIGNED NOT NULL PRIMARY KEY COMMENT 'incarnation, never reused',\n  \
             state TINYINT NOT NULL COMMENT '1 LIVE, 2 DEAD: grants nothing, 3 CLEAN: its sessions are gone',\n  \
             rvn BIGINT UNSIGNED NOT NULL COMMENT 'random, new with each renewal',\n  \
             epoch BIGINT UNSIGNED NOT NULL,\n  \
             base_seen BIGINT UNSIGNED NOT NULL,\n  \
             ttl_ms INT UNSIGNED NOT NULL COMMENT 'lease of this proxy',\n  \
             addr VARCHAR(255) NOT NULL COMMENT 'where it listens, for display',\n  \
             server_start BIGINT NOT NULL COMMENT 'connection ids are of this run of the server',\n  \
             conns VARCHAR(500) NOT NULL COMMENT 'ids of its own connections',\n  \
             doorbell BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'id of the connection that KILL QUERY wakes'{}\n) ENGINE=InnoDB",
            added("proxies")
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS `{schema}`.adoptions (\n  \
             epoch BIGINT UNSIGNED NOT NULL PRIMARY KEY COMMENT 'the one that was opened',\n  \
             old_epoch BIGINT UNSIGNED NOT NULL,\n  \
             old_ident VARCHAR(96) NOT NULL,\n  \
             ident VARCHAR(96) NOT NULL,\n  \
             who VARCHAR(255) NOT NULL COMMENT 'user and host of `lockstead adopt`',\n  \
             since DATETIME(3) NOT NULL COMMENT 'UTC, for display only'\n) ENGINE=InnoDB"
        ),
        // The key is the primary key, and rows are updated in place. A secondary unique index, or INSERT and DELETE for
        // each lock, would end in gap locks, deadlocks and delete-marked rows.
        format!(
            "CREATE TABLE IF NOT EXISTS `{schema}`.locks (\n  \
             k VARBINARY(255) NOT NULL PRIMARY KEY,\n  \
             tok BIGINT UNSIGNED NOT NULL COMMENT 'fencing token, grows with every grant',\n  \
             holder BIGINT UNSIGNED NOT NULL COMMENT 'proxies.id, 0 free',\n  \
             sess BIGINT UNSIGNED NOT NULL COMMENT 'id of the last grant',\n  \
             conn BIGINT UNSIGNED NOT NULL COMMENT 'CONNECTION_ID() of the last holder',\n  \
             name VARBINARY(255) NOT NULL COMMENT 'as the client wrote it',\n  \
             owner VARBINARY(400) NOT NULL COMMENT 'user@host of the last holder',\n  \
             since DATETIME(3) NOT NULL COMMENT 'UTC, for display only',\n  \
             want BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'proxies.id of the other proxy that waits longest, 0 none',\n  \
             ticket BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'tok since which it waits'{}\n) ENGINE=InnoDB",
            added("locks")
        ),
        // Only of sessions that hold locks, and only of waits that take a while.
        format!(
            "CREATE TABLE IF NOT EXISTS `{schema}`.waits (\n  \
             id BIGINT UNSIGNED NOT NULL PRIMARY KEY,\n  \
             seq BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,\n  \
             proxy BIGINT UNSIGNED NOT NULL,\n  \
             conn BIGINT UNSIGNED NOT NULL COMMENT 'CONNECTION_ID() of the waiting session',\n  \
             weight INT UNSIGNED NOT NULL,\n  \
             k VARBINARY(255) NOT NULL,\n  \
             KEY (seq)\n) ENGINE=InnoDB"
        ),
        // Locks that an administrator wants released, until their proxy has learned of it.
        format!(
            "CREATE TABLE IF NOT EXISTS `{schema}`.releases (\n  \
             k VARBINARY(255) NOT NULL PRIMARY KEY,\n  \
             tok BIGINT UNSIGNED NOT NULL COMMENT 'locks.tok of the grant that is meant',\n  \
             who VARCHAR(255) NOT NULL,\n  \
             since DATETIME(3) NOT NULL COMMENT 'UTC, for display only'\n) ENGINE=InnoDB"
        ),
        history_table(schema),
    ]
}

/// The query of the view `held_locks`.
pub(super) fn held_locks(schema: &str) -> String {
    held_locks_with(schema, "")
}

/// The query of the view `held_locks`, with other columns of the row `l` before its own.
pub(super) fn held_locks_with(schema: &str, columns: &str) -> String {
    // Of bytes that are no text MySQL makes NULL, MariaDB question marks.
    let given = "CASE WHEN CAST(CONVERT(l.name USING utf8mb4) AS BINARY) = l.name \
                 THEN CONVERT(l.name USING utf8mb4) ELSE HEX(l.name) END";
    format!(
        "SELECT {columns}{given} AS name, l.tok AS token, p.addr AS proxy, \
         CASE p.state WHEN 1 THEN 'live' WHEN 2 THEN 'dead' WHEN 3 THEN 'clean' END AS proxy_state, \
         l.conn AS connection_id, CONVERT(l.owner USING utf8mb4) AS owner, l.since AS since_utc \
         FROM `{schema}`.locks l LEFT JOIN `{schema}`.proxies p ON p.id = l.holder \
         WHERE l.holder <> 0 AND l.conn <> 0 AND (p.state IS NULL OR p.state <> 3)"
    )
}

/// What an installation has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Installed {
    /// Nothing: the tables are there.
    Nothing,
    /// The tables were brought up to [`VERSION`].
    Upgraded,
    /// The tables were created.
    Created,
}

impl StoreConnection {
    /// Creates the schema unless it is there and complete; upgrades an older one.
    pub async fn install(&mut self) -> Result<Installed, StoreError> {
        let schema = self.schema();
        let (statements, done) = match self.read_meta().await {
            Ok(meta) if meta.version >= VERSION => return Ok(Installed::Nothing),
            Ok(_) => (upgrades(&schema), Installed::Upgraded),
            Err(_) => (statements(&schema, self.flavour()), Installed::Created),
        };
        for statement in statements {
            match self.execute(statement).await {
                // The view, at an older MySQL, or a column, left by an install that broke off.
                Ok(_) | Err(StoreError::Refused { code: 1050 | 1060, .. }) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(done)
    }

    /// Creates the only table that a schema of this version may lack: no lock depends on it.
    pub async fn complete(&mut self) -> Result<Installed, StoreError> {
        let schema = self.schema();
        let there = format!("SELECT 1 FROM `{schema}`.lock_history LIMIT 0");
        match self.query(there, 1).await {
            Ok(_) => Ok(Installed::Nothing),
            Err(StoreError::Refused { code: 1146, .. }) => {
                self.execute(history_table(&schema)).await.map(|_| Installed::Upgraded)
            }
            Err(e) => Err(e),
        }
    }
}
