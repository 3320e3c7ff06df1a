//! Changes a response on its way to the client: other column definitions, the flag that says that
//! more results follow, and sequence ids that go on from an earlier response.
//!
//! Rows pass at once; only the head of each packet, and definitions that are replaced, are held back.

use super::capabilities::Capabilities;
use super::column::Column;
use super::command::Shape;
use super::ending::{HEAD, status_at};
use super::frame::{FrameHeader, HEADER, put_frame};
use super::grammar::{Grammar, Progress};
use super::status::Status;

/// A definition that is longer is not replaced: none is.
const MAX_DEFINITION: usize = 64 * 1024;

/// Amends the responses to one command's text.
#[derive(Debug)]
pub struct Amend {
    grammar: Grammar,
    /// The columns of the next result set.
    columns: Vec<Column>,
    /// Another statement's response follows.
    more: bool,
    seq: u8,
    /// A frame of which too little is there yet.
    head: Vec<u8>,
    /// Payload bytes of the current frame that pass.
    skip: usize,
    /// The next frame continues the packet.
    continues: bool,
    failed: bool,
}

impl Amend {
    /// Amends one response.
    pub fn new(capabilities: Capabilities) -> Self {
        Self {
            grammar: results(capabilities),
            columns: Vec::new(),
            more: false,
            seq: 1,
            head: Vec::new(),
            skip: 0,
            continues: false,
            failed: false,
        }
    }

    /// Another statement of the same text: its response goes on where the last one ended.
    pub fn next(&mut self, more: bool) {
        self.columns.clear();
        self.more = more;
        self.grammar.start_response(Shape::Results);
    }

    /// How the columns of the next result set are to be described.
    pub fn describe(&mut self, columns: Vec<Column>) {
        self.columns = columns;
    }

    /// Whether a response ended with an error.
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// Takes bytes of the server's, gives those for the client.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len() + self.head.len());
        while !bytes.is_empty() {
            if self.skip > 0 {
                let (pass, rest) = bytes.split_at(self.skip.min(bytes.len()));
                out.extend_from_slice(pass);
                self.skip -= pass.len();
                bytes = rest;
                continue;
            }
            let needed = self.needed();
            let (take, rest) = bytes.split_at((needed - self.head.len()).min(bytes.len()));
            self.head.extend_from_slice(take);
            bytes = rest;
            if self.head.len() == self.needed() {
                self.frame(&mut out);
            }
        }
        out
    }

    /// Bytes of the current frame that must be there before any of it passes.
    fn needed(&self) -> usize {
        let Some(frame) = FrameHeader::peek(&self.head) else {
            return HEADER;
        };
        let defines = self.grammar.columns_left().is_some()
            && !self.columns.is_empty()
            && frame.len <= MAX_DEFINITION;
        HEADER + if defines { frame.len } else { frame.len.min(HEAD) }
    }

    fn frame(&mut self, out: &mut Vec<u8>) {
        let mut head = std::mem::take(&mut self.head);
        let Some(frame) = FrameHeader::peek(&head) else {
            return;
        };
        let Some(([_, _, _, number], start)) = head.split_first_chunk_mut() else {
            return;
        };
        let seq = self.seq;
        *number = seq;
        self.seq = seq.wrapping_add(1);
        self.skip = frame.len - start.len();
        let continued = std::mem::replace(&mut self.continues, frame.continued());
        if !continued {
            let left_out = self.left_out(start);
            let left = self.grammar.columns_left();
            let index = left.and_then(|left| self.columns.len().checked_sub(as_index(left)));
            self.packet(start, frame.len);
            if let Some(follow) = start.last_mut().filter(|_| !left_out.is_empty()) {
                *follow = 1;
            }
            let whole = self.skip == 0;
            let column = index.filter(|_| whole).and_then(|i| self.columns.get(i));
            if let Some(definition) = column.and_then(|column| column.describe(start)) {
                return put_frame(out, seq, &definition);
            }
            out.extend_from_slice(&head);
            for definition in left_out {
                put_frame(out, self.seq, &definition);
                self.seq = self.seq.wrapping_add(1);
            }
            return;
        }
        out.extend_from_slice(&head);
    }

    /// The definitions that the server leaves out after this number of columns, if the client is to get them.
    fn left_out(&self, head: &[u8]) -> Vec<Vec<u8>> {
        let counts = self.grammar.leaves_out_definitions(head);
        let columns = self.columns.iter().map(|column| {
            let definition = column.left_out.as_ref()?;
            Some(column.describe(definition).unwrap_or_else(|| definition.clone()))
        });
        counts.then(|| columns.collect()).flatten().unwrap_or_default()
    }

    /// Looks at the head of a packet, and moves on.
    fn packet(&mut self, head: &mut [u8], len: usize) {
        if !self.grammar.is_active() {
            return;
        }
        let kind = self.grammar.kind(len, head);
        let progress = self.grammar.packet(len, head);
        match progress {
            Some(Progress::NextResult) => self.columns.clear(),
            Some(Progress::Ended(ending)) => self.failed |= ending.is_error(),
            Some(Progress::Continue | Progress::WantsFile | Progress::Broken(_)) | None => {}
        }
        let flags = status_at(kind, head).and_then(|at| head.get_mut(at..)?.first_chunk_mut());
        if let Some(flags) = flags.filter(|_| self.more) {
            let status = u16::from_le_bytes(*flags) | Status::MORE_RESULTS;
            *flags = status.to_le_bytes();
        }
    }
}

/// A grammar that is at the first packet of results.
fn results(capabilities: Capabilities) -> Grammar {
    let mut grammar = Grammar::new(capabilities);
    grammar.start_response(Shape::Results);
    grammar
}

