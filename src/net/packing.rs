//! The two algorithms of the compressed protocol: what fits into a piece, and what comes out of one.

use std::io;

use super::room::{LentRoom, Room};
use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};
use zstd::stream::raw::{CParameter, Encoder, Operation};
use zstd::zstd_safe::{self, DCtx, DParameter, InBuffer, OutBuffer, ResetDirective};

/// Bytes that are read or unpacked at once.
pub(super) const RAW: usize = 16 * 1024;
/// The window that a piece of this size needs.
const WINDOW_LOG: u32 = 17;
/// A higher level that a client asks for would keep the others on its thread waiting.
const MAX_LEVEL: u8 = 9;
/// A peer cannot have the unpacking hold more than two to this many bytes: a piece is shorter.
const MAX_WINDOW_LOG: u32 = 24;
/// Bytes that an unpacker may keep between two pieces: a long piece may have made it large.
pub(super) const KEEP: usize = 256 * 1024;
/// A window up to this is a session's own, as zlib's is.
const OWN_WINDOW: usize = 32 * 1024;
/// How a frame of zstd begins.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// An algorithm that client and server agreed upon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// The older one.
    Zlib,
    /// With a level from 1 to 22.
    Zstd(u8),
}

/// Packs chunks, one by one.
pub(super) enum Packer {
    Zlib(Compress),
    Zstd(Box<Encoder<'static>>),
}

impl Packer {
    pub(super) fn new(compression: Compression) -> io::Result<Self> {
        Ok(match compression {
            Compression::Zlib => Self::Zlib(Compress::new(flate2::Compression::default(), true)),
            Compression::Zstd(level) => {
                let mut encoder = Encoder::new(i32::from(level.clamp(1, MAX_LEVEL)))?;
                encoder.set_parameter(CParameter::WindowLog(WINDOW_LOG))?;
                // The client chooses the level: at the highest, these are half a gigabyte.
                encoder.set_parameter(CParameter::HashLog(WINDOW_LOG))?;
                encoder.set_parameter(CParameter::ChainLog(WINDOW_LOG))?;
                Self::Zstd(Box::new(encoder))
            }
        })
    }

    /// Appends a packed chunk.
    pub(super) fn run(&mut self, chunk: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let start = out.len();
        // Longer would not be worth it, and is not kept.
        out.resize(start + zstd_safe::compress_bound(chunk.len()).max(chunk.len() + 64), 0);
        let room = out.get_mut(start..).ok_or_else(beyond)?;
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
                let rest = room.get_mut(done.bytes_written..).ok_or_else(beyond)?;
                let mut rest = OutBuffer::around(rest);
                packer.finish(&mut rest, true)?;
                done.bytes_written + rest.pos()
            }
        };
        out.truncate(start + written);
        Ok(())
    }
}

/// Unpacks pieces, as they come.
pub(super) enum Unpacker {
    Zlib(Decompress),
    Zstd(Frame),
}

/// Unpacks a frame of zstd: there is one in a piece.
pub(super) struct Frame {
    context: DCtx<'static>,
    room: Room,
    /// The memory of its window.
    lent: Option<LentRoom>,
    progress: FrameProgress,
}

enum FrameProgress {
    /// The frame's header, as far as it is there.
    Header(Vec<u8>),
    Blocks,
    Ended,
}

impl Frame {
    fn new(room: &Room) -> io::Result<Self> {
        let progress = FrameProgress::Header(Vec::new());
        Ok(Self { context: zstd_unpacker()?, room: room.clone(), lent: None, progress })
    }

    /// Forgets what it has unpacked, and takes little memory again.
    fn reset(&mut self) -> io::Result<()> {
        if self.size() > KEEP {
            self.context = zstd_unpacker()?;
        } else {
            self.context.reset(ResetDirective::SessionOnly).map_err(failed)?;
        }
        self.lent = None;
        self.progress = FrameProgress::Header(Vec::new());
        Ok(())
    }

    /// Bytes that it takes.
    pub(super) fn size(&self) -> usize {
        self.context.sizeof()
    }

    fn run(&mut self, input: &[u8], space: &mut [u8]) -> io::Result<(usize, usize)> {
        let mut taken = 0;
        if let FrameProgress::Header(header) = &mut self.progress {
            let window = loop {
                if let Some(window) = window(header)? {
                    break window;
                }
                let Some(byte) = input.get(taken) else { return Ok((taken, 0)) };
                header.push(*byte);
                taken += 1;
            };
            if window > OWN_WINDOW {
                self.lent = Some(self.room.lend(window)?);
            }
            let header = std::mem::take(header);
            self.progress = FrameProgress::Blocks;
            if self.blocks(&header, &mut [])?.0 < header.len() {
                return Err(broken("a compressed packet cannot be unpacked"));
            }
        }
        let (more, given) = match self.progress {
            // The bytes after it belong to nothing.
            FrameProgress::Ended => (0, 0),
            _ => self.blocks(input.get(taken..).ok_or_else(beyond)?, space)?,
        };
        Ok((taken + more, given))
    }

