//! Packets that are forwarded while they come, and what becomes of a lock call that is found in one.

use super::owed::Whose;
use super::session::{ClientState, Session};
use crate::lock::codes;
use crate::protocol::frame::{FrameHeader, HEADER};
use crate::protocol::refusal::Refusal;
use crate::sql::stream::Found;

impl Session {
    /// Looks at the body of a packet. Returns the bytes to be forwarded; none when a frame's header
    /// is not all there.
    pub(super) fn body(&mut self, bytes: &mut [u8]) -> usize {
        let ClientState::Body { left, continued, stream } = &mut self.client_state else {
            return 0;
        };
        let n = (*left).min(bytes.len());
        *left -= n;
        let ended = *left == 0;
        let goes_on = *continued;
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
            Some(frame) => {
                self.next_frame(frame);
                n + HEADER
            }
        }
    }

    fn next_frame(&mut self, frame: FrameHeader) {
        if frame.len == 0 {
            self.client_state = ClientState::Command;
        } else if let ClientState::Body { left, continued, .. } = &mut self.client_state {
            (*left, *continued) = (frame.len, frame.continued());
        }
    }

    /// Most of the statement is at the server. Its rest was spoilt, so that the server refuses it:
    /// the client hears why.
    fn refuse_streamed(&mut self, found: Found) {
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
            owed.whose = Whose::Refused(Box::new(Refusal::new(codes::unsupported(what))));
        }
    }
}

fn refusal(found: Found) -> &'static str {
    match found {
        Found::Call => "a lock function in a statement longer than 64 KiB",
        Found::PerhapsCall => {
            "text that is a call of a lock function in some SQL modes or character sets, in a \
             statement longer than 64 KiB"
        }
        Found::Prepared => "a lock function in a text to be prepared, longer than 64 KiB",
    }
}
