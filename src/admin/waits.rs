//! Waits for locks and their holders: alike in every mode, as far as they are known there.

use std::collections::HashMap;
use std::sync::Arc;

use super::control::{ClusterView, Control};
use super::table::{AdminTable, Cell, ColumnKind, MOST};
use crate::clock;
use crate::config::Mode;
use crate::engine::shared::snapshot::WaitInfo;
use crate::frontend::shared::registry::SessionInfo;
use crate::frontend::shared::waits::{LockWait, WaitCertainty, WaitNow};
use crate::lock::name::Key;
use crate::store::waiters::{LockHolder, WaitsAsked, WaitsSeen};
use crate::types::ConnectionId;

/// A wait, and what else is known of it.
struct KnownWait {
    wait: Arc<LockWait>,
    waited: f64,
    name: Cell,
    certain: bool,
    place: Option<usize>,
    holder: Option<LockHolder>,
}

impl ClusterView {
    /// The waits of this moment, the longest first.
    async fn known_waits(&self) -> Vec<KnownWait> {
        let waits = self.seen.waits.all();
        if waits.is_empty() {
            return Vec::new();
        }
        let native = self.in_force.config().mode == Mode::Coexist;
        let (seen, queued) = match &self.engine {
            Some(engine) => {
                let seen = engine.waits_seen(asked(&waits, native)).await.unwrap_or_default();
                (seen, engine.snapshot().await.waiting)
            }
            None => (self.seen_here(&waits), Vec::new()),
        };
        // By the server's own locks, the server has the queue.
        let queued: HashMap<ConnectionId, WaitInfo> =
            queued.into_iter().filter(|_| !native).map(|w| (w.conn, w)).collect();
        waits.into_iter().filter_map(|now| known(now, &seen, &queued)).collect()
    }

    /// The waits of this moment at a proxy that only observes: it knows what its own sessions hold.
    fn seen_here(&self, waits: &[WaitNow]) -> WaitsSeen {
        let all = self.seen.holds.all();
        let holder = |key: &Key| {
            let name = key.shown();
            let found = all.iter().find(|one| *one.name == *name)?;
            let owner = String::from_utf8_lossy(&found.owner).into_owned();
            Some((key.clone(), LockHolder { conn: found.conn.0, owner: Some(owner) }))
        };
        let holders = waits.iter().filter_map(|now| holder(now.wait.key.as_ref()?)).collect();
        WaitsSeen { holders, waiting: HashMap::new() }
    }

    /// How many sessions wait for each lock here, as far as that is certain.
    pub(super) fn waiting_for(&self) -> HashMap<Key, u64> {
        let mut waiting = HashMap::new();
        for now in self.seen.waits.all() {
            if let Some(key) =
                now.wait.key.as_ref().filter(|_| now.wait.certainty == WaitCertainty::Waits)
            {
                *waiting.entry(key.clone()).or_default() += 1;
            }
        }
        waiting
    }

    /// Brings gauges up to this moment that nobody changes as time goes by.
    pub fn measure(&self) {
        self.seen.waits.measure();
        if self.engine.is_none() {
            self.seen.holds.measure();
        }
        // A reload may have read others.
        let ends = &self.metrics.certificate_end;
        ends.reset();
        for (setting, end) in self.in_force.both().1.ends().each() {
            ends.with_label_values(&[setting]).set(end);
        }
    }
}

/// What the server is asked about these waits.
fn asked(waits: &[WaitNow], natively: bool) -> WaitsAsked {
    let shown = || waits.iter().take(MOST);
    let mut keys: Vec<Key> = shown().filter_map(|now| now.wait.key.clone()).collect();
    keys.sort_unstable_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
    keys.dedup();
    let conns = shown().filter_map(|now| now.wait.who.backend).collect();
    WaitsAsked { conns, keys, natively }
}

/// A wait with what the server and the engine know of it. `None`: a statement that runs others, of which the server does
/// not say that it waits.
fn known(
    now: WaitNow,
    seen: &WaitsSeen,
    queued: &HashMap<ConnectionId, WaitInfo>,
) -> Option<KnownWait> {
    let WaitNow { wait, waited } = now;
    let of_server = wait.who.backend.and_then(|backend| seen.waiting.get(&backend));
    if wait.certainty == WaitCertainty::MayCall && of_server.is_none() {
        return None;
    }
    let named = of_server.and_then(Option::as_ref).filter(|_| wait.key.is_none());
    let name = named.map_or_else(|| Cell::name(&wait.name), |name| Cell::name(&name.given));
    let key = named.map(|name| &name.key).or(wait.key.as_ref());
    let queued = queued.get(&wait.who.conn);
    let here = queued.and_then(|queued| queued.holder);
    let by_rows = key.and_then(|key| seen.holders.get(key));
    let holder = match (here, by_rows) {
        (Some(conn), Some(row)) if row.conn != conn.0 => {
            Some(LockHolder { conn: conn.0, owner: None })
        }
        (Some(conn), None) => Some(LockHolder { conn: conn.0, owner: None }),
        (_, row) => row.cloned(),
    };
    Some(KnownWait {
        certain: wait.certainty == WaitCertainty::Waits || of_server.is_some(),
        waited: waited.as_secs_f64(),
        name,
        place: queued.map(|queued| queued.place),
        holder,
        wait,
    })
}

