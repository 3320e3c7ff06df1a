//! Whether a store can hold locks.

use std::time::Duration;

use super::same_server::{self, Compared};
use super::start_error::StartError;
use crate::config::tls::BackendMode;
use crate::config::{Config, OnFailover, ServerAddress};
use crate::engine::shared::reign::FailoverMode;
use crate::frontend::login::lent;
use crate::servers::guarantee::Guarantee;
use crate::store::accounts::Privilege;
use crate::store::connection::{StoreConnection, StoreError};
use crate::store::facts::ServerSettings;
use crate::store::identity::Foreign;
use crate::store::meta::Meta;
use crate::store::rights::Rights;
use crate::store::schema::{Installed, VERSION, upgrades};
use crate::store::sessions::ConnectionIds;
use crate::store::writability::{ANSWER, Membership};
use crate::types::{BackendId, Flavour, version_number};

/// Facts about the store that the start needs.
#[derive(Debug)]
pub struct Readiness {
    /// What was done to the schema just now.
    pub installed: Installed,
    /// Seconds the server waits for a handshake.
    pub connect_timeout: Duration,
    /// The account's rights.
    pub rights: Rights,
    /// Server connections can be found by what their proxy has tagged them with.
    pub finds_tagged: bool,
    /// `VERSION()`.
    pub version: String,
    /// Whose the lock tables are.
    pub meta: Meta,
    /// Why `backend` cannot be reached. Not tried if it is the store itself.
    pub unreachable: Option<String>,
    /// Why it is not known whether `backend` and `store` lead to one server.
    pub unchecked: Option<String>,
    /// What is known of the ids of connections to `backend`.
    pub ids: ConnectionIds,
    /// Why no client can log in, by the server's settings.
    pub closed: Option<String>,
    /// Which others have what the server acknowledges.
    others: Copies,
    /// What works less well than it could, and how to fix it.
    pub warnings: Vec<String>,
}

const FOREIGN: &str =
    "Lockstead finds a session's connection at the server by the id that it is told at the login";
const UNTOLD: &str = "`backend` is a proxy that lends the server's connections to sessions in turn: IS_USED_LOCK() tells \
                      ids that Lockstead makes, CONNECTION_ID() the server's";

impl Readiness {
    /// Why sessions cannot be served where `backend` is a proxy whose connections are not the sessions' own.
    pub fn unfit_lender(&self, config: &Config) -> Option<&'static str> {
        match self.ids {
            ConnectionIds::Server => None,
            ConnectionIds::Foreign => Some(FOREIGN),
            ConnectionIds::Untold => {
                lent::unfit(config.mode, config.pooling.of_cluster, self.finds_tagged)
            }
        }
    }

    /// What a failover from this server can lose, with all servers listed in `config`.
    pub fn failover(&self, config: &Config, server: &ServerAddress) -> FailoverMode {
        let copied =
            Guarantee::by_copies(self.others.semi_sync, config.servers.len()).is_lossless();
        if self.others.in_cluster || copied {
            FailoverMode::Lossless
        } else if config.failover_candidates.iter().all(|candidate| candidate == server) {
            FailoverMode::Grace
        } else {
            FailoverMode::Witness
        }
    }

    /// Why locks will not follow to another member of the server's cluster.
    pub fn unlisted(&self, config: &Config) -> Option<&'static str> {
        (self.others.in_cluster && config.servers.len() == 1).then_some(
            "the server is a member of a cluster, and `backend` has no other member: locks will not follow to another \
             one. List all members",
        )
    }

    /// Why sessions cannot share their connections.
    pub fn cannot_share(&self) -> Option<&'static str> {
        (!self.finds_tagged).then_some(
            "after a proxy's death the others must find its connections, by performance_schema: switch that on at the \
             server, and GRANT SELECT ON performance_schema.session_connect_attrs to the store account",
        )
    }
}

const HOW_TO_INSTALL: &str = "Start with --create-schema, run `lockstead schema install`, or hand the output of `lockstead schema print` to a DBA";

const NO_HISTORY: &str =
    "the table lock_history, which only history_rows needs, could not be added to the lock schema";

const NOT_THE_SERVER: &str = "it is a proxy that lends the server's connections in turn, or has connection ids of its \
                              own: let `store` name the server itself";

const NO_TLS: &str =
    "the server requires TLS (require_secure_transport=ON), and backend_tls = \"off\" uses none";

