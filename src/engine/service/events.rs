//! Grants and their ends: counted, remembered, and written into the log.

use std::time::Duration;

use crate::engine::service::keys::{LocalHold, Waiter};
use crate::engine::shared::history::{History, PastHold};
use crate::lock::name::Key;
use crate::metrics::Metrics;

/// A session has the lock.
pub(super) fn granted(metrics: &Metrics, key: &Key, token: u64, waiter: &Waiter) {
    let wait = waiter.since.elapsed();
    metrics.held.inc();
    if let Some(named) = &metrics.named {
        named.granted(&key.shown(), wait.as_secs_f64());
    }
    tracing::debug!(
        target: "lockstead::locks",
        lock = key.shown(),
        token,
        connection = %waiter.claim.conn,
        owner = %String::from_utf8_lossy(&waiter.claim.owner),
        ?wait,
        "granted"
    );
}

/// The row names this proxy, and no session of it.
pub(super) fn found(metrics: &Metrics, key: &Key, token: u64) {
    tracing::warn!(lock = key.shown(), token, "a lock row without a session was freed");
    metrics.ghosts.inc();
    metrics.held.inc();
    if let Some(named) = &metrics.named {
        named.found(&key.shown());
    }
}

/// No session has it any more. `how` it ended, unless its session was ending. Returns how long it was held.
pub(super) fn ended(
    (metrics, history): (&Metrics, &History),
    key: &Key,
    held: LocalHold,
    how: &'static str,
) -> Duration {
    let (kept, end) = (held.since.elapsed(), held.leaving.unwrap_or(how));
    metrics.held.dec();
    if let Some(named) = &metrics.named {
        named.ended(&key.shown(), kept.as_secs_f64());
    }
    tracing::debug!(
        target: "lockstead::locks",
        lock = key.shown(),
        token = held.token,
        connection = %held.conn,
        held = ?kept,
        how = end,
        "ended"
    );
    let LocalHold { name, token, conn, owner, .. } = held;
    let token = Some(token);
    history.add(|ended| PastHold { name, token, conn, owner, ended, held: kept, end });
    kept
}
