//! The server's own locks that sessions were seen to take, where no rows are kept (mode observe).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::waits::WaitingSession;
use crate::engine::shared::history::{History, PastHold, UNSEEN};
use crate::metrics::Metrics;
use crate::types::ConnectionId;

/// Holds that are listed; gauges and histograms count all.
const MOST: usize = 100_000;

/// A lock that a session was seen to take.
#[derive(Debug, Clone)]
pub struct SeenHold {
    /// The id that the session's client was told.
    pub conn: ConnectionId,
    /// user@host.
    pub owner: Arc<[u8]>,
    /// The lock's name as people are to see it.
    pub name: Arc<str>,
    /// For how long it has been held.
    pub held: Duration,
}

type Listed = (Instant, WaitingSession, Arc<str>);

#[derive(Debug, Default)]
struct HoldList {
    /// In the order in which they were taken.
    holds: BTreeMap<u64, Listed>,
    next: u64,
}

/// The holds of a cluster's sessions at this proxy.
#[derive(Debug, Clone)]
pub struct SeenHolds {
    list: Arc<Mutex<HoldList>>,
    metrics: Arc<Metrics>,
    history: Arc<History>,
}

/// A hold that is listed as long as this lives.
#[derive(Debug)]
pub struct SeenHoldGuard {
    holds: SeenHolds,
    id: u64,
    since: Instant,
    name: Arc<str>,
    who: WaitingSession,
    /// How it ended, if that was seen.
    end: Option<&'static str>,
}

impl SeenHolds {
    /// An empty list of holds.
    pub fn new(metrics: Arc<Metrics>, history: Arc<History>) -> Self {
        Self { list: Arc::default(), metrics, history }
    }

    /// A session was seen to take a lock, for which it had waited so long.
    pub fn taken(&self, who: WaitingSession, name: Arc<str>, waited: Duration) -> SeenHoldGuard {
        let since = Instant::now();
        let mut list = self.list.lock();
        let id = list.next;
        list.next += 1;
        if list.holds.len() < MOST {
            list.holds.insert(id, (since, who.clone(), Arc::clone(&name)));
        }
        drop(list);
        self.metrics.held.inc();
        if let Some(named) = &self.metrics.named {
            named.granted(&name, waited.as_secs_f64());
        }
        SeenHoldGuard { holds: self.clone(), id, since, name, who, end: None }
    }

    /// The holds of this moment, the longest first.
    pub fn all(&self) -> Vec<SeenHold> {
        let shown = |(since, who, name): &Listed| SeenHold {
            conn: who.conn,
            owner: Arc::clone(&who.owner),
            name: Arc::clone(name),
            held: since.elapsed(),
        };
        self.list.lock().holds.values().map(shown).collect()
    }

    /// Shows how long the longest has lasted.
    pub fn measure(&self) {
        let list = self.list.lock();
        let longest =
            list.holds.values().next().map_or(Duration::ZERO, |(since, ..)| since.elapsed());
        self.metrics.longest_hold.set(longest.as_secs_f64());
    }
}

impl SeenHoldGuard {
    /// Notes how the hold was seen to end. A guard that is dropped without this is no longer followed: its hold's end
    /// is not known.
    pub fn ended(mut self, how: &'static str) {
        self.end = Some(how);
    }
}

impl Drop for SeenHoldGuard {
    fn drop(&mut self) {
        let SeenHolds { list, metrics, history } = &self.holds;
        list.lock().holds.remove(&self.id);
        metrics.held.dec();
        let held = self.since.elapsed();
        if let Some(named) = &metrics.named {
            named.ended(&self.name, self.end.map_or(0.0, |_| held.as_secs_f64()));
        }
        if self.end.is_some() {
            metrics.hold_seconds.observe(held.as_secs_f64());
        }
        history.add(|ended| PastHold {
            name: self.name.as_bytes().into(),
            token: None,
            conn: self.who.conn,
            owner: Arc::clone(&self.who.owner),
            ended,
            held,
            end: self.end.unwrap_or(UNSEEN),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::shared::history::RELEASED;

    #[test]
    fn a_hold_is_shown_until_it_ends_and_measured_if_that_was_seen() {
        let metrics = Arc::new(Metrics::new(None).expect("metrics"));
        let history = History::in_memory(10);
        let holds = SeenHolds::new(Arc::clone(&metrics), Arc::clone(&history));
        let who =
            WaitingSession { conn: ConnectionId(7), backend: None, owner: b"app@host"[..].into() };
        let take = |name: &str| holds.taken(who.clone(), name.into(), Duration::ZERO);
        let (seen, lost) = (take("a"), take("b"));
        holds.measure();
        let names: Vec<_> = holds.all().iter().map(|hold| hold.name.to_string()).collect();
        assert_eq!((names, metrics.held.get()), (vec!["a".to_owned(), "b".to_owned()], 2));
        assert!(metrics.longest_hold.get() > 0.0);
        drop(lost);
        assert_eq!(metrics.hold_seconds.get_sample_count(), 0);
        seen.ended(RELEASED);
        holds.measure();
        assert_eq!((metrics.hold_seconds.get_sample_count(), metrics.held.get()), (1, 0));
        assert!(holds.all().is_empty() && metrics.longest_hold.get() < 1e-9);
        let past: Vec<_> = history.all().into_iter().map(|past| (past.name, past.end)).collect();
        assert_eq!(past, [(b"a"[..].into(), RELEASED), (b"b"[..].into(), UNSEEN)]);
    }
}
