//! The two algorithms of the compressed protocol: what fits into a piece, and what comes out of one.

use std::io;

use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};
use zstd::stream::raw::{CParameter, Encoder, Operation};
use zstd::zstd_safe::{self, DCtx, DParameter, InBuffer, OutBuffer, ResetDirective};

/// Bytes that are read or unpacked at once.
pub(super) const RAW: usize = 16 * 1024;
/// What a piece of this size wants for a window.
const WINDOW_LOG: u32 = 17;
/// A higher level that a client asks for would keep the others on its thread waiting.
const MAX_LEVEL: u8 = 9;
/// A peer cannot have the unpacking hold more than two to this many bytes: a piece is shorter.
const MAX_WINDOW_LOG: u32 = 24;
/// What an unpacker may keep between two pieces: a long piece may have made it large.
pub(super) const KEEP: usize = 1 << 20;

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

/// Unpacks pieces, as they come.
pub(super) enum Unpacker {
    Zlib(Decompress),
    Zstd(DCtx<'static>),
}

fn zstd_unpacker() -> io::Result<DCtx<'static>> {
    let mut unpacker = DCtx::try_create().ok_or(io::ErrorKind::OutOfMemory)?;
    unpacker.set_parameter(DParameter::WindowLogMax(MAX_WINDOW_LOG)).map_err(failed)?;
    Ok(unpacker)
}

impl Unpacker {
    pub(super) fn new(compression: Compression) -> io::Result<Self> {
        Ok(match compression {
            Compression::Zlib => Self::Zlib(Decompress::new(true)),
            Compression::Zstd(_) => Self::Zstd(zstd_unpacker()?),
        })
    }

    pub(super) fn reset(&mut self) -> io::Result<()> {
        match self {
            Self::Zlib(unpacker) => {
                unpacker.reset(true);
                Ok(())
            }
            Self::Zstd(unpacker) => {
                unpacker.reset(ResetDirective::SessionOnly).map(|_| ()).map_err(failed)
            }
        }
    }

    /// Behind a piece: nothing of it is needed any more.
    pub(super) fn shrink(&mut self) -> io::Result<()> {
        if let Self::Zstd(unpacker) = self
            && unpacker.sizeof() > KEEP
        {
            *unpacker = zstd_unpacker()?;
        }
        Ok(())
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
                let (mut input, mut output) = (InBuffer::around(input), OutBuffer::around(space));
                unpacker
                    .decompress_stream(&mut output, &mut input)
                    .map_err(|_| broken("a compressed packet cannot be unpacked"))?;
                (input.pos(), output.pos())
            }
        };
        out.truncate(start + done.1);
        Ok(done)
    }
}

fn failed(code: zstd_safe::ErrorCode) -> io::Error {
    io::Error::other(zstd_safe::get_error_name(code))
}

/// An error for what a peer has sent.
pub(super) fn broken(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
