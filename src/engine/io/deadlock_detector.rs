//! Deadlocks over several proxies: each proxy publishes the waits that may be part of one, looks for
//! circles, and ends those whose victim is its own.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

use super::link::{StoreAccess, StoreLink};
use crate::engine::shared::lease::Lease;
use crate::engine::shared::wait_graph::Waits;
use crate::lock::name::Key;
use crate::store::connection::StoreError;
use crate::store::waits::{WaitEdge, WaitRow};
use crate::types::{ConnectionId, ProxyId};

/// Between looks, as long as a session that holds locks waits.
const TICK: Duration = Duration::from_millis(200);
/// Looks that each other proxy of a circle must have had since it was seen here. The first may have begun
/// before; in the next it took back what was over by then. One that has lost the store takes nothing back.
const BEATS: u64 = 2;
/// Most waits end before another proxy needs to know of them.
const TOLD_AFTER: Duration = Duration::from_millis(100);

/// A request that is to be given up.
#[derive(Debug)]
pub(in crate::engine) struct Victim {
    pub(in crate::engine) id: u64,
    /// The lock it is for.
    pub(in crate::engine) key: Key,
    /// Each connection of the circle, and the lock it waits for.
    pub(in crate::engine) circle: Vec<(ConnectionId, String)>,
}

/// Watches for as long as the process lives.
pub(in crate::engine) async fn watch(
    access: Arc<StoreAccess>,
    lease: Arc<Lease>,
    waits: Waits,
    mut peers: watch::Receiver<bool>,
    victims: mpsc::UnboundedSender<Victim>,
) {
    let mut teller = Teller { link: StoreLink::new(access), told: None };
    let mut seen: FirstBeats = HashMap::new();
    loop {
        // A deadlock inside one proxy is found as it closes.
        if peers.wait_for(|peers| *peers).await.is_err() {
            return;
        }
        if teller.told.as_ref().is_none_or(|(_, told)| told.is_empty()) {
            waits.holder_waits().await;
        }
        sleep(TICK).await;
        let Some(me) = lease.proxy() else { continue };
        let mine = waits.of_holders(TOLD_AFTER);
        let result = teller.round(me, &mine).await;
        teller.link.note_result(&result);
        let circles = match result {
            Ok(edges) => circles(&edges),
            Err(e) => {
                tracing::debug!(error = %e, "could not look for deadlocks over several proxies");
                continue;
            }
        };
        if circles.iter().flatten().any(|edge| edge.proxy == me) {
            let result = teller.beat(me).await;
            teller.link.note_result(&result);
        }
        seen = circles.iter().map(|circle| first_sight(circle, &seen)).collect();
        for circle in &circles {
            let victim = victim(circle);
            let own = mine.iter().find(|wait| wait.id == victim.id && victim.proxy == me);
            if let Some(wait) = own.filter(|_| is_current(circle, &seen, me)) {
                let shown = |edge: &WaitEdge| {
                    (edge.from, Key::from_row(&edge.key).map(|key| key.shown()).unwrap_or_default())
                };
                let circle = circle.iter().map(shown).collect();
                let _ = victims.send(Victim { id: wait.id, key: wait.key.clone(), circle });
            }
        }
    }
}

/// Circles, and the beats of their proxies when they were first seen.
type FirstBeats = HashMap<BTreeSet<u64>, HashMap<ProxyId, u64>>;

fn first_sight(circle: &[WaitEdge], seen: &FirstBeats) -> (BTreeSet<u64>, HashMap<ProxyId, u64>) {
    let ids = ids(circle);
    let now = || circle.iter().map(|edge| (edge.proxy, edge.beat)).collect();
    let first = seen.get(&ids).cloned().unwrap_or_else(now);
    (ids, first)
}

/// Whether every wait of the circle has stood since the circle was seen first.
fn is_current(circle: &[WaitEdge], seen: &FirstBeats, me: ProxyId) -> bool {
    let first = seen.get(&ids(circle));
    circle.iter().filter(|edge| edge.proxy != me).all(|edge| {
        let since = first.and_then(|first| first.get(&edge.proxy));
        since.is_some_and(|since| edge.beat.wrapping_sub(*since) >= BEATS)
    })
}

/// The waits that were published to the other proxies.
struct Teller {
    link: StoreLink,
    /// The incarnation that told them, and the ids of the waits.
    told: Option<(ProxyId, HashSet<u64>)>,
}

impl Teller {
    async fn beat(&mut self, me: ProxyId) -> Result<(), StoreError> {
        self.link.get().await?.beat(me).await
    }