/// Connects to the store, at the only server of `config`, and checks whether it can hold locks; creates the schema if configured.
pub async fn inspect(config: &Config) -> Result<Readiness, StartError> {
    let store = config.store()?;
    let refuse = |problem: String| StartError::Store { url: format!("{store:?}"), problem };
    let mut conn = StoreConnection::open(store, config.connect_timeout)
        .await
        .map_err(|e| refuse(connect_advice(&e)))?;
    let fail = |e: StoreError| refuse(e.to_string());
    let settings = conn.read_settings().await.map_err(fail)?;
    let ids = conn.ids().await.map_err(fail)?;
    if let Some(problem) = unfit(&settings, ids, conn.flavour()) {
        return Err(refuse(problem));
    }
    let mut warnings = Vec::new();
    let locked = |e: &StoreError| {
        e.is_retryable()
            .then(|| StartError::Locked { url: format!("{store:?}"), problem: e.to_string() })
    };
    let mut installed = if config.create_schema {
        conn.install().await.map_err(|e| {
            if let Some(locked) = locked(&e) {
                return locked;
            }
            refuse(format!("cannot create or upgrade the lock schema: {e}. Hand the output of `lockstead schema print` to a DBA, or grant CREATE, CREATE VIEW and ALTER on `{}`.*", store.schema))
        })?
    } else {
        Installed::Nothing
    };
    if config.create_schema && installed == Installed::Nothing {
        installed = complete(&mut conn, &mut warnings).await;
    }
    let meta = conn.read_meta().await.map_err(|e| match e {
        StoreError::Refused { code: 1049 | 1146, message } => StartError::NoSchema {
            url: format!("{store:?}"),
            problem: format!(
                "the lock schema `{}` is not installed: {message}. {HOW_TO_INSTALL}",
                store.schema
            ),
        },
        // Without rights, the server does not say which of both it is.
        StoreError::Refused { code: 1142 | 1044, message } => refuse(format!(
            "{message}. GRANT SELECT, INSERT, UPDATE, DELETE ON `{}`.* (`lockstead grants`). If the tables are missing: {HOW_TO_INSTALL}",
            store.schema
        )),
        e => locked(&e).unwrap_or_else(|| fail(e)),
    })?;
    if let Some(problem) = other_version(meta.version, &store.schema) {
        return Err(refuse(problem));
    }
    if let Err(foreign) = meta.check(0) {
        let found = judge_foreign(&mut conn, foreign, config.on_failover).await;
        warnings.push(found.map_err(fail)?);
    }
    let tables = conn.check_tables().await;
    tables.map_err(|e| locked(&e).unwrap_or_else(|| refuse(tables_advice(&e, &store.schema))))?;
    let rights = conn.rights().await.map_err(fail)?;
    let finds_tagged = conn.finds_tagged().await.map_err(fail)?;
    warnings.extend(unseen(&mut conn, config.pooling.of_cluster, rights).await.map_err(fail)?);
    let (ids, unchecked, unreachable) = match same_server::compare(config, store, &mut conn).await {
        Compared::Same(ids) => (ids, None, None),
        Compared::Other(problem) => return Err(refuse(problem)),
        Compared::Unknown { why, unreachable } => (ConnectionIds::Server, Some(why), unreachable),
    };
    warnings.extend(said_of(ids));
    let connect_timeout = Duration::from_secs(settings.connect_timeout.max(2));
    let others = copies(&mut conn).await.map_err(refuse)?;
    conn.close().await;
    Ok(Readiness {
        installed,
        connect_timeout,
        rights,
        finds_tagged,
        version: settings.version,
        meta,
        others,
        unreachable,
        unchecked,
        ids,
        closed: closed(settings.tls_only, config),
        warnings,
    })
}

/// Adds what no lock depends on; a warning if that is refused.
async fn complete(conn: &mut StoreConnection, warnings: &mut Vec<String>) -> Installed {
    conn.complete().await.unwrap_or_else(|e| {
        warnings.push(format!("{NO_HISTORY}: {e}"));
        Installed::Nothing
    })
}

/// Why no client can log in, or does not.
fn closed(tls_only: bool, config: &Config) -> Option<String> {
    (tls_only && config.backend_tls.mode == BackendMode::Off).then(|| NO_TLS.to_owned())
}

/// Which others have what a server acknowledges.
#[derive(Debug, Default)]
struct Copies {
    /// All servers of its cluster have it.
    in_cluster: bool,
    /// Number of other servers that have it, by semi-synchronous replication.
    semi_sync: usize,
}

/// An error, if the server's cluster cannot keep locks.
async fn copies(conn: &mut StoreConnection) -> Result<Copies, String> {
    // An account that may not see it has been told what it lacks.
    let Ok(seen) = conn.writability(ANSWER).await else { return Ok(Copies::default()) };
    if seen.membership == Membership::Alone {
        return Ok(Copies { in_cluster: false, semi_sync: seen.copies });
    }
    if let Some(why) = seen.refusal() {
        return Err(format!("the server {why}"));
    }
    let odd = conn.odd_engines().await.map_err(|e| e.to_string())?;
    if !odd.is_empty() {
        return Err(format!(
            "the cluster does not keep these tables alike on all members: {}. ALTER TABLE ... ENGINE=InnoDB",
            odd.join(", ")
        ));
    }
    Ok(Copies { in_cluster: true, semi_sync: seen.copies })
}

