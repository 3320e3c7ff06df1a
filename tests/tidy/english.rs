//! Phrases that pages, samples and code must not use: plain English is subject, verb, object, in the field's words.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;

use super::documents::is_rust;
use super::pages::{markdown, prose};
use super::{Findings, files, read, split};

/// What not to write, and what to write instead.
const REFUSED: [(&str, &str); 52] = [
    ("all the same", "nevertheless, still"),
    ("anew", "again, new"),
    ("anybody", "any client, any user"),
    ("as ever", "as usual, as before"),
    ("as it stands", "unchanged"),
    ("as natively", "as in the server"),
    ("as they stand", "unchanged"),
    ("be had", "say which client gets what"),
    ("became of", "say what happened"),
    ("becomes of", "say what happens"),
    ("comes behind", "follows, comes after"),
    ("comes to it", "reaches it"),
    ("comes to the call", "reaches the call"),
    ("everybody", "every client, every user"),
    ("for itself", "separately"),
    ("for people", "for display"),
    ("go over", "override"),
    ("goes over", "overrides"),
    ("hang up", "close the connection"),
    ("hangs up", "closes the connection"),
    ("hear of", "learn of, get"),
    ("heard of", "learned of, got"),
    ("hears of", "learns of, gets"),
    ("in front of the next", "before the next"),
    ("in its own words", "with its own error"),
    ("in the place of", "in place of, instead of"),
    ("in the words of", "with the error of"),
    ("is to be had", "is free, is available"),
    ("it comes to", "say what it is"),
    ("leaves no doubt", "is certain"),
    ("look whether", "check whether"),
    ("looks whether", "checks whether"),
    ("natively", "on the server, without Lockstead"),
    ("nobody else", "no other client"),
    ("nobody's", "say whose it is"),
    ("of somebody else", "of another client"),
    ("once more", "again"),
    ("somebody else", "another client, another administrator"),
    ("somebody's", "another client's"),
    ("stand in", "are in"),
    ("stands in", "is in"),
    ("stood still", "was stopped, was suspended"),
    ("stands still", "is stopped, is suspended"),
    ("take the place of", "replace"),
    ("takes the place of", "replaces"),
    ("tell of", "show, report"),
    ("tells of", "shows, reports"),
    ("told of", "gets, is shown"),
    ("wants root", "needs root"),
    ("whoever", "the client that, the session that"),
    ("whosoever", "any client"),
    ("with what it is for", "say why it is needed"),
];

/// Where "behind" is a place: a balancer in front, a proxy behind. For time there is "after".
const BEHIND: [&str; 12] = [
    "behind a balancer",
    "behind a load balancer",
    "behind a proxy",
    "behind a real haproxy",
    "behind a service",
    "behind haproxy",
    "behind the proxy",
    "leaves a row behind",
    "leaves behind",
    "left behind",
    "leave behind",
    "proxies behind",
];

/// How a clause begins that must not be a sentence's subject; a question may.
const CLAUSES: [&str; 5] = ["who", "whoever", "what", "whatever", "whose"];

/// This file, which lists what it refuses.
const LISTS: &str = "tests/tidy/english.rs";

/// How a language begins a comment line.
#[derive(Debug, PartialEq)]
enum Comments {
    Hash,
    Slashes,
}

/// How comments begin in a file that is neither Rust nor a page. `None`: the file has none.
fn kind(path: &str) -> Option<Comments> {
    let name = path.rsplit('/').next().unwrap_or_default();
    match Path::new(name).extension().and_then(OsStr::to_str) {
        Some(
            "sh" | "py" | "sql" | "toml" | "yml" | "yaml" | "conf" | "cfg" | "rb" | "pl" | "sed",
        ) => Some(Comments::Hash),
        Some("c" | "h" | "go" | "java" | "js" | "ts" | "php") => Some(Comments::Slashes),
        None if matches!(name, "run" | "list" | "install" | "Makefile") => Some(Comments::Hash),
        _ => None,
    }
}

/// Files with comments that users read.
const COMMENTED: [&str; 11] = [
    "Dockerfile",
    "compose.yml",
    "config/alerts.yml",
    "config/haproxy.cfg",
    "config/keepalived.conf",
    "config/lockstead.toml",
    "config/minimal.toml",
    "config/prometheus.yml",
    "packaging/kubernetes/service.yaml",
    "packaging/kubernetes/sidecar.yaml",
    "packaging/lockstead.service",
];

/// The comments of a file, and the texts of an alert, as paragraphs.
fn comments(text: &str) -> String {
    let said = |line: &str| {
        let line = line.trim();
        let alert = ["summary: ", "description: "].iter().find_map(|key| line.strip_prefix(key));
        line.strip_prefix('#').or(alert).unwrap_or_default().trim().to_owned()
    };
    text.lines().map(said).collect::<Vec<_>>().join("\n")
}

