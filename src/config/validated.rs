//! The validated configuration of one listener and its cluster.

use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use super::addresses::{HostPort, Listen, StoreUrl};
use super::admin::{self, Admin};
use super::error::{ConfigError, WrongValue};
use super::http::{self, Http};
use super::limits::{self, HistoryLimits};
use super::mode::Mode;
use super::parse::{LISTEN, choice, parse_listen, parse_network, state_dir};
use super::pooling::Pooling;
use super::raw::{OneOrMore, Raw, RawFile};
use super::role::{self, ListenerRole};
use super::servers::{self, ServerAddress};
use super::shown;
use super::tls::{self, BackendTls, ClientTls};
use crate::protocol::capabilities::Capabilities;

/// Text or JSON logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// One readable line an event.
    Text,
    /// One JSON object an event.
    Json,
}

/// What the client gets in mode coexist when the row of a lock cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnStoreError {
    /// The server's answer. The lock is the server's alone until the row can be written. Where other proxies keep locks by
    /// rows alone, an error.
    Native,
    /// An error, and the server's lock is given back.
    Error,
}

/// Which commits of sessions that hold locks are proved to come before the locks pass on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FencedCommit {
    /// Commits that a statement asks for, such as COMMIT.
    Explicit,
    /// Also the commits of single writes with autocommit.
    All,
    /// None.
    Off,
}

/// What is done with statements whose lock calls are not covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsupported {
    /// Error 1235.
    Refuse,
    /// The server runs them unchanged, and its own locks are taken.
    Native,
}

/// What is done when another server is the primary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailover {
    /// The proxies open the next epoch there, and carry the locks that their sessions hold into it.
    Reclaim,
    /// Nothing is granted there before an operator has run `lockstead adopt`.
    Adopt,
}

/// The validated configuration of one listener and its cluster.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where clients connect.
    pub listen: Vec<Listen>,
    /// Networks whose connections begin with a PROXY header.
    pub proxy_protocol: Vec<IpNet>,
    /// Which of the servers sessions go to, of several.
    pub role: ListenerRole,
    /// Whether a listener of the cluster leads to replicas.
    pub has_replicas: bool,
    /// The servers for the clients, at least one.
    pub servers: Vec<ServerAddress>,
    /// How long a connection to the server waits until one of several is known to take writes.
    pub writer_wait: Duration,
    /// How long statements may wait for a planned switch.
    pub switchover_hold: Duration,
    /// The lock tables' server and account. A proxy that observes needs none, and does not connect to it.
    pub store: Option<StoreUrl>,
    /// What is done with lock calls.
    pub mode: Mode,
    /// How sessions share their connections to the server.
    pub pooling: Pooling,
    /// What is done with statements whose lock calls are not covered.
    pub unsupported: Unsupported,
    /// What the client gets in mode coexist when the row of a lock cannot be written.
    pub on_store_error: OnStoreError,
    /// Where metrics, health and the page are served; `None` for nowhere.
    pub http: Option<Http>,
    /// Locks with metrics of their own: patterns of names.
    pub metrics_locks: Vec<String>,
    /// Where administrators connect.
    pub admin: Admin,
    /// Length of the lease.
    pub lease: Duration,
    /// What is done when another server is the primary.
    pub on_failover: OnFailover,
    /// Servers that must have executed a grant or a renewal before it counts. The writer is none of them.
    pub failover_candidates: Vec<ServerAddress>,
    /// Which commits are fenced.
    pub fenced_commit: FencedCommit,
    /// Holds that have ended: how many are remembered, and written into the table.
    pub history: HistoryLimits,
    /// How long names are kept for the sessions of this proxy.
    pub keep_names: Duration,
    /// How long the server has held a lock when its row is written, in mode coexist; zero: no time at all.
    pub row_delay: Duration,
    /// Rows of locks that were not taken for this long are deleted.
    pub collect_after: Duration,
    /// Where incarnations of this proxy prove that they live; `None`: nowhere.
    pub state_dir: Option<PathBuf>,
    /// Create the lock schema at start if it is missing.
    pub create_schema: bool,
    /// Threads that relay.
    pub workers: usize,
    /// Maximum number of clients; one more gets error 1040.
    pub max_connections: usize,
    /// Logins begun in a second at most; 0: any number.
    pub max_login_rate: u32,
    /// Locks of a session at most.
    pub max_session_locks: usize,
    /// Bytes that prepared lock calls of a session take at most.
    pub max_session_memory: usize,
    /// Sessions that wait for locks at most; 0: any number.
    pub max_waiters: u32,
    /// How long a connect to the server may take.
    pub connect_timeout: Duration,
    /// How long a client may take to log in.
    pub login_timeout: Duration,
    /// Time for running statements to end at shutdown.
    pub drain_timeout: Duration,
    /// TLS with clients.
    pub tls: ClientTls,
    /// TLS with the server.
    pub backend_tls: BackendTls,
    /// Clients are offered compression.
    pub compression: bool,
    /// The algorithm that the server is asked for, as its capability.
    pub backend_compression: Capabilities,
    /// Each client's address is sent to the server in a PROXY header.
    pub backend_proxy_protocol: bool,
    /// Log form.
    pub log_format: LogFormat,
    /// Log filter, as `tracing` reads it.
    pub log_level: String,
    /// All settings as text, for display.
    pub shown: Vec<WrongValue>,
}