/// The tables belong to another server. A warning if this one may be taken for the primary.
async fn judge_foreign(
    conn: &mut StoreConnection,
    foreign: Foreign,
    decision: OnFailover,
) -> Result<String, StoreError> {
    if decision == OnFailover::Adopt {
        return Err(foreign.into());
    }
    match conn.unfit().await? {
        Some(why) => Err(Foreign::Unfit { foreign: Box::new(foreign), why }.into()),
        None => Ok(format!(
            "{}. It seems to be the primary: a new epoch begins there, and nothing is granted for the longest lease",
            foreign.fact()
        )),
    }
}

fn said_of(ids: ConnectionIds) -> Option<String> {
    (ids == ConnectionIds::Untold).then(|| UNTOLD.to_owned())
}

/// What to do about tables of another version.
fn other_version(version: u32, schema: &str) -> Option<String> {
    if version > VERSION {
        return Some(format!(
            "the lock schema has version {version}, this build knows {VERSION}; upgrade"
        ));
    }
    (version < VERSION).then(|| format!(
        "the lock schema has version {version}, this build needs {VERSION}. Run `lockstead schema install`, or start with --create-schema: both need CREATE and ALTER on `{schema}`.*, and running proxies go on. Or let a DBA run: {};",
        upgrades(schema).join("; ")
    ))
}

/// Why locks cannot be kept at a server with these settings.
fn unfit(settings: &ServerSettings, ids: ConnectionIds, flavour: Flavour) -> Option<String> {
    if ids != ConnectionIds::Server {
        return Some(NOT_THE_SERVER.to_owned());
    }
    let (oldest, name) = flavour.oldest();
    if version_number(&settings.version) < oldest {
        let version = &settings.version;
        return Some(format!("the server is {version}; locks need {name} or later"));
    }
    if settings.binlog && settings.binlog_format.eq_ignore_ascii_case("STATEMENT") {
        return Some(
            "binlog_format is STATEMENT, under which lock batches fail with error 1665; set it to ROW".to_owned(),
        );
    }
    settings
        .read_only
        .then(|| "the server is read-only; the lock tables must be on the primary".to_owned())
}

fn tables_advice(e: &StoreError, schema: &str) -> String {
    match e {
        // A new table beside the others would know neither the locks that are held nor the tokens
        // that were given.
        StoreError::Refused { code: 1146, message } => format!(
            "the lock schema `{schema}` is not whole: {message}. Stop all proxies, DROP DATABASE `{schema}`, and install it again, which frees all locks. {HOW_TO_INSTALL}"
        ),
        e => format!(
            "a privilege on the tables is missing: {e}. GRANT SELECT, INSERT, UPDATE, DELETE ON `{schema}`.*"
        ),
    }
}

fn connect_advice(e: &StoreError) -> String {
    match e {
        StoreError::Refused { code: 1045, message } => {
            format!("{message}. Check user and password in `store`")
        }
        StoreError::Method(_) => format!("{e}. Check the user in `store`"),
        StoreError::Packet(_) => e.to_string(),
        e => format!("{e}. Is the server up, and are host and port in `store` right?"),
    }
}

/// The server's setting, not a right.
fn blindness(rights: Rights, missing: &[&Privilege]) -> Option<String> {
    (missing.is_empty() && !rights.performance_schema).then(|| {
        "performance_schema is off: sessions that hold no lock are not ended when their proxy dies"
            .to_owned()
    })
}

/// Warnings of what the account may not see. `shares`: sessions share their connections.
async fn unseen(
    conn: &mut StoreConnection,
    shares: bool,
    rights: Rights,
) -> Result<Vec<String>, StoreError> {
    let missing = conn.missing_rights(shares).await?;
    let mut warnings: Vec<_> = missing.iter().map(|need| need.advice()).collect();
    warnings.extend(blindness(rights, &missing));
    if shares && missing.is_empty() {
        warnings.extend(unlisted(conn).await?);
    }
    Ok(warnings)
}

/// A warning, if the server does not list what sessions have.
async fn unlisted(conn: &mut StoreConnection) -> Result<Option<String>, StoreError> {
    let own = BackendId(conn.id().into());
    if conn.session_lists(own).await?.is_some() {
        return Ok(None);
    }
    let what = match conn.flavour() {
        Flavour::MySql => {
            "performance_schema does not list all threads, metadata locks or prepared statements"
        }
        Flavour::MariaDb => {
            "performance_schema does not list all threads or prepared statements, or the plugin for metadata locks is \
             not there: INSTALL SONAME 'metadata_lock_info'"
        }
    };
    Ok(Some(format!(
        "sessions that have run a CALL or another stateful program keep their connection: {what}"
    )))
}
