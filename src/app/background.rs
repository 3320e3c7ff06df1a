//! Threads that run beside the sessions, and their end.

use crate::engine::start::Threads;
use crate::observe::recorder::Recorder;

/// Threads that run beside the sessions.
pub(super) enum Background {
    /// The engine.
    Locks(Threads),
    /// The report's thread.
    Report(Recorder),
}

impl Background {
    /// Ends the threads, when all sessions are over.
    pub(super) async fn stop(self) {
        match self {
            Self::Locks(threads) => threads.stop().await,
            Self::Report(recorder) => {
                let _ = tokio::task::spawn_blocking(|| recorder.stop()).await;
            }
        }
    }
}
