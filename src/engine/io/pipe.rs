//! A pipe: one store connection that runs one batch at a time.
//!
//! A batch whose outcome is unknown is never guessed at: its connection is killed, and only when
//! the server no longer works for it are the rows read back.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use crate::config::StoreUrl;
use crate::engine::shared::stuck::Stuck;
use crate::lock::name::Key;
use crate::metrics::Metrics;
use crate::seldom::{Seldom, Turn};
use crate::store::batch::BatchResult;
use crate::store::connection::{StoreConnection, StoreError};
use crate::store::identity::{Thread, same_run};
use crate::store::rights::Rights;
use crate::store::rows::LockRow;
use crate::store::statement::{Change, Others, Writer};

/// How to reach the store, and which connections stand open there.
#[derive(Debug)]
pub struct StoreAccess {
    /// Where and as whom.
    pub url: StoreUrl,
    /// Limit of a connect.
    pub connect_timeout: Duration,
    /// Ids of the engine's own connections, for the proxies row.
    pub open: Mutex<Vec<Thread>>,
    /// Identity of the server whose locks are kept; none before the first registration.
    pub home: Mutex<Option<Arc<str>>>,
    /// Counters.
    pub metrics: Arc<Metrics>,
    /// What keeps locks held that nobody has any more.
    pub stuck: Arc<Stuck>,
}

impl StoreAccess {
    /// Opens a connection and lists it.
    pub async fn connect(&self) -> Result<StoreConnection, StoreError> {
        let opened = StoreConnection::open(&self.url, self.connect_timeout).await;
        match &opened {
            Ok(conn) => self.open.lock().push(conn.thread()),
            Err(e) => self.count(e),
        }
        opened
    }

    /// Strikes a connection off the list. Another may have its id by now, behind a restart.
    pub fn forget(&self, thread: &Thread) {
        self.open.lock().retain(|open| open != thread);
    }

    /// Ids of the open connections that lead where `conn` does.
    pub fn beside(&self, conn: &StoreConnection) -> Vec<u64> {
        let open = self.open.lock();
        open.iter()
            .filter(|thread| thread.is_beside(&conn.thread()))
            .map(|thread| thread.id)
            .collect()
    }

    /// Shows what the account may do.
    pub fn show_rights(&self, rights: Rights) {
        let Rights { process, kill, performance_schema } = rights;
        for (right, has) in
            [("process", process), ("kill", kill), ("performance_schema", performance_schema)]
        {
            self.metrics.store_rights.with_label_values(&[right]).set(i64::from(has));
        }
    }

    /// Counts an error.
    pub fn count(&self, e: &StoreError) {
        self.metrics.store_errors.with_label_values(&[e.label()]).inc();
    }
}

/// A connection that is opened when needed and dropped when it fails.
#[derive(Debug)]
pub struct Line {
    access: Arc<StoreAccess>,
    conn: Option<StoreConnection>,
}

impl Line {
    /// A line that is not yet connected.
    pub fn new(access: Arc<StoreAccess>) -> Self {
        Self { access, conn: None }
    }

    /// An open connection to the server whose locks are kept. An error here means that nothing
    /// was sent.
    ///
    /// What another server says of sessions and rows must not be taken for this one's.
    pub async fn get(&mut self) -> Result<&mut StoreConnection, StoreError> {
        let home = self.access.home.lock().clone();
        let at_home = |conn: &StoreConnection| home.as_ref().is_none_or(|h| **h == *conn.ident());
        if self.conn.as_ref().is_some_and(|conn| !at_home(conn)) {
            self.drop_connection();
        }
        if !at_home(self.get_any().await?) {
            self.drop_connection();
            return Err(StoreError::Connect("another server answers".to_owned()));
        }
        self.get_any().await
    }

    /// An open connection to whichever server the address leads to. An error here means that
    /// nothing was sent.
    pub async fn get_any(&mut self) -> Result<&mut StoreConnection, StoreError> {
        if self.conn.is_none() {
            let opened = self.access.connect().await;
            let url = &self.access.url;
            let why = |e| match e {
                StoreError::Connect(why) => format!("{}:{}: {why}", url.host, url.port),
                e => e.to_string(),
            };
            self.conn = Some(opened.map_err(|e| StoreError::Connect(why(e)))?);
        }
        self.conn.as_mut().ok_or_else(|| StoreError::Connect("closed".to_owned()))
    }

    /// Looks at a result: a broken connection is dropped, an error counted.
    pub fn judge<T>(&mut self, result: &Result<T, StoreError>) {
        if let Err(e) = result {
            self.access.count(e);
            let kept = matches!(e, StoreError::Refused { .. } | StoreError::Blind);
            if !kept || e.is_elsewhere() {
                self.drop_connection();
            }
        }
    }

