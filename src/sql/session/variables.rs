//! The user variables that a text names, or the system variables that it sets, in bounded memory.

use super::words::{Folded, is_of_transaction};
use crate::sql::lexer::scanner::Kind;
use crate::sql::lexer::skim::is_word;

/// Names that are kept of one text.
const MOST_NAMES: usize = 64;
/// Characters of the longest name that both servers take.
const LONGEST_NAME: usize = 64;

/// Names of variables, each once.
#[derive(Default)]
pub(super) struct VariableNames {
    /// In order.
    pub(super) names: Vec<Box<[u8]>>,
    /// There may be others.
    pub(super) more: bool,
}

impl VariableNames {
    /// Adds the name without quotes that follows an `@`, and returns its length.
    pub(super) fn add_bare(&mut self, after: &[u8]) -> usize {
        let ends = |b: &u8| !(is_word(*b) || *b == b'.');
        let length = after.iter().position(ends).unwrap_or(after.len());
        self.add(&after[..length]);
        length
    }

    /// Adds a name with the quotes around it.
    pub(super) fn add_quoted(&mut self, quoted: &[u8]) {
        let Some((quote, rest)) = quoted.split_first() else { return };
        let inner = rest.split_last().map_or(rest, |(_, inner)| inner);
        // The meaning of a backslash depends on modes.
        if *quote != b'`' && memchr::memchr(b'\\', inner).is_some() {
            self.more = true;
            return;
        }
        let mut name = Vec::with_capacity(inner.len().min(LONGEST_NAME + 1));
        let mut bytes = inner.iter();
        while let Some(byte) = bytes.next().filter(|_| name.len() <= LONGEST_NAME) {
            name.push(*byte);
            if byte == quote {
                bytes.next();
            }
        }
        self.add(&name);
    }

    /// Servers compare names without case and accents, and may not count spaces at the end. A
    /// variable without a name is NULL: no statement sets it.
    fn add(&mut self, name: &[u8]) {
        if name.is_empty() {
            return;
        }
        // In swe7 other signs of ASCII are letters.
        let plain = |b: &u8| matches!(b, b' '..=b'?' | b'A'..=b'Z' | b'_' | b'a'..=b'z');
        let exact = name.iter().all(plain) && !name.ends_with(b" ");
        if !exact || name.len() > LONGEST_NAME {
            self.more = true;
            return;
        }
        let name = name.to_ascii_lowercase().into_boxed_slice();
        if let Err(at) = self.names.binary_search(&name) {
            if self.names.len() < MOST_NAMES {
                self.names.insert(at, name);
            } else {
                self.more = true;
            }
        }
    }

    /// Adds the name of a system variable, if what follows it in the text sets it. `guessing`: that is not known.
    pub(super) fn add_set(&mut self, name: &[u8], after: &[u8], guessing: bool) {
        let after = after.trim_ascii_start();
        let comments: [&[u8]; 3] = [b"/*", b"--", b"#"];
        let of_transaction = Folded::of(name).is_some_and(|n| is_of_transaction(n.as_bytes()));
        if of_transaction {
            // Without a scope, such a variable is for the next transaction.
        } else if guessing || comments.iter().any(|begin| after.starts_with(begin)) {
            self.more = true;
        } else if matches!(after.first(), Some(b'=' | b':')) {
            self.add(name);
        }
    }

    pub(super) fn add_all(&mut self, others: &Self) {
        self.more |= others.more;
        for name in &others.names {
            self.add(name);
        }
    }
}

/// A name without its quotes.
pub(super) fn unquoted(kind: Kind, bytes: &[u8]) -> &[u8] {
    match bytes {
        [_, inner @ .., _] if kind == Kind::Quoted => inner,
        _ => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_as_servers_compare_them() {
        for (after, name) in [
            (&b"Total_1 := 2"[..], Some(&b"total_1"[..])),
            (b"a.b$c,1", Some(b"a.b$c")),
            (b".a", Some(b".a")),
            (b"`A``b`", None),
            (b"'it''s'", Some(b"it's")),
            (b"\"a b\"", Some(b"a b")),
            (b"`a\\`", None),
            (b"'a\\''", None),
            (b"`a `", None),
            (b"\xc3\xa9", None),
            (b"a\xa0", None),
            (b"`a\x00b`", None),
        ] {
            let mut names = VariableNames::default();
            match after.first() {
                Some(b'`' | b'\'' | b'"') => names.add_quoted(after),
                _ => drop(names.add_bare(after)),
            }
            let shown = after.escape_ascii();
            assert_eq!(names.names.first().map(AsRef::as_ref), name, "{shown}");
            assert_eq!(names.more, name.is_none(), "{shown}");
        }
    }

    #[test]
    fn a_variable_without_a_name_cannot_be_set() {
        let mut names = VariableNames::default();
        names.add_quoted(b"``");
        names.add_bare(b" a");
        names.add_bare(b"");
        assert!(names.names.is_empty() && !names.more);
    }

    #[test]
    fn they_take_bounded_memory() {
        let mut names = VariableNames::default();
        for n in 0..2 * MOST_NAMES {
            assert_eq!(names.more, n > MOST_NAMES);
            names.add_bare(format!("v{n}").as_bytes());
            names.add_bare(b"V0");
        }
        assert_eq!(names.names.len(), MOST_NAMES);
        let mut names = VariableNames::default();
        names.add_bare(&[b'a'; LONGEST_NAME]);
        assert!(!names.more);
        names.add_bare(&[b'a'; LONGEST_NAME + 1]);
        assert!(names.more && names.names.len() == 1);
        let mut names = VariableNames::default();
        names.add_quoted(&vec![b'`'; 1 << 20]);
        assert!(names.more && names.names.is_empty());
    }
}
