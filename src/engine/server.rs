//! Which server answers, and whether this proxy may keep locks there.
//!
//! On another server than the one that meta names, or in an epoch that is over, nothing is
//! renewed, registered or granted. Holders are not closed at once: until their deadline nobody
//! else has their locks, and the right server may answer again before. What makes another server
//! the right one is a new epoch there ([`StoreConnection::open_epoch`]), for which the keeper waits.
//!
//! [`StoreConnection::open_epoch`]: crate::store::connection::StoreConnection::open_epoch

use std::sync::Arc;

use super::lease::Lease;
use crate::metrics::Metrics;
use crate::store::connection::StoreError;
use crate::store::epoch::Foreign;
use crate::store::schema::Meta;

/// What is known of epochs, and of the server that answers.
#[derive(Debug)]
pub(super) struct Server {
    lease: Arc<Lease>,
    metrics: Arc<Metrics>,
    /// The greatest epoch that this process has read of, wherever: where a lesser one is in force,
    /// a later one has begun elsewhere.
    known: u64,
    /// The last complaint.
    said: Option<String>,
}

impl Server {
    pub(super) fn new(lease: Arc<Lease>, metrics: Arc<Metrics>) -> Self {
        for reason in Foreign::REASONS {
            metrics.store_foreign.with_label_values(&[reason]);
        }
        Self { lease, metrics, known: 0, said: None }
    }

    /// Whether locks may be kept on the server that `meta` was read from.
    pub(super) fn judge(&mut self, meta: &Meta) -> Result<(), StoreError> {
        self.known = self.known.max(meta.epoch);
        Ok(meta.judge(self.known)?)
    }

    /// Takes in what became of an attempt to renew or to register. Says what is wrong, and says it
    /// once. True if something is.
    pub(super) fn heard(&mut self, result: &Result<(), StoreError>) -> bool {
        let foreign = match result {
            Err(StoreError::Foreign(foreign)) => Some(foreign),
            Ok(()) | Err(_) => None,
        };
        if foreign.is_some() {
            self.lease.suspend();
        }
        self.lease.set_foreign(foreign.map(Foreign::to_string));
        for reason in Foreign::REASONS {
            let now = foreign.is_some_and(|f| f.reason() == reason);
            self.metrics.store_foreign.with_label_values(&[reason]).set(i64::from(now));
        }
        let why = result.as_ref().err().map(ToString::to_string);
        if let Some(why) = why.as_ref().filter(|why| self.said.as_ref() != Some(why)) {
            if foreign.is_some() {
                tracing::error!(reason = why, "no locks are granted");
            } else {
                tracing::warn!(error = why, "the lease was not renewed");
            }
        }
        self.said = why;
        self.said.is_some()
    }
}
