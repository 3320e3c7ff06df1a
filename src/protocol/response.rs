//! Follows a server's response packet by packet, without keeping it.
//!
//! The tracker is fed bytes as they arrive and says where the response ends, so that the relay knows when the server is
//! idle. Of each packet, at most the first [`HEAD`] bytes are looked at.

use super::capabilities::Capabilities;
use super::command::Shape;
use super::ending::HEAD;
use super::frame::{FrameHeader, HEADER};
use super::grammar::Grammar;

pub use super::ending::Ending;
pub use super::grammar::{PrepareOk, Progress};

/// Tracks one response after the other.
#[derive(Debug)]
pub struct Tracker {
    grammar: Grammar,
    /// The start of a frame of which too little was there at once.
    head: Vec<u8>,
    /// Payload bytes of the current frame that are still to be skipped.
    skip: usize,
    /// The next frame continues the current packet.
    continues: bool,
    /// The result when the current packet is complete.
    verdict: Option<Progress>,
    /// Sequence id of the last frame.
    seq: u8,
    /// The sequence id of the next frame, where packets are counted.
    next: Option<u8>,
}

impl Tracker {
    /// A tracker for a connection that negotiated `capabilities`.
    pub fn new(capabilities: Capabilities) -> Self {
        Self {
            grammar: Grammar::new(capabilities),
            head: Vec::new(),
            skip: 0,
            continues: false,
            verdict: None,
            seq: 0,
            next: None,
        }
    }

    /// Starts on the response to a command.
    pub fn start_response(&mut self, shape: Shape) {
        self.grammar.start_response(shape);
        self.next = None;
    }

    /// The response begins with this sequence id. Another one belongs to another response.
    pub fn count_from(&mut self, seq: u8) {
        self.next = Some(seq);
    }

    /// Whether a response is under way; the rest of its last packet counts.
    pub fn active(&self) -> bool {
        self.grammar.is_active() || self.verdict.is_some()
    }

    /// Whether the last byte fed ended a packet.
    pub fn at_packet_boundary(&self) -> bool {
        self.head.is_empty() && self.skip == 0 && !self.continues
    }

    /// The sequence id of the last frame.
    pub fn last_seq(&self) -> u8 {
        self.seq
    }

    /// Whether the response has no end that could be seen: its first packet was no error.
    pub fn is_endless(&self) -> bool {
        self.grammar.is_endless()
    }

