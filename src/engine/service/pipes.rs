//! The pipes to the store as the service sees them: which are idle, and the changes that wait.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::engine::io::link::StoreAccess;
use crate::engine::io::pipe::{Batch, FinishedBatch, PipeStore, run_pipe};
use crate::engine::shared::lease::Lease;
use crate::lock::name::Key;
use crate::store::statement::{BatchWriter, LockChange, RowRelease};

/// Batches under way at once.
const PIPES: usize = 2;
/// How long a smaller batch waits for one under way.
const PATIENCE: Duration = Duration::from_millis(20);

/// The service's end of a pipe.
struct PipeState {
    work: mpsc::Sender<Batch>,
    /// Keys of its batch at the store; 0: idle.
    keys: usize,
    /// When that batch went out.
    since: Instant,
}

/// All pipes.
pub(super) struct Pipes {
    pipes: Vec<PipeState>,
    /// Locks to be given back for incarnations that are over.
    strays: VecDeque<Batch>,
}

impl Pipes {
    /// Starts the pipes.
    pub(super) fn start(
        access: &Arc<StoreAccess>,
        lease: &Arc<Lease>,
        finished: &mpsc::UnboundedSender<FinishedBatch>,
    ) -> Self {
        let start = |pipe| {
            let (work, inbox) = mpsc::channel(1);
            let store = PipeStore::new(Arc::clone(access), Arc::clone(lease));
            tokio::spawn(run_pipe(pipe, store, inbox, finished.clone()));
            PipeState { work, keys: 0, since: Instant::now() }
        };
        Self { pipes: (0..PIPES).map(start).collect(), strays: VecDeque::new() }
    }

    /// A pipe for a batch of `ready` keys; none if these wait for a batch under way.
    pub(super) fn for_batch(&self, ready: usize) -> Option<usize> {
        let idle = self.pipes.iter().position(|pipe| pipe.keys == 0)?;
        (ready >= self.under_way().max(1)).then_some(idle)
    }

    /// Keys at the store, for which a further batch waits unless it is as large: a batch of few
    /// keys costs the store nearly as much as one of many. A batch that takes long does
    /// not count, it may be stuck.
    fn under_way(&self) -> usize {
        self.pipes.iter().filter(|p| p.since.elapsed() < PATIENCE).map(|p| p.keys).sum()
    }

    /// How many keys more than `ready` let a further batch go out now.
    pub(super) fn missing(&self, ready: usize) -> usize {
        let under_way = self.under_way();
        if under_way > 0 && self.pipes.iter().all(|pipe| pipe.keys > 0) {
            return usize::MAX;
        }
        under_way.saturating_sub(ready).max(1)
    }

    /// When the next batch under way is found to take long.
    pub(super) fn patience(&self) -> Option<Instant> {
        let now = Instant::now();
        let busy = self.pipes.iter().filter(|p| p.keys > 0).map(|p| p.since + PATIENCE);
        busy.filter(|end| *end > now).min()
    }

    /// Sends a batch into an idle pipe.
    pub(super) fn send(&mut self, pipe: usize, batch: Batch) {
        let pipe = &mut self.pipes[pipe];
        pipe.keys = batch.changes.len();
        pipe.since = Instant::now();
        // The pipe is idle, so its channel of one has room.
        let _ = pipe.work.try_send(batch);
    }

    /// The batch of a pipe has come back.
    pub(super) fn set_idle(&mut self, pipe: usize) {
        self.pipes[pipe].keys = 0;
    }

    /// Releases a row that no session here has. Bound to its token, the release does not touch a later
    /// grant.
    pub(super) fn give_back(&mut self, writer: Arc<BatchWriter>, key: Key, release: RowRelease) {
        let change = LockChange { key, release: Some(release), acquire: None, withdraw: false };
        let (changes, others) = (vec![change], Arc::default());
        self.strays.push_back(Batch { writer, changes, others, stray: true });
    }

    /// Sends a lock that is given back, if the first pipe is idle.
    pub(super) fn send_stray(&mut self) {
        if self.pipes[0].keys == 0
            && let Some(batch) = self.strays.pop_front()
        {
            self.send(0, batch);
        }
    }

    /// The next lock that is given back.
    #[cfg(test)]
    pub(super) fn next_stray(&mut self) -> Option<Batch> {
        self.strays.pop_front()
    }
}
