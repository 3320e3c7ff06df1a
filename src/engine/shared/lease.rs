//! The lease as engine and sessions read it: one atomic deadline, checked wherever it matters.
//!
//! Past the deadline locks are suspended: nothing is done under them until the keeper has renewed the
//! lease, or has ended it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::reign::Reign;
use crate::clock;
use crate::store::identity::same_run;
use crate::types::ProxyId;

/// What is known of the locks that an incarnation granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The locks are held.
    Certain,
    /// The locks may be lost, or not: the next renewal tells.
    Suspended,
    /// The locks are lost.
    Over,
}

/// Shared by the keeper, which writes, and by engine and sessions, which read.
#[derive(Debug, Default)]
pub struct Lease {
    /// The incarnation; 0 while there is none.
    proxy: AtomicU64,
    /// CLOCK_BOOTTIME in nanoseconds at which locks of this incarnation are no longer ours.
    deadline: AtomicU64,
    /// From this time on, no new grants.
    jeopardy: AtomicU64,
    /// No grants before this time: the startup wait.
    grants_from: AtomicU64,
    /// When the last acknowledged renewal was sent.
    renewed: AtomicU64,
    /// When this proxy knew that the incarnation was registered.
    joined: AtomicU64,
    /// When the last question was sent that the server has answered in the run in which the locks are held.
    confirmed: AtomicU64,
    /// The server's start in the run in which the locks are known to be held.
    run: AtomicI64,
    /// Why no later renewal proves that the locks are still held.
    obstacle: Mutex<Option<String>>,
    /// Between these moments another server may have answered.
    distrusted: Mutex<Option<(Duration, Duration)>>,
    /// Why the rows cannot be written, though they can be read.
    unwritable: Mutex<Option<String>>,
    /// Whether no other proxy may hold, or be granted, a lock that the server does not know.
    server_protects: AtomicBool,
    /// Identity of the server where locks are kept.
    home: Mutex<Arc<str>>,
    /// Since when sessions are suspended, as the keeper has noticed; 0 while they are not.
    suspended: AtomicU64,
    /// The lease was renewed, or is over.
    changed: Notify,
    reign: Reign,
}

fn nanos(d: Duration) -> u64 {
    u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)
}

impl Lease {
    /// What is known of locks granted to `proxy`. Called immediately before bytes of a lock-holding
    /// session are written to the server.
    pub fn standing(&self, proxy: ProxyId) -> Standing {
        // The deadline first: a later incarnation's is set while there is none, so a reader that
        // sees it does not see the earlier incarnation after it.
        let deadline = self.deadline.load(Ordering::Acquire);
        if self.proxy.load(Ordering::Acquire) != proxy.0 {
            Standing::Over
        } else if nanos(clock::now()) < deadline {
            Standing::Certain
        } else {
            Standing::Suspended
        }
    }

    /// Whether locks granted to `proxy` are still certainly held.
    pub fn vouches_for(&self, proxy: ProxyId) -> bool {
        self.standing(proxy) == Standing::Certain
    }

    /// Waits while locks granted to `proxy` are suspended, which the keeper ends. Whether they are
    /// certainly held then.
    pub async fn certain(&self, proxy: ProxyId) -> bool {
        loop {
            // Made before the look: a change that comes after it is noticed.
            let change = self.changed.notified();
            match self.standing(proxy) {
                Standing::Certain => return true,
                Standing::Suspended => change.await,
                Standing::Over => return false,
            }
        }
    }

    /// For how long sessions have been suspended, if they are.
    pub fn suspended_for(&self) -> Option<Duration> {
        let since = Some(self.suspended.load(Ordering::Acquire)).filter(|since| *since != 0)?;
        Some(Duration::from_nanos(nanos(clock::now()).saturating_sub(since)))
    }

    /// Sessions are suspended since `since`, or are not.
    pub(in crate::engine) fn set_suspended(&self, since: Option<Duration>) {
        self.suspended.store(since.map_or(0, nanos), Ordering::Release);
    }

    /// Whether `proxy` may be granted new locks now.
    pub fn allows_grants(&self, proxy: ProxyId) -> bool {
        let jeopardy = self.jeopardy.load(Ordering::Acquire);
        let grants_from = self.grants_from.load(Ordering::Acquire);
        let now = nanos(clock::now());
        self.proxy.load(Ordering::Acquire) == proxy.0 && now < jeopardy && now >= grants_from
    }

    /// Whether the last renewal is recent.
    pub fn is_renewed(&self) -> bool {
        nanos(clock::now()) < self.jeopardy.load(Ordering::Acquire)
    }

    /// Whether nothing is granted though the lease is good: before the end of the startup wait, or of a grace.
    pub fn withholds_grants(&self) -> bool {
        self.is_renewed() && nanos(clock::now()) < self.grants_from.load(Ordering::Acquire)
    }

