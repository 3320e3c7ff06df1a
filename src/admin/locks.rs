//! Held locks, as administrators are shown them. While the lock tables do not answer, these are the locks
//! of this proxy, of which the engine knows, and those of the others as they were read last.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::control::{ClusterView, Control};
use super::table::{AdminTable, Cell, ColumnKind, MOST, SEEN};
use crate::engine::handle::Engine;
use crate::engine::io::last_known::{Old, is_like};
use crate::engine::shared::snapshot::{EngineSnapshot, HoldInfo};
use crate::frontend::shared::registry::SessionInfo;
use crate::frontend::shared::seen_holds::SeenHold;
use crate::lock::name::Key;
use crate::protocol::reply::ErrorReply;
use crate::store::overview::LockInfo;
use crate::types::ConnectionId;

impl Control {
    /// Held locks, by whatever proxy; those whose names match a LIKE pattern.
    pub async fn locks(&self, like: Option<&str>) -> Result<AdminTable, ErrorReply> {
        const COLUMNS: &[(&str, ColumnKind)] = &[
            ("cluster", ColumnKind::Text),
            ("name", ColumnKind::Text),
            ("held_by", ColumnKind::Text),
            ("token", ColumnKind::Number),
            ("proxy", ColumnKind::Text),
            ("proxy_state", ColumnKind::Text),
            ("connection_id", ColumnKind::Number),
            ("owner", ColumnKind::Text),
            ("since_utc", ColumnKind::Text),
            ("held_seconds", ColumnKind::Fraction),
            ("waiters_here", ColumnKind::Number),
            SEEN,
        ];
        let (mut rows, mut cut, mut old) = (Vec::new(), false, None);
        for cluster in self.clusters.iter() {
            let named = Cell::text(cluster.name.as_deref());
            let waiting = cluster.waiting_for();
            let Some(engine) = &cluster.engine else {
                let seen = seen_locks(cluster, like, &waiting);
                cut |= seen.len() > MOST;
                rows.extend(seen.into_iter().take(MOST));
                continue;
            };
            let known = engine.known_locks(like).await?;
            let sight = engine.snapshot().await;
            let of_server = self.server_locks(cluster, engine, like, &known.rows);
            cut |= known.rows.len().max(of_server.len()) >= MOST;
            let mut locks: Vec<LockSeen> = known.rows.into_iter().map(LockSeen::now).collect();
            if let Some(since) = &known.old {
                remember(&mut locks, since, &sight, like);
                self.complete(&mut locks, engine).await;
            }
            old = old.or(known.old);
            let waiters = |key: Option<&Key>| key.and_then(|key| waiting.get(key)).copied();
            let waiters = |key: Option<&Key>| waiters(key).unwrap_or_default();
            let with_row = locks.into_iter().map(|seen| {
                let waiters = waiters(Key::from_row(&seen.lock.key).as_ref());
                seen.cells(named.clone(), waiters)
            });
            rows.extend(with_row);
            let address =
                if of_server.iter().any(|lock| lock.here) { address(engine).await } else { None };
            let without = of_server.into_iter().map(|lock| {
                let waiters = waiters(Some(&lock.key));
                lock.cells(named.clone(), address.as_deref(), waiters)
            });
            rows.extend(without);
        }
        Ok(AdminTable { columns: COLUMNS, cut, old, rows })
    }

    /// Completes rows that come from the engine alone with what this process knows besides.
    async fn complete(&self, locks: &mut [LockSeen], engine: &Engine) {
        let address = address(engine).await;
        let sessions = self.registry.shown(usize::MAX);
        for LockSeen { lock, .. } in locks.iter_mut().filter(|seen| seen.lock.owner.is_empty()) {
            let at_writer = |s: &&Arc<SessionInfo>| !s.backend.is_at_replica();
            let mut sessions = sessions.iter().filter(at_writer);
            let session = sessions.find(|s| s.connection.0 == lock.conn);
            let owner = session.map(|s| String::from_utf8_lossy(&s.owner).into_owned());
            (lock.owner, lock.proxy) = (owner.unwrap_or_default(), address.clone());
        }
    }
}

/// The locks that the sessions of a proxy without rows were seen to take.
fn seen_locks(
    cluster: &ClusterView,
    like: Option<&str>,
    waiting: &HashMap<Key, u64>,
) -> Vec<Vec<Cell>> {
    let waiting: HashMap<String, u64> = waiting.iter().map(|(key, n)| (key.shown(), *n)).collect();
    let mut held = cluster.seen.holds.all();
    held.retain(|hold| like.is_none_or(|pattern| is_like(&hold.name, pattern)));
    held.sort_by(|a, b| a.name.cmp(&b.name));
    let address = Cell::text(cluster.in_force.config().listen.first().map(ToString::to_string));
    let cells = |hold: &SeenHold| {
        vec![
            Cell::text(cluster.name.as_deref()),
            Cell::Text(hold.name.to_string()),
            Cell::Text("server".to_owned()),
            Cell::Null,
            address.clone(),
            Cell::Text("live".to_owned()),
            Cell::Number(hold.conn.0),
            Cell::bytes(&hold.owner),
            Cell::Null,
            Cell::Seconds(hold.held.as_secs_f64()),
            Cell::Number(waiting.get(&*hold.name).copied().unwrap_or_default()),
            Cell::Null,
        ]
    };
    held.iter().map(cells).collect()
}

