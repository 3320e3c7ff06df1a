//! The accounts that an administrator makes: their privileges, why each is needed, and the SQL that gives them.

use std::fmt;

use super::connection::{StoreConnection, StoreError};
use super::quoting::{quoted_name, quoted_text};
use super::schema::held_locks;
use crate::types::Flavour;

/// The object of a privilege.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum On {
    /// The lock tables.
    Schema,
    /// The whole server.
    Server,
    /// A table of the server's own, with its schema.
    Table(&'static str),
}

/// A privilege of the store account, or some that are given together.
#[derive(Debug, PartialEq, Eq)]
pub struct Privilege {
    /// The rights as GRANT has them.
    rights: &'static str,
    on: On,
    /// Why they are needed.
    purpose: &'static str,
    /// What breaks without them.
    without: &'static str,
}

impl Privilege {
    /// Advice to an operator whose account lacks it.
    pub fn advice(&self) -> String {
        let Self { rights, without, .. } = self;
        match self.on {
            On::Table(table) => format!(
                "the store account lacks {rights} on {table}: {without}. See `lockstead grants`"
            ),
            On::Schema | On::Server => {
                format!("the store account lacks {rights}: {without}. See `lockstead grants`")
            }
        }
    }
}

const TABLES: Privilege = Privilege {
    rights: "SELECT, INSERT, UPDATE, DELETE",
    on: On::Schema,
    purpose: "keep the rows of locks, waits and proxies, and delete those that are not needed",
    without: "it cannot keep locks",
};
const CREATE: Privilege = Privilege {
    rights: "CREATE, CREATE VIEW, ALTER",
    on: On::Schema,
    purpose: "create and upgrade the tables with --create-schema or `lockstead schema install`",
    without: "an administrator must run the output of `lockstead schema print`",
};
const PROCESS: Privilege = Privilege {
    rights: "PROCESS",
    on: On::Server,
    purpose: "see whether the server still works for a session that has ended",
    without: "it cannot see when a broken connection's or a dead proxy's sessions are gone, so their locks stay held until an operator acts",
};

const fn kill(rights: &'static str) -> Privilege {
    Privilege {
        rights,
        on: On::Server,
        purpose: "end the sessions of a dead proxy",
        without: "a dead proxy's sessions are not killed, so its locks pass on only when the server ends them itself",
    }
}

const fn read(table: &'static str, purpose: &'static str, without: &'static str) -> Privilege {
    Privilege { rights: "SELECT", on: On::Table(table), purpose, without }
}

const MARIADB: [Privilege; 3] = [TABLES, PROCESS, kill("CONNECTION ADMIN")];

const MYSQL: [Privilege; 10] = [
    TABLES,
    PROCESS,
    kill("CONNECTION_ADMIN"),
    read(
        "performance_schema.threads",
        "see a killed session to the end of its rollback, and replicas",
        "it looks up sessions one by one, a start waits one lease, and `lockstead adopt` does not work",
    ),
    read(
        "performance_schema.session_connect_attrs",
        "find the sessions of a dead proxy by their connection attribute",
        "a dead proxy's sessions without locks are not ended",
    ),
    read(
        "performance_schema.metadata_locks",
        "see which of the server's own locks a session holds, and which are taken at the server itself",
        "in mode coexist, locks whose names are not in a statement's text have no rows; in mode durable, second holders are not seen",
    ),
    read(
        "performance_schema.replication_connection_configuration",
        "see that there is no replication, so that a start need not wait one lease",
        "a start waits one lease",
    ),
    read(
        "performance_schema.replication_connection_status",
        "show `lockstead adopt` whether the server still replicates, and which one is a replica",
        "`lockstead adopt` does not work, and a read-only server is taken for a replica",
    ),
    read(
        "performance_schema.replication_applier_status",
        "show `lockstead adopt` whether changes of another server are still applied, and which one is a replica",
        "`lockstead adopt` does not work, and a read-only server is taken for a replica",
    ),
    read(
        "performance_schema.replication_group_members",
        "show `lockstead doctor` whether the server is in a group",
        "`lockstead doctor` assumes that a server with the plugin is in a group",
    ),
];

