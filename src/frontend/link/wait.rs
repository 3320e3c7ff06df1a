//! The wait for something to happen on the legs of a session.

use std::future::poll_fn;
use std::task::{Context as TaskContext, Poll};

use super::Link;
use super::close_reason::CloseReason;
use super::pending::Pending;

/// What a caller of [`Link::next`] waits for, beside the server's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interest {
    /// The client's commands.
    Commands,
    /// The moment in which nothing is owed and the client has taken all that it was sent. Not while the
    /// session is suspended.
    Settled,
    /// Client bytes, read ahead while the proxy answers.
    Ahead,
    /// The client's end, while nothing of it is read ahead.
    End,
    /// Nothing else.
    Server,
}

/// What happened on the legs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkEvent {
    /// The server's leg can be read.
    Server,
    /// The client's leg can be read.
    Client,
    /// Nothing is owed, and the client has taken all that it was sent.
    Settled,
    /// The client of a session that holds locks takes nothing, so that the server is not read.
    Stalled,
}

impl Link {
    /// Waits until something happens that the caller wants to know. Sends meanwhile what was queued. The future may be
    /// dropped at any time: nothing is read here.
    pub(crate) async fn next(&mut self, interest: Interest) -> Result<LinkEvent, CloseReason> {
        poll_fn(|cx| self.poll_next(cx, interest)).await
    }

    fn poll_next(
        &mut self,
        cx: &mut TaskContext<'_>,
        interest: Interest,
    ) -> Poll<Result<LinkEvent, CloseReason>> {
        self.client.poll_flush(cx).map_err(|_| CloseReason::ClientGone)?;
        self.server.poll_flush(cx)?;
        self.check_unanswered(cx)?;
        if self.client.poll_stalled(cx, self.guard().is_armed()).is_ready() {
            return Poll::Ready(Ok(LinkEvent::Stalled));
        }
        let idles = interest == Interest::Commands && !self.server.is_there();
        if idles && self.client.inbox_is_empty() && self.pooled.poll_idle(cx).is_ready() {
            return Poll::Ready(Err(CloseReason::Inactive));
        }
        if interest == Interest::Settled
            && self.is_settled()
            && self.server.poll_certain(cx)?.is_ready()
        {
            return Poll::Ready(Ok(LinkEvent::Settled));
        }
        // While the client does not take what it was sent, the server is not read.
        let hears_server = self.client.is_lost() || self.client.is_flushed();
        if hears_server && self.server.poll_readable(cx).is_ready() {
            return Poll::Ready(Ok(LinkEvent::Server));
        }
        let listens = match interest {
            Interest::Commands => {
                // Read ahead, so that the end is noticed.
                let ahead = self.owed.back().is_some_and(Pending::is_held_back);
                let ahead = ahead && self.client.is_at_command() && self.client.has_room();
                self.hears_commands() || ahead
            }
            Interest::Ahead => self.client.has_room(),
            Interest::End => {
                let gone = self.client.has_ended() || self.client.is_lost();
                self.client.inbox_is_empty() && !gone
            }
            Interest::Settled | Interest::Server => false,
        };
        if listens && self.client.poll_readable(cx).is_ready() {
            return Poll::Ready(Ok(LinkEvent::Client));
        }
        Poll::Pending
    }
}
