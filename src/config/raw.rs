//! The configuration as written: in a file, in flags, in the environment.

use std::convert::Infallible;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};
use toml::Table;
use zeroize::Zeroizing;

use super::error::ConfigError;
use super::retired;

/// Every key, as text or number; absent keys take their default in [`super::Config`].
///
/// Flags override environment variables, which override the file.
#[derive(Debug, Clone, Default, Deserialize, Serialize, clap::Args)]
#[serde(default, deny_unknown_fields)]
pub struct Raw {
    /// Addresses that clients connect to, with commas: ADDR:PORT or unix:PATH [default: 127.0.0.1:6033]
    #[arg(long, value_name = "ADDRESS", env = "LOCKSTEAD_LISTEN")]
    pub listen: Option<OneOrMore>,
    /// Networks whose connections must begin with a PROXY header, with commas: 10.0.0.0/8 [default: none]
    #[arg(long, value_name = "NETWORK", env = "LOCKSTEAD_PROXY_PROTOCOL")]
    pub proxy_protocol: Option<OneOrMore>,
    /// Of several servers in `backend`, lead clients to the one that takes writes ("writer"), or to the others
    /// ("replica") [default: writer]
    #[arg(long, value_name = "ROLE", env = "LOCKSTEAD_ROLE")]
    pub role: Option<String>,
    /// The MySQL or MariaDB server for the clients; several, with commas or repeated: Lockstead follows the one that
    /// takes writes
    #[arg(long, value_name = "HOST:PORT", env = "LOCKSTEAD_BACKEND", value_delimiter = ',')]
    #[serde(deserialize_with = "texts")]
    pub backend: Option<Vec<String>>,
    /// Server, account and schema of the lock tables: mysql://user:password@host:port/schema. Without a host, or with
    /// as many as `backend` has: the servers of `backend`
    #[arg(long, value_name = "URL", env = "LOCKSTEAD_STORE", hide_env_values = true)]
    pub store: Option<String>,
    /// Leave locks to the server and report their users ("observe"), take the server's and keep a row for each
    /// ("coexist"), or keep them in the tables alone ("durable") [default: coexist]
    #[arg(long, value_name = "MODE", env = "LOCKSTEAD_MODE")]
    pub mode: Option<String>,
    /// Refuse statements with lock calls that are not covered ("refuse"), or let the server run them
    /// with locks of its own ("native") [default: refuse]
    #[arg(long, value_name = "DECISION", env = "LOCKSTEAD_UNSUPPORTED")]
    pub unsupported: Option<String>,
    /// What a client gets in mode coexist when the row of its lock cannot be written: the server's answer ("native"), or an
    /// error ("error") [default: native]
    #[arg(long, value_name = "DECISION", env = "LOCKSTEAD_ON_STORE_ERROR")]
    pub on_store_error: Option<String>,
    /// Address and port of /metrics, /livez, /readyz and the status page, or "off" [default: 127.0.0.1:6080]
    #[arg(long, value_name = "ADDR:PORT", env = "LOCKSTEAD_HTTP")]
    pub http: Option<String>,
    /// Status page and JSON: "auto" (if that is safe), "on" or "off" [default: auto]
    #[arg(long, value_name = "WHEN", env = "LOCKSTEAD_HTTP_PAGE")]
    pub http_page: Option<String>,
    /// File with the token that page and JSON require [default: none]
    #[arg(long, value_name = "FILE", env = "LOCKSTEAD_HTTP_TOKEN_FILE")]
    pub http_token_file: Option<String>,
    /// Certificate for http, PEM; all of http is then encrypted [default: none]
    #[arg(long, value_name = "FILE", env = "LOCKSTEAD_HTTP_TLS_CERT")]
    pub http_tls_cert: Option<String>,
    /// Key of http_tls_cert, PEM
    #[arg(long, value_name = "FILE", env = "LOCKSTEAD_HTTP_TLS_KEY")]
    pub http_tls_key: Option<String>,
    /// Locks with their own metrics, with commas: names, and patterns with * [default: none]
    #[arg(long, value_name = "NAME", env = "LOCKSTEAD_METRICS_LOCKS")]
    pub metrics_locks: Option<OneOrMore>,
    /// Socket for administrators, by default in the state directory: "auto", unix:PATH or "off" [default: auto]
    #[arg(long, value_name = "SOCKET", env = "LOCKSTEAD_ADMIN")]
    pub admin: Option<String>,
    /// Address and port for administrators with accounts [default: none]
    #[arg(long, value_name = "ADDR:PORT", env = "LOCKSTEAD_ADMIN_LISTEN")]
    pub admin_listen: Option<String>,
    /// File with their accounts
    #[arg(long, value_name = "FILE", env = "LOCKSTEAD_ADMIN_ACCOUNTS")]
    pub admin_accounts: Option<String>,
    /// Time that a dead proxy's locks stay held: 1s to 1h [default: 30s]
    #[arg(long, value_name = "DURATION", env = "LOCKSTEAD_LEASE")]
    pub lease: Option<String>,
    /// If another server became the primary: carry the locks there ("reclaim"), or wait for an operator
    /// ("adopt") [default: reclaim]
    #[arg(long, value_name = "DECISION", env = "LOCKSTEAD_ON_FAILOVER")]
    pub on_failover: Option<String>,
    /// Servers of `backend` that may be promoted while the former primary still takes writes: a lock counts only when
    /// each has executed it; with commas [default: none]
    #[arg(long, value_name = "HOST:PORT", env = "LOCKSTEAD_FAILOVER_CANDIDATES")]
    pub failover_candidates: Option<OneOrMore>,
    /// Ask the server at each COMMIT of a session that holds locks whether they are still its own ("explicit"), at
    /// each single write, too ("all"), or never ("off") [default: explicit]
    #[arg(long, value_name = "WHICH", env = "LOCKSTEAD_FENCED_COMMIT")]
    pub fenced_commit: Option<String>,
    /// Holds that have ended and are remembered for SHOW HISTORY, 0 to 100000; 0 is none [default: 4000]
    #[arg(long, value_name = "N", env = "LOCKSTEAD_HISTORY")]
    pub history: Option<usize>,
    /// Rows of the table lock_history, into which holds that have ended are written: the newest stay; 0 to 1000000,
    /// 0 is none [default: 0]
    #[arg(long, value_name = "N", env = "LOCKSTEAD_HISTORY_ROWS")]
    pub history_rows: Option<usize>,
    /// In mode durable, keep a lock's name this long after its use, so that the next session here gets it without a write:
    /// 0s to 1m; 0s is never [default: 0s]
    #[arg(long, value_name = "DURATION", env = "LOCKSTEAD_KEEP_NAMES")]
    pub keep_names: Option<String>,
    /// In mode coexist, write the row of a lock when it has been held for this long: 0s to 1s; 0s is before the client has
    /// its answer [default: 25ms]
    #[arg(long, value_name = "DURATION", env = "LOCKSTEAD_ROW_DELAY")]
    pub row_delay: Option<String>,
    /// Delete the rows of locks that were not taken for this long: 1s to 24h [default: 10m]
    #[arg(long, value_name = "DURATION", env = "LOCKSTEAD_COLLECT_AFTER")]
    pub collect_after: Option<String>,
    /// Directory for proof that this process lives, "auto" or "off" [default: auto]
    #[arg(long, value_name = "DIR", env = "LOCKSTEAD_STATE_DIR")]
    pub state_dir: Option<String>,
    /// Create the lock schema at start if it is missing
    #[arg(long, num_args = 0..=1, default_missing_value = "true", env = "LOCKSTEAD_CREATE_SCHEMA")]
    pub create_schema: Option<bool>,
    /// Relay threads, 0 for one a core [default: 0]
    #[arg(long, value_name = "N", env = "LOCKSTEAD_WORKERS")]
    pub workers: Option<usize>,
    /// Maximum number of clients, 0 for 10000 or as many as the limit of open files has room for; one more gets error 1040 [default: 0]
    #[arg(long, value_name = "N", env = "LOCKSTEAD_MAX_CONNECTIONS")]
    pub max_connections: Option<usize>,
    /// Maximum number of logins that begin in a second, 0 for any number; one more gets error 1040 [default: 0]
    #[arg(long, value_name = "N", env = "LOCKSTEAD_MAX_LOGIN_RATE")]
    pub max_login_rate: Option<u32>,
    /// Maximum number of locks of a session; one more gets error 1226 [default: 10000]
    #[arg(long, value_name = "N", env = "LOCKSTEAD_MAX_SESSION_LOCKS")]
    pub max_session_locks: Option<usize>,
    /// Maximum bytes for prepared lock calls of a session; beyond it error 1226 [default: 16777216]
    #[arg(long, value_name = "BYTES", env = "LOCKSTEAD_MAX_SESSION_MEMORY")]
    pub max_session_memory: Option<usize>,
    /// Maximum number of sessions that wait for locks, 0 for any number; one more gets error 1226 [default: 0]
    #[arg(long, value_name = "N", env = "LOCKSTEAD_MAX_WAITERS")]
    pub max_waiters: Option<u32>,
    /// Time limit for a connection to the server [default: 5s]
    #[arg(long, value_name = "DURATION", env = "LOCKSTEAD_CONNECT_TIMEOUT")]
    pub connect_timeout: Option<String>,
    /// How long a connection to the server waits until one of several is known to take writes. A session that shares connections waits as long for the only one [default: 30s]
    #[arg(long, value_name = "DURATION", env = "LOCKSTEAD_WRITER_WAIT")]
    pub writer_wait: Option<String>,
    /// How long statements may wait for a planned switch of the primary [default: 10s]
    #[arg(long, value_name = "DURATION", env = "LOCKSTEAD_SWITCHOVER_HOLD")]
    pub switchover_hold: Option<String>,
    /// Time limit for a client's login [default: 10s]
    #[arg(long, value_name = "DURATION", env = "LOCKSTEAD_LOGIN_TIMEOUT")]
    pub login_timeout: Option<String>,
    /// Time for running statements to end at shutdown [default: 30s]
    #[arg(long, value_name = "DURATION", env = "LOCKSTEAD_DRAIN_TIMEOUT")]
    pub drain_timeout: Option<String>,
    /// TLS for clients: "prefer", "require" or "off" [default: prefer]
    #[arg(long, value_name = "WHEN", env = "LOCKSTEAD_TLS")]
    pub tls: Option<String>,
    /// Certificate for clients, PEM, with its chain [default: one made at first start]
    #[arg(long, value_name = "FILE", env = "LOCKSTEAD_TLS_CERT")]
    pub tls_cert: Option<String>,
    /// Key of tls_cert, PEM
    #[arg(long, value_name = "FILE", env = "LOCKSTEAD_TLS_KEY")]
    pub tls_key: Option<String>,
    /// Oldest TLS for clients: "1.2" or "1.3" [default: 1.2]
    #[arg(long, value_name = "VERSION", env = "LOCKSTEAD_TLS_MIN_VERSION")]
    pub tls_min_version: Option<String>,
    /// CA that signs clients' certificates, PEM
    #[arg(long, value_name = "FILE", env = "LOCKSTEAD_TLS_CLIENT_CA")]
    pub tls_client_ca: Option<String>,
    /// Ask clients for a certificate: "off", "request" or "require" [default: off]
    #[arg(long, value_name = "WHEN", env = "LOCKSTEAD_TLS_CLIENT_CERT")]
    pub tls_client_cert: Option<String>,
    /// TLS to the server: "match" (when the client uses it), "required", "verify-ca",
    /// "verify-identity" or "off" [default: match]
    #[arg(long, value_name = "MODE", env = "LOCKSTEAD_BACKEND_TLS")]
    pub backend_tls: Option<String>,
    /// CA that signs the server's certificate, PEM
    #[arg(long, value_name = "FILE", env = "LOCKSTEAD_BACKEND_TLS_CA")]
    pub backend_tls_ca: Option<String>,
    /// Certificates for the server, each used for clients that show it, PEM, with commas
    #[arg(long, value_name = "FILE", env = "LOCKSTEAD_BACKEND_TLS_CERT")]
    pub backend_tls_cert: Option<OneOrMore>,
    /// Keys of backend_tls_cert, PEM
    #[arg(long, value_name = "FILE", env = "LOCKSTEAD_BACKEND_TLS_KEY")]
    pub backend_tls_key: Option<OneOrMore>,
    /// With backend_tls = "match": count clients on this machine as using TLS [default: false]
    #[arg(long, value_name = "BOOL", env = "LOCKSTEAD_BACKEND_TLS_LOCAL")]
    pub backend_tls_local: Option<bool>,
    /// TLS to the lock tables: "off", "required", "verify-ca" or "verify-identity" [default: off]
    #[arg(long, value_name = "MODE", env = "LOCKSTEAD_STORE_TLS")]
    pub store_tls: Option<String>,
    /// Give each session a connection to the server of its own ("session"), or let sessions share connections
    /// between their transactions ("transaction") [default: session]
    #[arg(long, value_name = "UNIT", env = "LOCKSTEAD_POOLING")]
    pub pooling: Option<String>,
    /// With pooling: maximum number of connections to the server that sessions share [default: 64]
    #[arg(long, value_name = "N", env = "LOCKSTEAD_POOL_SIZE")]
    pub pool_size: Option<usize>,
    /// With pooling: time limit for a session that waits for a connection; then it gets error 1040 [default: 5s]
    #[arg(long, value_name = "DURATION", env = "LOCKSTEAD_POOL_WAIT")]
    pub pool_wait: Option<String>,
    /// With pooling: how long a session may keep a connection with which it does nothing [default: 1s]
    #[arg(long, value_name = "DURATION", env = "LOCKSTEAD_IDLE_KEEP")]
    pub idle_keep: Option<String>,
    /// With pooling: close a connection when it is this old [default: 1h]
    #[arg(long, value_name = "DURATION", env = "LOCKSTEAD_BACKEND_LIFETIME")]
    pub backend_lifetime: Option<String>,
    /// With pooling: what to keep of clients' passwords in memory, to open connections for their accounts: all
    /// ("clear") or nothing ("off") [default: clear]
    #[arg(long, value_name = "WHAT", env = "LOCKSTEAD_LEARN_PASSWORDS")]
    pub learn_passwords: Option<String>,
    /// With pooling: how long a login that the server has accepted counts for others like it. These are let in without
    /// asking the server. 0s: each login is asked about [default: 10s]
    #[arg(long, value_name = "DURATION", env = "LOCKSTEAD_LOGIN_CHECK_TTL")]
    pub login_check_ttl: Option<String>,
    /// Offer compression to clients [default: true]
    #[arg(long, value_name = "BOOL", env = "LOCKSTEAD_COMPRESSION")]
    pub compression: Option<bool>,
    /// Compression to the server: "off", "zlib" or "zstd" [default: off]
    #[arg(long, value_name = "ALGORITHM", env = "LOCKSTEAD_BACKEND_COMPRESSION")]
    pub backend_compression: Option<String>,
    /// Send each client's address to the server in a PROXY header [default: false]
    #[arg(long, value_name = "BOOL", env = "LOCKSTEAD_BACKEND_PROXY_PROTOCOL")]
    pub backend_proxy_protocol: Option<bool>,
    /// Log as "text" or "json" [default: text]
    #[arg(long, value_name = "FORMAT", env = "LOCKSTEAD_LOG_FORMAT")]
    pub log_format: Option<String>,
    /// Log level or filter: error, warn, info, debug, trace [default: info]
    #[arg(long, value_name = "LEVEL", env = "LOCKSTEAD_LOG_LEVEL")]
    pub log_level: Option<String>,
    /// Several clusters of servers.
    #[arg(skip)]
    pub cluster: Vec<Table>,
    /// Several listeners.
    #[arg(skip)]
    pub listener: Vec<Table>,
    /// Accounts of clients with their passwords.
    #[arg(skip)]
    pub users: Vec<Table>,
}

