//! The grammar of responses: what each packet is, by the packets before it and its first bytes.

use super::capabilities::Capabilities;
use super::column::is_definition;
use super::command::Shape;
use super::ending::{Ending, PacketKind, ending, eof, has_status};
use super::frame::MAX_PAYLOAD;
use super::reader::Reader;
use super::status::Status;

/// Columns that a result has at most: servers count those of a prepared statement in two bytes.
const MOST_COLUMNS: u64 = 65535;

/// What a packet means to the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// More packets of the response will come.
    Continue,
    /// A result has ended, and another follows.
    NextResult,
    /// The response has ended.
    Ended(Ending),
    /// The server asked for the client's file (LOCAL INFILE) and waits.
    WantsFile,
    /// No server says this. Nobody knows where the response ends, so the connection is of no use any more.
    Broken(&'static str),
}

/// The head of a `COM_STMT_PREPARE` response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrepareOk {
    /// The server's statement id.
    pub id: u32,
    /// Result columns.
    pub columns: u16,
    /// Parameters.
    pub params: u16,
}

impl PrepareOk {
    /// Reads the first packet of the response.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let mut r = Reader::new(payload);
        if r.u8()? != 0 {
            return None;
        }
        Some(Self { id: r.u32()?, columns: r.u16()?, params: r.u16()? })
    }
}

/// Which packets may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// None: no response is under way.
    Nothing,
    /// The first packet of a result.
    First,
    /// This number of column definitions; then perhaps an EOF; then rows.
    Columns(u64),
    /// The EOF between columns and rows.
    ColumnsEof,
    Rows,
    /// The row of a procedure's OUT parameters, after which another result always follows: MySQL
    /// does not say so in the EOF at its end.
    OutParameters,
    PrepareFirst,
    /// What is left of a PREPARE: definitions of parameters, the EOF after them, those of columns, their EOF.
    PrepareDefinitions([u16; 4]),
    FieldList,
    OnePacket,
    /// The first packet of a response without an end: an error refuses the command.
    EndlessFirst,
    Endless,
}

/// Follows one response after the other.
#[derive(Debug)]
pub(super) struct Grammar {
    capabilities: Capabilities,
    expected: Expected,
    /// The command asked for a cursor, so that rows may stay at the server.
    cursor: bool,
}

impl Grammar {
    /// For a connection that negotiated `capabilities`. No response is under way.
    pub(super) fn new(capabilities: Capabilities) -> Self {
        Self { capabilities, expected: Expected::Nothing, cursor: false }
    }

    /// Starts on the response to a command.
    pub(super) fn start_response(&mut self, shape: Shape) {
        self.cursor = shape == Shape::CursorResults;
        self.expected = match shape {
            Shape::Nothing => Expected::Nothing,
            Shape::Results | Shape::CursorResults => Expected::First,
            Shape::Prepare => Expected::PrepareFirst,
            Shape::Rows => Expected::Rows,
            Shape::FieldList => Expected::FieldList,
            Shape::OnePacket => Expected::OnePacket,
            Shape::Endless => Expected::EndlessFirst,
        };
    }

    /// Whether a response is under way.
    pub(super) fn is_active(&self) -> bool {
        self.expected != Expected::Nothing
    }

    /// Whether the response has no end that could be seen.
    pub(super) fn is_endless(&self) -> bool {
        self.expected == Expected::Endless
    }

    /// How many column definitions of a result set are still to come.
    pub(super) fn columns_left(&self) -> Option<u64> {
        match self.expected {
            Expected::Columns(left) => Some(left),
            _ => None,
        }
    }

    /// Whether rows are to come.
    pub(super) fn in_rows(&self) -> bool {
        matches!(self.expected, Expected::Rows | Expected::OutParameters)
    }

