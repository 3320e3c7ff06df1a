//! Settings: what was written, and the validated form that everything else uses.

mod raw;
pub mod tls;

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use raw::Raw;

use self::tls::{BackendTls, ClientTls};
use crate::lock::lease::MIN_TTL;
use crate::protocol::capabilities::Capabilities;

/// Why a configuration was refused. Each names the key, what is wrong and what would be right.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The file is no TOML, or has an unknown key or a wrong type.
    #[error("{path}:{line}: {message}")]
    Parse {
        /// The file.
        path: String,
        /// The line.
        line: usize,
        /// The parser's message.
        message: String,
    },
    /// A value is impossible.
    #[error("{place}`{key}`: {problem}")]
    Value {
        /// File and line of the key, or empty for a flag or variable.
        place: String,
        /// The key.
        key: &'static str,
        /// What is wrong, and what would be right.
        problem: String,
    },
}

/// A host and port to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPort {
    /// Name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// Where the lock tables are, and with which account. Its `Debug` form hides the password.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl {
    /// Name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Account.
    pub user: String,
    /// Its password.
    pub password: String,
    /// Schema of the lock tables: letters, digits and `_`.
    pub schema: String,
}

impl StoreUrl {
    /// Another account, as `mysql://user[:password]@host[:port]/`.
    pub fn parse(text: &str) -> Result<Self, String> {
        parse_store(text)
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mysql://{}:***@{}:{}/{}", self.user, self.host, self.port, self.schema)
    }
}

/// Text or JSON logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// One readable line an event.
    Text,
    /// One JSON object an event.
    Json,
}

/// What becomes of lock calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// They are rows in the lock tables.
    Durable,
    /// They stay the server's own; who uses them is reported.
    Observe,
}

/// What becomes of statements with lock calls that are not covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsupported {
    /// Error 1235.
    Refuse,
    /// The server runs them as they stand, and its own locks are taken.
    Native,
}

/// The validated configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where clients connect.
    pub listen: SocketAddr,
    /// The MySQL server behind the proxy.
    pub backend: HostPort,
    /// The lock tables' server and account. Who observes needs none, and does not connect to it.
    pub store: Option<StoreUrl>,
    /// What becomes of lock calls.
    pub mode: Mode,
    /// What becomes of statements with lock calls that are not covered.
    pub unsupported: Unsupported,
    /// Where metrics and health are served; `None` for nowhere.
    pub http: Option<SocketAddr>,
    /// Length of the lease.
    pub lease: Duration,
    /// Rows of locks that were not taken for this long are deleted.
    pub collect_after: Duration,
    /// Where incarnations of this proxy prove that they live; `None`: nowhere.
    pub state_dir: Option<PathBuf>,
    /// Create the lock schema at start if it is missing.
    pub create_schema: bool,
    /// Threads that relay.
    pub workers: usize,
    /// Clients at most; one more gets error 1040.
    pub max_connections: usize,
    /// How long a connect to the server may take.
    pub connect_timeout: Duration,
    /// How long a client may take to log in.
    pub login_timeout: Duration,
    /// How long running statements may take to end at shutdown.
    pub drain_timeout: Duration,
    /// Answer bare lock calls without a trip to the session's server.
    pub fast_path: bool,
    /// TLS with clients.
    pub tls: ClientTls,
    /// TLS with the server.
    pub backend_tls: BackendTls,
    /// Clients are offered compression.
    pub compression: bool,
    /// The algorithm that the server is asked for, as its capability.
    pub backend_compression: Capabilities,
    /// Log form.
    pub log_format: LogFormat,
    /// Log filter, as `tracing` reads it.
    pub log_level: String,
}

/// Where clients connect unless told otherwise.
const LISTEN: &str = "127.0.0.1:6033";

impl Config {
    /// Reads the file, if any, puts what flags and environment say over it, and validates.
    pub fn load(file: Option<&Path>, over: Raw) -> Result<Self, ConfigError> {
        let (mut raw, source) = match file {
            Some(path) => Raw::read(path)?,
            None => (Raw::default(), raw::Source::default()),
        };
        raw.put_over(over);
        Self::validate(raw, &source)
    }

