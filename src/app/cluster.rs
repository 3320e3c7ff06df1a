//! One cluster: its store, its engine, its listeners.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::background::Background;
use super::inspect::Readiness;
use super::parts::Parts;
use super::shared::{pool_of, shared_connections};
use super::sockets::{BoundSocket, Sockets};
use super::start_error::StartError;
use super::{audits, follow, inspect, observing, programs, verifiers};
use crate::admin;
use crate::backend::own::Credentials;
use crate::backend::reach::Reach;
use crate::backend::spares::Spares;
use crate::config::plan::ClusterPlan;
use crate::config::{Config, Mode, OnFailover, OnLeaseLost, StoreUrl};
use crate::engine::handle::Engine;
use crate::engine::handle::FindSessions;
use crate::engine::io::link::StoreAccess;
use crate::engine::setup::Setup;
use crate::engine::start;
use crate::frontend::session::close::LAST_MOMENT;
use crate::frontend::shared::context::{Context, Shared};
use crate::frontend::shared::digests::Digests;
use crate::frontend::shared::live_config::InForce;
use crate::frontend::shared::registry::Registry;
use crate::frontend::shared::shapes::Shapes;
use crate::frontend::shared::switchover::{Switchover, SwitchoverEnd};
use crate::metrics::Metrics;
use crate::net::buffers::Buffers;
use crate::private;
use crate::servers::find::Following;
use crate::state::StateDir;
use crate::store::schema::Installed;
use crate::types::Flavour;

/// Pause before locked tables are looked at again, beside the server's own patience.
const AGAIN: Duration = Duration::from_secs(1);
/// How often a new process checks whether it may serve.
const LOOK: Duration = Duration::from_millis(20);

/// A cluster that is bound and ready to be served.
pub(super) struct RunningCluster {
    /// The server's identity and the schema of its lock tables. `None` if the cluster only
    /// observes.
    tables: Option<(String, String)>,
    name: Option<String>,
    listeners: Vec<(Context, Vec<BoundSocket>)>,
    work: Background,
    account: Credentials,
    following: Following,
}

/// An error, if one of the other clusters has the same lock tables.
fn shares_tables(
    others: &[RunningCluster],
    name: Option<&str>,
    tables: Option<&(String, String)>,
) -> Option<StartError> {
    let (_, schema) = tables?;
    let other = others.iter().find(|other| other.tables.as_ref() == tables)?;
    Some(StartError::Shared {
        one: other.name.clone().unwrap_or_default(),
        other: name.unwrap_or_default().to_owned(),
        schema: schema.clone(),
    })
}

/// The settings of each listener, and its sockets.
fn bind(
    listeners: &[Config],
    sockets: &mut Sockets,
) -> Result<Vec<(InForce, Vec<BoundSocket>)>, StartError> {
    let mut bound = Vec::new();
    for config in listeners {
        let in_force = InForce::load(config.clone())?;
        let listen = config.listen.iter();
        let listen: Result<Vec<_>, _> = listen.map(|at| sockets.clients(at)).collect();
        bound.push((in_force, listen?));
    }
    Ok(bound)
}