    /// Whether any incarnation may grant now.
    pub fn is_good(&self) -> bool {
        let proxy = self.proxy.load(Ordering::Acquire);
        proxy != 0 && self.allows_grants(ProxyId(proxy))
    }

    /// The incarnation of the moment.
    pub fn proxy(&self) -> Option<ProxyId> {
        Some(self.proxy.load(Ordering::Acquire)).filter(|id| *id != 0).map(ProxyId)
    }

    /// Age of the last acknowledged renewal; zero before the first.
    pub fn age(&self) -> Duration {
        let renewed = self.renewed.load(Ordering::Acquire);
        if renewed == 0 {
            return Duration::ZERO;
        }
        Duration::from_nanos(nanos(clock::now()).saturating_sub(renewed))
    }

    /// Whether a run of the server, by its start, is the one in which the locks are known to be held.
    pub fn knows_run(&self, started: i64) -> bool {
        same_run(self.run.load(Ordering::Acquire), started)
    }

    /// Whether a connection that was opened then is one of the run in which locks are held. Such a one was opened after the
    /// incarnation began, and before the server answered in that run.
    pub fn is_of_this_run(&self, opened: Duration) -> bool {
        let (joined, opened) = (self.joined.load(Ordering::Acquire), nanos(opened));
        let answered =
            self.renewed.load(Ordering::Acquire).max(self.confirmed.load(Ordering::Acquire));
        joined != 0 && joined < opened && opened < answered
    }

    /// The server has answered a question that was sent then, in a run that began then.
    pub(in crate::engine) fn confirm(&self, sent: Duration, started: i64) {
        if self.knows_run(started) {
            self.confirmed.fetch_max(nanos(sent), Ordering::AcqRel);
        }
    }

    /// The server's start in the run in which locks are held.
    pub fn run(&self) -> i64 {
        self.run.load(Ordering::Acquire)
    }

    /// The locks are held in this run of the server.
    pub(in crate::engine) fn set_run(&self, started: i64) {
        self.run.store(started, Ordering::Release);
        self.changed.notify_waiters();
    }

    /// Waits until locks granted to `proxy` are known to be held in this run of the server, or are lost.
    /// Whether they are held.
    pub async fn known_in(&self, proxy: ProxyId, started: i64) -> bool {
        loop {
            let change = self.changed.notified();
            if self.standing(proxy) == Standing::Over {
                return false;
            }
            if self.knows_run(started) {
                return true;
            }
            change.await;
        }
    }

    /// Why nothing is granted, and no later renewal proves that the locks are still held: another server answers, or a
    /// failover candidate lacks the last one. `None`: there is no such reason.
    pub fn obstacle(&self) -> Option<String> {
        self.obstacle.lock().clone()
    }

    /// Why the lock tables cannot be written, though they were read a moment ago.
    pub fn unwritable(&self) -> Option<String> {
        self.unwritable.lock().clone()
    }

    pub(in crate::engine) fn set_unwritable(&self, why: Option<String>) {
        *self.unwritable.lock() = why;
    }

    /// Whether the server's own lock protects a session also without a row (mode coexist): no proxy keeps locks by
    /// rows alone, as was read within the lease.
    pub fn server_protects(&self) -> bool {
        self.server_protects.load(Ordering::Acquire) && self.is_good()
    }

    pub(in crate::engine) fn set_server_protects(&self, protects: bool) {
        self.server_protects.store(protects, Ordering::Release);
    }

    /// When the last acknowledged renewal was sent; zero before the first.
    pub fn last_renewed(&self) -> Duration {
        Duration::from_nanos(self.renewed.load(Ordering::Acquire))
    }

    pub(in crate::engine) fn set_obstacle(&self, why: Option<String>) {
        *self.obstacle.lock() = why;
    }

    /// The present deadline.
    pub fn deadline(&self) -> Duration {
        Duration::from_nanos(self.deadline.load(Ordering::Acquire))
    }

    /// A renewal that was sent at `sent` is acknowledged. The deadline only ever moves on.
    pub(in crate::engine) fn renewed(
        &self,
        sent: Duration,
        deadline: Duration,
        jeopardy: Duration,
    ) {
        self.renewed.store(nanos(sent), Ordering::Release);
        self.jeopardy.store(nanos(jeopardy), Ordering::Release);
        self.deadline.store(nanos(deadline), Ordering::Release);
        self.changed.notify_waiters();
    }

    /// A new incarnation begins; its deadline must have been set before.
    pub(in crate::engine) fn start_incarnation(&self, proxy: ProxyId, grants_from: Duration) {
        self.wait_until(grants_from);
        self.joined.store(nanos(clock::now()), Ordering::Release);
        self.proxy.store(proxy.0, Ordering::Release);
    }

    /// Nothing is granted before then.
    pub(in crate::engine) fn wait_until(&self, grants_from: Duration) {
        self.grants_from.store(nanos(grants_from), Ordering::Release);
    }

    /// The epoch.
    pub fn reign(&self) -> &Reign {
        &self.reign
    }

