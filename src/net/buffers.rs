//! Buffers lent to a session while it moves bytes, so that an idle session owns none.

use std::sync::Arc;

use parking_lot::Mutex;

/// Bytes of a buffer. A statement up to this long is looked at in one piece.
pub const BUFFER: usize = 64 * 1024;
/// Free buffers kept.
const KEEP: usize = 16;

/// A stack of free buffers, one a relay thread.
#[derive(Debug, Clone, Default)]
pub struct Buffers(Arc<Mutex<Vec<Vec<u8>>>>);

impl Buffers {
    /// An empty buffer of [`BUFFER`] bytes capacity.
    pub fn take(&self) -> Vec<u8> {
        self.0.lock().pop().unwrap_or_else(|| Vec::with_capacity(BUFFER))
    }

    /// Gives a buffer back.
    pub fn give(&self, mut buffer: Vec<u8>) {
        let mut free = self.0.lock();
        if free.len() < KEEP && buffer.capacity() == BUFFER {
            buffer.clear();
            free.push(buffer);
        }
    }
}
