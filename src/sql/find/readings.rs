//! The readings of a text that differ: most modes and character sets change nothing in one.

use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::vec::IntoIter;

use super::finder::Finder;
use crate::sql::lexer::dialect::Dialect;

/// Goes through the ways in which a text may be read, that of the dialect first.
#[derive(Debug)]
pub struct Readings<'a> {
    text: &'a [u8],
    left: IntoIter<Dialect>,
    /// Keeps others from crafting two readings with the same hash.
    key: RandomState,
    /// The hashes of those so far.
    known: Vec<u64>,
}

impl<'a> Readings<'a> {
    /// All readings between which only the server can decide.
    pub fn of(text: &'a [u8], dialect: Dialect) -> Self {
        let left = dialect.readings(text).into_iter();
        Self { text, left, key: RandomState::new(), known: Vec::new() }
    }

    /// Bytes that are scanned to compare the remaining readings; none for the only one.
    pub fn work(&self) -> usize {
        if self.is_only() { 0 } else { self.text.len() * self.left.len() }
    }

    fn is_only(&self) -> bool {
        self.left.len() == 1 && self.known.is_empty()
    }

    /// A hash that is equal for readings with equal tokens and calls, from which everything else follows.
    fn tokens(&self, dialect: Dialect) -> u64 {
        let mut hasher = self.key.build_hasher();
        let (finder, whole) = Finder::telling(self.text, dialect, |token| {
            token.kind.hash(&mut hasher);
            hasher.write_usize(token.start);
            hasher.write_usize(token.end);
        });
        finder.hash(&mut hasher);
        whole.hash(&mut hasher);
        hasher.finish()
    }
}

impl Iterator for Readings<'_> {
    /// A reading that differs from all before it; `None` in place of one that does not.
    type Item = Option<Dialect>;

    fn next(&mut self) -> Option<Self::Item> {
        let only = self.is_only();
        let dialect = self.left.next()?;
        if only {
            return Some(Some(dialect));
        }
        let tokens = self.tokens(dialect);
        let new = !self.known.contains(&tokens);
        if new {
            self.known.push(tokens);
        }
        Some(new.then_some(dialect))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    const MYSQL: Dialect = Dialect::MYSQL;

    #[test]
    fn readings_that_change_nothing_are_one() {
        for (sql, all, different) in [
            (&b"SELECT GET_LOCK('k',0)"[..], 1, 1),
            ("SELECT GET_LOCK('k',0), 'd\u{e9}j\u{e0} vu'".as_bytes(), 7, 1),
            (b"SELECT GET_LOCK('k',0), \"x\"", 2, 2),
            (b"SELECT GET_LOCK('k',0), 'a\\n'", 2, 1),
            (b"SELECT GET_LOCK('k',0), 'a\\', '", 2, 2),
            (b"SELECT 1 --\xa0, GET_LOCK('k',0)", 15, 2),
            // Only MySQL drops half a character, and not in each character set.
            (b"SELECT GET_LOCK\xc3('k',0)", 6, 2),
        ] {
            let readings = Readings::of(sql, MYSQL);
            let steps: Vec<_> = readings.collect();
            let text = sql.escape_ascii();
            assert_eq!(steps.len(), all, "{text}");
            assert_eq!(steps.iter().flatten().count(), different, "{text}");
            assert_eq!(steps[0], Some(MYSQL), "{text}");
        }
    }
}
