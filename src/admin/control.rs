//! Carries commands out.

use std::sync::Arc;

use tokio::sync::{Mutex, mpsc, watch};

use super::command::{Command, HELP, Own};
use super::login::Who;
use super::own;
use super::table::{Cell, Kind, NOTES, Table};
use super::upgrade::Upgrade;
use crate::backend::reach::Reach;
use crate::config::Change;
use crate::engine::handle::Engine;
use crate::engine::io::query_error::QueryError;
use crate::frontend::shared::digests::Digests;
use crate::frontend::shared::live_config::InForce;
use crate::frontend::shared::registry::Registry;
use crate::metrics::Metrics;
use crate::protocol::reply::ErrorReply;
use crate::store::sessions::KillResult;
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
    pub upgrade: Arc<Mutex<mpsc::Sender<Upgrade>>>,
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
    /// What the answer before came with.
    Notes,
    /// Done.
    Done,
    /// Done, with the rows that there are, and what it came to in words for the audit log.
    Did(Option<Table>, String),
}

/// Who gives a command.
pub(super) struct Asker<'a> {
    pub(super) who: &'a Who,
    /// Of the answer before.
    pub(super) notes: &'a [String],
}

/// `ER_UNKNOWN_ERROR`.
pub fn failed(message: String) -> ErrorReply {
    ErrorReply { code: 1105, state: "HY000", message }
}

/// `ER_EMPTY_QUERY`, as at a server.
fn empty() -> ErrorReply {
    ErrorReply { code: 1065, state: "42000", message: "Query was empty".to_owned() }
}

impl From<QueryError> for ErrorReply {
    fn from(why: QueryError) -> Self {
        let hint = match &why {
            QueryError::Store(e) if e.is_silence() => {
                ". Is the server of `store` up? SHOW LEASE says for how long this proxy's locks are certain"
            }
            _ => "",
        };
        failed(format!("the lock tables do not answer: {why}{hint}"))
    }
}

impl Control {
    /// Carries a command of somebody's out.
    pub(super) async fn run(
        &self,
        command: Command,
        asker: &Asker<'_>,
    ) -> Result<Reply, ErrorReply> {
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
            Command::Release { name, token, cluster } => {
                let who = &asker.who.name;
                return self.release(&name, token, cluster.as_deref(), who).await;
            }
            Command::Kill { id, cluster } => return self.kill(id, cluster.as_deref()).await,
            Command::Drain => return Ok(self.set_aside(true)),
            Command::Resume => return Ok(self.set_aside(false)),
            Command::Reload => return Ok(Self::told(self.read_again()?)),
            Command::Upgrade => return self.upgrade().await,
            Command::UpgradeIfNeeded => return self.upgrade_if_needed().await,
            Command::Help => help(),
            Command::Own(Own::Set) => return Ok(Reply::Done),
            Command::Own(Own::Empty) => return Err(empty()),
            Command::Own(Own::Warnings) => return Ok(Reply::Notes),
            Command::Own(Own::Errors) => {
                Table { columns: NOTES, cut: false, old: None, rows: Vec::new() }
            }
            Command::Own(Own::Select(list)) => {
                let value = |(what, name): (String, String)| {
                    Ok((name, own::value(&what, asker.who, asker.notes.len())?))
                };
                let values: Result<_, _> = list.into_iter().map(value).collect();
                return values.map(Reply::Values);
            }
        }))
    }

    /// The clusters that are meant: all, or the one of this name.
    pub(super) fn meant(&self, name: Option<&str>) -> Result<Vec<&Cluster>, ErrorReply> {
        let of = |cluster: &&Cluster| name.is_none_or(|name| cluster.name.as_deref() == Some(name));
        let meant: Vec<_> = self.clusters.iter().filter(of).collect();
        if meant.is_empty() {
            let names: Vec<_> = self.clusters.iter().filter_map(|c| c.name.as_deref()).collect();
            let there = match names.as_slice() {
                [] => "there is one, without a name".to_owned(),
                names => format!("there are {}", names.join(", ")),
            };
            let name = name.unwrap_or_default();
            return Err(failed(format!("there is no cluster {name:?}; {there}")));
        }
        Ok(meant)
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

    pub(super) fn told(changes: Vec<Change>) -> Reply {
        let all: Vec<_> = changes.iter().map(|c| format!("{} {}", c.what, c.result)).collect();
        let row = |change: Change| vec![Cell::Text(change.what), Cell::Text(change.result)];
        let columns = &[("what", Kind::Text), ("result", Kind::Text)];
        let rows = changes.into_iter().map(row).collect();
        Reply::Did(Some(Table { columns, cut: false, old: None, rows }), all.join("; "))
    }

    /// Of two clusters' servers, connections may have the same id: then nobody is hit by chance.
    async fn kill(&self, id: u64, cluster: Option<&str>) -> Result<Reply, ErrorReply> {
        let conn = ConnectionId(id);
        let meant = self.meant(cluster)?;
        let sessions = self.registry.shown(usize::MAX);
        let of = |cluster: &&Cluster| {
            let mut own = sessions.iter().filter(|session| session.cluster == cluster.name);
            own.find(|session| session.connection == conn).cloned()
        };
        let found: Vec<_> = meant.iter().filter_map(|c| Some((c, of(c)?))).collect();
        let (cluster, session) = match found.as_slice() {
            [] => {
                let message = format!("Unknown thread id: {id}; SHOW SESSIONS lists this proxy's");
                return Err(ErrorReply { code: 1094, state: "HY000", message });
            }
            [found] => found,
            several => {
                let names: Vec<_> =
                    several.iter().filter_map(|(cluster, _)| cluster.name.as_deref()).collect();
                return Err(failed(format!(
                    "the clusters {} have a session {id} each: say which, KILL {id} CLUSTER '{}'",
                    names.join(", "),
                    names.first().copied().unwrap_or_default()
                )));
            }
        };
        let Some(engine) = cluster.engine.as_ref() else {
            return Err(failed("a proxy that observes has no account to end sessions by".into()));
        };
        if engine.kill(conn).await? == KillResult::Accepted {
            let owner = String::from_utf8_lossy(&session.owner);
            return Ok(Reply::Did(None, format!("killed {owner}{}", in_cluster(cluster))));
        }
        let message = "the store account may not end sessions of others: GRANT CONNECTION_ADMIN \
                       (MariaDB: CONNECTION ADMIN) ON *.* to it"
            .to_owned();
        Err(ErrorReply { code: 1095, state: "HY000", message })
    }
}

/// For the audit log, where there may be several.
pub(super) fn in_cluster(cluster: &Cluster) -> String {
    cluster.name.as_ref().map(|name| format!(" in cluster {name}")).unwrap_or_default()
}

fn help() -> Table {
    let row = |(command, what): &(&str, &str)| {
        vec![Cell::Text((*command).to_owned()), Cell::Text((*what).to_owned())]
    };
    let columns = &[("command", Kind::Text), ("what", Kind::Text)];
    Table { columns, cut: false, old: None, rows: HELP.iter().map(row).collect() }
}
