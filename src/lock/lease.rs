//! Lease arithmetic on a passed-in `now`: when a holder must stop, when an observer may revoke.
//!
//! Instants are readings of CLOCK_BOOTTIME as durations since boot. Wall clocks play no part. With rates that
//! differ by at most 1 %, a holder's deadline comes before any observer's revoke:
//! `revoke - deadline >= kill budget + 2 % of the lease`.

use std::time::Duration;

/// The durations that follow from a lease's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// The lease.
    pub ttl: Duration,
}

/// A lease shorter than this leaves no room for margins.
pub const MIN_TTL: Duration = Duration::from_secs(1);

impl Terms {
    /// How often to renew: a fifteenth of the lease, at most two seconds.
    pub fn heartbeat(self) -> Duration {
        (self.ttl / 15).min(Duration::from_secs(2))
    }

    /// Time kept for closing sessions before another proxy may revoke.
    pub fn kill_budget(self) -> Duration {
        (self.ttl / 5).min(Duration::from_secs(1))
    }

    /// The holder's deadline, counted from *before* the renewal was sent.
    pub fn deadline(self, sent: Duration) -> Duration {
        sent + (self.ttl * 99 / 100).saturating_sub(self.kill_budget())
    }

    /// From here on no new grants: half the lease has passed without a renewal.
    pub fn jeopardy(self, sent: Duration) -> Duration {
        sent + self.ttl / 2
    }

    /// How long sessions stay suspended past the deadline, before they are closed: a primary may hang for two
    /// leases.
    pub fn suspension(self) -> Duration {
        self.ttl * 2
    }

    /// The longest pause between two readings that an observer with the lease `own` counts. In a longer
    /// one the store was silent, and the holder could not renew either.
    pub fn pause(self, own: Self) -> Duration {
        (self.ttl / 3).max(own.heartbeat() * 2)
    }

    /// When an observer that first saw the present version at `seen` may revoke.
    pub fn revocable(self, seen: Duration) -> Duration {
        seen + self.ttl * 101 / 100 + Duration::from_millis(100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_stops_before_an_observer_may_revoke_even_with_unequal_clocks() {
        for secs in [1, 3, 10, 30, 300] {
            let terms = Terms { ttl: Duration::from_secs(secs) };
            let sent = Duration::from_secs(1000);
            // The earliest an observer can see the renewal is when it was sent; the holder's
            // clock may be 1 % slow, the observer's 1 % fast.
            let stop = terms.deadline(sent).saturating_sub(sent) * 101 / 100;
            let revoke = terms.revocable(sent).saturating_sub(sent) * 100 / 101;
            assert!(stop < revoke, "{secs} s: {stop:?} {revoke:?}");
            assert!(terms.heartbeat() * 4 < terms.deadline(sent).saturating_sub(sent));
        }
    }

    /// A silence that counts leaves time for several renewals after it, and one of two leases does not
    /// end a suspension.
    #[test]
    fn a_silent_store_costs_no_holder_its_lease() {
        for secs in [1, 3, 10, 30, 300] {
            let terms = Terms { ttl: Duration::from_secs(secs) };
            let counted = terms.pause(terms) + terms.heartbeat() * 4;
            assert!(counted < terms.deadline(Duration::ZERO), "{secs} s");
            assert!(terms.pause(terms) > terms.heartbeat());
            let closed = terms.deadline(Duration::ZERO) + terms.suspension();
            assert!(closed > terms.ttl * 5 / 2, "{secs} s: {closed:?}");
        }
        let [short, long] = [1, 300].map(|secs| Terms { ttl: Duration::from_secs(secs) });
        assert!(short.pause(long) > long.heartbeat(), "its readings count");
    }
}
