//! The application: everything is bound before anything runs, and ends in a written order.

mod audits;
mod cluster;
mod follow;
mod handover;
mod inspect;
mod observing;
mod open_files;
mod parts;
mod place;
mod programs;
mod reload;
mod replicas;
mod same_server;
mod shared;
mod sockets;
mod start_error;
mod upgrade;
mod verifiers;

pub use inspect::inspect;
pub use observing::too_old;
pub use reload::{ConfigSource, SetFilter};
pub use same_server::{others_are_whole, refuse_own};
pub use start_error::StartError;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Mutex, mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};

use crate::admin::{self, Control, Entrance, Reloaded, UpgradeRequest};
use crate::app::cluster::RunningCluster;
use crate::app::handover::UpgradeChannel;
use crate::app::reload::{Reload, ReloadedListener};
use crate::app::sockets::{BoundSocket, Sockets};
use crate::app::upgrade::{Origin, UpgradeRequests};
use crate::config::{Http, Plan};
use crate::engine::handle::SessionEvent;
use crate::frontend::accept::listener::{Listener, Workers, accept};
use crate::frontend::session::close::LAST_MOMENT;
use crate::frontend::shared::live_config::InForce;
use crate::frontend::shared::registry::Registry;
use crate::http::Windows;

/// A proxy that is bound and ready to run.
pub struct App {
    clusters: Vec<RunningCluster>,
    http: Option<(TcpListener, Windows)>,
    admin: Option<BoundSocket>,
    port: Option<(TcpListener, Arc<Path>)>,
    registry: Registry,
    sockets: Sockets,
}

impl App {
    /// Checks the stores, binds every socket, starts the engines.
    async fn build(plan: Plan, mut sockets: Sockets) -> Result<Self, StartError> {
        if let Some(warning) = open_files::raise(plan.process()) {
            tracing::warn!("{warning}");
        }
        let registry = Registry::default();
        let http = plan.process().http.as_ref();
        let names = plan.clusters.iter().any(|c| !c.config().metrics_locks.is_empty());
        let http = http.map(|http| open_windows(http, names, &mut sockets)).transpose()?;
        let plan_admin = plan.process().admin.clone();
        let port = plan_admin.port.as_ref().map(|port| sockets.admin_port(port)).transpose()?;
        let mut clusters: Vec<RunningCluster> = Vec::new();
        for cluster in plan.clusters {
            let running =
                RunningCluster::start(cluster, &registry, &clusters, &mut sockets).await?;
            clusters.push(running);
        }
        // After the start of the engines, which makes the state directory.
        let admin = plan_admin.socket.map(|path| sockets.admin(&path)).transpose()?.flatten();
        Ok(Self { clusters, http, admin, port, registry, sockets })
    }

    /// Builds, and waits until it may serve: beside the process before this one, if there is one that
    /// hands over.
    async fn build_in_turn(plan: Plan) -> Result<(Self, Option<UpgradeChannel>), StartError> {
        let (inherited, line) = handover::inherit()?;
        let app = Self::build(plan, Sockets::new(inherited, line.is_none())).await?;
        let mut line = line.map(UpgradeChannel::new).transpose()?;
        if let Some(line) = &mut line {
            for cluster in &app.clusters {
                cluster.until_it_grants().await;
            }
            app.registry.set_aside(line.take().await);
        }
        Ok((app, line))
    }

