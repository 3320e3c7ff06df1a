//! Finding the end of a response, packet by packet.

use super::capability::{
    DEPRECATE_EOF, MARIADB_CACHE_METADATA, MARIADB_PROGRESS, OPTIONAL_RESULTSET_METADATA,
};
use super::decode::Cursor;
use super::frame::{Frames, MAX_PAYLOAD, Missing};
use super::response::{End, Kind, OkPacket, Packet, Shape, parse_eof};
use super::status::{CURSOR_EXISTS, MORE_RESULTS, PS_OUT_PARAMS};
use crate::patience::Deadline;

/// Reads one response; what was read stays in `packets` however it ends.
pub struct Reader<'a> {
    pub frames: &'a mut Frames,
    pub capabilities: u64,
    pub deadline: Deadline,
    /// The execution asked for a cursor.
    pub cursor: bool,
    pub packets: Vec<Packet>,
}

/// Why reading stopped before its end, as [`End`] names it.
type Stop = End;

impl Reader<'_> {
    /// Reads the response of `shape`, which must not be [`Shape::Auth`].
    pub fn run(&mut self, shape: Shape) -> End {
        let outcome = match shape {
            Shape::Query => self.results(Kind::TextRow),
            Shape::Execute => self.results(Kind::BinaryRow),
            Shape::Prepare => self.prepare(),
            Shape::Fetch => self.rows(Kind::BinaryRow).map(|_| ()),
            Shape::FieldList => self.rows(Kind::Column).map(|_| ()),
            Shape::One => self.one(),
            Shape::UntilClosed => self.until_closed(),
            Shape::Nothing | Shape::Auth => Ok(()),
        };
        outcome.err().unwrap_or(End::Complete)
    }

    /// Reads one packet, joining its frames, and files it under what `kind` takes it for.
    pub fn next(&mut self, kind: impl Fn(&[u8]) -> Kind) -> Result<Packet, Stop> {
        let mut headers = Vec::new();
        let mut payload = Vec::new();
        loop {
            let (header, part) =
                self.frames.read(self.deadline).map_err(|missing| match missing {
                    Missing::Closed => End::Closed,
                    Missing::TimedOut => End::TimedOut,
                })?;
            headers.push(header);
            payload.extend_from_slice(&part);
            if part.len() < MAX_PAYLOAD {
                // How far a long statement is may be told at any time, or not.
                if self.capabilities & MARIADB_PROGRESS == 0
                    || !payload.starts_with(b"\xff\xff\xff")
                {
                    break;
                }
                headers.clear();
                payload.clear();
            }
        }
        let packet = Packet { kind: kind(&payload), headers, payload };
        self.packets.push(packet.clone());
        Ok(packet)
    }

    fn deprecates_eof(&self) -> bool {
        self.capabilities & DEPRECATE_EOF != 0
    }

    fn one(&mut self) -> Result<(), Stop> {
        self.next(|payload| match (payload.first(), payload.len()) {
            (Some(0xff), _) => Kind::Err,
            (Some(0xfe), 5) => Kind::Eof,
            (Some(0x00), _) | (Some(0xfe), 7..) => Kind::Ok,
            _ => Kind::Text,
        })?;
        Ok(())
    }

    fn until_closed(&mut self) -> Result<(), Stop> {
        loop {
            self.next(|payload| match payload.first() {
                Some(0xff) => Kind::Err,
                _ => Kind::Unsolicited,
            })?;
        }
    }

    fn results(&mut self, row: Kind) -> Result<(), Stop> {
        loop {
            let head = self.next(|payload| match payload.first() {
                Some(0x00) => Kind::Ok,
                Some(0xff) => Kind::Err,
                Some(0xfb) => Kind::LocalInfile,
                _ => Kind::ColumnCount,
            })?;
            let status = match head.kind {
                Kind::Ok => OkPacket::parse(&head.payload).map_or(0, |ok| ok.status),
                Kind::LocalInfile => return Err(End::WantsFile),
                Kind::ColumnCount => self.result_set(&head.payload, row)?,
                _ => return Ok(()),
            };
            if status & MORE_RESULTS == 0 {
                return Ok(());
            }
        }
    }

    /// Columns, then rows unless a cursor keeps them; answers the last status flags.
    fn result_set(&mut self, head: &[u8], row: Kind) -> Result<u16, Stop> {
        let mut c = Cursor(head);
        let count = c.lenenc().unwrap_or_default();
        let optional = OPTIONAL_RESULTSET_METADATA | MARIADB_CACHE_METADATA;
        let follows = self.capabilities & optional == 0 || c.u8() != Some(0);
        if follows {
            for _ in 0..count {
                if self.next(column_or_err)?.kind == Kind::Err {
                    return Ok(0);
                }
            }
        }
        if !self.deprecates_eof() {
            let eof = self.next(eof_or_err)?;
            match parse_eof(&eof.payload).filter(|_| eof.kind == Kind::Eof) {
                // Without it, or in a CALL, a stored program has opened one: the rows come.
                Some((_, status))
                    if self.cursor && status & (CURSOR_EXISTS | MORE_RESULTS) == CURSOR_EXISTS =>
                {
                    return Ok(status);
                }
                // MySQL's next EOF does not say that an OK follows.
                Some((_, status)) if status & PS_OUT_PARAMS != 0 => {
                    return Ok(self.rows(row)? | status & MORE_RESULTS);
                }
                Some(_) => {}
                None => return Ok(0),
            }
        }
        self.rows(row)
    }

    /// Packets up to the EOF, or its successor, or an ERR; answers the status flags.
    fn rows(&mut self, row: Kind) -> Result<u16, Stop> {
        let longest = if self.deprecates_eof() { MAX_PAYLOAD } else { 9 };
        loop {
            let packet = self.next(|payload| match payload.first() {
                Some(0xfe) if payload.len() < longest => {
                    if payload.len() == 5 {
                        Kind::Eof
                    } else {
                        Kind::Ok
                    }
                }
                Some(0xff) => Kind::Err,
                _ => row,
            })?;
            match packet.kind {
                Kind::Eof => return Ok(parse_eof(&packet.payload).map_or(0, |(_, s)| s)),
                Kind::Ok => return Ok(OkPacket::parse(&packet.payload).map_or(0, |ok| ok.status)),
                Kind::Err => return Ok(0),
                _ => {}
            }
        }
    }

    fn prepare(&mut self) -> Result<(), Stop> {
        let head = self.next(|payload| match payload.first() {
            Some(0xff) => Kind::Err,
            _ => Kind::PrepareOk,
        })?;
        if head.kind == Kind::Err {
            return Ok(());
        }
        let counts = |at: usize| {
            head.payload.get(at..at + 2).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]))
        };
        let optional = self.capabilities & OPTIONAL_RESULTSET_METADATA != 0;
        let follows = !optional || head.payload.get(12) != Some(&0);
        for count in [counts(7), counts(5)].into_iter().filter(|n| *n > 0) {
            for _ in 0..if follows { count } else { 0 } {
                self.next(column_or_err)?;
            }
            if !self.deprecates_eof() {
                self.next(eof_or_err)?;
            }
        }
        Ok(())
    }
}

fn column_or_err(payload: &[u8]) -> Kind {
    if payload.first() == Some(&0xff) { Kind::Err } else { Kind::Column }
}

fn eof_or_err(payload: &[u8]) -> Kind {
    if payload.first() == Some(&0xff) { Kind::Err } else { Kind::Eof }
}
