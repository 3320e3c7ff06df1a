//! Which names are kept, and when something is to be done about them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::Duration;

use tokio::time::Instant;

use crate::engine::shared::keep_names::KeepNames;
use crate::lock::lease::Terms;
use crate::lock::name::Key;

/// Names that are kept without a session that has the lock, and names that are remembered, at most.
const MOST: usize = 65_536;
/// A name that another proxy wanted is not kept for so many times as long as others.
const WANDERS: u32 = 10;
/// After so many renewals the others have read that this proxy keeps names.
const BEATS: u32 = 3;

/// Keys, and when something is to be done about each.
#[derive(Debug, Default)]
pub(super) struct Timers(BinaryHeap<Reverse<(Instant, Key)>>);

impl Timers {
    pub(super) fn set(&mut self, at: Instant, key: Key) {
        self.0.push(Reverse((at, key)));
    }

    fn first(&self) -> Option<Instant> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    pub(super) fn next_due(&mut self, now: Instant) -> Option<Key> {
        let is_due = self.first().is_some_and(|at| at <= now);
        is_due.then(|| self.0.pop()).flatten().map(|Reverse((_, key))| key)
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

/// Which names are kept.
#[derive(Debug)]
pub(super) struct Keeping {
    setting: KeepNames,
    /// As the row of this proxy has said for long enough that the others know.
    keep: Option<Duration>,
    /// When that began to be.
    since: Option<Instant>,
    /// After this time the others have read it.
    known: Duration,
    /// Names whose lock was released lately.
    used: HashMap<Key, Instant>,
    /// Names that other proxies wanted, and until when they are not kept.
    wander: HashMap<Key, Instant>,
    /// Changes in memory, and when they are to be written.
    pub(super) unwritten: Timers,
    /// Names that are kept, and when to look at them next.
    pub(super) kept: Timers,
}

impl Keeping {
    pub(super) fn new(setting: KeepNames, ttl: Duration) -> Self {
        Self {
            setting,
            keep: None,
            since: None,
            used: HashMap::new(),
            wander: HashMap::new(),
            unwritten: Timers::default(),
            kept: Timers::default(),
            known: Terms { ttl }.heartbeat() * BEATS,
        }
    }

    /// Names are kept for this time, and the others know it.
    #[cfg(test)]
    pub(super) fn always(keep: Duration) -> Self {
        let setting = KeepNames::new(move || keep);
        setting.set_found(true);
        let mut keeping = Self::new(setting, Duration::ZERO);
        keeping.follow();
        keeping
    }

    /// Whether names may be kept at all.
    pub(super) fn is_on(&self) -> bool {
        self.keep.is_some()
    }

    /// For how long names are kept.
    pub(super) fn time(&self) -> Duration {
        self.keep.unwrap_or_default()
    }

    /// Another proxy wants a name: it is not kept for a while.
    pub(super) fn let_wander(&mut self, key: &Key) {
        if self.wander.len() < MOST {
            self.wander.insert(key.clone(), Instant::now() + self.time() * WANDERS);
        }
    }

    /// Looks at the setting again.
    fn follow(&mut self) {
        let keep = self.setting.time();
        let now = Instant::now();
        self.since = keep.map(|_| self.since.unwrap_or(now));
        self.keep = keep.filter(|_| self.since.is_some_and(|since| now - since >= self.known));
        self.setting.set_on(self.keep.is_some() || self.owns());
    }

    /// Whether a name whose lock is released now was released before within the time; and remembers it.
    pub(super) fn is_used_again(&mut self, key: &Key) -> bool {
        let Some(keep) = self.keep else { return false };
        let now = Instant::now();
        if self.wander.get(key).is_some_and(|until| *until > now) || self.kept.len() >= MOST {
            return false;
        }
        let before = self.used.get(key).copied();
        if before.is_some() || self.used.len() < MOST {
            self.used.insert(key.clone(), now);
        }
        before.is_some_and(|before| now - before < keep)
    }

    /// Forgets what is over.
    pub(super) fn tidy(&mut self) {
        self.follow();
        let now = Instant::now();
        let keep = self.keep.unwrap_or_default();
        self.used.retain(|_, used| now - *used < keep);
        self.wander.retain(|_, until| *until > now);
    }

    /// Whether rows may be older than their locks.
    pub(super) fn owns(&self) -> bool {
        self.unwritten.len() > 0 || self.kept.len() > 0
    }

    /// When the next name is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.unwritten.first().into_iter().chain(self.kept.first()).min()
    }
}
