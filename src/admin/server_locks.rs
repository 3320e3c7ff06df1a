//! Locks that only the server holds, in mode coexist: they have no row, so no token, and no proxy can release
//! them.

use std::collections::HashSet;
use std::time::Duration;

use super::control::{ClusterView, Control, in_cluster};
use super::locks::seen;
use super::table::Cell;
use crate::engine::handle::Engine;
use crate::engine::io::last_known::is_like;
use crate::engine::io::native_locks::DirectLock;
use crate::lock::name::{Key, Name, is_plain, plain, shown};
use crate::protocol::reply::ErrorReply;
use crate::store::overview::LockInfo;
use crate::types::{BackendId, Flavour};

/// A list of before that is shown without its age: the server is asked each second.
const FRESH: Duration = Duration::from_secs(3);

/// A lock that only the server holds.
pub(super) struct ServerLock {
    pub(super) key: Key,
    pub(super) name: String,
    pub(super) conn: BackendId,
    /// user@host, if the server tells it.
    pub(super) owner: Option<String>,
    pub(super) flavour: Flavour,
    /// Whether its holder is a session of this proxy.
    pub(super) here: bool,
    /// How long ago the server listed it, unless that was just now.
    pub(super) ago: Option<Duration>,
}

impl Control {
    /// The server's own locks of a cluster whose names match a LIKE pattern, without those that have a row by now.
    pub(super) fn server_locks(
        &self,
        cluster: &ClusterView,
        engine: &Engine,
        like: Option<&str>,
        rows: &[LockInfo],
    ) -> Vec<ServerLock> {
        let listed = engine.direct_locks();
        let ago = listed.age().filter(|age| *age > FRESH);
        let held: HashSet<(&[u8], u64)> = rows.iter().map(|row| (&row.key[..], row.conn)).collect();
        let mut locks = listed.list();
        locks.retain(|lock| !held.contains(&(lock.name.key.as_bytes(), lock.conn.0)));
        let conns: HashSet<BackendId> = locks.iter().map(|lock| lock.conn).collect();
        let here = self.registry.find(cluster.name.as_deref(), &conns);
        let seen = |DirectLock { conn, name: Name { key, given }, owner, flavour }| ServerLock {
            key,
            name: shown(&given),
            conn,
            owner,
            flavour,
            here: here.contains_key(&conn),
            ago,
        };
        let mut locks: Vec<ServerLock> = locks.into_iter().map(seen).collect();
        locks.retain(|lock| like.is_none_or(|pattern| is_like(&lock.name, pattern)));
        locks.sort_by(|a, b| a.name.cmp(&b.name));
        locks
    }

    /// Why a lock without a row cannot be released, and what to do instead; `None` if only rows are known.
    pub(super) fn held_by_server(
        &self,
        name: &str,
        cluster: Option<&str>,
    ) -> Result<Option<String>, ErrorReply> {
        for cluster in self.meant(cluster)? {
            let Some(engine) = &cluster.engine else { continue };
            let locks = self.server_locks(cluster, engine, None, &[]);
            if let Some(lock) = locks.into_iter().find(|lock| lock.is_named(name)) {
                return Ok(Some(lock.advice(&in_cluster(cluster))));
            }
        }
        Ok(None)
    }
}

impl ServerLock {
    /// As it is shown, or as the server compares names where that is known here.
    fn is_named(&self, name: &str) -> bool {
        let known = plain(name.as_bytes(), self.flavour).filter(|_| is_plain(name.as_bytes()));
        self.name == name || known.is_some_and(|known| known.key == self.key)
    }

    /// A row of SHOW LOCKS. `address`: where this proxy listens.
    pub(super) fn cells(self, cluster: Cell, address: Option<&str>, waiters: u64) -> Vec<Cell> {
        let here = |text| Cell::text(Some(text).filter(|_| self.here));
        vec![
            cluster,
            Cell::Text(self.name),
            Cell::Text("server".to_owned()),
            Cell::Null,
            address.map_or(Cell::Null, here),
            here("live"),
            Cell::Number(self.conn.0),
            Cell::text(self.owner),
            Cell::Null,
            Cell::Null,
            Cell::Number(waiters),
            seen(self.ago),
        ]
    }

    fn advice(&self, place: &str) -> String {
        let Self { conn, owner, here, .. } = self;
        let whose = owner.as_ref().map_or_else(String::new, |owner| format!(" of {owner}"));
        let held = format!(
            "only the server holds this lock{place}: it has no row. Connection {conn}{whose} has it"
        );
        if *here {
            format!("{held}, a session of this proxy. End that session: lockstead kill {conn}")
        } else {
            format!(
                "{held}, which is no session of this proxy. End that session at the server: KILL {conn}"
            )
        }
    }
}
