//! A session's pins and statements in the metrics, as long as the session lives.

use std::sync::Arc;

use super::pins::Pins;
use crate::metrics::Metrics;

/// What the metrics say of one session.
pub(super) struct Shown {
    pins: Pins,
    statements: i64,
    metrics: Arc<Metrics>,
}

impl Shown {
    /// Nothing yet.
    pub(super) fn new(metrics: Arc<Metrics>) -> Self {
        Self { pins: Pins::default(), statements: 0, metrics }
    }

    /// Where it is shown.
    pub(super) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Shows these pins. Whether they are others than before.
    pub(super) fn show_pins(&mut self, pins: Pins) -> bool {
        if self.pins == pins {
            return false;
        }
        for name in self.pins.names() {
            self.metrics.pinned_sessions.with_label_values(&[name]).dec();
        }
        for name in pins.names() {
            self.metrics.pinned_sessions.with_label_values(&[name]).inc();
        }
        self.pins = pins;
        true
    }

    /// Shows that the session keeps so many statements.
    pub(super) fn show_statements(&mut self, kept: usize) {
        let kept = i64::try_from(kept).unwrap_or(i64::MAX);
        let before = std::mem::replace(&mut self.statements, kept);
        if kept != before {
            self.metrics.pool_statements.add(kept - before);
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.show_pins(Pins::default());
        self.show_statements(0);
    }
}
