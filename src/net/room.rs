//! Memory that peers have the proxy take for unpacking, over all sessions.
//!
//! A few bytes of zstd come to a window of 16 MiB, and their sender may leave it at that. So windows are
//! lent, from what all sessions share.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

/// Bytes of all windows together.
const ALL: usize = 256 << 20;
/// A window may take this part of what is left: many peers get small ones when a few have large ones.
const PART: usize = 8;

/// Bytes that are left.
#[derive(Debug, Clone)]
pub struct Room(Arc<Mutex<usize>>);

impl Default for Room {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(ALL)))
    }
}

impl Room {
    /// Bytes for a window, until they are dropped.
    pub(super) fn lend(&self, bytes: usize) -> io::Result<LentRoom> {
        let mut left = self.0.lock();
        if bytes > *left / PART {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        *left -= bytes;
        Ok(LentRoom { room: self.clone(), bytes })
    }

    #[cfg(test)]
    pub(super) fn left(&self) -> usize {
        *self.0.lock()
    }
}

/// A part of the room.
#[derive(Debug)]
pub(super) struct LentRoom {
    room: Room,
    bytes: usize,
}

impl Drop for LentRoom {
    fn drop(&mut self) {
        *self.room.0.lock() += self.bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_takes_much_leaves_something_for_the_others() {
        let room = Room::default();
        let mut large = Vec::new();
        while let Ok(lent) = room.lend(16 << 20) {
            large.push(lent);
        }
        assert_eq!(large.len(), 9);
        let small: Vec<_> = (0..40).map(|_| room.lend(1 << 20)).collect();
        assert!(small.iter().all(Result::is_ok));
        drop((large, small));
        assert_eq!(room.left(), ALL);
    }
}
