//! Bytes in the pieces in which a network might bring them.

/// Pieces of `bytes`, as long as the sizes say in turn.
pub fn pieces<'a>(mut bytes: &'a [u8], sizes: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut sizes = sizes.iter().cycle();
    std::iter::from_fn(move || {
        let size = sizes.next().map_or(usize::MAX, |size| 1 + usize::from(*size));
        let (piece, rest) = bytes.split_at(size.min(bytes.len()));
        bytes = rest;
        (!piece.is_empty()).then_some(piece)
    })
}
