//! The compressed protocol: a stream of packets, cut into pieces that are packed one by one.
//!
//! Each piece has seven bytes of header: its length, a sequence id of its own, and the length
//! that it unpacks to, or 0 if it was not packed.
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_compression.html>

use std::io;

use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};
use zstd::stream::raw::{CParameter, DParameter, Decoder, Encoder, Operation};
use zstd::zstd_safe;

use crate::protocol::frame::{FrameHeader, HEADER};

/// Bytes of a piece's header.
const PIECE: usize = 7;
/// Bytes that are packed at once, at most.
const CHUNK: usize = 64 * 1024;
/// Shorter pieces are not worth it, as the servers see it too.
const WORTHWHILE: usize = 50;
/// Bytes that are read at once.
const RAW: usize = 16 * 1024;
/// A peer cannot have the unpacking hold more than two to this many bytes: a piece is shorter.
const MAX_WINDOW_LOG: u32 = 24;

/// An algorithm that client and server agreed upon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// The older one.
    Zlib,
    /// With a level from 1 to 22.
    Zstd(u8),
}

/// Which end of the connection this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It sends commands.
    Client,
    /// It sends responses.
    Server,
}

/// Packs and unpacks one connection.
pub struct Codec {
    packer: Packer,
    unpacker: Unpacker,
    /// Read, and not unpacked yet.
    raw: Vec<u8>,
    piece: Piece,
    pieces: Pieces,
}

impl std::fmt::Debug for Codec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Codec").field("piece", &self.piece).finish_non_exhaustive()
    }
}

/// The rest of the piece that is being unpacked.
#[derive(Debug, Default)]
struct Piece {
    packed: usize,
    /// Bytes still to come out of it; `None` if it was not packed.
    plain: Option<usize>,
}

impl Codec {
    /// For a connection of which nothing is compressed yet.
    pub fn new(compression: Compression, role: Role) -> io::Result<Self> {
        let (packer, unpacker) = match compression {
            Compression::Zlib => (
                Packer::Zlib(Compress::new(flate2::Compression::default(), true)),
                Unpacker::Zlib(Decompress::new(true)),
            ),
            Compression::Zstd(level) => {
                let mut encoder = Encoder::new(i32::from(level.clamp(1, 22)))?;
                // What the default would be for a chunk of this size.
                encoder.set_parameter(CParameter::WindowLog(CHUNK.ilog2()))?;
                let mut decoder = Decoder::new()?;
                decoder.set_parameter(DParameter::WindowLogMax(MAX_WINDOW_LOG))?;
                (Packer::Zstd(Box::new(encoder)), Unpacker::Zstd(Box::new(decoder)))
            }
        };
        let pieces = Pieces::new(role);
        Ok(Self { packer, unpacker, raw: Vec::new(), piece: Piece::default(), pieces })
    }

    /// Unpacks at most `room` bytes of what `below` reads. `Ok(None)` when nothing is there yet,
    /// `Ok(Some(0))` at the peer's end.
    pub fn read(
        &mut self,
        out: &mut Vec<u8>,
        room: usize,
        mut below: impl FnMut(&mut Vec<u8>, usize) -> io::Result<Option<usize>>,
    ) -> io::Result<Option<usize>> {
        let before = out.len();
        let read = loop {
            self.unpack(out, room - (out.len() - before))?;
            if out.len() - before == room {
                break Some(0);
            }
            self.raw.reserve(RAW);
            match below(&mut self.raw, RAW)? {
                Some(n) if n > 0 => {}
                end => break end,
            }
        };
        if self.raw.is_empty() {
            self.raw = Vec::new();
        }
        match out.len() - before {
            0 => Ok(read),
            n => Ok(Some(n)),
        }
    }

