//! What a statement does to FOUND_ROWS(), as its text tells.

use super::lost::is_single;
use crate::sql::find::first_word::{after_comments, begins_with, first_word};
use crate::types::Flavour;

/// What the statement under way does to FOUND_ROWS().
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum RowsFound {
    /// FOUND_ROWS() is perhaps the number of the statement's rows.
    #[default]
    Perhaps,
    /// FOUND_ROWS() is the number of the statement's rows.
    Rows,
    /// Nothing, though there may be rows.
    Nothing,
    /// FOUND_ROWS() is 1.
    One,
    /// FOUND_ROWS() is the number of rows that were matched.
    Matched,
    /// Something, perhaps.
    Maybe,
    /// Another number, of which the connection alone knows.
    More,
    /// Another number, of which the connection alone knows; the session may not go on if the connection ends.
    Unseen,
}

/// Statements whose rows FOUND_ROWS() counts.
const QUERIES: [&[u8]; 4] = [b"select", b"with", b"values", b"table"];
/// Statements with rows that count for nothing; with ANALYZE they may run another one.
const ASIDE: [&[u8]; 8] =
    [b"check", b"optimize", b"repair", b"checksum", b"handler", b"help", b"xa", b"cache"];
const EXPLAINS: [&[u8]; 3] = [b"explain", b"describe", b"desc"];
/// What EXPLAIN and ANALYZE are followed by, if it is not a table.
const EXPLAINED: [&[u8]; 10] = [
    b"select",
    b"insert",
    b"update",
    b"delete",
    b"replace",
    b"with",
    b"format",
    b"extended",
    b"partitions",
    b"for",
];
/// What SHOW is followed by, if the servers make a query of it.
const LISTED: [&[u8]; 20] = [
    b"full",
    b"extended",
    b"session",
    b"global",
    b"local",
    b"tables",
    b"databases",
    b"schemas",
    b"columns",
    b"fields",
    b"index",
    b"indexes",
    b"keys",
    b"table",
    b"variables",
    b"status",
    b"collation",
    b"character",
    b"charset",
    b"open",
];
/// Further words after SHOW whose rows FOUND_ROWS() counts.
const LISTED_TOO: [&[u8]; 9] = [
    b"triggers",
    b"events",
    b"procedure",
    b"function",
    b"plugins",
    b"engines",
    b"storage",
    b"count",
    b"package",
];
/// With these, a query finds other rows than it has.
const FINDS_MORE: [&[u8]; 5] = [b"offset", b"fetch", b"into", b"procedure", b"examined"];
/// With these and LIMIT, a query finds other rows than it has (MariaDB).
const FINDS_MORE_LIMITED: [&[u8]; 5] = [b"union", b"except", b"intersect", b"minus", b"rollup"];

/// Judges a text.
pub(super) fn finding(text: &[u8], flavour: Flavour) -> RowsFound {
    let first = first_word(text).to_ascii_lowercase();
    let mysql = flavour == Flavour::MySql;
    let has = |word: &[u8]| has(text, word);
    match &*first {
        b"values" if !mysql => RowsFound::Nothing,
        b"with" if has(b"update") || has(b"delete") => RowsFound::Maybe,
        _ if begins_with(text, &QUERIES) && finds_more(text) => RowsFound::More,
        // The result of the last one is known.
        _ if !is_single(text) => RowsFound::Maybe,
        _ if begins_with(text, &QUERIES) => RowsFound::Rows,
        b"do" if mysql => RowsFound::One,
        b"update" if mysql && is_of_one_table(text) => RowsFound::Matched,
        b"update" if mysql => RowsFound::More,
        b"insert" | b"replace" if is_of_query(text) => RowsFound::More,
        b"insert" | b"replace" if has(b"select") => RowsFound::Maybe,
        b"update" | b"delete" if has(b"join") => RowsFound::Maybe,
        b"create" | b"set" | b"do" if !mysql && has(b"select") => RowsFound::Maybe,
        b"analyze" if begins_with(second(text), &EXPLAINED) => RowsFound::More,
        b"show" if has(b"processlist") => RowsFound::Nothing,
        b"show" if [&LISTED[..], &LISTED_TOO].iter().any(|l| begins_with(second(text), l)) => {
            RowsFound::Perhaps
        }
        b"insert" | b"replace" | b"delete" | b"analyze" | b"show" => RowsFound::Nothing,
        _ if begins_with(text, &EXPLAINS) && begins_with(second(text), &[b"analyze"]) => {
            RowsFound::More
        }
        _ if begins_with(text, &EXPLAINS) && begins_with(second(text), &EXPLAINED) => {
            RowsFound::Nothing
        }
        _ if begins_with(text, &ASIDE) => RowsFound::Nothing,
        _ => RowsFound::Perhaps,
    }
}

/// What follows the first word.
fn second(text: &[u8]) -> &[u8] {
    let rest = &text[after_comments(text)..];
    let end = rest.iter().position(|b| !b.is_ascii_alphabetic()).unwrap_or(rest.len());
    &rest[end..]
}

/// Whether an INSERT is certainly one of a query's rows.
fn is_of_query(text: &[u8]) -> bool {
    let quote = |b: &u8| matches!(b, b'\'' | b'"' | b'`' | b'/' | b'#' | b'-' | b'(');
    let end = text.iter().position(quote).unwrap_or(text.len());
    let spaced = |word: &[u8]| word.eq_ignore_ascii_case(b"select");
    text[..end].split(u8::is_ascii_whitespace).any(spaced)
}

