//! Tables of the server's own that list locks: where a statement reads them.

use std::ops::Range;

use super::nesting::Tokens;
use super::verb::Verb;
use crate::sql::lexer::scanner::Kind;
use crate::types::Flavour;

/// A table that lists locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// `performance_schema.metadata_locks`
    MetadataLocks,
    /// MariaDB's `information_schema.METADATA_LOCK_INFO`
    MetadataLockInfo,
}

/// Where one of them is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The table that lists locks.
    pub table: Table,
    /// Name of the table, as written at the first place.
    pub name: Range<usize>,
    /// Where the name stands with its schema, both names.
    pub qualified: Vec<Range<usize>>,
    /// The name also stands without a schema: the session's default schema decides what it means.
    pub unqualified: bool,
    /// Where a common table expression has its place.
    pub place: Place,
}

/// A place for a common table expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Before this SELECT, which has no WITH.
    Select(usize),
    /// Before the other expressions, after this WITH.
    With(usize),
}

impl Table {
    /// Schema and name.
    pub fn full_name(self) -> (&'static str, &'static str) {
        match self {
            Self::MetadataLocks => ("performance_schema", "metadata_locks"),
            Self::MetadataLockInfo => ("information_schema", "METADATA_LOCK_INFO"),
        }
    }

    /// By a name in capitals.
    fn from_name(name: &[u8]) -> Option<Self> {
        match name {
            b"METADATA_LOCKS" => Some(Self::MetadataLocks),
            b"METADATA_LOCK_INFO" => Some(Self::MetadataLockInfo),
            _ => None,
        }
    }
}

/// Whether a text may name such a table.
pub(in crate::sql) fn may_list(text: &[u8]) -> bool {
    const NAME: &[u8] = b"METADATA_LOCK";
    memchr::memchr_iter(b'_', text).any(|at| {
        let Some(start) = at.checked_sub(8) else { return false };
        text.get(start..start + NAME.len()).is_some_and(|name| name.eq_ignore_ascii_case(NAME))
    })
}

impl Tokens<'_> {
    /// `None` if nothing is listed, or if it is not certain what would come of an expression that
    /// bears the table's name.
    pub(in crate::sql) fn listing(&self, verb: Verb) -> Option<Listing> {
        if !may_list(self.text) {
            return None;
        }
        let mut listing: Option<Listing> = None;
        for (i, token) in self.list.iter().enumerate() {
            if !matches!(token.kind, Kind::Word | Kind::Quoted) {
                continue;
            }
            let Some(table) = Table::from_name(&self.name(token)) else { continue };
            let qualified = i > 0 && self.punct(i - 1, b'.');
            if qualified && !self.is_of_schema(i, table) {
                continue;
            }
            // The name of a column's table, and an alias.
            if !qualified && (self.punct(i + 1, b'.') || (i > 0 && self.is(i - 1, "AS"))) {
                continue;
            }
            let found = listing.get_or_insert_with(|| Listing {
                table,
                name: token.start..token.end,
                qualified: Vec::new(),
                unqualified: false,
                place: Place::Select(0),
            });
            if found.table != table {
                return None;
            }
            if qualified {
                found.qualified.push(self.list[i - 2].start..token.end);
            } else {
                found.unqualified = true;
            }
        }
        let place = self.place(verb)?;
        listing.map(|listing| Listing { place, ..listing })
    }

    /// Whether the name at `i`, after a dot, is the table's own.
    fn is_of_schema(&self, i: usize, table: Table) -> bool {
        let Some(schema) = i.checked_sub(2) else { return false };
        let (expected, _) = table.full_name();
        let inner = schema > 0 && self.punct(schema - 1, b'.');
        !inner && self.name(&self.list[schema]).eq_ignore_ascii_case(expected.as_bytes())
    }

    fn place(&self, verb: Verb) -> Option<Place> {
        let all = |word| (0..self.list.len()).filter(move |i| self.is(*i, word));
        match verb {
            Verb::Explain | Verb::Show => None,
            Verb::Rows if self.is(0, "WITH") => {
                let recursive = usize::from(self.is(1, "RECURSIVE"));
                Some(Place::With(self.list[recursive].end))
            }
            Verb::Rows => Some(Place::Select(self.list.first()?.start)),
            // All parts of the statement must be in reach of the common table expression.
            Verb::Do | Verb::Set | Verb::Change => {
                let mut selects = all("SELECT");
                let only = selects.next().filter(|_| selects.next().is_none())?;
                let place = Place::Select(self.list[only].start);
                all("WITH").next().is_none().then_some(place)
            }
        }
    }
}