    /// Drops the connection.
    pub fn drop_connection(&mut self) {
        if let Some(conn) = self.conn.take() {
            self.access.forget(&conn.thread());
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.drop_connection();
    }
}

/// Work for a pipe.
#[derive(Debug)]
pub(in crate::engine) struct Batch {
    pub(in crate::engine) writer: Arc<Writer>,
    pub(in crate::engine) changes: Vec<Change>,
    pub(in crate::engine) others: Arc<Others>,
    /// Gives back what an incarnation that is over has won; nobody waits for it.
    pub(in crate::engine) stray: bool,
}

/// A finished batch.
#[derive(Debug)]
pub(in crate::engine) struct Finished {
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
    finished: mpsc::UnboundedSender<Finished>,
) {
    let mut line = Line::new(Arc::clone(&access));
    let unknown = Seldom::default();
    while let Some(batch) = work.recv().await {
        let started = Instant::now();
        let result = run_batch(&access, &mut line, &batch, &unknown).await;
        access.metrics.batch_seconds.observe(started.elapsed().as_secs_f64());
        #[expect(clippy::cast_precision_loss, reason = "a batch is small")]
        access.metrics.batch_keys.observe(batch.changes.len() as f64);
        if finished.send(Finished { pipe, batch, result }).is_err() {
            return;
        }
    }
}

async fn run_batch(
    access: &StoreAccess,
    line: &mut Line,
    batch: &Batch,
    unknown: &Seldom,
) -> Result<(i64, BatchResult), StoreError> {
    let run = batch.writer.run;
    if !same_run(line.get().await?.started(), run) {
        // An idle connection of before a restart may not have been missed yet.
        line.drop_connection();
    }
    let conn = line.get().await?;
    let (old, started) = (conn.thread(), conn.started());
    if !same_run(started, run) {
        // The server was restarted: this incarnation's sessions are gone, and ids in its rows
        // must not mean new ones. The keeper begins another.
        return Ok((
            started,
            BatchResult { rows: Vec::new(), guarded: false, base: None, missed: false },
        ));
    }
    let result = conn.run_batch(&batch.writer, &batch.changes, &batch.others).await;
    line.judge(&result);
    match result {
        Err(e) if e.is_unknown() => {
            if let Some(Turn { left_out }) = unknown.turn() {
                tracing::warn!(error = %e, keys = batch.changes.len(), left_out, "the outcome of a batch is unknown; reading it back");
            }
            Ok((started, resolve(access, line, &old, batch).await))
        }
        other => other.map(|result| (started, result)),
    }
}

/// Finds out what became of a batch, however long the store is away.
async fn resolve(
    access: &StoreAccess,
    line: &mut Line,
    old: &Thread,
    batch: &Batch,
) -> BatchResult {
    let mut pause = Duration::from_millis(50);
    loop {
        match try_resolve(line, old, batch).await {
            Ok(Some(result)) => return result,
            Ok(None) => {}
            Err(e) => {
                access.count(&e);
                line.drop_connection();
            }
        }
        // Ends when the store answers; until then the waiters of these keys run into their own
        // timeouts.
        sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(1));
    }
}

async fn try_resolve(
    line: &mut Line,
    old: &Thread,
    batch: &Batch,
) -> Result<Option<BatchResult>, StoreError> {
    let conn = line.get().await?;
    // After a restart the old connection is gone, and its id may be somebody else's.
    if old.is_beside(&conn.thread()) {
        conn.kill(old.id).await?;
        if !conn.own_still_there(&[old.id]).await?.is_empty() {
            return Ok(None);
        }
    }
    conn.read_back(&batch.writer, batch.changes.iter().map(|c| &c.key)).await.map(Some)
}

/// Rows to be read for looks and polls.
#[derive(Debug)]
pub(in crate::engine) struct Lookup {
    pub(in crate::engine) keys: Vec<Key>,
    /// Those of them that are waited for.
    pub(in crate::engine) probed: Vec<Key>,
    pub(in crate::engine) others: Arc<Others>,
}

/// Rows read.
#[derive(Debug)]
pub(in crate::engine) struct Read {
    pub(in crate::engine) keys: Vec<Key>,
    /// The rows, and the keys of those that may be taken without waiting for anybody.
    pub(in crate::engine) result: Result<(Vec<LockRow>, HashSet<Vec<u8>>), StoreError>,
}

/// Reads lock rows, many keys at once, until the service drops its end.
pub(in crate::engine) async fn run_reader(
    access: Arc<StoreAccess>,
    mut work: mpsc::Receiver<Lookup>,
    finished: mpsc::UnboundedSender<Read>,
) {
    let mut line = Line::new(Arc::clone(&access));
    while let Some(lookup) = work.recv().await {
        let mut result = read(&access, &mut line, &lookup).await;
        if matches!(&result, Err(e) if e.is_unknown()) {
            // A read has no outcome to be unsure of: once more on a new connection.
            result = read(&access, &mut line, &lookup).await;
        }
        if finished.send(Read { keys: lookup.keys, result }).is_err() {
            return;
        }
    }
}

async fn read(
    access: &StoreAccess,
    line: &mut Line,
    Lookup { keys, probed, others }: &Lookup,
) -> Result<(Vec<LockRow>, HashSet<Vec<u8>>), StoreError> {
    let result = line.get().await?.read_locks(&access.url.schema, keys, probed, others).await;
    line.judge(&result);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_of_an_earlier_run_is_not_taken_for_one_with_its_id() {
        let (old, new) = (Thread::of(1000, 12), Thread::of(2000, 12));
        let access = crate::engine::service::store_access();
        access.open.lock().extend([old.clone(), new.clone()]);
        access.forget(&old);
        assert_eq!(*access.open.lock(), [new]);
    }
}