    /// Grants are allowed from now: evidence cut the startup wait short.
    pub(in crate::engine) fn end_startup_wait(&self) {
        self.grants_from.store(0, Ordering::Release);
    }

    /// Whether a connection to the server that was opened then is certainly one to the server where
    /// locks are kept.
    pub fn trusts(&self, opened: Duration) -> bool {
        self.distrusted.lock().is_none_or(|(from, to)| opened < from || opened > to)
    }

    /// Identity of the server where locks are kept, as `store::identity::ident_expression` tells it.
    pub fn home(&self) -> Arc<str> {
        Arc::clone(&self.home.lock())
    }

    pub(in crate::engine) fn set_home(&self, ident: &str) {
        *self.home.lock() = ident.into();
    }

    /// Another server has answered between these two moments, or may have.
    pub(in crate::engine) fn distrust(&self, from: Duration, to: Duration) {
        let mut distrusted = self.distrusted.lock();
        let from = distrusted.map_or(from, |(earlier, _)| from.min(earlier));
        *distrusted = Some((from, to));
    }

    /// Nothing is granted until the next renewal.
    pub(in crate::engine) fn stop_grants(&self) {
        self.jeopardy.store(0, Ordering::Release);
    }

    /// Ends the incarnation: no lock is vouched for any more.
    pub(in crate::engine) fn end(&self) {
        self.proxy.store(0, Ordering::Release);
        self.deadline.store(0, Ordering::Release);
        self.changed.notify_waiters();
    }
}

#[cfg(test)]
impl Lease {
    /// Good for an hour.
    pub(crate) fn of(proxy: ProxyId) -> Self {
        let lease = Self::default();
        let now = clock::now();
        let later = now + Duration::from_hours(1);
        lease.start_incarnation(proxy, now);
        lease.renewed(now, later, later);
        lease
    }

    /// Ends the lease, as if its time had run out.
    pub(crate) fn run_out(&self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_vouched_for_past_the_deadline_or_for_another_incarnation() {
        let lease = Lease::default();
        let (me, other) = (ProxyId(1), ProxyId(2));
        let now = clock::now();
        let later = now + Duration::from_mins(1);
        lease.renewed(now, later, later);
        lease.start_incarnation(me, Duration::ZERO);
        assert!(lease.vouches_for(me) && lease.allows_grants(me) && !lease.vouches_for(other));
        lease.renewed(now, later, now);
        assert!(lease.vouches_for(me) && !lease.allows_grants(me), "jeopardy");
        lease.renewed(now, later, later);
        lease.stop_grants();
        assert!(lease.vouches_for(me) && !lease.allows_grants(me), "stopped");
        lease.renewed(now, later, later);
        assert!(lease.allows_grants(me));
        lease.renewed(now, now, now);
        assert!(!lease.vouches_for(me) && lease.standing(me) == Standing::Suspended);
    }

    #[test]
    fn a_connection_is_known_to_be_of_this_run_once_the_server_has_answered_after_its_login() {
        let lease = Lease::default();
        let second = Duration::from_secs(1);
        lease.set_run(1000);
        lease.start_incarnation(ProxyId(1), Duration::ZERO);
        let opened = clock::now() + second;
        assert!(!lease.is_of_this_run(opened), "no answer yet");
        lease.confirm(opened + second, 5000);
        assert!(!lease.is_of_this_run(opened), "an answer of another run");
        lease.confirm(opened, 1000);
        assert!(!lease.is_of_this_run(opened), "asked before the login");
        lease.confirm(opened + second, 1000);
        assert!(lease.is_of_this_run(opened) && !lease.is_of_this_run(Duration::ZERO));
        // An answer to an earlier question changes nothing.
        lease.confirm(opened, 1000);
        assert!(lease.is_of_this_run(opened));
    }

    #[tokio::test]
    async fn past_the_deadline_locks_are_suspended_until_the_lease_is_renewed_or_ended() {
        let (me, other) = (ProxyId(1), ProxyId(2));
        for renews in [true, false] {
            let lease = Arc::new(Lease::default());
            let now = clock::now();
            lease.renewed(now, now, now);
            lease.start_incarnation(me, Duration::ZERO);
            assert_eq!(lease.standing(me), Standing::Suspended);
            assert_eq!(lease.standing(other), Standing::Over);
            assert!(!lease.vouches_for(me) && !lease.allows_grants(me));
            assert!(!lease.certain(other).await);
            let waiter = Arc::clone(&lease);
            let waiter = tokio::spawn(async move { waiter.certain(me).await });
            tokio::task::yield_now().await;
            // A renewal so late that it is of no use any more.
            lease.renewed(now, now, now);
            tokio::task::yield_now().await;
            assert!(!waiter.is_finished());
            if renews {
                let later = clock::now() + Duration::from_mins(1);
                lease.renewed(now, later, later);
            } else {
                lease.end();
            }
            assert_eq!(waiter.await.expect("it ends"), renews);
        }
    }
}