    /// The state directory alone, for who needs nothing else.
    pub fn state_dir(file: Option<&Path>, over: Raw) -> Result<Option<PathBuf>, ConfigError> {
        let mut raw = file.map(Raw::read).transpose()?.unwrap_or_default().0;
        raw.put_over(over);
        let listen = raw.listen.as_deref().unwrap_or(LISTEN);
        Ok(state_dir(raw.state_dir.as_deref(), listen))
    }

    /// The lock tables' server and account, for who cannot do without.
    pub fn store(&self) -> Result<&StoreUrl, ConfigError> {
        self.store.as_ref().ok_or_else(no_store)
    }

    fn validate(raw: Raw, source: &raw::Source) -> Result<Self, ConfigError> {
        let wrong = |key: &'static str, problem: String| ConfigError::Value {
            place: source.place(key),
            key,
            problem,
        };
        let missing = |key: &'static str, example: &str| {
            wrong(key, format!("is missing; give for example {key} = \"{example}\""))
        };
        let address = |key: &'static str, text: &str| {
            text.parse::<SocketAddr>().map_err(|_| {
                wrong(
                    key,
                    format!("{text:?} is no address and port; give for example 127.0.0.1:6033"),
                )
            })
        };
        let duration = |key: &'static str, text: Option<&str>, default: &str| {
            parse_duration(text.unwrap_or(default)).ok_or_else(|| {
                wrong(key, format!("{text:?} is no duration; give for example 30s, 500ms or 2m"))
            })
        };
        let listen = raw.listen.as_deref().unwrap_or(LISTEN);
        let backend = raw.backend.as_deref().ok_or_else(|| missing("backend", "127.0.0.1:3306"))?;
        let modes = [("durable", Mode::Durable), ("observe", Mode::Observe)];
        let mode = choice(raw.mode.as_deref(), &modes).map_err(|e| wrong("mode", e))?;
        let decisions = [("refuse", Unsupported::Refuse), ("native", Unsupported::Native)];
        let unsupported = choice(raw.unsupported.as_deref(), &decisions);
        let unsupported = unsupported.map_err(|e| wrong("unsupported", e))?;
        let store = raw.store.as_deref().map(parse_store).transpose();
        let store = store.map_err(|problem| wrong("store", problem))?;
        if store.is_none() && mode == Mode::Durable {
            return Err(no_store());
        }
        let lease = duration("lease", raw.lease.as_deref(), "30s")?;
        if lease < MIN_TTL || lease > Duration::from_hours(1) {
            return Err(wrong("lease", format!("{lease:?} is outside 1s to 1h")));
        }
        let collect_after = duration("collect_after", raw.collect_after.as_deref(), "10m")?;
        if collect_after < Duration::from_secs(1) || collect_after > Duration::from_hours(24) {
            return Err(wrong("collect_after", format!("{collect_after:?} is outside 1s to 24h")));
        }
        let http = raw.http.as_deref().unwrap_or("127.0.0.1:6080");
        let log_format = match raw.log_format.as_deref().unwrap_or("text") {
            "text" => LogFormat::Text,
            "json" => LogFormat::Json,
            other => {
                return Err(wrong("log_format", format!("{other:?} is neither text nor json")));
            }
        };
        let workers = workers(raw.workers.unwrap_or(0)).map_err(|e| wrong("workers", e))?;
        let max_connections = match raw.max_connections.unwrap_or(10_000) {
            n @ 1..=1_000_000 => n,
            n => {
                return Err(wrong("max_connections", format!("{n} is outside 1 to 1000000")));
            }
        };
        let state_dir = state_dir(raw.state_dir.as_deref(), listen);
        if state_dir.is_none() && mode == Mode::Observe {
            return Err(wrong(
                "state_dir",
                "gives no directory, and who observes keeps the report there; give for example /var/lib/lockstead".to_owned(),
            ));
        }
        let (tls, backend_tls) = tls::read(&raw).map_err(|(key, problem)| wrong(key, problem))?;
        let algorithms = [
            ("off", Capabilities(0)),
            ("zlib", Capabilities::COMPRESS),
            ("zstd", Capabilities::ZSTD),
        ];
        let backend_compression = choice(raw.backend_compression.as_deref(), &algorithms)
            .map_err(|e| wrong("backend_compression", e))?;
        Ok(Self {
            listen: address("listen", listen)?,
            backend: parse_host_port(backend).ok_or_else(|| {
                wrong(
                    "backend",
                    format!("{backend:?} is no host:port; give for example 127.0.0.1:3306"),
                )
            })?,
            store,
            mode,
            unsupported,
            http: if http == "off" { None } else { Some(address("http", http)?) },
            lease,
            collect_after,
            state_dir,
            create_schema: raw.create_schema.unwrap_or(false),
            workers,
            max_connections,
            connect_timeout: duration("connect_timeout", raw.connect_timeout.as_deref(), "5s")?,
            login_timeout: duration("login_timeout", raw.login_timeout.as_deref(), "10s")?,
            drain_timeout: duration("drain_timeout", raw.drain_timeout.as_deref(), "30s")?,
            fast_path: raw.fast_path.unwrap_or(true),
            tls,
            backend_tls,
            compression: raw.compression.unwrap_or(true),
            backend_compression,
            log_format,
            log_level: raw.log_level.unwrap_or_else(|| "info".to_owned()),
        })
    }
}

