//! Carries out commands.

use std::sync::Arc;

use tokio::sync::{Mutex, mpsc, oneshot, watch};

use super::accounts::Administrator;
use super::reply::{AdminReply, failed};
use super::table::{AdminTable, Cell, ColumnKind};
use crate::backend::pool::Pool;
use crate::backend::reach::Reach;
use crate::config::SettingChange;
use crate::engine::handle::Engine;
use crate::frontend::shared::live_config::InForce;
use crate::frontend::shared::registry::Registry;
use crate::frontend::shared::seen_locks::SeenLocks;
use crate::frontend::shared::switchover::Switchover;
use crate::metrics::Metrics;
use crate::protocol::reply::ErrorReply;
use crate::servers::replicas::Replicas;

/// A cluster, as administrators see it.
#[derive(Clone)]
pub struct ClusterView {
    /// Name of the cluster, where there may be several.
    pub name: Option<Arc<str>>,
    /// Settings of the cluster.
    pub in_force: InForce,
    /// The engine; `None` where the cluster only observes.
    pub engine: Option<Engine>,
    /// Metrics of the cluster.
    pub metrics: Arc<Metrics>,
    /// Whether its server can be reached.
    pub reach: Reach,
    /// What is shown of the locks of sessions.
    pub seen: SeenLocks,
    /// Statements wait while a switchover is prepared.
    pub switchover: Switchover,
    /// Connections that sessions share, by where their clients connect.
    pub pools: Vec<(String, Pool)>,
    /// Where sessions are that are not to be at the writer, if a listener leads there.
    pub replicas: Option<Replicas>,
}

/// The changes that a reload found, with the result of each, or why nothing was changed.
pub type Reloaded = Result<Vec<SettingChange>, String>;

/// The program on disk, if it is no longer the one that runs.
pub type Replaced = Result<Option<String>, String>;

/// Everything that commands work on.
#[derive(Clone)]
pub struct Control {
    /// At least one.
    pub clusters: Arc<[ClusterView]>,
    /// All sessions.
    pub registry: Registry,
    /// Reads the settings and certificates again.
    pub reload: Arc<dyn Fn() -> Reloaded + Send + Sync>,
    /// Checks whether the program on disk is still the one that runs.
    pub replaced: Arc<dyn Fn() -> Replaced + Send + Sync>,
    /// Starts a new process.
    pub upgrade: Arc<Mutex<mpsc::Sender<UpgradeRequest>>>,
    /// Changes when another process takes this one's place.
    pub retired: watch::Receiver<bool>,
}

/// An administrator asks for an upgrade. The answer is the new process's id, or why there is none.
pub struct UpgradeRequest(pub oneshot::Sender<Result<u32, String>>);

/// The administrator who gives a command.
pub(super) struct Caller<'a> {
    pub(super) who: &'a Administrator,
    /// The warnings of the answer before.
    pub(super) notes: &'a [String],
}

impl Control {
    /// All clusters, or the one of this name.
    pub(super) fn meant(&self, name: Option<&str>) -> Result<Vec<&ClusterView>, ErrorReply> {
        let of =
            |cluster: &&ClusterView| name.is_none_or(|name| cluster.name.as_deref() == Some(name));
        let meant: Vec<_> = self.clusters.iter().filter(of).collect();
        if meant.is_empty() {
            let names: Vec<_> = self.clusters.iter().filter_map(|c| c.name.as_deref()).collect();
            let there = match names.as_slice() {
                [] => "there is one cluster, without a name".to_owned(),
                names => format!("there are {}", names.join(", ")),
            };
            let name = name.unwrap_or_default();
            return Err(failed(format!("there is no cluster {name:?}; {there}")));
        }
        Ok(meant)
    }

    pub(super) fn engines(&self) -> impl Iterator<Item = (Cell, &Engine)> {
        let named = |c: &ClusterView| Cell::text(c.name.as_deref());
        self.clusters.iter().filter_map(move |c| Some((named(c), c.engine.as_ref()?)))
    }

    pub(super) fn read_again(&self) -> Result<Vec<SettingChange>, ErrorReply> {
        (self.reload)().map_err(|e| failed(format!("nothing was changed: {e}")))
    }

    pub(super) fn told(changes: Vec<SettingChange>) -> AdminReply {
        let all: Vec<_> = changes.iter().map(|c| format!("{} {}", c.what, c.result)).collect();
        let row = |change: SettingChange| vec![Cell::Text(change.what), Cell::Text(change.result)];
        let columns = &[("what", ColumnKind::Text), ("result", ColumnKind::Text)];
        let rows = changes.into_iter().map(row).collect();
        AdminReply::Did(Some(AdminTable::of(columns, rows)), all.join("; "))
    }
}

/// For the audit log, where there may be several.
pub(super) fn in_cluster(cluster: &ClusterView) -> String {
    cluster.name.as_ref().map(|name| format!(" in cluster {name}")).unwrap_or_default()
}
