//! Calls that the server evaluates already while it prepares a statement.

use super::definition::event_body;
use crate::sql::expression::settings::{after_settings, calls_in_settings};
use crate::sql::lexer::dialect::Dialect;
use crate::sql::lexer::scanner::{Kind, Token};
use crate::sql::lexer::tokens::tokens;
use crate::types::Flavour;

/// Whether the server evaluates calls in a text already when it prepares it. These are the calls in the schedule of an
/// event; on MariaDB also those in settings, and in the interval of partitions by time.
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
        && (calls_in_settings(text, &code, after_settings(text, &code), dialect)
            || code.iter().any(|t| is(t, b"SYSTEM_TIME")))
}
