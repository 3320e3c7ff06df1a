//! A prepared lock call: what the proxy remembers of it between its packets.

use std::sync::Arc;

use crate::protocol::reply::ColumnType;
use crate::sql::classify::BareCall;
use crate::sql::expression::argument::Argument;
use crate::sql::expression::composite::Composite;

/// Long data kept for a parameter: more than any name or timeout needs.
const MAX_LONG_DATA: usize = 64 * 1024;

/// An open cursor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor {
    /// The column's type.
    pub column: ColumnType,
    value: Option<u64>,
    fetched: bool,
}

impl Cursor {
    /// A cursor before its row.
    pub(crate) fn new(column: ColumnType, value: Option<u64>) -> Self {
        Self { column, value, fetched: false }
    }

    /// Fetches up to so many rows.
    pub(crate) fn fetch(&mut self, rows: u32) -> Fetched {
        let left = !self.fetched;
        let row = (left && rows > 0).then_some(OnlyRow(self.value));
        self.fetched |= row.is_some();
        Fetched { row, ended: rows > u32::from(left) }
    }
}

/// What came from a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fetched {
    pub row: Option<OnlyRow>,
    /// The end was seen.
    pub ended: bool,
}

/// The only row of a lock call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OnlyRow(pub(crate) Option<u64>);

/// What a statement was prepared in: default schema, SQL mode and the client's character set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PrepareContext(pub Vec<Option<Vec<u8>>>);

/// The calls of a prepared statement.
#[derive(Debug, Clone)]
pub(crate) enum Calls {
    /// One bare call.
    Bare(BareCall),
    /// Calls in a larger statement, and the columns as the server described them.
    Composite(Arc<Composite>, Arc<[Vec<u8>]>),
}

/// A prepared statement with lock calls.
#[derive(Debug)]
pub(crate) struct LockStatement {
    pub calls: Calls,
    pub text: Vec<u8>,
    pub params: usize,
    /// The column's name as the server described it.
    pub name: Vec<u8>,
    /// Where it was prepared, if that matters.
    pub context: Option<PrepareContext>,
    /// Types of the last execution that bound any.
    pub types: Vec<u16>,
    pub long_data: Vec<Option<Vec<u8>>>,
    /// Bytes of the long data.
    pub kept: usize,
    /// Parameters of which the long data was too long to be kept.
    pub beyond: Vec<usize>,
    /// Long data was not kept, for want of room.
    pub no_room: bool,
    /// Long data came for a parameter that does not exist: the server has an error for it.
    pub refused_data: bool,
    /// The proxy's own cursor.
    pub cursor: Option<Cursor>,
    /// The server may have one.
    pub server_cursor: bool,
    /// The statement that was executed in this one's place, and has a cursor.
    pub stand_in: Option<u32>,
}

impl LockStatement {
    /// Prepared just now; `name` is its column's.
    pub(crate) fn new(calls: Calls, text: &[u8], params: usize, name: Vec<u8>) -> Self {
        Self {
            calls,
            text: text.to_vec(),
            params,
            name,
            context: None,
            types: Vec::new(),
            long_data: vec![None; params],
            kept: 0,
            beyond: Vec::new(),
            no_room: false,
            refused_data: false,
            cursor: None,
            server_cursor: false,
            stand_in: None,
        }
    }

    /// A statement of one bare call.
    #[cfg(test)]
    pub(crate) fn of_call(bare: BareCall, text: &[u8], params: usize, name: Vec<u8>) -> Self {
        Self::new(Calls::Bare(bare), text, params, name)
    }

    /// Bytes that it takes: what is known of a text is about as long as the text.
    pub(crate) fn size(&self) -> usize {
        let columns: usize = match &self.calls {
            Calls::Bare(_) => 0,
            Calls::Composite(_, columns) => columns.iter().map(Vec::len).sum(),
        };
        let params = self.params * size_of::<Option<Vec<u8>>>();
        size_of::<Self>() + 2 * self.text.len() + self.name.len() + columns + params + self.kept
    }

    /// No call: it lists locks. The server can run it unchanged.
    pub(crate) fn only_lists(&self) -> bool {
        matches!(&self.calls, Calls::Composite(composite, _) if composite.calls.is_empty())
    }

