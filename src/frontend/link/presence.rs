//! Whether both sides of a session are still there, and how a client leaves.

use super::Link;
use super::close_reason::CloseReason;

impl Link {
    /// The client has said something.
    pub(super) fn heard_of_client(&mut self) {
        if self.owes_client_nothing() {
            self.client.note_heard();
        }
        self.bound_silence();
    }

    /// Whether a client that is silent counts as gone depends on what the session holds, which may have changed.
    pub(crate) fn bound_silence(&mut self) {
        self.client.bound_silence(self.guard.is_armed());
    }

    pub(super) fn client_listens(&self) -> Result<(), CloseReason> {
        if self.client.is_lost() { Err(CloseReason::ClientGone) } else { Ok(()) }
    }

    /// The client's end. What it sent before is still run and answered, as the server itself
    /// would do: it reads the end only when it is done, or looks for it while it waits.
    pub(super) fn client_closed(&mut self) -> Result<(), CloseReason> {
        self.client.note_end();
        if !self.client.is_at_command() || self.owes_client_nothing() {
            return Err(CloseReason::ClientGone);
        }
        // Half a close for half a close; the server answers and closes.
        self.server.end_abruptly();
        Ok(())
    }

    /// Why the server cannot be asked to end what the client has left; `None` if it can.
    pub(crate) fn left_inside(&self) -> Option<&'static str> {
        if !self.client.is_at_command() {
            return Some("the client left inside a command");
        }
        let asks = self.server.is_answering() && self.owed.is_nothing();
        (asks || self.owed.any_for_client()).then_some("the client left while a statement runs")
    }

    /// Whether all that was queued for the server is on its way.
    pub(crate) fn server_is_flushed(&self) -> bool {
        self.server.is_flushed()
    }
}