const TRIGGERS: Privilege = Privilege {
    rights: "TRIGGER",
    on: On::Server,
    purpose: "see what triggers do to a session, with `pooling = \"transaction\"`",
    without: "triggers may change user variables and make temporary tables unnoticed, which sessions then lose",
};
const ROUTINES: Privilege = Privilege {
    rights: "SHOW_ROUTINE",
    on: On::Server,
    purpose: "see what stored functions and procedures do to a session, with `pooling = \"transaction\"`",
    without: UNSEEN_ROUTINES,
};
const UNSEEN_ROUTINES: &str = "stored functions may change user variables and make temporary tables unnoticed, which sessions then lose";
/// Only printed: with it the account may read all data.
const VIEWS: Privilege = Privilege {
    rights: "SELECT, SHOW VIEW",
    on: On::Server,
    purpose: "see which stored functions views call, with `pooling = \"transaction\"`. This lets the account read all data: \
              grant it where many sessions use views, if at all",
    without: "sessions that use a view keep their connection to the server",
};

const VARIABLES: Privilege = read(
    "performance_schema.user_variables_by_thread",
    "see which user variables a stored program has set, with `pooling = \"transaction\"`",
    KEPT,
);
const STATEMENTS: Privilege = read(
    "performance_schema.prepared_statements_instances",
    "see whether a stored program has left a prepared statement, with `pooling = \"transaction\"`",
    KEPT,
);
const KEPT: &str =
    "sessions that have run a CALL or another stateful program keep their connection to the server";

/// What MySQL needs beyond that if sessions share their connections.
const SHARED_MYSQL: [Privilege; 4] = [ROUTINES, TRIGGERS, VARIABLES, STATEMENTS];

/// What MariaDB needs beyond that if sessions share their connections.
const SHARED_MARIADB: [Privilege; 7] = [
    read(
        "performance_schema.session_connect_attrs",
        "find the connections of a dead proxy, with `pooling = \"transaction\"`",
        "the start is refused with this setting",
    ),
    read(
        "mysql.global_priv",
        "open connections for accounts with mysql_native_password, with `pooling = \"transaction\"`",
        "sessions of these accounts keep their connection to the server",
    ),
    read(
        "mysql.proc",
        "see what stored functions and procedures do to a session, with `pooling = \"transaction\"`",
        UNSEEN_ROUTINES,
    ),
    TRIGGERS,
    read(
        "performance_schema.threads",
        "find a session in the tables of performance_schema, with `pooling = \"transaction\"`",
        KEPT,
    ),
    VARIABLES,
    STATEMENTS,
];

/// `shares`: sessions share their connections.
fn needs(flavour: Flavour, shares: bool) -> impl Iterator<Item = &'static Privilege> {
    let (always, more): (&[Privilege], &[Privilege]) = match flavour {
        Flavour::MySql => (&MYSQL, &SHARED_MYSQL),
        Flavour::MariaDb => (&MARIADB, &SHARED_MARIADB),
    };
    always.iter().chain(more.iter().filter(move |_| shares))
}

impl StoreConnection {
    /// The rights outside of the lock tables that this account does not have, by trying. `shares`: sessions share
    /// their connections.
    pub async fn missing_rights(
        &mut self,
        shares: bool,
    ) -> Result<Vec<&'static Privilege>, StoreError> {
        let has = self.rights().await?;
        let mut missing = Vec::new();
        for need in needs(self.flavour(), shares) {
            let there = match need.on {
                On::Schema => true,
                On::Server if need.rights == PROCESS.rights => has.process,
                On::Server if need.rights == ROUTINES.rights => has.routines,
                On::Server if need.rights == TRIGGERS.rights => has.triggers,
                On::Server => has.kill,
                On::Table(table) => self.may_read(table).await?,
            };
            if !there {
                missing.push(need);
            }
        }
        Ok(missing)
    }

    async fn may_read(&mut self, table: &str) -> Result<bool, StoreError> {
        let sql = format!("SELECT 1 FROM {table} LIMIT 0");
        match self.query(sql, 1).await {
            Ok(_) => Ok(true),
            Err(StoreError::Refused { code: 1142, .. }) => Ok(false),
            Err(e) => Err(e),
        }
    }
}