    /// Starts and serves until SIGTERM or SIGINT, then drains. A second signal ends at once.
    pub async fn serve(plan: Plan, source: ConfigSource) -> Result<(), StartError> {
        // First of all: a process without handlers ignores them where it is the first of a
        // container, and elsewhere leaves a row behind.
        let mut signals =
            Signals(signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let hangup = signal(SignalKind::hangup())?;
        let upgrades = signal(SignalKind::user_defined2())?;
        let origin = Arc::new(Origin::of_this_process()?);
        let (app, line) = tokio::select! {
            begun = Self::build_in_turn(plan) => begun?,
            () = signals.next() => {
                tracing::info!("asked to stop before anything was served");
                return Ok(());
            }
        };
        let mut serving = app.start(source, &origin, hangup)?;
        if let Some(line) = line {
            line.serves().await;
            serving.sockets.set_ours(true);
            serving.sockets.close_rest();
            tracing::info!("serving, with the sockets of the previous process");
        } else {
            // Under systemd: what is started serves.
            let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
        }
        serving.run(&origin, signals, upgrades).await;
        Ok(())
    }

    /// Starts all that serves.
    fn start(
        self,
        source: ConfigSource,
        origin: &Arc<Origin>,
        hangup: Signal,
    ) -> Result<Serving, StartError> {
        let Self { mut clusters, http, admin, port, registry, sockets } = self;
        let contexts: Vec<_> =
            clusters.iter().flat_map(RunningCluster::contexts).cloned().collect();
        let settings = contexts[0].in_force.clone();
        let listeners = contexts.iter().map(ReloadedListener::of).collect();
        let keys = http.as_ref().map(|(_, windows)| windows.keys());
        let reload = Reload { source, listeners, keys };
        let reload: Arc<dyn Fn() -> Reloaded + Send + Sync> = Arc::new(move || reload.run());
        let workers = Arc::new(Workers::start(&contexts)?);
        let mut beside = JoinSet::new();
        beside.spawn(reload::when_told(Arc::clone(&reload), hangup));
        for cluster in &clusters {
            beside.spawn(cluster.tend());
        }
        let (upgrade, asked) = mpsc::channel(1);
        let (retire, retired) = watch::channel(false);
        let all = clusters.iter().map(RunningCluster::for_admin).collect();
        let origin = Arc::clone(origin);
        let replaced = Arc::new(move || origin.replaced());
        let control = Control {
            clusters: all,
            registry: registry.clone(),
            reload,
            replaced,
            upgrade: Arc::new(Mutex::new(upgrade)),
            retired,
        };
        let pages =
            http.map(|(listener, windows)| tokio::spawn(windows.serve(listener, control.clone())));
        let desk = admin.map(|socket| tokio::spawn(serve_admin(socket, control.clone())));
        if let Some((listener, accounts)) = port {
            let entrance = Entrance::Port { listener, accounts, shown: settings.clone() };
            beside.spawn(admin::serve(entrance, control));
        }
        let mut accepting = JoinSet::new();
        let mut bound: Vec<BoundSocket> = Vec::new();
        let listeners = clusters.iter_mut().flat_map(RunningCluster::take_sockets);
        for (index, listener) in listeners.enumerate() {
            for mut socket in listener {
                if let Some(listener) = socket.listener() {
                    accepting.spawn(accept(listener, Arc::clone(&workers), index));
                }
                bound.push(socket);
            }
        }
        let windows = Open { pages, desk, retire };
        Ok(Serving {
            clusters,
            workers,
            registry,
            settings,
            beside,
            windows,
            asked,
            accepting,
            bound,
            sockets,
        })
    }
}

/// The proxy's entrances beside those for clients.
struct Open {
    pages: Option<JoinHandle<std::io::Result<()>>>,
    desk: Option<JoinHandle<std::io::Result<()>>>,
    /// Tells that another process answers administrators from now on.
    retire: watch::Sender<bool>,
}

/// A proxy that serves.
struct Serving {
    clusters: Vec<RunningCluster>,
    /// Sessions live as long as these.
    workers: Arc<Workers>,
    registry: Registry,
    settings: InForce,
    beside: JoinSet<()>,
    windows: Open,
    /// Administrators who ask for an upgrade.
    asked: mpsc::Receiver<UpgradeRequest>,
    accepting: JoinSet<()>,
    bound: Vec<BoundSocket>,
    sockets: Sockets,
}

impl Serving {
    /// Runs until a signal or until another process has taken its place; then drains.
    async fn run(mut self, origin: &Arc<Origin>, mut signals: Signals, upgrades: Signal) {
        let lease = self.settings.config().lease;
        let mut asked = UpgradeRequests { administrators: self.asked, signal: upgrades };
        let successor = tokio::select! {
            successor = upgrade::successor(origin, &self.sockets, &self.registry, lease, &mut asked) => Some(successor),
            () = signals.next() => None,
        };
        // The drain, in order: no new clients, statements end, locks go back, the lease rows go,
        // the windows close last.
        self.accepting.shutdown().await;
        self.clusters.iter().for_each(RunningCluster::let_go);
        let mut limit = self.settings.config().drain_timeout;
        let handed_over = successor.is_some().then(Instant::now);
        if let Some(successor) = successor {
            self.sockets.set_ours(false);
            self.windows.retire.send_replace(true);
            successor.let_go();
            drop((self.bound, self.sockets));
            let left = upgrade::linger(limit, &self.registry, &self.workers, &self.clusters);
            tokio::select! {
                none = left => if !none {
                    limit = LAST_MOMENT;
                },
                () = signals.next() => tracing::info!("asked to stop: draining"),
            }
        } else {
            tracing::info!("asked to stop: draining");
            drop((self.bound, self.sockets));
        }
        self.registry.tell(SessionEvent::Drain);
        tokio::select! {
            () = drain(limit, &self.registry, &self.clusters) => {}
            () = signals.next() => tracing::warn!("second signal: not waiting any longer"),
        }
        self.beside.shutdown().await;
        for cluster in self.clusters {
            cluster.stop().await;
        }
        drop(self.workers);
        if let Some(at) = handed_over {
            // HTTP requests that have come until then are still answered.
            sleep_until(at + LAST_MOMENT).await;
        }
        for window in self.windows.pages.into_iter().chain(self.windows.desk) {
            window.abort();
        }
        tracing::info!("stopped");
    }
}

fn open_windows(
    settings: &Http,
    names: bool,
    sockets: &mut Sockets,
) -> Result<(TcpListener, Windows), StartError> {
    let windows = Windows::load(settings, names)?;
    Ok((sockets.pages(settings.address)?, windows))
}

/// Serves administrators; the socket goes with this.
async fn serve_admin(mut socket: BoundSocket, control: Control) -> std::io::Result<()> {
    if let Some(Listener::Unix(listener)) = socket.listener() {
        admin::serve(Entrance::Socket(listener), control).await;
    }
    Ok(())
}

/// Signals that end the process.
struct Signals(Signal, Signal);

impl Signals {
    async fn next(&mut self) {
        tokio::select! {
            _ = self.0.recv() => {}
            _ = self.1.recv() => {}
        }
    }
}

async fn drain(limit: Duration, registry: &Registry, clusters: &[RunningCluster]) {
    if !registry.emptied(limit).await {
        tracing::warn!(
            ?limit,
            "drain_timeout is over and statements still run; their sessions are closed"
        );
        registry.tell(SessionEvent::Stop);
        registry.emptied(LAST_MOMENT).await;
    }
    let settled = async {
        for cluster in clusters {
            cluster.engine().settle().await;
        }
    };
    if timeout(LAST_MOMENT + limit.min(LAST_MOMENT * 4), settled).await.is_err() {
        tracing::warn!(
            "some locks could not be released; they are free when the lease has run out"
        );
    }
}
