//! Shapes of statements with lock calls, what their calls came to and how long they took, for as many
//! shapes as the settings say.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use dashmap::mapref::multiple::RefMulti;
use parking_lot::Mutex;

use crate::metrics::CallOutcome;

/// Bytes of a statement that are shown.
pub const SHOWN: usize = 1024;

/// What is counted of a shape.
#[derive(Debug, Clone)]
pub struct Digest {
    /// Calls that were decided.
    pub calls: u64,
    /// Those of them that were answered 1, or a connection's id.
    pub one: u64,
    /// Those that were answered 0.
    pub zero: u64,
    /// Those that were answered NULL.
    pub null: u64,
    /// Statements that are not covered.
    pub uncovered: u64,
    /// The time of all calls, waits included.
    pub time: Duration,
    /// That of the longest one.
    pub longest: Duration,
    /// When the last one ended.
    pub last: SystemTime,
}

/// What is counted of a statement.
#[derive(Debug, Clone, Copy)]
pub enum DigestEvent {
    /// A call, and how long it took.
    Call(CallOutcome, Duration),
    /// It is not covered.
    Uncovered,
}

impl Digest {
    fn new() -> Self {
        Self {
            calls: 0,
            one: 0,
            zero: 0,
            null: 0,
            uncovered: 0,
            time: Duration::ZERO,
            longest: Duration::ZERO,
            last: SystemTime::UNIX_EPOCH,
        }
    }

    fn count(&mut self, event: &DigestEvent) {
        #[expect(clippy::disallowed_methods, reason = "nothing is decided by it")]
        let now = SystemTime::now();
        self.last = now;
        match event {
            DigestEvent::Uncovered => self.uncovered += 1,
            DigestEvent::Call(outcome, time) => {
                self.calls += 1;
                match outcome {
                    CallOutcome::One => self.one += 1,
                    CallOutcome::Zero => self.zero += 1,
                    CallOutcome::Null => self.null += 1,
                    // Errors, and what the server decides.
                    CallOutcome::Native
                    | CallOutcome::Unsupported
                    | CallOutcome::Ended
                    | CallOutcome::Failed
                    | CallOutcome::Untold => {}
                }
                self.time += *time;
                self.longest = self.longest.max(*time);
            }
        }
    }
}

/// Those of a cluster.
#[derive(Debug, Clone, Default)]
pub struct Digests(Arc<Counted>);

#[derive(Debug, Default)]
struct Counted {
    /// In shards, since every lock call of every thread is counted.
    shapes: DashMap<String, Digest>,
    /// How many shapes there are, exactly.
    count: AtomicUsize,
    /// All shapes for which there was no place.
    others: Mutex<Option<Digest>>,
}

impl Digests {
    /// Where there is no place for one more shape, it is counted with others.
    pub fn count(&self, shape: String, event: &DigestEvent, most: usize) {
        let Counted { shapes, count, others } = &*self.0;
        let room = |count| (count < most).then_some(count + 1);
        match shapes.entry(shape) {
            Entry::Occupied(mut digest) => digest.get_mut().count(event),
            Entry::Vacant(place) => {
                if count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).is_ok() {
                    place.insert(Digest::new()).count(event);
                } else {
                    others.lock().get_or_insert_with(Digest::new).count(event);
                }
            }
        }
    }

    /// Each shape, that with the most time first; at the end, what all others come to.
    pub fn shown(&self) -> Vec<(Option<String>, Digest)> {
        let one = |entry: RefMulti<'_, String, Digest>| {
            (Some(entry.key().clone()), entry.value().clone())
        };
        let mut all: Vec<_> = self.0.shapes.iter().map(one).collect();
        let others = self.0.others.lock().clone();
        all.sort_by(|(a, x), (b, y)| y.time.cmp(&x.time).then_with(|| a.cmp(b)));
        all.extend(others.map(|digest| (None, digest)));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_beyond_the_most_are_counted_together() {
        let digests = Digests::default();
        let call = |outcome, ms| DigestEvent::Call(outcome, Duration::from_millis(ms));
        digests.count("a".into(), &call(CallOutcome::One, 3), 2);
        digests.count("b".into(), &call(CallOutcome::Zero, 9), 2);
        digests.count("c".into(), &call(CallOutcome::Null, 1), 2);
        digests.count("d".into(), &DigestEvent::Uncovered, 2);
        digests.count("a".into(), &call(CallOutcome::Failed, 2), 2);
        let all = digests.shown();
        let shapes: Vec<_> = all.iter().map(|(shape, _)| shape.as_deref()).collect();
        assert_eq!(shapes, [Some("b"), Some("a"), None]);
        let a = &all[1].1;
        assert_eq!((a.calls, a.one, a.longest.as_millis()), (2, 1, 3));
        let others = &all[2].1;
        assert_eq!((others.calls, others.null, others.uncovered), (1, 1, 1));
    }
}
