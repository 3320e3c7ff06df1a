//! All comparisons as a table: a row a client, a column a server with and without TLS.

use std::fmt;

use super::compare::{Outcome, Verdict};

#[derive(Default)]
pub(super) struct Table {
    outcomes: Vec<Outcome>,
}

impl Table {
    pub(super) fn add(&mut self, outcome: Outcome) {
        self.outcomes.push(outcome);
    }

    pub(super) fn has_failures(&self) -> bool {
        !self.failures().is_empty()
    }

    /// What went wrong in each comparison that is not ok.
    pub(super) fn failures(&self) -> Vec<&str> {
        let failed = self.outcomes.iter().filter(|outcome| outcome.verdict != Verdict::Ok);
        failed.map(|outcome| outcome.why.as_str()).collect()
    }
}

fn column(outcome: &Outcome) -> String {
    format!("{}/{}", outcome.release, outcome.tls.name())
}

/// Without repetitions, in the order of the first.
fn distinct(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut out = Vec::new();
    for one in all {
        if !out.contains(&one) {
            out.push(one);
        }
    }
    out
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = distinct(self.outcomes.iter().map(column));
        let rows = distinct(self.outcomes.iter().map(|outcome| outcome.row.clone()));
        let line = |first: &str, cells: Vec<&str>| {
            let start = format!("{first:<36}");
            cells.iter().fold(start, |line, cell| format!("{line}{cell:<16}")).trim_end().to_owned()
        };
        writeln!(f, "{}", line("client", columns.iter().map(String::as_str).collect()))?;
        for row in &rows {
            let verdict = |of: &String| {
                let found = self.outcomes.iter().find(|o| o.row == *row && column(o) == *of);
                found.map_or("", |outcome| outcome.verdict.name())
            };
            writeln!(f, "{}", line(row, columns.iter().map(verdict).collect()))?;
        }
        Ok(())
    }
}
