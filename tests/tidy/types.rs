//! The structure of types: how many methods and parts they have, and that their files need each other in no circle.

use std::collections::{BTreeMap, BTreeSet};

use super::{Findings, sources};

/// Methods that a type may have.
const METHODS: usize = 60;

/// Types that may have more, and why.
const MANY: [(&str, &str); 2] = [
    ("StoreConnection", "a method for each question to the store; its files are subjects"),
    ("Service", "the lock engine's one queue of work; its files are subjects"),
];

/// Types that are the most likely to become all things to all files, and the parts that each may have.
const PARTS: [(&str, usize); 3] = [("Session", 10), ("PooledSession", 12), ("Link", 12)];

/// The methods of a type, and which of them its files call on `self`.
#[derive(Default)]
struct Methods {
    /// The file of each.
    defined: BTreeMap<String, String>,
    /// By file.
    called: BTreeMap<String, BTreeSet<String>>,
}

/// The methods of all types, without those of traits.
fn methods() -> BTreeMap<String, Methods> {
    let mut types: BTreeMap<String, Methods> = BTreeMap::new();
    for source in sources() {
        let mut of: Option<String> = None;
        let mut waits = false;
        for line in source.code.lines() {
            if line.starts_with("impl") {
                of = implemented(line).map(str::to_owned);
            }
            if line.starts_with('}') {
                of = None;
            }
            let Some(of) = &of else { continue };
            let methods = types.entry(of.clone()).or_default();
            if let Some(name) = method(line) {
                methods.defined.insert(name.to_owned(), source.path.clone());
            }
            let called = methods.called.entry(source.path.clone()).or_default();
            // A chain may go on in the next line.
            if std::mem::replace(&mut waits, line.trim_end().ends_with("self")) {
                called
                    .extend(line.trim_start().strip_prefix('.').and_then(call).map(str::to_owned));
            }
            called.extend(line.split("self.").skip(1).filter_map(call).map(str::to_owned));
        }
    }
    types
}

/// The type that a block without a trait is of.
fn implemented(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("impl")?.trim_end().strip_suffix('{')?.trim();
    let rest = if rest.starts_with('<') { rest.split_once("> ")?.1 } else { rest };
    (!rest.contains(" for ")).then(|| rest.split(['<', ' ']).next())?
}

/// The method that a line defines.
fn method(line: &str) -> Option<&str> {
    let inside = line.strip_prefix("    ").filter(|rest| !rest.starts_with(' '))?;
    let (before, after) = inside.split_once("fn ")?;
    let words = before.split_whitespace();
    let keywords = ["const", "async", "super)", "crate::engine)", "crate::sql)", "in"];
    let known = |word: &str| word.starts_with("pub") || keywords.contains(&word);
    words.into_iter().all(known).then(|| name(after))
}

/// The method that is called here.
fn call(text: &str) -> Option<&str> {
    let name = name(text);
    text[name.len()..].starts_with('(').then_some(name)
}

fn name(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

#[test]
fn methods_and_calls_are_read() {
    assert_eq!(implemented("impl<'a> Asker<'a> {"), Some("Asker"));
    assert_eq!(implemented("impl Link {"), Some("Link"));
    assert_eq!(implemented("impl Server for Link {"), None);
    assert_eq!(method("    pub(crate) async fn run(&mut self) {"), Some("run"));
    assert_eq!(method("        let f = fn x() {"), None);
    assert_eq!(call("send(bytes)"), Some("send"));
    assert_eq!(call("server.send(bytes)"), None);
}

#[test]
fn no_type_has_too_many_methods() {
    let mut findings = Findings::default();
    let types = methods();
    assert!(types["Link"].defined.len() > 20, "the methods of Link are read");
    for (of, methods) in &types {
        let many = methods.defined.len() > METHODS;
        let excused = MANY.iter().any(|(excused, _)| excused == of);
        if many && !excused {
            findings.add(of, format!("has {} methods", methods.defined.len()));
        }
        if excused && !many {
            findings.add(of, "needs its excuse no longer");
        }
    }
    findings.check("A type has at most 60 methods");
}

#[test]
fn the_files_of_a_type_call_each_other_in_no_circle() {
    let mut findings = Findings::default();
    for (of, methods) in &methods() {
        let mut needs: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (file, called) in &methods.called {
            let others = called.iter().filter_map(|name| methods.defined.get(name));
            let others = others.map(String::as_str).filter(|other| other != file);
            needs.entry(file).or_default().extend(others);
        }
        for file in needs.keys() {
            if reaches(file, &needs).contains(file) {
                findings.add(file, format!("needs itself by calls on a {of}"));
            }
        }
    }
    findings.check("The files of a type call each other in no circle");
}

/// The files that a file needs, directly or not.
fn reaches<'a>(from: &str, needs: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut queue: Vec<&str> = needs.get(from).into_iter().flatten().copied().collect();
    while let Some(file) = queue.pop() {
        if found.insert(file) {
            queue.extend(needs.get(file).into_iter().flatten());
        }
    }
    found
}

#[test]
fn large_types_are_few_parts() {
    let sources = sources();
    let mut findings = Findings::default();
    for (of, most) in PARTS {
        let head = format!("struct {of} {{");
        let body = sources.iter().find_map(|source| source.code.split_once(&head));
        let (_, body) = body.unwrap_or_else(|| panic!("there is no {of}"));
        let body = body.split("\n}").next().unwrap_or_default();
        let parts = body.lines().filter(|line| line.trim_end().ends_with(',')).count();
        if parts > most {
            findings.add(of, format!("has {parts} fields, more than {most}"));
        }
    }
    findings.check("Large types are few parts");
}
