//! Packets that are too long to be held back and are not for the server: read to their end, and
//! answered in their turn.

use super::Link;
use super::input::{ClientInput, Dropped};
use crate::protocol::command::Command;
use crate::protocol::frame::{FrameHeader, HEADER};

impl Link {
    /// Starts to drop the packet at the start of `bytes`. Returns the bytes of its head.
    pub(super) fn start_dropping(&mut self, id: u32, bytes: &[u8]) -> usize {
        let Some(frame) = FrameHeader::peek(bytes) else {
            return 0;
        };
        let command = Command(bytes.get(HEADER).copied().unwrap_or(0));
        let (left, continued, seq) = (frame.len, frame.continued(), frame.seq);
        self.input = ClientInput::Dropped(Dropped { id, command, left, continued, seq });
        HEADER
    }

    /// Drops bytes; none when a frame's header is not all there. The packet, if that was its end.
    pub(super) fn drop_body(&mut self, bytes: &[u8]) -> (usize, Option<Dropped>) {
        let ClientInput::Dropped(dropped) = &mut self.input else {
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
        self.input = ClientInput::Command;
        (n, Some(whole))
    }
}