    fn blocks(&mut self, input: &[u8], space: &mut [u8]) -> io::Result<(usize, usize)> {
        let (mut input, mut output) = (InBuffer::around(input), OutBuffer::around(space));
        let left = self.context.decompress_stream(&mut output, &mut input);
        if left.map_err(|_| broken("a compressed packet cannot be unpacked"))? == 0 {
            self.progress = FrameProgress::Ended;
        }
        Ok((input.pos(), output.pos()))
    }
}

/// The window that a frame with this beginning needs; `None` until its header is complete.
/// <https://datatracker.ietf.org/doc/html/rfc8878#section-3.1.1>
fn window(header: &[u8]) -> io::Result<Option<usize>> {
    let Some((magic, [descriptor, fields @ ..])) = header.split_first_chunk::<4>() else {
        return Ok(None);
    };
    if *magic != MAGIC {
        return Err(broken("a compressed packet cannot be unpacked"));
    }
    let single = descriptor & 0x20 != 0;
    let dictionary = match descriptor & 3 {
        3 => 4,
        bytes => usize::from(bytes),
    };
    let size = match descriptor >> 6 {
        0 => usize::from(single),
        shift => 1 << shift,
    };
    let before = usize::from(!single) + dictionary;
    let Some(size) = fields.get(before..before + size) else { return Ok(None) };
    let window = match (single, fields) {
        // All of the content is in it.
        (true, _) => {
            let number = size.iter().rev().fold(0_u64, |high, low| high << 8 | u64::from(*low));
            number.saturating_add(if size.len() == 2 { 256 } else { 0 })
        }
        (false, [window, ..]) => {
            let base = 1_u64 << (10 + (window >> 3));
            base + base / 8 * u64::from(window & 7)
        }
        (false, []) => return Ok(None),
    };
    if window > 1 << MAX_WINDOW_LOG {
        return Err(broken("a compressed packet needs too much memory"));
    }
    Ok(usize::try_from(window).ok())
}

fn zstd_unpacker() -> io::Result<DCtx<'static>> {
    let mut unpacker = DCtx::try_create().ok_or(io::ErrorKind::OutOfMemory)?;
    unpacker.set_parameter(DParameter::WindowLogMax(MAX_WINDOW_LOG)).map_err(failed)?;
    Ok(unpacker)
}

impl Unpacker {
    pub(super) fn new(compression: Compression, room: &Room) -> io::Result<Self> {
        Ok(match compression {
            Compression::Zlib => Self::Zlib(Decompress::new(true)),
            Compression::Zstd(_) => Self::Zstd(Frame::new(room)?),
        })
    }

    /// Prepares for another piece: nothing of the one before is needed any more.
    pub(super) fn reset(&mut self) -> io::Result<()> {
        match self {
            Self::Zlib(unpacker) => {
                unpacker.reset(true);
                Ok(())
            }
            Self::Zstd(frame) => frame.reset(),
        }
    }

    /// Appends at most `room` bytes. Returns how many were taken and given.
    pub(super) fn run(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
        room: usize,
    ) -> io::Result<(usize, usize)> {
        let start = out.len();
        out.resize(start + room.min(RAW), 0);
        let space = out.get_mut(start..).ok_or_else(beyond)?;
        let done = match self {
            Self::Zlib(unpacker) => {
                let (read, written) = (unpacker.total_in(), unpacker.total_out());
                unpacker
                    .decompress(input, space, FlushDecompress::None)
                    .map_err(|_| broken("a compressed packet cannot be unpacked"))?;
                let counted = |now: u64, then: u64| usize::try_from(now - then).unwrap_or(0);
                (counted(unpacker.total_in(), read), counted(unpacker.total_out(), written))
            }
            Self::Zstd(frame) => frame.run(input, space)?,
        };
        out.truncate(start + done.1);
        Ok(done)
    }
}

fn failed(code: zstd_safe::ErrorCode) -> io::Error {
    io::Error::other(zstd_safe::get_error_name(code))
}

/// An error where bytes are counted that are not there.
pub(super) fn beyond() -> io::Error {
    broken("more bytes were taken or given than there are")
}

/// An error for what a peer has sent.
pub(super) fn broken(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
