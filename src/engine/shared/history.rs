//! The last holders of locks, in every mode: who had which lock, until when, and how that ended.
//!
//! An entry is added when a hold ends, and the oldest one goes when there is no room. So there are no more than the
//! setting says, and each has a bounded size.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::config::HistoryLimits;
use crate::types::ConnectionId;

/// The session released the lock, or was reset.
pub const RELEASED: &str = "released";
/// The end was not seen: the hold was over at the latest then.
pub const UNSEEN: &str = "unseen";
/// The lease was lost.
pub const FENCED: &str = "fenced";
/// A row of this proxy that no session had.
pub const FOUND: &str = "found";

/// Bytes of a name and of an owner that are kept: as many as the lock tables have.
const LONGEST: [usize; 2] = [255, 400];

/// A hold that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastHold {
    /// The lock's name as the client wrote it.
    pub name: Box<[u8]>,
    /// Fencing token, if the lock had a row.
    pub token: Option<u64>,
    /// The session's own id.
    pub conn: ConnectionId,
    /// user@host.
    pub owner: Arc<[u8]>,
    /// When it ended, by the wall clock: nothing is decided by it.
    pub ended: SystemTime,
    /// How long it lasted.
    pub held: Duration,
    /// How it ended: one of the words above, or the reason why the session was closed.
    pub end: &'static str,
}

#[derive(Debug, Default)]
struct Ring {
    /// The latest last.
    past: VecDeque<PastHold>,
    /// How many there have been so far.
    next: u64,
    /// How many of them need not be written any more.
    written: u64,
}

/// What is to be written.
#[derive(Debug)]
pub(in crate::engine) struct Unwritten {
    pub(in crate::engine) holds: Vec<PastHold>,
    /// How many more were forgotten.
    pub(in crate::engine) lost: u64,
    /// How many there have been, up to the last of these.
    pub(in crate::engine) next: u64,
}

/// How soon a hold is written, if few end.
const SOON: Duration = Duration::from_secs(1);
/// How often the end of writing is looked for.
const LOOK: Duration = Duration::from_millis(10);

/// The past holds of a cluster's sessions at this proxy.
pub struct History {
    proxy: Arc<str>,
    limits: Box<dyn Fn() -> HistoryLimits + Send + Sync>,
    ring: Mutex<Ring>,
    /// To be written at once: there are many, or the proxy ends.
    due: Notify,
}

impl History {
    /// Of a proxy that listens there. `limits`: what is kept now.
    pub fn new(
        proxy: &str,
        limits: impl Fn() -> HistoryLimits + Send + Sync + 'static,
    ) -> Arc<Self> {
        let (proxy, limits) = (Arc::from(proxy), Box::new(limits));
        Arc::new(Self { proxy, limits, ring: Mutex::default(), due: Notify::new() })
    }

    /// A history that keeps so many holds in memory, and nothing in the table.
    pub fn in_memory(holds: usize) -> Arc<Self> {
        Self::new("127.0.0.1:9", move || HistoryLimits { holds, rows: 0 })
    }

    /// Where the proxy listens.
    pub fn proxy(&self) -> &Arc<str> {
        &self.proxy
    }

    /// A hold has ended just now.
    pub fn add(&self, hold: impl FnOnce(SystemTime) -> PastHold) {
        let HistoryLimits { holds: most, rows } = (self.limits)();
        if most == 0 {
            return;
        }
        #[expect(clippy::disallowed_methods, reason = "nothing is decided by it")]
        let mut hold = hold(SystemTime::now());
        let [name, owner] = LONGEST;
        if let Some(start) = hold.name.get(..name).filter(|_| hold.name.len() > name) {
            hold.name = start.into();
        }
        if let Some(start) = hold.owner.get(..owner).filter(|_| hold.owner.len() > owner) {
            hold.owner = start.into();
        }
        let mut ring = self.ring.lock();
        while ring.past.len() >= most {
            ring.past.pop_front();
        }
        ring.past.push_back(hold);
        ring.next += 1;
        if rows > 0 && ring.next - ring.written > most as u64 / 2 {
            self.due.notify_one();
        }
    }

    /// Whether any are kept.
    pub fn is_on(&self) -> bool {
        (self.limits)().holds > 0
    }

    /// Rows of the table that are kept.
    pub(in crate::engine) fn rows(&self) -> u64 {
        (self.limits)().rows
    }

    /// Waits until something may have to be written.
    pub(in crate::engine) async fn is_due(&self) {
        let _ = timeout(SOON, self.due.notified()).await;
    }

