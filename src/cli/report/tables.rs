//! The report as tables.

use std::collections::BTreeMap;
use std::fmt;

use crate::cli::table;
use crate::cli::terminal_text::plain;
use crate::lock::function::Function;
use crate::observe::event::Missed;
use crate::observe::report::{LockRecord, Report, StatementRecord, Times};

/// Users shown of a lock.
const USERS: usize = 3;

/// The whole report, as tables.
pub(super) struct Tables<'a>(pub(super) &'a Report);

impl fmt::Display for Tables<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = self.0;
        let observed =
            humantime::format_duration(std::time::Duration::from_secs(report.observed_seconds));
        writeln!(f, "observed {observed} between {} and {}", report.since, report.until)?;
        self.verdicts(f)?;
        self.locks(f)?;
        for title in ["refused", "perhaps", "passed", "covered"] {
            let of: Vec<&StatementRecord> =
                report.statements.iter().filter(|s| s.verdict == title).collect();
            statements(f, title, &of)?;
        }
        self.unobserved(f)?;
        self.next_step(f)
    }
}

impl Tables<'_> {
    fn verdicts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut runs: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for statement in &self.0.statements {
            let (texts, count) = runs.entry(&statement.verdict).or_default();
            (*texts, *count) = (*texts + 1, *count + statement.count);
        }
        for (verdict, count) in &self.0.other_statements {
            runs.entry(verdict).or_default().1 += count;
        }
        for (verdict, what) in [
            ("covered", "work through Lockstead"),
            ("perhaps", "may be refused with error 1235"),
            ("refused", "would be refused with error 1235"),
            (
                "passed",
                "define stored programs or views; their calls still take the server's own locks",
            ),
        ] {
            let (texts, count) = runs.get(verdict).copied().unwrap_or_default();
            if texts > 0 || count > 0 || verdict == "covered" {
                let s = |n: u64| if n == 1 { "" } else { "s" };
                let (runs, these) = (s(count), s(texts));
                writeln!(f, "{count:>9} run{runs} of {texts} statement{these} {what}")?;
            }
        }
        Ok(())
    }

    /// What the report says of the modes that may come next.
    fn next_step(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = |verdict: &str| {
            let of = self.0.statements.iter().filter(|s| s.verdict == verdict).map(|s| s.count);
            of.sum::<u64>() + self.0.other_statements.get(verdict).copied().unwrap_or_default()
        };
        let not_covered = runs("refused") + runs("perhaps");
        writeln!(f, "\nNEXT STEP")?;
        writeln!(f, "  coexist  runs every statement here as the server does")?;
        let passed = runs("passed");
        if not_covered + passed > 0 {
            writeln!(
                f,
                "  durable  not yet: {not_covered} runs would or may be refused, {passed} define programs that lock at the server"
            )?;
        }
        writeln!(
            f,
            "  Clients that connect directly are not in this report. Mode coexist finds them; see docs/moving-in.md"
        )
    }

    fn locks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = self.0;
        let others = Some(&report.other_locks).filter(|l| l.count() > 0 || l.holds.count > 0);
        let mut rows = vec![
            [
                "lock", "calls", "taken", "not free", "null", "error", "untold", "wait 50%", "95%",
                "max", "held 50%", "95%", "max", "users",
            ]
            .map(str::to_owned)
            .to_vec(),
        ];
        rows.extend(report.locks.iter().chain(others).map(row));
        let columns = rows[0].len();
        writeln!(f, "\nLOCKS (taken to untold: of GET_LOCK; times: upper bounds)")?;
        table::write(f, &rows, |n| n > 0 && n + 1 < columns)
    }

    fn unobserved(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = self.0;
        if report.overflow > 0 {
            writeln!(
                f,
                "\n{} times counted as others, because there were too many names or statements",
                report.overflow
            )?;
        }
        let known = |(label, count): (&String, &u64)| {
            let what = Missed::ALL.into_iter().find(|m| m.label() == label)?;
            Some((*count, what.sentence()))
        };
        let mut all = report.unobserved.iter().filter_map(known).peekable();
        if all.peek().is_some() {
            writeln!(f, "\nNOT OBSERVED")?;
        }
        all.try_for_each(|(count, what)| writeln!(f, "{count:>9} {what}"))
    }
}

