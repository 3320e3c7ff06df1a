//! What the client's next bytes are.

use crate::protocol::command::Command;
use crate::protocol::frame::{FrameHeader, HEADER};
use crate::sql::find::stream::{Stream, StreamFound};

/// What the client's next bytes are.
#[derive(Debug)]
pub(crate) enum ClientInput {
    /// A command.
    Command,
    /// The rest of a packet that is forwarded: bytes left in its frame, whether another frame
    /// follows, and with which sequence id. A long statement is searched for lock calls on its way.
    Body { left: usize, continued: bool, seq: u8, stream: Option<Box<Stream>> },
    /// The rest of a packet that is not forwarded.
    Dropped(Dropped),
    /// The file that the server asked for, up to an empty packet: bytes left in a frame, and the
    /// next one's sequence id.
    File { left: usize, seq: u8 },
    /// Both sides talk freely (replication).
    Pipe,
}

/// A packet that is read to its end and not forwarded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dropped {
    /// The prepared statement that it is for.
    pub id: u32,
    /// Command of the packet.
    pub command: Command,
    left: usize,
    continued: bool,
    /// Sequence id of the last frame.
    pub seq: u8,
}

/// What was looked at of a packet's body.
#[derive(Debug, Default)]
pub(super) struct BodyPart {
    /// Bytes to be forwarded; none when a frame's header is not all there.
    pub(super) bytes: usize,
    /// A lock call that was found in them.
    pub(super) found: Option<StreamFound>,
    /// The sequence id of the frame that begins with the last of them.
    pub(super) frame: Option<u8>,
}

impl ClientInput {
    /// The head of a packet that is read to its end and not forwarded: it is for this prepared statement. `None`: it is not
    /// all there.
    pub(super) fn dropping(id: u32, bytes: &[u8]) -> Option<Self> {
        let frame = FrameHeader::peek(bytes)?;
        let command = Command(bytes.get(HEADER).copied().unwrap_or(0));
        let (left, continued, seq) = (frame.len, frame.continued(), frame.seq);
        Some(Self::Dropped(Dropped { id, command, left, continued, seq }))
    }

    /// Whether the next byte begins a command.
    pub(super) fn is_command(&self) -> bool {
        matches!(self, Self::Command)
    }

    /// Looks at the body of a packet that is forwarded. `compressed`: the client's leg is.
    pub(super) fn body(&mut self, bytes: &mut [u8], compressed: bool) -> BodyPart {
        let Self::Body { left, continued, seq, stream } = self else {
            return BodyPart::default();
        };
        let (body, rest) = bytes.split_at_mut((*left).min(bytes.len()));
        *left -= body.len();
        let found = stream.as_mut().and_then(|stream| stream.pass(body));
        let part = BodyPart { bytes: body.len(), found, frame: None };
        if *left > 0 {
            return part;
        }
        if !*continued {
            *self = Self::Command;
            return part;
        }
        let (Some(mut frame), Some(number)) = (FrameHeader::peek(rest), rest.get_mut(HEADER - 1))
        else {
            return part;
        };
        if compressed {
            // As for a file. MariaDB's clients count the pieces only: it is 0 again.
            frame.seq = *seq;
            *number = *seq;
        }
        (*left, *continued, *seq) = (frame.len, frame.continued(), frame.seq.wrapping_add(1));
        if frame.len == 0 {
            *self = Self::Command;
        }
        BodyPart { bytes: part.bytes + HEADER, frame: Some(frame.seq), ..part }
    }