const UNSUPPORTED: [(&str, Unsupported); 2] =
    [("refuse", Unsupported::Refuse), ("native", Unsupported::Native)];
const STORE_ERRORS: [(&str, OnStoreError); 2] =
    [("native", OnStoreError::Native), ("error", OnStoreError::Error)];
const FAILOVERS: [(&str, OnFailover); 2] =
    [("reclaim", OnFailover::Reclaim), ("adopt", OnFailover::Adopt)];
const FENCES: [(&str, FencedCommit); 3] =
    [("explicit", FencedCommit::Explicit), ("all", FencedCommit::All), ("off", FencedCommit::Off)];
const FORMATS: [(&str, LogFormat); 2] = [("text", LogFormat::Text), ("json", LogFormat::Json)];
/// Compression algorithms that the server may be asked for.
const ALGORITHMS: [(&str, Capabilities); 3] =
    [("off", Capabilities(0)), ("zlib", Capabilities::COMPRESS), ("zstd", Capabilities::ZSTD)];

impl Config {
    /// The lock tables' server and account, or an error if there is none.
    pub fn store(&self) -> Result<&StoreUrl, ConfigError> {
        self.store.as_ref().ok_or_else(no_store)
    }

    /// Reads how long statements may wait for a planned switch.
    pub fn hold(text: &str) -> Result<Duration, String> {
        limits::hold(Some(text)).map_err(|(_, problem)| problem)
    }

    /// Where sessions of clients connect, if there is one server; the first of several.
    pub fn backend(&self) -> &HostPort {
        &self.servers[0].backend
    }

    /// The hosts of all its servers.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.servers.iter().map(|server| server.backend.host.as_str())
    }

    /// These settings with one of the cluster's servers alone.
    #[must_use]
    pub fn at(&self, server: &ServerAddress) -> Self {
        let store = self.store.as_ref().map(|store| store.at(&server.store));
        Self { servers: vec![server.clone()], store, ..self.clone() }
    }

    /// `place` names the state directory where that is left to the proxy.
    pub(super) fn validate(
        raw: Raw,
        place: Option<&str>,
        source: &RawFile,
    ) -> Result<Self, ConfigError> {
        let refused = |(key, problem): WrongValue| {
            let place = source.place(key);
            ConfigError::Value { place, key, problem }
        };
        let listen = listens(raw.listen.as_ref()).map_err(|e| refused(("listen", e)))?;
        let proxy_protocol = networks(&raw).map_err(refused)?;
        let (pooling, mode) = Pooling::read(&raw).map_err(refused)?;
        let unsupported = choice("unsupported", raw.unsupported.as_deref(), &UNSUPPORTED);
        let mut store = store(&raw).map_err(refused)?;
        let servers = servers::read(raw.backend.as_deref(), store.as_mut()).map_err(refused)?;
        if store.is_none() && mode != Mode::Observe {
            return Err(no_store());
        }
        let failover_candidates = servers::candidates(&raw, &servers, mode).map_err(refused)?;
        let role = role::read(raw.role.as_deref(), &servers, mode, &pooling).map_err(refused)?;
        let limits = limits::read(&raw).map_err(refused)?;
        let http = http::read(&raw).map_err(refused)?;
        let place = place.map_or_else(|| listen[0].to_string(), str::to_owned);
        let state_dir = directory(raw.state_dir.as_deref(), &place, mode);
        let state_dir = state_dir.map_err(|e| refused(("state_dir", e)))?;
        let shown = shown::shown(&raw, store.as_ref());
        let (tls, backend_tls) = tls::read(&raw).map_err(refused)?;
        let admin = admin::read(&raw, state_dir.as_deref(), tls.offer != tls::Offer::Off)
            .map_err(refused)?;
        let algorithm = raw.backend_compression.as_deref();
        let algorithm = choice("backend_compression", algorithm, &ALGORITHMS).map_err(refused)?;
        Ok(Self {
            listen,
            proxy_protocol,
            role,
            has_replicas: role == ListenerRole::Replica,
            servers,
            writer_wait: limits.writer_wait,
            switchover_hold: limits.switchover_hold,
            store,
            mode,
            pooling,
            unsupported: unsupported.map_err(refused)?,
            on_store_error: choice("on_store_error", raw.on_store_error.as_deref(), &STORE_ERRORS)
                .map_err(refused)?,
            http,
            metrics_locks: raw.metrics_locks.map(|list| list.0).unwrap_or_default(),
            history: limits.history,
            admin,
            lease: limits.lease,
            on_failover: choice("on_failover", raw.on_failover.as_deref(), &FAILOVERS)
                .map_err(refused)?,
            failover_candidates,
            fenced_commit: choice("fenced_commit", raw.fenced_commit.as_deref(), &FENCES)
                .map_err(refused)?,
            keep_names: limits.keep_names,
            row_delay: limits.row_delay,
            collect_after: limits.collect_after,
            state_dir,
            create_schema: raw.create_schema.unwrap_or(false),
            workers: limits.workers,
            max_connections: limits.max_connections,
            max_login_rate: raw.max_login_rate.unwrap_or(0),
            max_session_locks: limits.max_session_locks,
            max_session_memory: raw.max_session_memory.unwrap_or(16 << 20),
            max_waiters: raw.max_waiters.unwrap_or(0),
            connect_timeout: limits.connect_timeout,
            login_timeout: limits.login_timeout,
            drain_timeout: limits.drain_timeout,
            tls,
            backend_tls,
            compression: raw.compression.unwrap_or(true),
            backend_compression: algorithm,
            backend_proxy_protocol: raw.backend_proxy_protocol.unwrap_or(false),
            log_format: choice("log_format", raw.log_format.as_deref(), &FORMATS)
                .map_err(refused)?,
            log_level: raw.log_level.unwrap_or_else(|| "info".to_owned()),
            shown,
        })
    }
}

