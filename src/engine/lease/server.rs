//! Which server answers, and whether this proxy may keep locks there.
//!
//! On another server than the one that meta names, or in an epoch that is over, nothing is
//! renewed, registered or granted. Holders are not closed at once: until their deadline no
//! other session has their locks, and the right server may answer again before. At the deadline they
//! are closed, not suspended. Another server becomes the right one by a new epoch there, which the keeper opens
//! (`keeper::failover`), or an operator ([`StoreConnection::open_epoch`]).
//!
//! [`StoreConnection::open_epoch`]: crate::store::connection::StoreConnection::open_epoch

use std::sync::Arc;
use std::time::Duration;

use crate::clock;
use crate::engine::shared::lease::Lease;
use crate::lock::lease::Terms;
use crate::metrics::Metrics;
use crate::store::connection::StoreError;
use crate::store::identity::Foreign;
use crate::store::meta::Meta;

/// The label `reason` while it is not known whether the sessions are at this server.
const UNCHECKED: &str = "unchecked";

/// The epochs that are known, and the server that answers.
#[derive(Debug)]
pub(in crate::engine) struct HomeServer {
    lease: Arc<Lease>,
    metrics: Arc<Metrics>,
    /// The greatest epoch that this process has read on any server: if a lesser one is in force here, a
    /// later one has begun elsewhere.
    known: u64,
    /// The error that was logged last.
    said: Option<String>,
    /// The epoch that was joined last.
    joined: Option<u64>,
    /// Since this time another server may have answered.
    strange_since: Option<Duration>,
    /// Whether a candidate lacks what was renewed last.
    lacks: bool,
    /// The longest lease known where locks are kept, in milliseconds.
    longest_ms: u32,
}

impl HomeServer {
    pub(in crate::engine) fn new(lease: Arc<Lease>, metrics: Arc<Metrics>) -> Self {
        for reason in Foreign::REASONS.iter().chain(&[UNCHECKED]) {
            metrics.store_foreign.with_label_values(&[*reason]);
        }
        let (known, said, joined) = (0, None, None);
        let (strange_since, lacks, longest_ms) = (None, false, 0);
        Self { lease, metrics, known, said, joined, strange_since, lacks, longest_ms }
    }

    /// Whether locks may be kept on the server that `meta` was read from.
    pub(in crate::engine) fn check(&mut self, meta: &Meta) -> Result<(), Foreign> {
        self.known = self.known.max(meta.epoch);
        self.longest_ms = self.longest_ms.max(meta.max_ttl_ms);
        meta.check(self.known)
    }

    /// An epoch has begun on some server.
    pub(in crate::engine) fn know(&mut self, epoch: u64) {
        self.known = self.known.max(epoch);
    }

    /// The greatest epoch that is known.
    pub(in crate::engine) fn known(&self) -> u64 {
        self.known
    }

    /// The terms of the longest lease that is known, this proxy's `own` included.
    pub(in crate::engine) fn longest(&self, own: Terms) -> Terms {
        Terms { ttl: own.ttl.max(Duration::from_millis(u64::from(self.longest_ms))) }
    }

    /// The right server answers, in the epoch of `meta`. Connections of clients that were opened while it may
    /// have been another are not known to lead to it. Whether another epoch was joined before.
    pub(in crate::engine) fn settled(&mut self, meta: &Meta) -> bool {
        // The longest lease may have become shorter.
        self.longest_ms = meta.max_ttl_ms;
        let moved = self.joined.replace(meta.epoch).is_some_and(|joined| joined != meta.epoch);
        let since = self.strange_since.take();
        if let Some(since) = if moved { Some(Duration::ZERO) } else { since } {
            self.lease.distrust(since, clock::now());
        }
        moved
    }

    /// Takes in the result of an attempt to renew or to register, and logs an error once. Whether
    /// there is one.
    pub(in crate::engine) fn heard(&mut self, result: &Result<(), StoreError>) -> bool {
        let foreign = match result {
            Err(StoreError::Foreign(foreign)) => Some(foreign),
            Ok(()) | Err(_) => None,
        };
        let unchecked = matches!(result, Err(StoreError::Unchecked(_)));
        if foreign.is_some() || unchecked {
            self.lease.stop_grants();
        }
        if foreign.is_some() {
            self.strange_since.get_or_insert(self.lease.last_renewed());
        }
        // While a candidate lacks the renewals, it may become the primary and grant. A later silence does not change that.
        match result {
            Ok(()) => self.lacks = false,
            Err(StoreError::Unwitnessed(_)) => self.lacks = true,
            Err(_) => {}
        }
        let why = result.as_ref().err().map(ToString::to_string);
        self.lease
            .set_obstacle(why.clone().filter(|_| foreign.is_some() || unchecked || self.lacks));
        for reason in Foreign::REASONS {
            let now = foreign.is_some_and(|f| f.reason() == reason);
            self.metrics.store_foreign.with_label_values(&[reason]).set(i64::from(now));
        }
        self.metrics.store_foreign.with_label_values(&[UNCHECKED]).set(i64::from(unchecked));
        if let Some(why) = why.as_ref().filter(|why| self.said.as_ref() != Some(why)) {
            if foreign.is_some() || unchecked {
                tracing::error!(reason = why, "no locks are granted");
            } else {
                tracing::warn!(error = why, "the lease was not renewed");
            }
        }
        self.metrics.store_up.set(i64::from(why.is_none()));
        self.said = why;
        self.said.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_primary_is_shown_as_lost_while_renewals_fail() {
        let metrics = Arc::new(Metrics::new(None).expect("metrics"));
        let mut server = HomeServer::new(Arc::default(), Arc::clone(&metrics));
        assert_eq!(metrics.store_up.get(), 0, "nothing is known");
        for (result, up) in [
            (Ok(()), 1),
            (Err(StoreError::Lost(String::new())), 0),
            (Err(StoreError::Foreign(Foreign::Epoch { epoch: 1, known: 2 })), 0),
            (Ok(()), 1),
        ] {
            server.heard(&result);
            assert_eq!(metrics.store_up.get(), up, "{result:?}");
        }
    }

    #[test]
    fn a_candidate_lacks_a_renewal_until_one_counts() {
        let lease: Arc<Lease> = Arc::default();
        let mut server =
            HomeServer::new(Arc::clone(&lease), Arc::new(Metrics::new(None).expect("metrics")));
        let silent = || Err(StoreError::Silent(Duration::ZERO));
        for (result, lacks) in [
            (silent(), false),
            (Err(StoreError::Unwitnessed(String::new())), true),
            (silent(), true),
            (Ok(()), false),
            (silent(), false),
        ] {
            server.heard(&result);
            assert_eq!(lease.obstacle().is_some(), lacks, "{result:?}");
        }
    }
}
