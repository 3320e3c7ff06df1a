//! Metrics of a proxy that observes. Of the others it has those of sessions and bytes.

use prometheus::{Histogram, IntCounterVec, Registry};

use super::register::{SECONDS, counter_vec, histogram};
use crate::lock::function::Function;

/// Metrics that are shown besides those of observing. The rest is about locks that Lockstead holds.
const SHOWN: [&str; 14] = [
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
];

/// Counters of what is observed.
#[derive(Debug, Clone)]
pub struct Observed {
    /// Calls by function and outcome.
    pub calls: IntCounterVec,
    /// Statements with calls, by what Lockstead would make of them.
    pub statements: IntCounterVec,
    /// Time clients waited in GET_LOCK.
    pub wait_seconds: Histogram,
    /// Time locks were held.
    pub hold_seconds: Histogram,
    /// Counted without an entry of its own in the report.
    pub overflow: IntCounterVec,
    /// Calls and statements that could not be observed, by reason.
    pub missed: IntCounterVec,
}

impl Observed {
    /// Registers them.
    pub(super) fn new(r: &Registry) -> Result<Self, prometheus::Error> {
        let observed = Self {
            calls: counter_vec(
                r,
                "observed_calls_total",
                "Lock function calls that were seen, by function and outcome.",
                &["function", "outcome"],
            )?,
            statements: counter_vec(
                r,
                "observed_statements_total",
                "Statements with lock calls that were seen, by what Lockstead would do with them.",
                &["verdict"],
            )?,
            wait_seconds: histogram(
                r,
                "observed_wait_seconds",
                "Duration of observed waits in GET_LOCK.",
                &SECONDS,
            )?,
            hold_seconds: histogram(
                r,
                "observed_hold_seconds",
                "Duration of observed holds of the server's own locks.",
                &SECONDS,
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
        for function in Function::ALL {
            for outcome in ["one", "zero", "null", "error", "untold"] {
                observed.calls.with_label_values(&[function.label(), outcome]);
            }
        }
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
    name.starts_with("lockstead_observed_") || SHOWN.contains(&name)
}