    fn unpack(&mut self, out: &mut Vec<u8>, room: usize) -> io::Result<()> {
        let mut at = 0;
        let mut left = room;
        loop {
            if self.piece.packed == 0 && self.piece.plain.is_none_or(|n| n == 0) {
                let Some(header) = self.raw.get(at..at + PIECE) else {
                    break;
                };
                at += PIECE;
                self.begin(header.try_into().map_err(|_| io::ErrorKind::InvalidData)?)?;
                continue;
            }
            let end = self.raw.len().min(at + self.piece.packed);
            let input = &self.raw[at..end];
            let (taken, given) = match self.piece.plain {
                None => {
                    let n = input.len().min(left);
                    out.extend_from_slice(&input[..n]);
                    (n, n)
                }
                // The rest of it is a checksum.
                Some(0) => (input.len(), 0),
                Some(plain) => self.unpacker.run(input, out, plain.min(left))?,
            };
            at += taken;
            left -= given;
            self.piece.packed -= taken;
            if let Some(plain) = &mut self.piece.plain {
                *plain -= given;
            }
            if taken == 0 && given == 0 {
                if self.piece.packed == 0 && left > 0 {
                    return Err(broken("a compressed packet is cut short"));
                }
                break;
            }
        }
        self.raw.drain(..at);
        Ok(())
    }

    fn begin(&mut self, header: [u8; PIECE]) -> io::Result<()> {
        let length = |at: usize| {
            u32::from_le_bytes([header[at], header[at + 1], header[at + 2], 0]) as usize
        };
        let (packed, plain) = (length(0), length(4));
        self.pieces.heard(header[3]);
        self.piece = Piece { packed, plain: (plain > 0).then_some(plain) };
        if plain > 0 { self.unpacker.reset() } else { Ok(()) }
    }

    /// Packs bytes of a stream of packets.
    pub fn write(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let mut from = 0;
        let mut at = 0;
        while at < bytes.len() {
            let (n, starts) = self.pieces.next_part(&bytes[at..]);
            if let Some(first) = starts {
                self.pack(&bytes[from..at], out)?;
                self.pieces.next = first;
                from = at;
            }
            at += n;
        }
        self.pack(&bytes[from..], out)
    }

    fn pack(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        for chunk in bytes.chunks(CHUNK) {
            let start = out.len();
            out.resize(start + PIECE, 0);
            let mut plain = 0;
            if chunk.len() >= WORTHWHILE {
                self.packer.run(chunk, out)?;
                plain = chunk.len();
            }
            if plain == 0 || out.len() - start - PIECE >= chunk.len() {
                plain = 0;
                out.truncate(start + PIECE);
                out.extend_from_slice(chunk);
            }
            let packed = (out.len() - start - PIECE).to_le_bytes();
            out[start..start + 3].copy_from_slice(&packed[..3]);
            out[start + 3] = self.pieces.next;
            out[start + 4..start + PIECE].copy_from_slice(&plain.to_le_bytes()[..3]);
            self.pieces.next = self.pieces.next.wrapping_add(1);
        }
        Ok(())
    }
}

/// Sequence ids of pieces. They count on from the peer's last one, and begin anew with each
/// command and its response.
#[derive(Debug)]
struct Pieces {
    role: Role,
    /// The id of the next piece.
    next: u8,
    /// The id of the last piece that came.
    last_heard: u8,
    /// One came since the last that went.
    heard: bool,
    /// Bytes left in the frame that is being sent.
    left: usize,
    /// The frame's header as far as it was sent, in an earlier call.
    head: Vec<u8>,
    /// The last frame's own sequence id, and whether its packet goes on.
    last: u8,
    goes_on: bool,
}

impl Pieces {
    fn new(role: Role) -> Self {
        Self {
            role,
            next: 0,
            last_heard: 0,
            heard: false,
            left: 0,
            head: Vec::new(),
            last: 0,
            goes_on: false,
        }
    }

    fn heard(&mut self, seq: u8) {
        self.last_heard = seq;
        self.heard = true;
    }

