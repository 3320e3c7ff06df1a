//! The check before bytes of a session that holds locks go to the server.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::close_reason::CloseReason;
use crate::engine::shared::lease::{Lease, Standing};
use crate::types::ProxyId;

/// Ends when the lease is renewed, or is over.
pub(super) type Certainty = Pin<Box<dyn Future<Output = Result<(), CloseReason>> + Send>>;

/// Shared by the ledger, which says what is held, and the link, which asks before it writes.
#[derive(Debug)]
pub(crate) struct LeaseGuard {
    lease: Arc<Lease>,
    /// The incarnation that granted what the session holds; 0 while it holds nothing.
    granted_by: AtomicU64,
    /// The session may have locks whose rows are not written, and nobody has asked for them.
    late: AtomicBool,
    /// A command waits for these rows.
    rows_wanted: AtomicBool,
}

impl LeaseGuard {
    /// Of a session that holds nothing.
    pub(crate) fn new(lease: Arc<Lease>) -> Self {
        let (late, rows_wanted) = <_>::default();
        Self { lease, granted_by: AtomicU64::new(0), late, rows_wanted }
    }

    /// The session has a lock whose row is not written, or no such lock any more.
    pub(crate) fn set_late(&self, late: bool) {
        self.late.store(late, Ordering::Relaxed);
    }

    /// Whether the session has a lock whose row is not written, and not asked for.
    pub(crate) fn is_late(&self) -> bool {
        self.late.load(Ordering::Relaxed)
    }

    /// A command is about to read rows. Whether some are to be written first, which [`Self::takes_rows_wanted`] tells.
    pub(crate) fn wants_rows(&self) -> bool {
        let late = self.late.swap(false, Ordering::Relaxed);
        if late {
            self.rows_wanted.store(true, Ordering::Relaxed);
        }
        late
    }

    /// Whether a command waits for rows; once.
    pub(crate) fn takes_rows_wanted(&self) -> bool {
        self.rows_wanted.load(Ordering::Relaxed) && self.rows_wanted.swap(false, Ordering::Relaxed)
    }

    /// The session holds locks of this incarnation.
    pub(crate) fn arm(&self, proxy: ProxyId) {
        self.granted_by.store(proxy.0, Ordering::Relaxed);
    }

    /// The session holds nothing any more.
    pub(crate) fn disarm(&self) {
        self.granted_by.store(0, Ordering::Relaxed);
    }

    /// The proxy's incarnation now.
    pub(crate) fn incarnation(&self) -> Option<ProxyId> {
        self.lease.proxy()
    }

    /// Whether the session holds locks.
    pub(crate) fn is_armed(&self) -> bool {
        self.granted_by.load(Ordering::Relaxed) != 0
    }

    /// What is known of what the session holds; nothing is certain, too.
    pub(crate) fn standing(&self) -> Standing {
        match self.granted_by.load(Ordering::Relaxed) {
            0 => Standing::Certain,
            proxy => self.lease.standing(ProxyId(proxy)),
        }
    }

    /// Whether the session may go on.
    pub(crate) fn is_certain(&self) -> bool {
        self.standing() == Standing::Certain
    }

    /// Whether the lease was renewed after this moment, on the boot clock, if the session holds locks.
    pub(super) fn was_renewed_since(&self, at: Duration) -> bool {
        !self.is_armed() || self.lease.last_renewed() > at
    }

    /// Whether the session is held back until the lease is renewed.
    pub(crate) fn is_suspended(&self) -> bool {
        self.standing() == Standing::Suspended
    }

    /// Waits until what the session holds is known to be held in this run of the server. An error when it is lost.
    pub(crate) fn held_in(&self, run: i64) -> Certainty {
        let (lease, proxy) = (Arc::clone(&self.lease), self.granted_by.load(Ordering::Relaxed));
        Box::pin(async move {
            let held = proxy == 0 || lease.known_in(ProxyId(proxy), run).await;
            if held { Ok(()) } else { Err(CloseReason::Fenced) }
        })
    }

    /// Waits while the session is suspended. An error when it holds locks that are lost.
    pub(super) fn certainty(&self) -> Certainty {
        let (lease, proxy) = (Arc::clone(&self.lease), self.granted_by.load(Ordering::Relaxed));
        Box::pin(async move {
            let certain = proxy == 0 || lease.certain(ProxyId(proxy)).await;
            if certain { Ok(()) } else { Err(CloseReason::Fenced) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_session_that_holds_locks_needs_the_lease() {
        let guard = LeaseGuard::new(Arc::default());
        assert!(guard.is_certain() && !guard.is_armed());
        guard.arm(ProxyId(7));
        assert_eq!(guard.standing(), Standing::Over);
        guard.disarm();
        assert!(guard.is_certain());
    }

    #[tokio::test]
    async fn a_session_whose_locks_are_lost_learns_it_at_once() {
        let guard = LeaseGuard::new(Arc::default());
        assert!(guard.certainty().await.is_ok());
        guard.arm(ProxyId(7));
        assert!(matches!(guard.certainty().await, Err(CloseReason::Fenced)));
    }
}
