//! Waiting for what must happen, on machines that may be busy.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long anything may take that must happen, on a machine that has nothing else to do.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// Time between two looks at the machine.
const SAMPLE: Duration = Duration::from_millis(100);

/// A wait takes at most so many times its patience, however busy the machine is.
const MOST: u32 = 6;

/// The end of a wait. It moves on by the time that the machine withholds meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    began: Instant,
    patience: Duration,
    /// What had been withheld when it began. `None`: it does not move.
    withheld: Option<Duration>,
}

impl Deadline {
    /// After so much time in which the machine worked for this process.
    pub fn after(patience: Duration) -> Self {
        Self { began: Instant::now(), patience, withheld: Some(withheld()) }
    }

    /// The time left; zero when it has passed.
    pub fn left(&self) -> Duration {
        let moved =
            self.withheld.map_or(Duration::ZERO, |before| withheld().saturating_sub(before));
        let whole = (self.patience + moved).min(self.patience * MOST);
        whole.saturating_sub(self.began.elapsed())
    }
}

/// Exactly then.
impl From<Instant> for Deadline {
    fn from(end: Instant) -> Self {
        let began = Instant::now();
        Self { began, patience: end.saturating_duration_since(began), withheld: None }
    }
}

/// Looks until there is something, and fails by name when patience ends.
pub fn eventually<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    let before = withheld();
    within(PATIENCE, look).unwrap_or_else(|| {
        let withheld = withheld().saturating_sub(before);
        panic!("not within {PATIENCE:?}, and {withheld:.0?} that other work of this machine took: {what}")
    })
}

/// Looks until there is something; `None` after `patience`, to which the time is added that the machine withholds.
pub fn within<T>(patience: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Deadline::after(patience);
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if deadline.left().is_zero() {
            return None;
        }
        std::thread::park_timeout(PAUSE);
    }
}

/// How much time the machine has withheld so far, from the first call on: processors did other work, or none at all.
pub fn withheld() -> Duration {
    static WITHHELD: AtomicU64 = AtomicU64::new(0);
    static METER: OnceLock<()> = OnceLock::new();
    METER.get_or_init(|| {
        let add = |time: Duration| {
            let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            WITHHELD.fetch_add(nanos, Ordering::Relaxed);
        };
        let meter = move || {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            loop {
                let began = Instant::now();
                std::thread::park_timeout(SAMPLE);
                let runnable =
                    std::fs::read_to_string("/proc/stat").ok().and_then(|s| runnable(&s));
                add(withheld_of(began.elapsed(), runnable.unwrap_or(1), cores));
            }
        };
        // Without it waits are as long as on an idle machine.
        let _ = std::thread::Builder::new().name("stalls".to_owned()).spawn(meter);
    });
    Duration::from_nanos(WITHHELD.load(Ordering::Relaxed))
}

/// Of a sample that took so long: what is beyond its time, when nothing ran here, and each task's share that others had.
fn withheld_of(took: Duration, runnable: usize, cores: usize) -> Duration {
    let late = took.saturating_sub(SAMPLE * 2);
    let shared = u32::try_from(runnable.saturating_sub(cores)).unwrap_or(u32::MAX);
    let all = u32::try_from(runnable.max(1)).unwrap_or(u32::MAX);
    late + took.saturating_sub(late) * shared / all
}

/// How many tasks run or wait for a processor, by `/proc/stat` (proc(5)).
fn runnable(stat: &str) -> Option<usize> {
    stat.lines().find_map(|line| line.strip_prefix("procs_running ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_withholds_what_others_have() {
        assert_eq!(withheld_of(SAMPLE, 2, 2), Duration::ZERO);
        assert_eq!(withheld_of(SAMPLE, 8, 2), SAMPLE * 3 / 4);
        assert_eq!(withheld_of(SAMPLE * 12, 1, 2), SAMPLE * 10, "nothing ran");
        assert_eq!(runnable("cpu 1 2\nprocs_running 7\nprocs_blocked 0\n"), Some(7));
        assert_eq!(runnable("cpu 1 2\n"), None);
    }

    #[test]
    fn an_exact_deadline_does_not_move() {
        let end = Deadline::from(Instant::now());
        assert!(end.left().is_zero());
        assert!(!Deadline::after(PATIENCE).left().is_zero());
    }
}
