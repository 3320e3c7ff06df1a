//! For how long a proxy keeps names that no session of it has locked: `keep_names`.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The setting in force, and whether the server allows it.
#[derive(Clone)]
pub struct KeepNames {
    setting: Arc<dyn Fn() -> Duration + Send + Sync>,
    /// The server's lists show the sessions of a proxy that is gone. Its rows may not: they may be older than its locks.
    found: Arc<AtomicBool>,
    /// Names are kept now: rows may be older than locks.
    on: Arc<AtomicBool>,
}

impl KeepNames {
    /// Names are kept as long as `setting` says; not at all for zero.
    pub fn new(setting: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self { setting: Arc::new(setting), found: Arc::default(), on: Arc::default() }
    }

    /// Whether the server's lists show the sessions of a proxy that is gone.
    pub fn set_found(&self, found: bool) {
        self.found.store(found, Ordering::Relaxed);
    }

    /// Whether rows may be older than locks.
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Names are kept from now on, or not.
    pub(in crate::engine) fn set_on(&self, on: bool) {
        self.on.store(on, Ordering::Relaxed);
    }

    /// For how long names are kept; `None`: none is.
    pub(in crate::engine) fn time(&self) -> Option<Duration> {
        let keep = (self.setting)();
        (!keep.is_zero() && self.found.load(Ordering::Relaxed)).then_some(keep)
    }

    /// As [`Self::time`], for the row of the proxy; 0: none is kept.
    pub(in crate::engine) fn milliseconds(&self) -> u32 {
        let milliseconds = |keep: Duration| u32::try_from(keep.as_millis()).unwrap_or(u32::MAX);
        self.time().map_or(0, milliseconds)
    }
}

impl fmt::Debug for KeepNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeepNames").field("time", &self.time()).finish_non_exhaustive()
    }
}