/// The networks whose connections begin with a PROXY header.
fn networks(raw: &Raw) -> Result<Vec<IpNet>, WrongValue> {
    let networks = raw.proxy_protocol.iter().flat_map(|list| &list.0);
    let networks: Result<_, _> = networks.map(|text| parse_network(text)).collect();
    networks.map_err(|e| ("proxy_protocol", e))
}

fn directory(given: Option<&str>, place: &str, mode: Mode) -> Result<Option<PathBuf>, String> {
    if given == Some("") {
        return Err("is empty; give a directory, auto or off".to_owned());
    }
    let directory = state_dir(given, place);
    if directory.is_none() && mode == Mode::Observe {
        return Err("gives no directory, and a proxy that observes keeps its report there; give for example /var/lib/lockstead".to_owned());
    }
    Ok(directory)
}

fn listens(given: Option<&OneOrMore>) -> Result<Vec<Listen>, String> {
    let default = [LISTEN.to_owned()];
    let all = given.map_or(&default[..], |list| &list.0[..]);
    if all.is_empty() {
        return Err("names no address; give for example 127.0.0.1:6033".to_owned());
    }
    all.iter().map(|text| parse_listen(text)).collect()
}

fn store(raw: &Raw) -> Result<Option<StoreUrl>, WrongValue> {
    let Some(text) = raw.store.as_deref() else {
        return Ok(None);
    };
    let url = StoreUrl::parse(text).map_err(|problem| ("store", problem))?;
    Ok(Some(StoreUrl { tls: tls::store(raw)?, ..url }))
}

