//! What the client gets in place of a response that reports a lock it does not have.

use crate::lock::function::Function;
use crate::protocol::column::is_definition;
use crate::protocol::frame::{HEADER, frames, put_frame};
use crate::protocol::reply::ErrorReply;
use crate::types::ConnectionId;

/// The type of a column of four bytes.
const LONG: u8 = 3;

/// The whole response to a GET_LOCK that gave 1, with 0 in its place. Text or binary.
pub(super) fn with_zero(response: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(response.len());
    let mut columns = false;
    let mut done = false;
    for frame in frames(response) {
        let payload = &frame[HEADER..];
        let at = out.len();
        out.extend_from_slice(frame);
        let is_row = columns && !is_definition(payload) && !matches!(payload, [0xfe | 0xff, ..]);
        if is_row && !done {
            done = true;
            match payload {
                // Text: the length, and the digit.
                [1, _] => out[at + HEADER + 1] = b'0',
                // Binary: the header, the bits of NULLs, and the number.
                [0, _, number @ ..] => {
                    let start = at + HEADER + 2;
                    out[start..start + number.len()].fill(0);
                }
                _ => {}
            }
        }
        columns = true;
    }
    out
}

/// Whether the whole response to a GET_LOCK says that it gave 1.
pub(super) fn says_one(response: &[u8]) -> bool {
    with_zero(response) != response
}

/// The whole response to a call that looks at a lock, which this connection holds. Text or binary.
pub(super) fn held_by(response: &[u8], function: Function, conn: ConnectionId) -> Vec<u8> {
    if function == Function::IsFreeLock {
        return with_zero(response);
    }
    let mut out = Vec::with_capacity(response.len() + 20);
    let mut kind = None;
    for frame in frames(response) {
        let payload = &frame[HEADER..];
        if is_definition(payload) {
            // The type is followed by flags, decimals, and a filler of two bytes.
            kind = payload.len().checked_sub(6).map(|at| payload[at]);
        }
        let number = match (payload, kind) {
            // Text: NULL, or the length and the digits.
            ([0xfb] | [1..=20, b'0'..=b'9', ..], Some(_)) => {
                let digits = conn.0.to_string();
                let length = u8::try_from(digits.len()).unwrap_or_default();
                Some([&[length], digits.as_bytes()].concat())
            }
            // Binary: the header, and the bits of NULLs.
            ([0, 4] | [0, 0, _, _, _, _], Some(LONG)) => {
                Some([&[0, 0], &conn.0.to_le_bytes()[..4]].concat())
            }
            ([0, 4] | [0, 0, _, _, _, _, _, _, _, _], Some(_)) => {
                Some([&[0, 0], &conn.0.to_le_bytes()[..]].concat())
            }
            _ => None,
        };
        match number {
            Some(row) => put_frame(&mut out, frame[HEADER - 1], &row),
            None => out.extend_from_slice(frame),
        }
    }
    out
}

/// An error in place of what was held back of a response.
pub(super) fn error_instead(held: &[u8], error: &ErrorReply) -> Vec<u8> {
    let seq = held.get(HEADER - 1).copied().unwrap_or(1);
    let mut out = Vec::new();
    error.encode(&mut out, seq, false);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(packets: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        for (seq, packet) in (1..).zip(packets) {
            put_frame(&mut out, seq, packet);
        }
        out
    }

    #[test]
    fn the_number_becomes_zero_and_all_else_stays() {
        let definition = b"\x03def\0\0\0\x01x\0\x0c\x2d\0\x01\0\0\0\x08\x81\0\0\0\0";
        let eof = b"\xfe\0\0\x02\0";
        for (one, zero) in [
            (&b"\x011"[..], &b"\x010"[..]),
            (b"\0\0\x01\0\0\0\0\0\0\0", b"\0\0\0\0\0\0\0\0\0\0"),
            (b"\0\0\x01\0\0\0", b"\0\0\0\0\0\0"),
        ] {
            for (before, after) in [
                (
                    response(&[&[1], definition, eof, one, eof]),
                    response(&[&[1], definition, eof, zero, eof]),
                ),
                (response(&[&[1], definition, one, eof]), response(&[&[1], definition, zero, eof])),
            ] {
                assert_eq!(with_zero(&before), after);
                assert!(says_one(&before) && !says_one(&after));
            }
        }
    }

    #[test]
    fn a_holder_takes_the_place_of_null_and_of_another() {
        for (kind, null, number) in [
            (8, &b"\xfb"[..], &b"\x03258"[..]),
            (8, b"\x0217", b"\x03258"),
            (3, b"\0\x04", b"\0\0\x02\x01\0\0"),
            (3, b"\0\0\x11\0\0\0", b"\0\0\x02\x01\0\0"),
            (8, b"\0\x04", b"\0\0\x02\x01\0\0\0\0\0\0"),
            (8, b"\0\0\x11\0\0\0\0\0\0\0", b"\0\0\x02\x01\0\0\0\0\0\0"),
        ] {
            let definition =
                [&b"\x03def\0\0\0\x01x\0\x0c\x3f\0\x0a\0\0\0"[..], &[kind], b"\x81\0\0\0\0"];
            let definition = definition.concat();
            let (null, number) = (
                response(&[&[1], &definition, null, b"\xfe\0\0\x02\0"]),
                response(&[&[1], &definition, number, b"\xfe\0\0\x02\0"]),
            );
            assert_eq!(held_by(&null, Function::IsUsedLock, ConnectionId(258)), number);
        }
    }

    #[test]
    fn an_error_takes_the_number_of_the_packet_it_replaces() {
        let error = ErrorReply { code: 1105, state: "HY000", message: "no".into() };
        let all = response(&[b"a", b"b"]);
        assert_eq!(error_instead(&all, &error)[3], 1);
        assert_eq!(error_instead(&all[5..], &error)[3], 2);
    }
}
