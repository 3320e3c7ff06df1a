//! The compressed protocol: a stream of packets, cut into pieces that are packed one by one.
//!
//! Each piece has seven bytes of header: its length, a sequence id of its own, and the length
//! that it unpacks to, or 0 if it was not packed.
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_compression.html>

use std::borrow::Cow;
use std::io;

pub use super::packing::Compression;
use super::packing::{Packer, RAW, Unpacker, beyond, broken};
use super::room::Room;
use crate::protocol::frame::{FrameHeader, HEADER, at_most};

/// Bytes of a piece's header.
const PIECE: usize = 7;
/// Bytes that are packed at once, at most.
const CHUNK: usize = 2 << 20;
/// A frame up to this long is one piece or two, however it comes.
const HELD: usize = 1 << 20;
/// Shorter pieces are not worth it, as the servers see it too.
const WORTHWHILE: usize = 50;

/// Which end of the connection this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The end that sends commands.
    Client,
    /// The end that sends responses.
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
    /// The beginning of a frame that is to be packed when it is whole.
    held: Vec<u8>,
    /// Bytes that are still to come of a piece that is not packed.
    stored: usize,
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
    /// The codec of a connection of which nothing is compressed yet.
    pub fn new(compression: Compression, role: Role, room: &Room) -> io::Result<Self> {
        let packer = Packer::new(compression)?;
        let unpacker = Unpacker::new(compression, room)?;
        let pieces = Pieces::new(role);
        let (raw, held) = (Vec::new(), Vec::new());
        Ok(Self { packer, unpacker, raw, piece: Piece::default(), pieces, held, stored: 0 })
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
                let Some(header) = self.raw.get(at..).and_then(<[u8]>::first_chunk) else {
                    break;
                };
                at += PIECE;
                self.start_frame(*header);
                continue;
            }
            let input = at_most(self.raw.get(at..).ok_or_else(beyond)?, self.piece.packed);
            let (taken, given) = match self.piece.plain {
                None => {
                    let plain = at_most(input, left);
                    out.extend_from_slice(plain);
                    (plain.len(), plain.len())
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
                if self.piece.packed == 0 && *plain == 0 {
                    self.unpacker.reset()?;
                }
            }
            if taken == 0 && given == 0 {
                // The piece is here as a whole, or what is packed in it has ended before.
                if left > 0 && (self.piece.packed == 0 || !input.is_empty()) {
                    return Err(broken("a compressed packet is cut short"));
                }
                break;
            }
        }
        self.raw.drain(..at);
        Ok(())
    }

    fn start_frame(&mut self, header: [u8; PIECE]) {
        let length = |low, mid, high| u32::from_le_bytes([low, mid, high, 0]) as usize;
        let packed = length(header[0], header[1], header[2]);
        let plain = length(header[4], header[5], header[6]);
        self.pieces.heard(header[3]);
        self.piece = Piece { packed, plain: (plain > 0).then_some(plain) };
    }

    /// Packs bytes of a stream of packets.
    ///
    /// To a client, no frame is more than two pieces: some clients look for no third. A frame of which not all is there
    /// yet is held back. Of a very long one, the rest is a piece that is not packed, since its length can be announced.
    pub fn write(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let (stored, bytes) = bytes.split_at(self.stored.min(bytes.len()));
        out.extend_from_slice(stored);
        self.stored -= stored.len();
        if self.held.is_empty() {
            return self.write_frames(bytes, 0, out);
        }
        let mut held = std::mem::take(&mut self.held);
        let new = held.len();
        held.extend_from_slice(bytes);
        self.write_frames(&held, new, out)
    }

    /// A result has ended and another follows, or the answer to a file. The next frames are counted from the number of
    /// the piece that they begin in, as a server does when it flushes; some clients rely on that.
    pub fn result_follows(&mut self) {
        self.pieces.flushed = self.pieces.role == Role::Server;
    }

    /// `new`: where the bytes begin that were not held back.
    fn write_frames(&mut self, bytes: &[u8], new: usize, out: &mut Vec<u8>) -> io::Result<()> {
        let mut bytes = Cow::Borrowed(bytes);
        let mut from = 0;
        let mut at = new;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let FramePart { len: n, starts, number } = self.pieces.next_part(rest);
            if let Some(number) = number {
                *bytes.to_mut().get_mut(at + n - 1).ok_or_else(beyond)? = number;
            }
            if let Some(first) = starts {
                self.pack(bytes.get(from..at).ok_or_else(beyond)?, out)?;
                self.pieces.next = first;
                from = at;
            }
            at += n;
        }
        let last = bytes.get(from..).ok_or_else(beyond)?;
        let rest = self.pieces.left;
        if self.pieces.role == Role::Client || rest == 0 {
            return self.pack(last, out);
        }
        if last.len() + rest <= HELD {
            self.held = last.to_vec();
            return Ok(());
        }
        self.pack(last, out)?;
        self.pieces.left = 0;
        self.stored = rest;
        self.put_header(rest, 0, out);
        Ok(())
    }

    fn put_header(&mut self, packed: usize, plain: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(&packed.to_le_bytes()[..3]);
        out.push(self.pieces.next);
        out.extend_from_slice(&plain.to_le_bytes()[..3]);
        self.pieces.next = self.pieces.next.wrapping_add(1);
    }

    fn pack(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        for chunk in bytes.chunks(CHUNK) {
            let mut packed = Vec::new();
            if chunk.len() >= WORTHWHILE {
                self.packer.run(chunk, &mut packed)?;
            }
            if packed.is_empty() || packed.len() >= chunk.len() {
                self.put_header(chunk.len(), 0, out);
                out.extend_from_slice(chunk);
            } else {
                self.put_header(packed.len(), chunk.len(), out);
                out.extend_from_slice(&packed);
            }
        }
        Ok(())
    }
}

