//! Other incarnations, and for how long each was seen not to renew its lease.
//!
//! That time is counted on this process's own clock, between two readings of the rows that are not far
//! apart. While the store is silent no holder can renew, so after a longer pause it is counted from the
//! beginning.

use std::collections::HashMap;
use std::time::Duration;

use crate::lock::lease::Terms;
use crate::mutants::{self, Mutant};
use crate::store::rows::ProxyRow;
use crate::types::ProxyId;

/// An incarnation as it was seen.
#[derive(Debug, Clone, Copy)]
struct Observation {
    rvn: u64,
    /// From then on this version was seen without a long pause.
    since: Duration,
}

/// What a reading says of a LIVE incarnation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Sight {
    /// No earlier reading showed the incarnation.
    New,
    /// The incarnation has renewed its lease.
    Renewed,
    /// The incarnation has not renewed its lease so far.
    Silent,
    /// The incarnation has not renewed for the whole of its lease, and may be revoked.
    Expired,
}

/// All other incarnations, as this process has seen them.
#[derive(Debug)]
pub(in crate::engine) struct Observations {
    own: Terms,
    seen: HashMap<ProxyId, Observation>,
    /// When the rows were read last, and the pause before.
    read: Duration,
    pause: Duration,
}

impl Observations {
    /// No incarnation was seen yet; the observer's own lease is `own`.
    pub(in crate::engine) fn new(own: Terms) -> Self {
        Self { own, seen: HashMap::new(), read: Duration::ZERO, pause: Duration::ZERO }
    }

    /// Forgets all.
    pub(in crate::engine) fn clear(&mut self) {
        self.seen.clear();
    }

    /// The rows were read, and that was answered at `at`.
    pub(in crate::engine) fn begin_reading(&mut self, at: Duration, rows: &[ProxyRow]) {
        self.pause = at.saturating_sub(self.read);
        self.read = at;
        self.seen.retain(|id, _| rows.iter().any(|row| row.id == *id));
    }

    /// Looks at one of the rows, which is LIVE.
    pub(in crate::engine) fn see(&mut self, row: &ProxyRow) -> Sight {
        let at = self.read;
        let fresh = Observation { rvn: row.rvn, since: at };
        let Some(seen) = self.seen.get_mut(&row.id) else {
            self.seen.insert(row.id, fresh);
            return Sight::New;
        };
        if seen.rvn != row.rvn {
            *seen = fresh;
            return Sight::Renewed;
        }
        let terms = Terms { ttl: Duration::from_millis(u64::from(row.ttl_ms)) };
        let terms = mutants::or(Mutant::OwnLease, terms, self.own);
        if self.pause > terms.pause(self.own) && !mutants::on(Mutant::CountInSilence) {
            *seen = fresh;
        }
        if at >= terms.revocable(seen.since) { Sight::Expired } else { Sight::Silent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::rows::ProxyState;

    const SECOND: Duration = Duration::from_secs(1);

    fn row(rvn: u64, lease: u32) -> ProxyRow {
        let (id, addr, conns) = (ProxyId(1), String::new(), Vec::new());
        let state = ProxyState::Live;
        ProxyRow {
            id,
            state,
            rvn,
            epoch: 1,
            ttl_ms: lease * 1000,
            addr,
            server_start: 0,
            conns,
            native: false,
            tables: 3,
            keeps: 0,
        }
    }

    fn observed(lease: u64) -> Observations {
        Observations::new(Terms { ttl: Duration::from_secs(lease) })
    }

    /// Reads at each of these seconds; what the last reading said.
    fn read(
        observed: &mut Observations,
        seconds: impl Iterator<Item = u32>,
        row: &ProxyRow,
    ) -> Sight {
        let look = |second: u32| {
            observed.begin_reading(SECOND * second, std::slice::from_ref(row));
            observed.see(row)
        };
        seconds.map(look).last().expect("a reading")
    }

    #[test]
    fn a_proxy_that_does_not_renew_for_its_lease_expires() {
        let mut observed = observed(30);
        assert_eq!(read(&mut observed, 100..=100, &row(1, 30)), Sight::New);
        assert_eq!(read(&mut observed, 102..=104, &row(1, 30)), Sight::Silent);
        assert_eq!(read(&mut observed, 105..=105, &row(2, 30)), Sight::Renewed);
        assert_eq!(read(&mut observed, 106..=135, &row(2, 30)), Sight::Silent);
        assert_eq!(read(&mut observed, 136..=136, &row(2, 30)), Sight::Expired);
    }

    #[test]
    fn time_in_which_the_store_was_silent_does_not_count() {
        let mut observed = observed(30);
        assert_eq!(read(&mut observed, 100..=129, &row(1, 30)), Sight::Silent);
        assert_eq!(read(&mut observed, 190..=220, &row(1, 30)), Sight::Silent);
        assert_eq!(read(&mut observed, 221..=221, &row(1, 30)), Sight::Expired);
    }

    /// Readings two seconds apart are more than a third of the row's lease apart.
    #[test]
    fn an_observer_with_a_long_lease_sees_a_short_one_expire() {
        let mut observed = observed(300);
        assert_eq!(read(&mut observed, [100, 102].into_iter(), &row(1, 1)), Sight::Expired);
        assert_eq!(read(&mut observed, [110, 112].into_iter(), &row(1, 1)), Sight::Expired);
        assert_eq!(read(&mut observed, [120].into_iter(), &row(1, 1)), Sight::Silent);
    }

    #[test]
    fn an_incarnation_that_was_gone_is_new_when_it_is_there_again() {
        let mut observed = observed(30);
        assert_eq!(read(&mut observed, 100..=100, &row(1, 30)), Sight::New);
        observed.begin_reading(SECOND * 101, &[]);
        assert_eq!(read(&mut observed, 102..=102, &row(1, 30)), Sight::New);
        observed.clear();
        assert_eq!(read(&mut observed, 103..=103, &row(1, 30)), Sight::New);
    }
}
