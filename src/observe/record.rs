//! Counting what is observed, in bounded memory.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, SystemTime};

use humantime::format_rfc3339_seconds;

use super::event::{Made, Missed, ObservedEvent, Outcome, SeenStatement, StatementUser};
use super::report::{FORMAT, LockRecord, Outcomes, Report, StatementRecord};
use crate::sql::report::coverage::Coverage;

/// Names of locks with entries of their own, and as many statements.
pub const MOST: usize = 2000;
/// Users listed for one lock.
const USERS: usize = 16;
/// Locks listed for one statement.
const LOCKS: usize = 8;

/// The identity of a statement in the report.
#[derive(Debug, PartialEq, Eq, Hash)]
struct StatementKey {
    statement: String,
    user: String,
    host: String,
    program: String,
    schema: String,
    verdict: String,
    why: String,
}

/// The counts of a statement.
#[derive(Debug, Default)]
struct StatementCounts {
    count: u64,
    locks: Vec<String>,
    more_locks: bool,
}

/// Counts of an event without entries of their own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Overflow {
    /// Calls of locks beyond the most.
    pub locks: u64,
    /// Runs of statements beyond the most.
    pub statements: u64,
}

/// Everything counted.
#[derive(Debug)]
pub struct Record {
    since: String,
    locks: HashMap<String, LockRecord>,
    others: LockRecord,
    statements: HashMap<StatementKey, StatementCounts>,
    other_statements: BTreeMap<String, u64>,
    overflow: u64,
    unobserved: BTreeMap<String, u64>,
    /// Observed before this process.
    before: Duration,
}

/// The verdict's name, and why.
pub fn verdict(coverage: Coverage) -> (&'static str, &'static str) {
    match coverage {
        Coverage::Covered => ("covered", ""),
        Coverage::Passed => ("passed", "a definition: its calls still take the server's own locks"),
        Coverage::Perhaps(why) => ("perhaps", why),
        Coverage::Refused(why) => ("refused", why),
    }
}

impl Record {
    /// Begins empty, or continues an earlier report.
    pub fn new(before: Option<Report>) -> Self {
        let fresh = || Report { since: now(), ..Report::default() };
        let report = before.unwrap_or_else(fresh);
        let key = |s: &StatementRecord| StatementKey {
            statement: s.statement.clone(),
            user: s.user.clone(),
            host: s.host.clone(),
            program: s.program.clone(),
            schema: s.schema.clone(),
            verdict: s.verdict.clone(),
            why: s.why.clone(),
        };
        let statements = report.statements.into_iter().take(MOST).map(|s| {
            (key(&s), StatementCounts { count: s.count, locks: s.locks, more_locks: s.more_locks })
        });
        Self {
            since: report.since,
            statements: statements.collect(),
            locks: report.locks.into_iter().take(MOST).map(|l| (l.name.clone(), l)).collect(),
            others: LockRecord { name: "others".to_owned(), ..report.other_locks },
            other_statements: report.other_statements,
            overflow: report.overflow,
            unobserved: report.unobserved,
            before: Duration::from_secs(report.observed_seconds),
        }
    }

    /// Counts an event.
    pub fn count(&mut self, event: &ObservedEvent) -> Overflow {
        let mut over = Overflow::default();
        match event {
            ObservedEvent::Prepared(who, statement) => {
                over.statements += self.statement(who, statement, &[], 0);
            }
            ObservedEvent::Ran(who, statement, calls) => {
                over.statements += self.statement(who, statement, calls, 1);
                for made in calls {
                    over.locks += self.call(who, made);
                }
            }
            ObservedEvent::Held(name, time) => self.lock(name).holds.add(*time),
            ObservedEvent::Missed(what, times) => self.missed(*what, *times),
            ObservedEvent::Stop => {}
        }
        self.overflow += over.locks + over.statements;
        over
    }