fn row(lock: &LockRecord) -> Vec<String> {
    let get = lock.calls.get(Function::GetLock.label()).cloned().unwrap_or_default();
    let mut row = vec![plain(&lock.name), lock.count().to_string()];
    row.extend([get.one, get.zero, get.null, get.error, get.untold].map(|n| n.to_string()));
    for times in [&lock.waits, &lock.holds] {
        row.extend([times.percentile(50), times.percentile(95), longest(times)].map(time));
    }
    row.push(some(&lock.users, USERS, lock.more_users));
    row
}

fn longest(times: &Times) -> Option<f64> {
    (times.count > 0).then_some(times.max_seconds)
}

fn time(seconds: Option<f64>) -> String {
    match seconds {
        None => "-".to_owned(),
        Some(s) if s < 0.001 => "<1ms".to_owned(),
        Some(s) if s < 1.0 => format!("{:.0}ms", s * 1000.0),
        Some(s) if s < 60.0 => format!("{s:.1}s"),
        Some(s) if s < 3600.0 => format!("{:.1}m", s / 60.0),
        Some(s) => format!("{:.1}h", s / 3600.0),
    }
}

fn some(all: &[String], shown: usize, more: bool) -> String {
    let list: Vec<String> = all.iter().take(shown).map(|s| plain(s)).collect();
    let left = all.len().saturating_sub(shown);
    match (left, more) {
        (0, false) => list.join(", "),
        (0, true) => format!("{}, ...", list.join(", ")),
        (n, false) => format!("{}, {n} more", list.join(", ")),
        (n, true) => format!("{}, more than {n} more", list.join(", ")),
    }
}

fn statements(f: &mut fmt::Formatter<'_>, verdict: &str, all: &[&StatementRecord]) -> fmt::Result {
    if all.is_empty() {
        return Ok(());
    }
    writeln!(f, "\nSTATEMENTS {verdict}")?;
    for s in all {
        writeln!(f, "{:>9} {}", s.count, plain(&s.statement))?;
        let or =
            |text: &str, none: &str| if text.is_empty() { none.to_owned() } else { plain(text) };
        writeln!(
            f,
            "          by {}@{}, program {}, schema {}",
            plain(&s.user),
            plain(&s.host),
            or(&s.program, "-"),
            or(&s.schema, "-")
        )?;
        if !s.locks.is_empty() {
            writeln!(f, "          locks {}", some(&s.locks, s.locks.len(), s.more_locks))?;
        }
        if !s.why.is_empty() {
            writeln!(f, "          because: {}", plain(&s.why))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::observe::report::Outcomes;

    #[test]
    fn people_see_locks_with_times_and_statements_with_reasons() {
        let mut lock = LockRecord { name: "nightly".to_owned(), ..LockRecord::default() };
        lock.calls
            .insert("get_lock".to_owned(), Outcomes { one: 3, zero: 1, ..Outcomes::default() });
        lock.waits.add(Duration::from_millis(5));
        lock.holds.add(Duration::from_mins(2));
        lock.users = vec!["app@10.0.0.1".to_owned()];
        let statement = |verdict: &str, why: &str| StatementRecord {
            statement: "SELECT GET_LOCK(?, ?)".to_owned(),
            user: "app".to_owned(),
            host: "10.0.0.1".to_owned(),
            verdict: verdict.to_owned(),
            why: why.to_owned(),
            count: 4,
            locks: vec!["nightly".to_owned()],
            ..StatementRecord::default()
        };
        let report = Report {
            since: "2026-01-01T00:00:00Z".to_owned(),
            observed_seconds: 86_400,
            locks: vec![lock],
            statements: vec![statement("refused", "a reason"), statement("covered", "")],
            unobserved: [("long".to_owned(), 2)].into(),
            ..Report::default()
        };
        let text = Tables(&report).to_string();
        for part in [
            "observed 1day between 2026-01-01T00:00:00Z",
            "4 runs of 1 statement would be refused with error 1235",
            "nightly      4      3         1     0      0       0       5ms  5ms  5ms      2.0m",
            "STATEMENTS refused\n        4 SELECT GET_LOCK(?, ?)\n          by app@10.0.0.1, program -, schema -",
            "because: a reason",
            "2 lock calls in statements longer than 64 KiB",
            "durable  not yet: 4 runs would or may be refused, 0 define",
        ] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
        assert!(!text.contains("others"), "{text}");
    }
}