/// An account as the servers know it: `user@host`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    user: String,
    host: String,
}

impl Account {
    /// One of this user, for connections from `host`.
    pub fn new(user: &str, host: &str) -> Result<Self, String> {
        let plain = |text: &str| !text.is_empty() && !text.chars().any(char::is_control);
        if plain(user) && plain(host) {
            Ok(Self { user: user.to_owned(), host: host.to_owned() })
        } else {
            Err(format!("{user:?}@{host:?} is no account; give for example lockstead@10.0.0.%"))
        }
    }

    /// From `user@host`; the host may have no `@`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parts = text.rsplit_once('@');
        let (user, host) = parts
            .ok_or_else(|| format!("{text:?} has no host; give for example {text}@10.0.0.%"))?;
        Self::new(user, host)
    }
}

/// As SQL has it.
impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", quoted_name(&self.user), quoted_name(&self.host))
    }
}

/// Stands for a password that is not given. The word is no valid SQL, so nothing is run before it is replaced.
pub const PLACEHOLDER: &str = "PASSWORD_GOES_HERE";

/// A new account's password as a literal, under [`PREAMBLE`].
pub fn password(text: Option<&str>) -> Result<String, String> {
    match text {
        None => Ok(PLACEHOLDER.to_owned()),
        Some("") => Err("is empty".to_owned()),
        Some(text) if text.chars().any(char::is_control) => {
            Err("has control characters, or several lines".to_owned())
        }
        Some(text) => Ok(quoted_text(text)),
    }
}

/// Settles the meaning of quotes and bytes below it, in any session.
const PREAMBLE: &str = "SET NAMES utf8mb4;\nSET SESSION sql_mode = '';\n";

fn create(account: &Account, password: &str) -> String {
    format!("CREATE USER IF NOT EXISTS {account} IDENTIFIED BY {password};\n")
}

/// The store account that is to be made.
#[derive(Debug, Clone, Copy)]
pub struct NewStoreAccount<'a> {
    /// The schema of the lock tables.
    pub schema: &'a str,
    /// Name of the account.
    pub account: &'a Account,
    /// The password, as [`password`] makes it.
    pub password: &'a str,
    /// The account may create the lock tables.
    pub creates: bool,
    /// Sessions share their connections to the server.
    pub shares: bool,
}

/// SQL that makes the store account.
pub fn store_account(flavour: Flavour, new: NewStoreAccount<'_>) -> String {
    let NewStoreAccount { schema, account, password, creates, shares } = new;
    let mut sql = format!("{PREAMBLE}\n{}", create(account, password));
    for need in needs(flavour, shares) {
        sql.push_str(&give(need, schema, account, ""));
    }
    if shares {
        sql.push_str(&give(&VIEWS, schema, account, "-- "));
    }
    sql.push_str(&give(&CREATE, schema, account, if creates { "" } else { "-- " }));
    sql.push_str(&fencing_of_applications(schema));
    sql
}

/// A GRANT with its comment; `mark` comes before it.
fn give(need: &Privilege, schema: &str, account: &Account, mark: &str) -> String {
    let Privilege { rights, purpose, without, .. } = need;
    let on = match need.on {
        On::Server => "*.*".to_owned(),
        // A schema's name is a pattern in GRANT.
        On::Schema => format!("{}.*", quoted_name(&schema.replace('_', "\\_"))),
        On::Table(table) => table.to_owned(),
    };
    format!(
        "\n-- To {purpose}.\n-- Without it: {without}.\n{mark}GRANT {rights} ON {on} TO {account};\n"
    )
}

/// What to run for each account of an application, as comments.
fn fencing_of_applications(schema: &str) -> String {
    format!(
        "\n-- For the account of each application that takes locks, with mode = \"durable\": to ask, before a COMMIT,\n\
         -- whether the session's locks are still its own. The tables must exist.\n\
         -- Without it: its COMMITs are not fenced, though fenced_commit is on by default.\n\
         -- GRANT SELECT (k,tok,holder) ON `{schema}`.locks TO 'application'@'host';\n"
    )
}

