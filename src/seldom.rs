//! Log lines that clients can cause as often as they like: some of them are written, the others are
//! counted.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Lines that are written in a period.
const LINES: u32 = 10;
/// The period.
const PERIOD: Duration = Duration::from_secs(10);

/// One kind of line.
#[derive(Debug, Default)]
pub struct Seldom(Mutex<Said>);

#[derive(Debug, Default)]
struct Said {
    /// When the period began.
    since: Option<Instant>,
    /// Lines written in the period.
    lines: u32,
    left_out: u64,
}

/// A line that may be written.
#[derive(Debug, PartialEq, Eq)]
pub struct Turn {
    /// How many were left out before it, if any.
    pub left_out: Option<u64>,
}

impl Seldom {
    /// To be asked before each line; `None`: it is left out.
    pub fn turn(&self) -> Option<Turn> {
        self.turn_at(Instant::now())
    }

    fn turn_at(&self, now: Instant) -> Option<Turn> {
        let mut said = self.0.lock();
        if said.since.is_none_or(|since| now.saturating_duration_since(since) >= PERIOD) {
            (said.since, said.lines) = (Some(now), 0);
        }
        if said.lines >= LINES {
            said.left_out += 1;
            return None;
        }
        said.lines += 1;
        let left_out = std::mem::take(&mut said.left_out);
        Some(Turn { left_out: (left_out > 0).then_some(left_out) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_lines_are_written_in_each_period_and_the_rest_is_counted() {
        let (seldom, begun) = (Seldom::default(), Instant::now());
        for period in 0..3 {
            let at = begun + PERIOD * period;
            for line in 0..LINES {
                let left_out = (period > 0 && line == 0).then_some(7);
                assert_eq!(seldom.turn_at(at), Some(Turn { left_out }));
            }
            for _ in 0..7 {
                assert_eq!(seldom.turn_at(at + PERIOD / 2), None);
            }
        }
    }
}
