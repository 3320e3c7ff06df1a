//! The application: everything is bound before anything runs, and ends in a written order.

mod cluster;
mod inspect;
mod observing;
mod open_files;
mod sockets;
mod work;

pub use inspect::inspect;
pub use observing::too_old;

use std::path::Path;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::timeout;

use self::cluster::Running;
use self::sockets::Bound;
use crate::admin::{self, Control, Reloaded};
use crate::config::{Config, ConfigError, Http, Plan};
use crate::engine::handle::SessionEvent;
use crate::frontend::ending::LAST_MOMENT;
use crate::frontend::hops::Hops;
use crate::frontend::listener::{Listener, Workers, accept};
use crate::frontend::registry::Registry;
use crate::http::{HttpError, Windows};
use crate::net::certificates::TlsError;
use crate::observe::file::FileError;

/// Why the start was refused.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address cannot be bound.
    #[error("cannot listen on {addr} for {what}: {source}. Is another proxy running there?")]
    Bind {
        /// `clients`, `administrators` or `http`.
        what: &'static str,
        /// The address.
        addr: String,
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
    /// Two clusters have one store.
    #[error(
        "the clusters {one} and {other} have the same lock schema, `{schema}` on the same server: each needs one of its own"
    )]
    Shared {
        /// A cluster.
        one: String,
        /// The other.
        other: String,
        /// Their schema.
        schema: String,
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
    /// The windows cannot be opened as the settings want it.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The administrators' accounts cannot be read.
    #[error("admin_accounts {0}")]
    Accounts(String),
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
    clusters: Vec<Running>,
    http: Option<(TcpListener, Windows)>,
    admin: Option<Bound>,
    port: Option<(TcpListener, Arc<Path>)>,
    registry: Registry,
}

impl App {
    /// Checks the stores, binds every socket, starts the engines.
    async fn build(plan: Plan) -> Result<Self, StartError> {
        if let Some(warning) = open_files::raise(plan.process()) {
            tracing::warn!("{warning}");
        }
        let registry = Registry::default();
        let http = plan.process().http.as_ref().map(open_windows).transpose()?;
        let plan_admin = plan.process().admin.clone();
        let port = plan_admin.port.as_ref().map(sockets::bind_admin_port).transpose()?;
        let mut clusters: Vec<Running> = Vec::new();
        for cluster in plan.clusters {
            let running = Running::start(cluster, &registry, &clusters).await?;
            clusters.push(running);
        }
        // Behind the start of the engines, which makes the state directory.
        let admin = plan_admin.socket.and_then(|path| sockets::bind_admin(&path));
        Ok(Self { clusters, http, admin, port, registry })
    }

    /// Starts and serves until SIGTERM or SIGINT, then drains. A second signal ends at once.
    pub async fn serve(plan: Plan) -> Result<(), StartError> {
        // First of all: a process without handlers ignores them where it is the first of a
        // container, and elsewhere leaves a row behind.
        let mut signals =
            Signals(signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let hangup = signal(SignalKind::hangup())?;
        let config = plan.process().clone();
        let app = tokio::select! {
            app = Self::build(plan) => app?,
            () = signals.next() => {
                tracing::info!("told to stop before anything was served");
                return Ok(());
            }
        };
        app.run(&config, signals, hangup).await
    }

    async fn run(
        self,
        config: &Config,
        mut signals: Signals,
        hangup: Signal,
    ) -> Result<(), StartError> {
        let Self { mut clusters, http, admin, port, registry } = self;
        let contexts: Vec<_> = clusters.iter().flat_map(Running::contexts).cloned().collect();
        let hops: Vec<_> = contexts.iter().map(|context| Arc::clone(&context.hops)).collect();
        let reload: Arc<dyn Fn() -> Reloaded + Send + Sync> = Arc::new(move || reload(&hops));
        let workers = Arc::new(Workers::start(&contexts)?);
        let mut beside = JoinSet::new();
        beside.spawn(reload_when_told(Arc::clone(&reload), hangup));
        for cluster in &clusters {
            beside.spawn(cluster.spares().clone().tend(cluster.account().clone()));
        }
        let all = clusters.iter().map(Running::for_admin).collect();
        let control = Control { clusters: all, registry: registry.clone(), reload };
        let pages =
            http.map(|(listener, windows)| tokio::spawn(windows.serve(listener, control.clone())));
        let desk = admin.map(|socket| tokio::spawn(serve_admin(socket, control.clone())));
        if let Some((listener, accounts)) = port {
            let tls = contexts.first().and_then(|context| context.hops.acceptor().cloned());
            beside.spawn(admin::serve_port(listener, admin::Terms { accounts, tls }, control));
        }
        let mut accepting = JoinSet::new();
        let mut bound: Vec<Bound> = Vec::new();
        let sockets = clusters.iter_mut().flat_map(Running::take_sockets);
        for (index, sockets) in sockets.enumerate() {
            for mut socket in sockets {
                if let Some(listener) = socket.listener() {
                    accepting.spawn(accept(listener, Arc::clone(&workers), index));
                }
                bound.push(socket);
            }
        }
        signals.next().await;
        tracing::info!("told to stop: draining");
        // The drain, in order: no new clients, statements end, locks go back, the lease rows go,
        // the windows close last.
        accepting.shutdown().await;
        drop(bound);
        registry.tell(SessionEvent::Drain);
        let drain = drain(config, &registry, &clusters);
        tokio::select! {
            () = drain => {}
            () = signals.next() => tracing::warn!("second signal: not waiting any longer"),
        }
        beside.shutdown().await;
        for cluster in clusters {
            cluster.stop().await;
        }
        for window in pages.into_iter().chain(desk) {
            window.abort();
        }
        tracing::info!("stopped");
        Ok(())
    }
}

fn open_windows(settings: &Http) -> Result<(TcpListener, Windows), StartError> {
    let windows = Windows::load(settings)?;
    Ok((sockets::bind_pages(settings.address)?, windows))
}

/// Serves administrators; the socket goes with this.
async fn serve_admin(mut socket: Bound, control: Control) -> std::io::Result<()> {
    if let Some(Listener::Unix(listener)) = socket.listener() {
        admin::serve_socket(listener, control).await;
    }
    Ok(())
}

/// Reads certificates again.
fn reload(all: &[Arc<Hops>]) -> Reloaded {
    let read = |hops: &Arc<Hops>| {
        let result = hops.reload().map(|()| "read again".to_owned()).map_err(|e| e.to_string());
        ("certificate for clients".to_owned(), result)
    };
    all.iter().map(read).collect()
}

/// Reads again at each SIGHUP.
async fn reload_when_told(reload: Arc<dyn Fn() -> Reloaded + Send + Sync>, mut hangup: Signal) {
    while hangup.recv().await.is_some() {
        for (what, result) in reload() {
            match result {
                Ok(done) => tracing::info!("{what}: {done}"),
                Err(e) => tracing::error!(error = %e, "{what}: stays as it was"),
            }
        }
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

async fn drain(config: &Config, registry: &Registry, clusters: &[Running]) {
    if !registry.emptied(config.drain_timeout).await {
        tracing::warn!(limit = ?config.drain_timeout, "statements still run at the drain limit; their sessions are closed");
        registry.tell(SessionEvent::Stop);
        registry.emptied(LAST_MOMENT).await;
    }
    let settled = async {
        for cluster in clusters {
            cluster.engine().settle().await;
        }
    };
    if timeout(LAST_MOMENT + config.drain_timeout.min(LAST_MOMENT * 4), settled).await.is_err() {
        tracing::warn!(
            "some locks could not be released; they are free when the lease has run out"
        );
    }
}