    /// Up to `most` that are to be written, the oldest first.
    pub(in crate::engine) fn unwritten(&self, most: usize) -> Unwritten {
        let wanted = self.rows() > 0;
        let mut ring = self.ring.lock();
        let first = ring.next - ring.past.len() as u64;
        if !wanted {
            ring.written = ring.next;
        }
        let lost = first.saturating_sub(ring.written);
        ring.written += lost;
        let skipped = usize::try_from(ring.written - first).unwrap_or(usize::MAX);
        let holds: Vec<PastHold> = ring.past.iter().skip(skipped).take(most).cloned().collect();
        Unwritten { lost, next: ring.written + holds.len() as u64, holds }
    }

    /// Notes that the holds up to this number are written.
    pub(in crate::engine) fn wrote(&self, next: u64) {
        let mut ring = self.ring.lock();
        ring.written = ring.written.max(next);
    }

    /// Waits until all holds so far are written, if that is wanted.
    pub async fn settled(&self) {
        let waits = || {
            let ring = self.ring.lock();
            ring.written < ring.next
        };
        while self.rows() > 0 && waits() {
            self.due.notify_one();
            sleep(LOOK).await;
        }
    }

    /// The last ones, the latest first.
    pub fn all(&self) -> Vec<PastHold> {
        let most = (self.limits)().holds;
        self.ring.lock().past.iter().rev().take(most).cloned().collect()
    }
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History").field("proxy", &self.proxy).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn hold(name: &[u8], ended: SystemTime) -> PastHold {
        PastHold {
            name: name.into(),
            token: Some(1),
            conn: ConnectionId(7),
            owner: b"app@host"[..].into(),
            ended,
            held: Duration::from_secs(1),
            end: RELEASED,
        }
    }

    #[test]
    fn the_last_ones_are_kept_and_no_more_than_the_setting_says() {
        let most = Arc::new(AtomicUsize::new(3));
        let now = Arc::clone(&most);
        let limits = move || HistoryLimits { holds: now.load(Ordering::Relaxed), rows: 0 };
        let history = History::new("here", limits);
        let add = |name: &'static [u8]| history.add(|ended| hold(name, ended));
        let names = || -> Vec<u8> { history.all().iter().map(|past| past.name[0]).collect() };
        for name in [b"a", b"b", b"c", b"d"] {
            add(name);
        }
        assert_eq!(names(), b"dcb");
        most.store(2, Ordering::Relaxed);
        assert_eq!(names(), b"dc");
        add(b"e");
        assert_eq!((names(), history.ring.lock().past.len()), (b"ed".to_vec(), 2));
        most.store(0, Ordering::Relaxed);
        assert!(history.all().is_empty() && !history.is_on());
        history.add(|_| unreachable!("nothing is made for nobody"));
    }

    #[test]
    fn each_hold_is_written_once_unless_it_was_forgotten() {
        let rows = Arc::new(AtomicUsize::new(9));
        let now = Arc::clone(&rows);
        let limits = move || HistoryLimits { holds: 3, rows: now.load(Ordering::Relaxed) as u64 };
        let history = History::new("here", limits);
        let add = |names: &'static [u8]| {
            for name in names.chunks(1) {
                history.add(|ended| hold(name, ended));
            }
        };
        let next = |most: usize| {
            let Unwritten { holds, lost, next } = history.unwritten(most);
            let names: Vec<u8> = holds.iter().map(|past| past.name[0]).collect();
            (String::from_utf8(names).expect("letters"), lost, next)
        };
        add(b"ab");
        assert_eq!(next(1), ("a".to_owned(), 0, 1));
        assert_eq!(next(1), ("a".to_owned(), 0, 1), "it failed");
        history.wrote(1);
        assert_eq!(next(9), ("b".to_owned(), 0, 2));
        add(b"cdef");
        assert_eq!(next(9), ("def".to_owned(), 2, 6), "b and c are lost");
        history.wrote(6);
        assert_eq!(next(9), (String::new(), 0, 6));
        rows.store(0, Ordering::Relaxed);
        add(b"g");
        assert_eq!(next(9), (String::new(), 0, 7));
        rows.store(9, Ordering::Relaxed);
        assert_eq!(next(9), (String::new(), 0, 7), "it was not wanted then");
    }

    #[test]
    fn names_and_owners_have_a_bounded_size() {
        let history = History::in_memory(1);
        let owner = Arc::from([b'o'; 401].as_slice());
        history.add(|ended| PastHold { owner, ..hold(&[b'n'; 256], ended) });
        let [past] = history.all().try_into().expect("one");
        assert_eq!((past.name.len(), past.owner.len()), (255, 400));
    }
}