/// A count of columns, which no server lets grow beyond some thousands.
fn as_index(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFINITION: &[u8] = b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x01\0\0\0\x08\x80\0\0\0\0";
    const FIRST: &[u8] = b"\x03def\0\0\0\x05first\0\x0c\x3f\0\x01\0\0\0\x08\x80\0\0\0\0";
    const SECOND: &[u8] = b"\x03def\0\0\0\x06second\0\x0c\x3f\0\x0a\0\0\0\x03\x80\0\0\0\0";

    fn columns() -> Vec<Column> {
        let other = Some((*b"\x01\0\0\0\x08\x80\0\0", *b"\x0a\0\0\0\x03\x80\0\0"));
        let named =
            |name: &[u8], types| Column { name: name.to_vec(), types, whole: None, left_out: None };
        vec![named(b"first", None), named(b"second", other)]
    }

    fn frames(payloads: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        for (seq, payload) in (1..).zip(payloads) {
            put_frame(&mut out, seq, payload);
        }
        out
    }

    /// Whatever the pieces in which bytes come.
    fn fed(amend: impl Fn() -> Amend, bytes: &[u8]) -> Vec<u8> {
        let whole = amend().feed(bytes);
        for size in 1..9 {
            let mut amend = amend();
            let pieces: Vec<u8> = bytes.chunks(size).flat_map(|piece| amend.feed(piece)).collect();
            assert_eq!(pieces, whole, "in pieces of {size}");
        }
        whole
    }

    #[test]
    fn definitions_are_replaced_and_rows_pass() {
        let row = [b"\xfc\x2c\x01".as_slice(), &[b'x'; 300]].concat();
        let rest: [&[u8]; 3] = [b"\xfe\0\0\x02\0", &row, b"\xfe\0\0\x02\0"];
        let amend = || {
            let mut amend = Amend::new(Capabilities(0));
            amend.describe(columns());
            amend
        };
        let server = [&[b"\x02".as_slice(), DEFINITION, DEFINITION][..], &rest].concat();
        let client = [&[b"\x02".as_slice(), FIRST, SECOND][..], &rest].concat();
        assert_eq!(fed(amend, &frames(&server)), frames(&client));
        // The definitions of one result set only: those of another are its own.
        let more: [&[u8]; 2] = [b"\xfe\0\0\x0a\0", b"\xfe\0\0\x0a\0"];
        let server = [&[b"\x01".as_slice(), DEFINITION][..], &more, &server].concat();
        let one = || {
            let mut amend = Amend::new(Capabilities(0));
            amend.describe(columns()[..1].to_vec());
            amend
        };
        let client = [&[b"\x01".as_slice(), FIRST][..], &more, &server[4..]].concat();
        assert_eq!(fed(one, &frames(&server)), frames(&client));
    }

    #[test]
    fn definitions_that_the_server_leaves_out_are_put_back() {
        let caches = Capabilities::MARIADB_CACHE_METADATA;
        for (capabilities, eof) in [(caches, 1), (caches.with(Capabilities::DEPRECATE_EOF), 0)] {
            let end: &[u8] = if eof == 0 { b"\xfe\0\0\x02\0\0\0" } else { b"\xfe\0\0\x02\0" };
            // A row that reads like a definition.
            let rest = [&vec![end; eof][..], &[DEFINITION, end]].concat();
            let amend = |known: bool| {
                let mut amend = Amend::new(capabilities);
                let left_out = known.then(|| DEFINITION.to_vec());
                let columns = columns().into_iter();
                amend.describe(
                    columns.map(|c| Column { left_out: left_out.clone(), ..c }).collect(),
                );
                amend
            };
            let server = frames(&[&[b"\x02\0".as_slice()][..], &rest].concat());
            let client = frames(&[&[b"\x02\x01".as_slice(), FIRST, SECOND][..], &rest].concat());
            assert_eq!(fed(|| amend(true), &server), client);
            assert_eq!(fed(|| amend(false), &server), server);
            // Definitions that the server sends are not sent twice.
            let sent: [&[u8]; 3] = [b"\x02\x01", DEFINITION, DEFINITION];
            assert_eq!(fed(|| amend(true), &frames(&[&sent[..], &rest].concat())), client);
        }
    }

    #[test]
    fn responses_are_joined() {
        for (capabilities, end, more) in [
            (Capabilities(0), &b"\xfe\0\0\x02\0"[..], &b"\xfe\0\0\x0a\0"[..]),
            (Capabilities::DEPRECATE_EOF, b"\xfe\0\0\x02\0\0\0", b"\xfe\0\0\x0a\0\0\0"),
        ] {
            let between = usize::from(!capabilities.has(Capabilities::DEPRECATE_EOF));
            let rows = |end| {
                let betweens = vec![end; between];
                [&[b"\x01".as_slice(), DEFINITION][..], &betweens, &[b"\x011", end]].concat()
            };
            let mut amend = Amend::new(capabilities);
            amend.next(true);
            let mut out = amend.feed(&frames(&[b"\0\x01\xfc\x39\x30\x02\0\0\0"]));
            amend.next(true);
            out.extend(amend.feed(&frames(&rows(end))));
            amend.next(false);
            out.extend(amend.feed(&frames(&rows(end))));
            let first: [&[u8]; 1] = [b"\0\x01\xfc\x39\x30\x0a\0\0\0"];
            assert_eq!(out, frames(&[&first[..], &rows(more), &rows(end)].concat()));
            assert!(!amend.failed());
            amend.next(false);
            amend.feed(&frames(&[b"\xff\x28\x04#42000no"]));
            assert!(amend.failed());
        }
    }
}