    /// What the next packet is, by its length and its first [`HEAD`] bytes.
    pub(super) fn kind(&self, len: usize, head: &[u8]) -> PacketKind {
        let first = head.first().copied().unwrap_or(0);
        if first == 0xff {
            let code = match head {
                [_, low, high, ..] => u16::from_le_bytes([*low, *high]),
                _ => 0,
            };
            // MariaDB reports progress as an error packet with the number 0xffff.
            let report = code == 0xffff && self.capabilities.has(Capabilities::MARIADB_PROGRESS);
            return if report { PacketKind::Report } else { PacketKind::Error(code) };
        }
        let terminator = if self.deprecates_eof() { PacketKind::Ok } else { PacketKind::Eof };
        match self.expected {
            Expected::First => match first {
                0x00 => PacketKind::Ok,
                0xfe => eof(head),
                0xfb => PacketKind::File,
                _ => PacketKind::ColumnCount,
            },
            // 0xfe also starts a row whose first value is longer than a frame.
            Expected::Rows | Expected::OutParameters => {
                let limit = if self.deprecates_eof() { MAX_PAYLOAD } else { 9 };
                if first == 0xfe && len < limit { terminator } else { PacketKind::Other }
            }
            Expected::FieldList if first == 0xfe => terminator,
            Expected::PrepareFirst => PacketKind::Prepared,
            Expected::ColumnsEof
            | Expected::PrepareDefinitions([0, 1..=u16::MAX, ..] | [0, 0, 0, _]) => PacketKind::Eof,
            Expected::Columns(_) | Expected::PrepareDefinitions(_) | Expected::FieldList => {
                PacketKind::Column
            }
            Expected::OnePacket
            | Expected::Nothing
            | Expected::EndlessFirst
            | Expected::Endless => PacketKind::Other,
        }
    }

    /// Takes the next packet. `None` if it neither ends nor interrupts anything.
    pub(super) fn packet(&mut self, len: usize, head: &[u8]) -> Option<Progress> {
        let kind = self.kind(len, head);
        if let Some(what) = self.fault(kind, len, head) {
            return Some(self.broken(what));
        }
        match kind {
            PacketKind::Error(code) => Some(self.end(Ending::Err { code })),
            PacketKind::File => Some(Progress::WantsFile),
            PacketKind::Report => None,
            PacketKind::ColumnCount => {
                self.column_count(head);
                None
            }
            PacketKind::Column => self.column(),
            PacketKind::Prepared => self.prepared(head),
            PacketKind::Ok | PacketKind::Eof => self.terminated(ending(kind, head)),
            PacketKind::Other => match self.expected {
                Expected::OnePacket => Some(self.end(Ending::Plain)),
                Expected::EndlessFirst => {
                    self.expected = Expected::Endless;
                    None
                }
                _ => None,
            },
        }
    }

