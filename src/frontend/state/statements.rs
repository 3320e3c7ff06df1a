//! The session's prepared statements that have lock calls, or columns with other names than the server gives them.

use std::collections::HashMap;

use super::lock_statement::LockStatement;
use super::named_statements::NamedStatements;
use crate::protocol::column::Column;

/// What MariaDB's clients mean by "the one prepared last".
const LATEST: u32 = u32::MAX;

/// Prepared statements with lock calls.
#[derive(Debug, Default)]
pub(crate) struct Statements {
    /// By the server's statement id.
    prepared: HashMap<u32, LockStatement>,
    /// Those that the server has prepared from a text of the proxy's, and how their columns are to be described.
    described: HashMap<u32, Vec<Column>>,
    /// Those that have a name in SQL.
    pub named: NamedStatements,
    /// The one that was prepared last, if no other statement has been since.
    latest: Option<u32>,
}

impl Statements {
    /// Whether none has an id.
    pub(crate) fn none_prepared(&self) -> bool {
        self.prepared.is_empty() && self.described.is_empty()
    }

    /// The statement that an id means.
    pub(crate) fn meant(&self, id: u32) -> u32 {
        self.latest.filter(|_| id == LATEST).unwrap_or(id)
    }

    /// A statement, by its own id or as the latest.
    pub(crate) fn get(&self, id: u32) -> Option<&LockStatement> {
        self.prepared.get(&self.meant(id))
    }

    /// A statement, by its own id or as the latest.
    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut LockStatement> {
        let id = self.meant(id);
        self.prepared.get_mut(&id)
    }

    /// Whether an id means one of these.
    pub(crate) fn contains(&self, id: u32) -> bool {
        self.get(id).is_some()
    }

    /// Whether it calls nothing, but lists locks.
    pub(crate) fn only_lists(&self, id: u32) -> bool {
        self.get(id).is_some_and(LockStatement::only_lists)
    }

    /// A statement was prepared.
    pub(crate) fn insert(&mut self, id: u32, statement: LockStatement) {
        self.prepared.insert(id, statement);
        self.latest = Some(id);
    }

    /// A statement was prepared whose columns are to be described like this.
    pub(crate) fn describe(&mut self, id: u32, columns: Vec<Column>) {
        self.described.insert(id, columns);
        self.latest = Some(id);
    }

    /// How the columns of a statement are to be described, if it is one of those.
    pub(crate) fn described(&self, id: u32) -> Option<&[Column]> {
        self.described.get(&self.meant(id)).map(Vec::as_slice)
    }

    /// A statement is prepared by the server, and not known to have calls.
    pub(crate) fn another_is_prepared(&mut self) {
        self.latest = None;
    }

    /// From here on the server runs it as it is.
    pub(crate) fn remove(&mut self, id: u32) {
        let id = self.meant(id);
        self.prepared.remove(&id);
        self.described.remove(&id);
    }

    /// Bytes that may still be taken of a session's `most`. The rest of what a session takes
    /// is bounded by itself: buffers, and a command that is being answered.
    pub(crate) fn room(&self, most: usize) -> usize {
        let prepared: usize = self.prepared.values().map(LockStatement::size).sum();
        let described: usize = self.described.values().map(|all| description_size(all)).sum();
        most.saturating_sub(prepared + described + self.named.size())
    }

    /// The session starts over.
    pub(crate) fn reset(&mut self) {
        self.prepared.clear();
        self.described.clear();
        self.named = NamedStatements::default();
    }
}

/// Bytes that the description of a statement's columns takes.
pub(crate) fn description_size(columns: &[Column]) -> usize {
    let names: usize = columns.iter().map(|column| column.name.len()).sum();
    size_of_val(columns) + names
}

#[cfg(test)]
mod tests {
    use super::super::named_statements::NameMeaning;
    use super::*;
    use crate::sql::classify::{Statement, classify};
    use crate::sql::lexer::dialect::Dialect;
    use crate::types::Flavour;

    fn statement() -> LockStatement {
        let text = b"SELECT GET_LOCK(?, 1)";
        let Statement::Bare(bare) = classify(text, Dialect::of(Flavour::MariaDb)) else {
            panic!("a bare call");
        };
        LockStatement::of_call(bare, text, 1, b"GET_LOCK(?, 1)".to_vec())
    }

    #[test]
    fn the_latest_is_meant_until_another_is_prepared() {
        let mut statements = Statements::default();
        assert!(!statements.contains(LATEST));
        statements.insert(7, statement());
        assert!(statements.contains(7) && statements.contains(LATEST) && !statements.contains(8));
        assert_eq!(statements.meant(LATEST), 7);
        statements.another_is_prepared();
        assert!(statements.contains(7) && !statements.contains(LATEST));
    }

    #[test]
    fn a_removed_statement_takes_no_room() {
        let mut statements = Statements::default();
        let most = statements.room(100_000);
        statements.insert(1, statement());
        statements.named.insert(b"x".to_vec(), NameMeaning::Doubtful);
        assert!(statements.room(100_000) < most);
        assert_eq!(statements.room(10), 0);
        statements.remove(LATEST);
        statements.named.remove(b"x");
        assert_eq!(statements.room(100_000), most);
        assert!(statements.none_prepared());
    }

    #[test]
    fn descriptions_of_columns_take_room_until_their_statement_is_closed() {
        let mut statements = Statements::default();
        let most = statements.room(100_000);
        statements.describe(3, vec![Column { name: b"c".to_vec(), types: None, whole: None }]);
        assert_eq!(statements.described(LATEST).map(<[Column]>::len), Some(1));
        assert!(!statements.none_prepared() && statements.room(100_000) < most);
        statements.remove(3);
        assert!(statements.described(3).is_none());
        assert_eq!(statements.room(100_000), most);
    }

    #[test]
    fn a_session_that_begins_anew_has_no_statements() {
        let mut statements = Statements::default();
        statements.insert(1, statement());
        statements.named.insert(b"x".to_vec(), NameMeaning::Doubtful);
        statements.reset();
        assert!(statements.none_prepared() && !statements.named.any());
    }
}
