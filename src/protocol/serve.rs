//! Packets of a server, for the proxy's own administration port: a greeting, and result sets of text.

use super::capabilities::Capabilities;
use super::frame::put_frame;
use super::reader::put_lenenc_bytes;
use super::reply::end;
use super::status::Status;

/// The authentication plugin that clients are asked for.
pub const PLUGIN: &str = "caching_sha2_password";
/// The offered capabilities: of those that change packets only the newer end of rows.
pub const OFFERED: Capabilities = Capabilities(
    Capabilities::MYSQL.0
        | Capabilities::CONNECT_WITH_DB.0
        | Capabilities::PROTOCOL_41.0
        | Capabilities::SECURE_CONNECTION.0
        | Capabilities::PLUGIN_AUTH.0
        | Capabilities::CONNECT_ATTRS.0
        | Capabilities::PLUGIN_AUTH_LENENC.0
        | Capabilities::DEPRECATE_EOF.0,
);
/// utf8mb4_general_ci.
const UTF8MB4: u8 = 45;

/// The greeting's payload.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_handshake_v10.html>
pub fn greeting(
    version: &str,
    connection: u32,
    nonce: &[u8; 20],
    offered: Capabilities,
) -> Vec<u8> {
    let bits = offered.0.to_le_bytes();
    let mut p = vec![10];
    p.extend_from_slice(version.as_bytes());
    p.push(0);
    p.extend_from_slice(&connection.to_le_bytes());
    p.extend_from_slice(&nonce[..8]);
    p.push(0);
    p.extend_from_slice(&bits[..2]);
    p.push(UTF8MB4);
    p.extend_from_slice(&Status::AUTOCOMMIT.to_le_bytes());
    p.extend_from_slice(&bits[2..4]);
    p.push(21);
    p.extend_from_slice(&[0; 10]);
    p.extend_from_slice(&nonce[8..]);
    p.push(0);
    p.extend_from_slice(PLUGIN.as_bytes());
    p.push(0);
    p
}

/// The kind of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Text in utf8mb4.
    Text,
    /// An integer without a sign.
    Number,
    /// A number with a fraction.
    Fraction,
}

/// Appends a result set in the text protocol, the answer to packet 0, that comes with so many warnings.
pub fn put_result_set<'a>(
    out: &mut Vec<u8>,
    columns: &[(&str, ColumnKind)],
    rows: impl Iterator<Item = Vec<Option<&'a [u8]>>>,
    capabilities: Capabilities,
    warnings: u16,
) {
    let mut seq = 0_u8;
    let mut put = |payload: &[u8]| {
        seq = seq.wrapping_add(1);
        put_frame(out, seq, payload);
    };
    let count = u8::try_from(columns.len()).unwrap_or(u8::MAX);
    put(&[count]);
    for (name, kind) in columns.iter().take(usize::from(count)) {
        put(&definition(name, *kind));
    }
    let status = Status(Status::AUTOCOMMIT);
    if !capabilities.has(Capabilities::DEPRECATE_EOF) {
        put(&end(status, 0, capabilities));
    }
    for row in rows {
        let mut payload = Vec::new();
        for value in row {
            match value {
                Some(value) => put_lenenc_bytes(&mut payload, value),
                None => payload.push(0xfb),
            }
        }
        put(&payload);
    }
    put(&end(status, warnings, capabilities));
}

fn definition(name: &str, kind: ColumnKind) -> Vec<u8> {
    /// A number's character set is that of bytes.
    const BINARY: u8 = 63;
    const UNSIGNED: u16 = 32;
    const NUMBER: u16 = 1 << 15;
    let (byte, charset, length, flags, decimals) = match kind {
        ColumnKind::Text => (253, UTF8MB4, 1024_u32, 0, 0),
        ColumnKind::Number => (8, BINARY, 20, UNSIGNED | NUMBER, 0),
        ColumnKind::Fraction => (5, BINARY, 22, NUMBER, 31),
    };
    let mut p = Vec::new();
    for text in ["def", "", "", "", name, ""] {
        put_lenenc_bytes(&mut p, text.as_bytes());
    }
    p.push(12);
    p.extend_from_slice(&[charset, 0]);
    p.extend_from_slice(&length.to_le_bytes());
    p.push(byte);
    p.extend_from_slice(&flags.to_le_bytes());
    p.extend_from_slice(&[decimals, 0, 0]);
    p
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::handshake::Greeting;

    #[test]
    fn a_greeting_is_read_as_it_was_written() {
        let nonce = std::array::from_fn(|n| u8::try_from(n + 1).expect("small"));
        let greeting =
            Greeting::parse(&greeting("9.0.0-x", 77, &nonce, OFFERED)).expect("a greeting");
        assert_eq!(greeting.connection.0, 77);
        assert_eq!(greeting.nonce, nonce);
        assert_eq!(greeting.plugin, PLUGIN.as_bytes());
        assert_eq!(greeting.capabilities, OFFERED);
    }
}
