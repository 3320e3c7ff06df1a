//! Takes out of a server's responses what only the proxy asked for: reports of session state.
//!
//! The proxy has the server report every change in a session that may move to another connection. A client
//! that did not ask hears none of it, and one that did hears what the server tells by default. The packets
//! between pass as they are.

use std::collections::VecDeque;
use std::io;

use super::capabilities::Capabilities;
use super::command::Shape;
use super::ending::{HEAD, PacketKind};
use super::frame::{FrameHeader, HEADER, at_most, put_frame};
use super::grammar::{Grammar, PrepareOk};
use super::session_track::{DefaultReports, OkPacket, SessionChange};
use super::statement_ids::{Naming, StatementNumbers};
use super::status::Status;
use crate::mutants::{self, Mutant};
use crate::types::Flavour;

/// An OK packet that is longer is no server's: variables and a text have far less.
const MAX_OK: usize = 1024 * 1024;

/// What the responses have told since it was asked last.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reported {
    /// Changes in the session, in order.
    pub changes: Vec<SessionChange>,
    /// A statement has generated a value for an AUTO_INCREMENT column, or said that it did.
    pub insert_id: bool,
    /// A statement has left warnings, perhaps not the last one.
    pub warned: bool,
    /// Statements that were prepared, in order.
    pub prepared: Vec<Preparation>,
    /// What the last result was.
    pub result: Option<LastResult>,
}

/// The response to a PREPARE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preparation {
    /// The statement; `None`: the server has refused it.
    pub statement: Option<PreparedStatement>,
    /// The statement is the proxy's own.
    pub hidden: bool,
    /// How many of the changes came before it.
    pub changes: usize,
}

/// A statement that the server has prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreparedStatement {
    /// The session's id of it.
    pub id: u32,
    /// The connection's.
    pub server: u32,
    /// Result columns.
    pub columns: u16,
    /// Parameters.
    pub params: u16,
    /// There are warnings.
    pub warns: bool,
}

/// A result, as ROW_COUNT() and FOUND_ROWS() remember it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastResult {
    /// This number of rows was sent.
    Rows(u64),
    /// Rows were changed.
    Changed {
        /// Number of changed rows, as the client is told.
        rows: u64,
        /// The first number in the text about it.
        told: Option<u64>,
    },
    /// An error.
    Failed,
}

/// Follows the responses of one server connection.
#[derive(Debug)]
pub struct Cutter {
    told: DefaultReports,
    grammar: Grammar,
    /// The responses after the one under way.
    expected: VecDeque<(Shape, Naming)>,
    /// The response under way.
    current: (Shape, Naming),
    numbers: StatementNumbers,
    /// A frame of which too little is there yet.
    frame: Vec<u8>,
    /// Payload bytes of the current frame that pass.
    skip: usize,
    /// The next frame continues the packet.
    continues: bool,
    reported: Reported,
    /// Packets pass as they are.
    passes: bool,
    /// Rows of the result set under way; `None` while none is.
    rows: Option<u64>,
}

impl Cutter {
    /// A cutter for a client that speaks `client`.
    pub fn new(client: Capabilities, flavour: Flavour) -> Self {
        Self {
            told: DefaultReports::new(client, flavour),
            grammar: Grammar::new(client),
            expected: VecDeque::new(),
            current: (Shape::Nothing, Naming::Session),
            numbers: StatementNumbers::at_login(flavour),
            frame: Vec::new(),
            skip: 0,
            continues: false,
            reported: Reported::default(),
            passes: false,
            rows: None,
        }
    }

    /// Expects one more response, after those that were announced before.
    pub fn expect(&mut self, shape: Shape, told: Naming) {
        if shape != Shape::Nothing {
            self.expected.push_back((shape, told));
        }
    }

    /// How statements are numbered from here on.
    pub fn number(&mut self, numbers: StatementNumbers) {
        self.numbers = numbers;
    }

    /// How statements are numbered.
    pub fn numbers(&self) -> StatementNumbers {
        self.numbers
    }

    /// The connection was reset.
    pub fn reset(&mut self) {
        self.passes = false;
        self.told.reset();
    }

    /// Whether the client hears all that the server says from here on: it has asked for something itself.
    pub fn pass_all(&mut self, all: bool) {
        self.passes = all;
    }