/// Bytes of a frame's header, or of its payload.
struct FramePart {
    len: usize,
    /// With which id a piece begins here, if one must.
    starts: Option<u8>,
    /// Another id for the frame whose header ends here.
    number: Option<u8>,
}

/// Sequence ids of pieces, which continue from the peer's last one, and start again with each command and its response.
#[derive(Debug)]
struct Pieces {
    role: Role,
    /// The id of the next piece.
    next: u8,
    /// The id of the last piece that came.
    last_heard: u8,
    /// A piece came since the last that went.
    heard: bool,
    /// Bytes left in the frame that is being sent.
    left: usize,
    /// The frame's header as far as it was sent, in an earlier call.
    head: Vec<u8>,
    /// A result ended with the last frame, and another follows, or a file was heard.
    flushed: bool,
    /// The offset of frames' ids from their own.
    shift: u8,
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
            flushed: false,
            shift: 0,
            last: 0,
            goes_on: false,
        }
    }

    fn heard(&mut self, seq: u8) {
        self.last_heard = seq;
        self.heard = true;
    }

    /// The bytes that belong together.
    fn next_part(&mut self, bytes: &[u8]) -> FramePart {
        let answers = std::mem::take(&mut self.heard);
        let mut starts = answers.then(|| self.last_heard.wrapping_add(1));
        if self.left > 0 {
            let n = self.left.min(bytes.len());
            self.left -= n;
            return FramePart { len: n, starts, number: None };
        }
        let mut number = None;
        let start = at_most(bytes, HEADER - self.head.len());
        let n = start.len();
        let whole = self.head.is_empty() && n == HEADER;
        self.head.extend_from_slice(start);
        if let Some(frame) = FrameHeader::peek(&self.head) {
            if whole && !self.goes_on {
                starts = match self.role {
                    // Ids wrap: 0 after 255 continues an upload, which got no response.
                    Role::Client if frame.seq == 0 && (answers || self.last != 255) => Some(0),
                    // The next of several commands that the client did not wait between.
                    Role::Server if frame.seq == 1 && self.last != 0 && !answers => {
                        Some(self.last_heard.wrapping_add(1))
                    }
                    _ => starts,
                };
            }
            if std::mem::take(&mut self.flushed) {
                self.shift = starts.unwrap_or(self.next).wrapping_sub(frame.seq);
            } else if starts.is_some() {
                self.shift = 0;
            }
            number = (self.shift != 0).then(|| frame.seq.wrapping_add(self.shift));
            self.left = frame.len;
            self.last = frame.seq;
            self.goes_on = frame.continued();
            self.head.clear();
        }
        FramePart { len: n, starts, number }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::frame::put_frame;

    /// Unpacks it all, and tells the pieces' ids with their lengths.
    fn unpacked(compression: Compression, bytes: &[u8], cut: usize) -> Vec<u8> {
        let mut codec = Codec::new(compression, Role::Client, &Room::default()).expect("a codec");
        let mut chunks = bytes.chunks(cut.max(1));
        let mut out = Vec::new();
        loop {
            let read = codec.read(&mut out, 1000, |raw, room| {
                let Some(chunk) = chunks.next() else { return Ok(None) };
                assert!(chunk.len() <= room);
                raw.extend_from_slice(chunk);
                Ok(Some(chunk.len()))
            });
            if read.expect("good pieces").is_none() {
                return out;
            }
        }
    }

    fn pieces(mut bytes: &[u8]) -> Vec<(u8, usize)> {
        let mut all = Vec::new();
        while let [a, b, c, seq, rest @ ..] = bytes {
            let packed = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
            all.push((*seq, packed));
            bytes = &rest[PIECE - 4 + packed..];
        }
        all
    }

    fn frames(sizes: &[usize]) -> Vec<u8> {
        let mut out = Vec::new();
        for (n, size) in sizes.iter().enumerate() {
            let payload: Vec<u8> = (0..*size).map(|i| (i / 7 + n).to_le_bytes()[0]).collect();
            put_frame(&mut out, n.to_le_bytes()[0] + 1, &payload);
        }
        out
    }

    #[test]
    fn the_frames_of_a_further_result_are_counted_from_their_piece() {
        let stream = frames(&[3; 11]);
        let ids = |bytes: &[u8]| bytes.chunks(HEADER + 3).map(|f| f[3]).collect::<Vec<u8>>();
        let mut codec =
            Codec::new(Compression::Zlib, Role::Server, &Room::default()).expect("a codec");
        let mut packed = Vec::new();
        codec.pieces.heard(0);
        for (n, result) in stream.chunks(5 * (HEADER + 3)).enumerate() {
            if n > 0 {
                codec.result_follows();
            }
            codec.write(result, &mut packed).expect("packed");
        }
        assert_eq!(pieces(&packed).iter().map(|(id, _)| *id).collect::<Vec<_>>(), [1, 2, 3]);
        let out = unpacked(Compression::Zlib, &packed, 9);
        assert_eq!(ids(&out), [1, 2, 3, 4, 5, 2, 3, 4, 5, 6, 3]);
        // A file that the client sent in between is counted, too.
        let mut packed = Vec::new();
        codec.result_follows();
        codec.pieces.heard(5);
        codec.write(&stream[stream.len() - 7..], &mut packed).expect("packed");
        assert_eq!(ids(&unpacked(Compression::Zlib, &packed, 9)), [6]);
        // The next response has its own.
        let mut packed = Vec::new();
        codec.pieces.heard(0);
        codec.write(&frames(&[3; 2]), &mut packed).expect("packed");
        assert_eq!(ids(&unpacked(Compression::Zlib, &packed, 9)), [1, 2]);
    }

    #[test]
    fn packets_come_out_as_they_went_in_however_they_are_cut() {
        let stream = frames(&[3, 0, 60, 70_000, 49, 1 << 21, 5]);
        for compression in [Compression::Zlib, Compression::Zstd(3)] {
            for cut in [1_000_003, 65_536, 7001, 13] {
                let mut codec =
                    Codec::new(compression, Role::Server, &Room::default()).expect("a codec");
                let mut packed = Vec::new();
                for part in stream.chunks(cut) {
                    codec.write(part, &mut packed).expect("packed");
                }
                assert!(packed.len() < stream.len(), "{compression:?} {cut}");
                for back in [16_384, 5] {
                    assert!(
                        unpacked(compression, &packed, back) == stream,
                        "{compression:?} {cut}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_frame_to_a_client_is_two_pieces_at_most() {
        for size in [200_000, HELD - 10, 3 * HELD] {
            let stream = frames(&[size]);
            let mut codec =
                Codec::new(Compression::Zlib, Role::Server, &Room::default()).expect("a codec");
            let mut packed = Vec::new();
            for part in stream.chunks(CHUNK / 32) {
                codec.write(part, &mut packed).expect("packed");
            }
            assert!(pieces(&packed).len() <= 2, "{size}: {:?}", pieces(&packed));
        }
    }

    #[test]
    fn pieces_are_counted_from_the_command() {
        let command = |codec: &mut Codec, seq: u8| {
            let mut out = Vec::new();
            put_frame(&mut out, seq, b"\x03SELECT 1");
            let mut packed = Vec::new();
            codec.write(&out, &mut packed).expect("packed");
            pieces(&packed)
        };
        let mut client =
            Codec::new(Compression::Zlib, Role::Client, &Room::default()).expect("a codec");
        assert_eq!(command(&mut client, 0), [(0, 13)]);
        assert_eq!(command(&mut client, 0), [(0, 13)], "a second one without waiting");
        assert_eq!(command(&mut client, 1), [(1, 13)]);
        client.pieces.heard(9);
        assert_eq!(command(&mut client, 10), [(10, 13)], "a file after its request");
        client.pieces.last = 255;
        assert_eq!(command(&mut client, 0), [(11, 13)], "its ids wrap");
        client.pieces.heard(12);
        assert_eq!(command(&mut client, 0), [(0, 13)]);
        let mut server =
            Codec::new(Compression::Zlib, Role::Server, &Room::default()).expect("a codec");
        server.pieces.heard(0);
        assert_eq!(command(&mut server, 1), [(1, 13)]);
        assert_eq!(command(&mut server, 2), [(2, 13)]);
        assert_eq!(command(&mut server, 1), [(1, 13)], "the answer to the next of two commands");
    }

    #[test]
    fn broken_pieces_are_refused() {
        let refuse = |bytes: &[u8]| {
            let mut codec =
                Codec::new(Compression::Zlib, Role::Server, &Room::default()).expect("a codec");
            let mut once = Some(bytes);
            let mut out = Vec::new();
            codec.read(&mut out, 100_000, |raw, _| {
                let Some(bytes) = once.take() else { return Ok(None) };
                raw.extend_from_slice(bytes);
                Ok(Some(bytes.len()))
            })
        };
        assert!(refuse(&[3, 0, 0, 0, 9, 0, 0, 1, 2, 3]).is_err(), "no zlib");
        // Less comes out than was announced.
        let mut codec =
            Codec::new(Compression::Zlib, Role::Client, &Room::default()).expect("a codec");
        let mut packed = Vec::new();
        codec.write(&frames(&[500]), &mut packed).expect("packed");
        packed[4] = packed[4].wrapping_add(1);
        assert!(refuse(&packed).is_err(), "cut short");
        assert!(matches!(refuse(&packed[..5]), Ok(None)));
    }
}

#[cfg(test)]
mod broken {
    use super::*;
    use crate::net::packing::KEEP;

    const BOTH: [Compression; 2] = [Compression::Zlib, Compression::Zstd(3)];

    fn codec(compression: Compression) -> Codec {
        Codec::new(compression, Role::Server, &Room::default()).expect("a codec")
    }

    fn packed(compression: Compression, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        // To a server, what is no whole frame goes out as well.
        let codec = Codec::new(compression, Role::Client, &Room::default());
        codec.expect("a codec").write(bytes, &mut out).expect("packs");
        out
    }

    /// Reads all that is there, and at most so much at once.
    fn read(codec: &mut Codec, mut bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        loop {
            let read = codec.read(&mut out, 16 * 1024, |raw, room| {
                let (now, rest) = bytes.split_at(room.min(bytes.len()));
                raw.extend_from_slice(now);
                bytes = rest;
                Ok((!now.is_empty()).then_some(now.len()))
            });
            match read {
                Ok(Some(_)) => {}
                Ok(None) => return Ok(out),
                Err(e) => return Err(e),
            }
        }
    }

    #[test]
    fn a_piece_that_ends_before_its_length_is_refused_and_nothing_is_kept() {
        for compression in BOTH {
            let mut piece = packed(compression, &[7; 1000]);
            // Says that it is longer, packed and not.
            piece[..3].copy_from_slice(&[0xff; 3]);
            piece[4..7].copy_from_slice(&[0xff; 3]);
            piece.resize(1 << 20, 0);
            let mut codec = codec(compression);
            let mut out = Vec::new();
            let mut fed = 0;
            let refused = codec.read(&mut out, 1 << 20, |raw, room| {
                let now = &piece[fed..(fed + room).min(piece.len())];
                fed += now.len();
                raw.extend_from_slice(now);
                Ok((!now.is_empty()).then_some(now.len()))
            });
            assert!(refused.is_err(), "{compression:?}: {refused:?}");
            assert!(codec.raw.len() <= 2 * RAW, "{compression:?} keeps {}", codec.raw.len());
        }
    }

    #[test]
    fn a_long_piece_leaves_no_large_window() {
        const LONG: usize = 12 << 20;
        let bytes: Vec<u8> = (0..LONG).map(|n| n.to_le_bytes()[1]).collect();
        let packed = zstd::bulk::compress(&bytes, 19).expect("packs");
        let mut piece = packed.len().to_le_bytes()[..3].to_vec();
        piece.push(0);
        piece.extend_from_slice(&LONG.to_le_bytes()[..3]);
        piece.extend_from_slice(&packed);
        let mut codec = codec(Compression::Zstd(3));
        let size = |codec: &Codec| match &codec.unpacker {
            Unpacker::Zstd(frame) => frame.size(),
            Unpacker::Zlib(_) => 0,
        };
        let (most, last) = piece.split_at(piece.len() - 10);
        let mut out = read(&mut codec, most).expect("unpacks");
        assert!(size(&codec) > KEEP, "a window of {}", size(&codec));
        out.extend(read(&mut codec, last).expect("unpacks"));
        assert!(out == bytes && size(&codec) <= KEEP);
        let again = read(
            &mut codec,
            &crate::net::compression::broken::packed(Compression::Zstd(3), &[7; 1000]),
        );
        assert_eq!(again.expect("unpacks"), [7; 1000]);
    }

    /// A piece that holds a frame of zstd: so many blocks of 128 KiB, each of one byte again and again.
    fn repeated(blocks: usize, ends: bool) -> Vec<u8> {
        const BLOCK: usize = 128 * 1024;
        // A window of 16 MiB, and no size.
        let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 14 << 3];
        for nth in 1..=blocks {
            let last = usize::from(ends && nth == blocks);
            frame.extend_from_slice(&(BLOCK << 3 | 1 << 1 | last).to_le_bytes()[..3]);
            frame.push(7);
        }
        let plain = blocks * BLOCK + usize::from(!ends);
        let mut piece = frame.len().to_le_bytes()[..3].to_vec();
        piece.push(0);
        piece.extend_from_slice(&plain.to_le_bytes()[..3]);
        piece.extend(frame);
        piece
    }

    #[test]
    fn a_short_piece_may_unpack_to_a_long_one() {
        for cut in [1, 5, 1000] {
            let mut codec = codec(Compression::Zstd(3));
            let piece = repeated(100, true);
            let mut out = 0;
            for part in piece.chunks(cut) {
                let read = read(&mut codec, part).expect("unpacks");
                assert!(read.iter().all(|b| *b == 7));
                out += read.len();
            }
            assert_eq!(out, 100 * 128 * 1024, "cut at {cut}");
            let again = read(
                &mut codec,
                &crate::net::compression::broken::packed(Compression::Zstd(3), &[7; 1000]),
            );
            assert_eq!(again.expect("unpacks"), [7; 1000]);
        }
    }

    #[test]
    fn windows_of_stalled_pieces_are_bounded_over_all_sessions() {
        const WINDOW: usize = 16 << 20;
        let room = Room::default();
        let all = room.left();
        let mut piece = repeated(127, false);
        // The frame says that there is one byte more than a window.
        piece[0] += 4;
        let stalled: Vec<_> = (0..40)
            .map(|_| {
                let mut codec = Codec::new(Compression::Zstd(3), Role::Server, &room).expect("one");
                let refused = read(&mut codec, &piece).is_err();
                (codec, refused)
            })
            .collect();
        let size = |codec: &Codec| match &codec.unpacker {
            Unpacker::Zstd(frame) => frame.size(),
            Unpacker::Zlib(_) => 0,
        };
        let taken: usize = stalled.iter().map(|(codec, _)| size(codec)).sum();
        assert!(taken < all + 40 * KEEP, "{taken} bytes");
        let refused = stalled.iter().filter(|(_, refused)| *refused).count();
        assert!(refused > 0 && all - room.left() >= (40 - refused) * WINDOW);
        // A shorter one is not refused.
        let mut codec = Codec::new(Compression::Zstd(3), Role::Server, &room).expect("one");
        let bytes: Vec<u8> = (0..1 << 20).map(|n: usize| n.to_le_bytes()[1]).collect();
        let unpacked = read(
            &mut codec,
            &crate::net::compression::broken::packed(Compression::Zstd(3), &bytes),
        );
        assert!(unpacked.expect("unpacks") == bytes);
        drop(stalled);
        assert_eq!(room.left(), all);
    }

    #[test]
    fn after_a_frame_there_is_nothing_more_in_its_piece() {
        let mut piece = repeated(1, true);
        let frame = piece[7..].to_vec();
        piece.extend(&frame);
        let packed = 2 * frame.len();
        piece[..3].copy_from_slice(&packed.to_le_bytes()[..3]);
        piece[4..7].copy_from_slice(&(2 * 128 * 1024_usize).to_le_bytes()[..3]);
        assert!(read(&mut codec(Compression::Zstd(3)), &piece).is_err());
    }
}
