//! A bounds-checked cursor over a packet's payload.

/// Reads little-endian and length-encoded values; every getter is `None` past the end.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
    len: usize,
}

impl<'a> Reader<'a> {
    /// A cursor at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, len: bytes.len() }
    }

    /// Bytes read so far.
    pub fn position(&self) -> usize {
        self.len - self.rest.len()
    }

    /// The bytes that have not been read.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next `n` bytes.
    pub fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.rest.split_at_checked(n)?;
        self.rest = tail;
        Some(head)
    }

    /// One byte.
    pub fn u8(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*byte)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*head)
    }

    /// Two bytes.
    pub fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.array()?))
    }

    /// Four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.array()?))
    }

    /// Eight bytes.
    pub fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.array()?))
    }

    /// A length-encoded integer; `None` for the NULL marker 0xfb and the reserved 0xff.
    pub fn lenenc(&mut self) -> Option<u64> {
        match self.u8()? {
            n @ 0..=0xfa => Some(u64::from(n)),
            0xfc => self.u16().map(u64::from),
            0xfd => {
                let [a, b, c] = self.array()?;
                Some(u64::from(a) | u64::from(b) << 8 | u64::from(c) << 16)
            }
            0xfe => self.u64(),
            0xfb | 0xff => None,
        }
    }

    /// A length-encoded string.
    pub fn lenenc_bytes(&mut self) -> Option<&'a [u8]> {
        let n = usize::try_from(self.lenenc()?).ok()?;
        self.take(n)
    }

    /// A NUL-terminated string, without its NUL.
    pub fn nul_bytes(&mut self) -> Option<&'a [u8]> {
        let n = memchr::memchr(0, self.rest)?;
        let s = self.take(n)?;
        self.take(1)?;
        Some(s)
    }
}

/// Appends a length-encoded integer.
pub fn put_lenenc(out: &mut Vec<u8>, n: u64) {
    let b = n.to_le_bytes();
    match n {
        0..=0xfa => out.push(b[0]),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&b[..2]);
        }
        0x1_0000..=0x00ff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&b[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&b);
        }
    }
}

/// Appends a length-encoded string.
pub fn put_lenenc_bytes(out: &mut Vec<u8>, s: &[u8]) {
    put_lenenc(out, s.len() as u64);
    out.extend_from_slice(s);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lenenc_reads_back_at_every_width() {
        for n in [0, 250, 251, 0xffff, 0x1_0000, 0x00ff_ffff, 0x0100_0000, u64::MAX] {
            let mut out = Vec::new();
            put_lenenc(&mut out, n);
            assert_eq!(Reader::new(&out).lenenc(), Some(n));
            assert_eq!(Reader::new(&out[..out.len() - 1]).lenenc(), None);
        }
    }

    #[test]
    fn a_length_beyond_the_packet_is_refused() {
        assert_eq!(
            Reader::new(&[0xfe, 255, 255, 255, 255, 255, 255, 255, 255]).lenenc_bytes(),
            None
        );
        assert_eq!(Reader::new(b"abc").nul_bytes(), None);
    }
}
