//! Carries out commands.

use std::sync::Arc;

use tokio::sync::{Mutex, mpsc, oneshot, watch};

use super::administrator::Administrator;
use super::client_queries;
use super::command::{AdminCommand, ClientQuery, HELP};
use super::reply::{AdminReply, empty, failed};
use super::table::{AdminTable, Cell, ColumnKind, NOTES};
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
    /// Carries out a command.
    pub(super) async fn run(
        &self,
        command: AdminCommand,
        caller: &Caller<'_>,
    ) -> Result<AdminReply, ErrorReply> {
        Ok(AdminReply::Rows(match command {
            AdminCommand::Locks(like) => self.locks(like.as_deref()).await?,
            AdminCommand::History(like) => self.history(like.as_deref())?,
            AdminCommand::Waiters => self.waiters().await,
            AdminCommand::Sessions => self.sessions().await,
            AdminCommand::Pool => self.pool(),
            AdminCommand::Proxies => self.proxies().await?,
            AdminCommand::Deadlocks => self.deadlocks().await,
            AdminCommand::Lease => self.lease(),
            AdminCommand::Backends => self.backends(),
            AdminCommand::Config => self.config(),
            AdminCommand::Metrics => self.metrics(),
            AdminCommand::Release { name, token, cluster } => {
                let who = &caller.who.name;
                return self.release(&name, token, cluster.as_deref(), who).await;
            }
            AdminCommand::Kill { id, cluster } => return self.kill(id, cluster.as_deref()).await,
            AdminCommand::Switchover => self.switchovers(),
            AdminCommand::PrepareSwitchover { hold, cluster } => {
                return self.prepare_switchover(hold, cluster.as_deref()).await;
            }
            AdminCommand::CancelSwitchover { cluster } => {
                return self.cancel_switchover(cluster.as_deref());
            }
            AdminCommand::Drain => return Ok(self.set_aside(true)),
            AdminCommand::Resume => return Ok(self.set_aside(false)),
            AdminCommand::Reload => return Ok(Self::told(self.read_again()?)),
            AdminCommand::Upgrade => return self.upgrade().await,
            AdminCommand::UpgradeIfNeeded => return self.upgrade_if_needed().await,
            AdminCommand::Help => help(),
            AdminCommand::Client(ClientQuery::Set) => return Ok(AdminReply::Done),
            AdminCommand::Client(ClientQuery::Empty) => return Err(empty()),
            AdminCommand::Client(ClientQuery::Warnings) => return Ok(AdminReply::Notes),
            AdminCommand::Client(ClientQuery::Errors) => {
                AdminTable { columns: NOTES, cut: false, old: None, rows: Vec::new() }
            }
            AdminCommand::Client(ClientQuery::Select(list)) => {
                let value = |(what, name): (String, String)| {
                    Ok((name, client_queries::value(&what, caller.who, caller.notes.len())?))
                };
                let values: Result<_, _> = list.into_iter().map(value).collect();
                return values.map(AdminReply::Values);
            }
        }))
    }

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

    /// Load balancers that ask `/readyz` send no more clients.
    fn set_aside(&self, aside: bool) -> AdminReply {
        self.registry.set_aside(aside);
        AdminReply::Done
    }

    pub(super) fn read_again(&self) -> Result<Vec<SettingChange>, ErrorReply> {
        (self.reload)().map_err(|e| failed(format!("nothing was changed: {e}")))
    }

    pub(super) fn told(changes: Vec<SettingChange>) -> AdminReply {
        let all: Vec<_> = changes.iter().map(|c| format!("{} {}", c.what, c.result)).collect();
        let row = |change: SettingChange| vec![Cell::Text(change.what), Cell::Text(change.result)];
        let columns = &[("what", ColumnKind::Text), ("result", ColumnKind::Text)];
        let rows = changes.into_iter().map(row).collect();
        AdminReply::Did(Some(AdminTable { columns, cut: false, old: None, rows }), all.join("; "))
    }
}

/// For the audit log, where there may be several.
pub(super) fn in_cluster(cluster: &ClusterView) -> String {
    cluster.name.as_ref().map(|name| format!(" in cluster {name}")).unwrap_or_default()
}

fn help() -> AdminTable {
    let row = |(command, what): &(&str, &str)| {
        vec![Cell::Text((*command).to_owned()), Cell::Text((*what).to_owned())]
    };
    let columns = &[("command", ColumnKind::Text), ("what", ColumnKind::Text)];
    AdminTable { columns, cut: false, old: None, rows: HELP.iter().map(row).collect() }
}
