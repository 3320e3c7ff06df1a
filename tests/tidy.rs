//! Rules of the repository that no compiler checks. Needs no server.
//!
//! Each failure names the file and the rule; ARCHITECTURE.md and CONTRIBUTING.md say why.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use lockstead::config::{Plan, Raw};

#[path = "tidy/documents.rs"]
mod documents;
#[path = "tidy/english.rs"]
mod english;
#[path = "tidy/functions.rs"]
mod functions;
#[path = "tidy/pages.rs"]
mod pages;
#[path = "tidy/structure.rs"]
mod structure;
#[path = "tidy/types.rs"]
mod types;

/// The floors of src/, lowest first, as ARCHITECTURE.md draws them.
const FLOORS: [&[&str]; 11] = [
    &["types", "mutants"],
    &["lock", "protocol"],
    &["sql", "clock", "config", "metrics", "panics", "private", "seldom", "wakes"],
    &["net", "observe", "state", "store"],
    &["servers"],
    &["backend", "engine"],
    &["frontend"],
    &["admin"],
    &["http"],
    &["app"],
    &["cli"],
];

/// Uses within one floor that the map allows: from, to.
const BESIDE: [(&str, &str); 2] = [("lock", "protocol"), ("config", "private")];

/// Bytes of ARCHITECTURE.md: what somebody reads before the code. `cargo xtask map` lists the files.
const MAP: usize = 15 * 1024;
/// Lines of a file, tests not counted.
const LINES: usize = 400;
/// Lines of a file that is excused from [`LINES`].
const LINES_EXCUSED: usize = 600;
/// Files excused from [`LINES`], and why.
const LONG: [(&str, &str); 0] = [];

/// Files in dev/ that are sourced by the scripts there, and so neither run nor set options.
const SOURCED: [&str; 12] = [
    "dev/browser.sh",
    "dev/common.sh",
    "dev/crowd.sh",
    "dev/topology/applications.sh",
    "dev/topology/clients.sh",
    "dev/topology/galera.sh",
    "dev/topology/mariadb-replicas.sh",
    "dev/topology/mysql-group.sh",
    "dev/topology/mysql-replicas.sh",
    "dev/topology/network.sh",
    "dev/topology/nodes.sh",
    "dev/topology/proxies.sh",
];

/// The checkout that cargo runs the tests of, which need not be the one it built them in.
fn root() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from)
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Files of the repository, tracked or about to be, as paths from its root.
fn files() -> Vec<String> {
    let list = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .current_dir(root())
        .output()
        .expect("git lists the files");
    assert!(list.status.success(), "git ls-files: {}", String::from_utf8_lossy(&list.stderr));
    let list = String::from_utf8(list.stdout).expect("paths are UTF-8");
    let files: Vec<String> = list
        .split('\0')
        .filter(|path| !path.is_empty() && root().join(path).is_file())
        .map(str::to_owned)
        .collect();
    assert!(files.iter().any(|path| path == "Cargo.toml"), "git lists another repository");
    files
}

fn sources() -> Vec<Source> {
    let rust = |path: &String| {
        path.starts_with("src/") && Path::new(path).extension().is_some_and(|e| e == "rs")
    };
    files().into_iter().filter(rust).map(Source::read).collect()
}

/// Gathers what breaks a rule, so that one run shows all of it.
#[derive(Default)]
struct Findings(String);

impl Findings {
    fn add(&mut self, path: &str, what: impl std::fmt::Display) {
        writeln!(self.0, "  {path}: {what}").expect("a string takes it");
    }

    fn check(&self, rule: &str) {
        assert!(self.0.is_empty(), "{rule}\n{}", self.0);
    }
}

/// A file of src/.
struct Source {
    path: String,
    text: String,
    /// Without its tests, which stand last; comments and literals blanked out.
    code: String,
    /// The text of its string literals, one a line, tests included.
    strings: String,
    /// Lines in front of the tests.
    lines: usize,
}

impl Source {
    fn read(path: String) -> Self {
        let text = read(&path);
        let body = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let (code, _) = split(body);
        let (_, strings) = split(&text);
        let lines = body.lines().count();
        Self { path, text, code, strings, lines }
    }

    /// `src/lock/name.rs` is in `lock`, `src/clock.rs` in `clock`.
    fn module(&self) -> &str {
        let inside = self.path.strip_prefix("src/").unwrap_or(&self.path);
        inside.split(['/', '.']).next().unwrap_or_default()
    }
}

