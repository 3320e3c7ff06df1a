//! What must hold of any bytes as responses that are changed on their way: no panic, the same in
//! any pieces, packets in order.

#![no_main]

mod cuts;

use libfuzzer_sys::fuzz_target;
use lockstead::protocol::amend::Amend;
use lockstead::protocol::capabilities::Capabilities;
use lockstead::protocol::column::Column;
use lockstead::protocol::frame::{FrameHeader, HEADER};
use lockstead::protocol::error_replacement::ErrorReplacement;
use lockstead::protocol::renumber::Renumber;
use lockstead::protocol::reply::ErrorReply;

/// Each with the bit of the first byte that asks for it. All client libraries ask for some of these.
const BITS: [(u8, Capabilities); 5] = [
    (0, Capabilities::DEPRECATE_EOF),
    (1, Capabilities::MARIADB_PROGRESS),
    (2, Capabilities::OPTIONAL_METADATA),
    (5, Capabilities::MARIADB_CACHE_METADATA),
    (6, Capabilities::MARIADB_EXTENDED_METADATA),
];

fuzz_target!(|data: &[u8]| {
    let Some((&[how, columns, a, b], bytes)) = data.split_first_chunk() else { return };
    let wanted = BITS.iter().filter(|(n, _)| how >> n & 1 > 0);
    let capabilities = wanted.fold(Capabilities(0), |all, (_, bit)| all.with(*bit));
    let amend = || {
        let mut amend = Amend::new(capabilities);
        amend.next(how & 8 > 0);
        let types = (how & 16 > 0).then_some(([0; 8], [1; 8]));
        let left_out = (how & 128 > 0).then(|| bytes.iter().copied().take(64).collect());
        let column = Column { name: b"name".to_vec(), types, whole: None, left_out };
        amend.describe(vec![column; usize::from(columns)]);
        amend
    };
    same(bytes, [a, b], || {
        let mut amend = amend();
        move |piece: &[u8]| amend.feed(piece)
    });
    counted(&amend().feed(bytes), 1);
    let error = ErrorReply { code: 1235, state: "42000", message: "no".to_owned() };
    same(bytes, [a, b], || {
        let mut refusal = ErrorReplacement::new(error.clone());
        move |piece: &[u8]| refusal.feed(piece)
    });
    let renumber = || {
        let mut renumber = Renumber::default();
        renumber.restart(how);
        move |piece: &[u8]| {
            let mut piece = piece.to_vec();
            renumber.pass(&mut piece);
            piece
        }
    };
    same(bytes, [a, b], renumber);
    let passed = renumber()(bytes);
    assert_eq!(passed.len(), bytes.len());
    counted(&passed, how);
});

/// In pieces and byte by byte the same as at once.
fn same<F: FnMut(&[u8]) -> Vec<u8>>(bytes: &[u8], sizes: [u8; 2], make: impl Fn() -> F) {
    let whole = make()(bytes);
    let pieces: Vec<u8> = cuts::pieces(bytes, &sizes).flat_map(make()).collect();
    assert_eq!(pieces, whole, "another output in pieces");
    let single: Vec<u8> = bytes.chunks(1).flat_map(make()).collect();
    assert_eq!(single, whole, "another output byte by byte");
}

/// Each frame has the next sequence id.
fn counted(mut bytes: &[u8], first: u8) {
    let mut next = first;
    while let Some(frame) = FrameHeader::peek(bytes) {
        assert_eq!(frame.seq, next, "out of order");
        next = next.wrapping_add(1);
        bytes = bytes.get(HEADER + frame.len..).unwrap_or_default();
    }
}