/// SQL that lets the commits of an account be fenced.
pub fn fencing(schema: &str, account: &Account) -> String {
    format!(
        "-- To ask, before a COMMIT, whether the session's locks are still its own. The tables must exist.\n\
         GRANT SELECT (k,tok,holder) ON `{schema}`.locks TO {account};\n"
    )
}

/// SQL that makes an account which may read the held locks, and nothing else.
pub fn viewer_account(schema: &str, viewer: &Account, store: &Account, password: &str) -> String {
    let select = held_locks(schema);
    format!(
        "{PREAMBLE}\n{}\n\
         -- The view reads the tables with the privileges of the store account, so its readers need none\n\
         -- on them. Store account and tables must exist.\n\
         ALTER DEFINER={store} SQL SECURITY DEFINER VIEW `{schema}`.held_locks AS {select};\n\n\
         -- To see the holders of locks.\n\
         GRANT SELECT ON `{schema}`.held_locks TO {viewer};\n",
        create(viewer, password)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_passwords_cannot_leave_their_quotes() {
        let account = Account::parse("a`b@c'@10.%").expect("an account");
        assert_eq!(account.to_string(), "`a``b@c'`@`10.%`");
        assert_eq!(password(Some("a'b\\c")).as_deref(), Ok("'a''b\\\\c'"));
        assert!(password(Some("a\nb")).is_err() && password(Some("")).is_err());
        for wrong in ["nobody", "@host", "user@", "us\ner@host"] {
            assert!(Account::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    fn new(account: &Account) -> NewStoreAccount<'_> {
        NewStoreAccount { schema: "a_b", account, password: "'x'", creates: true, shares: false }
    }

    #[test]
    fn a_schema_with_an_underscore_is_no_pattern() {
        let account = Account::parse("a@b").expect("an account");
        let sql = store_account(Flavour::MariaDb, new(&account));
        assert!(
            sql.contains("\nGRANT CREATE, CREATE VIEW, ALTER ON `a\\_b`.* TO `a`@`b`;"),
            "{sql}"
        );
    }

    #[test]
    fn shared_connections_need_more_rights() {
        let account = Account::parse("a@b").expect("an account");
        let grants = |flavour, shares| {
            let sql = store_account(flavour, NewStoreAccount { shares, ..new(&account) });
            let grants = sql.lines().filter(|line| line.starts_with("GRANT"));
            grants.map(str::to_owned).collect::<Vec<_>>()
        };
        let (apart, shared) = (grants(Flavour::MariaDb, false), grants(Flavour::MariaDb, true));
        let more: Vec<_> = shared.iter().filter(|grant| !apart.contains(grant)).collect();
        assert_eq!(
            more,
            [
                "GRANT SELECT ON performance_schema.session_connect_attrs TO `a`@`b`;",
                "GRANT SELECT ON mysql.global_priv TO `a`@`b`;",
                "GRANT SELECT ON mysql.proc TO `a`@`b`;",
                "GRANT TRIGGER ON *.* TO `a`@`b`;",
                "GRANT SELECT ON performance_schema.threads TO `a`@`b`;",
                "GRANT SELECT ON performance_schema.user_variables_by_thread TO `a`@`b`;",
                "GRANT SELECT ON performance_schema.prepared_statements_instances TO `a`@`b`;",
            ]
        );
        let (apart, shared) = (grants(Flavour::MySql, false), grants(Flavour::MySql, true));
        assert!(apart.contains(more[0]) && shared.contains(more[0]));
        let more: Vec<_> = shared.iter().filter(|grant| !apart.contains(grant)).collect();
        let expected = [
            "GRANT SHOW_ROUTINE ON *.* TO `a`@`b`;",
            "GRANT TRIGGER ON *.* TO `a`@`b`;",
            "GRANT SELECT ON performance_schema.user_variables_by_thread TO `a`@`b`;",
            "GRANT SELECT ON performance_schema.prepared_statements_instances TO `a`@`b`;",
        ];
        assert_eq!(more, expected);
        let sql = store_account(Flavour::MySql, NewStoreAccount { shares: true, ..new(&account) });
        assert!(sql.contains("\n-- GRANT SELECT, SHOW VIEW ON *.* TO `a`@`b`;"), "{sql}");
    }
}
