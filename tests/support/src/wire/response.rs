//! What a response is: packets in order, each with what it was taken for.

use std::time::Duration;

use super::decode::{Column, Cursor};

/// Which response a command owes, as far as it decides where that response ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// COM_QUERY: OK, ERR, LOCAL INFILE or result sets with text rows.
    Query,
    /// COM_STMT_EXECUTE: the same with binary rows.
    Execute,
    /// COM_STMT_PREPARE.
    Prepare,
    /// COM_STMT_FETCH: binary rows without column definitions.
    Fetch,
    /// COM_FIELD_LIST: column definitions without a count.
    FieldList,
    /// Exactly one packet: OK, EOF, ERR or text.
    One,
    /// COM_CHANGE_USER and login: packets up to OK or ERR, each of the others to be answered.
    Auth,
    /// Nothing is owed.
    Nothing,
    /// Whatever comes until the peer closes.
    UntilClosed,
}

/// What a packet was taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Ok,
    Err,
    Eof,
    ColumnCount,
    Column,
    TextRow,
    BinaryRow,
    PrepareOk,
    LocalInfile,
    Auth,
    /// Plain text, as COM_STATISTICS answers.
    Text,
    Unsolicited,
}

/// A packet: its payload, joined, and the headers of the frames that carried it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    pub kind: Kind,
    pub headers: Vec<[u8; 4]>,
    pub payload: Vec<u8>,
}

impl Packet {
    /// The sequence id of the first frame.
    pub fn sequence(&self) -> u8 {
        self.headers[0][3]
    }
}

/// How reading ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The response is complete.
    Complete,
    /// The server waits for the contents of a file.
    WantsFile,
    /// The peer closed before the response was complete (or, for `UntilClosed`, as expected).
    Closed,
    /// The deadline passed before the response was complete.
    TimedOut,
}

/// All packets that answered one command.
#[derive(Debug, Clone)]
pub struct Response {
    pub packets: Vec<Packet>,
    pub end: End,
    /// The definitions of the columns of the statement that was executed, as its PREPARE or an earlier execution had them.
    pub described: Vec<Vec<u8>>,
    /// From the moment the command was sent to the end of the response.
    pub took: Duration,
}

impl Response {
    /// The error number, if the last packet is an ERR.
    pub fn error(&self) -> Option<u16> {
        let last = self.packets.last()?;
        (last.kind == Kind::Err).then(|| ErrPacket::parse(&last.payload).code)
    }

    /// The statement id of a prepare response.
    pub fn statement_id(&self) -> Option<u32> {
        let first = self.packets.first().filter(|p| p.kind == Kind::PrepareOk)?;
        Cursor(first.payload.get(1..)?).u32()
    }

    /// The definitions of a prepared statement's columns: after those of its parameters.
    pub(super) fn prepared_columns(&self) -> Vec<Vec<u8>> {
        let head = self.packets.first().and_then(|p| p.payload.get(5..7));
        let count = head.map_or(0, |b| usize::from(u16::from_le_bytes([b[0], b[1]])));
        let all: Vec<&Packet> = self.packets.iter().filter(|p| p.kind == Kind::Column).collect();
        let columns = &all[all.len().saturating_sub(count)..];
        columns.iter().map(|p| p.payload.clone()).collect()
    }

    /// The definitions of the first result set's columns.
    pub(super) fn first_definitions(&self) -> Vec<Vec<u8>> {
        let set = self.packets.iter().skip_while(|p| p.kind != Kind::ColumnCount).skip(1);
        set.take_while(|p| p.kind == Kind::Column).map(|p| p.payload.clone()).collect()
    }

    /// The response with the definitions that its client has had before where they were left out, and numbered accordingly.
    #[must_use]
    pub fn with_definitions(&self) -> Response {
        let mut whole = self.clone();
        let count = self.described.len();
        let left_out = |p: &Packet| matches!(p.payload[..], [n, 0] if usize::from(n) == count);
        let first = self.packets.first().filter(|p| p.kind == Kind::ColumnCount && left_out(p));
        let Some(first) = first.filter(|_| count > 0) else {
            return whole;
        };
        whole.packets[0].payload[1] = 1;
        let mut sequence = first.sequence();
        for (nth, payload) in self.described.iter().enumerate() {
            sequence = sequence.wrapping_add(1);
            let length = u32::try_from(payload.len()).expect("a definition is short").to_le_bytes();
            let headers = vec![[length[0], length[1], length[2], sequence]];
            let packet = Packet { kind: Kind::Column, headers, payload: payload.clone() };
            whole.packets.insert(1 + nth, packet);
        }
        for header in whole.packets.iter_mut().skip(1 + count).flat_map(|p| &mut p.headers) {
            header[3] = header[3].wrapping_add(u8::try_from(count).expect("few columns"));
        }
        whole
    }

    /// The column definitions that stand before packet `index` in its own result set, or that its client has had before.
    pub fn columns_before(&self, index: usize) -> Vec<Column> {
        let set = self.packets[..index]
            .iter()
            .rposition(|p| p.kind == Kind::ColumnCount)
            .map_or(0, |at| at + 1);
        let columns: Vec<Column> = self.packets[set..index]
            .iter()
            .filter(|p| p.kind == Kind::Column)
            .filter_map(|p| Column::parse(&p.payload))
            .collect();
        if columns.is_empty() {
            self.described.iter().filter_map(|d| Column::parse(d)).collect()
        } else {
            columns
        }
    }
}

/// An OK packet, or an EOF packet in the shape of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OkPacket {
    pub affected: u64,
    pub insert_id: u64,
    pub status: u16,
    pub warnings: u16,
    /// The info text and the session state changes, undecoded.
    pub rest: Vec<u8>,
}

impl OkPacket {
    pub fn parse(payload: &[u8]) -> Option<OkPacket> {
        let mut c = Cursor(payload.get(1..)?);
        Some(OkPacket {
            affected: c.lenenc()?,
            insert_id: c.lenenc()?,
            status: c.u16()?,
            warnings: c.u16()?,
            rest: c.0.to_vec(),
        })
    }
}

/// The warnings and status flags of a classic EOF packet.
pub fn parse_eof(payload: &[u8]) -> Option<(u16, u16)> {
    let mut c = Cursor(payload.get(1..)?);
    Some((c.u16()?, c.u16()?))
}

/// An ERR packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrPacket {
    pub code: u16,
    /// Empty when the packet carries none, as before the end of the handshake.
    pub state: Vec<u8>,
    pub message: Vec<u8>,
}

impl ErrPacket {
    pub fn parse(payload: &[u8]) -> ErrPacket {
        let mut c = Cursor(payload.get(1..).unwrap_or_default());
        let code = c.u16().unwrap_or_default();
        let state = match c.0.first() {
            Some(b'#') => c.take(6).map(|s| s[1..].to_vec()).unwrap_or_default(),
            Some(_) | None => Vec::new(),
        };
        ErrPacket { code, state, message: c.0.to_vec() }
    }
}
