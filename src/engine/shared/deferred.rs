//! Releases that may wait a moment: sessions leave them here, and do not wake the engine for each.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::lock::name::Key;
use crate::types::ProxyId;

/// How long they may lie here before the engine is woken.
pub(in crate::engine) const MOMENT: Duration = Duration::from_millis(2);

/// Locks with their tokens, and the incarnation that was granted them.
pub(in crate::engine) type LeftRelease = (Vec<(Key, u64)>, ProxyId);

/// What sessions have left and the engine has not taken yet.
#[derive(Debug, Default)]
pub(in crate::engine) struct Deferred {
    left: Mutex<Vec<LeftRelease>>,
    /// Whether there are some: the engine looks before each request.
    some: AtomicBool,
    /// A task watches whether the engine must be woken.
    watched: AtomicBool,
}

impl Deferred {
    /// Leaves one.
    pub(in crate::engine) fn leave(&self, release: LeftRelease) {
        let mut left = self.left.lock();
        left.push(release);
        self.some.store(true, Ordering::Release);
    }

    /// Whether the caller, who has left one, must watch from now on: ask [`Deferred::is_over`] every [`MOMENT`], and
    /// wake the engine if it is not.
    pub(in crate::engine) fn begins_watch(&self) -> bool {
        !self.watched.swap(true, Ordering::AcqRel)
    }

    /// Takes all that were left before anything that the caller has received.
    pub(in crate::engine) fn take(&self) -> Vec<LeftRelease> {
        if !self.some.load(Ordering::Acquire) {
            return Vec::new();
        }
        let mut left = self.left.lock();
        self.some.store(false, Ordering::Release);
        std::mem::take(&mut left)
    }

    /// Whether there is nothing to wake the engine for. Then the watch has ended.
    pub(in crate::engine) fn is_over(&self) -> bool {
        let left = self.left.lock();
        if left.is_empty() {
            self.watched.store(false, Ordering::Release);
        }
        left.is_empty()
    }
}
