//! What must hold of any bytes as responses: no panic, and the same ends in the same places,
//! however the bytes are cut.

#![no_main]

mod cuts;

use libfuzzer_sys::fuzz_target;
use lockstead::protocol::capabilities::Capabilities;
use lockstead::protocol::command::Shape;
use lockstead::protocol::response::{PrepareOk, Progress, Tracker};

const SHAPES: [Shape; 7] = [
    Shape::Results,
    Shape::CursorResults,
    Shape::Prepare,
    Shape::Rows,
    Shape::FieldList,
    Shape::OnePacket,
    Shape::Endless,
];
const BITS: [Capabilities; 4] = [
    Capabilities::DEPRECATE_EOF,
    Capabilities::OPTIONAL_METADATA,
    Capabilities::MARIADB_PROGRESS,
    Capabilities::MARIADB_CACHE_METADATA,
];

fuzz_target!(|data: &[u8]| {
    let Some((&[bits, a, b, shapes @ ..], responses)) = data.split_first_chunk::<6>() else {
        return;
    };
    let wanted = BITS.iter().zip(0..).filter(|(_, n)| bits >> n & 1 > 0);
    let capabilities = wanted.fold(Capabilities(0), |all, (bit, _)| all.with(*bit));
    let _ = PrepareOk::parse(responses);
    let whole = follow(capabilities, &shapes, [responses].into_iter());
    let pieces = follow(capabilities, &shapes, cuts::pieces(responses, &[a, b]));
    assert_eq!(pieces, whole, "another story in pieces");
    let bytes = follow(capabilities, &shapes, responses.chunks(1));
    assert_eq!(bytes, whole, "another story byte by byte");
});

/// Where responses end and how, what is left, and the last sequence id.
type Story = (Vec<(usize, Progress)>, bool, bool, u8);

fn follow<'a>(
    capabilities: Capabilities,
    shapes: &[u8],
    pieces: impl Iterator<Item = &'a [u8]>,
) -> Story {
    let mut tracker = Tracker::new(capabilities);
    let mut shapes = shapes.iter().map(|n| SHAPES[usize::from(*n) % SHAPES.len()]).cycle();
    let mut ends = Vec::new();
    let mut at = 0;
    for piece in pieces {
        let mut rest = piece;
        while !rest.is_empty() {
            if !tracker.active() {
                tracker.start_response(shapes.next().expect("a shape"));
            }
            let (n, progress) = tracker.feed(rest);
            assert!(n > 0, "no progress");
            at += n;
            rest = &rest[n..];
            match progress {
                Progress::Continue => assert!(rest.is_empty(), "bytes after the end of the packet"),
                Progress::NextResult => {}
                Progress::Broken(_) => ends.push((at, progress)),
                Progress::WantsFile => {
                    ends.push((at, progress));
                    tracker.start_response(Shape::Results);
                }
                Progress::Ended(_) => {
                    assert!(!tracker.active() && tracker.at_packet_boundary());
                    ends.push((at, progress));
                }
            }
        }
    }
    (ends, tracker.active(), tracker.at_packet_boundary(), tracker.last_seq())
}
