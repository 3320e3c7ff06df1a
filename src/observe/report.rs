//! The report of mode observe, as its file holds it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The form of the file.
pub const FORMAT: u32 = 1;

/// Upper bounds of the buckets of [`Times`], in seconds; the last bucket has none. Those for timeouts lie
/// above round numbers: a wait that ends with its timeout is a little longer.
pub const BOUNDS: [f64; 7] = [0.001, 0.01, 0.1, 1.05, 10.5, 63.0, 630.0];

/// How long something took, how often.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// How often.
    pub count: u64,
    /// All times together.
    pub sum_seconds: f64,
    /// The longest.
    pub max_seconds: f64,
    /// How many took at most so long as each of [`BOUNDS`], and longer; each is counted once.
    pub buckets: [u64; BOUNDS.len() + 1],
}

impl Times {
    /// Counts one.
    pub fn add(&mut self, time: Duration) {
        let seconds = time.as_secs_f64();
        self.count += 1;
        self.sum_seconds += seconds;
        self.max_seconds = self.max_seconds.max(seconds);
        self.buckets[BOUNDS.iter().position(|b| seconds <= *b).unwrap_or(BOUNDS.len())] += 1;
    }

    /// A time that so many in a hundred did not exceed.
    pub fn percentile(&self, percent: u64) -> Option<f64> {
        let needed = (self.count * percent).div_ceil(100).max(1);
        let mut counted = 0;
        let at = self.buckets.iter().position(|n| {
            counted += n;
            counted >= needed
        })?;
        Some(BOUNDS.get(at).copied().unwrap_or(self.max_seconds).min(self.max_seconds))
    }
}

/// The outcomes of the calls of a function.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcomes {
    /// 1, or another number.
    pub one: u64,
    /// 0.
    pub zero: u64,
    /// NULL.
    pub null: u64,
    /// An error.
    pub error: u64,
    /// The response did not show it.
    pub untold: u64,
}

impl Outcomes {
    /// All calls.
    pub fn all(&self) -> u64 {
        self.one + self.zero + self.null + self.error + self.untold
    }
}

/// A lock.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LockRecord {
    /// Name of the lock.
    pub name: String,
    /// Calls, by function.
    pub calls: BTreeMap<String, Outcomes>,
    /// How long GET_LOCK took.
    pub waits: Times,
    /// How long it was held.
    pub holds: Times,
    /// user@host of the callers.
    pub users: Vec<String>,
    /// There were more.
    pub more_users: bool,
}

impl LockRecord {
    /// All calls.
    pub fn count(&self) -> u64 {
        self.calls.values().map(Outcomes::all).sum()
    }
}

/// A statement with lock calls, of one user, host, program and schema.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementRecord {
    /// Text of the statement, with ? for literals.
    pub statement: String,
    /// The account's user.
    pub user: String,
    /// Where the client is.
    pub host: String,
    /// The client's name of itself.
    pub program: String,
    /// The default schema.
    pub schema: String,
    /// `covered`, `passed`, `perhaps` or `refused`.
    pub verdict: String,
    /// Why it is not covered.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// How often it was run.
    pub count: u64,
    /// Locks it named.
    pub locks: Vec<String>,
    /// There were more.
    pub more_locks: bool,
}

/// All that was observed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`FORMAT`].
    pub format: u32,
    /// When observing began.
    pub since: String,
    /// When this was written.
    pub until: String,
    /// For how long a proxy observed in between.
    pub observed_seconds: u64,
    /// By name, those with most calls first.
    pub locks: Vec<LockRecord>,
    /// Counts for names beyond the limit.
    pub other_locks: LockRecord,
    /// Statements that would not be covered first, then by count.
    pub statements: Vec<StatementRecord>,
    /// Runs of statements beyond the most that are kept, by verdict.
    pub other_statements: BTreeMap<String, u64>,
    /// How often something was counted for one of the others.
    pub overflow: u64,
    /// What could not be observed, and how often.
    pub unobserved: BTreeMap<String, u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_bounds_that_hold() {
        let mut times = Times::default();
        assert_eq!(times.percentile(50), None);
        for ms in [1, 2, 3, 1020, 700_000] {
            times.add(Duration::from_millis(ms));
        }
        assert_eq!(times.buckets, [1, 2, 0, 1, 0, 0, 0, 1]);
        assert_eq!(times.percentile(50), Some(0.01));
        assert_eq!(times.percentile(80), Some(1.05), "a timeout of a second");
        assert_eq!(times.percentile(95), Some(700.0));
        let mut one = Times::default();
        one.add(Duration::from_millis(20));
        assert_eq!(one.percentile(95), Some(0.02), "no more than the longest");
    }
}