    /// Counts what could not be observed.
    pub fn missed(&mut self, what: Missed, times: u64) {
        *self.unobserved.entry(what.label().to_owned()).or_default() += times;
    }

    /// The entry of a name, or of all that have none.
    fn lock(&mut self, name: &str) -> &mut LockRecord {
        if !self.locks.contains_key(name) {
            if self.locks.len() >= MOST {
                return &mut self.others;
            }
            let lock = LockRecord { name: name.to_owned(), ..LockRecord::default() };
            self.locks.insert(name.to_owned(), lock);
        }
        // The entry is there, or was inserted above.
        self.locks.get_mut(name).unwrap_or(&mut self.others)
    }

    fn call(&mut self, who: &StatementUser, made: &Made) -> u64 {
        let lock = self.lock(&made.name);
        let user = format!("{}@{}", who.user, who.host);
        if !lock.users.contains(&user) {
            if lock.users.len() < USERS {
                lock.users.push(user);
            } else {
                lock.more_users = true;
            }
        }
        let outcomes = lock.calls.entry(made.function.label().to_owned()).or_default();
        *counter(outcomes, made.outcome) += 1;
        if let Some(wait) = made.wait {
            lock.waits.add(wait);
        }
        u64::from(!self.locks.contains_key(&*made.name))
    }

    fn statement(
        &mut self,
        who: &StatementUser,
        statement: &SeenStatement,
        calls: &[Made],
        runs: u64,
    ) -> u64 {
        let (verdict, why) = verdict(statement.coverage);
        let key = StatementKey {
            statement: statement.text.clone(),
            user: who.user.to_string(),
            host: who.host.to_string(),
            program: who.program.to_string(),
            schema: who.schema.to_string(),
            verdict: verdict.to_owned(),
            why: why.to_owned(),
        };
        if self.statements.len() >= MOST && !self.statements.contains_key(&key) {
            *self.other_statements.entry(verdict.to_owned()).or_default() += runs;
            return runs;
        }
        let counted = self.statements.entry(key).or_default();
        counted.count += runs;
        for made in calls {
            if !counted.locks.iter().any(|name| **name == *made.name) {
                if counted.locks.len() < LOCKS {
                    counted.locks.push(made.name.to_string());
                } else {
                    counted.more_locks = true;
                }
            }
        }
        0
    }

    /// The report, after so long in this process.
    pub fn report(&self, observed: Duration) -> Report {
        let mut locks: Vec<LockRecord> = self.locks.values().cloned().collect();
        locks.sort_by(|a, b| b.count().cmp(&a.count()).then_with(|| a.name.cmp(&b.name)));
        let statement = |(key, counted): (&StatementKey, &StatementCounts)| StatementRecord {
            statement: key.statement.clone(),
            user: key.user.clone(),
            host: key.host.clone(),
            program: key.program.clone(),
            schema: key.schema.clone(),
            verdict: key.verdict.clone(),
            why: key.why.clone(),
            count: counted.count,
            locks: counted.locks.clone(),
            more_locks: counted.more_locks,
        };
        let mut statements: Vec<StatementRecord> = self.statements.iter().map(statement).collect();
        let rank = |s: &StatementRecord| {
            ["refused", "perhaps", "passed", "covered"].iter().position(|v| *v == s.verdict)
        };
        statements.sort_by(|a, b| {
            let place = |s: &StatementRecord| (s.statement.clone(), s.user.clone(), s.host.clone());
            let by_count = || b.count.cmp(&a.count).then_with(|| place(a).cmp(&place(b)));
            rank(a).cmp(&rank(b)).then_with(by_count)
        });
        Report {
            format: FORMAT,
            since: self.since.clone(),
            until: now(),
            observed_seconds: (self.before + observed).as_secs(),
            locks,
            other_locks: self.others.clone(),
            statements,
            other_statements: self.other_statements.clone(),
            overflow: self.overflow,
            unobserved: self.unobserved.clone(),
        }
    }
}

