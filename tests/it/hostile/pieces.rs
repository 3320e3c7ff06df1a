//! Compressed pieces that are broken, or that are not what they say.

use std::io::Write;

use flate2::write::ZlibEncoder;
use rand::RngExt;
use rand::rngs::StdRng;

use super::stage::{Enemy, Stage, any_library, mutated, noise};
use crate::script::Server;
use crate::scripted::{packet, query};
use crate::wire::capability::{COMPRESS, ZSTD};

const LONGEST: usize = 0x00ff_ffff;

pub(super) fn compressed_pieces(server: &Server) {
    let stage = Stage::start(server, &["--login-timeout", "2s"]);
    stage.attack(80, |stage, random| {
        let zstd = random.random_bool(0.5);
        let level = [random.random_range(1..=22)];
        let (bits, tail) = if zstd { (ZSTD, &level[..]) } else { (COMPRESS, &[][..]) };
        let (mut enemy, ..) = Enemy::log_in(stage, any_library(random), bits, tail);
        // One that is good, to begin with.
        let good =
            packet(0, &[&[3], "SELECT 'a long enough text', 1 ".as_bytes(), &[b' '; 60]].concat());
        enemy.send(&piece(zstd, &good));
        for _ in 0..random.random_range(1..4) {
            if !enemy.send(&bad(random, zstd, &good)) {
                break;
            }
        }
        enemy.leave(random);
    });
    // A window of 16 MiB for each that attacks, and what is under way.
    stage.assert_unharmed(12 * (17 << 20) + (64 << 20));
}

fn bad(random: &mut StdRng, zstd: bool, good: &[u8]) -> Vec<u8> {
    match random.random_range(0..9) {
        0 => noise(random, 200),
        1 => mutated(random, &piece(zstd, good)),
        2 => {
            // Longer or shorter than it says.
            let mut piece = piece(zstd, good);
            piece[4..7]
                .copy_from_slice(&random.random_range(1_u32..0x0100_0000).to_le_bytes()[..3]);
            piece
        }
        3 => {
            // Packed into less than it says, with much after it.
            let mut piece = piece(zstd, good);
            piece[..3].copy_from_slice(&[0xff; 3]);
            piece[4..7].copy_from_slice(&[0xff; 3]);
            [piece, vec![0; 3_000_000]].concat()
        }
        // Nothing but empty packets, each of which is answered; a long statement.
        4 => piece(zstd, &vec![0; 20_000]),
        5 => {
            let statement = query(&vec![b' '; LONGEST - 100]);
            [piece(zstd, &statement), piece(zstd, good)].concat()
        }
        6 if zstd => framed(1000, &windows(random, 1)),
        7 if zstd => framed(LONGEST, &windows(random, 127)),
        _ => framed(0, &noise(random, 300)),
    }
}

/// A piece with the packed bytes of a stream of packets.
fn piece(zstd: bool, bytes: &[u8]) -> Vec<u8> {
    let packed = if zstd {
        zstd::encode_all(bytes, 3).expect("packed")
    } else {
        let mut encoder = ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).expect("packed");
        encoder.finish().expect("packed")
    };
    framed(bytes.len(), &packed)
}

fn framed(plain: usize, packed: &[u8]) -> Vec<u8> {
    let mut out = packed.len().to_le_bytes()[..3].to_vec();
    out.push(0);
    out.extend_from_slice(&plain.to_le_bytes()[..3]);
    out.extend_from_slice(packed);
    out
}

/// A zstd frame with a window of up to 2 TiB, and blocks of 128 KiB of one byte.
fn windows(random: &mut StdRng, blocks: usize) -> Vec<u8> {
    let exponent: u8 = if random.random_bool(0.5) { 14 } else { random.random_range(10..32) };
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0, exponent << 3];
    for n in 1..=blocks {
        let header = u32::from(n == blocks) | 1 << 1 | (128 * 1024) << 3;
        out.extend_from_slice(&header.to_le_bytes()[..3]);
        out.push(b' ');
    }
    out
}
