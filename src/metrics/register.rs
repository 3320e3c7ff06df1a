//! Metrics of each kind, made and registered in one step.

use prometheus::core::{Atomic, Collector, GenericCounterVec, GenericGauge};
use prometheus::{Histogram, HistogramOpts, IntCounter, IntGaugeVec, Opts, Registry, Result};

const NAMESPACE: &str = "lockstead";

/// Bounds of histograms in seconds, from a loopback commit to a lock that is held for days. The bounds lie above round
/// numbers, since timeouts are round: waits that end with theirs are all just below a bound, and a quantile says so.
pub(super) const SECONDS: [f64; 30] = [
    0.0006, 0.0012, 0.0025, 0.006, 0.012, 0.025, 0.06, 0.12, 0.25, 0.55, 1.1, 2.1, 3.2, 5.3, 10.5,
    15.5, 21.0, 31.0, 46.0, 63.0, 95.0, 125.0, 185.0, 310.0, 620.0, 930.0, 1850.0, 3700.0,
    22_000.0, 90_000.0,
];
/// How many of them suit durations that reach seconds only when something is wrong.
pub(super) const SHORT: usize = 16;

fn registered<M: Collector + Clone + 'static>(r: &Registry, metric: Result<M>) -> Result<M> {
    let metric = metric?;
    r.register(Box::new(metric.clone()))?;
    Ok(metric)
}

fn opts(name: &str, help: &str) -> Opts {
    Opts::new(name, help).namespace(NAMESPACE)
}

pub(super) fn gauge<P: Atomic + 'static>(
    r: &Registry,
    name: &str,
    help: &str,
) -> Result<GenericGauge<P>> {
    registered(r, GenericGauge::with_opts(opts(name, help)))
}

pub(super) fn gauge_vec(
    r: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<IntGaugeVec> {
    registered(r, IntGaugeVec::new(opts(name, help), labels))
}

pub(super) fn counter(r: &Registry, name: &str, help: &str) -> Result<IntCounter> {
    registered(r, IntCounter::with_opts(opts(name, help)))
}

pub(super) fn counter_vec<P: Atomic + 'static>(
    r: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<GenericCounterVec<P>> {
    registered(r, GenericCounterVec::new(opts(name, help), labels))
}

pub(super) fn histogram(
    r: &Registry,
    name: &str,
    help: &str,
    buckets: &[f64],
) -> Result<Histogram> {
    let opts = HistogramOpts::new(name, help).namespace(NAMESPACE).buckets(buckets.to_vec());
    registered(r, Histogram::with_opts(opts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_that_end_with_their_timeout_show_in_a_quantile() {
        for timeout in
            [1.0, 2.0, 3.0, 5.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 120.0, 300.0, 3600.0]
        {
            let waited = timeout + 0.02;
            let above = SECONDS.into_iter().find(|bound| *bound >= waited).expect("a bucket");
            // A quantile lies in the bucket, the highest ones at its upper end.
            assert!(above < timeout * 1.11, "waits of {timeout} s look like {above} s");
        }
        assert!(SECONDS.is_sorted());
    }
}
