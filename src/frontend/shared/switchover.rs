//! A planned switch of the primary: statements that would begin now wait, for a bounded time.
//!
//! Each session looks here before it begins a statement outside a transaction. Open transactions go on. Who prepares the
//! switchover sees by what sessions say of themselves when none is open.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::registry::Registry;
use crate::engine::handle::SessionEvent;
use crate::metrics::{GaugeGuard, Metrics};

/// Why statements go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwitchoverEnd {
    /// Another server is the writer, or another epoch was joined.
    Moved,
    /// An administrator has said so.
    Cancelled,
    /// The time is over.
    Limit,
    /// The proxy shuts down, or hands over to another process.
    Stopped,
}

impl SwitchoverEnd {
    /// As it is shown, and the label `end`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Moved => "moved",
            Self::Cancelled => "cancelled",
            Self::Limit => "limit",
            Self::Stopped => "stopped",
        }
    }
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HoldStage {
    Off,
    Holding,
    Ready,
}

#[derive(Debug)]
struct HoldProgress {
    /// Number of the last hold.
    number: u64,
    stage: HoldStage,
    begun: Instant,
    until: Instant,
    last: Option<SwitchoverEnd>,
}

/// The hold as administrators are shown it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownSwitchover {
    /// The number of the hold that is on; 0: none.
    pub number: u64,
    /// No transaction is open.
    pub ready: bool,
    /// Time until statements go on.
    pub left: Duration,
    /// Why the last one has ended.
    pub last: Option<SwitchoverEnd>,
}

/// The hold of a cluster. Copies speak of the same.
#[derive(Debug, Clone)]
pub struct Switchover(Arc<SwitchoverInner>);

#[derive(Debug)]
struct SwitchoverInner {
    cluster: Option<Arc<str>>,
    /// The number of the hold that is on; 0: none.
    on: AtomicU64,
    now: Mutex<HoldProgress>,
    /// The number of the hold that has ended last.
    over: watch::Sender<u64>,
    registry: Registry,
    metrics: Arc<Metrics>,
}

impl Switchover {
    /// The switchover of a cluster, of which none is on.
    pub fn new(cluster: Option<&str>, registry: &Registry, metrics: &Arc<Metrics>) -> Self {
        let at = Instant::now();
        let now =
            HoldProgress { number: 0, stage: HoldStage::Off, begun: at, until: at, last: None };
        Self(Arc::new(SwitchoverInner {
            cluster: cluster.map(Arc::from),
            on: AtomicU64::new(0),
            now: Mutex::new(now),
            over: watch::Sender::new(0),
            registry: registry.clone(),
            metrics: Arc::clone(metrics),
        }))
    }

    /// Whether statements wait that would begin now.
    pub(crate) fn is_on(&self) -> bool {
        self.number() != 0
    }

    /// The number of the hold that is on; 0: none.
    pub(crate) fn number(&self) -> u64 {
        self.0.on.load(Ordering::SeqCst)
    }

    /// Waits until the hold of this number has ended. Another one may be on then: what has waited goes on nevertheless, so
    /// that it waits no longer than for one.
    pub(crate) async fn over(&self, number: u64) {
        let mut over = self.0.over.subscribe();
        loop {
            over.borrow_and_update();
            if self.number() != number {
                return;
            }
            let until = self.0.now.lock().until;
            // The time ends it, whatever happens to who watches that.
            match timeout_at(until, over.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return,
            }
        }
    }

    /// A statement waits.
    pub(crate) fn count_statement(&self) -> GaugeGuard {
        GaugeGuard::of(&self.0.metrics.held_statements)
    }

    /// Statements wait from now on. The number of the hold, or what is left of the one that is on.
    pub fn hold(&self, limit: Duration) -> Result<u64, Duration> {
        let mut now = self.0.now.lock();
        let at = Instant::now();
        if now.stage != HoldStage::Off {
            return Err(now.until.saturating_duration_since(at));
        }
        let number = now.number + 1;
        *now = HoldProgress {
            number,
            stage: HoldStage::Holding,
            begun: at,
            until: at + limit,
            last: now.last,
        };
        self.0.on.store(number, Ordering::SeqCst);
        self.0.metrics.switchover_state.set(1);
        tracing::info!(
            cluster = self.0.cluster.as_deref(),
            ?limit,
            "a switchover is prepared: new statements wait"
        );
        drop(now);
        self.0.registry.tell(SessionEvent::SwitchoverChanged);
        Ok(number)
    }

