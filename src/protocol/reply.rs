//! Packets that the proxy itself says: errors, OK, and result sets of one value.

use super::capabilities::Capabilities;
use super::frame::put_frame;
use super::reader::put_lenenc_bytes;
use super::status::Status;

/// An error as a client sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorReply {
    /// MySQL error number.
    pub code: u16,
    /// SQLSTATE, five characters.
    pub state: &'static str,
    /// Text.
    pub message: String,
}

impl ErrorReply {
    /// The ERR packet. Before the handshake is over a client expects no SQLSTATE.
    pub fn encode(&self, out: &mut Vec<u8>, seq: u8, in_handshake: bool) {
        let mut p = vec![0xff];
        p.extend_from_slice(&self.code.to_le_bytes());
        if !in_handshake {
            p.push(b'#');
            p.extend_from_slice(self.state.as_bytes());
        }
        p.extend_from_slice(self.message.as_bytes());
        put_frame(out, seq, &p);
    }
}

/// The type of a result column, as the server describes it for an unadorned lock call
/// (native-semantics, section 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnType {
    /// `MYSQL_TYPE_*`: 3 LONG, 8 LONGLONG.
    pub kind: u8,
    /// Display length.
    pub length: u32,
    /// Column flags.
    pub flags: u16,
}

impl ColumnType {
    /// The type of a column of the temporary table that a cursor reads: always as wide as it must
    /// be, and of no particular bytes.
    #[must_use]
    pub fn in_cursor(self) -> Self {
        let kind = if self.length == 1 { 3 } else { self.kind };
        Self { kind, length: self.length, flags: self.flags & !0x80 }
    }

    /// The value in a row of the binary protocol.
    pub fn binary_row(self, value: Option<u64>) -> Vec<u8> {
        let Some(value) = value else { return vec![0, 0b100] };
        let bytes = value.to_le_bytes();
        [&[0, 0][..], if self.kind == 8 { &bytes[..] } else { &bytes[..4] }].concat()
    }
}

/// How a result set's row reaches the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// In the text protocol.
    Text,
    /// In the binary protocol (COM_STMT_EXECUTE).
    Binary,
    /// By a cursor: the row is fetched later.
    Cursor,
}

/// A one-row, one-column result set.
#[derive(Debug, Clone, Copy)]
pub struct OneValue<'a> {
    /// `def`, in the client's results character set.
    pub catalog: &'a [u8],
    /// Column name, in the client's results character set.
    pub name: &'a [u8],
    /// Column type.
    pub column: ColumnType,
    /// The value, `None` for NULL.
    pub value: Option<u64>,
    /// Status flags of the session, in the EOF between definition and row.
    pub between: Status,
    /// Status flags of the session.
    pub status: Status,
    /// Warnings, counted after the rows only.
    pub warnings: u16,
    /// How the row comes.
    pub delivery: Delivery,
    /// Whether the column's definition is sent, which matters only to clients that negotiated
    /// to do without.
    pub metadata: bool,
    /// The server's own last packet, an OK in place of an EOF: it may carry tracked state.
    pub end: Option<&'a [u8]>,
}

impl OneValue<'_> {
    /// Encodes the whole response for a client with `capabilities`.
    pub fn encode(&self, out: &mut Vec<u8>, capabilities: Capabilities) {
        let mut seq = 2;
        let cursor = self.delivery == Delivery::Cursor;
        let shown = if cursor { Status::CURSOR_EXISTS } else { 0 };
        let status = Status(self.status.0 | shown);
        let optional = capabilities.has(Capabilities::OPTIONAL_METADATA)
            || capabilities.has(Capabilities::MARIADB_CACHE_METADATA);
        if optional {
            put_frame(out, 1, &[1, u8::from(self.metadata)]);
        } else {
            put_frame(out, 1, &[1]);
        }
        if self.metadata || !optional {
            put_frame(out, seq, &self.definition(capabilities));
            seq += 1;
        }
        if !capabilities.has(Capabilities::DEPRECATE_EOF) {
            let warnings = if cursor { self.warnings } else { 0 };
            let between = Status(self.between.0 | shown);
            put_frame(out, seq, &end(between, warnings, capabilities));
            seq += 1;
            if cursor {
                return;
            }
        }
        if !cursor {
            put_frame(out, seq, &self.row());
            seq += 1;
        }
        match self.end {
            // The status flags follow its header and two counts of zero.
            Some(&[header, 0, 0, low, high, ref rest @ ..]) => {
                let shown = Status(u16::from_le_bytes([low, high]) | shown).0.to_le_bytes();
                put_frame(out, seq, &[&[header, 0, 0], &shown[..], rest].concat());
            }
            _ => put_frame(out, seq, &end(status, self.warnings, capabilities)),
        }
    }

    fn definition(&self, capabilities: Capabilities) -> Vec<u8> {
        let mut p = Vec::with_capacity(32 + self.name.len());
        put_lenenc_bytes(&mut p, self.catalog);
        p.extend_from_slice(&[0, 0, 0]);
        put_lenenc_bytes(&mut p, self.name);
        // The column's name in its table.
        let cursor = self.delivery == Delivery::Cursor;
        put_lenenc_bytes(&mut p, if cursor { self.name } else { b"" });
        if capabilities.has(Capabilities::MARIADB_EXTENDED_METADATA) {
            p.push(0);
        }
        p.extend_from_slice(&[0x0c, 63, 0]);
        p.extend_from_slice(&self.column.length.to_le_bytes());
        p.push(self.column.kind);
        p.extend_from_slice(&self.column.flags.to_le_bytes());
        p.extend_from_slice(&[0, 0, 0]);
        p
    }

    fn row(&self) -> Vec<u8> {
        match (self.delivery, self.value) {
            (Delivery::Text, None) => vec![0xfb],
            (Delivery::Text, Some(v)) => {
                let mut p = Vec::new();
                put_lenenc_bytes(&mut p, v.to_string().as_bytes());
                p
            }
            (Delivery::Binary | Delivery::Cursor, value) => self.column.binary_row(value),
        }
    }
}

/// The end of definitions or rows: an EOF, or an OK in its place.
pub(super) fn end(status: Status, warnings: u16, capabilities: Capabilities) -> Vec<u8> {
    let [status, warnings] = [status.0, warnings].map(u16::to_le_bytes);
    if capabilities.has(Capabilities::DEPRECATE_EOF) {
        [&[0xfe, 0, 0], &status[..], &warnings[..]].concat()
    } else {
        [&[0xfe], &warnings[..], &status[..]].concat()
    }
}

/// Encodes the response to COM_STMT_FETCH: a row of one value, or none.
pub fn put_fetched(
    out: &mut Vec<u8>,
    column: ColumnType,
    row: Option<Option<u64>>,
    status: Status,
    capabilities: Capabilities,
) {
    if let Some(value) = row {
        put_frame(out, 1, &column.binary_row(value));
    }
    put_frame(out, 1 + u8::from(row.is_some()), &end(status, 0, capabilities));
}

/// Encodes an OK packet without rows, insert id, warnings or text.
pub fn put_ok(out: &mut Vec<u8>, seq: u8, status: Status) {
    let mut p = vec![0, 0, 0];
    p.extend_from_slice(&status.0.to_le_bytes());
    p.extend_from_slice(&[0, 0]);
    put_frame(out, seq, &p);
}