/// The paragraphs, list items, headings and table cells of a page, in lower case; code is left out.
fn passages(text: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    for line in prose(text) {
        let line = without_code(line).to_lowercase();
        let line = line.trim();
        let cells = line.starts_with('|');
        let item = line.starts_with("- ") || line.starts_with(|c: char| c.is_ascii_digit());
        if line.is_empty() || cells || item || line.starts_with('#') {
            all.push(String::new());
        }
        for (n, part) in line.split('|').enumerate() {
            if n > 0 {
                all.push(String::new());
            }
            if let Some(last) = all.last_mut() {
                write!(last, "{} ", part.trim()).expect("a string takes it");
            }
        }
        if line.starts_with('#') {
            all.push(String::new());
        }
    }
    all.retain(|passage| !passage.trim().is_empty());
    all
}

/// A line with what stands between backticks as one letter, and without emphasis.
fn without_code(line: &str) -> String {
    let parts = line.split('`').enumerate();
    parts.map(|(n, part)| if n % 2 == 1 { "x" } else { part }).collect::<String>().replace('*', "")
}

/// Whether a phrase is there as whole words.
fn has_phrase(text: &str, phrase: &str) -> bool {
    let letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    text.match_indices(phrase).any(|(at, _)| {
        !letter(text[..at].chars().next_back()) && !letter(text[at + phrase.len()..].chars().next())
    })
}

/// The sentences of a passage.
fn sentences(passage: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let mut start = 0;
    for (at, c) in passage.char_indices() {
        if matches!(c, '.' | '?' | '!') && passage[at + 1..].starts_with(' ') {
            all.push(passage[start..=at].trim());
            start = at + 1;
        }
    }
    all.push(passage[start..].trim());
    all
}

/// The refused phrases in a passage, and the sentences with a clause as their subject.
fn refused(passage: &str) -> Vec<String> {
    [phrases(passage), clauses(passage)].concat()
}

/// The refused phrases in a passage.
fn phrases(passage: &str) -> Vec<String> {
    let mut found: Vec<String> = REFUSED
        .iter()
        .filter(|(phrase, _)| has_phrase(passage, phrase))
        .map(|(phrase, instead)| format!("{phrase:?} (write: {instead})"))
        .collect();
    let mut rest = passage.to_owned();
    for place in BEHIND {
        rest = rest.replace(place, "");
    }
    if has_phrase(&rest, "behind") {
        found.push("\"behind\" (of time write: after)".to_owned());
    }
    found
}

/// The sentences of a passage that begin with a clause as their subject.
fn clauses(passage: &str) -> Vec<String> {
    let mut found = Vec::new();
    // A heading is no sentence, nor are the few words in a table's cell.
    for sentence in sentences(passage).into_iter().filter(|s| !s.starts_with('#')) {
        let words = sentence.trim_start_matches(|c: char| !c.is_alphabetic());
        let first = words.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
        if CLAUSES.contains(&first) && sentence.ends_with('.') {
            found.push(format!("a sentence that begins with {first:?}: {words:?}"));
        }
    }
    found
}

#[test]
fn refused_phrases_are_found() {
    let text = "# What it does\n- A row, as it\n  stands. Who asks? `for people`\n| Who waits, waits. | what it is |\n\n\
                1. Released behind it, behind a balancer\n";
    let found: Vec<Vec<String>> = passages(text).iter().map(|p| refused(p)).collect();
    let count: Vec<usize> = found.iter().map(Vec::len).collect();
    assert_eq!(count, [0, 1, 1, 0, 1], "{found:?}");
}

#[test]
fn pages_and_samples_are_in_plain_english() {
    let mut findings = Findings::default();
    let pages = markdown();
    let pages = pages.iter().map(|page| (page.as_str(), read(page)));
    let commented = COMMENTED.iter().map(|path| (*path, comments(&read(path))));
    for (path, text) in pages.chain(commented) {
        for phrase in passages(&text).iter().flat_map(|passage| refused(passage)) {
            findings.add(path, phrase);
        }
    }
    findings.check("Pages and samples are in plain English");
}

/// The comments of a source, as paragraphs.
fn remarks(text: &str) -> String {
    let said = |line: &str| {
        let line = line.trim().strip_prefix("//").unwrap_or_default();
        line.trim_start_matches(['/', '!']).trim().to_owned()
    };
    text.lines().map(said).collect::<Vec<_>>().join("\n")
}

/// The comments between the statements of a source, as paragraphs: those that document no item.
fn asides(text: &str) -> String {
    let said = |line: &str| {
        let line = line.trim().strip_prefix("//").unwrap_or_default();
        if line.starts_with(['/', '!']) { String::new() } else { line.trim().to_owned() }
    };
    text.lines().map(said).collect::<Vec<_>>().join("\n")
}

