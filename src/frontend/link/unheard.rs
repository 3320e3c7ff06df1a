//! What a client may not have heard.

use std::pin::Pin;

use tokio::time::Sleep;

/// What the client of a session that holds locks was sent and may not have acknowledged.
#[derive(Debug, Default)]
pub(crate) struct Unheard {
    pub(super) bytes: usize,
    /// It counts as gone if it acknowledges nothing for long.
    pub(super) bounded: bool,
    /// Since when it has not taken what is for it, while the session holds locks.
    pub(super) stall: Option<Pin<Box<Sleep>>>,
}

impl Unheard {
    pub(super) fn sent(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }
}