/// The address where this proxy listens.
async fn address(engine: &Engine) -> Option<String> {
    let me = engine.lease().proxy()?;
    let proxies = engine.known_proxies().await.ok()?;
    proxies.rows.into_iter().find(|proxy| proxy.id == me.0).map(|proxy| proxy.addr)
}

/// The last column.
pub(super) fn seen(ago: Option<Duration>) -> Cell {
    ago.map_or(Cell::Null, |ago| Cell::Seconds(ago.as_secs_f64()))
}

/// A lock, and how long ago it was read; not at all: just now.
struct LockSeen {
    lock: LockInfo,
    ago: Option<Duration>,
}

impl LockSeen {
    fn now(lock: LockInfo) -> Self {
        Self { lock, ago: None }
    }

    fn cells(self, cluster: Cell, waiters: u64) -> Vec<Cell> {
        let Self { lock, ago } = self;
        vec![
            cluster,
            Cell::Text(lock.name),
            Cell::Text("row".to_owned()),
            Cell::Number(lock.token),
            Cell::text(lock.proxy),
            Cell::text(lock.proxy_state),
            Cell::Number(lock.conn),
            Cell::Text(lock.owner),
            Cell::text(Some(lock.since).filter(|since| !since.is_empty())),
            Cell::Seconds(Duration::from_millis(lock.held_ms).as_secs_f64()),
            Cell::Number(waiters),
            seen(ago),
        ]
    }
}

/// Brings rows of before up to what the engine knows of this proxy's own locks.
fn remember(locks: &mut Vec<LockSeen>, old: &Old, sight: &EngineSnapshot, like: Option<&str>) {
    let grant = |held: &HoldInfo| (held.key.as_bytes().to_vec(), held.token);
    let mut here: HashMap<_, &HoldInfo> =
        sight.held.iter().map(|held| (grant(held), held)).collect();
    for LockSeen { lock, ago } in &mut *locks {
        if let Some(held) = here.remove(&(lock.key.clone(), lock.token)) {
            lock.held_ms = millis(held.held);
        } else {
            lock.held_ms += millis(old.age);
            *ago = Some(old.age);
        }
    }
    // Taken since.
    for held in here.into_values() {
        let name = held.key.shown();
        if like.is_none_or(|pattern| is_like(&name, pattern)) {
            locks.push(LockSeen::now(row(held, name)));
        }
    }
    locks.sort_by(|a, b| a.lock.name.cmp(&b.lock.name));
}

/// A lock of this proxy as far as the engine knows.
fn row(held: &HoldInfo, name: String) -> LockInfo {
    let ConnectionId(conn) = held.conn;
    LockInfo {
        key: held.key.as_bytes().to_vec(),
        name,
        token: held.token,
        proxy: None,
        proxy_state: Some("live".to_owned()),
        conn,
        owner: String::new(),
        since: String::new(),
        held_ms: millis(held.held),
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::name::plain;
    use crate::types::Flavour;

    #[test]
    fn own_locks_are_those_of_the_moment_and_others_have_an_age() {
        let held = |name: &str, token, seconds| HoldInfo {
            key: plain(name.as_bytes(), Flavour::MariaDb).expect("a name").key,
            token,
            conn: ConnectionId(7),
            held: Duration::from_secs(seconds),
        };
        let sight = EngineSnapshot {
            held: vec![held("a", 1, 5), held("new", 3, 1)],
            ..EngineSnapshot::default()
        };
        let of = |name: &str, token| {
            let mut lock = row(&held(name, token, 2), name.to_owned());
            lock.owner = "app@host".to_owned();
            LockSeen::now(lock)
        };
        let old = Old { age: Duration::from_secs(3), why: String::new() };
        for (like, expected) in [
            (None, &[("a", 5000, false), ("b", 5000, true), ("new", 1000, false)][..]),
            (Some("x%"), &[("a", 5000, false), ("b", 5000, true)]),
        ] {
            let mut locks = vec![of("b", 2), of("a", 1)];
            remember(&mut locks, &old, &sight, like);
            let seen: Vec<_> = locks
                .iter()
                .map(|seen| (&*seen.lock.name, seen.lock.held_ms, seen.ago == Some(old.age)))
                .collect();
            assert_eq!(seen, expected);
        }
    }
}
