//! Carries commands out.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use super::command::{Command, HELP, Own};
use super::own;
use super::table::{Cell, Kind, Table};
use super::upgrade::Upgrade;
use crate::backend::reach::Reach;
use crate::config::Change;
use crate::engine::handle::Engine;
use crate::frontend::digests::Digests;
use crate::frontend::in_force::InForce;
use crate::frontend::registry::Registry;
use crate::metrics::Metrics;
use crate::protocol::reply::ErrorReply;
use crate::types::ConnectionId;

/// A cluster, as administrators see it.
#[derive(Clone)]
pub struct Cluster {
    /// Its name, where there may be several.
    pub name: Option<Arc<str>>,
    /// Its settings.
    pub in_force: InForce,
    /// None where it only observes.
    pub engine: Option<Engine>,
    /// Its metrics.
    pub metrics: Arc<Metrics>,
    /// Whether its server can be reached.
    pub reach: Reach,
    /// What statements with lock calls came to.
    pub digests: Digests,
}

/// What was read again and what became of it, or why all stays as it was.
pub type Reloaded = Result<Vec<Change>, String>;

/// What is there in the program's place, if it is another one than the one that runs.
pub type Replaced = Result<Option<String>, String>;

/// What commands work on.
#[derive(Clone)]
pub struct Control {
    /// At least one.
    pub clusters: Arc<[Cluster]>,
    /// All sessions.
    pub registry: Registry,
    /// Reads again what can be read again.
    pub reload: Arc<dyn Fn() -> Reloaded + Send + Sync>,
    /// Looks whether the program is another one by now.
    pub replaced: Arc<dyn Fn() -> Replaced + Send + Sync>,
    /// Starts a new process.
    pub upgrade: mpsc::Sender<Upgrade>,
    /// Changes when another process takes this one's place.
    pub retired: watch::Receiver<bool>,
}

/// What a command comes to.
#[derive(Debug)]
pub(super) enum Reply {
    /// Rows.
    Rows(Table),
    /// One row of what clients ask for themselves, under the names they asked by.
    Values(Vec<(String, Cell)>),
    /// Done.
    Done,
}

pub(super) fn failed(message: String) -> ErrorReply {
    ErrorReply { code: 1105, state: "HY000", message }
}

impl Control {
    /// Carries a command of somebody's out.
    pub(super) async fn run(&self, command: Command, who: &str) -> Result<Reply, ErrorReply> {
        Ok(Reply::Rows(match command {
            Command::Locks(like) => self.locks(like.as_deref()).await?,
            Command::Waiters => self.waiters().await,
            Command::Sessions => self.sessions().await,
            Command::Proxies => self.proxies().await?,
            Command::Deadlocks => self.deadlocks().await,
            Command::Digests => self.digests()?,
            Command::Lease => self.lease(),
            Command::Backends => self.backends(),
            Command::Config => self.config(),
            Command::Metrics => self.metrics(),
            Command::Release(name, token) => self.release(&name, token, who).await?,
            Command::Kill(id) => return self.kill(id).await.map(|()| Reply::Done),
            Command::Drain => return Ok(self.set_aside(true)),
            Command::Resume => return Ok(self.set_aside(false)),
            Command::Reload => Self::told(self.read_again()?),
            Command::Upgrade => self.upgrade().await?,
            Command::UpgradeIfNeeded => self.upgrade_if_needed().await?,
            Command::Help => help(),
            Command::Own(Own::Set) => return Ok(Reply::Done),
            Command::Own(Own::Select(asked)) => {
                let values: Result<_, _> = asked.iter().map(|what| own::value(what)).collect();
                return values.map(Reply::Values);
            }
        }))
    }

    pub(super) fn engines(&self) -> impl Iterator<Item = (Cell, &Engine)> {
        let named = |c: &Cluster| Cell::text(c.name.as_deref());
        self.clusters.iter().filter_map(move |c| Some((named(c), c.engine.as_ref()?)))
    }

    /// Load balancers that ask `/readyz` send no more clients.
    fn set_aside(&self, aside: bool) -> Reply {
        self.registry.set_aside(aside);
        Reply::Done
    }

    pub(super) fn read_again(&self) -> Result<Vec<Change>, ErrorReply> {
        (self.reload)().map_err(|e| failed(format!("all stays as it was: {e}")))
    }

    pub(super) fn told(changes: Vec<Change>) -> Table {
        let row = |change: Change| vec![Cell::Text(change.what), Cell::Text(change.result)];
        let columns = &[("what", Kind::Text), ("result", Kind::Text)];
        Table { columns, rows: changes.into_iter().map(row).collect() }
    }

    async fn kill(&self, id: u64) -> Result<(), ErrorReply> {
        let conn = ConnectionId(id);
        let sessions = self.registry.shown(usize::MAX);
        let Some(session) = sessions.iter().find(|session| session.connection == conn) else {
            let message = format!("Unknown thread id: {id}; SHOW SESSIONS lists this proxy's");
            return Err(ErrorReply { code: 1094, state: "HY000", message });
        };
        let of = self.clusters.iter().find(|cluster| cluster.name == session.cluster);
        let Some(engine) = of.and_then(|cluster| cluster.engine.as_ref()) else {
            return Err(failed("a proxy that observes has no account to end sessions by".into()));
        };
        if engine.kill(conn).await.map_err(failed)? {
            return Ok(());
        }
        let message = "the store account may not end sessions of others: GRANT CONNECTION_ADMIN \
                       (MariaDB: CONNECTION ADMIN) ON *.* to it"
            .to_owned();
        Err(ErrorReply { code: 1095, state: "HY000", message })
    }
}

fn help() -> Table {
    let row = |(command, what): &(&str, &str)| {
        vec![Cell::Text((*command).to_owned()), Cell::Text((*what).to_owned())]
    };
    let columns = &[("command", Kind::Text), ("what", Kind::Text)];
    Table { columns, rows: HELP.iter().map(row).collect() }
}
