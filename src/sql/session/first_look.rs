//! The scan that every statement pays: whether its text may do anything to its session unseen.
//!
//! The scan knows neither quotes nor comments. If it says no, [`super::judge`] says nothing of the text.

use crate::sql::find::first_word::after_comments;
use crate::sql::lexer::scanner::is_space;
use crate::sql::lexer::skim::is_word;
use crate::types::Flavour;

/// Longest of the first words that begin an ordinary statement.
const CALM_MAX: usize = 9;

/// Whether the text needs another look.
pub(super) fn may_matter(text: &[u8], flavour: Flavour) -> bool {
    let start = &text[after_comments(text)..];
    let mariadb = || may_name_sequence(text) || may_return_rows(text);
    if !begins_calmly(start) || (flavour == Flavour::MariaDb && mariadb()) {
        return true;
    }
    memchr::memchr3_iter(b'_', b'@', b';', start).any(|at| match start[at] {
        b'_' => is_in_name(start, at),
        b';' => !begins_calmly(&start[at + 1..]),
        _ => true,
    })
}

/// Whether a statement begins with a word of which nothing follows, whatever comes after it.
fn begins_calmly(text: &[u8]) -> bool {
    let blank = |b: &u8| is_space(*b) || *b == b'(';
    let Some(start) = text.iter().position(|b| !blank(b)) else { return true };
    let text = &text[start..];
    let length = text.iter().take(CALM_MAX + 1).take_while(|b| is_word(**b)).count();
    let mut word = [0; CALM_MAX];
    let Some(word) = word.get_mut(..length) else { return false };
    word.copy_from_slice(&text[..length]);
    word.make_ascii_lowercase();
    match &*word {
        b"select" | b"insert" | b"update" | b"delete" | b"replace" | b"commit" | b"rollback"
        | b"start" | b"savepoint" | b"release" | b"use" | b"with" | b"values" | b"table"
        | b"truncate" | b"do" => true,
        b"begin" => begins_transaction(&text[length..]),
        // Nothing between two semicolons.
        b"" => text.first() == Some(&b';'),
        _ => false,
    }
}

/// Whether this follows a BEGIN that begins no block.
fn begins_transaction(text: &[u8]) -> bool {
    let rest = text.trim_ascii_start();
    let work = rest.get(..4).is_some_and(|word| word.eq_ignore_ascii_case(b"work"))
        && rest.get(4).is_none_or(|b| !is_word(*b));
    work || rest.first().is_none_or(|b| *b == b';')
}

/// Parts of names before and after one of their underscores. The parts after it begin with
/// the letter.
fn names_with(letter: u8) -> &'static [(&'static [u8], &'static [u8])] {
    match letter.to_ascii_lowercase() {
        b'b' => &[(b"variables", b"by")],
        b'c' => &[(b"row", b"count"), (b"warning", b"count"), (b"error", b"count")],
        b'g' => &[(b"service", b"get")],
        b'i' => &[(b"insert", b"id"), (b"connection", b"id")],
        b'l' => &[(b"tokens", b"lock")],
        b'r' => &[(b"found", b"rows"), (b"service", b"release")],
        b's' => &[(b"information", b"schema")],
        b't' => &[
            (b"session", b"track"),
            (b"pseudo", b"thread"),
            (b"current", b"thread"),
            (b"optimizer", b"trace"),
        ],
        b'u' => &[(b"tokens", b"unlock")],
        b'v' => &[(b"user", b"variables"), (b"session", b"variables"), (b"system", b"variables")],
        _ => &[],
    }
}

/// Whether the underscore is in one of the names that mean something anywhere.
fn is_in_name(text: &[u8], at: usize) -> bool {
    let (before, after) = (&text[..at], &text[at + 1..]);
    let Some(letter) = after.first() else { return false };
    names_with(*letter)
        .iter()
        .any(|(left, right)| starts_with(after, right) && ends_with(before, left))
}

