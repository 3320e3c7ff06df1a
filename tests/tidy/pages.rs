//! The pages of the documentation: what they link to is there, and the site has all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{Findings, files, read, root};

/// The index of the site, which dev/docs.sh builds.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Pages that readers look things up in: a cell of a table has one short sentence.
const REFERENCES: [&str; 1] = ["docs/differences-reference.md"];
/// Characters in such a cell.
const CELL: usize = 160;

/// All Markdown files of the repository.
pub(super) fn markdown() -> Vec<String> {
    files().into_iter().filter(|p| Path::new(p).extension().is_some_and(|e| e == "md")).collect()
}

/// The lines of a text that are not in a code block.
pub(super) fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    })
}

/// Targets of the links and pictures in a text that are not on another host.
fn links(text: &str) -> Vec<&str> {
    let after = |line: &'static str, end: [char; 3]| {
        text.match_indices(line)
            .map(move |(at, _)| text[at + line.len()..].split(end).next().unwrap_or_default())
    };
    after("](", [')', ' ', '\n'])
        .chain(after("src=\"", ['"', ' ', '\n']))
        .filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
        .collect()
}

/// A link's file, as a path from the root, and its anchor.
fn resolve<'a>(from: &str, target: &'a str) -> (String, &'a str) {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    if file.is_empty() {
        return (from.to_owned(), anchor);
    }
    let mut path: Vec<&str> = from.split('/').collect();
    path.pop();
    for part in file.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part != ".." {
            path.push(part);
        } else if path.pop().is_none() {
            return (format!("{file} leads out of the repository"), anchor);
        }
    }
    (path.join("/"), anchor)
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut all = BTreeSet::new();
    for line in prose(text).filter(|line| line.starts_with('#')) {
        let heading = line.trim_start_matches('#').trim();
        // Of a link its text counts.
        let heading: String = heading
            .split("](")
            .enumerate()
            .map(|(n, part)| if n == 0 { part } else { part.split_once(')').unwrap_or(("", "")).1 })
            .collect();
        let letter = |c: char| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
            _ => None,
        };
        let anchor: String = heading.to_lowercase().chars().filter_map(letter).collect();
        let times = seen.entry(anchor.clone()).or_default();
        all.insert(if *times == 0 { anchor } else { format!("{anchor}-{times}") });
        *times += 1;
    }
    all
}

#[test]
fn anchors_are_those_of_the_site() {
    let text =
        "# `lockstead doctor`\n## 1. What's *new*?\n```\n# no\n```\n## A [b](c.md) d\n## A b d\n";
    let expected = ["lockstead-doctor", "1-whats-new", "a-b-d", "a-b-d-1"];
    assert_eq!(anchors(text), expected.map(str::to_owned).into());
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut findings = Findings::default();
    for path in markdown() {
        let text = read(&path);
        for target in links(&text) {
            let (file, anchor) = resolve(&path, target);
            if !root().join(&file).exists() {
                findings.add(&path, format!("{target} does not exist"));
            } else if !anchor.is_empty()
                && Path::new(&file).extension().is_some_and(|e| e == "md")
                && !anchors(&read(&file)).contains(anchor)
            {
                findings.add(&path, format!("{target}: {file} has no such heading"));
            }
        }
    }
    findings.check("Links lead to files of the repository, and to headings that are there");
}

#[test]
fn the_site_has_every_page() {
    let summary = read(SUMMARY);
    let listed: Vec<String> =
        links(&summary).into_iter().map(|target| resolve(SUMMARY, target).0).collect();
    let mut findings = Findings::default();
    let mut seen = BTreeSet::new();
    for page in listed.iter().filter(|page| !seen.insert(page.as_str())) {
        findings.add(SUMMARY, format!("lists {page} twice"));
    }
    for page in markdown().iter().filter(|p| p.starts_with("docs/") && *p != SUMMARY) {
        if !listed.contains(page) {
            findings.add(page, format!("is not in {SUMMARY}"));
        }
    }
    // A page that is not on the site cannot be reached there.
    for page in &listed {
        for target in links(&read(page)) {
            let (file, _) = resolve(page, target);
            if Path::new(&file).extension().is_some_and(|e| e == "md") && !listed.contains(&file) {
                findings.add(page, format!("links to {file}, which is not in {SUMMARY}"));
            }
        }
    }
    findings.check("The site has every page, once, and every page that one links to");
}

#[test]
fn cells_of_references_are_short() {
    let mut findings = Findings::default();
    for path in REFERENCES {
        let text = read(path);
        let rows = prose(&text).filter(|line| line.starts_with('|'));
        let cells = rows.flat_map(|row| row.split('|')).map(str::trim);
        for cell in cells.filter(|cell| cell.chars().count() > CELL) {
            findings.add(path, format!("move details below the table: {cell}"));
        }
    }
    findings.check("Cells of references are short");
}

