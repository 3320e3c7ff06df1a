//! The statements of a text that holds several.

use std::ops::Range;

use crate::sql::lexer::scanner::{Kind, Token};

/// The statements, each with its semicolon but the last; empty ones are statements too. `None` if
/// semicolons may mean something else here, as in the body of a stored program.
///
/// A piece without code stays with the statement before it: the server decides about it.
pub fn split(text: &[u8], tokens: &[Token]) -> Option<Vec<Range<usize>>> {
    let mut versioned = false;
    let mut pieces: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    let mut first = true;
    for (i, token) in tokens.iter().enumerate() {
        if token.kind == Kind::Versioned {
            versioned = token.opens(text);
        }
        if !token.is_code() {
            continue;
        }
        let word = token.bytes(text);
        // MariaDB's labels in Oracle mode: <<label>>
        let labelled = token.kind == Kind::Punct(b'<');
        if first && (labelled || is_compound(text, tokens, i, word)) {
            return None;
        }
        first = false;
        if token.kind == Kind::Punct(b';') {
            // Half a comment is no statement.
            if versioned {
                return None;
            }
            pieces.push(start..token.end);
            start = token.end;
            first = true;
        }
    }
    let rest = tokens.iter().any(|t| t.start >= start && t.kind != Kind::Punct(0));
    if rest {
        pieces.push(start..text.len());
    } else if let Some(last) = pieces.last_mut() {
        last.end = text.len();
    }
    Some(pieces)
}

/// Whether a statement that begins so may hold semicolons, or asks for the client's file.
fn is_compound(text: &[u8], tokens: &[Token], at: usize, word: &[u8]) -> bool {
    const COMPOUND: [&str; 8] = ["IF", "CASE", "LOOP", "WHILE", "REPEAT", "FOR", "DECLARE", "LOAD"];
    const PLAIN: [&str; 9] = [
        "TABLE",
        "TEMPORARY",
        "INDEX",
        "UNIQUE",
        "FULLTEXT",
        "SPATIAL",
        "DATABASE",
        "SCHEMA",
        "USER",
    ];
    let is = |w: &[u8], known: &str| w.eq_ignore_ascii_case(known.as_bytes());
    let next = tokens.get(at + 1).map(|t| t.bytes(text));
    // In Oracle mode a block begins so.
    let block = next.is_some_and(|w| !is(w, ";") && !is(w, "\0") && !is(w, "WORK"));
    let defines = is(word, "CREATE") || is(word, "ALTER");
    let plain = next.is_some_and(|next| PLAIN.iter().any(|known| is(next, known)));
    COMPOUND.iter().any(|c| is(word, c)) || (defines && !plain) || (is(word, "BEGIN") && block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::lexer::dialect::Dialect;
    use crate::sql::lexer::scanner::Scanner;

    #[test]
    fn statements_end_at_semicolons_outside_of_everything() {
        let dialect = Dialect::MARIADB;
        for (sql, pieces) in [
            ("SELECT 1", Some(vec!["SELECT 1"])),
            ("SELECT 1; -- bye", Some(vec!["SELECT 1; -- bye"])),
            ("SET @a=';'; SELECT `;`/*;*/,1", Some(vec!["SET @a=';';", " SELECT `;`/*;*/,1"])),
            ("DO 1;; DO 2 ;\n", Some(vec!["DO 1;", ";", " DO 2 ;\n"])),
            ("BEGIN; DO 1; COMMIT", Some(vec!["BEGIN;", " DO 1;", " COMMIT"])),
            ("BEGIN WORK; DO 1", Some(vec!["BEGIN WORK;", " DO 1"])),
            ("BEGIN NOT ATOMIC DO 1; END", None),
            ("BEGIN DO 1; DO 2; END", None),
            ("<<l>> BEGIN DO 1; DO 2; END", None),
            ("DO 1; CREATE PROCEDURE p() BEGIN DO 1; END", None),
            ("DO 1; IF 1 THEN DO 1; END IF", None),
            ("DO 1; /*! DO 2; */ DO 3", None),
            ("DO 1; /*! CREATE TRIGGER t */ DO 3; DO 4", None),
            ("/*! DO 1 */; DO 2", Some(vec!["/*! DO 1 */;", " DO 2"])),
            ("CREATE TABLE t (a INT); DO 2", Some(vec!["CREATE TABLE t (a INT);", " DO 2"])),
            ("ALTER EVENT e DO BEGIN DO 1; END", None),
            ("/*! SET @a=1 */; DO 2 /*! */;", Some(vec!["/*! SET @a=1 */;", " DO 2 /*! */;"])),
            ("DO 1; /*! CREATE TRIGGER x */", None),
            ("DO 1; /*+ x */ LOAD DATA LOCAL INFILE 'x' INTO TABLE t", None),
        ] {
            let mut tokens = Vec::new();
            let mut keep = |token, _: &[u8]| {
                tokens.push(token);
                false
            };
            let mut scanner = Scanner::new(dialect);
            scanner.feed(sql.as_bytes(), 0, &mut keep);
            scanner.finish(&mut keep);
            let split = split(sql.as_bytes(), &tokens);
            let texts = split.map(|pieces| pieces.into_iter().map(|p| &sql[p]).collect::<Vec<_>>());
            assert_eq!(texts, pieces, "{sql}");
        }
    }
}
