//! Whether both sides of a session are still there, and how a client leaves.

use super::Link;
use super::bad_response::unread;
use super::close_reason::CloseReason;
use crate::types::Flavour;

impl Link {
    /// Whether a client that is silent counts as gone depends on what the session holds, which may have changed.
    pub(crate) fn bound_silence(&mut self) {
        self.client.bound_silence(self.guard().is_armed());
    }

    pub(super) fn client_listens(&self) -> Result<(), CloseReason> {
        if self.client.is_lost() { Err(CloseReason::ClientGone) } else { Ok(()) }
    }

    /// Why the server cannot be asked to end what the client has left; `None` if it can.
    pub(crate) fn left_inside(&self) -> Option<&'static str> {
        if !self.client.is_at_command() {
            return Some("the client left inside a command");
        }
        let asks = self.server.is_answering() && self.owed.is_nothing();
        (asks || self.owed.any_for_client()).then_some("the client left while a statement runs")
    }

    /// Reads client bytes ahead while the proxy answers, to notice the end after them.
    pub(crate) fn read_ahead(&mut self) -> Result<(), CloseReason> {
        match self.client.read_ahead() {
            Ok(Some(0)) => Err(CloseReason::ClientGone),
            Err(e) => Err(unread(self, &e, CloseReason::ClientGone)),
            Ok(_) => Ok(()),
        }
    }

    /// The server's family.
    pub(crate) fn flavour(&self) -> Flavour {
        self.server.flavour().or_else(|| self.pooled.flavour()).unwrap_or(Flavour::MySql)
    }
}
