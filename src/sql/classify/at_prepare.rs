//! Calls that the server evaluates already while it prepares a statement.

use super::definition::event_body;
use crate::sql::expression::settings::{after_settings, calls_in_settings};
use crate::sql::lexer::dialect::Dialect;
use crate::sql::lexer::tokens::{code, tokens};
use crate::types::Flavour;

/// Whether the server evaluates calls in a text already when it prepares it. These are the calls in the schedule of an
/// event; on MariaDB also those in settings, and in the interval of partitions by time.
pub fn preparing_evaluates(text: &[u8], dialect: Dialect) -> bool {
    let (tokens, _) = tokens(text, dialect);
    let code = code(&tokens);
    let defines = code.first().is_some_and(|t| t.is(text, "CREATE") || t.is(text, "ALTER"));
    if defines && event_body(text, &code).is_some() {
        return true;
    }
    dialect.flavour == Flavour::MariaDb
        && (calls_in_settings(text, &code, after_settings(text, &code), dialect)
            || code.iter().any(|t| t.is(text, "SYSTEM_TIME")))
}
