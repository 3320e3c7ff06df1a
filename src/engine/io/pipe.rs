//! A pipe: one store connection that runs one batch at a time.
//!
//! A batch whose outcome is unknown is never guessed at: its connection is killed, and only when
//! the server no longer works for it are the rows read back.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::link::{StoreAccess, StoreLink};
use crate::seldom::{Seldom, Turn};
use crate::store::batch::BatchResult;
use crate::store::connection::StoreError;
use crate::store::identity::{Thread, same_run};
use crate::store::statement::{BatchWriter, LockChange, Others};

/// Work for a pipe.
#[derive(Debug)]
pub(in crate::engine) struct Batch {
    pub(in crate::engine) writer: Arc<BatchWriter>,
    pub(in crate::engine) changes: Vec<LockChange>,
    pub(in crate::engine) others: Arc<Others>,
    /// Gives back the grants of an incarnation that is over; no session waits for it.
    pub(in crate::engine) stray: bool,
}

/// A finished batch.
#[derive(Debug)]
pub(in crate::engine) struct FinishedBatch {
    pub(in crate::engine) pipe: usize,
    pub(in crate::engine) batch: Batch,
    /// With the start of the server that took the batch.
    pub(in crate::engine) result: Result<(i64, BatchResult), StoreError>,
}

/// Runs batches until the service drops its end.
pub(in crate::engine) async fn run_pipe(
    pipe: usize,
    access: Arc<StoreAccess>,
    mut work: mpsc::Receiver<Batch>,
    finished: mpsc::UnboundedSender<FinishedBatch>,
) {
    let mut link = StoreLink::new(Arc::clone(&access));
    let unknown = Seldom::default();
    while let Some(batch) = work.recv().await {
        let started = Instant::now();
        let result = run_batch(&access, &mut link, &batch, &unknown).await;
        access.metrics.batch_seconds.observe(started.elapsed().as_secs_f64());
        #[expect(clippy::cast_precision_loss, reason = "a batch is small")]
        access.metrics.batch_keys.observe(batch.changes.len() as f64);
        if finished.send(FinishedBatch { pipe, batch, result }).is_err() {
            return;
        }
    }
}

async fn run_batch(
    access: &StoreAccess,
    link: &mut StoreLink,
    batch: &Batch,
    unknown: &Seldom,
) -> Result<(i64, BatchResult), StoreError> {
    let run = batch.writer.run;
    if !same_run(link.get().await?.started(), run) {
        // An idle connection from before a restart may not have been noticed yet.
        link.drop_connection();
    }
    let conn = link.get().await?;
    let (old, started) = (conn.thread(), conn.started());
    if !same_run(started, run) {
        // The server was restarted, and ids in its rows must not mean other sessions. The keeper begins
        // another incarnation, or has this one go on there.
        return Err(StoreError::Connect("the server was restarted".to_owned()));
    }
    let result = conn.run_batch(&batch.writer, &batch.changes, &batch.others).await;
    link.judge(&result);
    match result {
        Err(e) if e.is_unknown() => {
            if let Some(Turn { left_out }) = unknown.turn() {
                tracing::warn!(error = %e, keys = batch.changes.len(), left_out, "the result of a batch is unknown: reading the rows");
            }
            Ok((started, resolve(access, link, &old, batch).await))
        }
        other => other.map(|result| (started, result)),
    }
}

/// Finds out the outcome of a batch, however long the store is away.
async fn resolve(
    access: &StoreAccess,
    link: &mut StoreLink,
    old: &Thread,
    batch: &Batch,
) -> BatchResult {
    let mut pause = Duration::from_millis(50);
    loop {
        match try_resolve(link, old, batch).await {
            Ok(Some(result)) => return result,
            Ok(None) => {}
            Err(e) => {
                access.count(&e);
                link.drop_connection();
            }
        }
        // Ends when the store answers; until then the waiters of these keys run into their own
        // timeouts.
        sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(1));
    }
}

async fn try_resolve(
    link: &mut StoreLink,
    old: &Thread,
    batch: &Batch,
) -> Result<Option<BatchResult>, StoreError> {
    let conn = link.get().await?;
    // After a restart the old connection is gone, and its id may be another client's.
    if old.is_beside(&conn.thread()) {
        conn.kill(old.id).await?;
        if !conn.own_still_there(&[old.id]).await?.is_empty() {
            return Ok(None);
        }
    }
    conn.read_back(&batch.writer, &batch.changes).await.map(Some)
}
