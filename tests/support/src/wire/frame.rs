//! Frames: the three length bytes, the sequence id and the payload, as they are on the wire.

use std::io;
use std::net::TcpStream;

use super::wrap::Wrapped;
use crate::patience::Deadline;

/// The longest payload of one frame; a payload of exactly this length is continued.
pub const MAX_PAYLOAD: usize = 0x00ff_ffff;

/// Why no frame came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// The peer closed or reset the connection between two frames.
    Closed,
    /// The deadline passed.
    TimedOut,
}

/// Reads from a socket with a deadline for each call, and keeps what came too early.
#[derive(Debug)]
pub struct Frames {
    pub wrapped: Wrapped,
    buffer: Vec<u8>,
    taken: usize,
}

impl Frames {
    pub fn new(stream: TcpStream) -> Self {
        Frames { wrapped: Wrapped::new(stream), buffer: Vec::new(), taken: 0 }
    }

    pub fn stream(&self) -> &TcpStream {
        &self.wrapped.stream
    }

    /// The next frame: its header as sent and its payload.
    pub fn read(&mut self, deadline: impl Into<Deadline>) -> Result<([u8; 4], Vec<u8>), Missing> {
        let deadline = deadline.into();
        self.fill(4, deadline)?;
        let mut header = [0; 4];
        header.copy_from_slice(&self.buffer[self.taken..self.taken + 4]);
        let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
        self.fill(4 + length, deadline)?;
        let payload = self.buffer[self.taken + 4..self.taken + 4 + length].to_vec();
        self.taken += 4 + length;
        Ok((header, payload))
    }

    /// Whether anything, data or the end of the stream, can be read by `deadline`.
    pub fn readable_by(&mut self, deadline: impl Into<Deadline>) -> bool {
        !matches!(self.fill(1, deadline.into()), Err(Missing::TimedOut))
    }

    fn fill(&mut self, wanted: usize, deadline: Deadline) -> Result<(), Missing> {
        if self.taken == self.buffer.len() {
            self.buffer.clear();
            self.taken = 0;
        }
        let mut chunk = [0_u8; 16384];
        while self.buffer.len() - self.taken < wanted {
            let left = deadline.left();
            if left.is_zero() {
                return Err(Missing::TimedOut);
            }
            self.wrapped.stream.set_read_timeout(Some(left)).expect("a positive read timeout");
            match self.wrapped.read(&mut chunk) {
                Ok(0) => return Err(Missing::Closed),
                Ok(n) => self.buffer.extend_from_slice(&chunk[..n]),
                Err(e) if is_timeout(&e) => {}
                Err(_) => return Err(Missing::Closed),
            }
        }
        Ok(())
    }

    /// Sends `payload` in as many frames as it needs, numbered from `sequence`; answers the
    /// number of the frame to follow.
    pub fn write(&mut self, payload: &[u8], sequence: u8) -> io::Result<u8> {
        let first = sequence;
        let mut sequence = sequence;
        let mut rest = payload;
        if sequence == 0 {
            self.wrapped.begin();
        }
        loop {
            let (part, after) = rest.split_at(rest.len().min(MAX_PAYLOAD));
            let length = u32::try_from(part.len()).expect("at most 24 bits").to_le_bytes();
            let mut out = Vec::with_capacity(4 + part.len());
            // MariaDB's clients count the pieces alone where there are some.
            let number = if self.wrapped.is_packed() { first } else { sequence };
            out.extend_from_slice(&[length[0], length[1], length[2], number]);
            out.extend_from_slice(part);
            self.wrapped.write_all(&out)?;
            sequence = sequence.wrapping_add(1);
            rest = after;
            if part.len() < MAX_PAYLOAD {
                return Ok(sequence);
            }
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}
