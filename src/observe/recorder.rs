//! The thread that counts what sessions observe, and keeps the report.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::event::{Missed, ObservedEvent};
use super::file::{FileError, ReportFile};
use super::record::{Record, verdict};
use crate::metrics::observed::Observed;

/// Events that may wait to be counted.
const WAITING: usize = 8192;
/// How long events are left to gather after the first one. A thread that is woken for each of them costs its sessions
/// more than all else that is done for them.
const GATHER: Duration = Duration::from_millis(20);
/// How often the report is written where something has changed.
const PERIOD: Duration = Duration::from_secs(10);
/// How often the report is written where nothing has changed: it says for how long there was nothing.
const IDLE: Duration = Duration::from_mins(5);

/// Where sessions send their observations; cheap to clone.
#[derive(Debug, Clone)]
pub struct Observer {
    events: SyncSender<ObservedEvent>,
    /// Events that found no room.
    busy: Arc<AtomicU64>,
}

impl Observer {
    /// Tells, without ever waiting.
    pub fn tell(&self, event: ObservedEvent) {
        if self.events.try_send(event).is_err() {
            self.busy.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The thread.
#[derive(Debug)]
pub struct Recorder {
    events: SyncSender<ObservedEvent>,
    thread: JoinHandle<()>,
}

impl Recorder {
    /// Goes on with the report in a directory, or begins one.
    pub fn start(dir: &Path, metrics: Observed) -> Result<(Observer, Self), FileError> {
        let file = ReportFile::open(dir)?;
        let record = Record::new(file.load()?);
        file.save(&record.report(Duration::ZERO))?;
        let (events, inbox) = sync_channel(WAITING);
        let busy = Arc::new(AtomicU64::new(0));
        let observer = Observer { events: events.clone(), busy: Arc::clone(&busy) };
        let counting = ReportWriter { file, record, metrics, busy, began: Instant::now() };
        let thread = std::thread::Builder::new()
            .name("observer".into())
            .spawn(move || counting.run(&inbox))
            .map_err(|source| FileError::Io { path: dir.display().to_string(), source })?;
        Ok((observer, Self { events, thread }))
    }

    /// Counts all observations so far, and writes the report.
    pub fn stop(self) {
        // There is room as soon as the thread has counted one.
        let _ = self.events.send(ObservedEvent::Stop);
        let _ = self.thread.join();
    }
}

struct ReportWriter {
    file: ReportFile,
    record: Record,
    metrics: Observed,
    busy: Arc<AtomicU64>,
    began: Instant,
}

impl ReportWriter {
    fn run(mut self, inbox: &Receiver<ObservedEvent>) {
        let mut saved = Instant::now();
        let mut changed = false;
        let mut complained = false;
        loop {
            let due = saved + if changed { PERIOD } else { IDLE };
            let left = due.saturating_duration_since(Instant::now());
            let stop = match inbox.recv_timeout(left.min(PERIOD)) {
                Ok(first) => {
                    changed = true;
                    self.count_with(first, inbox)
                }
                Err(RecvTimeoutError::Disconnected) => true,
                Err(RecvTimeoutError::Timeout) => false,
            };
            let busy = self.busy.swap(0, Ordering::Relaxed);
            if busy > 0 {
                self.count(&ObservedEvent::Missed(Missed::Busy, busy));
                changed = true;
            }
            if !stop && Instant::now() < due {
                continue;
            }
            match self.file.save(&self.record.report(self.began.elapsed())) {
                Ok(()) => complained = false,
                Err(e) if !complained => {
                    complained = true;
                    tracing::error!(error = %e, "the report cannot be written");
                }
                Err(_) => {}
            }
            if stop {
                return;
            }
            (saved, changed) = (Instant::now(), false);
        }
    }

    /// Counts an event, and those that come soon after it. Whether that is all.
    #[expect(clippy::disallowed_methods, reason = "it ends by itself, and soon")]
    fn count_with(&mut self, first: ObservedEvent, inbox: &Receiver<ObservedEvent>) -> bool {
        if !matches!(first, ObservedEvent::Stop) {
            std::thread::sleep(GATHER);
        }
        for event in std::iter::once(first).chain(inbox.try_iter().take(WAITING)) {
            if matches!(event, ObservedEvent::Stop) {
                return true;
            }
            self.count(&event);
        }
        false
    }

    fn count(&mut self, event: &ObservedEvent) {
        let over = self.record.count(event);
        let metrics = &self.metrics;
        for (of, n) in [("lock", over.locks), ("statement", over.statements)] {
            metrics.overflow.with_label_values(&[of]).inc_by(n);
        }
        match event {
            ObservedEvent::Ran(_, statement, _) => {
                metrics.statements.with_label_values(&[verdict(statement.coverage).0]).inc();
            }
            ObservedEvent::Missed(what, times) => {
                metrics.missed.with_label_values(&[what.label()]).inc_by(*times);
            }
            ObservedEvent::Prepared(..) | ObservedEvent::Held(..) | ObservedEvent::Stop => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;
    use crate::sql::report::coverage::Coverage;

    #[test]
    fn every_label_is_known_beforehand() {
        let metrics = Metrics::observing(None).expect("metrics");
        let before = Metrics::render(std::iter::once(&metrics));
        let observed = metrics.observed.as_ref().expect("it observes");
        for missed in Missed::ALL {
            observed.missed.with_label_values(&[missed.label()]);
        }
        let verdicts =
            [Coverage::Covered, Coverage::Passed, Coverage::Perhaps(""), Coverage::Refused("")];
        for coverage in verdicts {
            observed.statements.with_label_values(&[verdict(coverage).0]);
        }
        let after = Metrics::render(std::iter::once(&metrics));
        let new: Vec<_> = after.lines().filter(|line| !before.contains(line)).collect();
        assert!(new.is_empty(), "{new:?}");
    }
}
