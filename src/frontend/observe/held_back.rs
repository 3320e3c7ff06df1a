//! The end of a response that waits until the rows of the locks that it reports are written.

use crate::protocol::frame::HEADER;

/// Bytes that are held back at most. A longer packet is a row.
const MOST: usize = 64 * 1024;

/// Holds back the last packet of a response, or all of a short one. The rest goes out as it comes in: a client may act on
/// any packet before the last, and must act on a request for its file.
#[derive(Debug)]
pub(crate) struct HeldBack {
    bytes: Vec<u8>,
    /// The whole answer is kept, as far as there is room.
    whole: bool,
    /// What is there of a frame's header.
    header: Vec<u8>,
    /// Bytes of a frame's payload that are still to come.
    left: usize,
}

impl HeldBack {
    /// `whole`: hold all of the response back.
    pub(crate) fn new(whole: bool) -> Self {
        Self { bytes: Vec::new(), whole, header: Vec::new(), left: 0 }
    }

    /// Takes the next bytes of the response. Returns those that go out now.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        while !bytes.is_empty() {
            if self.left == 0 && self.header.is_empty() && !self.whole {
                out.append(&mut self.bytes);
            }
            let n = if self.left > 0 {
                let n = self.left.min(bytes.len());
                self.left -= n;
                n
            } else {
                let n = (HEADER - self.header.len()).min(bytes.len());
                self.header.extend_from_slice(&bytes[..n]);
                if let [a, b, c, _] = self.header[..] {
                    self.left = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
                    self.header.clear();
                }
                n
            };
            self.bytes.extend_from_slice(&bytes[..n]);
            bytes = &bytes[n..];
            if self.bytes.len() > MOST {
                self.whole = false;
                out.append(&mut self.bytes);
            }
        }
        out
    }

    /// What came so far ends with a packet, and others will follow: what goes out now. `asks`: the client is asked for
    /// its file, so that nothing may wait.
    pub(crate) fn packet_ends(&mut self, asks: bool) -> Vec<u8> {
        self.whole &= !asks;
        if self.whole { Vec::new() } else { std::mem::take(&mut self.bytes) }
    }

    /// What was held back, and whether that is the whole response.
    pub(crate) fn into_parts(self) -> (Vec<u8>, bool) {
        (self.bytes, self.whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(sizes: &[usize]) -> Vec<u8> {
        let mut out = Vec::new();
        for (seq, size) in (1..).zip(sizes) {
            crate::protocol::frame::put_frame(&mut out, seq, &vec![seq; *size]);
        }
        out
    }

    #[test]
    fn the_last_packet_waits_in_pieces_of_any_size() {
        let all = packets(&[1, 0, 300, 5]);
        for piece in [1, 2, 3, 7, 100, all.len()] {
            let mut held = HeldBack::new(false);
            let mut out: Vec<u8> = all.chunks(piece).flat_map(|bytes| held.feed(bytes)).collect();
            assert_eq!(out.len(), all.len() - HEADER - 5, "{piece}");
            let (last, whole) = held.into_parts();
            assert!(!whole);
            out.extend(last);
            assert_eq!(out, all);
        }
    }

    #[test]
    fn a_short_response_waits_as_a_whole_and_a_long_one_in_part() {
        let short = packets(&[1, 2, 3]);
        let mut held = HeldBack::new(true);
        assert_eq!(held.feed(&short), b"");
        assert_eq!(held.into_parts(), (short, true));
        let long = packets(&[1, MOST, MOST + 1, 4]);
        let mut held = HeldBack::new(true);
        let mut out = held.feed(&long);
        let (last, whole) = held.into_parts();
        assert_eq!((last.len(), whole), (HEADER + 4, false));
        out.extend(last);
        assert_eq!(out, long);
    }
}
