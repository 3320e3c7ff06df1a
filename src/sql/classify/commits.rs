//! Statements that say that they commit the transaction that is open.

use std::ops::Range;

use super::split::split;
use crate::sql::expression::settings::after_settings;
use crate::sql::find::first_word::first_word;
use crate::sql::find::words::names_autocommit;
use crate::sql::lexer::dialect::Dialect;
use crate::sql::lexer::scanner::{Kind, Token};
use crate::sql::lexer::tokens::{TokenCursor, tokens};
use crate::types::Flavour;

/// How a statement commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commit {
    /// In any session: COMMIT, and what begins the next transaction.
    Always,
    /// Where autocommit is off: it may switch it on.
    BySwitch,
}

/// Whether a text may begin with such a statement: a scan that costs next to nothing for the others.
pub fn may_commit(text: &[u8]) -> bool {
    // Statements that begin with other words commit nothing. Of a text without one, only a whole reading can tell.
    let begins = [&b""[..], b"commit", b"begin", b"start", b"set"];
    let first = first_word(text);
    begins.iter().any(|word| first.eq_ignore_ascii_case(word)) && names_one(text)
}

/// Whether a text has one of the words in it.
fn names_one(text: &[u8]) -> bool {
    let text = text.to_ascii_lowercase();
    let has = |word: &&[u8]| memchr::memmem::find(&text, word).is_some();
    [&b"commit"[..], b"begin", b"start"].iter().any(has)
}

/// How the first statement of a text commits, if it does.
pub fn commit_of(text: &[u8], dialect: Dialect) -> Option<Commit> {
    may_commit(text).then(|| read(text, &tokens(text, dialect).0, dialect.flavour))?
}

/// Whether another statement than the first of a text may commit: the same scan.
pub fn may_commit_later(text: &[u8]) -> bool {
    memchr::memchr(b';', text).is_some() && names_one(text)
}

/// The statements of a text, each with its semicolon but the last, if one after the first commits. `None` if none does, or
/// if semicolons may mean something else there.
pub fn pieces_with_commits(text: &[u8], dialect: Dialect) -> Option<Vec<Range<usize>>> {
    let (tokens, whole) = tokens(text, dialect);
    let pieces = split(text, &tokens).filter(|_| whole)?;
    let commits = |piece: &Range<usize>| commit_of(&text[piece.clone()], dialect).is_some();
    pieces.iter().skip(1).any(commits).then_some(pieces)
}

/// How the statement commits that begins at the first of these tokens.
fn read(text: &[u8], tokens: &[Token], flavour: Flavour) -> Option<Commit> {
    let code = tokens.iter().copied().filter(Token::is_code);
    let code: Vec<Token> = code.take_while(|t| !matches!(t.kind, Kind::Punct(b';' | 0))).collect();
    let after = if flavour == Flavour::MariaDb { after_settings(text, &code) } else { 0 };
    let code = code.get(after..)?;
    let mut c = TokenCursor::new(text, code);
    if c.word("COMMIT") {
        return Some(Commit::Always);
    }
    if c.word("BEGIN") {
        // A block may begin with the same word.
        return (c.word("WORK") || c.peek().is_none()).then_some(Commit::Always);
    }
    if c.word("START") {
        return c.word("TRANSACTION").then_some(Commit::Always);
    }
    let statement = text.get(code.first()?.start..code.last()?.end)?;
    (c.word("SET") && names_autocommit(statement) && !switches_off(c)).then_some(Commit::BySwitch)
}

