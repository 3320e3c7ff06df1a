//! The check before bytes of a session that holds locks go to the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::close_reason::CloseReason;
use crate::engine::shared::lease::Lease;
use crate::types::ProxyId;

/// Shared by the ledger, which says what is held, and the link, which asks before it writes.
#[derive(Debug)]
pub(crate) struct LeaseGuard {
    lease: Arc<Lease>,
    /// The incarnation that granted what the session holds; 0 while it holds nothing.
    granted_by: AtomicU64,
}

impl LeaseGuard {
    /// Of a session that holds nothing.
    pub(crate) fn new(lease: Arc<Lease>) -> Self {
        Self { lease, granted_by: AtomicU64::new(0) }
    }

    /// The session holds locks of this incarnation.
    pub(crate) fn arm(&self, proxy: ProxyId) {
        self.granted_by.store(proxy.0, Ordering::Relaxed);
    }

    /// The session holds nothing any more.
    pub(crate) fn disarm(&self) {
        self.granted_by.store(0, Ordering::Relaxed);
    }

    /// Whether the session holds locks.
    pub(crate) fn is_armed(&self) -> bool {
        self.granted_by.load(Ordering::Relaxed) != 0
    }

    /// An error when the session holds locks that can no longer be vouched for.
    pub(crate) fn check(&self) -> Result<(), CloseReason> {
        match self.granted_by.load(Ordering::Relaxed) {
            0 => Ok(()),
            proxy if self.lease.vouches_for(ProxyId(proxy)) => Ok(()),
            _ => Err(CloseReason::Fenced),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_session_that_holds_locks_needs_the_lease() {
        let guard = LeaseGuard::new(Arc::default());
        assert!(guard.check().is_ok() && !guard.is_armed());
        guard.arm(ProxyId(7));
        assert!(matches!(guard.check(), Err(CloseReason::Fenced)));
        guard.disarm();
        assert!(guard.check().is_ok());
    }
}