fn workers(given: usize) -> Result<usize, String> {
    match given {
        0 => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
        n @ 1..=256 => Ok(n),
        n => Err(format!("{n} is outside 0 (one a core) to 256")),
    }
}

fn no_store() -> ConfigError {
    let example = "mysql://lockstead:secret@127.0.0.1:3306/lockstead";
    ConfigError::Value {
        place: String::new(),
        key: "store",
        problem: format!("is missing; give for example store = \"{example}\""),
    }
}

fn state_dir(text: Option<&str>, listen: &str) -> Option<PathBuf> {
    match text.unwrap_or("auto") {
        "off" => None,
        "auto" => default_state_dir(listen),
        path => Some(PathBuf::from(path)),
    }
}

/// A directory for each address in the state folder of the service or user, if there is one.
fn default_state_dir(listen: &str) -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let base = folder("STATE_DIRECTORY")
        .or_else(|| Some(folder("XDG_STATE_HOME")?.join("lockstead")))
        .or_else(|| Some(folder("HOME")?.join(".local/state/lockstead")))?;
    Some(base.join(listen.replace([':', '[', ']'], "_")))
}

fn parse_host_port(text: &str) -> Option<HostPort> {
    let (host, port) = text.rsplit_once(':')?;
    let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    let port = port.parse().ok().filter(|p| *p != 0)?;
    (!host.is_empty()).then(|| HostPort { host: host.to_owned(), port })
}

/// A number and its unit: `500ms`, `30s`, `2m`, `1h`.
fn parse_duration(text: &str) -> Option<Duration> {
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(split);
    let number: u32 = number.parse().ok()?;
    let unit = match unit {
        "ms" => Duration::from_millis(1),
        "s" => Duration::from_secs(1),
        "m" => Duration::from_mins(1),
        "h" => Duration::from_hours(1),
        _ => return None,
    };
    unit.checked_mul(number)
}

/// One of several words; the first is the default.
fn choice<T: Copy>(given: Option<&str>, words: &[(&str, T)]) -> Result<T, String> {
    let wanted = given.unwrap_or(words[0].0);
    words.iter().find(|(word, _)| *word == wanted).map(|(_, value)| *value).ok_or_else(|| {
        let all: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        format!("{wanted:?} is none of {}", all.join(", "))
    })
}

