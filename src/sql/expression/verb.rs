//! The kind of a larger statement, by its first word.

use super::nesting::Tokens;
use crate::sql::lexer::scanner::Kind;

/// What the statement does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Gives rows: SELECT, WITH, VALUES.
    Rows,
    /// DO.
    Do,
    /// SET.
    Set,
    /// EXPLAIN and its synonyms, without running anything.
    Explain,
    /// INSERT, REPLACE, UPDATE, DELETE, CALL.
    Change,
    /// SHOW and HANDLER, which MySQL prepares with other errors, or not at all.
    Show,
}

impl Tokens<'_> {
    /// `None` if the statement is of a kind that is not covered.
    pub(in crate::sql) fn verb(&self) -> Option<Verb> {
        let first = self.list.iter().find(|t| t.kind != Kind::Punct(b'('))?;
        let word = self.upper(first);
        Some(match word.as_slice() {
            b"WITH" if self.changes() => Verb::Change,
            b"SELECT" | b"WITH" | b"VALUES" => Verb::Rows,
            b"SHOW" if self.is(1, "EXPLAIN") || self.is(1, "ANALYZE") => return None,
            b"SHOW" | b"HANDLER" => Verb::Show,
            b"DO" => Verb::Do,
            b"SET" if !self.is(1, "STATEMENT") => Verb::Set,
            b"INSERT" | b"REPLACE" | b"UPDATE" | b"DELETE" | b"CALL" => Verb::Change,
            b"EXPLAIN" | b"DESC" | b"DESCRIBE" if !self.is(1, "ANALYZE") => Verb::Explain,
            _ => return None,
        })
    }
}
