//! A prepared lock call: what the proxy remembers of it between its packets.

use std::sync::Arc;

use super::cursor::Cursor;
use super::prepare_context::Surroundings;
use crate::sql::classify::BareCall;
use crate::sql::expression::argument::Argument;
use crate::sql::expression::composite::Composite;

/// Long data kept for a parameter: more than any name or timeout needs.
const MAX_LONG_DATA: usize = 64 * 1024;

/// The calls of a prepared statement.
#[derive(Debug, Clone)]
pub(in crate::frontend) enum Calls {
    /// One bare call.
    Bare(BareCall),
    /// Calls in a larger statement, and the columns as the server described them.
    Composite(Arc<Composite>, Arc<[Vec<u8>]>),
}

/// A prepared statement with lock calls.
#[derive(Debug)]
pub(in crate::frontend) struct LockStatement {
    pub(in crate::frontend) calls: Calls,
    pub(in crate::frontend) text: Vec<u8>,
    pub(in crate::frontend) params: usize,
    /// The column's name as the server described it.
    pub(in crate::frontend) name: Vec<u8>,
    /// Where it was prepared, if that matters.
    pub(in crate::frontend) surroundings: Option<Surroundings>,
    /// Types of the last execution that bound any.
    pub(in crate::frontend) types: Vec<u16>,
    pub(in crate::frontend) long_data: Vec<Option<Vec<u8>>>,
    /// Its bytes.
    pub(in crate::frontend) kept: usize,
    /// Parameters of which the long data was too long to be kept.
    pub(in crate::frontend) beyond: Vec<usize>,
    /// Long data was not kept, for want of room.
    pub(in crate::frontend) no_room: bool,
    /// Long data came for a parameter that does not exist: the server has an error for it.
    pub(in crate::frontend) refused_data: bool,
    /// The proxy's own cursor.
    pub(in crate::frontend) cursor: Option<Cursor>,
    /// The server may have one.
    pub(in crate::frontend) server_cursor: bool,
    /// The statement that was executed in this one's place, and has a cursor.
    pub(in crate::frontend) stand_in: Option<u32>,
}

impl LockStatement {
    /// Bytes that it takes: what is known of a text is about as long as the text.
    pub(in crate::frontend) fn size(&self) -> usize {
        let columns: usize = match &self.calls {
            Calls::Bare(_) => 0,
            Calls::Composite(_, columns) => columns.iter().map(Vec::len).sum(),
        };
        let params = self.params * size_of::<Option<Vec<u8>>>();
        size_of::<Self>() + 2 * self.text.len() + self.name.len() + columns + params + self.kept
    }

    /// No call: it lists locks. The server can run it as it stands.
    pub(in crate::frontend) fn only_lists(&self) -> bool {
        matches!(&self.calls, Calls::Composite(composite, _) if composite.calls.is_empty())
    }

    /// How many parameters there are.
    pub(in crate::frontend) fn params(&self) -> usize {
        self.params
    }

    pub(in crate::frontend) fn first_is_the_name(&self) -> bool {
        match &self.calls {
            Calls::Bare(bare) => bare.arguments.first() == Some(&Argument::Parameter),
            Calls::Composite(..) => false,
        }
    }

    /// Whether the first value of an execution is the lock's name.
    pub(in crate::frontend) fn name_is_sent_with_execution(&self) -> bool {
        self.first_is_the_name()
            && self.long_data.first().is_some_and(Option::is_none)
            && !self.beyond.contains(&0)
    }

    /// The server gets an execution as it stands, and forgets long data by it.
    pub(in crate::frontend) fn run_by_server(&mut self, types: Vec<u16>) {
        self.types = types;
        self.forget_long_data();
    }

    /// Whether there was any.
    pub(in crate::frontend) fn forget_long_data(&mut self) -> bool {
        let any = !self.beyond.is_empty() || self.long_data.iter().any(Option::is_some);
        self.long_data.iter_mut().for_each(|d| *d = None);
        self.beyond.clear();
        (self.kept, self.no_room, self.refused_data) = (0, false, false);
        any
    }

    /// Keeps a piece of a parameter's data, if there is room for so many bytes.
    pub(in crate::frontend) fn keep_long_data(&mut self, index: usize, bytes: &[u8], room: usize) {
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
