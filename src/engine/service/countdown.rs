//! Telling a caller when the last of several things is done.

use std::sync::Arc;

use tokio::sync::oneshot;

/// Tells a caller when the last of several releases is done: when the last clone is dropped.
#[derive(Debug, Clone)]
pub(super) struct Countdown(Arc<Done>);

impl Countdown {
    pub(super) fn new(reply: oneshot::Sender<()>) -> Self {
        Self(Arc::new(Done(Some(reply))))
    }

    /// Whether the caller still waits.
    pub(super) fn is_awaited(&self) -> bool {
        self.0.0.as_ref().is_some_and(|reply| !reply.is_closed())
    }
}

#[derive(Debug)]
struct Done(Option<oneshot::Sender<()>>);

impl Drop for Done {
    fn drop(&mut self) {
        if let Some(reply) = self.0.take() {
            let _ = reply.send(());
        }
    }
}
