//! Follows a server's response packet by packet, without keeping it.
//!
//! The tracker is fed bytes as they arrive and says where the response ends, so that the relay
//! knows when the server is idle. It looks at no more than the first [`HEAD`] bytes of a packet.

use super::capabilities::Capabilities;
use super::command::Shape;
use super::frame::{FrameHeader, HEADER};
use super::reader::Reader;
use super::status::Status;

/// Payload bytes needed to read an OK packet's status and warnings.
const HEAD: usize = 23;

/// What [`Tracker::feed`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// All bytes belong to the response, and more will come.
    Continue,
    /// A result ended behind the bytes consumed, and another follows.
    NextResult,
    /// The response ended behind the bytes consumed.
    Ended(Ending),
    /// The server asked for the client's file (LOCAL INFILE) and waits.
    WantsFile,
}

/// How a response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// OK or EOF, with its status flags and warning count.
    Ok {
        /// Status flags.
        status: Status,
        /// Number of warnings.
        warnings: u16,
    },
    /// ERR, with its number.
    Err {
        /// The server's error number.
        code: u16,
    },
    /// A packet that carries no status (`COM_STATISTICS`).
    Plain,
}

impl Ending {
    /// Whether the server refused.
    pub fn is_error(self) -> bool {
        matches!(self, Self::Err { .. })
    }
}

/// The head of a `COM_STMT_PREPARE` response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrepareOk {
    /// The server's statement id.
    pub id: u32,
    /// Result columns.
    pub columns: u16,
    /// Parameters.
    pub params: u16,
}

impl PrepareOk {
    /// Reads the first packet of the response.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let mut r = Reader::new(payload);
        if r.u8()? != 0 {
            return None;
        }
        Some(Self { id: r.u32()?, columns: r.u16()?, params: r.u16()? })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResponseState {
    Idle,
    /// First packet of a result.
    First,
    /// Column definitions still to come; then perhaps an EOF; then rows.
    Columns(u64),
    ColumnsEof,
    Rows,
    PrepareFirst,
    /// Parameter and column definitions of a PREPARE, counted with their EOFs.
    PrepareDefinitions(u32),
    FieldList,
    OnePacket,
    Endless,
}

/// Tracks one response after the other.
#[derive(Debug)]
pub struct Tracker {
    capabilities: Capabilities,
    state: ResponseState,
    head: [u8; HEADER + HEAD],
    head_len: usize,
    /// Payload bytes of the current frame that are still to be skipped.
    skip: usize,
    /// The next frame continues the current packet.
    continues: bool,
    /// What to say when the current packet is complete.
    verdict: Option<Progress>,
    /// Of the last frame.
    seq: u8,
}

impl Tracker {
    /// A tracker for a connection that negotiated `capabilities`.
    pub fn new(capabilities: Capabilities) -> Self {
        Self {
            capabilities,
            state: ResponseState::Idle,
            head: [0; HEADER + HEAD],
            head_len: 0,
            skip: 0,
            continues: false,
            verdict: None,
            seq: 0,
        }
    }

    /// Starts on the response to a command.
    pub fn begin(&mut self, shape: Shape) {
        self.state = match shape {
            Shape::Nothing => ResponseState::Idle,
            Shape::Results => ResponseState::First,
            Shape::Prepare => ResponseState::PrepareFirst,
            Shape::Rows => ResponseState::Rows,
            Shape::FieldList => ResponseState::FieldList,
            Shape::OnePacket => ResponseState::OnePacket,
            Shape::Endless => ResponseState::Endless,
        };
    }

    /// Whether a response is under way, be it with the rest of its last packet.
    pub fn active(&self) -> bool {
        self.state != ResponseState::Idle || self.verdict.is_some()
    }

    /// Whether the last byte fed ended a packet.
    pub fn at_packet_boundary(&self) -> bool {
        self.head_len == 0 && self.skip == 0 && !self.continues
    }

    /// The sequence id of the last frame.
    pub fn last_seq(&self) -> u8 {
        self.seq
    }

    /// Consumes bytes up to the end of the response, or all of them.
    pub fn feed(&mut self, bytes: &[u8]) -> (usize, Progress) {
        if self.state == ResponseState::Endless {
            return (bytes.len(), Progress::Continue);
        }
        let mut at = 0;
        loop {
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
            if at == bytes.len() {
                return (at, Progress::Continue);
            }
            at += self.read_head(&bytes[at..]);
        }
    }