    /// Looks at a file that the client sends. Returns the bytes to be forwarded, none when a frame's header is not all
    /// there; and at the end of the file, the sequence id of the answer.
    pub(super) fn file(&mut self, bytes: &mut [u8], compressed: bool) -> (usize, Option<u8>) {
        let Self::File { left, seq } = self else {
            return (0, None);
        };
        if *left > 0 {
            let n = (*left).min(bytes.len());
            *left -= n;
            return (n, None);
        }
        let (Some(frame), Some(number)) = (FrameHeader::peek(bytes), bytes.get_mut(HEADER - 1))
        else {
            return (0, None);
        };
        if compressed {
            // Nobody checks how packets in pieces are counted; the server checks it here.
            *number = *seq;
        }
        *seq = number.wrapping_add(1);
        *left = frame.len;
        let next = *seq;
        if frame.len > 0 {
            return (HEADER, None);
        }
        *self = Self::Command;
        (HEADER, Some(next))
    }

    /// Drops bytes; none when a frame's header is not all there. The packet, if that was its end.
    pub(super) fn drop_body(&mut self, bytes: &[u8]) -> (usize, Option<Dropped>) {
        let Self::Dropped(dropped) = self else {
            return (0, None);
        };
        let mut n = dropped.left.min(bytes.len());
        dropped.left -= n;
        if dropped.left == 0 && dropped.continued {
            let Some(frame) = bytes.get(n..).and_then(FrameHeader::peek) else {
                return (n, None);
            };
            n += HEADER;
            (dropped.left, dropped.continued, dropped.seq) =
                (frame.len, frame.continued(), frame.seq);
        }
        if dropped.left > 0 || dropped.continued {
            return (n, None);
        }
        let whole = *dropped;
        *self = Self::Command;
        (n, Some(whole))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame's header.
    fn header(len: usize, seq: u8) -> Vec<u8> {
        let [a, b, c, ..] = len.to_le_bytes();
        vec![a, b, c, seq]
    }

    #[test]
    fn a_long_packet_goes_on_in_its_next_frame() {
        let mut input = ClientInput::Body { left: 3, continued: true, seq: 1, stream: None };
        let mut bytes = [vec![1, 2, 3], header(2, 1), vec![4, 5]].concat();
        let part = input.body(&mut bytes, false);
        assert_eq!((part.bytes, part.frame), (3 + HEADER, Some(1)));
        let part = input.body(&mut bytes[3 + HEADER..], false);
        assert_eq!((part.bytes, part.frame, input.is_command()), (2, None, true));
    }

    #[test]
    fn a_header_that_has_not_come_is_waited_for() {
        let mut input = ClientInput::Body { left: 0, continued: true, seq: 1, stream: None };
        assert_eq!(input.body(&mut [0, 0], false).bytes, 0);
        assert!(!input.is_command());
        let mut end = header(0, 1);
        assert_eq!(input.body(&mut end, false).bytes, HEADER);
        assert!(input.is_command(), "an empty frame ends a packet of exactly 16 MiB");
    }

    #[test]
    fn pieces_of_compressed_packets_are_counted_again() {
        let mut input = ClientInput::Body { left: 0, continued: true, seq: 3, stream: None };
        let mut bytes = header(1, 0);
        assert_eq!(input.body(&mut bytes, true).frame, Some(3));
        assert_eq!(bytes, header(1, 3));
    }

    #[test]
    fn an_empty_packet_ends_a_file() {
        let mut input = ClientInput::File { left: 0, seq: 2 };
        assert_eq!(input.file(&mut header(2, 2), false), (HEADER, None));
        assert_eq!(input.file(&mut [7, 7], false), (2, None));
        assert_eq!(input.file(&mut header(0, 3), false), (HEADER, Some(4)));
        assert!(input.is_command());
    }

    #[test]
    fn a_dropped_packet_tells_its_last_frame() {
        let first = [header(0xff_ffff, 0), vec![0x17]].concat();
        let mut input = ClientInput::dropping(9, &first).expect("a header");
        let body = vec![0; 0xff_ffff];
        assert_eq!(input.drop_body(&body).0, body.len(), "its next header is waited for");
        let (n, whole) = input.drop_body(&header(0, 1));
        let whole = whole.expect("its end");
        assert_eq!((n, whole.id, whole.seq, whole.command), (HEADER, 9, 1, Command(0x17)));
    }
}
