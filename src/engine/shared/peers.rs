//! The other proxies: their modes, as far as these matter to sessions, and how many there are.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::store::statement::Others;

/// The other proxies at the last renewal.
#[derive(Debug)]
pub struct Peers {
    by_rows: AtomicBool,
    native: AtomicBool,
    live: AtomicUsize,
    late: AtomicBool,
}

impl Default for Peers {
    /// Nothing is known: there may be locks that the server does not know.
    fn default() -> Self {
        Self {
            by_rows: AtomicBool::new(true),
            native: AtomicBool::new(false),
            live: AtomicUsize::new(0),
            late: AtomicBool::new(false),
        }
    }
}

impl Peers {
    /// Whether one of them may hold locks that the server does not know: it runs in mode `durable`, or it is dead
    /// and not taken over.
    pub fn hold_by_rows(&self) -> bool {
        self.by_rows.load(Ordering::Relaxed)
    }

    /// Whether a live one of them takes the server's own locks (mode `coexist`).
    pub fn hold_natively(&self) -> bool {
        self.native.load(Ordering::Relaxed)
    }

    /// Whether sessions of some of them may have locks whose rows are not written yet.
    pub(in crate::engine) fn are_late(&self) -> bool {
        self.late.load(Ordering::Relaxed)
    }

    /// How many hold a lease.
    pub(in crate::engine) fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    pub(in crate::engine) fn see(&self, others: &Others) {
        self.by_rows.store(others.by_rows, Ordering::Relaxed);
        self.native.store(others.native, Ordering::Relaxed);
        self.live.store(others.waiting.len(), Ordering::Relaxed);
        self.late.store(others.late, Ordering::Relaxed);
    }
}