/// Whether an UPDATE names one table.
fn is_of_one_table(text: &[u8]) -> bool {
    let lower = text.to_ascii_lowercase();
    let Some(end) = memchr::memmem::find(&lower, b"set") else { return false };
    !lower[..end].contains(&b',') && !has(&lower[..end], b"join") && !lower[..end].contains(&b'(')
}

/// Whether a query may find other rows than it has.
fn finds_more(text: &[u8]) -> bool {
    FINDS_MORE.iter().any(|word| has(text, word))
        || limits(text).any(|after| !is_number(after))
        || limits(text).next().is_some() && FINDS_MORE_LIMITED.iter().any(|word| has(text, word))
}

/// What follows each LIMIT.
fn limits(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    places(text, b"limit").map(move |at| &text[at + b"limit".len()..])
}

/// Whether a number or a parameter follows, and nothing that could make it an offset.
fn is_number(after: &[u8]) -> bool {
    let after = after.trim_ascii_start();
    let end = after.iter().position(|b| !b.is_ascii_digit()).unwrap_or(after.len());
    let end = if after.first() == Some(&b'?') { 1 } else { end };
    let rest = after[end..].trim_ascii_start();
    let ends = rest.is_empty() || matches!(rest[0], b';' | b')');
    end > 0 && (ends || begins_with(rest, &[b"for", b"lock"]))
}

/// Whether a text has a word, also in strings, comments and longer words.
fn has(text: &[u8], word: &[u8]) -> bool {
    places(text, word).next().is_some()
}

fn places<'a>(text: &'a [u8], word: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let first = word.first().copied().unwrap_or_default();
    memchr::memchr2_iter(first, first.to_ascii_uppercase(), text).filter(move |at| {
        text[*at..].get(..word.len()).is_some_and(|w| w.eq_ignore_ascii_case(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_tell_what_their_rows_count_for() {
        use RowsFound::{Matched, Maybe, More, Nothing, One, Perhaps, Rows};
        for (text, mysql, mariadb) in [
            ("SELECT 1", Rows, Rows),
            ("(select id FROM t)", Rows, Rows),
            ("SELECT id FROM t LIMIT 2", Rows, Rows),
            ("SELECT id FROM t LIMIT ?;", Rows, Rows),
            ("SELECT id FROM t LIMIT 2 FOR UPDATE", Rows, Rows),
            ("SELECT * FROM (SELECT id FROM t LIMIT 1,2) AS x", More, More),
            ("SELECT * FROM (SELECT id FROM t LIMIT 2)", Rows, Rows),
            ("SELECT id FROM t LIMIT 1,2", More, More),
            ("SELECT id FROM t LIMIT ? , ?", More, More),
            ("SELECT id FROM t limit 2 Offset 1", More, More),
            ("SELECT id FROM t LIMIT/**/1", More, More),
            ("SELECT id FROM t UNION SELECT 9", Rows, Rows),
            ("SELECT id FROM t UNION SELECT 9 LIMIT 1", More, More),
            ("SELECT id FROM t FETCH FIRST 2 ROWS ONLY", More, More),
            ("SELECT id FROM t INTO OUTFILE 'x'", More, More),
            ("SELECT 1; SELECT 2", Maybe, Maybe),
            ("DO 1; SELECT 2 LIMIT 0, 1", Maybe, Maybe),
            ("VALUES (1)", Rows, Nothing),
            ("WITH a AS (SELECT 1) SELECT * FROM a", Rows, Rows),
            ("WITH a AS (SELECT 1) UPDATE t, a SET v = 1", Maybe, Maybe),
            ("DO 1", One, Perhaps),
            ("DO (SELECT 1)", One, Maybe),
            ("UPDATE t SET v = 1", Matched, Perhaps),
            ("UPDATE t, u SET v = 1", More, Perhaps),
            ("UPDATE t JOIN u SET v = 1", More, Maybe),
            ("INSERT INTO t VALUES (1)", Nothing, Nothing),
            ("INSERT INTO t SELECT 1", More, More),
            ("INSERT INTO t (v) SELECT 1", Maybe, Maybe),
            ("INSERT INTO t VALUES ('select')", Maybe, Maybe),
            ("CREATE TABLE t SELECT 1", Perhaps, Maybe),
            ("SHOW TABLES", Perhaps, Perhaps),
            ("SHOW FULL TABLES", Perhaps, Perhaps),
            ("SHOW FULL PROCESSLIST", Nothing, Nothing),
            ("SHOW CREATE TABLE t", Nothing, Nothing),
            ("SHOW GRANTS", Nothing, Nothing),
            ("SHOW COUNT(*) WARNINGS", Perhaps, Perhaps),
            ("SHOW WARNINGS", Nothing, Nothing),
            ("EXPLAIN SELECT 1", Nothing, Nothing),
            ("EXPLAIN ANALYZE SELECT 1", More, More),
            ("EXPLAIN SELECT * FROM analyze_log", Nothing, Nothing),
            ("EXPLAIN t", Perhaps, Perhaps),
            ("DESC t", Perhaps, Perhaps),
            ("ANALYZE TABLE t", Nothing, Nothing),
            ("ANALYZE SELECT 1", More, More),
            ("CHECK TABLE t", Nothing, Nothing),
            ("HANDLER t READ FIRST", Nothing, Nothing),
            ("SET @a = 1", Perhaps, Perhaps),
            ("", Perhaps, Perhaps),
        ] {
            let found = [Flavour::MySql, Flavour::MariaDb].map(|f| finding(text.as_bytes(), f));
            assert_eq!(found, [mysql, mariadb], "{text}");
        }
    }
}
