//! A session that says nothing while it has no connection to the server, which would count the time.

use std::future::Future;
use std::task::{Context as TaskContext, Poll};

use tokio::time::{Instant, sleep_until};

use super::Link;

impl Link {
    /// The session has no connection any more, and its client has said nothing since then.
    pub(crate) fn begin_idle(&mut self, since: Instant) {
        if let Some(pooled) = self.pooled.as_mut() {
            let limit = pooled.state.wait_timeout();
            let end = limit.and_then(|limit| since.checked_add(limit));
            pooled.idle_end = end.map(|end| Box::pin(sleep_until(end)));
        }
    }

    /// Ready when the client has said nothing for `wait_timeout` while the session has no connection.
    pub(super) fn poll_idle(&mut self, cx: &mut TaskContext<'_>) -> Poll<()> {
        if self.server.is_there() || !self.inbox.is_empty() {
            return Poll::Pending;
        }
        let end = self.pooled.as_mut().and_then(|pooled| pooled.idle_end.as_mut());
        end.map_or(Poll::Pending, |end| end.as_mut().poll(cx))
    }
}