/// Several values of one key: a list in the file, or a text with commas.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct OneOrMore(pub Vec<String>);

impl FromStr for OneOrMore {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        Ok(Self(parts.map(str::to_owned).collect()))
    }
}

impl<'de> Deserialize<'de> for OneOrMore {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a text or a list of texts")]
        enum TextOrList {
            One(String),
            More(Vec<String>),
        }
        Ok(match TextOrList::deserialize(deserializer)? {
            TextOrList::One(text) => text.parse().unwrap_or_default(),
            TextOrList::More(list) => Self(list),
        })
    }
}

/// Several values of a key that may be repeated as a flag.
fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    Ok(Option::<OneOrMore>::deserialize(deserializer)?.map(|list| list.0))
}

/// The text of the file, to name the line of a refused key.
#[derive(Default)]
pub struct RawFile {
    path: String,
    text: Zeroizing<String>,
    over: Vec<&'static str>,
}

impl RawFile {
    /// With keys whose values flags or variables replace.
    pub fn under(self, over: &Raw) -> Self {
        Self { over: over.given(), ..self }
    }

    /// `path:line: ` of a key, or nothing when the file does not have it.
    pub fn place(&self, key: &str) -> String {
        if self.over.contains(&key) {
            return String::new();
        }
        let line = self.text.lines().position(|line| {
            line.trim_start().strip_prefix(key).is_some_and(|r| r.trim_start().starts_with('='))
        });
        line.map(|n| format!("{}:{}: ", self.path, n + 1)).unwrap_or_default()
    }
}