fn parse_store(text: &str) -> Result<StoreUrl, String> {
    let example = "give for example mysql://lockstead:secret@127.0.0.1:3306/lockstead";
    let url = url::Url::parse(text).map_err(|e| format!("is no URL ({e}); {example}"))?;
    if url.scheme() != "mysql" {
        return Err(format!("starts with {}://, not mysql://; {example}", url.scheme()));
    }
    let host =
        url.host_str().filter(|h| !h.is_empty()).ok_or(format!("names no host; {example}"))?;
    let schema = match url.path().trim_matches('/') {
        "" => "lockstead",
        path => path,
    };
    let valid =
        schema.len() <= 64 && schema.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !valid {
        // Not the name: it is part of the password where that has a bare slash.
        return Err(format!("names a schema of other than letters, digits and _; {example}"));
    }
    if url.username().is_empty() {
        return Err(format!("names no user; {example}"));
    }
    let decode = |s: &str| percent_decode(s).ok_or(format!("has a broken %-escape; {example}"));
    Ok(StoreUrl {
        host: host.trim_matches(['[', ']']).to_owned(),
        port: url.port().unwrap_or(3306),
        user: decode(url.username())?,
        password: decode(url.password().unwrap_or_default())?,
        schema: schema.to_owned(),
    })
}

fn percent_decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        if b == b'%' {
            let hex = [bytes.next()?, bytes.next()?];
            out.extend(hex::decode(hex).ok()?);
        } else {
            out.push(b);
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw() -> Raw {
        Raw {
            backend: Some("db:3306".into()),
            store: Some("mysql://lockstead:s%40fe@db:3307/locks".into()),
            ..Raw::default()
        }
    }

    #[test]
    fn defaults_and_a_store_url_are_understood() {
        let config = Config::load(None, raw()).expect("valid");
        assert_eq!(config.lease, Duration::from_secs(30));
        let store = config.store().expect("a store");
        assert_eq!(store.password, "s@fe");
        assert_eq!((store.port, store.schema.as_str()), (3307, "locks"));
        assert!(!format!("{config:?}").contains("s@fe"), "a password in a debug form");
    }

    #[test]
    fn each_impossible_value_is_refused_with_its_key_and_a_fix() {
        for (change, key, fix) in [
            (Raw { listen: Some("6033".into()), ..raw() }, "listen", "127.0.0.1:6033"),
            (Raw { backend: Some("db".into()), ..raw() }, "backend", "127.0.0.1:3306"),
            (Raw { backend: None, ..raw() }, "backend", "127.0.0.1:3306"),
            (Raw { store: Some("postgres://x@y/z".into()), ..raw() }, "store", "mysql://"),
            (Raw { store: Some("mysql://u:p@h/bad-name`".into()), ..raw() }, "store", "letters"),
            (Raw { store: None, ..raw() }, "store", "mysql://"),
            (Raw { mode: Some("watch".into()), ..raw() }, "mode", "observe"),
            (Raw { unsupported: Some("pass".into()), ..raw() }, "unsupported", "native"),
            (Raw { lease: Some("30".into()), ..raw() }, "lease", "30s"),
            (Raw { lease: Some("500ms".into()), ..raw() }, "lease", "1s"),
            (Raw { log_format: Some("xml".into()), ..raw() }, "log_format", "json"),
            (Raw { workers: Some(1000), ..raw() }, "workers", "256"),
            (Raw { max_connections: Some(0), ..raw() }, "max_connections", "1 to"),
        ] {
            let text = Config::load(None, change).expect_err(key).to_string();
            assert!(text.contains(key) && text.contains(fix), "{key}: {text}");
        }
    }

    #[test]
    fn observing_needs_no_store_but_a_wrong_one_is_refused() {
        let observe = |store: Option<&str>| {
            let store = store.map(str::to_owned);
            Config::load(None, Raw { mode: Some("observe".into()), store, ..raw() })
        };
        assert!(observe(None).expect("valid").store().is_err());
        assert!(observe(Some("mysql://a:b@c/d")).expect("valid").store().is_ok());
        assert!(observe(Some("nonsense")).is_err());
    }

    #[test]
    fn a_refusal_does_not_show_the_password() {
        let parse = |text: &str| {
            let dir =
                std::env::temp_dir().join(format!("lockstead-{:016x}", rand::random::<u64>()));
            std::fs::write(&dir, text).expect("write");
            let refused = Config::load(Some(&dir), Raw::default()).expect_err("refused");
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