fn no_store() -> ConfigError {
    let example = "mysql://lockstead:secret@127.0.0.1:3306/lockstead";
    ConfigError::Value {
        place: String::new(),
        key: "store",
        problem: format!("is missing; give for example store = \"{example}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Plan;

    fn raw() -> Raw {
        Raw {
            backend: Some(vec!["db:3306".into()]),
            store: Some("mysql://lockstead:s%40fe@db:3307/locks".into()),
            ..Raw::default()
        }
    }

    #[test]
    fn defaults_and_a_store_url_are_understood() {
        let config = Plan::load(None, raw()).map(Plan::only).expect("valid");
        assert_eq!(config.lease, Duration::from_secs(30));
        assert_eq!(config.mode, Mode::Coexist);
        let store = config.store().expect("a store");
        assert_eq!(store.password, "s@fe");
        assert_eq!((store.port, store.schema.as_str()), (3307, "locks"));
        assert!(!format!("{config:?}").contains("s@fe"), "a password in a debug form");
    }

    fn is_refused(change: Raw, key: &str, fix: &str) {
        let text = Plan::load(None, change).expect_err(key).to_string();
        assert!(text.contains(key) && text.contains(fix), "{key}: {text}");
    }

    #[test]
    fn each_impossible_value_is_refused_with_its_key_and_a_fix() {
        let cases = vec![
            (
                Raw { listen: Some(OneOrMore(vec!["6033".into()])), ..raw() },
                "listen",
                "127.0.0.1:6033",
            ),
            (Raw { backend: Some(vec!["db".into()]), ..raw() }, "backend", "127.0.0.1:3306"),
            (Raw { backend: None, ..raw() }, "backend", "127.0.0.1:3306"),
            (Raw { store: Some("postgres://x@y/z".into()), ..raw() }, "store", "mysql://"),
            (Raw { store: Some("mysql://u:p@h/bad-name`".into()), ..raw() }, "store", "letters"),
            (Raw { store: None, ..raw() }, "store", "mysql://"),
            (Raw { mode: Some("watch".into()), ..raw() }, "mode", "observe"),
            (Raw { unsupported: Some("pass".into()), ..raw() }, "unsupported", "native"),
            (Raw { on_failover: Some("wait".into()), ..raw() }, "on_failover", "adopt"),
            (Raw { log_format: Some("xml".into()), ..raw() }, "log_format", "json"),
        ];
        for (change, key, fix) in cases {
            is_refused(change, key, fix);
        }
        is_refused(Raw { state_dir: Some(String::new()), ..raw() }, "state_dir", "directory");
        let some = Raw { fenced_commit: Some("some".into()), ..raw() };
        is_refused(some, "fenced_commit", "explicit");
    }

    #[test]
    fn each_value_outside_its_bounds_is_refused_with_them() {
        for (change, key, fix) in [
            (Raw { lease: Some("30".into()), ..raw() }, "lease", "30s"),
            (Raw { lease: Some("500ms".into()), ..raw() }, "lease", "1s"),
            (Raw { login_timeout: Some("0s".into()), ..raw() }, "login_timeout", "100ms to 1h"),
            (Raw { connect_timeout: Some("2h".into()), ..raw() }, "connect_timeout", "100ms to 1h"),
            (Raw { workers: Some(1000), ..raw() }, "workers", "256"),
            (Raw { max_connections: Some(2_000_000), ..raw() }, "max_connections", "0 to"),
            (Raw { max_session_locks: Some(0), ..raw() }, "max_session_locks", "1"),
            (Raw { writer_wait: Some("2h".into()), ..raw() }, "writer_wait", "0s to 1h"),
            (Raw { switchover_hold: Some("2m".into()), ..raw() }, "switchover_hold", "100ms to 1m"),
            (Raw { history: Some(200_000), ..raw() }, "history", "100000"),
        ] {
            is_refused(change, key, fix);
        }
        let rows = Raw { history: Some(9), history_rows: Some(1), ..raw() };
        is_refused(rows, "history_rows", "100");
    }

    #[test]
    fn each_mode_is_chosen_by_its_name() {
        for (name, mode) in Mode::NAMES {
            let given = Raw { mode: Some(name.into()), ..raw() };
            let chosen = Plan::load(None, given).expect("valid").only().mode;
            assert_eq!((chosen, chosen.name()), (mode, name));
        }
    }

    #[test]
    fn observing_needs_no_store_but_a_wrong_one_is_refused() {
        let observe = |store: Option<&str>| {
            let store = store.map(str::to_owned);
            Plan::load(None, Raw { mode: Some("observe".into()), store, ..raw() })
        };
        assert!(observe(None).expect("valid").only().store().is_err());
        assert!(observe(Some("mysql://a:b@c/d")).expect("valid").only().store().is_ok());
        assert!(observe(Some("nonsense")).is_err());
    }

    #[test]
    fn a_value_of_a_flag_is_not_blamed_on_the_file() {
        let file = std::env::temp_dir().join(format!("lockstead-{:016x}", rand::random::<u64>()));
        std::fs::write(&file, "backend = \"db:3306\"\nlisten = \"127.0.0.1:1\"\n").expect("write");
        let over = Raw { listen: Some(OneOrMore(vec!["6033".into()])), ..raw() };
        let refused = Plan::load(Some(&file), over).expect_err("refused").to_string();
        std::fs::remove_file(&file).expect("remove");
        assert!(refused.starts_with("`listen`"), "{refused}");
    }

    #[test]
    fn a_refusal_does_not_show_the_password() {
        let parse = |text: &str| {
            let dir =
                std::env::temp_dir().join(format!("lockstead-{:016x}", rand::random::<u64>()));
            std::fs::write(&dir, text).expect("write");
            let refused = Plan::load(Some(&dir), Raw::default()).expect_err("refused");
            std::fs::remove_file(&dir).expect("remove");
            refused.to_string()
        };
        for text in [
            "\nstoer = \"mysql://u:tulip@h/db\"",
            "\nstore = \"mysql://u:tulip@h/db",
            "\nworkers = \"mysql://u:tulip@h/db\"",
            "\nbackend = \"h:1\"\nstore = \"mysql://u:/tulip@h/db\"",
        ] {
            let refused = parse(text);
            assert!(!refused.contains("tulip"), "{refused}");
            assert!(refused.contains(":2: ") || refused.contains(":3: "), "{refused}");
        }
    }
}
