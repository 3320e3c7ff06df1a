//! What runs beside the sessions, and its end.

use crate::engine::start::Threads;
use crate::observe::recorder::Recorder;

/// What runs beside the sessions.
pub(super) enum Background {
    /// The engine.
    Locks(Threads),
    /// Who keeps the report.
    Report(Recorder),
}

impl Background {
    /// Ends it, when all sessions are over.
    pub(super) async fn stop(self) {
        match self {
            Self::Locks(threads) => threads.stop().await,
            Self::Report(recorder) => {
                let _ = tokio::task::spawn_blocking(|| recorder.stop()).await;
            }
        }
    }
}
