//! A session whose locks are not certain: its bytes for the server are kept until they are.

use std::future::poll_fn;
use std::task::{Context as TaskContext, Poll, ready};

use super::close_reason::CloseReason;
use super::server_side::ServerSide;
use crate::engine::shared::lease::Standing;
use crate::net::buffers::Buffers;

impl ServerSide {
    /// Queues bytes for the server. The lease is looked at immediately before the write.
    pub(super) fn send_guarded(&mut self, bytes: &[u8]) -> Result<(), CloseReason> {
        if bytes.is_empty() {
            return Ok(());
        }
        if !self.is_there() {
            return Err(CloseReason::Broken("a command without a connection to the server"));
        }
        let sent = match self.guard().standing() {
            Standing::Certain => self.send(bytes),
            // No more than is read at once: the client is not heard before they are sent.
            Standing::Suspended => self.keep(bytes),
            Standing::Over => return Err(CloseReason::Fenced),
        };
        sent.map_err(|_| CloseReason::ServerGone)
    }

    /// Writes what was queued for the server, as far as it may go and the socket takes it.
    pub(super) fn poll_flush(&mut self, cx: &mut TaskContext<'_>) -> Result<(), CloseReason> {
        while !self.is_flushed()
            && self.poll_writable(cx).is_ready()
            && self.poll_certain(cx)?.is_ready()
        {
            self.flush().map_err(|_| CloseReason::ServerGone)?;
        }
        Ok(())
    }

    /// Sends what is queued for the server.
    pub(super) async fn drain(&mut self) -> Result<(), CloseReason> {
        poll_fn(|cx| {
            self.poll_flush(cx)?;
            if self.is_flushed() { Poll::Ready(Ok(())) } else { Poll::Pending }
        })
        .await
    }

    /// Waits while the session is suspended. Nothing may be owed: the server says no more than that it has
    /// ended the session.
    pub(super) async fn until_certain(&mut self, buffers: &Buffers) -> Result<(), CloseReason> {
        poll_fn(|cx| {
            if let Poll::Ready(end) = self.poll_certain(cx) {
                return Poll::Ready(end);
            }
            while self.poll_readable(cx).is_ready() {
                if !matches!(self.read(&mut Vec::new(), buffers), Ok(None)) {
                    return Poll::Ready(Err(CloseReason::Fenced));
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Whether the session may go on. While it is suspended, its task is woken when that has ended.
    pub(super) fn poll_certain(
        &mut self,
        cx: &mut TaskContext<'_>,
    ) -> Poll<Result<(), CloseReason>> {
        while !self.guard().is_certain() {
            let end = ready!(self.certainty().as_mut().poll(cx));
            self.end_certainty();
            end?;
        }
        self.end_certainty();
        Poll::Ready(Ok(()))
    }
}
