//! What the server evaluates before a statement runs: settings in front of it, and, while it prepares
//! it, the schedule of an event and the interval of partitions by time.

use super::nesting::Tokens;
use crate::sql::classify::definition::event_body;
use crate::sql::classify::tokens;
use crate::sql::lexer::dialect::Dialect;
use crate::sql::lexer::scanner::{Kind, Token};
use crate::types::Flavour;

/// How many tokens `SET STATEMENT … FOR` has, if the statement begins so.
pub(in crate::sql) fn behind_settings(text: &[u8], code: &[Token]) -> usize {
    let is = |i: usize, word: &str| {
        code.get(i).is_some_and(|t| {
            t.kind == Kind::Word && text[t.start..t.end].eq_ignore_ascii_case(word.as_bytes())
        })
    };
    let mut at = 0;
    while is(at, "SET") && is(at + 1, "STATEMENT") {
        match (at + 2..code.len()).find(|i| is(*i, "FOR")) {
            Some(end) => at = end + 1,
            None => break,
        }
    }
    at
}

/// Whether there is a call in the settings of `SET STATEMENT … FOR`.
pub(in crate::sql) fn calls_in_settings(
    text: &[u8],
    code: &[Token],
    behind: usize,
    dialect: Dialect,
) -> bool {
    behind > 0
        && Tokens::new(text, code, dialect)
            .is_none_or(|tokens| (0..behind).any(|i| tokens.call_at(i).is_some()))
}

/// Whether the server evaluates calls in a text already when it prepares it: those in the schedule of
/// an event; on MariaDB, those in settings, and in the interval of partitions by time.
pub fn preparing_evaluates(text: &[u8], dialect: Dialect) -> bool {
    let (tokens, _) = tokens(text, dialect);
    let is_code = |t: &Token| !matches!(t.kind, Kind::Hint | Kind::Versioned);
    let code: Vec<Token> = tokens.into_iter().filter(is_code).collect();
    let is = |t: &Token, word: &[u8]| {
        t.kind == Kind::Word && text[t.start..t.end].eq_ignore_ascii_case(word)
    };
    let defines = code.first().is_some_and(|t| is(t, b"CREATE") || is(t, b"ALTER"));
    if defines && event_body(text, &code).is_some() {
        return true;
    }
    dialect.flavour == Flavour::MariaDb
        && (calls_in_settings(text, &code, behind_settings(text, &code), dialect)
            || code.iter().any(|t| is(t, b"SYSTEM_TIME")))
}
