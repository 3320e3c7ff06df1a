//! The session's prepared statements that have lock calls, or of which the session's id makes something else than the
//! server's connection does.

use std::collections::HashMap;
use std::sync::Arc;

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
    /// Those that are about ids of sessions.
    about_ids: HashMap<u32, AboutIds>,
    /// Those that have a name in SQL.
    pub named: NamedStatements,
    /// The one that was prepared last, if no other statement has been since.
    latest: Option<u32>,
}

impl Statements {
    /// Whether none has an id.
    pub(crate) fn none_prepared(&self) -> bool {
        self.prepared.is_empty() && self.about_ids.is_empty()
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

    /// A statement was prepared that is about ids of sessions.
    pub(crate) fn insert_about_ids(&mut self, id: u32, about: AboutIds) {
        self.about_ids.insert(id, about);
        self.latest = Some(id);
    }

    /// What a statement is, if it is about ids of sessions.
    pub(crate) fn about_ids(&self, id: u32) -> Option<&AboutIds> {
        self.about_ids.get(&self.meant(id))
    }

    /// A statement is prepared by the server, and not known to have calls.
    pub(crate) fn another_is_prepared(&mut self) {
        self.latest = None;
    }

    /// From here on the server runs it as it is.
    pub(crate) fn remove(&mut self, id: u32) {
        let id = self.meant(id);
        self.prepared.remove(&id);
        self.about_ids.remove(&id);
    }

    /// Bytes that may still be taken of a session's `most`. The rest of what a session takes
    /// is bounded by itself: buffers, and a command that is being answered.
    pub(crate) fn room(&self, most: usize) -> usize {
        let prepared: usize = self.prepared.values().map(LockStatement::size).sum();
        let about_ids: usize = self.about_ids.values().map(AboutIds::size).sum();
        most.saturating_sub(prepared + about_ids + self.named.size())
    }

    /// The session starts over.
    pub(crate) fn reset(&mut self) {
        self.prepared.clear();
        self.about_ids.clear();
        self.named = NamedStatements::default();
    }
}

/// A prepared statement that is about ids of sessions, where they share connections.
#[derive(Debug)]
pub(crate) enum AboutIds {
    /// It has the session's own id in it: its columns are to be described like this.
    Asks(Vec<Column>),
    /// KILL with a number: its text.
    Kills(Arc<[u8]>),
}

impl AboutIds {
    /// Bytes that it takes.
    pub(crate) fn size(&self) -> usize {
        let more = match self {
            Self::Asks(columns) => {
                let names: usize = columns.iter().map(|column| column.name.len()).sum();
                size_of_val(columns.as_slice()) + names
            }
            Self::Kills(text) => text.len(),
        };
        size_of::<Self>() + more
    }
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
    fn statements_about_ids_take_room_until_they_are_closed() {
        let mut statements = Statements::default();
        let most = statements.room(100_000);
        let column = Column { name: b"c".to_vec(), types: None, whole: None };
        statements.insert_about_ids(3, AboutIds::Asks(vec![column]));
        statements.insert_about_ids(4, AboutIds::Kills((*b"KILL 5").into()));
        assert!(matches!(statements.about_ids(LATEST), Some(AboutIds::Kills(_))));
        assert!(matches!(statements.about_ids(3), Some(AboutIds::Asks(_))));
        assert!(!statements.none_prepared() && statements.room(100_000) < most);
        statements.remove(3);
        statements.remove(LATEST);
        assert!(statements.about_ids(3).is_none() && statements.about_ids(4).is_none());
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
