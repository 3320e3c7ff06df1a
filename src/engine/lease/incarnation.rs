//! One registration of this process in the lease table, and the versions its row may have.

use std::time::Duration;

use crate::types::ProxyId;

/// Why nothing is granted yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum GrantWait {
    /// Locks may be granted.
    Over,
    /// A lock may be held that this server does not know of, until another proxy is seen renewing its lease here.
    Start,
    /// Holders may still carry their locks into this epoch, for the longest lease.
    Grace,
}

/// One registration.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Incarnation {
    pub(in crate::engine) id: ProxyId,
    pub(in crate::engine) epoch: u64,
    /// Versions the row may have: the last acknowledged one, then those of renewals whose reply
    /// was lost, which may have landed.
    pub(in crate::engine) versions: Vec<u64>,
    pub(in crate::engine) wait: GrantWait,
    /// When this process saw that its epoch was open, or later.
    pub(in crate::engine) seen: Duration,
    /// When the wait is over in any case, but for locks without rows.
    pub(in crate::engine) until: Duration,
    /// The server's start: the server holds the incarnation's locks in that run.
    pub(in crate::engine) run: i64,
    /// The incarnation came from the epoch before, and what was registered there is all here: the grace is over when
    /// all have come.
    pub(in crate::engine) early: bool,
}

impl Incarnation {
    /// A renewal goes out. The first version, which was acknowledged, is kept; of the others the
    /// oldest are forgotten.
    pub(in crate::engine) fn sent(&mut self, version: u64) {
        self.versions.push(version);
        let excess = self.versions.len().saturating_sub(VERSIONS);
        self.versions.drain(1..=excess);
    }
}

/// Versions of a row that are remembered: renewals that were sent and not answered, within one lease at
/// most.
const VERSIONS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_acknowledged_version_is_never_forgotten() {
        let (id, versions) = (ProxyId(1), vec![1000]);
        let (wait, seen, until) = (GrantWait::Over, Duration::ZERO, Duration::ZERO);
        let mut incarnation =
            Incarnation { id, epoch: 1, versions, wait, seen, until, run: 0, early: false };
        for version in 0..500 {
            incarnation.sent(version);
            assert_eq!(incarnation.versions[0], 1000);
            assert_eq!(incarnation.versions.last(), Some(&version));
            assert!(incarnation.versions.len() <= VERSIONS);
        }
    }
}
