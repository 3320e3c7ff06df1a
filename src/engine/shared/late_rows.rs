//! Locks that the server has granted, and whose rows are written a little later: mode coexist, `row_delay`.
//!
//! The server's own lock excludes every session there. Only a proxy in mode durable grants by rows alone, so it must not
//! grant while a lock without a row may be held. Each proxy says in its row of `proxies` whether that may be (`keeps`), and
//! a proxy in mode durable waits until none does (docs/adr/0044-late-rows.md).

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::types::{BackendId, ProxyId};

/// The setting in force, whether it may be followed, and the sessions that have locks without a row.
pub struct LateRows {
    delay: Box<dyn Fn() -> Duration + Send + Sync>,
    /// The server's lists show the sessions of a proxy that is gone, also those that no row names.
    found: AtomicBool,
    /// Rows may be late now.
    allowed: AtomicBool,
    sessions: Mutex<HashMap<u64, Arc<Slot>>>,
    next: AtomicU64,
}

/// One session.
#[derive(Debug)]
struct Slot {
    conn: BackendId,
    /// The incarnation under which it has locks without a row; 0: it has none.
    proxy: AtomicU64,
    /// The server's start in the run in which it has them.
    run: AtomicI64,
}

impl LateRows {
    /// Rows follow their locks after `delay`; at once for zero.
    pub fn new(delay: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self {
            delay: Box::new(delay),
            found: AtomicBool::new(false),
            allowed: AtomicBool::new(false),
            sessions: Mutex::default(),
            next: AtomicU64::new(0),
        }
    }

    /// Whether the server's lists show the sessions of a proxy that is gone.
    pub(in crate::engine) fn set_found(&self, found: bool) {
        self.found.store(found, Ordering::Relaxed);
    }

    /// How long after its lock a row is written.
    pub fn delay(&self) -> Duration {
        (self.delay)()
    }

    /// Whether rows are late here as soon as all other proxies allow it.
    pub(in crate::engine) fn is_wanted(&self) -> bool {
        !self.delay().is_zero() && self.found.load(Ordering::Relaxed)
    }

    /// Rows may be late from now on, or not. Before they may, the row of this proxy says so.
    pub(in crate::engine) fn allow(&self, allowed: bool) {
        self.allowed.store(allowed, Ordering::SeqCst);
    }

    /// Whether rows may be late now.
    pub fn is_allowed(&self) -> bool {
        self.allowed.load(Ordering::Relaxed)
    }

    /// What the row of this proxy says of locks without a row: 0 for none. `alone`: no other proxy is known to forbid
    /// them.
    pub(in crate::engine) fn for_row(&self, alone: bool) -> u32 {
        let allowed = self.allowed.load(Ordering::SeqCst);
        u32::from(allowed || (alone && self.is_wanted()) || self.are_there())
    }

    /// Whether a session has a lock without a row. After [`Self::allow`] with `false` none begins to have one.
    fn are_there(&self) -> bool {
        self.sessions.lock().values().any(|slot| slot.proxy.load(Ordering::SeqCst) != 0)
    }

    /// The connections of sessions that have locks of this incarnation without a row.
    pub(in crate::engine) fn connections(&self, proxy: ProxyId) -> Vec<u64> {
        let sessions = self.sessions.lock();
        let of = sessions.values().filter(|slot| slot.proxy.load(Ordering::SeqCst) == proxy.0);
        of.map(|slot| slot.conn.0).collect()
    }

    /// The connections of all sessions that have locks without a row.
    pub(in crate::engine) fn all_connections(&self) -> HashSet<u64> {
        let sessions = self.sessions.lock();
        let late = sessions.values().filter(|slot| slot.proxy.load(Ordering::SeqCst) != 0);
        late.map(|slot| slot.conn.0).collect()
    }

    /// Lists a session, by its connection to the server.
    pub fn enter(self: &Arc<Self>, conn: BackendId) -> LateSession {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let slot = Arc::new(Slot { conn, proxy: AtomicU64::new(0), run: AtomicI64::new(0) });
        self.sessions.lock().insert(id, Arc::clone(&slot));
        LateSession { all: Arc::clone(self), id, slot }
    }
}

impl fmt::Debug for LateRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { found, allowed, .. } = self;
        f.debug_struct("LateRows")
            .field("found", found)
            .field("allowed", allowed)
            .finish_non_exhaustive()
    }
}

/// A session that may have locks without a row. Dropped when the server no longer works for it.
#[derive(Debug)]
pub struct LateSession {
    all: Arc<LateRows>,
    id: u64,
    slot: Arc<Slot>,
}

impl LateSession {
    /// The server has granted the session a lock, in the run that began then. Whether its row may be late.
    pub fn begin(&self, proxy: ProxyId, run: i64) -> bool {
        self.slot.run.store(run, Ordering::Relaxed);
        // The keeper forbids first and looks then; this shows first and asks then. So one of them sees the other.
        let before = self.slot.proxy.swap(proxy.0, Ordering::SeqCst);
        let allowed = self.all.allowed.load(Ordering::SeqCst);
        if !allowed && before == 0 {
            self.end();
        }
        allowed
    }

    /// Each lock of the session has its row, or is released.
    pub fn end(&self) {
        self.slot.proxy.store(0, Ordering::SeqCst);
    }

    /// The server's start in the run in which the session has, or had, its locks.
    pub fn run(&self) -> i64 {
        self.slot.run.load(Ordering::Relaxed)
    }

    /// Whether the session may have a lock without a row.
    pub fn is_late(&self) -> bool {
        self.slot.proxy.load(Ordering::SeqCst) != 0
    }
}

impl Drop for LateSession {
    fn drop(&mut self) {
        self.all.sessions.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: ProxyId = ProxyId(7);

    fn late(found: bool) -> Arc<LateRows> {
        let late = LateRows::new(|| Duration::from_millis(25));
        late.set_found(found);
        Arc::new(late)
    }

    #[test]
    fn the_proxy_says_so_before_a_row_is_late_and_until_none_is() {
        let late = late(true);
        let session = late.enter(BackendId(4));
        assert!(!session.begin(ME, 1) && !session.is_late(), "not yet allowed");
        assert_eq!((late.for_row(true), late.for_row(false)), (1, 0));
        late.allow(true);
        assert!(session.begin(ME, 1));
        assert_eq!(late.for_row(false), 1, "allowed still");
        late.allow(false);
        assert_eq!((late.for_row(false), late.connections(ME)), (1, vec![4]));
        assert!(!session.begin(ME, 1) && session.is_late(), "it has one from before");
        session.end();
        assert_eq!((late.for_row(false), late.connections(ME)), (0, Vec::new()));
    }

    #[test]
    fn a_session_counts_until_the_server_is_done_with_it() {
        let late = late(true);
        late.allow(true);
        let session = late.enter(BackendId(4));
        assert!(session.begin(ME, 1));
        late.allow(false);
        assert_eq!(late.for_row(false), 1);
        drop(session);
        assert_eq!(late.for_row(false), 0);
    }

    #[test]
    fn no_row_is_late_where_the_sessions_of_a_dead_proxy_are_not_found() {
        assert_eq!(late(false).for_row(true), 0);
        let never = LateRows::new(|| Duration::ZERO);
        never.set_found(true);
        assert_eq!(never.for_row(true), 0);
    }
}
