//! Another error in place of the syntax error that ends a response.

use super::frame::FrameHeader;
use super::reply::ErrorReply;

/// ER_PARSE_ERROR as an error packet begins.
const SYNTAX_ERROR: [u8; 3] = [0xff, 0x28, 0x04];

/// Follows one response. No row and no definition begins like an error, so frames are enough.
#[derive(Debug)]
pub struct ErrorReplacement {
    error: ErrorReply,
    /// The start of a frame that is not all there.
    head: Vec<u8>,
    /// Bytes of the frame that are still to come, and whether the client gets them.
    left: usize,
    shown: bool,
    /// The next frame continues a packet.
    continues: bool,
}

impl ErrorReplacement {
    /// A filter for a response that has not begun.
    pub fn new(error: ErrorReply) -> Self {
        Self { error, head: Vec::new(), left: 0, shown: true, continues: false }
    }

    /// The bytes for the client in place of these bytes of the server's.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        loop {
            let (now, rest) = bytes.split_at(self.left.min(bytes.len()));
            if self.shown {
                out.extend_from_slice(now);
            }
            self.left -= now.len();
            let Some((byte, rest)) = rest.split_first() else {
                return out;
            };
            bytes = rest;
            self.head.push(*byte);
            self.decide(&mut out);
        }
    }

    /// Decides about a frame when enough of it is there.
    fn decide(&mut self, out: &mut Vec<u8>) {
        let Some((frame, start)) = FrameHeader::split(&self.head) else {
            return;
        };
        if start.len() < frame.len.min(SYNTAX_ERROR.len()) {
            return;
        }
        self.left = frame.len - start.len();
        self.shown = self.continues || start != SYNTAX_ERROR;
        if self.shown {
            out.extend_from_slice(&self.head);
        } else {
            self.error.encode(out, frame.seq, false);
        }
        self.continues = frame.continued();
        self.head.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::frame::put_frame;

    #[test]
    fn only_a_syntax_error_is_replaced_in_pieces_of_any_size() {
        let error = ErrorReply { code: 1235, state: "42000", message: "not supported".to_owned() };
        for (last, replaced) in [
            (&b"\xff\x28\x04#42000You have an error"[..], true),
            (b"\xff\x29\x04#23000Duplicate", false),
            (b"\xff", false),
            (b"", false),
            (b"\0\0\0\x02\0\0\0", false),
        ] {
            let mut response = Vec::new();
            put_frame(&mut response, 1, b"\x01");
            put_frame(&mut response, 2, b"\x03def and \xff\x28\x04");
            let mut expected = response.clone();
            put_frame(&mut response, 3, last);
            if replaced {
                error.encode(&mut expected, 3, false);
            } else {
                put_frame(&mut expected, 3, last);
            }
            for size in 1..=response.len() {
                let mut refusal = ErrorReplacement::new(error.clone());
                let out: Vec<u8> = response.chunks(size).flat_map(|c| refusal.feed(c)).collect();
                assert_eq!(out, expected, "{last:?} in pieces of {size}");
            }
        }
    }
}