    /// Reads a frame's header and, at a packet's start, its first bytes. Returns bytes consumed.
    fn read_head(&mut self, bytes: &[u8]) -> usize {
        if self.head_len == 0
            && let Some(frame) = FrameHeader::peek(bytes)
        {
            let want = HEADER + if self.continues { 0 } else { frame.len.min(HEAD) };
            if bytes.len() >= want {
                self.frame(frame, &bytes[HEADER..want]);
                return want;
            }
        }
        let mut used = 0;
        loop {
            let want = match FrameHeader::peek(&self.head[..self.head_len]) {
                None => HEADER,
                Some(f) if self.continues => {
                    self.head_len = 0;
                    self.frame(f, &[]);
                    return used;
                }
                Some(f) => {
                    let want = HEADER + f.len.min(HEAD);
                    if self.head_len == want {
                        let head = self.head;
                        self.head_len = 0;
                        self.frame(f, &head[HEADER..want]);
                        return used;
                    }
                    want
                }
            };
            let n = (want - self.head_len).min(bytes.len() - used);
            if n == 0 {
                return used;
            }
            self.head[self.head_len..self.head_len + n].copy_from_slice(&bytes[used..used + n]);
            self.head_len += n;
            used += n;
        }
    }

    fn frame(&mut self, frame: FrameHeader, head: &[u8]) {
        self.seq = frame.seq;
        self.skip = frame.len - head.len();
        if !self.continues {
            self.verdict = self.packet(frame.len, head);
        }
        self.continues = frame.continued();
    }

    fn packet(&mut self, len: usize, head: &[u8]) -> Option<Progress> {
        let first = head.first().copied().unwrap_or(0);
        if first == 0xff && self.state != ResponseState::OnePacket {
            return self.error(head);
        }
        match self.state {
            ResponseState::First => self.first(first, head),
            ResponseState::Columns(n) if n > 1 => {
                self.state = ResponseState::Columns(n - 1);
                None
            }
            ResponseState::Columns(_) => {
                self.state = self.after_columns();
                None
            }
            ResponseState::ColumnsEof => {
                let ending = eof_ending(head);
                // The rows behind a cursor are fetched by commands of their own.
                if matches!(ending, Ending::Ok { status, .. } if status.has(Status::CURSOR_EXISTS))
                {
                    return Some(self.result_end(ending));
                }
                self.state = ResponseState::Rows;
                None
            }
            ResponseState::Rows => self.row(first, len, head),
            ResponseState::PrepareFirst => self.prepare_first(head),
            ResponseState::PrepareDefinitions(n) if n > 1 => {
                self.state = ResponseState::PrepareDefinitions(n - 1);
                None
            }
            ResponseState::PrepareDefinitions(_) => {
                let ending = if self.deprecates_eof() { Ending::Plain } else { eof_ending(head) };
                Some(self.end(ending))
            }
            ResponseState::FieldList if first == 0xfe => {
                let ending = self.terminator(head);
                Some(self.end(ending))
            }
            ResponseState::OnePacket => Some(self.end(Ending::Plain)),
            ResponseState::FieldList | ResponseState::Idle | ResponseState::Endless => None,
        }
    }

    fn first(&mut self, first: u8, head: &[u8]) -> Option<Progress> {
        match first {
            0x00 => Some(self.result_end(ok_ending(head))),
            0xfe => Some(self.result_end(eof_ending(head))),
            0xfb => Some(Progress::WantsFile),
            _ => {
                let mut r = Reader::new(head);
                let columns = r.lenenc().unwrap_or(0);
                let optional = self.capabilities.has(Capabilities::OPTIONAL_METADATA)
                    || self.capabilities.has(Capabilities::MARIADB_CACHE_METADATA);
                let follows = !optional || r.u8() != Some(0);
                self.state = if columns > 0 && follows {
                    ResponseState::Columns(columns)
                } else {
                    self.after_columns()
                };
                None
            }
        }
    }

