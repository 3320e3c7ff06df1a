//! Which bytes are text of a character set.

use crate::sql::lexer::dialect::Multibyte;

/// Whether bytes are text of a character set: servers take no literal of others, or add bytes. MariaDB gives a variable the
/// character set of what a statement assigns to it when it prepares the statement, and leaves the bytes as they are.
pub(super) fn is_well_formed(hex: &[u8], charset: &[u8]) -> bool {
    let Ok(bytes) = hex::decode(hex) else { return false };
    let utf8 = || std::str::from_utf8(&bytes);
    let are_units = |read: fn([u8; 2]) -> u16| {
        let units = bytes.chunks_exact(2).map(|unit| read([unit[0], unit[1]]));
        bytes.len() % 2 == 0 && char::decode_utf16(units).all(|read| read.is_ok())
    };
    match charset {
        b"utf8mb4" => utf8().is_ok(),
        b"utf8mb3" | b"utf8" => utf8().is_ok_and(|text| text.chars().all(|c| c.len_utf8() < 4)),
        b"utf16" => are_units(u16::from_be_bytes),
        b"utf16le" => are_units(u16::from_le_bytes),
        b"ucs2" => bytes.len() % 2 == 0,
        b"utf32" => bytes.len() % 4 == 0,
        b"gbk" | b"gb18030" => {
            are_pairs(&bytes, |_| false, |b| matches!(b, 0x81..=0xfe), Multibyte::trails)
        }
        b"sjis" | b"cp932" => {
            let lead = |b| matches!(b, 0x81..=0x9f | 0xe0..=0xfc);
            let trail = |b| matches!(b, 0x40..=0x7e | 0x80..=0xfc);
            are_pairs(&bytes, |b| matches!(b, 0xa1..=0xdf), lead, trail)
        }
        // Of longer characters, and those that only some of these have, nothing is known.
        b"big5" | b"gb2312" | b"euckr" | b"ujis" | b"eucjpms" => {
            let [lead, trail] = [|b| matches!(b, 0xa1..=0xf7), |b| matches!(b, 0xa1..=0xfe)];
            are_pairs(&bytes, |_| false, lead, trail)
        }
        _ => true,
    }
}

/// Whether bytes are ASCII, those that are a character alone, and pairs.
fn are_pairs(
    bytes: &[u8],
    alone: fn(u8) -> bool,
    leads: fn(u8) -> bool,
    trails: fn(u8) -> bool,
) -> bool {
    let mut rest = bytes.iter().copied();
    while let Some(byte) = rest.next() {
        let is_one = byte.is_ascii() || alone(byte);
        let mut is_two = || leads(byte) && rest.next().is_some_and(trails);
        if !(is_one || is_two()) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_no_literal_has_are_known() {
        for (hex, charset, fine) in [
            ("C3A9", "utf8mb4", true),
            ("C49DAA11", "utf8mb4", false),
            ("F09F9880", "utf8mb4", true),
            ("F09F9880", "utf8mb3", false),
            ("AA11", "latin1", true),
            ("", "utf8mb3", true),
            ("00E90041", "utf16", true),
            ("00E900", "utf16", false),
            ("D8000041", "utf16", false),
            ("E9004100", "utf16le", true),
            ("00E900", "ucs2", false),
            ("00E900", "utf32", false),
            ("D2B041", "gbk", true),
            ("D20AC7", "gbk", false),
            ("B18320", "sjis", false),
            ("B1835C", "sjis", true),
            ("B1A141", "big5", true),
            ("B1", "euckr", false),
        ] {
            assert_eq!(is_well_formed(hex.as_bytes(), charset.as_bytes()), fine, "{hex} {charset}");
        }
    }
}
