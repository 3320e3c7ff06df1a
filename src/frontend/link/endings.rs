//! What the end of a response says of a session.

use super::Link;
use super::input::ClientInput;
use crate::protocol::command::Shape;
use crate::protocol::response::{Ending, Progress, Tracker};

impl Link {
    /// Takes what the end of a response says of the session.
    pub(super) fn note_ending(&mut self, ending: Ending) {
        self.note_status(ending);
        self.take_in_reports();
        self.pooled.note_ending(ending);
        if matches!(self.client.input(), ClientInput::File { .. }) {
            *self.client.input_mut() = ClientInput::Command;
        }
    }

    /// Takes the status flags at the end of a response.
    pub(super) fn note_status(&mut self, ending: Ending) {
        if self.owed.is_nothing() && self.client.is_at_command() {
            self.server.note_all_read();
        }
        if self.status.note(ending) {
            self.pooled.note_not_committed();
        }
    }

    /// Takes the status flags of an OK packet, header included.
    pub(crate) fn learn_status(&mut self, frame: &[u8]) {
        let mut tracker = Tracker::new(self.capabilities);
        tracker.start_response(Shape::Results);
        if let (_, Progress::Ended(ending)) = tracker.feed(frame) {
            self.note_ending(ending);
        }
    }
}
