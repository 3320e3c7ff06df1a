//! The last answers of the lock tables, which are shown while these do not answer.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, timeout};

use super::query_error::QueryError;
use crate::store::overview::{LockFilter, LockInfo, ProxyInfo};

/// How long an answer is waited for before older rows are shown.
pub(in crate::engine) const PATIENCE: Duration = Duration::from_secs(2);
/// Between two reads without a question.
const REFRESH: Duration = Duration::from_secs(10);
/// Between two reads without a question, while the lock tables do not answer.
const AGAIN: Duration = Duration::from_secs(1);
/// Reads without a question take at most one part in this many of the time.
const SHARE: u32 = 200;

/// Rows; if they are old, their age and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// None: they have just been read.
    pub old: Option<Old>,
}

/// Rows that were read before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Old {
    /// Age of the rows.
    pub age: Duration,
    /// The error of the last attempt to read them.
    pub why: String,
}

/// The rows that were read last, and when.
#[derive(Debug)]
pub(in crate::engine) struct LastKnown {
    locks: Mutex<Option<(Instant, Vec<LockInfo>)>>,
    proxies: Mutex<Option<(Instant, Vec<ProxyInfo>)>>,
    /// Since when there is no answer, and why.
    silent: Mutex<Option<(Instant, String)>>,
    patience: Duration,
}

impl Default for LastKnown {
    fn default() -> Self {
        Self {
            locks: Mutex::default(),
            proxies: Mutex::default(),
            silent: Mutex::default(),
            patience: PATIENCE,
        }
    }
}

impl LastKnown {
    /// The rows of `answer`, if that comes in time; if not, the last known ones that `fits` chooses.
    async fn within<T: Clone>(
        &self,
        last: &Mutex<Option<(Instant, Vec<T>)>>,
        answer: impl Future<Output = Result<Vec<T>, QueryError>>,
        fits: impl Fn(&T) -> bool,
    ) -> Result<Rows<T>, QueryError> {
        let why = self.silent.lock().clone();
        let known = last.lock().is_some();
        let why = match why {
            Some((since, why)) if known => {
                format!("{why}; this began {}s ago", since.elapsed().as_secs())
            }
            _ => {
                // If nothing is known, there is nothing to show meanwhile.
                let asked = Instant::now();
                let answer = async {
                    if known {
                        timeout(self.patience, answer).await.ok()
                    } else {
                        Some(answer.await)
                    }
                };
                match answer.await {
                    Some(Ok(rows)) => return Ok(Rows { rows, old: None }),
                    Some(Err(QueryError::NoEngine)) => return Err(QueryError::NoEngine),
                    // The error concerns this question alone, or there is nothing to show instead.
                    Some(Err(e)) if !known || !self.is_silent() => return Err(e),
                    Some(Err(e)) => e.to_string(),
                    None => {
                        let why = format!("no answer within {:?}", self.patience);
                        self.silent.lock().get_or_insert((asked, why.clone()));
                        why
                    }
                }
            }
        };
        let last = last.lock();
        let (at, rows) = last.as_ref().map_or((Instant::now(), &[][..]), |(at, rows)| (*at, rows));
        let rows = rows.iter().filter(|row| fits(row)).cloned().collect();
        Ok(Rows { rows, old: Some(Old { age: at.elapsed(), why }) })
    }

    pub(in crate::engine) async fn locks(
        &self,
        which: LockFilter,
        answer: impl Future<Output = Result<Vec<LockInfo>, QueryError>>,
    ) -> Result<Rows<LockInfo>, QueryError> {
        self.within(&self.locks, answer, |row| match &which {
            LockFilter::All => true,
            LockFilter::Like(pattern) => is_like(&row.name, pattern),
            LockFilter::Named(name) => row.name == *name,
        })
        .await
    }

    pub(in crate::engine) async fn proxies(
        &self,
        answer: impl Future<Output = Result<Vec<ProxyInfo>, QueryError>>,
    ) -> Result<Rows<ProxyInfo>, QueryError> {
        self.within(&self.proxies, answer, |_| true).await
    }

    /// Takes in all locks, which were read just now.
    pub(in crate::engine) fn saw_locks(&self, rows: &[LockInfo]) {
        *self.locks.lock() = Some((Instant::now(), rows.to_vec()));
    }

    /// Takes in all proxies, which were read just now.
    pub(in crate::engine) fn saw_proxies(&self, rows: &[ProxyInfo]) {
        *self.proxies.lock() = Some((Instant::now(), rows.to_vec()));
    }

