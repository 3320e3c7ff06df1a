//! Packets that are forwarded while they come: long ones, and files.

use super::Link;
use super::from_client::Dispatch;
use super::input::ClientInput;
use super::pending::Recipient;
use crate::protocol::command::Shape;
use crate::protocol::frame::{FrameHeader, HEADER};

impl Link {
    /// Looks at the body of a packet. Returns the bytes to be forwarded; none when a frame's header
    /// is not all there.
    pub(super) fn body(&mut self, dispatch: &mut impl Dispatch, bytes: &mut [u8]) -> usize {
        let ClientInput::Body { left, continued, seq, stream } = &mut self.input else {
            return 0;
        };
        let (body, rest) = bytes.split_at_mut((*left).min(bytes.len()));
        let n = body.len();
        *left -= n;
        let ended = *left == 0;
        let (goes_on, seq) = (*continued, *seq);
        let found = stream.as_mut().and_then(|stream| stream.pass(body));
        if let Some(found) = found
            && let Some(refusal) = dispatch.found(self, found)
            // The last response owed is this statement's, unless the server has given up on it.
            && let Some(response) = self.pending.back_mut()
        {
            response.recipient = Recipient::Refused(Box::new(refusal));
        }
        if !ended {
            return n;
        }
        if !goes_on {
            self.input = ClientInput::Command;
            return n;
        }
        match (FrameHeader::peek(rest), rest.get_mut(HEADER - 1)) {
            (Some(mut frame), Some(number)) => {
                if self.client.is_compressed() {
                    // As for a file. MariaDB's clients count the pieces only: it is 0 again.
                    frame.seq = seq;
                    *number = seq;
                }
                self.next_frame(frame);
                n + HEADER
            }
            _ => n,
        }
    }

    /// Looks at a file that the client sends. Returns the bytes to be forwarded; none when a frame's
    /// header is not all there.
    pub(super) fn file(&mut self, bytes: &mut [u8]) -> usize {
        let ClientInput::File { left, seq } = &mut self.input else {
            return 0;
        };
        if *left > 0 {
            let n = (*left).min(bytes.len());
            *left -= n;
            return n;
        }
        let (Some(frame), Some(number)) = (FrameHeader::peek(bytes), bytes.get_mut(HEADER - 1))
        else {
            return 0;
        };
        if self.client.is_compressed() {
            // Nobody checks how packets in pieces are counted; the server checks it here.
            *number = *seq;
        }
        *seq = number.wrapping_add(1);
        *left = frame.len;
        let next = *seq;
        if frame.len == 0 {
            self.input = ClientInput::Command;
            // The answer to the file continues the same response.
            self.client.result_follows();
            let shape = self.pending.front().map_or(Shape::Results, |response| response.shape);
            self.begin_response(shape, next);
        }
        HEADER
    }

    fn next_frame(&mut self, frame: FrameHeader) {
        if let Some(response) = self.pending.back_mut() {
            // The answer is counted on from the command's last frame.
            response.seq = frame.seq.wrapping_add(1);
        }
        if frame.len == 0 {
            self.input = ClientInput::Command;
        } else if let ClientInput::Body { left, continued, seq, .. } = &mut self.input {
            (*left, *continued) = (frame.len, frame.continued());
            *seq = frame.seq.wrapping_add(1);
        }
    }
}
