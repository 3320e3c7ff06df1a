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

/// A one-row, one-column result set.
#[derive(Debug, Clone, Copy)]
pub struct OneValue<'a> {
    /// Column name, in the client's results character set.
    pub name: &'a [u8],
    /// Column type.
    pub column: ColumnType,
    /// The value, `None` for NULL.
    pub value: Option<u64>,
    /// Status flags of the session.
    pub status: Status,
    /// Warnings, counted behind the rows only.
    pub warnings: u16,
    /// Binary protocol (COM_STMT_EXECUTE) or text.
    pub binary: bool,
    /// Whether the column's definition is sent, which matters only to clients that negotiated
    /// to do without.
    pub metadata: bool,
}

impl OneValue<'_> {
    /// Encodes the whole response for a client with `capabilities`.
    pub fn encode(&self, out: &mut Vec<u8>, capabilities: Capabilities) {
        let mut seq = 2;
        if capabilities.has(Capabilities::OPTIONAL_METADATA) {
            put_frame(out, 1, &[1, u8::from(self.metadata)]);
        } else {
            put_frame(out, 1, &[1]);
        }
        if self.metadata || !capabilities.has(Capabilities::OPTIONAL_METADATA) {
            put_frame(out, seq, &self.definition(capabilities));
            seq += 1;
        }
        if !capabilities.has(Capabilities::DEPRECATE_EOF) {
            put_frame(out, seq, &self.end(capabilities, 0));
            seq += 1;
        }
        put_frame(out, seq, &self.row());
        put_frame(out, seq + 1, &self.end(capabilities, self.warnings));
    }

    fn definition(&self, capabilities: Capabilities) -> Vec<u8> {
        let mut p = Vec::with_capacity(32 + self.name.len());
        put_lenenc_bytes(&mut p, b"def");
        p.extend_from_slice(&[0, 0, 0]);
        put_lenenc_bytes(&mut p, self.name);
        p.push(0);
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
        match (self.binary, self.value) {
            (false, None) => vec![0xfb],
            (false, Some(v)) => {
                let mut p = Vec::new();
                put_lenenc_bytes(&mut p, v.to_string().as_bytes());
                p
            }
            (true, None) => vec![0, 0b100],
            (true, Some(v)) => {
                let mut p = vec![0, 0];
                let bytes = v.to_le_bytes();
                p.extend_from_slice(if self.column.kind == 8 { &bytes } else { &bytes[..4] });
                p
            }
        }
    }

    fn end(&self, capabilities: Capabilities, warnings: u16) -> Vec<u8> {
        let [status, warnings] = [self.status.0, warnings].map(u16::to_le_bytes);
        if capabilities.has(Capabilities::DEPRECATE_EOF) {
            [&[0xfe, 0, 0], &status[..], &warnings[..]].concat()
        } else {
            [&[0xfe], &warnings[..], &status[..]].concat()
        }
    }
}

/// Encodes an OK packet without rows, insert id, warnings or text.
pub fn put_ok(out: &mut Vec<u8>, seq: u8, status: Status) {
    let mut p = vec![0, 0, 0];
    p.extend_from_slice(&status.0.to_le_bytes());
    p.extend_from_slice(&[0, 0]);
    put_frame(out, seq, &p);
}

/// What stands in front of a COM_QUERY's text: with query attributes negotiated, an empty block.
pub fn query_prefix(capabilities: Capabilities) -> &'static [u8] {
    if capabilities.has(Capabilities::QUERY_ATTRIBUTES) { &[3, 0, 1] } else { &[3] }
}

/// Encodes a COM_QUERY without query attributes.
pub fn query(text: &[u8], capabilities: Capabilities) -> Vec<u8> {
    let mut p = Vec::with_capacity(text.len() + 3);
    p.extend_from_slice(query_prefix(capabilities));
    p.extend_from_slice(text);
    let mut out = Vec::with_capacity(p.len() + 4);
    put_frame(&mut out, 0, &p);
    out
}
