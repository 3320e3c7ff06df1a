//! A client that sends one command on another, or a part of one: others that wait for a connection must not wait for it.

use super::{Link, READ_AHEAD};
use crate::protocol::frame::{FrameHeader, HEADER};

impl Link {
    /// Another session needs the connection: this one gives it back when it can.
    pub(crate) fn is_wanted(&mut self) {
        if let Some(pooled) = &mut self.pooled {
            pooled.asked = true;
        }
    }

    /// A command is sent. If others are under way, and others wait for a connection, the next ones wait until all have ended.
    pub(super) fn note_forwarded(&mut self) {
        let several = self.pending.len() > 1;
        if let Some(pooled) = &mut self.pooled {
            pooled.makes_way |= several && pooled.pool.is_wanted();
        }
    }

    /// Whether the client's next commands wait.
    pub(super) fn makes_way(&self) -> bool {
        !self.pending.is_empty() && self.pooled.as_ref().is_some_and(|pooled| pooled.makes_way)
    }

    /// If nothing is owed, the session could have given its connection back.
    pub(super) fn note_made_way(&mut self) {
        if let Some(pooled) = self.pooled.as_mut().filter(|_| self.pending.is_empty()) {
            pooled.makes_way = false;
        }
    }

    /// Whether a command has not come as a whole.
    pub(super) fn has_part_of_command(&self) -> bool {
        FrameHeader::peek(&self.inbox).is_none_or(|frame| self.inbox.len() < HEADER + frame.len)
    }

    /// Whether a command has not come as a whole that is read ahead.
    pub(crate) fn has_part_of_small_command(&self) -> bool {
        let small = |frame: FrameHeader| HEADER + frame.len <= READ_AHEAD && !frame.continued();
        FrameHeader::peek(&self.inbox).is_none_or(small) && self.has_part_of_command()
    }
}
