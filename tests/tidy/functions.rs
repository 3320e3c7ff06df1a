//! Functions are short and flat.

use super::documents::is_rust;
use super::{Findings, files, read, split};

/// Lines of a function from `fn` to its last brace; blank lines and comments are not counted.
const LINES: usize = 80;
/// Braces inside each other in a function's body.
const DEPTH: usize = 5;

/// A function of a file.
#[derive(Debug, PartialEq)]
struct Function<'a> {
    name: &'a str,
    lines: usize,
    depth: usize,
}

/// The functions of code without comments and literals that have a body, also those inside others.
fn functions(code: &str) -> Vec<Function<'_>> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let starts = code.match_indices("fn ").map(|(at, _)| at);
    let starts = starts.filter(|at| !code[..*at].ends_with(word));
    starts.filter_map(|at| Function::read(&code[at..])).collect()
}

impl<'a> Function<'a> {
    /// The one at the start of `code`. `None`: it is a declaration or a type.
    fn read(code: &'a str) -> Option<Self> {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let name =
            code["fn ".len()..].split(|c| !word(c)).next().filter(|name| !name.is_empty())?;
        // Brackets of the signature: `[u8; 4]` does not end it.
        let (mut brackets, mut open, mut depth) = (0, 0, 0);
        for (at, c) in code.char_indices() {
            match c {
                '(' | '[' => brackets += 1,
                ')' | ']' => brackets -= 1,
                ';' if open == 0 && brackets == 0 => return None,
                '{' => {
                    open += 1;
                    depth = depth.max(open);
                }
                '}' if open == 1 => {
                    let lines = code[..=at].lines().filter(|line| !line.trim().is_empty()).count();
                    return Some(Self { name, lines, depth: depth - 1 });
                }
                '}' => open -= 1,
                _ => {}
            }
        }
        None
    }
}

#[test]
fn functions_are_measured() {
    let code = "trait T { fn a(b: [u8; 2]) -> u8; }\nconst fn c() {\n\n  if d { e(|| { f }) }\n}\ntype G = fn (u8);";
    assert_eq!(functions(code), [Function { name: "c", lines: 3, depth: 2 }]);
}

#[test]
fn functions_are_short_and_flat() {
    let mut findings = Findings::default();
    for path in files().iter().filter(|path| is_rust(path)) {
        let (code, _) = split(&read(path));
        for Function { name, lines, depth } in functions(&code) {
            if lines > LINES {
                findings.add(path, format!("{name} has {lines} lines"));
            }
            if depth > DEPTH {
                findings.add(path, format!("{name} is {depth} deep"));
            }
        }
    }
    findings.check("A function has at most 80 lines, and is at most 5 deep");
}