impl Control {
    /// Sessions of this proxy that wait for a lock, the longest wait first.
    pub async fn waiters(&self) -> AdminTable {
        const COLUMNS: &[(&str, ColumnKind)] = &[
            ("cluster", ColumnKind::Text),
            ("name", ColumnKind::Text),
            ("connection_id", ColumnKind::Number),
            ("owner", ColumnKind::Text),
            ("waited_seconds", ColumnKind::Fraction),
            ("certain", ColumnKind::Text),
            ("place", ColumnKind::Number),
            ("holder", ColumnKind::Number),
            ("holder_owner", ColumnKind::Text),
        ];
        let (mut rows, mut cut) = (Vec::new(), false);
        for cluster in self.clusters.iter() {
            let waits = cluster.known_waits().await;
            cut |= waits.len() > MOST;
            rows.extend(waits.into_iter().take(MOST).map(|known| {
                let conn = known.holder.as_ref().map(|holder| holder.conn);
                let owner = known.holder.and_then(|holder| holder.owner);
                let owner = owner.or_else(|| self.owner(cluster, ConnectionId(conn?)));
                vec![
                    Cell::text(cluster.name.as_deref()),
                    known.name,
                    Cell::Number(known.wait.who.conn.0),
                    Cell::bytes(&known.wait.who.owner),
                    Cell::Seconds(known.waited),
                    Cell::yes(known.certain),
                    known.place.map_or(Cell::Null, |place| Cell::Number(place as u64)),
                    conn.map_or(Cell::Null, Cell::Number),
                    Cell::text(owner),
                ]
            }));
        }
        AdminTable { columns: COLUMNS, cut, old: None, rows }
    }

    /// user@host of a session of this proxy.
    fn owner(&self, cluster: &ClusterView, conn: ConnectionId) -> Option<String> {
        let session = self.registry.session(cluster.name.as_deref(), conn)?;
        Some(String::from_utf8_lossy(&session.shown.owner).into_owned())
    }

    /// Sessions of this proxy.
    pub async fn sessions(&self) -> AdminTable {
        const COLUMNS: &[(&str, ColumnKind)] = &[
            ("cluster", ColumnKind::Text),
            ("connection_id", ColumnKind::Number),
            ("owner", ColumnKind::Text),
            ("client", ColumnKind::Text),
            ("tls", ColumnKind::Text),
            ("age_seconds", ColumnKind::Fraction),
            ("locks", ColumnKind::Number),
            ("waits_for", ColumnKind::Text),
            ("server", ColumnKind::Text),
        ];
        // Connections to the servers of two clusters may have the same id.
        let mut locks: HashMap<(Option<Arc<str>>, ConnectionId), u64> = HashMap::new();
        let mut waits: HashMap<(Option<Arc<str>>, ConnectionId), Cell> = HashMap::new();
        for cluster in self.clusters.iter() {
            let name = |conn| (cluster.name.clone(), conn);
            let held: Vec<ConnectionId> = match &cluster.engine {
                Some(engine) => engine.snapshot().await.held.iter().map(|held| held.conn).collect(),
                None => cluster.seen.holds.all().iter().map(|held| held.conn).collect(),
            };
            for conn in held {
                *locks.entry(name(conn)).or_default() += 1;
            }
            let known = cluster.known_waits().await;
            waits.extend(known.into_iter().map(|w| (name(w.wait.who.conn), w.name)));
        }
        let mut sessions = self.registry.shown(usize::MAX);
        sessions.sort_by_key(|session| session.connection.0);
        let cut = sessions.len() > MOST;
        sessions.truncate(MOST);
        let row = |session: &Arc<SessionInfo>| {
            let age = clock::now().saturating_sub(session.opened);
            let key = (session.cluster.clone(), session.connection);
            // Of the writer, a connection may have the same id as this one of a replica.
            let holds = !session.backend.is_at_replica();
            vec![
                Cell::text(session.cluster.as_deref()),
                Cell::Number(session.connection.0),
                Cell::bytes(&session.owner),
                Cell::Text(session.peer.to_string()),
                Cell::yes(session.tls),
                Cell::Seconds(age.as_secs_f64()),
                Cell::Number(locks.get(&key).filter(|_| holds).copied().unwrap_or_default()),
                waits.get(&key).filter(|_| holds).cloned().unwrap_or(Cell::Null),
                Cell::text(session.backend.server().map(|server| server.to_string())),
            ]
        };
        AdminTable { columns: COLUMNS, cut, old: None, rows: sessions.iter().map(row).collect() }
    }
}