    async fn round(&mut self, me: ProxyId, mine: &[WaitRow]) -> Result<Vec<WaitEdge>, StoreError> {
        let now: HashSet<u64> = mine.iter().map(|wait| wait.id).collect();
        let same = self.told.as_ref().filter(|(proxy, _)| *proxy == me).map(|(_, told)| told);
        let begun: Vec<WaitRow> = mine
            .iter()
            .filter(|wait| same.is_none_or(|told| !told.contains(&wait.id)))
            .cloned()
            .collect();
        // Rows of an incarnation that is over do not count, so all waits are told again.
        let told = self.told.iter().flat_map(|(_, told)| told);
        let ended: Vec<u64> =
            told.filter(|id| same.is_none() || !now.contains(id)).copied().collect();
        if !begun.is_empty() || !ended.is_empty() {
            let conn = self.link.get().await?;
            // Remembered before it is done: taken back in any case.
            let all = self.told.take().map(|(_, told)| told).unwrap_or_default();
            self.told = Some((me, all.union(&now).copied().collect()));
            conn.tell_waits(me, &begun, &ended).await?;
        }
        self.told = Some((me, now));
        if mine.is_empty() {
            // No session waits any more: most of the time this connection is not needed.
            self.link.drop_connection();
            return Ok(Vec::new());
        }
        self.link.get().await?.read_waits().await
    }
}

/// The circles of waits.
fn circles(edges: &[WaitEdge]) -> Vec<Vec<WaitEdge>> {
    let of: HashMap<ConnectionId, &WaitEdge> = edges.iter().map(|e| (e.from, e)).collect();
    let mut done: HashSet<ConnectionId> = HashSet::new();
    let mut circles = Vec::new();
    for start in edges {
        // Each session waits for one other: the way from it ends, or runs into itself.
        let mut way: Vec<WaitEdge> = Vec::new();
        let mut at = Some(start);
        while let Some(edge) = at.filter(|edge| done.insert(edge.from)) {
            way.push(edge.clone());
            at = of.get(&edge.to).copied();
        }
        if let Some(back) = at.and_then(|edge| way.iter().position(|w| w.from == edge.from)) {
            circles.push(way.split_off(back));
        }
    }
    circles
}

/// The wait to be given up: the lightest, and of these the one that was told last. All proxies
/// choose the same.
fn victim(circle: &[WaitEdge]) -> &WaitEdge {
    let mut victim = &circle[0];
    for edge in circle {
        if (edge.weight, u64::MAX - edge.seq) < (victim.weight, u64::MAX - victim.seq) {
            victim = edge;
        }
    }
    victim
}

fn ids(circle: &[WaitEdge]) -> BTreeSet<u64> {
    circle.iter().map(|edge| edge.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: u64, to: u64, weight: u32) -> WaitEdge {
        WaitEdge {
            id: from,
            seq: from,
            proxy: ProxyId(1),
            weight,
            from: ConnectionId(from),
            to: ConnectionId(to),
            key: Vec::new(),
            beat: 0,
        }
    }

    #[test]
    fn a_wait_counts_while_its_proxy_goes_on_looking() {
        let circle = |beat| [edge(1, 2, 0), WaitEdge { proxy: ProxyId(2), beat, ..edge(2, 1, 0) }];
        let mut seen = FirstBeats::new();
        for (beat, current) in [(7, false), (7, false), (8, false), (9, true)] {
            seen = [first_sight(&circle(beat), &seen)].into();
            assert_eq!(is_current(&circle(beat), &seen, ProxyId(1)), current, "{beat}");
        }
        seen.clear();
        seen.extend([first_sight(&circle(9), &seen)]);
        assert!(!is_current(&circle(9), &seen, ProxyId(1)), "seen anew");
    }

    #[test]
    fn circles_are_found_and_nothing_else() {
        let edges = [
            (1, 2),
            (2, 3),
            (3, 1), // a circle
            (4, 1),
            (5, 4), // into it
            (6, 7),
            (7, 8), // a way that ends
            (10, 11),
            (11, 10), // another circle
        ];
        let edges: Vec<WaitEdge> = edges.map(|(from, to)| edge(from, to, 0)).to_vec();
        for turn in 0..edges.len() {
            let mut edges = edges.clone();
            edges.rotate_left(turn);
            let mut found: Vec<Vec<u64>> =
                circles(&edges).iter().map(|c| ids(c).into_iter().collect()).collect();
            found.sort();
            assert_eq!(found, [vec![1, 2, 3], vec![10, 11]]);
        }
    }

    #[test]
    fn the_last_of_the_lightest_gives_up() {
        let circle = [edge(1, 2, 1), edge(2, 3, 0), edge(3, 4, 0), edge(4, 1, 2)];
        assert_eq!(victim(&circle).id, 3);
    }
}