impl Raw {
    /// Reads a TOML file.
    pub fn read(path: &Path) -> Result<(Self, RawFile), ConfigError> {
        let shown = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map(Zeroizing::new)
            .map_err(|source| ConfigError::Read { path: shown.clone(), source })?;
        let raw = toml::from_str(&text).map_err(|e: toml::de::Error| {
            let before = text.get(..e.span().map_or(0, |s| s.start)).unwrap_or_default();
            let line = before.matches('\n').count();
            let key = text.lines().nth(line).and_then(|l| l.split_once('=')).map_or("", |(k, _)| k);
            // Not the line itself, nor a value: it may have the password.
            let retired = retired::advice(key.trim());
            let message = match retired.unwrap_or(e.message()) {
                quoting if quoting.contains("://") || key.trim() == "users" => {
                    "a value of a wrong type"
                }
                message => message,
            };
            ConfigError::Parse {
                path: shown.clone(),
                line: line + 1,
                message: format!("`{}`: {message}", key.trim()),
            }
        })?;
        Ok((raw, RawFile { path: shown, text, over: Vec::new() }))
    }

    /// The keys of a `[[cluster]]` or `[[listener]]`.
    pub fn of_table(table: Table) -> Result<Self, String> {
        // Not the value: it may have the password.
        table.try_into().map_err(|e: toml::de::Error| match e.message() {
            quoting if quoting.contains("://") => "a value of a wrong type".to_owned(),
            message => message.to_owned(),
        })
    }
}
