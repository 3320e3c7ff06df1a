//! A complete response of the server's, read as a whole.

use crate::protocol::column;
pub(crate) use crate::protocol::frame::frames;
use crate::protocol::frame::{HEADER, payloads};
use crate::protocol::reader::Reader;
use crate::protocol::response::{Ending, PrepareOk};
use crate::protocol::status::Status;

/// Errors that have nothing to do with what a statement says: KILL QUERY, a time limit, a lock of the
/// server's that was waited for too long.
const INTERRUPTED: [u16; 5] = [1205, 1213, 1317, 1969, 3024];

/// A reply to a question is small; more means that something is wrong.
pub(crate) const MAX_REPLY: usize = 1 << 20;

/// How much of a response is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// All of it.
    All,
    /// Of a long one, only the last packets.
    End,
}

/// How a column is called.
#[derive(Debug)]
pub(crate) struct ColumnName {
    pub catalog: Vec<u8>,
    pub name: Vec<u8>,
}

/// A complete response.
#[derive(Debug)]
pub(crate) struct Reply {
    /// All frames as the server sent them.
    pub bytes: Vec<u8>,
    /// How it ended.
    pub ending: Ending,
}

impl Reply {
    /// Whether the server refused.
    pub(crate) fn is_error(&self) -> bool {
        self.ending.is_error()
    }

    /// Whether the server has warnings or an error of it.
    pub(crate) fn leaves_diagnostics(&self) -> bool {
        match self.ending {
            Ending::Ok { warnings, .. } => warnings > 0,
            Ending::Err { .. } => true,
            // Of a PREPARE.
            Ending::Plain => self.bytes.get(HEADER + 10..HEADER + 12).is_some_and(|n| n != [0, 0]),
        }
    }

    /// Whether the server refused, and not because of what the statement says.
    pub(crate) fn is_interrupted(&self) -> bool {
        matches!(self.ending, Ending::Err { code } if INTERRUPTED.contains(&code))
    }

    /// What a PREPARE is answered with, if it was not refused.
    pub(crate) fn prepared(&self) -> Option<PrepareOk> {
        self.payloads().next().and_then(PrepareOk::parse)
    }

    /// The column definitions in the response to a PREPARE.
    pub(crate) fn definitions(&self) -> Vec<Vec<u8>> {
        let mut all = self.payloads();
        let columns = all.next().and_then(PrepareOk::parse).map_or(0, |ok| usize::from(ok.columns));
        let mut definitions: Vec<Vec<u8>> =
            all.filter(|p| column::is_definition(p)).map(<[u8]>::to_vec).collect();
        definitions.split_off(definitions.len().saturating_sub(columns))
    }

    /// The frames, header and payload.
    pub(crate) fn frames(&self) -> impl Iterator<Item = &[u8]> {
        frames(&self.bytes)
    }

    /// The frames' payloads.
    pub(crate) fn payloads(&self) -> impl Iterator<Item = &[u8]> {
        payloads(&self.bytes)
    }

    /// The status flags after the column definitions, where an EOF stands there.
    pub(crate) fn first_eof(&self) -> Option<Status> {
        match *self.payloads().skip(1).find(|payload| ends(payload))? {
            [0xfe, _, _, low, high] => Some(Status(u16::from_le_bytes([low, high]))),
            _ => None,
        }
    }

    /// The names in the column definitions, parameters among them.
    pub(crate) fn column_names(&self) -> impl Iterator<Item = ColumnName> {
        let definitions = self.payloads().filter(|p| column::is_definition(p));
        let names = definitions.filter_map(column::names);
        names.map(|(catalog, name)| ColumnName { catalog: catalog.to_vec(), name: name.to_vec() })
    }

    /// The values of the only row, which must be ASCII: ucs2, utf16 and utf32 as character set of
    /// results put zeros beside each letter.
    pub(crate) fn values(&self) -> Option<Vec<Option<Vec<u8>>>> {
        let mut row = self.row();
        row.iter_mut().flatten().flatten().for_each(|value| value.retain(|b| *b != 0));
        row
    }

    /// The first values of all rows of a text result, which must be ASCII as in [`Self::values`].
    pub(crate) fn first_values(&self) -> impl Iterator<Item = Vec<u8>> {
        self.payloads().skip(1).filter(|payload| is_row(payload)).filter_map(|row| {
            let value = Reader::new(row).lenenc_bytes()?;
            Some(value.iter().copied().filter(|b| *b != 0).collect())
        })
    }

    /// The values of the only row of a text result.
    pub(crate) fn row(&self) -> Option<Vec<Option<Vec<u8>>>> {
        let mut payloads = self.payloads();
        let columns = Reader::new(payloads.next()?).lenenc()?;
        // Definitions, unless the client turned them off; then perhaps an EOF.
        let mut r = Reader::new(payloads.find(|payload| is_row(payload))?);
        let mut values = Vec::new();
        for _ in 0..columns {
            if r.rest().first() == Some(&0xfb) {
                r.u8();
                values.push(None);
            } else {
                values.push(Some(r.lenenc_bytes()?.to_vec()));
            }
        }
        Some(values)
    }
}

/// Whether a frame after the first ends definitions or rows.
pub(crate) fn is_end(frame: &[u8]) -> bool {
    frame.get(HEADER..).is_some_and(ends)
}

fn ends(payload: &[u8]) -> bool {
    matches!(payload.first(), Some(0xfe | 0xff))
}

/// Whether the payload of a frame after the first is a row of a text result.
pub(crate) fn is_row(payload: &[u8]) -> bool {
    !column::is_definition(payload) && !ends(payload)
}