    /// How many parameters there are.
    pub(crate) fn params(&self) -> usize {
        self.params
    }

    pub(crate) fn first_is_the_name(&self) -> bool {
        match &self.calls {
            Calls::Bare(bare) => bare.arguments.first() == Some(&Argument::Parameter),
            Calls::Composite(..) => false,
        }
    }

    /// Whether the first value of an execution is the lock's name.
    pub(crate) fn name_is_sent_with_execution(&self) -> bool {
        self.first_is_the_name()
            && self.long_data.first().is_some_and(Option::is_none)
            && !self.beyond.contains(&0)
    }

    /// The server gets an execution unchanged, and forgets long data by it.
    pub(crate) fn run_by_server(&mut self, types: Vec<u16>) {
        self.types = types;
        self.forget_long_data();
    }

    /// Whether there was any.
    pub(crate) fn forget_long_data(&mut self) -> bool {
        let any = !self.beyond.is_empty() || self.long_data.iter().any(Option::is_some);
        self.long_data.iter_mut().for_each(|d| *d = None);
        self.beyond.clear();
        (self.kept, self.no_room, self.refused_data) = (0, false, false);
        any
    }

    /// Keeps a piece of a parameter's data, if there is room for so many bytes.
    pub(crate) fn keep_long_data(&mut self, index: usize, bytes: &[u8], room: usize) {
        let slot = self.long_data.get_mut(index);
        self.refused_data |= slot.is_none();
        let Some(data) = slot.map(Option::get_or_insert_default) else {
            return;
        };
        if bytes.len() > room {
            self.no_room = true;
        } else if data.len() + bytes.len() <= MAX_LONG_DATA {
            data.extend_from_slice(bytes);
            self.kept += bytes.len();
        } else if !self.beyond.contains(&index) {
            self.beyond.push(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::classify::{Statement, classify};
    use crate::sql::lexer::dialect::Dialect;
    use crate::types::Flavour;

    fn statement() -> LockStatement {
        let text = b"SELECT GET_LOCK(?, ?)";
        let Statement::Bare(bare) = classify(text, Dialect::of(Flavour::MySql)) else {
            panic!("a bare call");
        };
        LockStatement::of_call(bare, text, 2, b"GET_LOCK(?, ?)".to_vec())
    }

    #[test]
    fn long_data_is_kept_piece_by_piece_up_to_a_limit() {
        let mut statement = statement();
        statement.keep_long_data(0, b"ab", 100);
        statement.keep_long_data(0, b"c", 100);
        assert_eq!(statement.long_data[0].as_deref(), Some(&b"abc"[..]));
        assert_eq!(statement.kept, 3);
        assert!(!statement.name_is_sent_with_execution());
        statement.keep_long_data(0, &vec![0; MAX_LONG_DATA], MAX_LONG_DATA);
        assert_eq!(statement.beyond, [0], "too long to be kept");
        assert!(statement.forget_long_data());
        assert!(statement.long_data[0].is_none() && statement.beyond.is_empty());
        assert!(statement.name_is_sent_with_execution());
        assert!(!statement.forget_long_data(), "there is none any more");
    }

    #[test]
    fn a_statement_that_cannot_be_kept_is_remembered() {
        let mut statement = statement();
        statement.keep_long_data(1, b"abc", 2);
        assert!(statement.no_room && statement.kept == 0);
        statement.keep_long_data(2, b"abc", 100);
        assert!(statement.refused_data, "there is no third parameter");
    }

    #[test]
    fn the_end_of_a_cursor_is_seen_by_a_fetch_of_more_than_there_is() {
        let column = ColumnType { kind: 8, length: 1, flags: 0 };
        let nothing = Fetched { row: None, ended: false };
        let mut cursor = Cursor::new(column, Some(1));
        assert_eq!(cursor.fetch(0), nothing);
        assert_eq!(cursor.fetch(1), Fetched { row: Some(OnlyRow(Some(1))), ended: false });
        assert_eq!(cursor.fetch(0), nothing);
        assert_eq!(cursor.fetch(1), Fetched { row: None, ended: true });
        let mut cursor = Cursor::new(column, None);
        assert_eq!(cursor.fetch(2), Fetched { row: Some(OnlyRow(None)), ended: true });
    }
}
