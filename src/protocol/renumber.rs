//! Sequence ids of packets that came over a compressed leg, as they are without compression.
//!
//! On a compressed connection a server counts the pieces, and counts packets again from a piece where
//! it has flushed. The client's leg has other pieces, or none: then clients check the ids.

/// Counts the packets of one response after the other.
#[derive(Debug, Default)]
pub struct Renumber {
    next: u8,
    /// The length in the header, as far as that has passed.
    len: usize,
    /// Bytes of the length that have passed.
    seen: u32,
    /// Bytes of payload that are still to pass.
    left: usize,
}

impl Renumber {
    /// A response begins, or continues after a file, with this id.
    pub fn restart(&mut self, seq: u8) {
        self.next = seq;
    }

    /// Numbers the frames whose headers end in these bytes.
    pub fn pass(&mut self, mut bytes: &mut [u8]) {
        loop {
            let (payload, rest) = bytes.split_at_mut(self.left.min(bytes.len()));
            self.left -= payload.len();
            let Some((byte, rest)) = rest.split_first_mut() else {
                return;
            };
            bytes = rest;
            if self.seen < 3 {
                self.len |= usize::from(*byte) << (8 * self.seen);
                self.seen += 1;
            } else {
                *byte = self.next;
                self.next = self.next.wrapping_add(1);
                self.left = std::mem::take(&mut self.len);
                self.seen = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::frame::put_frame;

    #[test]
    fn frames_are_counted_wherever_the_bytes_are_cut() {
        let frames = |ids: [u8; 3]| {
            let mut out = Vec::new();
            for (id, payload) in ids.into_iter().zip([&b"abc"[..], b"", b"\x01\0\0\x09x"]) {
                put_frame(&mut out, id, payload);
            }
            out
        };
        let wanted = frames([1, 2, 3]);
        for cut in 0..wanted.len() {
            let mut bytes = frames([1, 7, 2]);
            let mut renumber = Renumber::default();
            renumber.restart(1);
            let (first, second) = bytes.split_at_mut(cut);
            renumber.pass(first);
            renumber.pass(second);
            assert_eq!(bytes, wanted, "cut at {cut}");
        }
    }
}
