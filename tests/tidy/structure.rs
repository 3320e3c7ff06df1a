//! The structure inside src/: no two files need each other, the floors of the frontend, names.

use std::collections::{BTreeMap, BTreeSet};

use super::{Findings, Source, sources};

/// The floors of src/frontend, lowest first: folders there.
const FRONTEND: [&str; 14] = [
    "shared",
    "observe",
    "pooling",
    "link",
    "moves",
    "state",
    "locks",
    "coexist",
    "statements",
    "prepared",
    "dispatch",
    "login",
    "session",
    "accept",
];

/// The files of the frontend that have a loop which waits for several things, beside its tests. Any other waits by an
/// errand, so that no session is deaf.
const LOOPS: [&str; 8] = [
    "link/asker.rs",
    "locks/attend.rs",
    "locks/call_context.rs",
    "locks/operations.rs",
    "locks/pending_claim.rs",
    "session/close.rs",
    "session/lost.rs",
    "session/turn.rs",
];

/// A file's module path: `src/lock/name.rs` is `lock::name`, `src/lock/mod.rs` is `lock`.
fn module(path: &str) -> Vec<&str> {
    let inside = path.strip_prefix("src/").unwrap_or(path).trim_end_matches(".rs");
    let mut parts: Vec<&str> = inside.split('/').collect();
    if matches!(parts.last(), Some(&"mod" | &"lib")) {
        parts.pop();
    }
    parts
}

/// The paths that a file names, as modules and items from the crate's root.
fn paths<'a>(code: &'a str, module: &[&'a str]) -> Vec<Vec<&'a str>> {
    let mut all = Vec::new();
    let starts = |code: &'a str, word: &'a str| {
        code.match_indices(word).map(|(at, _)| at).collect::<Vec<_>>()
    };
    for root in ["crate::", "self::", "super::"] {
        for at in starts(code, root) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let mut base: Vec<&str> = if root == "crate::" { Vec::new() } else { module.to_vec() };
            let mut rest = &code[at..];
            while let Some(after) = rest.strip_prefix("super::") {
                base.pop();
                rest = after;
            }
            rest = rest.strip_prefix("crate::").unwrap_or(rest);
            rest = rest.strip_prefix("self::").unwrap_or(rest);
            all.extend(branches(rest).into_iter().map(|tail| [base.clone(), tail].concat()));
        }
    }
    all
}

/// The paths in `a::b::{c, d::e}`.
fn branches(text: &str) -> Vec<Vec<&str>> {
    let mut head = Vec::new();
    let mut rest = text;
    loop {
        if rest.starts_with('{') {
            return group(&head, rest);
        }
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        if end > 0 {
            head.push(&rest[..end]);
        }
        match rest[end..].strip_prefix("::") {
            Some(after) if end > 0 => rest = after,
            _ => return vec![head],
        }
    }
}

/// The paths in braces after `head`.
fn group<'a>(head: &[&'a str], text: &'a str) -> Vec<Vec<&'a str>> {
    let mut depth = 0;
    let mut from = 1;
    let mut all = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if (c == ',' && depth == 1) || depth == 0 {
            let tails = branches(text[from..at].trim_start());
            all.extend(tails.into_iter().map(|tail| [head, &tail].concat()));
            from = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
    all
}

/// Which files each file imports from.
fn imports(sources: &[Source]) -> BTreeMap<&str, BTreeSet<&str>> {
    let files: BTreeMap<Vec<&str>, &str> =
        sources.iter().map(|s| (module(&s.path), s.path.as_str())).collect();
    let file_of =
        |path: &[&str]| (1..=path.len()).rev().find_map(|n| files.get(&path[..n]).copied());
    sources
        .iter()
        .map(|source| {
            let here = module(&source.path);
            let used = paths(&source.code, &here).into_iter();
            let used = used.filter_map(|path| file_of(&path)).filter(|f| *f != source.path);
            (source.path.as_str(), used.collect())
        })
        .collect()
}

/// A way from a file back to itself.
fn circle<'a>(
    from: &'a str,
    imports: &BTreeMap<&'a str, BTreeSet<&'a str>>,
) -> Option<Vec<&'a str>> {
    let mut before: BTreeMap<&str, &str> = BTreeMap::new();
    let mut queue = vec![from];
    while let Some(file) = queue.pop() {
        for next in imports.get(file).into_iter().flatten() {
            if *next == from {
                let mut way = vec![from, file];
                while let Some(previous) = before.get(way[way.len() - 1]) {
                    way.push(previous);
                }
                way.reverse();
                return Some(way);
            }
            if !before.contains_key(next) {
                before.insert(next, file);
                queue.push(next);
            }
        }
    }
    None
}

