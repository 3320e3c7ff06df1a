//! Typed values in front of a statement: the parameter block of CLIENT_QUERY_ATTRIBUTES.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query.html>

use super::params::skip_value;
use super::reader::Reader;

/// Where the statement's text starts in a COM_QUERY payload (command byte included) of a client
/// that negotiated query attributes; `None` when the block is broken or not all there.
pub fn text_offset(payload: &[u8]) -> Option<usize> {
    let mut r = Reader::new(payload);
    r.u8()?;
    let count = usize::try_from(r.lenenc()?).ok()?;
    r.lenenc()?;
    if count == 0 {
        return Some(r.position());
    }
    let nulls = r.take(count.div_ceil(8))?;
    r.u8()?;
    // Each parameter costs at least three bytes, so a lying count ends here.
    if count > r.rest().len() / 3 + 1 {
        return None;
    }
    let mut kinds = Vec::with_capacity(count);
    for _ in 0..count {
        kinds.push(r.u16()?);
        r.lenenc_bytes()?;
    }
    for (i, kind) in kinds.iter().enumerate() {
        if nulls[i / 8] & (1 << (i % 8)) == 0 {
            skip_value(&mut r, *kind)?;
        }
    }
    Some(r.position())
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
        // Of an unknown type, the length is not known.
        p[5] = 99;
        assert_eq!(text_offset(&p), None);
    }
}