/// Whether MariaDB's words for sequences may be there: NEXTVAL, LASTVAL, SETVAL, CURRVAL, and NEXT
/// or PREVIOUS before VALUE.
fn may_name_sequence(text: &[u8]) -> bool {
    let next = |at: usize| ends_with(&text[..at], b"ne") && starts_with(&text[at..], b"xt");
    let value = |at: usize| {
        let (before, after) = (&text[..at], &text[at..]);
        let of = |name: &[u8]| ends_with(before, name);
        (starts_with(after, b"val") && (of(b"last") || of(b"set") || of(b"curr")))
            || (starts_with(after, b"vious") && of(b"pre"))
    };
    memchr::memchr2_iter(b'x', b'X', text).any(next)
        || memchr::memchr2_iter(b'v', b'V', text).any(value)
}

/// Whether MariaDB's RETURNING may be there.
fn may_return_rows(text: &[u8]) -> bool {
    let word = |at: usize| ends_with(&text[..at], b"ret") && starts_with(&text[at..], b"urning");
    memchr::memchr2_iter(b'u', b'U', text).any(word)
}

fn starts_with(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

fn ends_with(text: &[u8], word: &[u8]) -> bool {
    let start = text.len().checked_sub(word.len());
    start.is_some_and(|start| text[start..].eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_statements_need_no_other_look() {
        for text in [
            "SELECT c FROM sbtest1 WHERE id=5023",
            "  (SELECT a_id, row_id FROM t) UNION (SELECT 2)",
            "# app\n-- shop\nSELECT 1",
            "/* app:shop */ /**/ select last_login, client_id, inserted_at FROM t_count;",
            "INSERT INTO t (user_id, next, value) VALUES ('a', 1, 'it''s')",
            "UPDATE t SET interval_id=3, connections_id=4 WHERE session_id='x'; ",
            "BEGIN",
            "begin work",
            "BEGIN; SELECT 1;; COMMIT ;",
            "ROLLBACK TO s",
            "START TRANSACTION READ ONLY",
            "USE shop",
            "WITH a AS (SELECT 1) SELECT * FROM a",
            "",
            ";",
        ] {
            assert!(!may_matter(text.as_bytes(), Flavour::MySql), "{text}");
        }
    }

    #[test]
    fn others_do() {
        for text in [
            "CALL p()",
            "(((call p()",
            "SELECT 1; CALL p()",
            "/*! CALL p() */",
            "/*M! CALL p() */",
            "/* a */ /*+ b */ SELECT 1",
            "--\u{a0}a\nSELECT 1",
            "SELECT 1; -- a",
            "SELECT @a",
            "selection",
            "SELECT\u{a0}1",
            "BEGIN NOT ATOMIC SELECT 1; END",
            "begin workers",
            "SELECT LAST_INSERT_ID()",
            "SELECT ConnectION_Id()",
            "SELECT 1 FROM information_schema.profiling",
            "/* open",
            "<<l>> BEGIN NULL; END",
        ] {
            assert!(may_matter(text.as_bytes(), Flavour::MySql), "{text}");
        }
    }

    #[test]
    fn sequences_and_returned_rows_are_of_mariadb() {
        for (text, expected) in [
            ("SELECT NEXT VALUE FOR s", true),
            ("SELECT Previous\nVALUE FOR s", true),
            ("SELECT nextval(s)", true),
            ("SELECT s.CURRVAL", true),
            ("SELECT setval(s, 4), lastval(s)", true),
            ("SELECT val, value, interval, x, maxval FROM values_", false),
            ("INSERT INTO t VALUES (1) Returning id", true),
            ("SELECT a_return, turning FROM u", false),
        ] {
            assert_eq!(may_matter(text.as_bytes(), Flavour::MariaDb), expected, "{text}");
            assert!(!may_matter(text.as_bytes(), Flavour::MySql), "{text}");
        }
    }
}