impl RunningCluster {
    /// Starts one; the others must not have the same lock tables.
    pub(super) async fn start(
        cluster: ClusterPlan,
        registry: &Registry,
        others: &[Self],
        sockets: &mut Sockets,
    ) -> Result<Self, StartError> {
        let ClusterPlan { name, listeners } = cluster;
        let bound = bind(&listeners, sockets)?;
        let addresses: Vec<_> =
            bound.iter().flat_map(|(_, sockets)| sockets).map(BoundSocket::address).collect();
        let (config, following) = (&listeners[0], Following::begin(&listeners[0]));
        let parts = match config.mode {
            Mode::Observe => observing::parts(config, name.as_deref(), &following).await?,
            Mode::Durable | Mode::Coexist => {
                granting(config, &following, name.as_deref(), &addresses[0], registry).await?
            }
        };
        let Parts {
            engine,
            gates,
            observer,
            metrics,
            spares,
            reach,
            finds_tagged,
            work,
            account,
            tables,
            server,
        } = parts;
        if let Some(shared) = shares_tables(others, name.as_deref(), tables.as_ref()) {
            work.stop().await;
            return Err(shared);
        }
        tracing::info!(
            cluster = name,
            mode = config.mode.name(),
            listen = addresses.join(", "),
            backend = %following.writer(),
            store = config.store.as_ref().map(tracing::field::debug),
            server,
            version = env!("CARGO_PKG_VERSION"),
            "ready to start"
        );
        metrics.server_info.with_label_values(&[Flavour::from_version(&server).name()]).set(1);
        let (now, hops) = bound[0].0.both();
        // Without TLS, a login of the proxy's own shows no more than a greeting does.
        if reach.problem().is_none() && hops.guard().mode().demands() {
            reach.look(&now, hops.guard(), &account).await;
            if let Some(why) = reach.problem() {
                tracing::warn!(cluster = name, "{why}");
            }
        }
        let first = Context {
            cluster: name.as_deref().map(Arc::from),
            config: now,
            in_force: bound[0].0.clone(),
            engine,
            gates,
            observer,
            shapes: Shapes::default(),
            digests: Digests::default(),
            lines: Arc::default(),
            commands: Context::command_counters(&metrics),
            switchover: Switchover::new(name.as_deref(), registry, &metrics),
            metrics,
            hops,
            spares,
            shared: None,
            reach,
            finds_tagged,
            registry: registry.clone(),
            buffers: Buffers::default(),
        };
        let each = |(in_force, sockets)| {
            let context = Context { in_force, ..first.clone() }.renewed();
            let shared = shared_connections(&context)?;
            Ok((Context { shared, ..context }, sockets))
        };
        let listeners = bound.into_iter().map(each).collect::<Result<_, StartError>>()?;
        Ok(Self { tables, name, listeners, work, account, following })
    }

    /// One for each listener.
    pub(super) fn contexts(&self) -> impl Iterator<Item = &Context> {
        self.listeners.iter().map(|(context, _)| context)
    }

    /// Those of each listener.
    pub(super) fn take_sockets(&mut self) -> impl Iterator<Item = Vec<BoundSocket>> {
        self.listeners.iter_mut().map(|(_, sockets)| std::mem::take(sockets))
    }

    fn any(&self) -> &Context {
        &self.listeners[0].0
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.any().engine
    }

    /// Work beside the sessions; runs as long as the process.
    pub(super) fn tend(&self) -> impl Future<Output = ()> + use<> {
        let Context { spares, reach, in_force, .. } = self.any();
        let settings = |in_force: &InForce| {
            let (config, hops) = in_force.both();
            (config, Arc::clone(hops.guard()))
        };
        let (one, other) = (in_force.clone(), in_force.clone());
        let guard = move || settings(&one).1;
        let tended = spares.clone().tend(self.account.clone(), guard, reach.clone());
        let watched = reach.clone().watch(move || settings(&other), self.account.clone());
        let accounts = self.contexts().filter_map(|context| {
            let secrets = Arc::clone(&context.shared.as_ref()?.secrets);
            secrets.policy().learns().then_some((follow::route(context)?, secrets))
        });
        let accounts: Vec<_> = accounts.collect();
        let known = self.contexts().filter_map(|context| {
            let Shared { programs, audits, .. } = context.shared.clone()?;
            Some((follow::route(context)?, programs, audits))
        });
        let known: Vec<_> = known.collect();
        let pools: Vec<_> = self.contexts().filter_map(|context| context.shared.clone()).collect();
        let pools = async {
            let mut tended: JoinSet<()> =
                pools.into_iter().map(|shared| shared.pool.tend()).collect();
            for (route, known, audited) in known {
                tended.spawn(audits::tend(route.clone(), audited));
                tended.spawn(programs::tend(route, known));
            }
            for (route, secrets) in accounts {
                tended.spawn(verifiers::tend(route, secrets));
            }
            while tended.join_next().await.is_some() {}
        };
        let contexts: Vec<&Context> = self.contexts().collect();
        let followed = follow::tend(&contexts);
        async { tokio::join!(tended, watched, pools, followed).0 }
    }

    /// Statements that wait for a planned switch go on: the proxy ends.
    pub(super) fn let_go(&self) {
        self.any().switchover.end(None, SwitchoverEnd::Stopped);
    }

    /// The view of it for administrators.
    pub(super) fn for_admin(&self) -> admin::ClusterView {
        let Context {
            metrics,
            engine,
            observer,
            in_force,
            cluster,
            reach,
            digests,
            switchover,
            ..
        } = self.any();
        admin::ClusterView {
            name: cluster.clone(),
            in_force: in_force.clone(),
            engine: Some(engine.clone()).filter(|_| observer.is_none()),
            metrics: Arc::clone(metrics),
            reach: reach.clone(),
            digests: digests.clone(),
            switchover: switchover.clone(),
            pools: self.contexts().filter_map(pool_of).collect(),
        }
    }

