//! Waiting for what must happen.

use std::time::{Duration, Instant};

/// How long anything may take that must happen.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// Looks until there is something, and fails by name when patience ends.
pub fn eventually<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, look).unwrap_or_else(|| panic!("not within {PATIENCE:?}: {what}"))
}

/// Looks until there is something; `None` after `patience`.
pub fn within<T>(patience: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + patience;
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if Instant::now() >= end {
            return None;
        }
        std::thread::park_timeout(PAUSE);
    }
}
