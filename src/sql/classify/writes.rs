//! Statements that write, and commit by themselves where autocommit is on.

use crate::sql::find::first_word::{begins_with, first_word};
use crate::sql::find::words::looks_back;

/// A statement that may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// As a transaction's first statement, it does what it does alone.
    Plain,
    /// In a transaction such a statement may do something else: it ends one, has rows, or reads what the statement
    /// before left. Or the text has several statements.
    Special,
}

/// Statements that write rows and nothing else.
const PLAIN: [&[u8]; 5] = [b"insert", b"update", b"delete", b"replace", b"load"];
/// Others that write.
const SPECIAL: [&[u8]; 7] =
    [b"call", b"create", b"alter", b"drop", b"truncate", b"rename", b"import"];

/// What a text writes; `several`: it may hold several statements.
pub fn write_of(text: &[u8], several: bool) -> Option<Write> {
    if begins_with(text, &SPECIAL) {
        return Some(Write::Special);
    }
    if !begins_with(text, &PLAIN) {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    let has = |word: &[u8]| memchr::memmem::find(&lower, word).is_some();
    let end = text.iter().rposition(|b| *b != b';' && !b.is_ascii_whitespace())?;
    let apart = several && text[..end].contains(&b';');
    let reads = first_word(text).eq_ignore_ascii_case(b"load") && has(b"local");
    // Such a write would find what the proxy has done.
    let looks = looks_back(text) || has(b"autocommit");
    let special = apart || reads || looks || has(b"returning");
    Some(if special { Write::Special } else { Write::Plain })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_known_by_their_first_word() {
        for (text, several, write) in [
            ("INSERT INTO t VALUES (1)", true, Some(Write::Plain)),
            ("/* a */ update t set a=1;", true, Some(Write::Plain)),
            ("DELETE FROM t WHERE a=';'", false, Some(Write::Plain)),
            ("DELETE FROM t WHERE a=';'", true, Some(Write::Special)),
            ("REPLACE t SELECT 1; SELECT 1", true, Some(Write::Special)),
            ("LOAD DATA INFILE 'a' INTO TABLE t", false, Some(Write::Plain)),
            ("LOAD DATA LOCAL INFILE 'a' INTO TABLE t", false, Some(Write::Special)),
            ("INSERT INTO t VALUES (ROW_COUNT())", false, Some(Write::Special)),
            ("INSERT INTO t VALUES (@@autocommit)", false, Some(Write::Special)),
            ("INSERT INTO t VALUES (1) RETURNING *", false, Some(Write::Special)),
            ("CALL p()", false, Some(Write::Special)),
            ("CREATE TABLE t (a INT)", false, Some(Write::Special)),
            ("SELECT 1", false, None),
            ("COMMIT", false, None),
            ("", false, None),
        ] {
            assert_eq!(write_of(text.as_bytes(), several), write, "{text}");
        }
    }
}
