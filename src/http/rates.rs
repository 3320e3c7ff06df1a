//! Rates over the last minutes, for the page: a sample every two seconds.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::{Instant, interval};

use crate::lock::function::Function;
use crate::metrics::{CallOutcome, Metrics};

/// Between two samples.
const STEP: Duration = Duration::from_secs(2);
/// Samples of five minutes.
const SAMPLES: usize = 150;

/// Counters and levels of a moment.
#[derive(Debug, Clone, Copy)]
struct Sample {
    at: Instant,
    grants: u64,
    not_free: u64,
    held: i64,
    waiting: i64,
    sessions: i64,
}

impl Sample {
    fn of(metrics: &Metrics) -> Self {
        Self {
            at: Instant::now(),
            grants: metrics.counted(Function::GetLock, CallOutcome::One),
            not_free: metrics.counted(Function::GetLock, CallOutcome::Zero),
            held: metrics.held.get(),
            waiting: metrics.waiting.get(),
            sessions: metrics.sessions.get(),
        }
    }
}

/// The samples of one cluster.
#[derive(Debug, Clone)]
pub(super) struct Rates {
    metrics: Arc<Metrics>,
    samples: Arc<Mutex<VecDeque<Sample>>>,
}

impl Rates {
    pub(super) fn new(metrics: Arc<Metrics>) -> Self {
        let first = Sample::of(&metrics);
        Self { metrics, samples: Arc::new(Mutex::new(VecDeque::from([first]))) }
    }

    /// Takes samples until dropped.
    pub(super) async fn keep(self) {
        let mut ticks = interval(STEP);
        loop {
            ticks.tick().await;
            let mut samples = self.samples.lock();
            if samples.len() > SAMPLES {
                samples.pop_front();
            }
            samples.push_back(Sample::of(&self.metrics));
        }
    }

    /// A list for each series, the latest last: rates in a second between samples, and levels.
    pub(super) fn json(&self) -> Value {
        let samples: Vec<Sample> = self.samples.lock().iter().copied().collect();
        #[expect(clippy::cast_precision_loss, reason = "calls of seconds")]
        let rate = |of: fn(&Sample) -> u64| -> Vec<f64> {
            let rates = samples.windows(2).map(|pair| {
                let calls = of(&pair[1]).saturating_sub(of(&pair[0]));
                calls as f64 / pair[1].at.duration_since(pair[0].at).as_secs_f64().max(0.001)
            });
            rates.collect()
        };
        let level = |of: fn(&Sample) -> i64| samples.iter().map(of).collect::<Vec<_>>();
        json!({
            "step_seconds": STEP.as_secs(),
            "grants": rate(|s| s.grants),
            "not_free": rate(|s| s.not_free),
            "held": level(|s| s.held),
            "waiting": level(|s| s.waiting),
            "sessions": level(|s| s.sessions),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_between_samples_and_old_samples_go() {
        let metrics = Arc::new(Metrics::new(None).expect("metrics"));
        let rates = Rates::new(Arc::clone(&metrics));
        let first = *rates.samples.lock().front().expect("one");
        let later = first.at + STEP;
        rates.samples.lock().push_back(Sample { at: later, grants: 10, waiting: 3, ..first });
        let json = rates.json();
        assert_eq!(json["grants"], json!([5.0]));
        assert_eq!(json["waiting"], json!([0, 3]));
    }
}
