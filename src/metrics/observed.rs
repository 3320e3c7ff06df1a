//! Metrics of a proxy that observes. Of the others it has those of sessions, and of the locks that these take at the server.

use prometheus::{IntCounterVec, Registry};

use super::register::counter_vec;

/// Metrics that are shown besides those of observing. The rest is about a lease, lock tables and shared connections.
const SHOWN: [&str; 28] = [
    "lockstead_build_info",
    "lockstead_certificate_end_seconds",
    "lockstead_server_info",
    "lockstead_server_up",
    "lockstead_server_writer",
    "lockstead_sessions",
    "lockstead_sessions_total",
    "lockstead_sessions_closed_total",
    "lockstead_limits_met_total",
    "lockstead_commands_total",
    "lockstead_relayed_to_server_bytes_total",
    "lockstead_relayed_to_client_bytes_total",
    "lockstead_writer_changes_total",
    "lockstead_writer_rivals",
    "lockstead_backend_up",
    "lockstead_deadlocks_total",
    "lockstead_lock_calls_total",
    "lockstead_lock_definitions_total",
    "lockstead_lock_hold_seconds",
    "lockstead_lock_longest_hold_seconds",
    "lockstead_lock_longest_wait_seconds",
    "lockstead_lock_wait_seconds",
    "lockstead_locks_held",
    "lockstead_locks_waiting",
    "lockstead_logins_total",
    "lockstead_protocol_errors_total",
    "lockstead_panics_total",
    "lockstead_errands_cut_total",
];

/// Counters of what is observed.
#[derive(Debug, Clone)]
pub struct Observed {
    /// Statements with calls, by what Lockstead would make of them.
    pub statements: IntCounterVec,
    /// Counted without an entry of its own in the report.
    pub overflow: IntCounterVec,
    /// Calls and statements that could not be observed, by reason.
    pub missed: IntCounterVec,
}

impl Observed {
    /// Registers the metrics.
    pub(super) fn new(r: &Registry) -> Result<Self, prometheus::Error> {
        let observed = Self {
            statements: counter_vec(
                r,
                "observed_statements_total",
                "Statements with lock calls that were seen, by what Lockstead would do with them.",
                &["verdict"],
            )?,
            overflow: counter_vec(
                r,
                "observed_overflow_total",
                "Calls and statements beyond the rows of the report.",
                &["of"],
            )?,
            missed: counter_vec(
                r,
                "observed_missed_total",
                "Calls and statements that could not be observed, by reason.",
                &["reason"],
            )?,
        };
        for (counters, values) in [
            (&observed.statements, &["covered", "passed", "perhaps", "refused"][..]),
            (&observed.overflow, &["lock", "statement"]),
            (&observed.missed, &["long", "pipelined", "hold", "statement", "busy"]),
        ] {
            for value in values {
                counters.with_label_values(&[*value]);
            }
        }
        Ok(observed)
    }
}

/// Whether a metric says something about a proxy that observes.
pub(super) fn shows(name: &str) -> bool {
    let begins = |with| name.starts_with(with);
    begins("lockstead_observed_") || begins("lockstead_named_lock") || SHOWN.contains(&name)
}
