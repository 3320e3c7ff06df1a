//! The settings before a statement, `SET STATEMENT … FOR`, which MariaDB evaluates first.

use super::nesting::Tokens;
use crate::sql::lexer::dialect::Dialect;
use crate::sql::lexer::scanner::Token;

/// How many tokens `SET STATEMENT … FOR` has, if the statement begins so.
pub(in crate::sql) fn after_settings(text: &[u8], code: &[Token]) -> usize {
    let is = |i: usize, word: &str| code.get(i).is_some_and(|t| t.is(text, word));
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
    after: usize,
    dialect: Dialect,
) -> bool {
    after > 0
        && Tokens::new(text, code, dialect)
            .is_none_or(|tokens| (0..after).any(|i| tokens.call_at(i).is_some()))
}
