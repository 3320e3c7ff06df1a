//! Names and messages that documents repeat are in the code.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::{Findings, files, read, scratch};

/// Documents that name tests as their proof.
const WITH_TESTS: [&str; 2] = ["docs/how-it-works.md", "docs/differences-reference.md"];
/// How metrics and variables of servers begin, which are as long.
const NO_TESTS: [&str; 2] = ["lockstead_", "innodb_"];

/// The texts between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2))
}

pub(super) fn is_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|e| e == "rs")
}

/// All Rust below `folders`, as one text.
fn rust(folders: &[&str]) -> String {
    let is_in = |path: &str| folders.iter().any(|folder| path.starts_with(folder));
    files().iter().filter(|path| is_rust(path) && is_in(path)).map(|path| read(path)).collect()
}

#[test]
fn tests_that_documents_name_are_there() {
    let code = rust(&["tests/", "src/"]);
    let mut findings = Findings::default();
    for path in WITH_TESTS {
        let text = read(path);
        let names = quoted(&text).filter(|name| {
            let sentence =
                name.matches('_').count() >= 4 && !NO_TESTS.iter().any(|p| name.starts_with(p));
            let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            sentence && name.chars().all(word)
        });
        for name in names.filter(|name| !code.contains(&format!("fn {name}("))) {
            findings.add(path, format!("no test is called {name}"));
        }
    }
    findings.check("Tests that documents name are there");
}

#[test]
fn messages_in_the_troubleshooting_are_said_by_the_code() {
    let path = "docs/troubleshooting.md";
    // As the compiler joins lines.
    let code = rust(&["src/"]).replace("\\\"", "\"").replace("\\\n", " ");
    let code = code.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut findings = Findings::default();
    let text = read(path);
    let tables = text.lines().filter(|line| line.starts_with('|')).collect::<Vec<_>>().join("\n");
    // Messages have blanks; what is shorter is a name, and what has a value in quotes a setting.
    let message = |text: &&str| text.matches(' ').count() >= 2 && !text.contains(" = \"");
    for message in quoted(&tables).filter(message) {
        let parts = message.split('…').map(str::trim).filter(|part| part.len() > 3);
        for part in parts.filter(|part| !code.contains(*part)) {
            findings.add(path, format!("nobody says {part:?}"));
        }
    }
    findings.check("Messages in the troubleshooting are the code's");
}

/// A row for each key of `config::Raw`: key, default, and its comment.
fn settings() -> String {
    let mut rows = String::new();
    let mut comment = Vec::new();
    for line in read("src/config/raw.rs").lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("/// ") {
            comment.push(text.to_owned());
        } else if let Some(key) =
            line.strip_prefix("pub ").and_then(|l| Some(l.split_once(": Option<")?.0))
        {
            let text = comment.join(" ");
            let (says, default) = match text.split_once(" [default: ") {
                Some((says, rest)) => (says, rest.trim_end_matches(']')),
                None => (text.as_str(), ""),
            };
            writeln!(rows, "| `{key}` | {default} | {says} |").expect("a string takes it");
        }
        if !line.starts_with("///") && !line.starts_with("#[") {
            comment.clear();
        }
    }
    rows
}

#[test]
fn the_table_of_settings_is_that_of_the_code() {
    let rows = settings();
    assert!(rows.contains("| `lease` | 30s |"), "config::Raw is written in another way: {rows}");
    let path = scratch("settings.md");
    fs::write(&path, &rows).expect("a scratch file can be written");
    assert!(
        read("docs/configuration.md").contains(&rows),
        "the table in docs/configuration.md is not that of src/config/raw.rs; put {} there",
        path.display()
    );
}

/// The steps of "How to add …" in CONTRIBUTING.md, each as one line.
fn steps(text: &str) -> Vec<String> {
    let part = text.split("## How to add").nth(1).unwrap_or_default();
    let part = part.split("\n## ").next().unwrap_or_default();
    let mut all: Vec<String> = Vec::new();
    for line in part.lines() {
        if line.starts_with(|c: char| c.is_ascii_digit()) {
            all.push(line.to_owned());
        } else if line.starts_with("   ")
            && let Some(last) = all.last_mut()
        {
            last.push_str(line);
        }
    }
    all
}

#[test]
fn steps_name_what_is_in_their_files() {
    let mut findings = Findings::default();
    let path = "CONTRIBUTING.md";
    for step in steps(&read(path)) {
        let named: Vec<&str> = quoted(&step).collect();
        let code = |name: &&&str| name.starts_with("src/") && is_rust(name);
        let sources: Vec<String> = named.iter().filter(code).map(|path| read(path)).collect();
        let word = |c: char| c.is_ascii_alphabetic() || c == '_' || c == '!';
        // One letter case and no blank: a name of the code. A file without its ending is not one.
        let items = named.iter().filter(|name| name.chars().all(word) && name.len() > 3);
        let items =
            items.filter(|name| name.contains(['_', '!']) || name.starts_with(char::is_uppercase));
        for item in items.filter(|_| !sources.is_empty()) {
            if !sources.iter().any(|text| text.contains(item.trim_end_matches('!'))) {
                findings.add(path, format!("{item} is in none of the files of its step: {step}"));
            }
        }
    }
    findings.check("Steps of CONTRIBUTING.md name items of their files");
}
