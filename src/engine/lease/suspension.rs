//! Sessions that hold locks are suspended at the deadline, until the lease is renewed or given up.
//!
//! A renewal that succeeds finds the row LIVE still, so nobody has revoked the lease: the locks are as
//! they were, and sessions go on (docs/adr/0022-suspension.md).

use std::sync::Arc;
use std::time::Duration;

use crate::clock;
use crate::engine::shared::lease::Lease;
use crate::lock::lease::Terms;
use crate::metrics::Metrics;

/// The suspension of this proxy's sessions.
#[derive(Debug)]
pub(in crate::engine) struct Suspension {
    terms: Terms,
    since: Option<Duration>,
    /// When a reading was sent that found the lease not revoked.
    proven: Duration,
    lease: Arc<Lease>,
    metrics: Arc<Metrics>,
}

impl Suspension {
    /// No session is suspended.
    pub(in crate::engine) fn new(terms: Terms, lease: Arc<Lease>, metrics: Arc<Metrics>) -> Self {
        Self { terms, since: None, proven: Duration::ZERO, lease, metrics }
    }

    /// Whether sessions are suspended now.
    pub(in crate::engine) fn is_on(&self) -> bool {
        self.since.is_some()
    }

    /// When sessions that hold locks are suspended, or closed, unless the lease is renewed before.
    pub(in crate::engine) fn due(&self) -> Duration {
        match self.since {
            None => self.lease.deadline(),
            Some(since) => since.max(self.proven) + self.terms.suspension(),
        }
    }

    /// Suspends sessions if their deadline has come. Whether they must be closed instead.
    pub(in crate::engine) fn suspend_if_due(&mut self) -> bool {
        let now = clock::now();
        if now < self.lease.deadline() {
            return false;
        }
        // On another server, in another epoch, or where a candidate lacks renewals, no later one can prove anything.
        if self.lease.obstacle().is_some() {
            return true;
        }
        if self.since.is_none() {
            tracing::warn!(renewed = ?self.lease.age(), "the lease was not renewed in time: sessions that hold locks are suspended");
            self.set(Some(now));
        }
        now >= self.due()
    }

    /// The lease was renewed: sessions go on, unless the answer came so late that others may have
    /// revoked the lease meanwhile.
    pub(in crate::engine) fn resume(&mut self) {
        let now = clock::now();
        let Some(since) = self.since.filter(|_| now < self.lease.deadline()) else { return };
        self.end("resumed");
        let suspended = now.saturating_sub(since);
        tracing::info!(?suspended, "the lease was renewed: suspended sessions go on");
    }

    /// When that was `sent`, nobody had revoked the lease, and nobody could write: suspended sessions wait on.
    pub(in crate::engine) fn prolong(&mut self, sent: Duration) {
        self.proven = sent;
    }

    /// The lease is over.
    pub(in crate::engine) fn close(&mut self) {
        if self.is_on() {
            self.end("closed");
        }
    }

    fn end(&mut self, result: &str) {
        self.metrics.suspensions.with_label_values(&[result]).inc();
        self.set(None);
    }

    fn set(&mut self, since: Option<Duration>) {
        self.since = since;
        self.lease.set_suspended(since);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::ProxyId;

    fn suspension() -> (Suspension, Arc<Lease>) {
        let lease = Arc::new(Lease::default());
        let metrics = Arc::new(Metrics::new(None).expect("metrics"));
        let terms = Terms { ttl: Duration::from_secs(30) };
        (Suspension::new(terms, Arc::clone(&lease), metrics), lease)
    }

    /// The last renewal was sent so long ago.
    fn renew(lease: &Lease, terms: Terms, ago: Duration) {
        let sent = clock::now().saturating_sub(ago);
        lease.renewed(sent, terms.deadline(sent), terms.jeopardy(sent));
        lease.start_incarnation(ProxyId(1), Duration::ZERO);
    }

    #[test]
    fn sessions_are_suspended_at_the_deadline_and_go_on_after_a_renewal() {
        let (mut suspension, lease) = suspension();
        let (terms, long) = (suspension.terms, Duration::from_secs(31));
        renew(&lease, terms, Duration::ZERO);
        assert!(
            !suspension.suspend_if_due() && !suspension.is_on() && lease.suspended_for().is_none()
        );
        renew(&lease, terms, long);
        assert!(
            !suspension.suspend_if_due() && suspension.is_on() && lease.suspended_for().is_some()
        );
        // An answer that came too late, then one in time.
        renew(&lease, terms, long);
        suspension.resume();
        assert!(suspension.is_on());
        renew(&lease, terms, Duration::ZERO);
        suspension.resume();
        assert!(!suspension.is_on() && lease.suspended_for().is_none());
        let count = |result| suspension.metrics.suspensions.with_label_values(&[result]).get();
        assert_eq!([count("resumed"), count("closed")], [1, 0]);
    }

    #[test]
    fn suspended_sessions_are_closed_in_the_end() {
        let (mut suspension, lease) = suspension();
        renew(&lease, suspension.terms, Duration::from_secs(31));
        assert!(!suspension.suspend_if_due());
        suspension.since = Some(clock::now().saturating_sub(suspension.terms.suspension()));
        assert!(suspension.suspend_if_due());
        suspension.close();
        assert!(!suspension.is_on());
        assert_eq!(suspension.metrics.suspensions.with_label_values(&["closed"]).get(), 1);
    }

    #[test]
    fn sessions_are_closed_at_the_deadline_if_another_server_answers() {
        let (mut suspension, lease) = suspension();
        lease.set_obstacle(Some("another server".to_owned()));
        renew(&lease, suspension.terms, Duration::ZERO);
        assert!(!suspension.suspend_if_due());
        renew(&lease, suspension.terms, Duration::from_secs(31));
        assert!(suspension.suspend_if_due() && !suspension.is_on());
    }
}
