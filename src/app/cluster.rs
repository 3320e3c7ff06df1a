//! One cluster: its store, its engine, its listeners.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{sleep, timeout};

use super::inspect::Readiness;
use super::parts::{Background, Parts};
use super::place::open_state;
use super::replicas::ReplicaParts;
use super::shared::{self, pool_of};
use super::sockets::{BoundSocket, Sockets};
use super::start_error::StartError;
use super::{follow, inspect, observing, same_server};
use crate::admin;
use crate::backend::own::{Credentials, Guard};
use crate::backend::reach::Reach;
use crate::backend::spares::Spares;
use crate::config::plan::ClusterPlan;
use crate::config::{Config, Mode, OnFailover};
use crate::engine::handle::Engine;
use crate::engine::handle::FindSessions;
use crate::engine::io::link::StoreAccess;
use crate::engine::setup::Setup;
use crate::engine::shared::history::History;
use crate::engine::shared::keep_names::KeepNames;
use crate::engine::shared::late_rows::LateRows;
use crate::engine::start;
use crate::frontend::session::close::LAST_MOMENT;
use crate::frontend::shared::context::{Context, Shared};
use crate::frontend::shared::live_config::InForce;
use crate::frontend::shared::registry::Registry;
use crate::frontend::shared::seen_locks::SeenLocks;
use crate::frontend::shared::shapes::Shapes;
use crate::frontend::shared::switchover::{Switchover, SwitchoverEnd};
use crate::metrics::Metrics;
use crate::net::buffers::Buffers;
use crate::servers::candidates::Candidates;
use crate::servers::find::Following;
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
    /// Of sessions at the writer, whether or not a listener leads there.
    own: Context,
    listeners: Vec<(Context, Vec<BoundSocket>)>,
    replicas: Option<ReplicaParts>,
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
async fn bind(
    listeners: &[Config],
    sockets: &mut Sockets,
) -> Result<Vec<(InForce, Vec<BoundSocket>)>, StartError> {
    same_server::refuse_own(listeners).await?;
    let mut bound = Vec::new();
    for config in listeners {
        let in_force = InForce::load(config.clone())?;
        let listen = config.listen.iter();
        let listen: Result<Vec<_>, _> = listen.map(|at| sockets.clients(at)).collect();
        bound.push((in_force, listen?));
    }
    Ok(bound)
}

/// Where it listens.
fn addresses(bound: &[(InForce, Vec<BoundSocket>)]) -> Vec<String> {
    bound.iter().flat_map(|(_, sockets)| sockets).map(BoundSocket::address).collect()
}