    /// How many of the bytes belong together, and with which id a piece begins here, if one must.
    fn next_part(&mut self, bytes: &[u8]) -> (usize, Option<u8>) {
        let answers = std::mem::take(&mut self.heard);
        let mut starts = answers.then(|| self.last_heard.wrapping_add(1));
        if self.left > 0 {
            let n = self.left.min(bytes.len());
            self.left -= n;
            return (n, starts);
        }
        let n = (HEADER - self.head.len()).min(bytes.len());
        let whole = self.head.is_empty() && n == HEADER;
        self.head.extend_from_slice(&bytes[..n]);
        if let Some(frame) = FrameHeader::peek(&self.head) {
            if whole && !self.goes_on {
                starts = match self.role {
                    // Ids wrap: 0 behind 255 goes on with an upload, on which no word was heard.
                    Role::Client if frame.seq == 0 && (answers || self.last != 255) => Some(0),
                    // The next of several commands that the client did not wait between.
                    Role::Server if frame.seq == 1 && self.last != 0 && !answers => {
                        Some(self.last_heard.wrapping_add(1))
                    }
                    _ => starts,
                };
            }
            self.left = frame.len;
            self.last = frame.seq;
            self.goes_on = frame.continued();
            self.head.clear();
        }
        (n, starts)
    }
}

enum Packer {
    Zlib(Compress),
    Zstd(Box<Encoder<'static>>),
}

impl Packer {
    /// Appends a packed chunk.
    fn run(&mut self, chunk: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let start = out.len();
        // Longer would not be worth it, and is not kept.
        out.resize(start + zstd_safe::compress_bound(chunk.len()).max(chunk.len() + 64), 0);
        let room = &mut out[start..];
        let written = match self {
            Self::Zlib(packer) => {
                packer.reset();
                match packer.compress(chunk, room, FlushCompress::Finish)? {
                    Status::StreamEnd => usize::try_from(packer.total_out()).unwrap_or(0),
                    _ => room.len(),
                }
            }
            Self::Zstd(packer) => {
                packer.reinit()?;
                let done = packer.run_on_buffers(chunk, room)?;
                let mut rest = zstd_safe::OutBuffer::around(&mut room[done.bytes_written..]);
                packer.finish(&mut rest, true)?;
                done.bytes_written + rest.pos()
            }
        };
        out.truncate(start + written);
        Ok(())
    }
}

enum Unpacker {
    Zlib(Decompress),
    Zstd(Box<Decoder<'static>>),
}

impl Unpacker {
    fn reset(&mut self) -> io::Result<()> {
        match self {
            Self::Zlib(unpacker) => {
                unpacker.reset(true);
                Ok(())
            }
            Self::Zstd(unpacker) => unpacker.reinit(),
        }
    }

    /// Appends at most `room` bytes. Returns how many were taken and given.
    fn run(&mut self, input: &[u8], out: &mut Vec<u8>, room: usize) -> io::Result<(usize, usize)> {
        let start = out.len();
        out.resize(start + room.min(CHUNK), 0);
        let space = &mut out[start..];
        let done = match self {
            Self::Zlib(unpacker) => {
                let (read, written) = (unpacker.total_in(), unpacker.total_out());
                unpacker
                    .decompress(input, space, FlushDecompress::None)
                    .map_err(|_| broken("a compressed packet cannot be unpacked"))?;
                let counted = |now: u64, then: u64| usize::try_from(now - then).unwrap_or(0);
                (counted(unpacker.total_in(), read), counted(unpacker.total_out(), written))
            }
            Self::Zstd(unpacker) => {
                let status = unpacker
                    .run_on_buffers(input, space)
                    .map_err(|_| broken("a compressed packet cannot be unpacked"))?;
                (status.bytes_read, status.bytes_written)
            }
        };
        out.truncate(start + done.1);
        Ok(done)
    }
}

fn broken(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