    /// Why no server sends this packet here; `None` if one may. Rows are not looked at.
    fn fault(&self, kind: PacketKind, len: usize, head: &[u8]) -> Option<&'static str> {
        let (is_right, what) = match kind {
            PacketKind::Other | PacketKind::Report => return None,
            PacketKind::Column => (is_definition(head), "a definition of a column is missing"),
            PacketKind::Ok => (has_status(kind, head), "an OK packet without a status"),
            PacketKind::Eof => {
                (len == 5 && head.first() == Some(&0xfe), "an EOF packet is missing")
            }
            PacketKind::Error(_) => (len >= 3, "an error packet without a number"),
            PacketKind::File => {
                let agreed = self.capabilities.has(Capabilities::LOCAL_FILES);
                (agreed, "a request for a file of a client that sends none")
            }
            PacketKind::ColumnCount => (self.is_column_count(len, head), "no number of columns"),
            PacketKind::Prepared => {
                (len >= 12 && head.first() == Some(&0), "no answer to a PREPARE")
            }
        };
        (!is_right).then_some(what)
    }

    /// Whether this is a number of columns, and nothing else but what says whether their definitions follow.
    fn is_column_count(&self, len: usize, head: &[u8]) -> bool {
        let mut r = Reader::new(head);
        let columns = r.lenenc().is_some_and(|columns| (1..=MOST_COLUMNS).contains(&columns));
        columns && len == r.position() + usize::from(self.flags_metadata())
    }

    /// Ends the following of a response that breaks the grammar.
    pub(super) fn broken(&mut self, what: &'static str) -> Progress {
        self.expected = Expected::Nothing;
        Progress::Broken(what)
    }

    /// One of the definitions that were announced.
    fn column(&mut self) -> Option<Progress> {
        match self.expected {
            Expected::Columns(left) if left > 1 => self.expected = Expected::Columns(left - 1),
            Expected::Columns(_) => self.expected = self.after_columns(),
            Expected::PrepareDefinitions(left) => return self.definition(left, Ending::Plain),
            _ => {}
        }
        None
    }

    /// One packet less of a PREPARE's response, which ends so if it was the last one.
    fn definition(&mut self, mut left: [u16; 4], ending: Ending) -> Option<Progress> {
        let next = left.iter_mut().find(|packets| **packets > 0)?;
        *next -= 1;
        self.expected = Expected::PrepareDefinitions(left);
        (left == [0; 4]).then(|| self.end(ending))
    }

    /// An OK or EOF ends columns, a result or the response.
    fn terminated(&mut self, ending: Ending) -> Option<Progress> {
        match self.expected {
            Expected::ColumnsEof => {
                let Ending::Ok { status, .. } = ending else { return Some(self.end(ending)) };
                // The rows of a cursor are fetched by commands of their own. Those that a stored program has
                // opened show, too; the results of a CALL are sent whatever was asked for.
                let more = status.has(Status::MORE_RESULTS);
                if self.cursor && status.has(Status::CURSOR_EXISTS) && !more {
                    return Some(self.end(ending));
                }
                let out = more && status.has(Status::PS_OUT_PARAMS);
                self.expected = if out { Expected::OutParameters } else { Expected::Rows };
                None
            }
            Expected::OutParameters => {
                self.expected = Expected::First;
                Some(Progress::NextResult)
            }
            Expected::FieldList => Some(self.end(ending)),
            Expected::PrepareDefinitions(left) => self.definition(left, ending),
            _ => Some(self.result_end(ending)),
        }
    }

    fn column_count(&mut self, head: &[u8]) {
        let mut r = Reader::new(head);
        let columns = r.lenenc().unwrap_or(0);
        let follows = !self.flags_metadata() || r.u8() != Some(0);
        self.expected = if follows { Expected::Columns(columns) } else { self.after_columns() };
    }

    /// Whether a packet that comes next is the number of columns whose definitions the client has already.
    pub(super) fn leaves_out_definitions(&self, head: &[u8]) -> bool {
        self.expected == Expected::First
            && self.kind(head.len(), head) == PacketKind::ColumnCount
            && self.flags_metadata()
            && head.last() == Some(&0)
    }

    /// Whether the number of columns comes with a byte that says whether their definitions follow.
    fn flags_metadata(&self) -> bool {
        self.capabilities.has(Capabilities::OPTIONAL_METADATA)
            || self.capabilities.has(Capabilities::MARIADB_CACHE_METADATA)
    }

    fn prepared(&mut self, head: &[u8]) -> Option<Progress> {
        let Some(ok) = PrepareOk::parse(head) else {
            return Some(self.end(Ending::Plain));
        };
        // After id, columns, params, filler and warnings: whether metadata follows.
        let follows = !self.capabilities.has(Capabilities::OPTIONAL_METADATA)
            || head.get(12).is_none_or(|&f| f != 0);
        // Definitions may be left out; the EOFs after them are not.
        let definitions = |n: u16| if follows { n } else { 0 };
        let eofs = |n: u16| u16::from(n > 0 && !self.deprecates_eof());
        let (params, columns) = (ok.params, ok.columns);
        let left = [definitions(params), eofs(params), definitions(columns), eofs(columns)];
        if left == [0; 4] {
            return Some(self.end(Ending::Plain));
        }
        self.expected = Expected::PrepareDefinitions(left);
        None
    }

    fn after_columns(&self) -> Expected {
        if self.deprecates_eof() { Expected::Rows } else { Expected::ColumnsEof }
    }

    fn deprecates_eof(&self) -> bool {
        self.capabilities.has(Capabilities::DEPRECATE_EOF)
    }

    /// Ends the response, unless the status says that another result follows.
    fn result_end(&mut self, ending: Ending) -> Progress {
        if let Ending::Ok { status, .. } = ending
            && status.has(Status::MORE_RESULTS)
        {
            self.expected = Expected::First;
            return Progress::NextResult;
        }
        self.end(ending)
    }

    fn end(&mut self, ending: Ending) -> Progress {
        self.expected = Expected::Nothing;
        Progress::Ended(ending)
    }
}