impl Listing {
    /// Whether a server of this flavour has the table.
    pub fn is_for(&self, flavour: Flavour) -> bool {
        self.table == Table::MetadataLocks || flavour == Flavour::MariaDb
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::classify::{Statement, classify};
    use crate::sql::lexer::dialect::Dialect;

    const DIALECT: Dialect = Dialect::MARIADB;

    fn listing(sql: &str) -> Option<Listing> {
        match classify(sql.as_bytes(), DIALECT) {
            Statement::Composite(composite) => composite.lists,
            Statement::NoCall | Statement::PerhapsLists => None,
            other => panic!("{sql}: {other:?}"),
        }
    }

    #[test]
    fn tables_are_found_wherever_they_are_read() {
        // A bar where the expression goes.
        for (sql, qualified, unqualified) in [
            ("|SELECT * FROM performance_schema.metadata_locks", 1, false),
            ("|SELECT * FROM `Performance_Schema` . `metadata_locks` AS m", 1, false),
            (
                "|select performance_schema.metadata_locks.SOURCE from performance_schema.metadata_locks",
                2,
                false,
            ),
            ("|SELECT metadata_locks.SOURCE FROM performance_schema.metadata_locks", 1, false),
            ("|SELECT 1 FROM performance_schema.metadata_locks AS metadata_locks", 1, false),
            ("|SELECT COUNT(*) FROM metadata_locks WHERE OBJECT_TYPE=\"USER LEVEL LOCK\"", 0, true),
            ("|SELECT * FROM information_schema.metadata_lock_info", 1, false),
            ("|(SELECT 1 FROM performance_schema.metadata_locks) UNION (SELECT 2)", 1, false),
            ("WITH| a AS (SELECT * FROM performance_schema.metadata_locks) TABLE a", 1, false),
            ("WITH RECURSIVE| a AS (SELECT 1) SELECT * FROM METADATA_LOCK_INFO", 0, true),
            ("SET @n = (|SELECT COUNT(*) FROM performance_schema.metadata_locks)", 1, false),
            ("INSERT INTO t |SELECT * FROM performance_schema.metadata_locks;", 1, false),
            (
                "|SELECT IS_USED_LOCK('a'), m.* FROM x JOIN performance_schema.metadata_locks m",
                1,
                false,
            ),
        ] {
            let at = sql.find('|').expect("a place");
            let sql = sql.replace('|', "");
            let listing = listing(&sql).unwrap_or_else(|| panic!("{sql}"));
            let (Place::Select(place) | Place::With(place)) = listing.place;
            assert_eq!(place, at, "{sql}");
            assert_eq!((listing.qualified.len(), listing.unqualified), (qualified, unqualified));
        }
    }

    #[test]
    fn a_text_that_only_looks_like_it_is_left() {
        for sql in [
            "SELECT 'performance_schema.metadata_locks'",
            "SELECT * FROM mine.metadata_locks",
            "SELECT x.metadata_locks FROM x",
            "SELECT * FROM information_schema.metadata_locks",
            "EXPLAIN SELECT * FROM performance_schema.metadata_locks",
            "SHOW CREATE TABLE performance_schema.metadata_locks",
            "CREATE VIEW v AS SELECT * FROM performance_schema.metadata_locks",
            "SELECT 1; SELECT * FROM performance_schema.metadata_locks",
            "SELECT /*! * */ FROM performance_schema.metadata_locks",
            "DELETE FROM t WHERE (SELECT 1) AND (SELECT 1 FROM performance_schema.metadata_locks)",
            "SELECT 1 FROM performance_schema.metadata_locks JOIN information_schema.METADATA_LOCK_INFO",
            "SELECT \"it\\\"s\" FROM performance_schema.metadata_locks WHERE \"a\\\"b",
        ] {
            assert_eq!(listing(sql), None, "{sql}");
        }
    }
}