    fn row(&mut self, first: u8, len: usize, head: &[u8]) -> Option<Progress> {
        // 0xfe also starts a row whose first value is longer than a frame.
        let limit = if self.deprecates_eof() { 0x00ff_ffff } else { 9 };
        if first == 0xfe && len < limit {
            let ending = self.terminator(head);
            return Some(self.result_end(ending));
        }
        None
    }

    fn prepare_first(&mut self, head: &[u8]) -> Option<Progress> {
        let Some(ok) = PrepareOk::parse(head) else {
            return Some(self.end(Ending::Plain));
        };
        // Behind id, columns, params, filler and warnings: whether metadata follows.
        let follows = !self.capabilities.has(Capabilities::OPTIONAL_METADATA)
            || head.get(12).is_none_or(|&f| f != 0);
        let eofs = u32::from(!self.deprecates_eof());
        // Definitions may be left out; the EOFs behind them are not.
        let count = |n: u16| if n > 0 { u32::from(follows) * u32::from(n) + eofs } else { 0 };
        let definitions = count(ok.params) + count(ok.columns);
        if definitions == 0 {
            return Some(self.end(Ending::Plain));
        }
        self.state = ResponseState::PrepareDefinitions(definitions);
        None
    }

    fn error(&mut self, head: &[u8]) -> Option<Progress> {
        let code = head.get(1..3).map_or(0, |c| u16::from_le_bytes([c[0], c[1]]));
        // MariaDB reports progress as an error packet with the number 0xffff.
        if code == 0xffff && self.capabilities.has(Capabilities::MARIADB_PROGRESS) {
            return None;
        }
        Some(self.end(Ending::Err { code }))
    }

    fn terminator(&self, head: &[u8]) -> Ending {
        if self.deprecates_eof() { ok_ending(head) } else { eof_ending(head) }
    }

    fn after_columns(&self) -> ResponseState {
        if self.deprecates_eof() { ResponseState::Rows } else { ResponseState::ColumnsEof }
    }

    fn deprecates_eof(&self) -> bool {
        self.capabilities.has(Capabilities::DEPRECATE_EOF)
    }

    /// Ends the response, unless the status says that another result follows.
    fn result_end(&mut self, ending: Ending) -> Progress {
        if let Ending::Ok { status, .. } = ending
            && status.has(Status::MORE_RESULTS)
        {
            self.state = ResponseState::First;
            return Progress::NextResult;
        }
        self.end(ending)
    }

    fn end(&mut self, ending: Ending) -> Progress {
        self.state = ResponseState::Idle;
        Progress::Ended(ending)
    }
}

/// Reads status and warnings of an OK packet (header 0x00 or 0xfe).
fn ok_ending(head: &[u8]) -> Ending {
    let mut r = Reader::new(head);
    let parsed = (|| {
        r.u8()?;
        r.lenenc()?;
        r.lenenc()?;
        Some((r.u16()?, r.u16().unwrap_or(0)))
    })();
    let (status, warnings) = parsed.unwrap_or((0, 0));
    Ending::Ok { status: Status(status), warnings }
}

/// Reads an EOF packet: header, warnings, status. A longer one is an OK packet in disguise.
fn eof_ending(head: &[u8]) -> Ending {
    if head.len() >= 7 {
        return ok_ending(head);
    }
    let mut r = Reader::new(head);
    let parsed = (|| {
        r.u8()?;
        let warnings = r.u16()?;
        Some((r.u16()?, warnings))
    })();
    let (status, warnings) = parsed.unwrap_or((0, 0));
    Ending::Ok { status: Status(status), warnings }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::frame::put_frame;

    #[test]
    fn a_response_is_under_way_until_its_last_byte() {
        let mut error = Vec::new();
        put_frame(&mut error, 1, b"\xff\x28\x04#42000an error that is longer than a head");
        for cut in 1..error.len() {
            let mut tracker = Tracker::new(Capabilities(0));
            tracker.begin(Shape::Results);
            assert_eq!(tracker.feed(&error[..cut]), (cut, Progress::Continue));
            assert!(tracker.active(), "idle behind {cut} bytes");
            let ended = Progress::Ended(Ending::Err { code: 1064 });
            assert_eq!(tracker.feed(&error[cut..]), (error.len() - cut, ended));
            assert!(!tracker.active());
        }
    }
}
