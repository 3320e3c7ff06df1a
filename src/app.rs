//! The application: everything is bound before anything runs, and ends in a written order.

mod observing;
mod open_files;
mod work;

pub use observing::too_old;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;

use self::work::Work;
use crate::backend::spares::{Account, Spares};
use crate::config::{Config, ConfigError, HostPort, Mode, StoreUrl};
use crate::engine::handle::{Engine, SessionEvent};
use crate::engine::pipe::StoreAccess;
use crate::engine::threads::{self, Setup};
use crate::frontend::context::Context;
use crate::frontend::ending::LAST_MOMENT;
use crate::frontend::hops::Hops;
use crate::frontend::listener::{Workers, accept};
use crate::frontend::registry::Registry;
use crate::frontend::unsupported::Shapes;
use crate::http::{self, Pages};
use crate::metrics::Metrics;
use crate::net::buffers::Buffers;
use crate::net::certificates::TlsError;
use crate::observe::file::FileError;
use crate::state::StateDir;
use crate::store::connection::{StoreConnection, StoreError, same_run};
use crate::store::reads::Rights;
use crate::store::schema::{Meta, VERSION};
use crate::types::version_number;

/// Why the start was refused.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address cannot be bound.
    #[error("cannot listen on {addr} for {what}: {source}. Is another proxy running there?")]
    Bind {
        /// `clients` or `http`.
        what: &'static str,
        /// The address.
        addr: std::net::SocketAddr,
        /// The cause.
        source: std::io::Error,
    },
    /// The store is not fit.
    #[error("the lock store {url}: {problem}")]
    Store {
        /// Where, without the password.
        url: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// A setting is missing.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// The server does not greet.
    #[error("the server {backend}: {problem}. Is it up, and are host and port in `backend` right?")]
    Backend {
        /// Where.
        backend: String,
        /// What is wrong.
        problem: String,
    },
    /// There is no TLS as the settings want it.
    #[error("TLS: {0}")]
    Tls(#[from] TlsError),
    /// There is no place for the report.
    #[error("the report: {0}")]
    Report(#[from] FileError),
    /// The operating system refused a thread or a signal handler.
    #[error("cannot start: {0}")]
    Io(#[from] std::io::Error),
    /// The metrics are inconsistent.
    #[error("metrics: {0}")]
    Metrics(#[from] prometheus::Error),
}

/// A proxy that is bound and ready to run.
pub struct App {
    config: Arc<Config>,
    listener: TcpListener,
    http: Option<TcpListener>,
    context: Context,
    work: Work,
    account: Account,
}

/// What the start found out about the store.
#[derive(Debug)]
pub struct Readiness {
    /// The schema was created just now.
    pub fresh: bool,
    /// Seconds the server waits for a handshake.
    pub connect_timeout: Duration,
    /// What the account may do.
    pub rights: Rights,
    /// `VERSION()`.
    pub version: String,
    /// Whose the lock tables are.
    pub meta: Meta,
    /// What works less well than it could, and how to mend it.
    pub warnings: Vec<String>,
}

impl App {
    /// Checks the store, binds every socket, starts the engine.
    async fn build(config: Config) -> Result<Self, StartError> {
        if config.mode == Mode::Observe {
            return Self::observing(config).await;
        }
        let store = config.store()?.clone();
        let readiness = inspect(&config).await?;
        for warning in readiness.warnings.iter().chain(&open_files::raise(&config)) {
            tracing::warn!("{warning}");
        }
        let listener = bind("clients", config.listen)?;
        // With port 0 the system has chosen one.
        let listen = listener.local_addr()?;
        let http = config.http.map(|addr| bind("http", addr)).transpose()?;
        let hops = Arc::new(Hops::load(&config)?);
        let metrics = Arc::new(Metrics::new()?);
        let access = Arc::new(StoreAccess {
            url: store.clone(),
            connect_timeout: config.connect_timeout,
            open: Mutex::default(),
            home: Mutex::default(),
            metrics: Arc::clone(&metrics),
        });
        let Rights { process, kill, performance_schema } = readiness.rights;
        for (right, has) in
            [("process", process), ("kill", kill), ("performance_schema", performance_schema)]
        {
            metrics.store_rights.with_label_values(&[right]).set(i64::from(has));
        }
        let (engine, gates, threads) = threads::start(Setup {
            access,
            ttl: config.lease,
            addr: listen.to_string(),
            fresh: readiness.fresh,
            collect_after: config.collect_after,
            state: open_state(&config, &store),
        })?;
        let account = Account { user: store.user.clone(), password: store.password.clone() };
        let config = Arc::new(config);
        let commands = Context::command_counters(&metrics);
        let context = Context {
            config: Arc::clone(&config),
            engine,
            gates,
            observer: None,
            shapes: Shapes::default(),
            metrics,
            hops,
            spares: Spares::new(readiness.connect_timeout),
            registry: Registry::default(),
            buffers: Buffers::default(),
            commands,
        };
        tracing::info!(
            %listen,
            backend = %config.backend,
            ?store,
            server = readiness.version,
            version = env!("CARGO_PKG_VERSION"),
            "ready to start"
        );
        let work = Work::Locks(threads);
        Ok(Self { config, listener, http, context, work, account })
    }

    /// Starts and serves until SIGTERM or SIGINT, then drains. A second signal ends at once.
    pub async fn serve(config: Config) -> Result<(), StartError> {
        // First of all: a process without handlers ignores them where it is the first of a
        // container, and elsewhere leaves a row behind.
        let mut signals =
            Signals(signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let app = tokio::select! {
            app = Self::build(config) => app?,
            () = signals.next() => {
                tracing::info!("told to stop before anything was served");
                return Ok(());
            }
        };
        app.run(signals).await
    }

    async fn run(self, mut signals: Signals) -> Result<(), StartError> {
        let Self { config, listener, http, context, work, account } = self;
        let draining = Arc::new(AtomicBool::new(false));
        let workers = Workers::start(&context)?;
        let tending = tokio::spawn(context.spares.clone().tend(account.clone()));
        let pages = http.map(|listener| {
            let metrics = Arc::clone(&context.metrics);
            let engine = Some(context.engine.clone()).filter(|_| context.observer.is_none());
            let draining = Arc::clone(&draining);
            tokio::spawn(http::serve(listener, Pages { metrics, engine, draining }))
        });
        tokio::select! {
            () = accept(listener, &workers) => {}
            () = signals.next() => tracing::info!("told to stop: draining"),
        }
        // The drain, in order: no new clients (the listener is gone), statements end, locks go
        // back, the lease row goes, the windows close last.
        draining.store(true, Ordering::Relaxed);
        let drain = drain(&config, &context, &context.engine);
        tokio::select! {
            () = drain => {}
            () = signals.next() => tracing::warn!("second signal: not waiting any longer"),
        }
        tending.abort();
        let _ = timeout(LAST_MOMENT, context.spares.finish(&account)).await;
        work.stop().await;
        if let Some(pages) = pages {
            pages.abort();
        }
        tracing::info!("stopped");
        Ok(())
    }
}

/// What asks the process to end.
struct Signals(Signal, Signal);

impl Signals {
    async fn next(&mut self) {
        tokio::select! {
            _ = self.0.recv() => {}
            _ = self.1.recv() => {}
        }
    }
}

/// The state directory, if there is one to be had.
fn open_state(config: &Config, store: &StoreUrl) -> Option<StateDir> {
    let path = config.state_dir.as_deref()?;
    StateDir::open(path, &format!("{store:?}"))
        .inspect_err(|e| {
            tracing::warn!(error = %e, "no state directory: a restart behind a kill waits for the lease");
        })
        .ok()
}

async fn drain(config: &Config, context: &Context, engine: &Engine) {
    context.registry.tell(SessionEvent::Drain);
    if !context.registry.emptied(config.drain_timeout).await {
        tracing::warn!(limit = ?config.drain_timeout, "statements still run at the drain limit; their sessions are closed");
        context.registry.tell(SessionEvent::Stop);
        context.registry.emptied(LAST_MOMENT).await;
    }
    if timeout(LAST_MOMENT + config.drain_timeout.min(LAST_MOMENT * 4), engine.settle())
        .await
        .is_err()
    {
        tracing::warn!(
            "some locks could not be released; they are free when the lease has run out"
        );
    }
}

fn bind(what: &'static str, addr: std::net::SocketAddr) -> Result<TcpListener, StartError> {
    let listen = || {
        let socket = if addr.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        socket.bind(addr)?;
        socket.listen(4096)
    };
    listen().map_err(|source| StartError::Bind { what, addr, source })
}

/// Connects to the store and finds out whether it can hold locks; creates the schema if told to.
pub async fn inspect(config: &Config) -> Result<Readiness, StartError> {
    let store = config.store()?;
    let refuse = |problem: String| StartError::Store { url: format!("{store:?}"), problem };
    let mut conn = StoreConnection::open(store, config.connect_timeout)
        .await
        .map_err(|e| refuse(connect_advice(&e)))?;
    let fail = |e: StoreError| refuse(e.to_string());
    let settings = conn.read_settings().await.map_err(fail)?;
    let (oldest, name) = conn.flavour().oldest();
    if version_number(&settings.version) < oldest {
        let version = settings.version;
        return Err(refuse(format!("the server is {version}; locks need {name} or later")));
    }
    let mut warnings = Vec::new();
    if settings.binlog && settings.binlog_format.eq_ignore_ascii_case("STATEMENT") {
        return Err(refuse(
            "binlog_format is STATEMENT, under which lock batches fail with error 1665; set it to ROW".into(),
        ));
    }
    if settings.read_only {
        return Err(refuse("the server is read-only; the lock tables live on the primary".into()));
    }
    let fresh = if config.create_schema {
        conn.install(&store.schema).await.map_err(|e| {
            refuse(format!("cannot create the lock schema: {e}. Hand the output of `lockstead schema print` to a DBA, or grant CREATE and CREATE VIEW on `{}`.*", store.schema))
        })?
    } else {
        false
    };
    let meta = conn.read_meta(&store.schema).await.map_err(|e| match e {
        StoreError::Refused { code: 1049 | 1146 | 1142 | 1044, message } => refuse(format!(
            "{message}. Start with --create-schema, run `lockstead schema install`, or hand the output of `lockstead schema print` to a DBA"
        )),
        e => fail(e),
    })?;
    if meta.version > VERSION {
        return Err(refuse(format!(
            "the lock schema has version {}, this build knows {VERSION}; upgrade",
            meta.version
        )));
    }
    if let Err(foreign) = meta.judge(0) {
        return Err(refuse(foreign.to_string()));
    }
    conn.check_tables(&store.schema).await.map_err(|e| {
        refuse(format!(
            "a right on the tables is missing: {e}. GRANT SELECT, INSERT, UPDATE, DELETE ON `{}`.*",
            store.schema
        ))
    })?;
    let rights = conn.rights().await.map_err(fail)?;
    warnings.extend(advice(rights));
    warnings.extend(compare_servers(config, store, &mut conn).await.map_err(refuse)?);
    let connect_timeout = Duration::from_secs(settings.connect_timeout.max(2));
    conn.close().await;
    Ok(Readiness { fresh, connect_timeout, rights, version: settings.version, meta, warnings })
}

/// Sessions are looked up, and ended, at the store by the ids that `backend` gave them: both must
/// be one server. A warning where that cannot be seen.
async fn compare_servers(
    config: &Config,
    url: &StoreUrl,
    store: &mut StoreConnection,
) -> Result<Option<String>, String> {
    let HostPort { host, port } = &config.backend;
    if (host, *port) == (&url.host, url.port) {
        return Ok(None);
    }
    let there = StoreUrl { host: host.clone(), port: *port, ..url.clone() };
    let mut compared = async || {
        let mut backend = StoreConnection::open(&there, config.connect_timeout).await?;
        let same = backend.identity().await? == store.identity().await?
            && same_run(backend.started(), store.started());
        backend.close().await;
        Ok::<_, StoreError>(same)
    };
    match compared().await {
        Ok(true) => Ok(None),
        Ok(false) => Err(format!(
            "`backend` ({}) is another server: the lock tables must be on the server whose sessions take the locks",
            config.backend
        )),
        Err(e) => Ok(Some(format!(
            "cannot see whether `backend` ({}) and `store` are one server, which they must be: {e}",
            config.backend
        ))),
    }
}

fn connect_advice(e: &StoreError) -> String {
    match e {
        StoreError::Refused { code: 1045, message } => {
            format!("{message}. Check user and password in `store`")
        }
        e => format!("{e}. Is the server up, and are host and port in `store` right?"),
    }
}

fn advice(rights: Rights) -> Vec<String> {
    let mut all = Vec::new();
    if !rights.process || !rights.performance_schema {
        all.push("the store account lacks PROCESS (or SELECT on performance_schema.*): it cannot see when a dead proxy's sessions are gone, so their locks stay held until an operator acts".to_owned());
    }
    if !rights.kill {
        all.push("the store account lacks CONNECTION_ADMIN (MariaDB: CONNECTION ADMIN): a dead proxy's sessions are not killed, so its locks pass on only when the server ends them itself".to_owned());
    }
    all
}
