//! Whether both sides of a session are still there, and how a client leaves.

use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Link;
use super::close_reason::CloseReason;
use super::input::ClientInput;
use super::pending::any_for_client;
use crate::net::socket::PEER_TIMEOUT;

/// How often the thread of a session is looked for whose client does not read.
const LOOK: Duration = Duration::from_secs(1);

/// As many bytes find room with a client that does not read.
const SMALL: usize = 16 * 1024;

impl Link {
    /// The client has said something after all that it was sent, or nothing is on its way to it.
    pub(super) fn heard_of_client(&mut self) {
        if self.owes_client_nothing() {
            self.unheard.bytes = 0;
        }
        self.bound_silence();
    }

    /// A vanished client shall not keep its locks for as long as the kernel sends again. One that
    /// is slow to read a large result has not vanished: there the server's own limit holds.
    pub(crate) fn bound_silence(&mut self) {
        let small = self.unheard.bytes <= SMALL;
        let bounded = small && (self.unheard.bounded || self.guard.is_armed());
        if std::mem::replace(&mut self.unheard.bounded, bounded) != bounded {
            self.client.socket().bound_silence(bounded.then_some(PEER_TIMEOUT));
        }
    }

    /// While the client does not take what the server sent, the server is not read, and its end is not
    /// seen: it may even come after bytes for which there is no room. So its thread is looked for.
    pub(super) fn poll_stalled(&mut self, cx: &mut TaskContext<'_>) -> Poll<()> {
        if self.client.is_flushed() || !self.guard.is_armed() {
            self.unheard.stall = None;
            return Poll::Pending;
        }
        let stall = self.unheard.stall.get_or_insert_with(|| Box::pin(sleep(LOOK)));
        if stall.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        stall.as_mut().reset(Instant::now() + LOOK);
        Poll::Ready(())
    }

    /// Whether something of the client's lies unread in its socket: bytes, or its end.
    pub(crate) fn has_unread_client(&self) -> bool {
        !self.client.is_quiet()
    }

    /// Nobody takes what is sent to the client any more.
    pub(crate) fn lose_client(&mut self) {
        self.client_lost = true;
        self.client.discard();
    }

    pub(super) fn client_listens(&self) -> Result<(), CloseReason> {
        if self.client_lost { Err(CloseReason::ClientGone) } else { Ok(()) }
    }

    /// The client's end. What it sent before is still run and answered, as the server itself
    /// would do: it reads the end only when it is done, or looks for it while it waits.
    pub(super) fn client_closed(&mut self) -> Result<(), CloseReason> {
        self.client_ended = true;
        let at_command = matches!(self.input, ClientInput::Command);
        if !at_command || self.owes_client_nothing() {
            return Err(CloseReason::ClientGone);
        }
        // Half a close for half a close; the server answers and closes.
        self.server.end_abruptly();
        Ok(())
    }

    /// The client has said its last command: nothing more is read or sent.
    pub(crate) fn end_client(&mut self) {
        self.client_ended = true;
        self.client.end();
    }

    /// Why the server cannot be asked to end what the client has left; `None` if it can.
    pub(crate) fn left_inside(&self) -> Option<&'static str> {
        if !matches!(self.input, ClientInput::Command) {
            return Some("the client left inside a command");
        }
        let asks = self.server.is_answering() && self.pending.is_empty();
        (asks || any_for_client(&self.pending)).then_some("the client left while a statement runs")
    }

    /// Whether all that was queued for the server is on its way.
    pub(crate) fn server_is_flushed(&self) -> bool {
        self.server.is_flushed()
    }
}