/// Whether all that a SET does is to switch autocommit off.
fn switches_off(mut c: TokenCursor<'_>) -> bool {
    let at = c.punct(b'@').is_some() && c.punct(b'@').is_some();
    let scope = c.word("SESSION") || c.word("LOCAL");
    if at && scope && c.punct(b'.').is_none() || !c.word("AUTOCOMMIT") {
        return false;
    }
    c.punct(b':');
    c.punct(b'=').is_some()
        && (c.word("0") || c.word("OFF") || c.word("FALSE"))
        && c.peek().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commits(sql: &str) -> [Option<Commit>; 2] {
        [Dialect::MYSQL, Dialect::MARIADB].map(|dialect| commit_of(sql.as_bytes(), dialect))
    }

    #[test]
    fn a_commit_is_known_by_its_words_wherever_comments_stand() {
        for sql in [
            "COMMIT",
            " commit work;",
            "COMMIT AND CHAIN",
            "COMMIT RELEASE",
            "/* a */ Commit",
            "-- a\nCOMMIT",
            "# a\n/**/COMMIT",
            "/*!50000 COMMIT */",
            "/*! COMMIT */ AND CHAIN",
            "BEGIN",
            "begin work",
            "START TRANSACTION READ ONLY",
            "START /* a */ TRANSACTION",
            "COMMIT; SELECT 1",
        ] {
            assert_eq!(commits(sql), [Some(Commit::Always); 2], "{sql}");
        }
        for sql in [
            "SELECT 'COMMIT'",
            "/* COMMIT */ SELECT 1",
            "-- COMMIT\nSELECT 1",
            "/*!99999 COMMIT */",
            "BEGIN NOT ATOMIC COMMIT; END",
            "START REPLICA",
            "XA COMMIT 'a'",
            "ROLLBACK",
            "SET @a='commit'",
            "`COMMIT`",
            "SELECT 1; COMMIT",
            "",
        ] {
            assert_eq!(commits(sql), [None; 2], "{sql}");
        }
        assert_eq!(
            commits("SET STATEMENT max_statement_time=1 FOR COMMIT"),
            [None, Some(Commit::Always)]
        );
    }

    #[test]
    fn autocommit_commits_where_it_may_be_switched_on() {
        for sql in [
            "SET autocommit=1",
            "set @@session.autocommit = ON, @a=1",
            "SET @a=1, autocommit=0",
            "SET autocommit=?",
            "SET AUTOCOMMIT=@a",
            "/* a */ SET SESSION autocommit := TRUE",
            "SET autocommit=0+1",
        ] {
            assert_eq!(commits(sql), [Some(Commit::BySwitch); 2], "{sql}");
        }
        for sql in [
            "SET autocommit=0",
            "SET SESSION AUTOCOMMIT := off;",
            "SET @@autocommit=FALSE",
            "SET @@session.autocommit=0",
            "SET @a=1",
            "SELECT @@autocommit",
        ] {
            assert_eq!(commits(sql), [None; 2], "{sql}");
        }
    }

    #[test]
    fn a_text_is_taken_apart_if_a_later_statement_commits() {
        for (sql, pieces) in [
            ("BEGIN; DO 1; COMMIT", Some(vec!["BEGIN;", " DO 1;", " COMMIT"])),
            ("DO 1; # a\nCOMMIT; DO 2", Some(vec!["DO 1;", " # a\nCOMMIT;", " DO 2"])),
            ("DO 1; SET autocommit=1;", Some(vec!["DO 1;", " SET autocommit=1;"])),
            ("COMMIT; DO 1", None),
            ("COMMIT;", None),
            ("DO 1; DO 'x; COMMIT'", None),
            ("DO 1; /* COMMIT */", None),
            ("BEGIN NOT ATOMIC DO 1; COMMIT; END", None),
            ("DO 1; LOAD DATA LOCAL INFILE 'x' INTO TABLE t; COMMIT", None),
            ("DO 1; COMMIT; DO 'x", None),
        ] {
            let found = pieces_with_commits(sql.as_bytes(), Dialect::MARIADB);
            let found = found.map(|found| found.into_iter().map(|p| &sql[p]).collect::<Vec<_>>());
            assert_eq!(found, pieces, "{sql}");
            assert!(pieces.is_none() || may_commit_later(sql.as_bytes()), "{sql}");
        }
        assert!(!may_commit_later(b"COMMIT") && !may_commit_later(b"DO 1; DO 2"));
    }
}