impl RunningCluster {
    /// Starts one; the others must not have the same lock tables.
    pub(super) async fn start(
        cluster: ClusterPlan,
        registry: &Registry,
        others: &[Self],
        sockets: &mut Sockets,
    ) -> Result<Self, StartError> {
        let ClusterPlan { name, listeners, users } = cluster;
        shared::warn_of(&users);
        let bound = bind(&listeners, sockets).await?;
        let addresses = addresses(&bound);
        let (config, following) = (&listeners[0], Following::start(&listeners[0]));
        let (now, limits) = (bound[0].0.clone(), bound[0].0.clone());
        let history = History::new(&addresses[0], move || limits.config().history);
        let parts = match config.mode {
            Mode::Observe => observing::parts(config, name.as_deref(), &following).await?,
            Mode::Durable | Mode::Coexist => {
                granting(config, now, &following, name.as_deref(), &history, registry).await?
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
        let flavour = Flavour::from_version(&server).name();
        metrics.server_info.with_label_values(&[flavour, config.mode.name()]).set(1);
        let (now, hops) = bound[0].0.both();
        try_login(name.as_deref(), &reach, (&now, hops.guard()), &account).await;
        let own = Context {
            cluster: name.as_deref().map(Arc::from),
            config: now,
            in_force: bound[0].0.clone(),
            engine,
            gates,
            observer,
            shapes: Shapes::default(),
            seen: SeenLocks::new(&metrics, history),
            lines: Arc::default(),
            commands: Context::command_counters(&metrics),
            switchover: Switchover::new(name.as_deref(), registry, &metrics),
            metrics,
            hops,
            spares,
            shared: None,
            reach,
            replicas: None,
            finds_tagged,
            registry: registry.clone(),
            buffers: Buffers::default(),
        };
        let replicas = ReplicaParts::of(&own);
        let each = |(in_force, sockets)| {
            let context = shared::given_to(own.renewed_with(in_force), &users)?;
            Ok((ReplicaParts::given_to(replicas.as_ref(), context), sockets))
        };
        let listeners = bound.into_iter().map(each).collect::<Result<_, StartError>>()?;
        Ok(Self { tables, name, own, listeners, replicas, work, account, following })
    }

    /// The context of each listener.
    pub(super) fn contexts(&self) -> impl Iterator<Item = &Context> {
        self.listeners.iter().map(|(context, _)| context)
    }

    /// The bound sockets of each listener.
    pub(super) fn take_sockets(&mut self) -> impl Iterator<Item = Vec<BoundSocket>> {
        self.listeners.iter_mut().map(|(_, sockets)| std::mem::take(sockets))
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.own.engine
    }

    /// Work beside the sessions; runs as long as the process.
    pub(super) fn tend(&self) -> impl Future<Output = ()> + use<> {
        let Context { spares, reach, in_force, .. } = &self.own;
        let settings = |in_force: &InForce| {
            let (config, hops) = in_force.both();
            (config, Arc::clone(hops.guard()))
        };
        let (one, other) = (in_force.clone(), in_force.clone());
        let guard = move || settings(&one).1;
        let tended = spares.clone().tend(self.account.clone(), guard, reach.clone());
        let watched = reach.clone().watch(move || settings(&other), self.account.clone());
        let contexts: Vec<&Context> = self.contexts().collect();
        let pools = shared::tend(&contexts);
        let shared: Vec<Shared> = contexts.iter().filter_map(|c| c.shared.clone()).collect();
        let replicas = self.replicas.as_ref().map(ReplicaParts::replicas);
        let followed = follow::tend(&self.own, shared, replicas.cloned());
        let (checked, writer) = (in_force.clone(), reach.writer().clone());
        let compared = same_server::watch(checked, writer, self.following.pairs().clone());
        let (again, account) = (in_force.clone(), self.account.clone());
        let spares = self.replicas.clone();
        let at_replicas = async move {
            if let Some(spares) = spares {
                spares.tend(account, move || settings(&again).1).await;
            }
        };
        async { tokio::join!(tended, watched, pools, followed, at_replicas, compared).0 }
    }

    /// Statements that wait for a planned switch go on: the proxy ends.
    pub(super) fn let_go(&self) {
        self.own.switchover.end(None, SwitchoverEnd::Stopped);
    }

    /// The view of it for administrators.
    pub(super) fn for_admin(&self) -> admin::ClusterView {
        let Context {
            metrics, engine, observer, in_force, cluster, reach, seen, switchover, ..
        } = &self.own;
        admin::ClusterView {
            name: cluster.clone(),
            in_force: in_force.clone(),
            engine: Some(engine.clone()).filter(|_| observer.is_none()),
            metrics: Arc::clone(metrics),
            reach: reach.clone(),
            seen: seen.clone(),
            switchover: switchover.clone(),
            pools: self.contexts().filter_map(pool_of).collect(),
            replicas: self.replicas.as_ref().map(|parts| parts.replicas().clone()),
        }
    }

    /// Waits until it grants locks; not at all if it only observes.
    pub(super) async fn until_it_grants(&self) {
        while self.own.observer.is_none() && !self.engine().lease().is_good() {
            sleep(LOOK).await;
        }
    }

    /// Ends the cluster, when all sessions are over.
    pub(super) async fn stop(self) {
        let Context { spares, reach, in_force, .. } = &self.own;
        let (_, hops) = in_force.both();
        let finished = spares.finish(&self.account, hops.guard(), reach);
        let at_replicas = async {
            if let Some(replicas) = &self.replicas {
                replicas.finish(&self.account, hops.guard()).await;
            }
        };
        let _ =
            timeout(LAST_MOMENT, async { tokio::join!(Box::pin(finished), Box::pin(at_replicas)) })
                .await;
        self.following.end().await;
        if self.own.observer.is_none() {
            let _ = timeout(LAST_MOMENT, self.own.seen.history.settled()).await;
        }
        self.work.stop().await;
    }
}

/// Whether clients get in: without TLS, a login of the proxy's own shows no more than a greeting does.
async fn try_login(
    cluster: Option<&str>,
    reach: &Reach,
    (config, guard): (&Config, &Guard),
    account: &Credentials,
) {
    if reach.problem().is_some() || !guard.mode.demands() {
        return;
    }
    reach.log_in(config, guard, account).await;
    if let Some(why) = reach.problem() {
        tracing::warn!(cluster, "{why}");
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

/// How much later than its locks a proxy in this mode may write rows.
fn delays(mode: Mode, in_force: &InForce) -> (KeepNames, Arc<LateRows>) {
    let (durable, coexists) = (mode == Mode::Durable, mode == Mode::Coexist);
    let (kept, late) = (in_force.clone(), in_force.clone());
    let keep = move || if durable { kept.config().keep_names } else { Duration::ZERO };
    let delay = move || if coexists { late.config().row_delay } else { Duration::ZERO };
    (KeepNames::new(keep), Arc::new(LateRows::new(delay)))
}

/// The start of a proxy that keeps rows.
async fn granting(
    config: &Config,
    in_force: InForce,
    following: &Following,
    name: Option<&str>,
    history: &Arc<History>,
    registry: &Registry,
) -> Result<Parts, StartError> {
    let store = config.store()?.clone();
    let found = following.found(config).await?;
    let readiness = readiness(&found, name).await?;
    let (writer, pairs, at) = (following.writer(), following.pairs(), &found.servers[0]);
    match &readiness.unchecked {
        Some(why) => pairs.doubt(at, why.clone()),
        None => pairs.prove(at),
    }
    same_server::compare_others(config, at, pairs).await?;
    let shares = config.pooling.of_cluster;
    if let Some(why) = readiness.cannot_share().filter(|_| shares) {
        return Err(StartError::NoPool(why));
    }
    if let Some(why) = readiness.unfit_lender(config) {
        return Err(StartError::Lent { backend: writer.to_string(), why });
    }
    for warning in readiness.warnings.iter().chain(&readiness.closed).chain(&readiness.unchecked) {
        tracing::warn!(cluster = name, "{warning}");
    }
    if let Some(why) = readiness.unlisted(config) {
        tracing::warn!(cluster = name, "{why}");
    }
    let metrics = Arc::new(Metrics::new(name)?.naming(&config.metrics_locks)?);
    let (keep_names, late_rows) = delays(config.mode, &in_force);
    let access = Arc::new(StoreAccess {
        url: store.clone(),
        connect_timeout: config.connect_timeout,
        writer: writer.clone(),
        pairs: pairs.clone(),
        candidates: Candidates::new(move || in_force.config().failover_candidates.clone()),
        open: Mutex::default(),
        home: Mutex::default(),
        metrics: Arc::clone(&metrics),
        stuck: Arc::default(),
        history: Arc::clone(history),
        shares,
        keep_names,
        late_rows,
        fenced: Arc::default(),
    });
    access.show_rights(readiness.rights);
    let (cluster, registry) = (name.map(str::to_owned), registry.clone());
    let sessions = FindSessions::new(move |of| registry.find(cluster.as_deref(), of));
    let (engine, gates, threads) = start::start(Setup {
        access,
        ttl: config.lease,
        addr: history.proxy().to_string(),
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