    /// No transaction is open. Whether the hold is still on.
    pub fn is_ready(&self, number: u64) -> bool {
        let mut now = self.0.now.lock();
        if now.number != number || now.stage != HoldStage::Holding {
            return false;
        }
        now.stage = HoldStage::Ready;
        self.0.metrics.switchover_state.set(2);
        let took = now.begun.elapsed();
        tracing::info!(
            cluster = self.0.cluster.as_deref(),
            ?took,
            held = self.0.metrics.held_statements.get(),
            "ready for the switch of the primary: no transaction is open"
        );
        true
    }

    /// Ends the hold of this number, or any: statements go on. Whether there was one.
    pub fn end(&self, number: Option<u64>, why: SwitchoverEnd) -> bool {
        let mut now = self.0.now.lock();
        if now.stage == HoldStage::Off || number.is_some_and(|number| number != now.number) {
            return false;
        }
        let ready = now.stage == HoldStage::Ready;
        now.stage = HoldStage::Off;
        now.last = Some(why);
        let (number, took) = (now.number, now.begun.elapsed());
        let metrics = &self.0.metrics;
        let held = metrics.held_statements.get();
        self.0.on.store(0, Ordering::SeqCst);
        metrics.switchover_state.set(0);
        metrics.switchovers.with_label_values(&[why.name()]).inc();
        tracing::info!(
            cluster = self.0.cluster.as_deref(),
            why = why.name(),
            ready,
            held,
            ?took,
            "the hold for a switchover is over: statements go on"
        );
        drop(now);
        self.0.over.send_replace(number);
        self.0.registry.tell(SessionEvent::SwitchoverChanged);
        true
    }

    /// As administrators are shown it.
    pub fn shown(&self) -> ShownSwitchover {
        let now = self.0.now.lock();
        ShownSwitchover {
            number: if now.stage == HoldStage::Off { 0 } else { now.number },
            ready: now.stage == HoldStage::Ready,
            left: now.until.saturating_duration_since(Instant::now()),
            last: now.last,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switchover() -> Switchover {
        let metrics = Arc::new(Metrics::new(None).expect("metrics"));
        Switchover::new(None, &Registry::default(), &metrics)
    }

    #[tokio::test]
    async fn statements_wait_until_the_hold_has_ended() {
        let switchover = switchover();
        switchover.over(1).await;
        let number = switchover.hold(Duration::from_mins(1)).expect("none is on");
        assert!(switchover.is_on() && switchover.hold(Duration::from_mins(1)).is_err());
        let waits = tokio::spawn({
            let switchover = switchover.clone();
            async move { switchover.over(number).await }
        });
        assert!(
            switchover.is_ready(number) && !switchover.is_ready(number) && switchover.shown().ready
        );
        assert!(!switchover.end(Some(number + 1), SwitchoverEnd::Limit) && switchover.is_on());
        assert!(
            switchover.end(Some(number), SwitchoverEnd::Moved)
                && !switchover.end(None, SwitchoverEnd::Cancelled)
        );
        waits.await.expect("over");
        assert_eq!((switchover.number(), switchover.shown().last), (0, Some(SwitchoverEnd::Moved)));
        assert_eq!(switchover.hold(Duration::from_mins(1)), Ok(number + 1));
    }

    #[tokio::test]
    async fn the_time_ends_a_wait_though_nobody_says_so() {
        let switchover = switchover();
        let number = switchover.hold(Duration::from_millis(100)).expect("none is on");
        let begun = Instant::now();
        switchover.over(number).await;
        assert!(begun.elapsed() >= Duration::from_millis(90) && switchover.is_on());
    }
}
