//! Typed values in front of a statement: the parameter block of CLIENT_QUERY_ATTRIBUTES.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query.html>

use super::params::{Extent, extent, is_null, skip_value};
use super::reader::Reader;

/// Bytes up to which the names of attributes are kept; those of values are not.
const MOST_NAMES: usize = 64 * 1024;

/// Where the statement's text starts in a COM_QUERY payload (command byte included) of a client
/// that negotiated query attributes; `None` when the block is broken or not all there.
pub fn text_offset(payload: &[u8]) -> Option<usize> {
    let mut r = Reader::new(payload);
    for kind in kinds(&mut r)? {
        skip_value(&mut r, kind)?;
    }
    Some(r.position())
}

/// The types of all values that are not NULL, up to which it reads.
fn kinds(r: &mut Reader<'_>) -> Option<Vec<u16>> {
    r.u8()?;
    let count = usize::try_from(r.lenenc()?).ok()?;
    r.lenenc()?;
    if count == 0 {
        return Some(Vec::new());
    }
    let nulls = r.take(count.div_ceil(8))?;
    r.u8()?;
    // Each parameter costs at least three bytes, so a lying count ends here.
    if count > r.rest().len() / 3 + 1 {
        return None;
    }
    let mut kinds = Vec::with_capacity(count);
    for i in 0..count {
        let kind = r.u16()?;
        r.lenenc_bytes()?;
        if !is_null(nulls, i)? {
            kinds.push(kind);
        }
    }
    Some(kinds)
}

/// Finds where the text begins in a COM_QUERY that comes in pieces, in memory that values do not need.
#[derive(Debug, Clone, Default)]
pub struct AttributesAhead {
    /// What has come, up to the values, or of the length of one.
    head: Vec<u8>,
    /// Types of the values to come, the last one first. `None`: they are not known yet.
    kinds: Option<Vec<u16>>,
    /// Bytes to come of a value whose length is known.
    skip: u64,
}

impl AttributesAhead {
    /// How many bytes of the next piece come before the text, and whether it begins there. What is broken counts as text.
    pub fn pass(&mut self, piece: &[u8]) -> (usize, bool) {
        let mut at = 0;
        if self.kinds.is_none() {
            let before = self.head.len();
            self.head.extend_from_slice(piece);
            let mut r = Reader::new(&self.head);
            let Some(mut found) = kinds(&mut r) else {
                let broken = self.head.len() > MOST_NAMES;
                return if broken { (0, true) } else { (piece.len(), false) };
            };
            at = r.position().saturating_sub(before);
            found.reverse();
            self.head.clear();
            self.kinds = Some(found);
        }
        loop {
            let now = piece
                .len()
                .min(at.saturating_add(usize::try_from(self.skip).unwrap_or(usize::MAX)));
            self.skip -= (now - at) as u64;
            at = now;
            if self.skip > 0 {
                return (at, false);
            }
            let Some(kind) = self.kinds.as_ref().and_then(|kinds| kinds.last().copied()) else {
                return (at, true);
            };
            match extent(&self.head, kind) {
                Extent::Known(rest) => self.skip = rest,
                Extent::Unknown => return (at, true),
                Extent::NeedsMore => {
                    let Some(byte) = piece.get(at) else { return (at, false) };
                    self.head.push(*byte);
                    at += 1;
                    continue;
                }
            }
            self.head.clear();
            if let Some(kinds) = &mut self.kinds {
                kinds.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_found_after_two_attributes() {
        let mut p = vec![3, 2, 1, 0b10, 1];
        p.extend_from_slice(&[0xfe, 0, 1, b'a', 3, 0, 1, b'b']);
        p.extend_from_slice(b"\x02hi");
        p.extend_from_slice(b"SELECT 1");
        assert_eq!(&p[text_offset(&p).expect("whole")..], b"SELECT 1");
        for n in 0..p.len() - 8 {
            assert_eq!(text_offset(&p[..n]), None, "{n} bytes");
        }
        // The length of a value of an unknown type is not known.
        p[5] = 99;
        assert_eq!(text_offset(&p), None);
    }

    #[test]
    fn the_text_is_found_in_pieces_of_any_size() {
        let long = vec![b'x'; 70_000];
        // A string, NULL, a number, a moment, a string of three bytes of length, and the text.
        let mut packet = vec![3, 5, 1, 0b10, 1];
        for kind in [0xfe, 0xfe, 3, 12, 0xfd] {
            packet.extend_from_slice(&[kind, 0, 1, b'n']);
        }
        packet.extend_from_slice(b"\x02hi\x05\0\0\0\x04\xe8\x07\x01\x01\xfd\x70\x11\x01");
        packet.extend_from_slice(&long);
        let start = packet.len();
        packet.extend_from_slice(b"SELECT 1");
        assert_eq!(text_offset(&packet), Some(start));
        for size in [1, 2, 3, 5, 7, 60, 1000, 65_536, 100_000] {
            let mut ahead = AttributesAhead::default();
            let mut passed = 0;
            let found = packet.chunks(size).any(|piece| {
                let (n, text) = ahead.pass(piece);
                passed += n;
                text
            });
            assert_eq!((found, passed), (true, start), "pieces of {size}");
        }
        let mut none = AttributesAhead::default();
        assert_eq!(none.pass(b"\x03\0\x01SELECT 1"), (3, true));
        // A type that nobody knows counts as text.
        let mut broken = AttributesAhead::default();
        assert_eq!(broken.pass(&[3, 1, 1, 0, 1, 99, 0, 0, 1, 2]), (8, true));
        let mut endless = AttributesAhead::default();
        let names = [&[3, 1, 1, 0, 1, 0xfe, 0, 0xfd, 0, 0, 2][..], &long].concat();
        assert_eq!(endless.pass(&names), (0, true));
    }
}
