//! Packets with their frame around them: commands that the proxy sends to a server.

use super::capabilities::Capabilities;
use super::command::Command;
use super::frame::{HEADER, MAX_PAYLOAD, at_most};

/// The payload made of `parts`, as one packet. A payload that does not fit one frame is cut, as
/// `put_frame` does.
pub fn packet(seq: u8, parts: &[&[u8]]) -> Vec<u8> {
    let len = parts.iter().map(|part| part.len()).sum::<usize>().min(MAX_PAYLOAD - 1);
    let mut out = Vec::with_capacity(HEADER + len);
    let [a, b, c, ..] = len.to_le_bytes();
    out.extend_from_slice(&[a, b, c, seq]);
    for part in parts {
        let room = HEADER + len - out.len();
        out.extend_from_slice(at_most(part, room));
    }
    out
}

/// A command of these parts, its command byte in the first.
pub fn command(parts: &[&[u8]]) -> Vec<u8> {
    packet(0, parts)
}

/// COM_QUERY without query attributes.
pub fn query(text: &[u8], capabilities: Capabilities) -> Vec<u8> {
    command(&[query_prefix(capabilities), text])
}

/// The statement that empties the list of warnings and errors. MariaDB keeps it where no table is used; to neither server
/// is this one a transaction.
pub fn clear_diagnostics(capabilities: Capabilities) -> Vec<u8> {
    query(b"SELECT 1 FROM (SELECT 1) t LIMIT 1", capabilities)
}

/// The bytes before a COM_QUERY's text: with query attributes negotiated, an empty block of them.
pub fn query_prefix(capabilities: Capabilities) -> &'static [u8] {
    if capabilities.has(Capabilities::QUERY_ATTRIBUTES) {
        &[Command::QUERY.0, 0, 1]
    } else {
        &[Command::QUERY.0]
    }
}

/// COM_STMT_PREPARE.
pub fn prepare(text: &[u8]) -> Vec<u8> {
    command(&[&[Command::STMT_PREPARE.0], text])
}

/// COM_STMT_EXECUTE of a statement without parameters.
pub fn execute(id: u32, flags: u8) -> Vec<u8> {
    command(&[&execute_head(id, flags)])
}

/// The payload of a COM_STMT_EXECUTE up to its parameters. The server runs it once.
pub fn execute_head(id: u32, flags: u8) -> [u8; 10] {
    let [a, b, c, d] = id.to_le_bytes();
    [Command::STMT_EXECUTE.0, a, b, c, d, flags, 1, 0, 0, 0]
}

/// COM_STMT_CLOSE, which gets no reply.
pub fn close_statement(id: u32) -> Vec<u8> {
    command(&[&[Command::STMT_CLOSE.0], &id.to_le_bytes()])
}

/// COM_STMT_RESET: drops long data and closes the cursor.
pub fn reset_statement(id: u32) -> Vec<u8> {
    command(&[&[Command::STMT_RESET.0], &id.to_le_bytes()])
}

/// COM_PING.
pub fn ping() -> Vec<u8> {
    command(&[&[Command::PING.0]])
}

/// COM_QUIT, which gets no reply.
pub fn quit() -> Vec<u8> {
    command(&[&[Command::QUIT.0]])
}

/// COM_RESET_CONNECTION.
pub fn reset_connection() -> Vec<u8> {
    command(&[&[Command::RESET_CONNECTION.0]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::frame::{FrameHeader, put_frame};

    #[test]
    fn parts_become_one_packet() {
        let mut expected = Vec::new();
        put_frame(&mut expected, 7, b"abc");
        assert_eq!(packet(7, &[b"a", b"", b"bc"]), expected);
        assert_eq!(packet(0, &[]), [0, 0, 0, 0]);
    }

    #[test]
    fn a_payload_beyond_one_frame_is_cut_as_put_frame_cuts_it() {
        let half = vec![b'x'; MAX_PAYLOAD / 2 + 1];
        let mut expected = Vec::new();
        put_frame(&mut expected, 0, &[&half[..], &half].concat());
        let cut = packet(0, &[&half, &half, b"never"]);
        assert_eq!(FrameHeader::peek(&cut).map(|f| f.len), Some(MAX_PAYLOAD - 1));
        assert!(cut == expected, "{} and {} bytes", cut.len(), expected.len());
    }

    #[test]
    fn commands_are_the_bytes_that_servers_document() {
        let plain = Capabilities(0);
        let attributes = plain.with(Capabilities::QUERY_ATTRIBUTES);
        for (packet, expected) in [
            (query(b"DO 1", plain), &b"\x05\0\0\0\x03DO 1"[..]),
            (query(b"DO 1", attributes), b"\x07\0\0\0\x03\0\x01DO 1"),
            (prepare(b"DO ?"), b"\x05\0\0\0\x16DO ?"),
            (execute(0x0403_0201, 9), b"\x0a\0\0\0\x17\x01\x02\x03\x04\x09\x01\0\0\0"),
            (close_statement(0x0403_0201), b"\x05\0\0\0\x19\x01\x02\x03\x04"),
            (reset_statement(2), b"\x05\0\0\0\x1a\x02\0\0\0"),
            (ping(), b"\x01\0\0\0\x0e"),
            (quit(), b"\x01\0\0\0\x01"),
            (reset_connection(), b"\x01\0\0\0\x1f"),
        ] {
            assert_eq!(packet, expected);
        }
    }
}
