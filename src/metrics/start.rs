//! Series of label values known in advance, which are shown from the start.

use super::labels::{CLOSED, CallOutcome, ERRANDS, LIMITS, LOST, PINNED};
use super::table::Metrics;
use crate::lock::function::Function;
use crate::protocol::command::Command;

impl Metrics {
    /// Shows the counters of all known values.
    pub(super) fn start(&self) {
        for function in Function::ALL {
            for outcome in CallOutcome::ALL {
                // A counter exists from the first time that it is asked for.
                self.counted(function, outcome);
            }
        }
        // Every byte may be a command.
        for command in (0..=u8::MAX).map(|byte| Command(byte).label()).chain(["none"]) {
            self.protocol_errors.with_label_values(&[command]);
        }
        for reason in PINNED {
            self.pinned_sessions.with_label_values(&[*reason]);
        }
        for of in ["proxy", "session"] {
            self.stuck.with_label_values(&[of]);
        }
        for (counters, values) in [
            (&self.sessions_closed, CLOSED),
            (&self.store_errors, &["connect", "lost", "refused", "unwitnessed", "unchecked"]),
            (&self.limits, LIMITS),
            (&self.rings, &["rung", "not_reached"]),
            (&self.recalls, &["sent", "received"]),
            (&self.deadlocks, &["here", "across", "server"]),
            (&self.suspensions, &["resumed", "closed"]),
            (
                &self.fenced_commits,
                &["fenced", "lost", "denied", "failed", "interrupted", "unfenced"],
            ),
            (&self.pool_moves, &["all", "reset", "delta", "nothing"]),
            (&self.failover_locks, &["kept", "lost"]),
            (&self.pool_audits, &["clear", "left", "unknown"]),
            (&self.pool_lost, &["unnoticed", "rolled_back", "unknown", "closed"]),
            (&self.sessions_lost, LOST),
            (&self.errands_cut, ERRANDS),
            (&self.logins, &["server", "server_again", "proxy"]),
            (&self.unsupported, &["refused", "native"]),
            (&self.native_only, &["yes", "perhaps"]),
            (&self.switchovers, &["moved", "cancelled", "limit", "stopped"]),
            (&self.claims, &["claimed", "later", "not_free", "failed", "native"]),
        ] {
            for value in values {
                counters.with_label_values(&[*value]);
            }
        }
    }
}