/// Rust source as code without comments and literals, and as the text of its string literals.
fn split(text: &str) -> (String, String) {
    let (mut code, mut strings) = (String::new(), String::new());
    let mut rest = text;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let quote = rest.trim_start_matches('#');
        let hashes = rest.len() - quote.len();
        let word = before.is_alphanumeric() || before == '_';
        let raw = before == 'r' && quote.starts_with('"');
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |at| at + 2)
        } else if raw && (hashes > 0 || c == '"') {
            let close = format!("\"{}", "#".repeat(hashes));
            let inner = &quote[1..];
            let end = inner.find(&close).unwrap_or(inner.len());
            strings.push_str(&inner[..end]);
            strings.push('\n');
            (hashes + 1 + end + close.len()).min(rest.len())
        } else if c == '"' {
            let end = closing(rest, '"');
            strings.push_str(rest[1..end].trim_end_matches('"'));
            strings.push('\n');
            end
        } else if c == '\'' && (!word || before == 'b') && is_char(rest) {
            closing(rest, '\'')
        } else {
            code.push(c);
            c.len_utf8()
        };
        if rest[..length].starts_with("//") || rest[..length].starts_with("/*") {
            before = ' ';
        } else {
            before = rest[..length].chars().next_back().unwrap_or(' ');
        }
        rest = &rest[length..];
    }
    (code, strings)
}

/// After the closing quote of the literal at the start of `text`.
fn closing(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// A character literal, not a lifetime.
fn is_char(text: &str) -> bool {
    let mut chars = text.chars().skip(1);
    match chars.next() {
        Some('\\') => true,
        Some(_) => chars.next() == Some('\''),
        None => false,
    }
}

/// Words of code that follow `prefix`.
fn words_after<'a>(code: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    code.match_indices(prefix).map(move |(at, _)| {
        let rest = &code[at + prefix.len()..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        &rest[..end]
    })
}

fn has_word(code: &str, word: &str) -> bool {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == word)
}

#[test]
fn the_rules_see_code_without_comments_and_literals() {
    let text = "let a = \"x \\\" unsafe\"; // unsafe\nlet b = '\"'; let c: &'a str = r#\"un\"s\"#; /* u */ d";
    let (code, strings) = split(text);
    assert_eq!(code, "let a = ; \nlet b = ; let c: &'a str = r;  d");
    assert_eq!(strings, "x \\\" unsafe\nun\"s\n");
}

#[test]
fn modules_import_only_from_lower_floors() {
    let floor = |module: &str| FLOORS.iter().position(|floor| floor.contains(&module));
    let mut findings = Findings::default();
    for source in sources() {
        let from = source.module();
        if matches!(from, "lib" | "main") {
            continue;
        }
        let Some(here) = floor(from) else {
            findings.add(&source.path, format!("`{from}` stands on no floor"));
            continue;
        };
        let (code, _) = split(&source.text);
        if words_after(&code, "crate::").any(str::is_empty) {
            findings.add(&source.path, "names `crate::{…}` or `crate::*`; one module a line");
        }
        let used: BTreeSet<&str> =
            words_after(&code, "crate::").filter(|to| !to.is_empty() && *to != from).collect();
        for to in used {
            let lower = floor(to).is_some_and(|there| there < here);
            if !lower && !BESIDE.contains(&(from, to)) {
                findings.add(&source.path, format!("uses `{to}`, which stands on no lower floor"));
            }
        }
    }
    findings.check("A module imports only from floors below its own");
}

#[test]
fn the_map_names_every_folder_and_stays_short() {
    let map = read("ARCHITECTURE.md");
    let named: BTreeSet<&str> = FLOORS.into_iter().flatten().copied().collect();
    let present: BTreeSet<String> = sources().iter().map(|s| s.module().to_owned()).collect();
    let mut findings = Findings::default();
    for module in present.iter().filter(|m| !matches!(m.as_str(), "lib" | "main")) {
        if !named.contains(module.as_str()) {
            findings.add(module, "stands on no floor of tests/tidy.rs");
        }
    }
    for module in named.iter().filter(|m| !present.contains(**m)) {
        findings.add(module, "has a floor but no file");
    }
    for source in sources().iter().filter(|s| !matches!(s.module(), "lib" | "main")) {
        let path = source.path.trim_start_matches("src/");
        // A folder is named whole, a file of the first level by its name.
        let place = path.rfind('/').map_or(path, |end| &path[..=end]);
        if !map.lines().any(|line| line.split([' ', ',']).any(|word| word == place)) {
            findings.add(&source.path, format!("`{place}` is not on the map of ARCHITECTURE.md"));
        }
    }
    if map.len() > MAP {
        findings.add("ARCHITECTURE.md", format!("has {} bytes, more than {MAP}", map.len()));
    }
    findings.check("The map of src/ is complete");
}

#[test]
fn only_the_store_has_sql_for_lock_tables() {
    let mut findings = Findings::default();
    for source in sources().iter().filter(|s| s.module() != "store") {
        for line in source.strings.lines() {
            if line.contains(".locks") || line.contains("held_locks") {
                findings.add(&source.path, line);
            }
        }
    }
    findings.check("Only src/store names the lock tables in SQL");
}

#[test]
fn code_is_safe_and_does_not_unwrap() {
    let mut findings = Findings::default();
    for source in sources() {
        if source.module() != "sql" && has_word(&source.code, "sqlparser") {
            findings.add(&source.path, "names sqlparser, which only src/sql may");
        }
        if has_word(&source.code, "unsafe") {
            findings.add(&source.path, "unsafe");
        }
        if source.code.contains(".unwrap()") {
            findings.add(&source.path, "unwrap() outside tests");
        }
    }
    findings.check("No unsafe code, no unwrap() outside tests, sqlparser in src/sql only");
}

