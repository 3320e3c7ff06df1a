//! A session's pins in the metrics, as long as the session lives.

use super::pins::Pins;
use super::pooled_session::PooledSession;

impl PooledSession {
    /// Shows its pins in the metrics.
    pub(crate) fn show_pins(&mut self) {
        if self.shown == self.pins {
            return;
        }
        for name in self.shown.names() {
            self.metrics.pinned_sessions.with_label_values(&[name]).dec();
        }
        for name in self.pins.names() {
            self.metrics.pinned_sessions.with_label_values(&[name]).inc();
        }
        if let Some(hold) = &self.hold {
            hold.note_reasons(self.pins.names());
        }
        self.shown = self.pins;
    }
}

impl Drop for PooledSession {
    fn drop(&mut self) {
        self.pins = Pins::default();
        self.show_pins();
        self.statements.clear(false);
        self.show_statements();
    }
}
