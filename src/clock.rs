//! CLOCK_BOOTTIME: the only clock that leases are judged by.
//!
//! `std::time::Instant` is CLOCK_MONOTONIC on Linux and stops while the machine is suspended, so
//! a holder would sleep through its deadline.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Time since boot, suspends included.
pub fn now() -> Duration {
    let t = clock_gettime(ClockId::Boottime);
    Duration::new(t.tv_sec.unsigned_abs(), u32::try_from(t.tv_nsec).unwrap_or(0))
}