    /// Takes in whether the lock tables have answered. `own`: an administrator wrote a part of the
    /// question, so its refusal says nothing about others.
    pub(in crate::engine) fn heard<T>(&self, result: &Result<T, QueryError>, own: bool) {
        let mut silent = self.silent.lock();
        match result {
            Ok(_) => *silent = None,
            Err(QueryError::Store(e)) if own && !e.is_silence() => {}
            Err(e) => {
                let since = silent.as_ref().map_or_else(Instant::now, |(since, _)| *since);
                *silent = Some((since, e.to_string()));
            }
        }
    }

    /// Whether there is no answer.
    pub(in crate::engine) fn is_silent(&self) -> bool {
        self.silent.lock().is_some()
    }

    /// When to read again without a question, after a read that took so long.
    pub(in crate::engine) fn refresh_after(&self, took: Duration) -> Duration {
        if self.is_silent() { AGAIN } else { REFRESH.max(took * SHARE) }
    }
}

/// SQL's LIKE, near enough for a list: the server's collation may find more letters alike.
pub fn is_like(text: &str, pattern: &str) -> bool {
    let text: Vec<char> = text.to_lowercase().chars().collect();
    let pattern: Vec<char> = pattern.to_lowercase().chars().collect();
    // Where to continue after the last %, in both.
    let (mut at, mut next, mut again) = (0, 0, None);
    loop {
        let one = match pattern.get(next) {
            Some('%') => {
                again = Some((at, next + 1));
                next += 1;
                continue;
            }
            Some('_') if at < text.len() => Some(1),
            Some('\\') if pattern.get(next + 1).is_some_and(|c| text.get(at) == Some(c)) => Some(2),
            Some(c) if *c != '\\' && text.get(at) == Some(c) => Some(1),
            None if at == text.len() => return true,
            Some(_) | None => None,
        };
        match (one, again) {
            (Some(taken), _) => (at, next) = (at + 1, next + taken),
            (None, Some((from, rest))) if from < text.len() => {
                again = Some((from + 1, rest));
                (at, next) = (from + 1, rest);
            }
            (None, _) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::connection::StoreError;

    fn row(name: &str) -> LockInfo {
        LockInfo {
            key: name.as_bytes().to_vec(),
            name: name.to_owned(),
            token: 1,
            proxy: None,
            proxy_state: None,
            conn: 2,
            owner: String::new(),
            since: String::new(),
            held_ms: 0,
        }
    }

    #[test]
    fn patterns_choose_as_in_sql() {
        for (text, pattern, like) in [
            ("job 1", "job%", true),
            ("job 1", "JOB_1", true),
            ("job 1", r"job\_1", false),
            ("job_1", r"job\_1", true),
            ("a%b", r"a\%b", true),
            (r"back\slash", r"back\\slash", true),
            ("", "%", true),
            ("", "_", false),
            ("abcabd", "%abd", true),
            ("abcabd", "%abc", false),
            ("abcabd", "a%b%d", true),
            ("abc", "abc%%", true),
            ("abc", "ab", false),
        ] {
            assert_eq!(is_like(text, pattern), like, "{text} {pattern}");
        }
    }

    #[tokio::test]
    async fn the_last_reading_is_shown_while_there_is_no_answer() {
        let known = LastKnown { patience: Duration::from_millis(20), ..LastKnown::default() };
        let never = || std::future::pending::<Result<Vec<LockInfo>, QueryError>>();
        let lost = || async { Err(QueryError::Store(StoreError::Lost("gone".into()))) };
        assert!(known.locks(LockFilter::All, lost()).await.is_err(), "nothing is known");
        known.saw_locks(&[row("a"), row("b")]);
        known.heard(&Ok(()), false);
        let fresh = known.locks(LockFilter::All, async { Ok(vec![row("c")]) }).await.expect("rows");
        assert_eq!(fresh, Rows { rows: vec![row("c")], old: None });
        let rows = known.locks(LockFilter::Like("A%".into()), never()).await.expect("rows");
        assert_eq!(rows.rows, [row("a")]);
        assert!(rows.old.is_some_and(|old| old.age >= known.patience));
        // All others are answered at once until the store answers: the question is not even sent.
        for _ in 0..3 {
            let asked = async { unreachable!("a question") };
            let rows = known.locks(LockFilter::All, asked).await.expect("rows");
            assert!(rows.old.is_some_and(|old| old.why.contains("no answer")));
        }
        known.heard(&Ok(()), false);
        let refused = StoreError::Refused { code: 1267, message: "a pattern".into() };
        let refused = Err::<Vec<LockInfo>, _>(QueryError::Store(refused));
        known.heard(&refused, true);
        assert!(known.locks(LockFilter::Like("x".into()), async { refused }).await.is_err());
        let rows = known.locks(LockFilter::All, async { Ok(Vec::new()) }).await.expect("rows");
        assert_eq!(rows.old, None);
    }
}
