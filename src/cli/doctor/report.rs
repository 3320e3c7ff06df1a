//! Findings, as text and as JSON.

use std::fmt::{self, Write as _};

use serde::Serialize;

use super::calls::CallLine;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    /// Something to do.
    Problem,
    /// Something to know.
    Note,
}

/// One finding. Those of one code have one advice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// How bad.
    pub(crate) severity: Severity,
    /// A name that stays as it is.
    pub(crate) code: &'static str,
    /// The finding.
    pub(crate) text: String,
    /// The advice.
    pub(crate) advice: String,
    /// The object that the finding is about.
    pub(crate) object: Option<FoundObject>,
}

/// A stored program, a view or a variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FoundObject {
    pub(crate) kind: String,
    pub(crate) schema: String,
    pub(crate) name: String,
    pub(crate) lines: Vec<CallLine>,
}

/// All that was found, and where.
#[derive(Debug, Serialize)]
pub(crate) struct DoctorReport {
    pub(crate) server: String,
    pub(crate) version: String,
    pub(crate) account: String,
    pub(crate) problems: usize,
    pub(crate) notes: usize,
    pub(crate) findings: Vec<Finding>,
}

impl DoctorReport {
    /// Problems first, those of one code together.
    pub(crate) fn new([server, version, account]: [String; 3], mut findings: Vec<Finding>) -> Self {
        findings.sort_by_key(|f| (f.severity == Severity::Note, f.code));
        let problems = findings.iter().filter(|f| f.severity == Severity::Problem).count();
        let notes = findings.len() - problems;
        Self { server, version, account, problems, notes, findings }
    }
}

impl fmt::Display for DoctorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "server   {} at {}, checked as {}", self.version, self.server, self.account)?;
        for group in self.findings.chunk_by(|a, b| (a.code, &a.text) == (b.code, &b.text)) {
            let first = &group[0];
            let label = match first.severity {
                Severity::Problem => "PROBLEM",
                Severity::Note => "note",
            };
            write!(f, "\n{label:<8} {}: {}\n", first.code, first.text)?;
            for place in group.iter().filter_map(|finding| finding.object.as_ref()) {
                f.write_str(&place.to_string())?;
            }
            writeln!(f, "         -> {}", first.advice)?;
        }
        let s = |n| if n == 1 { "" } else { "s" };
        let (problems, notes) = (self.problems, self.notes);
        writeln!(f, "\n{problems} problem{}, {notes} note{}", s(problems), s(notes))
    }
}

impl fmt::Display for FoundObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = format!("           {} {}.{}\n", self.kind, self.schema, self.name);
        for CallLine { line, source } in &self.lines {
            writeln!(out, "             line {line}: {source}")?;
        }
        f.write_str(&out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_of_one_code_share_their_advice_and_problems_come_first() {
        let finding = |severity, code, name: Option<&str>| Finding {
            severity,
            code,
            text: format!("about {code}"),
            advice: "do".to_owned(),
            object: name.map(|name| FoundObject {
                kind: "view".to_owned(),
                schema: "s".to_owned(),
                name: name.to_owned(),
                lines: vec![CallLine { line: 1, source: "x".to_owned() }],
            }),
        };
        let findings = vec![
            finding(Severity::Note, "a", None),
            finding(Severity::Problem, "b", Some("v")),
            finding(Severity::Problem, "b", Some("w")),
        ];
        let report = DoctorReport::new(["h", "v", "a"].map(str::to_owned), findings);
        let text = report.to_string();
        assert_eq!(text.matches("about b").count(), 1, "{text}");
        assert!(text.find("view s.w") < text.find("note     a: about a"), "{text}");
        assert!(text.ends_with("\n2 problems, 1 note\n"), "{text}");
    }
}