/// The messages among the string literals of a source: literals of several words, as the compiler joins their lines.
fn messages(strings: &str) -> Vec<String> {
    let joined = strings.replace("\\\n", " ");
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    joined.lines().map(words).filter(|line| line.matches(' ').count() >= 2).collect()
}

#[test]
fn comments_and_messages_of_code_are_read() {
    let code = "//! A row, as it\n//! stands.\nlet a = 1; // not this\n    /// Somebody else.\n\
                /// What a row holds.\n    // What is held is kept.\n";
    let found: Vec<_> = passages(&remarks(code)).iter().flat_map(|p| phrases(p)).collect();
    assert_eq!(found.len(), 2, "{found:?}");
    let found: Vec<_> = passages(&asides(code)).iter().flat_map(|p| clauses(p)).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(messages("one word\nthree words \\\n   here\n"), ["three words here"]);
}

#[test]
fn comments_and_messages_are_in_plain_english() {
    let mut findings = Findings::default();
    for path in files().into_iter().filter(|path| is_rust(path) && path != LISTS) {
        let text = read(&path);
        let (_, strings) = split(&text);
        // The comment of an item may begin with "what" as a heading does: "What a session holds."
        let (all, between) = (passages(&remarks(&text)), passages(&asides(&text)));
        let said = all.iter().flat_map(|passage| phrases(passage));
        let said = said.chain(between.iter().flat_map(|passage| clauses(passage)));
        let told = messages(&strings);
        for phrase in said.chain(told.iter().flat_map(|message| refused(message))) {
            findings.add(&path, phrase);
        }
    }
    findings.check("Comments, errors, log lines and help texts are in plain English");
}

/// How a comment must not begin: its subject would be on the line above.
const LEANING: [&str; 5] = ["the same", "it", "they", "its", "their"];

/// How a passage begins that names no subject.
fn leaning(passage: &str) -> Option<&'static str> {
    let words = passage.trim_start_matches(|c: char| !c.is_alphabetic());
    let goes_on = |rest: &str| rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    LEANING.into_iter().find(|start| words.strip_prefix(start).is_some_and(|rest| !goes_on(rest)))
}

#[test]
fn comments_that_lean_on_the_line_above_are_found() {
    let code = "/// The same, to be changed.\nfn a() {}\n/// Items of the list.\nfn b() {}\n\
                // It is gone.\nc();\n/// One thing.\n///\n/// - Its name.\n/// The samest thing.\nd();\n";
    let found: Vec<_> = passages(&remarks(code)).iter().filter_map(|p| leaning(p)).collect();
    assert_eq!(found, ["the same", "it", "its"]);
}

#[test]
fn comments_name_their_subject() {
    let mut findings = Findings::default();
    for path in files().into_iter().filter(|path| is_rust(path) && path != LISTS) {
        for passage in passages(&remarks(&read(&path))) {
            if let Some(start) = leaning(&passage) {
                findings.add(&path, format!("a comment that begins with {start:?}: {passage:.60}"));
            }
        }
    }
    findings.check("A comment names its subject");
}

/// Words in a sentence of a comment: a longer one is two.
const WORDS: usize = 30;

#[test]
fn sentences_of_comments_are_short() {
    let mut findings = Findings::default();
    for path in files().into_iter().filter(|path| is_rust(path) && path != LISTS) {
        for passage in passages(&remarks(&read(&path))) {
            for sentence in sentences(&passage) {
                let words = sentence.split_whitespace().count();
                if words > WORDS {
                    findings.add(&path, format!("a sentence of {words} words: {sentence:.60}"));
                }
            }
        }
    }
    findings.check("Sentences of comments are short");
}

#[test]
fn comments_of_scripts_are_in_plain_english() {
    let mut findings = Findings::default();
    for path in files() {
        let read_comments = match kind(&path) {
            Some(Comments::Hash) => comments,
            Some(Comments::Slashes) => remarks,
            None => continue,
        };
        for phrase in passages(&read_comments(&read(&path))).iter().flat_map(|p| phrases(p)) {
            findings.add(&path, phrase);
        }
    }
    findings.check("Comments of scripts and settings are in plain English");
}

/// How the name of a test must not begin.
const NAMES: [&str; 5] = ["who_", "whoever_", "what_", "whatever_", "whose_"];

#[test]
fn names_of_tests_are_sentences_with_a_plain_subject() {
    let mut findings = Findings::default();
    for path in files().iter().filter(|path| is_rust(path)) {
        for line in read(path).lines() {
            let name =
                line.trim().trim_start_matches("async ").strip_prefix("fn ").unwrap_or_default();
            let name = name.split('(').next().unwrap_or_default();
            if NAMES.iter().any(|word| name.starts_with(word)) {
                findings.add(path, format!("{name} begins with a clause"));
            }
            if name.split('_').any(|word| word == "behind") {
                findings.add(path, format!("{name} (of time write: after)"));
            }
        }
    }
    findings.check("The name of a test has a plain subject");
}
