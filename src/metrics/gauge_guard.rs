//! A gauge of what exists now.

use prometheus::IntGauge;

/// Counts one in a gauge as long as it lives.
#[derive(Debug)]
pub struct GaugeGuard(IntGauge);

impl GaugeGuard {
    /// Counts one more.
    pub fn of(gauge: &IntGauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gauge_counts_what_lives() {
        let gauge = IntGauge::new("gauge", "a gauge").expect("a gauge");
        let first = GaugeGuard::of(&gauge);
        let second = GaugeGuard::of(&gauge);
        assert_eq!(gauge.get(), 2);
        drop(first);
        assert_eq!(gauge.get(), 1);
        drop(second);
        assert_eq!(gauge.get(), 0);
    }
}
