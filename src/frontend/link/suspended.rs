//! A session whose locks are not certain: its bytes for the server are kept until they are.

use std::future::poll_fn;
use std::task::{Context as TaskContext, Poll, ready};

use super::Link;
use super::close_reason::CloseReason;
use crate::engine::shared::lease::Standing;

impl Link {
    /// Queues bytes for the server. The lease is looked at immediately before the write.
    pub(crate) fn send_server(&mut self, bytes: &[u8]) -> Result<(), CloseReason> {
        if bytes.is_empty() {
            return Ok(());
        }
        if !self.server.is_there() {
            return Err(CloseReason::Broken("a command without a connection to the server"));
        }
        let sent = match self.guard.standing() {
            Standing::Certain => self.server.send(bytes),
            // No more than is read at once: the client is not heard before they are sent.
            Standing::Suspended => self.server.keep(bytes),
            Standing::Over => return Err(CloseReason::Fenced),
        };
        self.metrics.bytes_to_server.inc_by(bytes.len() as u64);
        sent.map_err(|_| CloseReason::ServerGone)
    }

    /// Writes what was queued for the server, as far as it may go and the socket takes it.
    pub(super) fn flush_server(&mut self, cx: &mut TaskContext<'_>) -> Result<(), CloseReason> {
        while !self.server.is_flushed()
            && self.server.poll_writable(cx).is_ready()
            && self.poll_certain(cx)?.is_ready()
        {
            self.server.flush().map_err(|_| CloseReason::ServerGone)?;
        }
        Ok(())
    }

    /// Sends what is queued for the server.
    pub(super) async fn drain_to_server(&mut self) -> Result<(), CloseReason> {
        poll_fn(|cx| {
            self.flush_server(cx)?;
            if self.server.is_flushed() { Poll::Ready(Ok(())) } else { Poll::Pending }
        })
        .await
    }

    /// Waits while the session is suspended. Nothing may be owed: the server says no more than that it has
    /// ended the session.
    pub(super) async fn until_certain(&mut self) -> Result<(), CloseReason> {
        poll_fn(|cx| {
            if let Poll::Ready(end) = self.poll_certain(cx) {
                return Poll::Ready(end);
            }
            while self.server.poll_readable(cx).is_ready() {
                if !matches!(self.server.read(&mut Vec::new(), &self.buffers), Ok(None)) {
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
        while !self.guard.is_certain() {
            let certainty = self.certainty.get_or_insert_with(|| self.guard.certainty());
            let end = ready!(certainty.as_mut().poll(cx));
            self.certainty = None;
            end?;
        }
        self.certainty = None;
        Poll::Ready(Ok(()))
    }
}