#[test]
fn paths_are_read_as_the_compiler_reads_them() {
    let code = "use super::a::{B, c::{D, self}}; use crate::x::Y; use self::{p, q}; fn f() { super::super::z() }";
    let mut all = paths(code, &["m", "n", "o"]);
    all.sort();
    let expected: [&[&str]; 7] = [
        &["m", "n", "a", "B"],
        &["m", "n", "a", "c", "D"],
        &["m", "n", "a", "c", "self"],
        &["m", "n", "o", "p"],
        &["m", "n", "o", "q"],
        &["m", "z"],
        &["x", "Y"],
    ];
    assert_eq!(all, expected);
}

#[test]
fn a_circle_is_found() {
    let imports = BTreeMap::from([
        ("a", BTreeSet::from(["b"])),
        ("b", BTreeSet::from(["c"])),
        ("c", BTreeSet::from(["a"])),
        ("d", BTreeSet::from(["a"])),
    ]);
    assert!(circle("a", &imports).is_some_and(|way| way.len() == 4));
    assert!(circle("d", &imports).is_none());
}

#[test]
fn no_two_files_need_each_other() {
    let sources = sources();
    let imports = imports(&sources);
    let mut findings = Findings::default();
    for file in imports.keys() {
        if let Some(way) = circle(file, &imports) {
            findings.add(file, way.join(" -> "));
        }
    }
    findings.check("Imports run in no circle, file by file");
}

#[test]
fn the_frontend_imports_only_from_lower_floors() {
    let sources = sources();
    let floor = |path: &str| {
        let folder = path.strip_prefix("src/frontend/")?.split(['/', '.']).next()?;
        FRONTEND.iter().position(|name| *name == folder)
    };
    let mut findings = Findings::default();
    for (file, used) in imports(&sources) {
        if !file.starts_with("src/frontend/") || file == "src/frontend/mod.rs" {
            continue;
        }
        let Some(here) = floor(file) else {
            findings.add(file, "stands on no floor of the frontend");
            continue;
        };
        for other in used {
            if floor(other).is_some_and(|there| there > here) {
                findings.add(file, format!("uses {other}, which stands on a higher floor"));
            }
        }
    }
    findings.check("A file of the frontend imports from its floor and those below");
}

#[test]
fn a_session_s_parts_are_private_and_its_methods_are_with_it() {
    let mut findings = Findings::default();
    for source in sources() {
        let here = source.path.starts_with("src/frontend/session/");
        if !here && source.code.contains("impl Session ") {
            findings.add(&source.path, "has methods of Session, which belong into session/");
        }
        if let Some((_, body)) = source.code.split_once("struct Session {") {
            let body = body.split('}').next().unwrap_or_default();
            if body.contains("pub") {
                findings.add(&source.path, "a field of Session is not private");
            }
        }
    }
    findings.check("The parts of a session are private, and its methods are in one folder");
}

/// Type names that two files may use, and why.
const TWICE: [(&str, &str); 0] = [];

/// The type that a line of code defines. An associated type is not one: its name is the trait's.
fn defined(line: &str) -> Option<&str> {
    let mut words =
        line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty());
    let visibility = ["pub", "crate", "super", "in", "engine", "sql", "frontend"];
    let kind = words.find(|word| !visibility.contains(word))?;
    let associated = kind == "type" && line.starts_with(' ');
    let defines = matches!(kind, "struct" | "enum" | "trait" | "type" | "union") && !associated;
    words.next().filter(|_| defines)
}

#[test]
fn definitions_of_types_are_read() {
    assert_eq!(defined("pub(in crate::sql) struct A<'a> {"), Some("A"));
    assert_eq!(defined("    enum B {"), Some("B"));
    assert_eq!(defined("type C = u8;"), Some("C"));
    assert_eq!(defined("    type Item = u8;"), None);
    assert_eq!(defined("fn structure() {"), None);
}

#[test]
fn no_two_types_have_the_same_name() {
    let sources = sources();
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for source in &sources {
        for name in source.code.lines().filter_map(defined) {
            places.entry(name).or_default().push(&source.path);
        }
    }
    let mut findings = Findings::default();
    for (name, files) in &places {
        let excused = TWICE.iter().any(|(twice, _)| twice == name);
        if files.len() > 1 && !excused {
            findings.add(name, files.join(", "));
        }
        if files.len() < 2 && excused {
            findings.add(name, "needs its excuse no longer");
        }
    }
    findings.check("A type's name is used once");
}

#[test]
fn loops_that_wait_stand_in_known_files() {
    let mut findings = Findings::default();
    let mut found = BTreeSet::new();
    for source in sources().iter().filter(|source| source.path.starts_with("src/frontend/")) {
        let path = source.path.trim_start_matches("src/frontend/").to_owned();
        if source.code.contains("select! {") {
            if !LOOPS.contains(&&*path) {
                findings.add(&source.path, "waits in a loop of its own: make it an errand");
            }
            found.insert(path);
        }
    }
    for path in LOOPS.iter().filter(|path| !found.contains(**path)) {
        findings.add(path, "has no such loop any more");
    }
    findings.check("Sessions wait in few loops");
}
