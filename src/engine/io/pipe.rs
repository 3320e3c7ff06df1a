//! A pipe: one store connection that runs one batch at a time.
//!
//! A batch whose outcome is unknown is never guessed at: its connection is killed, and only when
//! the server no longer works for it are the rows read back.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::link::{StoreAccess, StoreLink};
use super::witnesses::{Evidence, Witnesses};
use crate::engine::shared::lease::Lease;
use crate::lock::name::Key;
use crate::seldom::{Seldom, Turn};
use crate::store::batch::BatchResult;
use crate::store::connection::StoreError;
use crate::store::identity::{Thread, same_run};
use crate::store::statement::{BatchWriter, LockChange, Others};

/// How long the failover candidates are waited for before the log says so, and the lease is looked at.
const PATIENCE: Duration = Duration::from_secs(1);
/// Pause before they are asked again.
const AGAIN: Duration = Duration::from_millis(50);

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

/// The way of one pipe to the store.
#[derive(Debug)]
pub(in crate::engine) struct PipeStore {
    access: Arc<StoreAccess>,
    lease: Arc<Lease>,
    link: StoreLink,
    witnesses: Witnesses,
    /// Lines about outcomes that are not known yet.
    unknown: Seldom,
    unwitnessed: Seldom,
}

impl PipeStore {
    pub(in crate::engine) fn new(access: Arc<StoreAccess>, lease: Arc<Lease>) -> Self {
        let link = StoreLink::new(Arc::clone(&access));
        let witnesses = Witnesses::new(Arc::clone(&access));
        Self {
            access,
            lease,
            link,
            witnesses,
            unknown: Seldom::default(),
            unwitnessed: Seldom::default(),
        }
    }
}

/// Runs batches until the service drops its end.
pub(in crate::engine) async fn run_pipe(
    pipe: usize,
    mut store: PipeStore,
    mut work: mpsc::Receiver<Batch>,
    finished: mpsc::UnboundedSender<FinishedBatch>,
) {
    while let Some(batch) = work.recv().await {
        let started = Instant::now();
        let result = store.run_batch(&batch).await;
        if let Ok((run, result)) = &result {
            store.until_witnessed(&batch, *run, result).await;
        }
        let metrics = &store.access.metrics;
        metrics.batch_seconds.observe(started.elapsed().as_secs_f64());
        #[expect(clippy::cast_precision_loss, reason = "a batch is small")]
        metrics.batch_keys.observe(batch.changes.len() as f64);
        if finished.send(FinishedBatch { pipe, batch, result }).is_err() {
            return;
        }
    }
}

impl PipeStore {
    async fn run_batch(&mut self, batch: &Batch) -> Result<(i64, BatchResult), StoreError> {
        let Self { access, link, .. } = self;
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
        link.note_result(&result);
        match result {
            Err(e) if e.is_unknown() => {
                if let Some(Turn { left_out }) = self.unknown.turn() {
                    tracing::warn!(error = %e, keys = batch.changes.len(), left_out, "the result of a batch is unknown: reading the rows");
                }
                Ok((started, resolve(access, link, &old, batch).await))
            }
            other => other.map(|result| (started, result)),
        }
    }

    /// Waits until all failover candidates have executed what the batch has granted; no longer than its incarnation
    /// may grant in this epoch and this run of the server. After that the service counts on no grant of it.
    async fn until_witnessed(&mut self, batch: &Batch, run: i64, result: &BatchResult) {
        if self.access.candidates.all().is_empty() {
            return;
        }
        let grants = won(batch, result);
        if grants.is_empty() {
            return;
        }
        let what = Evidence::Grants(batch.writer.proxy, &grants);
        let (server, started) = (self.link.server(), Instant::now());
        let counts = |lease: &Lease| {
            let goes_on = lease.proxy() == Some(batch.writer.proxy) && lease.knows_run(run);
            goes_on && lease.reign().epoch() == batch.writer.epoch
        };
        let mut said = false;
        while counts(&self.lease) {
            let Err(e) = self.witnesses.see(what, server.as_ref(), PATIENCE).await else {
                self.access.metrics.witness_seconds.observe(started.elapsed().as_secs_f64());
                return;
            };
            self.access.count(&e);
            if !said && let Some(Turn { left_out }) = self.unwitnessed.turn() {
                tracing::warn!(error = %e, locks = grants.len(), left_out, "grants do not count yet");
            }
            said = true;
            sleep(AGAIN).await;
        }
    }
}

/// The locks that the batch has won, with their tokens.
fn won(batch: &Batch, result: &BatchResult) -> Vec<(Key, u64)> {
    let token = |change: &LockChange| {
        let grant = change.acquire.as_ref()?;
        let mut rows = result.rows.iter().filter(|row| row.key == change.key.as_bytes());
        let row = rows.next()?;
        (row.holder == batch.writer.proxy.0 && row.grant == grant.id).then_some(row.token)
    };
    batch.changes.iter().filter_map(|change| Some((change.key.clone(), token(change)?))).collect()
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