    /// Waits until it grants locks; not at all if it only observes.
    pub(super) async fn until_it_grants(&self) {
        while self.any().observer.is_none() && !self.engine().lease().is_good() {
            sleep(LOOK).await;
        }
    }

    /// Ends it, when all sessions are over.
    pub(super) async fn stop(self) {
        let Context { spares, reach, in_force, .. } = self.any();
        let (_, hops) = in_force.both();
        let finished = spares.finish(&self.account, hops.guard(), reach);
        let _ = timeout(LAST_MOMENT, finished).await;
        self.following.end().await;
        self.work.stop().await;
    }
}

/// Inspects the store, as soon as nobody has the lock tables locked.
async fn readiness(config: &Config, name: Option<&str>) -> Result<Readiness, StartError> {
    let mut said = false;
    loop {
        match inspect(config).await {
            Err(e @ StartError::Locked { .. }) => {
                if !std::mem::replace(&mut said, true) {
                    tracing::warn!(cluster = name, error = %e, "the start waits for the lock tables");
                }
            }
            found => return found,
        }
        // Ends with the other session's lock, or with this process.
        sleep(AGAIN).await;
    }
}

/// The start of a proxy that keeps rows.
async fn granting(
    config: &Config,
    following: &Following,
    name: Option<&str>,
    address: &str,
    registry: &Registry,
) -> Result<Parts, StartError> {
    let store = config.store()?.clone();
    let readiness = readiness(&following.found(config).await?, name).await?;
    let writer = following.writer();
    let shares = config.pooling.of_cluster;
    if let Some(why) = readiness.cannot_share().filter(|_| shares) {
        return Err(StartError::NoPool(why));
    }
    if let Some(why) = readiness.unfit_lender(config) {
        return Err(StartError::Lent { backend: writer.to_string(), why });
    }
    for warning in readiness.warnings.iter().chain(&readiness.closed) {
        tracing::warn!(cluster = name, "{warning}");
    }
    if let Some(why) = readiness.unlisted(config) {
        tracing::warn!(cluster = name, "{why}");
    }
    let metrics = Arc::new(Metrics::new(name)?.naming(&config.metrics_locks)?);
    let access = Arc::new(StoreAccess {
        url: store.clone(),
        connect_timeout: config.connect_timeout,
        writer: writer.clone(),
        open: Mutex::default(),
        home: Mutex::default(),
        metrics: Arc::clone(&metrics),
        stuck: Arc::default(),
        shares,
    });
    access.show_rights(readiness.rights);
    let (cluster, registry) = (name.map(str::to_owned), registry.clone());
    let sessions = FindSessions::new(move |of| registry.find(cluster.as_deref(), of));
    let (engine, gates, threads) = start::start(Setup {
        access,
        ttl: config.lease,
        suspends: config.on_lease_lost == OnLeaseLost::Suspend,
        addr: address.to_owned(),
        fresh: readiness.installed == Installed::Created,
        native: config.mode == Mode::Coexist,
        outlives: config.pooling.of_all,
        reclaims: config.on_failover == OnFailover::Reclaim,
        sessions: Some(sessions),
        collect_after: config.collect_after,
        state: open_state(config, &store),
    })?;
    let account = Credentials::of_store(&store);
    Ok(Parts {
        engine,
        gates,
        observer: None,
        reach: Reach::new(writer.clone(), readiness.unreachable, metrics.backend_up.clone()),
        finds_tagged: readiness.finds_tagged,
        spares: Spares::new(readiness.connect_timeout),
        metrics,
        work: Background::Locks(threads),
        account,
        tables: Some((readiness.meta.server, store.schema)),
        server: readiness.version,
    })
}

/// The state directory, if there can be one.
fn open_state(config: &Config, store: &StoreUrl) -> Option<StateDir> {
    let Some(path) = config.state_dir.as_deref() else {
        tracing::info!(
            "no state directory: `state_dir` is off, or none of STATE_DIRECTORY, XDG_STATE_HOME and HOME is set; \
             a restart after a kill waits for the lease"
        );
        return None;
    };
    let opened = StateDir::open(path, &format!("{store:?}"))
        .inspect(|_| tracing::info!(path = %path.display(), "the state directory"))
        .inspect_err(|e| {
            tracing::warn!(error = %e, "no state directory: a restart after a kill waits for the lease");
        })
        .ok();
    if let Some(warning) = private::shared_folder(path) {
        tracing::warn!("{warning}");
    }
    opened
}
