//! The last holders of locks, in every mode: who had which lock, until when, and how that ended.
//!
//! An entry is added when a hold ends, and the oldest one goes when there is no room. So there are no more than the
//! setting says, and each has a bounded size.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

use crate::types::ConnectionId;

/// Its session released it, or was reset.
pub const RELEASED: &str = "released";
/// How it ended was not seen: it was over at the latest then.
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
}

/// Those of a cluster's sessions at this proxy.
pub struct History {
    proxy: Arc<str>,
    most: Box<dyn Fn() -> usize + Send + Sync>,
    ring: Mutex<Ring>,
}

impl History {
    /// Of a proxy that listens there. `most`: how many are kept now.
    pub fn new(proxy: &str, most: impl Fn() -> usize + Send + Sync + 'static) -> Arc<Self> {
        let (proxy, most) = (Arc::from(proxy), Box::new(most));
        Arc::new(Self { proxy, most, ring: Mutex::default() })
    }

    /// Where the proxy listens.
    pub fn proxy(&self) -> &Arc<str> {
        &self.proxy
    }

    /// A hold has ended just now.
    pub fn add(&self, hold: impl FnOnce(SystemTime) -> PastHold) {
        let most = (self.most)();
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
    }

    /// Whether any are kept.
    pub fn is_on(&self) -> bool {
        (self.most)() > 0
    }

    /// The last ones, the latest first.
    pub fn all(&self) -> Vec<PastHold> {
        let most = (self.most)();
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
        let history = History::new("here", move || now.load(Ordering::Relaxed));
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
    fn names_and_owners_have_a_bounded_size() {
        let history = History::new("here", || 1);
        let owner = Arc::from([b'o'; 401].as_slice());
        history.add(|ended| PastHold { owner, ..hold(&[b'n'; 256], ended) });
        let [past] = history.all().try_into().expect("one");
        assert_eq!((past.name.len(), past.owner.len()), (255, 400));
    }
}
