//! The epoch as others are shown it: its number, its grace, and how this proxy came into it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::clock;

/// How this proxy came from one epoch into another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failover {
    /// The epoch that this proxy joined.
    pub epoch: u64,
    /// When, by the clock since boot.
    pub at: Duration,
    /// Since the last renewal before it.
    pub took: Duration,
    /// Locks that its sessions had and have.
    pub kept: usize,
    /// Locks whose sessions were closed.
    pub lost: usize,
}

/// What a failover can lose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FailoverMode {
    /// The last changes, registrations too: the grace lasts for the longest lease.
    #[default]
    Grace,
    /// No grant and no renewal that counted: each server that may be promoted has executed it, so that the former
    /// primary need not be fenced. The grace lasts as long.
    Witness,
    /// Nothing that was acknowledged: the servers are one cluster, or each has all of it.
    Lossless,
}

impl FailoverMode {
    /// As it is shown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Grace => "grace",
            Self::Witness => "witness",
            Self::Lossless => "lossless",
        }
    }
}

/// The epoch that was joined last.
#[derive(Debug, Default)]
pub struct Reign {
    epoch: AtomicU64,
    /// End of its grace in nanoseconds since boot; 0: there is none.
    grace_until: AtomicU64,
    last: Mutex<Option<Failover>>,
    mode: Mutex<FailoverMode>,
}

impl Reign {
    /// The number of the epoch; 0 before the first.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// What is left of its grace, in which nothing is granted; zero at the end of the time that this proxy waits.
    /// `None`: there is none.
    pub fn grace_left(&self) -> Option<Duration> {
        let until = Some(self.grace_until.load(Ordering::Acquire)).filter(|until| *until != 0)?;
        Some(Duration::from_nanos(until).saturating_sub(clock::now()))
    }

    /// The last change of the epoch, if this process has seen one.
    pub fn failover(&self) -> Option<Failover> {
        *self.last.lock()
    }

    /// What a failover can lose, as far as is known.
    pub fn mode(&self) -> FailoverMode {
        *self.mode.lock()
    }

    /// The mode has changed, as far as is known. Whether it is another one.
    pub(in crate::engine) fn set_mode(&self, mode: FailoverMode) -> bool {
        std::mem::replace(&mut *self.mode.lock(), mode) != mode
    }

    /// This epoch is joined, with a grace until then.
    pub(in crate::engine) fn join_epoch(&self, epoch: u64, grace_until: Option<Duration>) {
        self.epoch.store(epoch, Ordering::Release);
        let nanos = |until: Duration| u64::try_from(until.as_nanos()).unwrap_or(u64::MAX);
        self.grace_until.store(grace_until.map_or(0, nanos), Ordering::Release);
    }

    pub(in crate::engine) fn note(&self, failover: Failover) {
        *self.last.lock() = Some(failover);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_has_a_grace_until_it_is_over() {
        let reign = Reign::default();
        assert_eq!((reign.epoch(), reign.grace_left()), (0, None));
        reign.join_epoch(7, Some(clock::now() + Duration::from_mins(1)));
        assert!(reign.grace_left().is_some_and(|left| left > Duration::from_secs(50)));
        reign.join_epoch(7, Some(Duration::from_nanos(1)));
        assert_eq!(reign.grace_left(), Some(Duration::ZERO), "somebody must say so");
        reign.join_epoch(7, None);
        assert_eq!((reign.epoch(), reign.grace_left()), (7, None));
    }
}