#[test]
fn files_are_short_and_say_their_subject() {
    let mut findings = Findings::default();
    for source in sources() {
        let excuse = LONG.iter().any(|(path, _)| *path == source.path);
        let limit = if excuse { LINES_EXCUSED } else { LINES };
        if source.lines >= limit {
            findings.add(&source.path, format!("{} lines without tests", source.lines));
        } else if excuse && source.lines < LINES {
            findings.add(&source.path, "needs its excuse no longer");
        }
        if !source.text.starts_with("//!") {
            findings.add(&source.path, "does not begin with a sentence that says its subject");
        }
    }
    findings.check("A file has one subject, says it first, and stays below 400 lines");
}

/// The sample with every commented-out key put in force.
fn uncommented(sample: &str) -> String {
    let key = |line: &str| {
        line.split_once(" = ")
            .is_some_and(|(key, _)| key.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
    };
    let in_force = |line: &str| match line.strip_prefix("# ").filter(|rest| key(rest)) {
        Some(rest) => format!("{rest}\n"),
        None => format!("{line}\n"),
    };
    sample.lines().map(in_force).collect()
}

#[test]
fn the_sample_configuration_has_every_key_with_its_default() {
    let code: BTreeSet<String> = read("src/config/raw.rs")
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pub ")?.split_once(": Option<"))
        .map(|(key, _)| key.to_owned())
        .collect();
    assert!(code.contains("lease"), "config::Raw is written in another way than expected");
    let sample = read("config/lockstead.toml");
    let all = uncommented(&sample);
    let table: toml::Table = all.parse().expect("the sample is TOML with its comments removed");
    let shown: BTreeSet<String> = table.keys().cloned().collect();
    assert_eq!(shown, code, "config/lockstead.toml (left) and config::Raw (right) differ");

    let load = |path: &Path| format!("{:?}", Plan::load(Some(path), Raw::default()));
    let as_it_stands = load(&root().join("config/lockstead.toml"));
    assert!(as_it_stands.starts_with("Ok("), "{as_it_stands}");
    let full = scratch("tidy-lockstead.toml");
    fs::write(&full, all).expect("a scratch file can be written");
    assert_eq!(load(&full), as_it_stands, "a commented-out value is not the default");
}

/// A file that goes away with the build directory.
fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
fn the_smallest_configuration_loads() {
    let minimal = root().join("config/minimal.toml");
    Plan::load(Some(&minimal), Raw::default()).expect("config/minimal.toml loads");
}

#[test]
fn scripts_can_be_run_and_stop_at_errors() {
    let mut findings = Findings::default();
    for path in files().iter().filter(|path| path.starts_with("dev/")) {
        let text = read(path);
        let mode = fs::metadata(root().join(path)).expect("it is there").permissions().mode();
        let executable = mode & 0o111 == 0o111;
        if SOURCED.contains(&path.as_str()) {
            if executable || text.starts_with("#!") {
                findings.add(path, "is sourced, and should not look as if it could be run");
            }
            continue;
        }
        if !text.starts_with("#!") {
            continue;
        }
        if !executable {
            findings.add(path, "is not executable");
        }
        if text.starts_with("#!/usr/bin/env bash")
            && !text.lines().any(|l| l == "set -euo pipefail")
        {
            findings.add(path, "lacks `set -euo pipefail`");
        }
    }
    for path in files().iter().filter(|path| path.starts_with("dev/")) {
        let script = Path::new(path).extension().is_some_and(|e| e == "sh");
        if script && !SOURCED.contains(&path.as_str()) && !read(path).starts_with("#!") {
            findings.add(path, "does not begin with #!");
        }
    }
    findings.check("Scripts in dev/ are executable and stop at the first error");
}

#[test]
fn no_file_names_a_path_of_one_machine() {
    // Put together here, or this file would be found.
    let places = ["work", "root"].map(|name| format!("/{name}/"));
    let mut findings = Findings::default();
    for path in files() {
        // A file that is not UTF-8 is no text.
        let Ok(text) = fs::read_to_string(root().join(&path)) else { continue };
        for (n, line) in text.lines().enumerate() {
            if places.iter().any(|place| names_place(line, place)) {
                findings.add(&path, format!("line {}: {}", n + 1, line.trim()));
            }
        }
    }
    findings.check("No file names a path of one machine");
}

/// Whether a path begins with `place`; after a name or a variable it is but a part of one.
fn names_place(line: &str, place: &str) -> bool {
    line.match_indices(place).any(|(at, _)| {
        let before = &line[..at];
        let before = before.strip_suffix('"').unwrap_or(before);
        !before.ends_with(|c: char| c.is_alphanumeric() || "_-.})".contains(c))
    })
}

#[test]
fn the_changelog_has_this_version() {
    let heading = format!("## [{}]", env!("CARGO_PKG_VERSION"));
    assert!(read("CHANGELOG.md").contains(&heading), "CHANGELOG.md has no {heading}");
}
