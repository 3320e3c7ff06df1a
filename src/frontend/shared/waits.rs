//! The waits for locks of a cluster's sessions, in every mode: what shows, measures or counts waits asks here.
//!
//! A session waits for one lock at a time, so there are no more waits than sessions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::lock::name::Key;
use crate::metrics::{GaugeGuard, Metrics};
use crate::types::{BackendId, ConnectionId};

/// How certain it is that a session waits for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitCertainty {
    /// The session's statement is a call of GET_LOCK, and nothing else.
    Waits,
    /// The session's statement calls GET_LOCK, and does other things too.
    Calls,
    /// The session's statement runs other statements, which may call GET_LOCK.
    MayCall,
}

/// A session that may wait.
#[derive(Debug, Clone)]
pub struct WaitingSession {
    /// The id that its client was told.
    pub conn: ConnectionId,
    /// The server's connection that works for it, if one does.
    pub backend: Option<BackendId>,
    /// user@host.
    pub owner: Arc<[u8]>,
}

/// A session's wait.
#[derive(Debug, Clone)]
pub struct LockWait {
    /// The session.
    pub who: WaitingSession,
    /// The lock, if its name is known as the server compares names.
    pub key: Option<Key>,
    /// The lock's name as the session wrote it, or what is known instead.
    pub name: Arc<[u8]>,
    /// Whether it does wait.
    pub certainty: WaitCertainty,
    /// Whether its time counts: a call with timeout 0 is no wait.
    pub measured: bool,
}

/// A wait under way.
#[derive(Debug, Clone)]
pub struct WaitNow {
    /// The wait.
    pub wait: Arc<LockWait>,
    /// How long it has lasted.
    pub waited: Duration,
}

#[derive(Debug, Default)]
struct WaitList {
    /// In the order of their beginnings.
    waits: BTreeMap<u64, (Instant, Arc<LockWait>)>,
    next: u64,
}

/// The waits of a cluster's sessions at this proxy.
#[derive(Debug, Clone)]
pub struct LockWaits {
    list: Arc<Mutex<WaitList>>,
    metrics: Arc<Metrics>,
}

/// A wait that lasts as long as this lives.
#[derive(Debug)]
pub struct WaitGuard {
    waits: LockWaits,
    id: u64,
    since: Instant,
    measured: bool,
    _waiting: Option<GaugeGuard>,
}

impl LockWaits {
    /// An empty list of waits.
    pub fn new(metrics: Arc<Metrics>) -> Self {
        Self { list: Arc::default(), metrics }
    }

    /// Adds a wait, which ends when the guard is dropped.
    pub fn add(&self, wait: LockWait) -> WaitGuard {
        let since = Instant::now();
        let certain = wait.certainty == WaitCertainty::Waits;
        let measured = certain && wait.measured;
        let mut list = self.list.lock();
        let id = list.next;
        list.next += 1;
        list.waits.insert(id, (since, Arc::new(wait)));
        drop(list);
        let waiting = certain.then(|| GaugeGuard::of(&self.metrics.waiting));
        WaitGuard { waits: self.clone(), id, since, measured, _waiting: waiting }
    }

    /// The waits of this moment, the longest first.
    pub fn all(&self) -> Vec<WaitNow> {
        let now = Instant::now();
        let shown = |(since, wait): &(Instant, Arc<LockWait>)| WaitNow {
            wait: Arc::clone(wait),
            waited: now.saturating_duration_since(*since),
        };
        self.list.lock().waits.values().map(shown).collect()
    }

    /// Shows how long the longest has lasted.
    pub fn measure(&self) {
        let list = self.list.lock();
        let oldest = list.waits.values().find(|(_, wait)| wait.certainty == WaitCertainty::Waits);
        let longest = oldest.map_or(Duration::ZERO, |(since, _)| since.elapsed());
        self.metrics.longest_wait.set(longest.as_secs_f64());
    }
}

impl Drop for WaitGuard {
    fn drop(&mut self) {
        self.waits.list.lock().waits.remove(&self.id);
        if self.measured {
            self.waits.metrics.wait_seconds.observe(self.since.elapsed().as_secs_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(conn: u64, certainty: WaitCertainty, measured: bool) -> LockWait {
        let owner = b"app@host"[..].into();
        LockWait {
            who: WaitingSession { conn: ConnectionId(conn), backend: None, owner },
            key: None,
            name: b"k"[..].into(),
            certainty,
            measured,
        }
    }

    #[test]
    fn a_wait_is_shown_until_it_ends_and_measured_at_its_end() {
        let metrics = Arc::new(Metrics::new(None).expect("metrics"));
        let waits = LockWaits::new(Arc::clone(&metrics));
        let perhaps = waits.add(wait(1, WaitCertainty::Calls, true));
        let first = waits.add(wait(2, WaitCertainty::Waits, true));
        let once = waits.add(wait(3, WaitCertainty::Waits, false));
        let conns: Vec<u64> = waits.all().iter().map(|now| now.wait.who.conn.0).collect();
        assert_eq!(conns, [1, 2, 3]);
        assert_eq!(metrics.waiting.get(), 2, "one of them may do something else");
        std::thread::yield_now();
        waits.measure();
        assert!(metrics.longest_wait.get() > 0.0);
        drop((perhaps, once));
        assert_eq!(metrics.wait_seconds.get_sample_count(), 0);
        drop(first);
        waits.measure();
        assert_eq!((metrics.wait_seconds.get_sample_count(), metrics.waiting.get()), (1, 0));
        assert!(waits.all().is_empty() && metrics.longest_wait.get() < 1e-9);
    }
}