    /// Consumes bytes up to the end of the response, or all of them.
    pub fn feed(&mut self, bytes: &[u8]) -> (usize, Progress) {
        let mut at = 0;
        loop {
            if self.grammar.is_endless() {
                return (bytes.len(), Progress::Continue);
            }
            let skipped = self.skip.min(bytes.len() - at);
            self.skip -= skipped;
            at += skipped;
            if self.skip > 0 {
                return (at, Progress::Continue);
            }
            if !self.continues
                && let Some(progress) = self.verdict.take()
            {
                return (at, progress);
            }
            let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) else {
                return (at, Progress::Continue);
            };
            at += self.read_head(rest);
        }
    }

    /// Reads a frame's header and, at a packet's start, its first bytes. Returns bytes consumed.
    fn read_head(&mut self, bytes: &[u8]) -> usize {
        if self.head.is_empty()
            && let Some((frame, rest)) = FrameHeader::split(bytes)
            && let Some(start) = rest.get(..self.wanted(frame))
        {
            self.frame(frame, start);
            return HEADER + start.len();
        }
        let mut head = std::mem::take(&mut self.head);
        let mut used = 0;
        for byte in bytes {
            head.push(*byte);
            used += 1;
            if let Some((frame, start)) = FrameHeader::split(&head)
                && start.len() == self.wanted(frame)
            {
                self.frame(frame, start);
                head.clear();
                break;
            }
        }
        self.head = head;
        used
    }

    /// How many of a frame's first bytes are looked at.
    fn wanted(&self, frame: FrameHeader) -> usize {
        if self.continues { 0 } else { frame.len.min(HEAD) }
    }

    fn frame(&mut self, frame: FrameHeader, head: &[u8]) {
        // A server that closes the connection says why at any time. That error has a sequence id of its own.
        let is_error = !self.continues && head.first() == Some(&0xff);
        let follows = is_error || self.next.is_none_or(|next| next == frame.seq);
        self.next = self.next.map(|_| frame.seq.wrapping_add(1));
        self.seq = frame.seq;
        self.skip = frame.len - head.len();
        if !follows {
            self.verdict = Some(self.grammar.broken("a packet of another response"));
        } else if !self.continues {
            self.verdict = self.grammar.packet(frame.len, head);
        }
        self.continues = frame.continued();
        if matches!(self.verdict, Some(Progress::Broken(_))) {
            // The packet's length may be as wrong: nothing is waited for.
            (self.skip, self.continues) = (0, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::frame::put_frame;
    use crate::protocol::status::Status;

    #[test]
    fn a_response_without_an_end_has_one_if_the_command_is_refused() {
        let mut error = Vec::new();
        put_frame(&mut error, 1, b"\xff\x17\x04#08S01Unknown command");
        let mut tracker = Tracker::new(Capabilities(0));
        tracker.start_response(Shape::Endless);
        let (first, rest) = error.split_at(3);
        assert_eq!(tracker.feed(first), (3, Progress::Continue));
        assert!(!tracker.is_endless());
        let ended = Progress::Ended(Ending::Err { code: 1047 });
        assert_eq!(tracker.feed(rest), (rest.len(), ended));
        let mut event = Vec::new();
        put_frame(&mut event, 1, b"\0an event");
        tracker.start_response(Shape::Endless);
        let both = [&event[..], &error].concat();
        assert_eq!(tracker.feed(&both), (both.len(), Progress::Continue));
        assert!(tracker.is_endless());
        assert_eq!(tracker.feed(&error), (error.len(), Progress::Continue));
    }

    #[test]
    fn the_row_of_out_parameters_is_not_the_last_result() {
        // As MySQL 9.7 sends them without DEPRECATE_EOF: its second EOF reports no other result.
        let definition: &[u8] = b"\x03def\0\0\0\x01x\0\x0c\x3f\0\x0b\0\0\0\x03\0\0\0\0\0";
        let mut out = Vec::new();
        let row: [&[u8]; 5] =
            [b"\x01", definition, b"\xfe\0\0\x2a\x10", b"\0\0\x2a\0\0\0", b"\xfe\0\0\x22\0"];
        for (seq, payload) in (1..).zip(row) {
            put_frame(&mut out, seq, payload);
        }
        let mut ok = Vec::new();
        put_frame(&mut ok, 6, b"\0\0\0\x22\0\0\0");
        let mut tracker = Tracker::new(Capabilities(0));
        tracker.start_response(Shape::Results);
        assert_eq!(tracker.feed(&out), (out.len(), Progress::NextResult));
        assert!(tracker.active());
        let ended = Ending::Ok { status: Status(0x22), warnings: 0 };
        assert_eq!(tracker.feed(&ok), (ok.len(), Progress::Ended(ended)));
    }

    #[test]
    fn rows_stay_away_only_if_the_command_has_asked_for_a_cursor() {
        // As MariaDB 10.11 answers a CALL whose procedure has opened a cursor, and MySQL 9.7 an EXPLAIN ANALYZE of
        // such a function.
        let definition: &[u8] = b"\x03def\0\0\0\x01x\0\x0c\x3f\0\x0b\0\0\0\x03\0\0\0\0\0";
        let followed = |shape, status: u8, row: &[u8]| {
            let eof: &[u8] = &[0xfe, 0, 0, status, 0];
            let mut out = Vec::new();
            for (seq, payload) in (1..).zip([b"\x01", definition, eof, row, eof]) {
                put_frame(&mut out, seq, payload);
            }
            let eof = 4 + 1 + 4 + definition.len() + 4 + 5;
            let mut tracker = Tracker::new(Capabilities(0));
            tracker.start_response(shape);
            let (end, progress) = tracker.feed(&out);
            (if end == eof { "no rows" } else { "rows" }, progress)
        };
        let ended = |status| Progress::Ended(Ending::Ok { status: Status(status), warnings: 0 });
        let (text, binary) = (b"\x015", b"\0\0\x05\0\0\0");
        assert_eq!(followed(Shape::Results, 0x4a, text), ("rows", Progress::NextResult));
        assert_eq!(followed(Shape::Results, 0x42, binary), ("rows", ended(0x42)));
        assert_eq!(followed(Shape::CursorResults, 0x42, binary), ("no rows", ended(0x42)));
        assert_eq!(followed(Shape::CursorResults, 0x02, binary), ("rows", ended(0x02)));
        // A cursor is never one of several results.
        assert_eq!(followed(Shape::CursorResults, 0x4a, binary), ("rows", Progress::NextResult));
    }

    #[test]
    fn a_packet_that_no_server_sends_is_noticed_at_its_first_bytes() {
        let definition: &[u8] = b"\x03def\0\0\0\x01x\0\x0c\x3f\0\x0b\0\0\0\x03\0\0\0\0\0";
        let (eof, ok): (&[u8], &[u8]) = (b"\xfe\0\0\x02\0", b"\xfe\0\0\x02\0\0\0");
        let new = Capabilities::DEPRECATE_EOF;
        let prepared: &[u8] = b"\0\x01\0\0\0\x01\0\x01\0\0\0\0";
        let long = [b"\0\0\0\x02\0\0\0".as_slice(), &[b'x'; 300]].concat();
        for (capabilities, shape, packets) in [
            (new, Shape::Results, &[&b"\0\0\0\x02"[..]][..]),
            (new, Shape::Results, &[b""]),
            (new, Shape::Results, &[b"\xfb/a/file"]),
            (new, Shape::Results, &[b"\x01\x35"]),
            (new, Shape::Results, &[b"\x01", b"\x015"]),
            (new, Shape::Results, &[b"\x01", definition, b"\x015", b"\xfe\0"]),
            (Capabilities(0), Shape::Results, &[b"\x01", definition, b"\x015"]),
            (Capabilities(0), Shape::Results, &[b"\x01", definition, &long]),
            (Capabilities(0), Shape::Results, &[b"\x01", definition, eof, ok]),
            (new, Shape::Prepare, &[ok]),
            (new, Shape::Prepare, &[prepared, eof]),
            (Capabilities(0), Shape::Prepare, &[prepared, definition, definition]),
            (Capabilities(0), Shape::Prepare, &[prepared, definition, eof, eof]),
            (new, Shape::FieldList, &[b"\x01"]),
            (new, Shape::Rows, &[b"\xff"]),
        ] {
            let mut tracker = Tracker::new(capabilities);
            tracker.start_response(shape);
            let (last, before) = packets.split_last().expect("a packet");
            for packet in before {
                let mut frame = Vec::new();
                put_frame(&mut frame, 1, packet);
                assert_eq!(tracker.feed(&frame), (frame.len(), Progress::Continue), "{packets:?}");
            }
            let mut frame = Vec::new();
            put_frame(&mut frame, 1, last);
            let (_, progress) = tracker.feed(&frame[..frame.len().min(HEADER + HEAD)]);
            assert!(matches!(progress, Progress::Broken(_)), "{packets:?}: {progress:?}");
            assert!(!tracker.active() && tracker.at_packet_boundary());
        }
    }

    #[test]
    fn a_packet_of_another_response_is_none_of_this_one() {
        let frames = |seqs: [u8; 3]| {
            let mut out = Vec::new();
            for (seq, payload) in seqs.into_iter().zip([&b"\x01"[..], b"\x03def", b"\x015"]) {
                put_frame(&mut out, seq, payload);
            }
            out
        };
        for (first, seqs, follows) in [
            (1, [1, 2, 3], true),
            (255, [255, 0, 1], true),
            (1, [2, 3, 4], false),
            (2, [1, 2, 3], false),
            (1, [1, 2, 4], false),
            (1, [1, 1, 2], false),
        ] {
            let mut tracker = Tracker::new(Capabilities::DEPRECATE_EOF);
            tracker.start_response(Shape::Results);
            tracker.count_from(first);
            let (_, progress) = tracker.feed(&frames(seqs));
            assert_eq!(progress == Progress::Continue, follows, "{seqs:?} after {first}");
        }
        // Why a server closes the connection is said in any case.
        let mut error = Vec::new();
        put_frame(&mut error, 0, b"\xff\xbf\x0f#HY000inactive");
        let mut tracker = Tracker::new(Capabilities(0));
        tracker.start_response(Shape::Results);
        tracker.count_from(1);
        assert_eq!(tracker.feed(&error).1, Progress::Ended(Ending::Err { code: 4031 }));
    }

    #[test]
    fn a_response_is_under_way_until_its_last_byte() {
        let mut error = Vec::new();
        put_frame(&mut error, 1, b"\xff\x28\x04#42000an error that is longer than a head");
        for cut in 1..error.len() {
            let mut tracker = Tracker::new(Capabilities(0));
            tracker.start_response(Shape::Results);
            assert_eq!(tracker.feed(&error[..cut]), (cut, Progress::Continue));
            assert!(tracker.active(), "idle after {cut} bytes");
            let ended = Progress::Ended(Ending::Err { code: 1064 });
            assert_eq!(tracker.feed(&error[cut..]), (error.len() - cut, ended));
            assert!(!tracker.active());
        }
    }
}