/// Whether a path, from the root, is there.
fn exists(path: &str) -> bool {
    root().join(path).exists()
}

/// What is wrong with `name`, if it reads as a path of the repository, or as a module of the code.
fn missing(name: &str) -> Option<String> {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-./".contains(c);
    if let Some((top, _)) = name.split_once('/').filter(|_| name.chars().all(word)) {
        // Build results are not always there.
        let ours = !["", "target"].contains(&top) && exists(top);
        return (ours && !exists(name)).then(|| format!("{name} is not there"));
    }
    let (module, rest) = name.split_once("::")?;
    let mut path = format!("src/{module}");
    if !exists(&path) {
        return None;
    }
    for part in rest.split("::") {
        let inner = format!("{path}/{part}");
        if !exists(&inner) && !exists(&format!("{inner}.rs")) {
            // An item, then: of that file, or of that folder.
            let files = [format!("{path}.rs"), format!("{path}/mod.rs")];
            let found = files.iter().any(|file| exists(file) && read(file).contains(part));
            return (!found).then(|| format!("{name}: there is no {part}"));
        }
        path = inner;
    }
    None
}

#[test]
fn missing_paths_and_modules_are_found() {
    for there in ["src/lib.rs", "tests/it/", "sql::call", "lock::name::Key", "a/b", "std::fmt"] {
        assert_eq!(missing(there), None);
    }
    for gone in ["src/tulip.rs", "dev/tulip", "sql::tulip", "lock::name::Tulip"] {
        assert!(missing(gone).is_some(), "{gone}");
    }
}

#[test]
fn paths_and_modules_that_pages_name_are_there() {
    let mut findings = Findings::default();
    for path in markdown() {
        let text = read(&path);
        let quoted = prose(&text).flat_map(|line| line.split('`').skip(1).step_by(2));
        for gone in quoted.filter_map(missing) {
            findings.add(&path, gone);
        }
    }
    findings.check("Paths and modules that pages name are there");
}

/// Pages of the design with numbered sections, and the words before a section in a comment.
const SECTIONS: [(&str, &str); 2] = [
    ("interception, ", "docs/design/interception.md"),
    ("native-semantics, section ", "docs/design/native-semantics.md"),
];
/// The page with the invariants, I1 and so on.
const INVARIANTS: &str = "docs/design/locks.md";

/// The comments of a source, as one line.
fn comments(text: &str) -> String {
    let all = text.lines().filter_map(|line| Some(line.split_once("//")?.1));
    all.map(|line| line.trim_start_matches(['/', '!'])).collect()
}

/// The sections and invariants that a source cites and the design does not have.
fn not_in_design(text: &str) -> Vec<String> {
    let word = |text: &str| {
        text.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default().to_owned()
    };
    let comments = comments(text);
    let mut gone = Vec::new();
    for (words, page) in SECTIONS.into_iter().filter(|(words, _)| comments.contains(words)) {
        let design = read(page);
        for section in comments.split(words).skip(1).map(word) {
            let heading = |line: &str| {
                line.starts_with("##") && word(line.trim_start_matches(['#', ' '])) == section
            };
            if !design.lines().any(heading) {
                gone.push(format!("{page} has no section {section}"));
            }
        }
    }
    let number = |word: &&str| word.strip_prefix('I').is_some_and(|n| n.parse::<u8>().is_ok());
    for invariant in comments.split(|c: char| !c.is_alphanumeric()).filter(number) {
        if !read(INVARIANTS).contains(&format!("**{invariant}**")) {
            gone.push(format!("{INVARIANTS} has no {invariant}"));
        }
    }
    gone
}

#[test]
fn citations_that_the_design_does_not_have_are_found() {
    let good =
        "//! (interception, 6) (native-semantics,\n//! section 5a)\n/// I3, I14\nlet I99 = 0;";
    assert_eq!(not_in_design(good), Vec::<String>::new());
    let bad = "/// interception, 60, native-semantics, section 5z, (I99)";
    assert_eq!(not_in_design(bad).len(), 3);
}

#[test]
fn the_design_has_all_that_comments_cite() {
    let mut findings = Findings::default();
    let rust = |path: &&String| Path::new(path).extension().is_some_and(|e| e == "rs");
    for path in files().iter().filter(rust).filter(|path| !path.starts_with("tests/tidy")) {
        for gone in not_in_design(&read(path)) {
            findings.add(path, gone);
        }
    }
    findings.check("The design has all that comments cite");
}
