//! What must hold of any bytes as compressed packets: no panic, and bounded memory; and of any
//! packets: they come back, however they and their pieces are cut.

#![no_main]

mod cuts;

use std::io;

use libfuzzer_sys::fuzz_target;
use lockstead::net::compression::{Codec, Compression, Role};
use lockstead::net::room::Room;

/// More than what is read at once and may be left of an earlier read.
const MUCH: usize = 64 * 1024;
/// More than any input here unpacks to before it is known to be broken.
const ENOUGH: usize = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let Some((&[how, a, b, c, room], bytes)) = data.split_first_chunk() else { return };
    let algorithm = match how % 4 {
        0 => Compression::Zlib,
        1 => Compression::Zstd(1),
        2 => Compression::Zstd(3),
        _ => Compression::Zstd(22),
    };
    let role = if how & 4 > 0 { Role::Client } else { Role::Server };
    let room = 1 + usize::from(room);
    let _ = unpack(algorithm, role, bytes, &[a, b, c], room);
    let times = 1 + usize::from(how / 8) * 4;
    let packets = bytes.repeat(times);
    let mut codec = Codec::new(algorithm, role, &Room::default()).expect("a codec");
    let mut packed = Vec::new();
    let sizes = [b, a];
    let sizes = if how & 8 > 0 { &sizes[..] } else { &[] };
    for piece in cuts::pieces(&packets, sizes) {
        codec.write(piece, &mut packed).expect("packs");
    }
    let again = unpack(algorithm, role, &packed, &[c, a], room * 64).expect("unpacks");
    // To a client, the beginning of a packet waits for its end.
    let same = again == packets || (role == Role::Server && packets.starts_with(&again));
    assert!(same || packets.len() >= ENOUGH, "other packets");
});

/// Unpacks what comes in pieces, at most so many bytes at once.
fn unpack(
    algorithm: Compression,
    role: Role,
    bytes: &[u8],
    sizes: &[u8],
    room: usize,
) -> io::Result<Vec<u8>> {
    let mut codec = Codec::new(algorithm, role, &Room::default())?;
    let mut pieces = cuts::pieces(bytes, sizes);
    let mut out = Vec::new();
    let mut reads = 0;
    while out.len() < ENOUGH {
        let before = out.len();
        let read = codec.read(&mut out, room, |raw, most| {
            assert!(raw.len() <= MUCH, "{} bytes are kept", raw.len());
            reads += 1;
            // Now and then, nothing is there yet.
            if reads % 3 == 0 {
                return Ok(None);
            }
            let piece = pieces.next().unwrap_or_default();
            assert!(piece.len() <= most);
            raw.extend_from_slice(piece);
            Ok(Some(piece.len()))
        })?;
        assert!(out.len() - before <= room, "more than there is room for");
        match read {
            Some(0) => break,
            Some(n) => assert_eq!(n, out.len() - before),
            None => assert_eq!(out.len(), before),
        }
    }
    Ok(out)
}
