//! Packet frames: a three-byte length, a sequence id, then the payload.
//!
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_packets.html>

/// Bytes of a frame's header.
pub const HEADER: usize = 4;
/// A payload of this length is continued in the next frame.
pub const MAX_PAYLOAD: usize = 0x00ff_ffff;

/// A frame header on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// Bytes of payload that follow.
    pub len: usize,
    /// Sequence id, counted from 0 for each command.
    pub seq: u8,
}

impl FrameHeader {
    /// Reads the header at the start of `bytes`, if all four bytes are there.
    pub fn peek(bytes: &[u8]) -> Option<Self> {
        Self::split(bytes).map(|(frame, _)| frame)
    }

    /// The header at the start of `bytes`, and what is there after it: some of the payload, or more.
    pub fn split(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let ([a, b, c, seq], rest) = bytes.split_first_chunk()?;
        let len = usize::from(*a) | usize::from(*b) << 8 | usize::from(*c) << 16;
        Some((Self { len, seq: *seq }, rest))
    }

    /// Whether the packet goes on in another frame.
    pub fn continued(self) -> bool {
        self.len == MAX_PAYLOAD
    }
}

/// The sequence id of the first packet that answers a packet: one more than that of its last frame. Of a packet that is
/// not all there, the frames that are count.
pub fn answering_seq(packet: &[u8]) -> u8 {
    let (mut at, mut next) = (0, 1);
    while let Some(frame) = packet.get(at..).and_then(FrameHeader::peek) {
        next = frame.seq.wrapping_add(1);
        if !frame.continued() {
            break;
        }
        at += HEADER + frame.len;
    }
    next
}

/// Appends `payload` as one frame. Payloads the proxy itself says are far below the frame limit;
/// a longer one is cut to it.
pub fn put_frame(out: &mut Vec<u8>, seq: u8, payload: &[u8]) {
    let payload = at_most(payload, MAX_PAYLOAD - 1);
    let [a, b, c, ..] = payload.len().to_le_bytes();
    out.extend_from_slice(&[a, b, c, seq]);
    out.extend_from_slice(payload);
}

/// The first `n` bytes, or all where there are fewer.
pub fn at_most(bytes: &[u8], n: usize) -> &[u8] {
    bytes.get(..n).unwrap_or(bytes)
}

/// Whole frames, header and payload. A frame of which the end is missing is not among them.
pub fn frames(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let frame = FrameHeader::peek(rest)?;
        let (head, tail) = rest.split_at_checked(HEADER + frame.len)?;
        rest = tail;
        Some(head)
    })
}

/// The payloads of whole frames.
pub fn payloads(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    frames(bytes).filter_map(|frame| frame.get(HEADER..))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_reads_back() {
        let mut out = Vec::new();
        put_frame(&mut out, 3, b"abc");
        assert_eq!(FrameHeader::peek(&out), Some(FrameHeader { len: 3, seq: 3 }));
        assert_eq!(&out[HEADER..], b"abc");
        assert_eq!(FrameHeader::peek(&out[..3]), None);
        assert_eq!(answering_seq(&out), 4);
    }

    #[test]
    fn an_answer_is_counted_on_from_the_last_frame() {
        let mut packet = vec![0xff, 0xff, 0xff, 0];
        assert_eq!(answering_seq(&packet), 1, "its next frame has not come");
        packet.resize(HEADER + MAX_PAYLOAD, b'x');
        packet.extend_from_slice(b"\x01\0\0\x01x\x01\0\0\x07");
        assert_eq!(answering_seq(&packet), 2);
    }
}
