//! Packets that are forwarded while they come, and what becomes of a lock call that is found in one.

use super::pending::Whose;
use crate::frontend::session::{ClientState, Session};
use crate::lock::codes;
use crate::protocol::command::Shape;
use crate::protocol::error_replacement::ErrorReplacement;
use crate::protocol::frame::{FrameHeader, HEADER};
use crate::sql::find::stream::StreamFound;

impl Session {
    /// Looks at the body of a packet. Returns the bytes to be forwarded; none when a frame's header
    /// is not all there.
    pub(in crate::frontend) fn body(&mut self, bytes: &mut [u8]) -> usize {
        let ClientState::Body { left, continued, seq, stream } = &mut self.client_state else {
            return 0;
        };
        let n = (*left).min(bytes.len());
        *left -= n;
        let ended = *left == 0;
        let (goes_on, seq) = (*continued, *seq);
        let found = stream.as_mut().and_then(|stream| stream.pass(&mut bytes[..n]));
        if let Some(found) = found {
            self.refuse_streamed(found);
        }
        if !ended {
            return n;
        }
        if !goes_on {
            self.client_state = ClientState::Command;
            return n;
        }
        match FrameHeader::peek(&bytes[n..]) {
            None => n,
            Some(mut frame) => {
                if self.client.is_compressed() {
                    // As for a file. MariaDB's clients count the pieces only: it is 0 again.
                    frame.seq = seq;
                    bytes[n + HEADER - 1] = seq;
                }
                self.next_frame(frame);
                n + HEADER
            }
        }
    }

    /// Looks at a file that the client sends. Returns the bytes to be forwarded; none when a frame's
    /// header is not all there.
    pub(in crate::frontend) fn file(&mut self, bytes: &mut [u8]) -> usize {
        let ClientState::File { left, seq } = &mut self.client_state else {
            return 0;
        };
        if *left > 0 {
            let n = (*left).min(bytes.len());
            *left -= n;
            return n;
        }
        let Some(frame) = FrameHeader::peek(bytes) else {
            return 0;
        };
        if self.client.is_compressed() {
            // Nobody checks how packets in pieces are counted; the server checks it here.
            bytes[HEADER - 1] = *seq;
        }
        *seq = bytes[HEADER - 1].wrapping_add(1);
        *left = frame.len;
        let next = *seq;
        if frame.len == 0 {
            self.client_state = ClientState::Command;
            // The answer to the file continues the same response.
            self.client.result_follows();
            self.begin_response(Shape::Results, next);
        }
        HEADER
    }

    fn next_frame(&mut self, frame: FrameHeader) {
        if let Some(owed) = self.owed.back_mut() {
            // The answer is counted on from the command's last frame.
            owed.seq = frame.seq.wrapping_add(1);
        }
        if frame.len == 0 {
            self.client_state = ClientState::Command;
        } else if let ClientState::Body { left, continued, seq, .. } = &mut self.client_state {
            (*left, *continued) = (frame.len, frame.continued());
            *seq = frame.seq.wrapping_add(1);
        }
    }

    /// Most of the statement is at the server. Its rest was spoilt, so that the server refuses it:
    /// the client hears why.
    fn refuse_streamed(&mut self, found: StreamFound) {
        let what = refusal(found);
        if let Some(watch) = &mut self.watch {
            watch.long(what);
            return;
        }
        let native = self.runs_uncovered();
        // Its text is long gone.
        self.note_unsupported(what, b"", native);
        if native {
            return;
        }
        // The last response owed is this statement's, unless the server has given up on it.
        if let Some(owed) = self.owed.back_mut() {
            owed.whose = Whose::Refused(Box::new(ErrorReplacement::new(codes::unsupported(what))));
        }
    }
}

fn refusal(found: StreamFound) -> &'static str {
    match found {
        StreamFound::Call => "a lock function in a statement longer than 64 KiB",
        StreamFound::PerhapsCall => {
            "text that is a call of a lock function in some SQL modes or character sets, in a \
             statement longer than 64 KiB"
        }
        StreamFound::Prepared => "a lock function in a text to be prepared, longer than 64 KiB",
    }
}
