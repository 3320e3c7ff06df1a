//! The session's prepared statements that have lock calls, or that the proxy has another reason to look at.

use std::collections::HashMap;
use std::sync::Arc;

use super::lock_statement::LockStatement;
use super::named_statements::NamedStatements;
use crate::protocol::column::Column;
use crate::sql::classify::commits::Commit;
use crate::types::Flavour;

/// What MariaDB's clients mean by "the one prepared last".
const LATEST: u32 = u32::MAX;

/// Prepared statements that are not just passed on.
#[derive(Debug)]
pub(crate) struct Statements {
    flavour: Flavour,
    /// By the server's statement id.
    known: HashMap<u32, KnownStatement>,
    /// Statements that have a name in SQL.
    pub named: NamedStatements,
    /// The one that was prepared last, if no other statement has been since.
    latest: Option<u32>,
}

/// A prepared statement.
#[derive(Debug)]
enum KnownStatement {
    /// With lock calls.
    Calls(Box<LockStatement>),
    /// Without any.
    Noted(Noted),
}

impl Statements {
    /// Of a session that begins.
    pub(crate) fn new(flavour: Flavour) -> Self {
        Self { flavour, known: HashMap::new(), named: NamedStatements::default(), latest: None }
    }

    /// Whether none has an id.
    pub(crate) fn none_prepared(&self) -> bool {
        self.known.is_empty()
    }

    /// The statement that an id means.
    pub(crate) fn meant(&self, id: u32) -> u32 {
        let latest = self.flavour == Flavour::MariaDb && id == LATEST;
        self.latest.filter(|_| latest).unwrap_or(id)
    }

    /// A statement with calls, by its own id or as the latest.
    pub(crate) fn get(&self, id: u32) -> Option<&LockStatement> {
        match self.known.get(&self.meant(id))? {
            KnownStatement::Calls(statement) => Some(statement),
            KnownStatement::Noted(_) => None,
        }
    }

    /// A statement with calls, by its own id or as the latest.
    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut LockStatement> {
        match self.known.get_mut(&self.meant(id))? {
            KnownStatement::Calls(statement) => Some(statement),
            KnownStatement::Noted(_) => None,
        }
    }

    /// Whether an id means a statement with calls.
    pub(crate) fn contains(&self, id: u32) -> bool {
        self.get(id).is_some()
    }

    /// Whether it calls nothing, but lists locks.
    pub(crate) fn only_lists(&self, id: u32) -> bool {
        self.get(id).is_some_and(LockStatement::only_lists)
    }

    /// A statement was prepared.
    pub(crate) fn insert(&mut self, id: u32, statement: LockStatement) {
        self.known.insert(id, KnownStatement::Calls(Box::new(statement)));
        self.latest = Some(id);
    }

    /// A statement without lock calls was prepared.
    pub(crate) fn note(&mut self, id: u32, noted: Noted) {
        self.known.insert(id, KnownStatement::Noted(noted));
        self.latest = Some(id);
    }

    /// What a statement without lock calls is.
    pub(crate) fn noted(&self, id: u32) -> Option<&Noted> {
        match self.known.get(&self.meant(id))? {
            KnownStatement::Calls(_) => None,
            KnownStatement::Noted(noted) => Some(noted),
        }
    }

    /// A statement is prepared by the server, and not known to have calls.
    pub(crate) fn another_is_prepared(&mut self) {
        self.latest = None;
    }

    /// Forgets a statement: from here on the server runs it as it is.
    pub(crate) fn remove(&mut self, id: u32) {
        self.known.remove(&self.meant(id));
    }

    /// Bytes that may still be taken of a session's `most`. The rest of what a session takes
    /// is bounded by itself: buffers, and a command that is being answered.
    pub(crate) fn room(&self, most: usize) -> usize {
        let size = |known: &KnownStatement| match known {
            KnownStatement::Calls(statement) => statement.size(),
            KnownStatement::Noted(noted) => noted.size(),
        };
        most.saturating_sub(self.known.values().map(size).sum::<usize>() + self.named.size())
    }

    /// The session starts over.
    pub(crate) fn reset(&mut self) {
        *self = Self::new(self.flavour);
    }
}

/// A prepared statement without lock calls that the proxy looks at.
#[derive(Debug)]
pub(crate) enum Noted {
    /// Where connections are shared: it has the session's own id in it, and its columns are to be described like this.
    Asks(Vec<Column>),
    /// Where connections are shared, KILL with a number: its text.
    Kills(Arc<[u8]>),
    /// The statement commits.
    Commits(Commit),
    /// The statement writes.
    Writes,
    /// The statement may read the lock tables.
    Reads,
}

impl Noted {
    /// Bytes that it takes.
    pub(crate) fn size(&self) -> usize {
        let more = match self {
            Self::Asks(columns) => {
                let names: usize = columns.iter().map(|column| column.name.len()).sum();
                size_of_val(columns.as_slice()) + names
            }
            Self::Kills(text) => text.len(),
            Self::Commits(_) | Self::Writes | Self::Reads => 0,
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

    fn statement() -> LockStatement {
        let text = b"SELECT GET_LOCK(?, 1)";
        let Statement::Bare(bare) = classify(text, Dialect::of(Flavour::MariaDb)) else {
            panic!("a bare call");
        };
        LockStatement::of_call(bare, text, 1, b"GET_LOCK(?, 1)".to_vec())
    }

    #[test]
    fn the_latest_is_meant_until_another_is_prepared() {
        let mut statements = Statements::new(Flavour::MariaDb);
        assert!(!statements.contains(LATEST));
        statements.insert(7, statement());
        assert!(statements.contains(7) && statements.contains(LATEST) && !statements.contains(8));
        assert_eq!(statements.meant(LATEST), 7);
        statements.another_is_prepared();
        assert!(statements.contains(7) && !statements.contains(LATEST));
    }

    #[test]
    fn on_mysql_no_id_means_the_latest() {
        let mut statements = Statements::new(Flavour::MySql);
        statements.insert(7, statement());
        assert!(statements.contains(7) && !statements.contains(LATEST));
        statements.remove(LATEST);
        assert!(statements.contains(7));
    }

    #[test]
    fn a_removed_statement_takes_no_room() {
        let mut statements = Statements::new(Flavour::MariaDb);
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
    fn statements_noted_take_room_until_they_are_closed() {
        let mut statements = Statements::new(Flavour::MariaDb);
        let most = statements.room(100_000);
        let column = Column { name: b"c".to_vec(), types: None, whole: None, left_out: None };
        statements.note(3, Noted::Asks(vec![column]));
        statements.note(4, Noted::Kills((*b"KILL 5").into()));
        assert!(matches!(statements.noted(LATEST), Some(Noted::Kills(_))));
        assert!(matches!(statements.noted(3), Some(Noted::Asks(_))));
        assert!(!statements.none_prepared() && statements.room(100_000) < most);
        statements.remove(3);
        statements.remove(LATEST);
        assert!(statements.noted(3).is_none() && statements.noted(4).is_none());
        assert_eq!(statements.room(100_000), most);
    }

    #[test]
    fn a_session_that_begins_anew_has_no_statements() {
        let mut statements = Statements::new(Flavour::MariaDb);
        statements.insert(1, statement());
        statements.named.insert(b"x".to_vec(), NameMeaning::Doubtful);
        statements.reset();
        assert!(statements.none_prepared() && !statements.named.any());
    }
}
