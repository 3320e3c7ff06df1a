//! What clients and the stage saw, on one monotonic clock.

use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

/// The time since the first call: the same clock for all threads.
pub(crate) fn now() -> Duration {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// A lock that a session had, as far as its client can be certain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hold {
    pub(crate) key: String,
    /// Unique over the whole run, unlike connection ids, which begin again with the server.
    pub(crate) session: u64,
    pub(crate) conn: u64,
    pub(crate) proxy: usize,
    /// When the reply to GET_LOCK was there.
    pub(crate) granted: Duration,
    /// When the last statement that succeeded was sent, the release included. A client that gets no
    /// error cannot be certain of more.
    pub(crate) until: Duration,
    pub(crate) token: Option<u64>,
    pub(crate) end: &'static str,
}

/// One added to a counter under the lock of its key: read, then written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Increment {
    pub(crate) key: String,
    pub(crate) session: u64,
    pub(crate) proxy: usize,
    /// When the value was asked for, and when the reply was there.
    pub(crate) asked: Duration,
    pub(crate) at: Duration,
    pub(crate) read: u64,
    /// False: nobody knows whether it was written.
    pub(crate) sure: bool,
    /// When the change that makes it was sent, and when the server said that it is made, if it did.
    pub(crate) sent: Duration,
    pub(crate) written: Duration,
}

/// A lock that was granted, told before its session has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) proxy: usize,
    pub(crate) at: Duration,
}

/// What IS_FREE_LOCK or IS_USED_LOCK said between two moments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) key: String,
    pub(crate) session: u64,
    pub(crate) from: Duration,
    pub(crate) to: Duration,
    pub(crate) said: Said,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    Free,
    Used,
    UsedBy(u64),
}

/// A GET_LOCK, from the request to its answer or to the end of the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) key: String,
    pub(crate) proxy: usize,
    pub(crate) from: Duration,
    pub(crate) to: Duration,
    pub(crate) limit: Duration,
}

/// The tokens that waiters of one proxy got, in the order in which they had queued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Queue {
    pub(crate) key: String,
    pub(crate) from: Duration,
    pub(crate) to: Duration,
    pub(crate) tokens: Vec<Option<u64>>,
}

/// Something done to proxies, network or server, from its beginning to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: &'static str,
    pub(crate) detail: String,
    /// The proxy, if it is one's own fault.
    pub(crate) proxy: Option<usize>,
    pub(crate) from: Duration,
    pub(crate) to: Duration,
}

/// An answer that was wrong whatever the others did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Oddity {
    pub(crate) key: String,
    pub(crate) at: Duration,
    pub(crate) what: String,
}

/// A session that its proxy closed because its locks were not certain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Loss {
    pub(crate) session: u64,
    pub(crate) proxy: usize,
    pub(crate) at: Duration,
    pub(crate) keys: Vec<String>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Events {
    pub(crate) holds: Vec<Hold>,
    pub(crate) grants: Vec<Grant>,
    pub(crate) increments: Vec<Increment>,
    pub(crate) looks: Vec<Look>,
    pub(crate) waits: Vec<Wait>,
    pub(crate) queues: Vec<Queue>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) oddities: Vec<Oddity>,
    pub(crate) losses: Vec<Loss>,
    /// Sessions that answered as their own history demands.
    pub(crate) sessions: u64,
}

/// Every worker writes here.
#[derive(Debug, Default)]
pub(crate) struct History(Mutex<Events>);

impl History {
    pub(crate) fn events(&self) -> MutexGuard<'_, Events> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn odd(&self, key: &str, what: impl Into<String>) {
        let (key, what) = (key.to_owned(), what.into());
        self.events().oddities.push(Oddity { key, at: now(), what });
    }
}