    /// Whether nothing is owed, and nothing of a packet has come: another session may have the connection.
    pub fn is_at_rest(&self) -> bool {
        let between = self.frame.is_empty() && self.skip == 0 && !self.continues;
        between && self.expected.is_empty() && !self.grammar.is_active()
    }

    /// What was reported since this was asked last.
    pub fn take_reported(&mut self) -> Reported {
        std::mem::take(&mut self.reported)
    }

    /// Takes bytes of the server's, appends those for the client. An error: no server says that.
    pub fn feed(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.skip > 0 || self.grammar.is_endless() {
                let pass = if self.grammar.is_endless() { bytes.len() } else { self.skip };
                let (pass, rest) = bytes.split_at(pass.min(bytes.len()));
                out.extend_from_slice(pass);
                self.skip = self.skip.saturating_sub(pass.len());
                bytes = rest;
                continue;
            }
            let needed = self.needed()?;
            let (take, rest) = bytes.split_at((needed - self.frame.len()).min(bytes.len()));
            self.frame.extend_from_slice(take);
            bytes = rest;
            if self.frame.len() == self.needed()? {
                self.pass_frame(out)?;
            }
        }
        Ok(())
    }

    /// Bytes of the current frame that must be there before any of it passes.
    fn needed(&mut self) -> io::Result<usize> {
        let Some(frame) = FrameHeader::peek(&self.frame) else {
            return Ok(HEADER);
        };
        if self.continues {
            return Ok(HEADER);
        }
        self.begin_next();
        let head = HEADER + frame.len.min(HEAD);
        if self.frame.len() >= head && self.renames(frame.len) {
            return Ok(HEADER + frame.len);
        }
        if self.frame.len() < head || self.passes || self.kind(frame.len) != PacketKind::Ok {
            return Ok(head);
        }
        if frame.len > MAX_OK {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "an OK packet without an end"));
        }
        Ok(HEADER + frame.len)
    }

    fn begin_next(&mut self) {
        if !self.grammar.is_active()
            && let Some(next) = self.expected.pop_front()
        {
            self.current = next;
            self.grammar.start_response(next.0);
        }
    }

    /// Whether the current packet is an error that names its statement by another id than the client does.
    fn renames(&self, len: usize) -> bool {
        matches!(self.kind(len), PacketKind::Error(code) if self.current.1.renames(code, len))
    }

    /// What the current packet is, by its first bytes.
    fn kind(&self, len: usize) -> PacketKind {
        match FrameHeader::split(&self.frame) {
            Some((_, start)) if self.grammar.is_active() => {
                self.grammar.kind(len, at_most(start, HEAD))
            }
            _ => PacketKind::Other,
        }
    }

    /// Counts the rows of a result set.
    fn count(&mut self, kind: PacketKind) {
        match kind {
            PacketKind::ColumnCount => self.rows = Some(0),
            PacketKind::Prepared => self.note_prepared(),
            PacketKind::Other if self.grammar.in_rows() => {
                self.rows = self.rows.map(|rows| rows + 1);
            }
            PacketKind::Eof if self.grammar.in_rows() => {
                self.reported.result = self.rows.take().map(LastResult::Rows);
            }
            PacketKind::Error(_) => {
                self.rows = None;
                self.reported.result = Some(LastResult::Failed);
                if self.current.0 == Shape::Prepare {
                    self.note_preparation(None);
                }
            }
            _ => {}
        }
    }

    /// A statement is prepared: its id becomes the session's.
    fn note_prepared(&mut self) {
        let Some(ok) = self.frame.get(HEADER..).and_then(PrepareOk::parse) else { return };
        let hidden = self.current.1 == Naming::Hidden;
        let id = if hidden { self.numbers.hidden() } else { self.numbers.prepared(ok.id) };
        let warns = self.frame.get(HEADER + 10..HEADER + 12).is_some_and(|n| n != [0, 0]);
        if let Some(place) = self.frame.get_mut(HEADER + 1..HEADER + 5) {
            place.copy_from_slice(&id.to_le_bytes());
        }
        let PrepareOk { id: server, columns, params } = ok;
        self.note_preparation(Some(PreparedStatement { id, server, columns, params, warns }));
    }

    fn note_preparation(&mut self, statement: Option<PreparedStatement>) {
        let hidden = self.current.1 == Naming::Hidden;
        match (statement, hidden) {
            (None, true) => {
                self.numbers.hidden();
            }
            (None, false) => self.numbers.refused(),
            (Some(_), _) => {}
        }
        let changes = self.reported.changes.len();
        self.reported.prepared.push(Preparation { statement, hidden, changes });
    }

    fn pass_frame(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        let Some(frame) = FrameHeader::peek(&self.frame) else { return Ok(()) };
        if self.continues {
            self.continues = frame.continued();
            self.skip = frame.len;
            out.append(&mut self.frame);
            return Ok(());
        }
        self.continues = frame.continued();
        let kind = self.kind(frame.len);
        let renames = self.renames(frame.len);
        self.count(kind);
        let mut bytes = std::mem::take(&mut self.frame);
        let Some((_, payload)) = FrameHeader::split(&bytes) else { return Ok(()) };
        if self.grammar.is_active() {
            self.grammar.packet(frame.len, at_most(payload, HEAD));
        }
        match kind {
            _ if renames => self.current.1.rename(frame.seq, payload, out),
            PacketKind::Ok if !self.passes => {
                let report = OkPacket::parse(payload).and_then(|ok| Some((ok.changes()?, ok)));
                let Some((mut changes, ok)) = report else {
                    let what = "an OK packet that cannot be read";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                };
                self.reported.changes.retain(|_| !mutants::on(Mutant::LastReportAlone));
                self.reported.changes.append(&mut changes);
                self.reported.insert_id |= ok.insert_id != 0;
                self.reported.warned |= ok.warnings != 0;
                self.reported.result = Some(match self.rows.take() {
                    Some(rows) => LastResult::Rows(rows),
                    None => LastResult::Changed { rows: ok.affected, told: ok.told() },
                });
                let status = self.current.1.status();
                put_frame(out, frame.seq, &ok.with_status(status).for_client(&mut self.told));
            }
            PacketKind::Eof if !self.passes => {
                self.reported.warned |= bytes.get(HEADER + 1..HEADER + 3) != Some(&[0, 0]);
                // MariaDB says so in these, too.
                if let Some(high) = bytes.get_mut(HEADER + 4) {
                    *high &= !(Status::SESSION_STATE_CHANGED.to_le_bytes()[1]);
                    *high |= self.current.1.status().to_le_bytes()[1];
                }
                out.extend_from_slice(&bytes);
            }
            _ => {
                self.skip = frame.len - payload.len();
                out.extend_from_slice(&bytes);
            }
        }
        bytes.clear();
        self.frame = bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFINITION: &[u8] = b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x01\0\0\0\x08\x80\0\0\0\0";
    const EOF: Capabilities = Capabilities::DEPRECATE_EOF;

    fn frames(payloads: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        for (seq, payload) in (1..).zip(payloads) {
            put_frame(&mut out, seq, payload);
        }
        out
    }

    fn cut(client: Capabilities, shapes: &[Shape], bytes: &[u8]) -> (Vec<u8>, Reported) {
        let new = || {
            let mut cutter = Cutter::new(client, Flavour::MySql);
            for shape in shapes {
                cutter.expect(*shape, Naming::Session);
            }
            cutter
        };
        let (mut whole, mut cutter) = (Vec::new(), new());
        cutter.feed(bytes, &mut whole).expect("responses");
        for size in 1..9 {
            let (mut out, mut cutter) = (Vec::new(), new());
            for piece in bytes.chunks(size) {
                cutter.feed(piece, &mut out).expect("responses");
            }
            assert_eq!(out, whole, "in pieces of {size}");
        }
        (whole, cutter.take_reported())
    }

    #[test]
    fn reports_are_cut_and_rows_pass() {
        let row = [b"\xfc\x2c\x01".as_slice(), &[b'x'; 300]].concat();
        let last = b"\xfe\0\0\x02\x40\0\0\0\x03\x02\x011".as_slice();
        let server: [&[u8]; 4] = [b"\x01", DEFINITION, &row, last];
        let client: [&[u8]; 4] = [b"\x01", DEFINITION, &row, b"\xfe\0\0\x02\0\0\0"];
        let (out, reported) = cut(EOF, &[Shape::Results], &frames(&server));
        assert_eq!(out, frames(&client));
        assert_eq!(reported.changes, [SessionChange::Something]);
        assert!(!reported.insert_id);
        assert_eq!(reported.result, Some(LastResult::Rows(1)));
        // Two responses in one read, the first of a client without DEPRECATE_EOF.
        let first: [&[u8]; 5] =
            [b"\x01", DEFINITION, b"\xfe\0\0\x02\x40", b"\x011", b"\xfe\0\0\x02\x40"];
        let second: [&[u8]; 1] = [b"\0\x01\x07\x02\x40\0\0\0\x03\x02\x011"];
        let both = [frames(&first), frames(&second)].concat();
        let (out, reported) = cut(Capabilities(0), &[Shape::Results, Shape::Results], &both);
        let first: [&[u8]; 5] =
            [b"\x01", DEFINITION, b"\xfe\0\0\x02\0", b"\x011", b"\xfe\0\0\x02\0"];
        assert_eq!(out, [frames(&first), frames(&[b"\0\x01\x07\x02\0\0\0"])].concat());
        assert!(reported.insert_id);
    }

    #[test]
    fn a_preparation_s_packets_are_followed() {
        let server: [&[u8]; 5] = [
            b"\0\x01\0\0\0\x01\0\x01\0\0\0\0",
            DEFINITION,
            b"\xfe\0\0\x02\x40",
            DEFINITION,
            b"\xfe\0\0\x02\x40",
        ];
        let eof: &[u8] = b"\xfe\0\0\x02\0";
        let client: [&[u8]; 5] = [server[0], DEFINITION, eof, DEFINITION, eof];
        let (out, reported) = cut(Capabilities(0), &[Shape::Prepare], &frames(&server));
        assert_eq!(out, frames(&client));
        let statement = PreparedStatement { id: 1, server: 1, columns: 1, params: 1, warns: false };
        let prepared = Preparation { statement: Some(statement), hidden: false, changes: 0 };
        assert_eq!(reported.prepared, [prepared]);
    }

    #[test]
    fn statements_have_the_session_s_ids_on_any_connection() {
        let mut cutter = Cutter::new(EOF, Flavour::MySql);
        cutter.number(StatementNumbers::at_login(Flavour::MySql).moved());
        let told = [Naming::Session, Naming::Hidden, Naming::Session];
        for told in told {
            cutter.expect(Shape::Prepare, told);
        }
        cutter.expect(Shape::Results, Naming::Renamed { sent: 9, said: 5, changed: false });
        let ok = |id: u8| frames(&[&[0, id, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]]);
        let refused = frames(&[b"\xff\xdb\x04#HY000 (9)"]);
        let mut out = Vec::new();
        cutter.feed(&[ok(40), ok(41), ok(42), refused].concat(), &mut out).expect("responses");
        let all = cutter.take_reported().prepared;
        let ids: Vec<_> = all.iter().filter_map(|p| Some((p.statement?.id, p.hidden))).collect();
        assert_eq!((ids[0], ids[2]), ((1, false), (2, false)));
        assert!(ids[1].1 && ids[1].0 > 1000);
        assert!(all.iter().all(|p| p.statement.is_some_and(|s| s.warns)));
        assert!(out.starts_with(&ok(1)) && out.ends_with(b"(5)"));
        assert_eq!(out[32..48], ok(2));
    }

    #[test]
    fn errors_last_words_and_endless_responses_pass() {
        let error: [&[u8]; 1] = [b"\xff\x28\x04#42000no\x40\x40"];
        let (out, reported) = cut(EOF, &[Shape::Results], &frames(&error));
        let failed = Reported { result: Some(LastResult::Failed), ..Reported::default() };
        assert_eq!((out, reported), (frames(&error), failed));
        let word = frames(&[b"\0\0\0\x02\x40\0\0\0\x03\x02\x011"]);
        assert_eq!(cut(EOF, &[], &word).0, word, "nothing was asked");
        let events = [frames(&[b"\0an event"]), b"no frame at all, \xff\xff\xff".to_vec()].concat();
        assert_eq!(cut(EOF, &[Shape::Endless], &events).0, events);
    }

    #[test]
    fn reports_that_no_server_sends_are_refused() {
        for bytes in [
            &frames(&[b"\0\0\0\x02\x40\0\0\0\x04\x02\x02\x05"])[..],
            b"\xff\xff\x7f\x01\0\0\0\x02\x40\0\0\0\x04\x02\x02\x05aaaaaaaaaaaaaaa",
        ] {
            let mut cutter = Cutter::new(EOF, Flavour::MySql);
            cutter.expect(Shape::Results, Naming::Session);
            assert!(cutter.feed(bytes, &mut Vec::new()).is_err());
        }
    }
}
