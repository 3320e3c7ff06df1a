//! What all listeners of a cluster share.

use std::sync::Arc;

use crate::backend::own::Credentials;
use crate::backend::reach::Reach;
use crate::backend::spares::Spares;
use crate::engine::handle::Engine;
use crate::engine::io::gatekeeper::Gates;
use crate::engine::start::Threads;
use crate::metrics::Metrics;
use crate::observe::recorder::{Observer, Recorder};

/// Services, metrics and facts of a cluster.
pub(super) struct Parts {
    pub(super) engine: Engine,
    pub(super) gates: Gates,
    pub(super) observer: Option<Observer>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) spares: Spares,
    pub(super) reach: Reach,
    pub(super) finds_tagged: bool,
    pub(super) work: Background,
    pub(super) account: Credentials,
    pub(super) tables: Option<(String, String)>,
    /// `VERSION()`.
    pub(super) server: String,
}

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
