//! Metrics of single locks: of those that the configuration names, and of so many at most.

use std::collections::HashSet;

use parking_lot::Mutex;
use prometheus::{CounterVec, IntCounterVec, IntGaugeVec, Registry};
use wildmatch::WildMatch;

use super::register::{counter_vec, gauge_vec};

/// Names that get series of their own at most; the rest of those that match share one.
pub const MOST: usize = 200;
/// The label of the names that share one series.
pub const REST: &str = "…";

/// Counters with the label `lock`.
#[derive(Debug)]
pub struct NamedLocks {
    patterns: Vec<WildMatch>,
    known: Mutex<HashSet<String>>,
    grants: IntCounterVec,
    held: IntGaugeVec,
    waited: CounterVec,
    kept: CounterVec,
}

impl NamedLocks {
    /// For names that match one of `patterns`, in which `*` is any text and `?` any character.
    pub(super) fn new(r: &Registry, patterns: &[String]) -> Result<Self, prometheus::Error> {
        Ok(Self {
            patterns: patterns.iter().map(|pattern| WildMatch::new(pattern)).collect(),
            known: Mutex::default(),
            grants: counter_vec(
                r,
                "named_lock_grants_total",
                "Grants of locks named by metrics_locks.",
                &["lock"],
            )?,
            held: gauge_vec(
                r,
                "named_locks_held",
                "Locks named by metrics_locks, held by sessions of this proxy.",
                &["lock"],
            )?,
            waited: counter_vec(
                r,
                "named_lock_wait_seconds_total",
                "Time that sessions waited for locks named by metrics_locks before they got them.",
                &["lock"],
            )?,
            kept: counter_vec(
                r,
                "named_lock_hold_seconds_total",
                "Time that locks named by metrics_locks were held, counted at their release.",
                &["lock"],
            )?,
        })
    }

    /// The label of a lock, if it has one.
    fn label(&self, name: &str) -> Option<String> {
        if !self.patterns.iter().any(|pattern| pattern.matches(name)) {
            return None;
        }
        let mut known = self.known.lock();
        if known.contains(name) {
            return Some(name.to_owned());
        }
        if known.len() >= MOST {
            return Some(REST.to_owned());
        }
        known.insert(name.to_owned());
        Some(name.to_owned())
    }

    /// A lock was granted after a wait of so many seconds.
    pub fn granted(&self, name: &str, waited: f64) {
        if let Some(label) = self.label(name) {
            let label = &[label.as_str()];
            self.grants.with_label_values(label).inc();
            self.held.with_label_values(label).inc();
            self.waited.with_label_values(label).inc_by(waited);
        }
    }

    /// Counts a lock that is held, and was not granted now.
    pub fn found(&self, name: &str) {
        if let Some(label) = self.label(name) {
            self.held.with_label_values(&[label.as_str()]).inc();
        }
    }

    /// Counts the end of a hold that has lasted so many seconds.
    pub fn ended(&self, name: &str, kept: f64) {
        if let Some(label) = self.label(name) {
            let label = &[label.as_str()];
            self.held.with_label_values(label).dec();
            self.kept.with_label_values(label).inc_by(kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use prometheus::TextEncoder;

    use super::*;

    #[test]
    fn names_that_match_have_series_up_to_a_cap() {
        let registry = Registry::new();
        let patterns = ["job:*".to_owned(), "nightly".to_owned()];
        let named = NamedLocks::new(&registry, &patterns).expect("metrics");
        for name in ["other", "nightly2", "a job:1"] {
            named.granted(name, 1.0);
        }
        assert!(named.known.lock().is_empty());
        named.granted("nightly", 2.0);
        named.ended("nightly", 3.0);
        for n in 0..MOST + 7 {
            named.granted(&format!("job:{n}"), 0.5);
        }
        let text = TextEncoder::new().encode_to_string(&registry.gather()).expect("text");
        for line in [
            "lockstead_named_lock_grants_total{lock=\"nightly\"} 1",
            "lockstead_named_locks_held{lock=\"nightly\"} 0",
            "lockstead_named_lock_hold_seconds_total{lock=\"nightly\"} 3",
            "lockstead_named_lock_wait_seconds_total{lock=\"job:0\"} 0.5",
            // One place was nightly's.
            "lockstead_named_lock_grants_total{lock=\"…\"} 8",
        ] {
            assert!(text.contains(&format!("{line}\n")), "{line}: {text}");
        }
    }
}
