//! Statements with lock calls, and such as ask for their connection's id or commit, that are prepared under a name in
//! SQL.

use std::collections::HashMap;
use std::sync::Arc;

use super::lock_statement::PrepareContext;
use crate::sql::classify::commits::Commit;
use crate::sql::expression::composite::Composite;

/// A statement with lock calls that has a name, or one that asks for its connection's id.
#[derive(Debug)]
pub(crate) struct NamedStatement {
    /// The text of the statement.
    pub text: Vec<u8>,
    /// The calls in it.
    pub composite: Composite,
    /// What it was prepared in, if that matters.
    pub context: Option<PrepareContext>,
}

impl NamedStatement {
    /// Bytes that it takes: what is known of a text is about as long as the text.
    pub(crate) fn size(&self) -> usize {
        size_of::<Self>() + 2 * self.text.len()
    }
}

/// What is known of a name.
#[derive(Debug, Clone)]
pub(crate) enum NameMeaning {
    /// A statement with calls.
    Calls(Arc<NamedStatement>),
    /// A statement that commits.
    Commits(Commit),
    /// A PREPARE of it has failed: the server may have kept the statement with calls, or not.
    Doubtful,
}

/// The named statements of a session.
#[derive(Debug, Default)]
pub(crate) struct NamedStatements {
    by_name: HashMap<Vec<u8>, NameMeaning>,
    /// The proxy's own.
    own: Option<String>,
}

impl NamedStatements {
    /// Whether any name is known.
    pub(crate) fn any(&self) -> bool {
        !self.by_name.is_empty()
    }

    /// Whether any name is known whose statement is more than a commit.
    pub(crate) fn any_but_commits(&self) -> bool {
        self.by_name.values().any(|meaning| !matches!(meaning, NameMeaning::Commits(_)))
    }

    /// What a name means, as the server folds it.
    pub(crate) fn get(&self, folded: &[u8]) -> Option<&NameMeaning> {
        self.by_name.get(folded)
    }

    /// Gives a name this meaning.
    pub(crate) fn insert(&mut self, folded: Vec<u8>, meaning: NameMeaning) {
        self.by_name.insert(folded, meaning);
    }

    /// Forgets a name.
    pub(crate) fn remove(&mut self, folded: &[u8]) {
        self.by_name.remove(folded);
    }

    /// Forgets all names but those of statements with calls.
    pub(crate) fn forget_without_calls(&mut self) {
        self.by_name.retain(|_, meaning| match meaning {
            NameMeaning::Calls(statement) => !statement.composite.calls.is_empty(),
            NameMeaning::Commits(_) => false,
            NameMeaning::Doubtful => true,
        });
    }

    /// The name of the proxy's own statement, which no client has.
    pub(crate) fn own(&mut self) -> &str {
        self.own.get_or_insert_with(|| format!("lockstead_{:016x}", rand::random::<u64>()))
    }

    /// Bytes that they take.
    pub(crate) fn size(&self) -> usize {
        let one = |(name, meaning): (&Vec<u8>, &NameMeaning)| match meaning {
            NameMeaning::Calls(statement) => name.len() + statement.size(),
            NameMeaning::Commits(_) | NameMeaning::Doubtful => name.len(),
        };
        self.by_name.iter().map(one).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_takes_room_while_it_is_known() {
        let mut named = NamedStatements::default();
        assert!(!named.any() && named.size() == 0);
        named.insert(b"stmt".to_vec(), NameMeaning::Doubtful);
        assert!(named.any());
        assert_eq!(named.size(), 4);
        named.remove(b"stmt");
        assert!(!named.any() && named.get(b"stmt").is_none());
    }

    #[test]
    fn a_commit_is_known_by_its_name_and_is_no_call() {
        let mut named = NamedStatements::default();
        named.insert(b"c".to_vec(), NameMeaning::Commits(Commit::Always));
        assert!(named.any() && !named.any_but_commits());
        named.insert(b"d".to_vec(), NameMeaning::Doubtful);
        assert!(named.any_but_commits());
        named.forget_without_calls();
        assert!(named.get(b"c").is_none() && named.get(b"d").is_some());
    }

    #[test]
    fn the_proxys_own_name_stays() {
        let mut named = NamedStatements::default();
        let first = named.own().to_owned();
        assert_eq!(named.own(), first);
        assert!(first.starts_with("lockstead_"));
    }
}
