//! Metrics of each kind, made and registered in one step.

use prometheus::{
    Gauge, Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry,
};

pub(super) const NAMESPACE: &str = "lockstead";

pub(super) fn gauge(r: &Registry, name: &str, help: &str) -> Result<IntGauge, prometheus::Error> {
    let g = IntGauge::with_opts(Opts::new(name, help).namespace(NAMESPACE))?;
    r.register(Box::new(g.clone()))?;
    Ok(g)
}

pub(super) fn float_gauge(
    r: &Registry,
    name: &str,
    help: &str,
) -> Result<Gauge, prometheus::Error> {
    let g = Gauge::with_opts(Opts::new(name, help).namespace(NAMESPACE))?;
    r.register(Box::new(g.clone()))?;
    Ok(g)
}

pub(super) fn gauge_vec(
    r: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<IntGaugeVec, prometheus::Error> {
    let g = IntGaugeVec::new(Opts::new(name, help).namespace(NAMESPACE), labels)?;
    r.register(Box::new(g.clone()))?;
    Ok(g)
}

pub(super) fn counter(
    r: &Registry,
    name: &str,
    help: &str,
) -> Result<IntCounter, prometheus::Error> {
    let c = IntCounter::with_opts(Opts::new(name, help).namespace(NAMESPACE))?;
    r.register(Box::new(c.clone()))?;
    Ok(c)
}

pub(super) fn counter_vec(
    r: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<IntCounterVec, prometheus::Error> {
    let c = IntCounterVec::new(Opts::new(name, help).namespace(NAMESPACE), labels)?;
    r.register(Box::new(c.clone()))?;
    Ok(c)
}

pub(super) fn histogram(
    r: &Registry,
    name: &str,
    help: &str,
    buckets: &[f64],
) -> Result<Histogram, prometheus::Error> {
    let opts = HistogramOpts::new(name, help).namespace(NAMESPACE).buckets(buckets.to_vec());
    let h = Histogram::with_opts(opts)?;
    r.register(Box::new(h.clone()))?;
    Ok(h)
}
