//! The waits of this proxy's sessions as a graph, which finds deadlocks as they close.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::lock::name::Key;
use crate::store::waits::WaitRow;
use crate::types::ConnectionId;

/// A session's wait for a lock. A session waits for one lock at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine) struct Wait {
    /// Id of the request.
    pub(in crate::engine) id: u64,
    pub(in crate::engine) key: Key,
    /// The more often it was given up to end a deadlock, the later it is again; ties fall on the
    /// one that closes the circle. Always 0 on MySQL, which does not count.
    pub(in crate::engine) weight: u32,
    /// Whether the session holds locks; if not, no other session waits for it.
    pub(in crate::engine) holds: bool,
    pub(in crate::engine) since: Instant,
}

/// All waits.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct Waits(Arc<Graph>);

#[derive(Debug, Default)]
struct Graph {
    waits: Mutex<HashMap<ConnectionId, Wait>>,
    /// A session that holds locks has begun to wait.
    begun: Notify,
}

/// A wait's entry, struck off when it is dropped.
#[derive(Debug)]
pub(in crate::engine) struct Edge {
    waits: Waits,
    conn: ConnectionId,
    id: u64,
}

impl Drop for Edge {
    fn drop(&mut self) {
        let mut waits = self.waits.0.waits.lock();
        if waits.get(&self.conn).is_some_and(|w| w.id == self.id) {
            waits.remove(&self.conn);
        }
    }
}

impl Waits {
    /// Enters a wait.
    pub(in crate::engine) fn enter(&self, conn: ConnectionId, wait: Wait) -> Edge {
        let id = wait.id;
        if wait.holds {
            self.0.begun.notify_one();
        }
        self.0.waits.lock().insert(conn, wait);
        Edge { waits: self.clone(), conn, id }
    }

    /// Returns when a session that holds locks waits, or did since the last call.
    pub(in crate::engine) async fn holder_waits(&self) {
        if !self.0.waits.lock().values().any(|wait| wait.holds) {
            self.0.begun.notified().await;
        }
    }

    /// Waits of sessions that hold locks, if they have taken some time.
    pub(in crate::engine) fn of_holders(&self, time: Duration) -> Vec<WaitRow> {
        let waits = self.0.waits.lock();
        let long = waits.iter().filter(|(_, w)| w.holds && w.since.elapsed() >= time);
        long.map(|(conn, w)| WaitRow {
            id: w.id,
            conn: *conn,
            weight: w.weight,
            key: w.key.clone(),
        })
        .collect()
    }

    /// The wait to be given up if that of `conn` closes a circle, and the waits around it. `holder` tells
    /// which connection here has a key.
    pub(in crate::engine) fn victim(
        &self,
        conn: ConnectionId,
        holder: impl Fn(&Key) -> Option<ConnectionId>,
    ) -> Option<(Wait, Vec<(ConnectionId, Key)>)> {
        let waits = self.0.waits.lock();
        let closing = waits.get(&conn)?;
        let mut circle = vec![(conn, closing.key.clone())];
        let mut victim = closing;
        let mut at = closing;
        // A session waits for one lock, and a lock has one holder: one way, and it either ends,
        // comes back, or runs into a circle that is not this one's.
        for _ in 0..waits.len() {
            let next = holder(&at.key)?;
            if next == conn {
                return Some((victim.clone(), circle));
            }
            at = waits.get(&next)?;
            circle.push((next, at.key.clone()));
            if at.weight < victim.weight {
                victim = at;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::name::plain;
    use crate::types::Flavour;

    fn key(name: &str) -> Key {
        plain(name.as_bytes(), Flavour::MariaDb).expect("valid").key
    }

    /// Sessions `0..n`, where `i` holds key `i` and waits for key `i + 1`.
    fn chain(weights: &[u32]) -> (Waits, Vec<Edge>) {
        let waits = Waits::default();
        let edges = (0..).zip(weights).map(|(i, weight)| {
            let key = key(&(i + 1).to_string());
            let wait = Wait { id: i, key, weight: *weight, holds: true, since: Instant::now() };
            waits.enter(ConnectionId(i), wait)
        });
        let edges = edges.collect();
        (waits, edges)
    }

    fn holder(sessions: u64) -> impl Fn(&Key) -> Option<ConnectionId> {
        move |k| {
            let i = (0..=sessions).find(|i| *k == key(&i.to_string()))?;
            Some(ConnectionId(i % sessions))
        }
    }

    #[test]
    fn the_wait_that_closes_the_circle_gives_up_unless_it_did_more_often() {
        for (weights, expected) in
            [(&[0, 0][..], 1), (&[0, 0, 0], 2), (&[0, 1], 0), (&[1, 1], 1), (&[2, 0, 1], 1)]
        {
            let (waits, _edges) = chain(weights);
            let n = weights.len() as u64;
            let victim = waits.victim(ConnectionId(n - 1), holder(n));
            let (victim, circle) = victim.expect("a circle");
            assert_eq!((victim.id, circle.len()), (expected, weights.len()), "{weights:?}");
        }
    }

    #[test]
    fn a_long_chain_is_no_circle_and_a_finished_wait_no_edge() {
        let (waits, mut edges) = chain(&[0; 100]);
        let open = |k: &Key| holder(101)(k);
        assert!(waits.victim(ConnectionId(0), open).is_none());
        let closed = holder(100);
        assert!(waits.victim(ConnectionId(99), &closed).is_some());
        edges.remove(50);
        assert!(waits.victim(ConnectionId(99), &closed).is_none());
    }

    #[test]
    fn a_circle_of_others_is_not_run_through_for_ever() {
        let (waits, _edges) = chain(&[0, 0]);
        let _late = waits.enter(
            ConnectionId(9),
            Wait { id: 9, key: key("1"), weight: 0, holds: false, since: Instant::now() },
        );
        assert!(waits.victim(ConnectionId(9), holder(2)).is_none());
    }
}