/// The date, for display.
#[expect(clippy::disallowed_methods, reason = "nothing is decided by it")]
fn now() -> String {
    format_rfc3339_seconds(SystemTime::now()).to_string()
}

fn counter(outcomes: &mut Outcomes, outcome: Outcome) -> &mut u64 {
    match outcome {
        Outcome::One => &mut outcomes.one,
        Outcome::Zero => &mut outcomes.zero,
        Outcome::Null => &mut outcomes.null,
        Outcome::Error => &mut outcomes.error,
        Outcome::Untold => &mut outcomes.untold,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::lock::function::Function;

    fn who(user: &str) -> StatementUser {
        let [user, host, program, schema] =
            [user, "10.0.0.1", "app", "shop"].map(|s| Arc::from(s.to_owned()));
        StatementUser { user, host, program, schema }
    }

    fn ran(user: &str, text: &str, name: &str) -> ObservedEvent {
        let coverage = Coverage::Refused("a reason");
        let statement = Arc::new(SeenStatement { text: text.to_owned(), coverage });
        let made = Made {
            function: Function::GetLock,
            name: name.into(),
            outcome: Outcome::One,
            wait: Some(Duration::from_millis(5)),
        };
        ObservedEvent::Ran(who(user), statement, vec![made])
    }

    #[test]
    fn a_record_goes_on_where_its_report_ended() {
        let mut record = Record::new(None);
        for event in
            [ran("a", "s", "x"), ran("b", "s", "x"), ObservedEvent::Missed(Missed::Long, 2)]
        {
            record.count(&event);
        }
        let report = record.report(Duration::from_secs(7));
        let mut again = Record::new(Some(report.clone()));
        again.count(&ran("a", "s", "x"));
        again.count(&ObservedEvent::Held("x".into(), Duration::from_secs(3)));
        let later = again.report(Duration::from_secs(2));
        assert_eq!((later.since, later.observed_seconds), (report.since, 9));
        assert_eq!(later.locks.len(), 1);
        assert_eq!(later.locks[0].calls["get_lock"].one, 3);
        assert_eq!(later.locks[0].users, ["a@10.0.0.1", "b@10.0.0.1"]);
        assert_eq!((later.locks[0].waits.count, later.locks[0].holds.count), (3, 1));
        assert_eq!(later.statements.iter().map(|s| s.count).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(later.unobserved["long"], 2);
    }

    #[test]
    fn rows_beyond_the_most_are_counted_together() {
        let mut record = Record::new(None);
        for n in 0..MOST + 3 {
            let over = record.count(&ran("a", &format!("s{n}"), &format!("n{n}")));
            let over = (over.locks, over.statements);
            assert_eq!(over, if n < MOST { (0, 0) } else { (1, 1) });
        }
        record.count(&ran("a", "s0", "n0"));
        record.count(&ObservedEvent::Held("n2001".into(), Duration::from_secs(1)));
        let report = record.report(Duration::ZERO);
        assert_eq!((report.locks.len(), report.statements.len()), (MOST, MOST));
        assert_eq!(report.locks[0].name, "n0");
        assert_eq!((report.other_locks.count(), report.other_locks.holds.count), (3, 1));
        assert_eq!((report.other_statements["refused"], report.overflow), (3, 6));
    }

    #[test]
    fn users_of_a_lock_and_locks_of_a_statement_are_reported_up_to_a_limit() {
        let mut record = Record::new(None);
        for n in 0..100 {
            record.count(&ran(&format!("u{n}"), "s", "x"));
            record.count(&ran("u", "s", &format!("n{n}")));
        }
        let report = record.report(Duration::ZERO);
        assert!(report.locks[0].users.len() == USERS && report.locks[0].more_users);
        assert!(report.statements[0].locks.len() == LOCKS && report.statements[0].more_locks);
    }
}
