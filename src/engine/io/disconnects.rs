//! Locks whose session's server connection broke: free only when the server is done with it.
//!
//! A closed socket proves nothing: both servers go on rolling back for seconds after it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

use super::link::{StoreAccess, StoreLink};
use crate::engine::messages::{EventSender, SessionEvent};
use crate::engine::shared::late_rows::LateSession;
use crate::lock::name::Key;
use crate::store::connection::StoreError;
use crate::store::identity::same_run;
use crate::types::{BackendId, ProxyId};

/// Locks to release when the server no longer works for `conn`.
#[derive(Debug)]
pub(in crate::engine) struct DeferredRelease {
    pub(in crate::engine) conn: BackendId,
    /// The server's start when the locks were granted. Connection ids begin again with each start: in a
    /// later run this one may be another client's.
    pub(in crate::engine) run: i64,
    pub(in crate::engine) locks: Vec<(Key, u64)>,
    pub(in crate::engine) proxy: ProxyId,
    /// The session, if the server may hold locks without rows for it. Dropped with this.
    pub(in crate::engine) late: Option<LateSession>,
}

/// A session that wants to know whether the server still works for it.
#[derive(Debug)]
pub(in crate::engine) struct Question {
    pub(in crate::engine) conn: BackendId,
    pub(in crate::engine) run: i64,
    pub(in crate::engine) events: EventSender,
}

/// A wait until the server no longer works for a connection.
#[derive(Debug)]
pub(in crate::engine) struct Absence {
    pub(in crate::engine) conn: BackendId,
    /// The server's start as the connection has told it; `None`: it may be of any run.
    pub(in crate::engine) run: Option<i64>,
    pub(in crate::engine) reply: oneshot::Sender<()>,
    /// The server was told to end it.
    pub(in crate::engine) killed: bool,
}

/// A connection to look for.
#[derive(Debug)]
pub(in crate::engine) enum Disconnection {
    /// Looked for until the connection is over; then the locks are released.
    Release(DeferredRelease),
    /// Looked for once, to answer a question.
    Ask(Question),
    /// Looked for until the connection is over, and ended meanwhile.
    Await(Absence),
}

/// Bounds of the pause between two looks.
const PAUSE: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(150));

/// The pause where the account may not see sessions: an operator must act first.
const BLIND: Duration = Duration::from_secs(5);

/// Watches connections until the service drops its end; hands each watch back when it is over.
pub(in crate::engine) async fn watch(
    access: Arc<StoreAccess>,
    mut inbox: mpsc::UnboundedReceiver<Disconnection>,
    gone: mpsc::UnboundedSender<DeferredRelease>,
) {
    let link = StoreLink::new(Arc::clone(&access));
    let mut watcher = Watcher {
        access,
        link,
        gone,
        watches: Vec::new(),
        absences: Vec::new(),
        pause: PAUSE.0,
        complained: false,
    };
    while let Some(questions) = watcher.receive(&mut inbox).await {
        let ended = watcher.watches.iter().map(|w| w.conn.0);
        let awaited = watcher.absences.iter().map(|a| a.conn.0);
        let ids =
            ended.chain(awaited).chain(questions.iter().map(|q| q.conn.0)).collect::<Vec<_>>();
        match run_and_busy(&mut watcher.link, &ids).await {
            Ok((run, there)) => {
                watcher.answer(questions, run, &there);
                watcher.end_awaited(run).await;
            }
            Err(e) => watcher.complain(&e, ids.len()),
        }
        if !watcher.is_idle() {
            sleep(watcher.pause).await;
            watcher.pause = (watcher.pause * 2).min(PAUSE.1);
        }
    }
}

struct Watcher {
    access: Arc<StoreAccess>,
    link: StoreLink,
    gone: mpsc::UnboundedSender<DeferredRelease>,
    watches: Vec<DeferredRelease>,
    absences: Vec<Absence>,
    /// Time until the next look.
    pause: Duration,
    /// That nothing can be seen was logged.
    complained: bool,
}

impl Watcher {
    /// Takes what has come in, and waits for it if there is nothing to watch. `None` at the end.
    async fn receive(
        &mut self,
        inbox: &mut mpsc::UnboundedReceiver<Disconnection>,
    ) -> Option<Vec<Question>> {
        let mut questions = Vec::new();
        self.absences.retain(|absence| !absence.reply.is_closed());
        let mut next = if self.is_idle() {
            self.pause = PAUSE.0;
            Some(inbox.recv().await?)
        } else {
            inbox.try_recv().ok()
        };
        while let Some(errand) = next {
            match errand {
                Disconnection::Release(watch) => {
                    self.watches.push(watch);
                    self.pause = PAUSE.0;
                }
                Disconnection::Ask(question) => questions.push(question),
                Disconnection::Await(absence) => {
                    self.absences.push(absence);
                    self.pause = PAUSE.0;
                }
            }
            next = inbox.try_recv().ok();
        }
        Some(questions)
    }

    /// The server works for the connections `there`, in its run that was started at `run`.
    fn answer(&mut self, questions: Vec<Question>, run: i64, there: &[u64]) {
        self.complained = false;
        self.access.stuck.sessions(&self.access.metrics, 0, None);
        let serves = |at: i64, conn: BackendId| same_run(at, run) && there.contains(&conn.0);
        for Question { conn, run, events } in questions {
            if !serves(run, conn) {
                let _ = events.send(SessionEvent::ServerDone);
            }
        }
        for watch in self.watches.extract_if(.., |watch| !serves(watch.run, watch.conn)) {
            let _ = self.gone.send(watch);
        }
        let is_over = |a: &mut Absence| !serves(a.run.unwrap_or(run), a.conn);
        for absence in self.absences.extract_if(.., is_over) {
            let _ = absence.reply.send(());
        }
    }

    /// Ends connections that somebody waits for, where their ids are certainly theirs.
    async fn end_awaited(&mut self, run: i64) {
        let Self { link, absences, .. } = self;
        let ours = |a: &&mut Absence| !a.killed && a.run.is_some_and(|of| same_run(of, run));
        for absence in absences.iter_mut().filter(ours) {
            let Ok(conn) = link.get().await else { return };
            if !same_run(conn.started(), run) {
                return;
            }
            let killed = conn.kill(absence.conn.0).await;
            link.note_result(&killed);
            absence.killed = killed.is_ok();
        }
    }

    fn is_idle(&self) -> bool {
        self.watches.is_empty() && self.absences.is_empty()
    }

    /// Nothing could be seen of so many sessions.
    fn complain(&mut self, e: &StoreError, sessions: usize) {
        if matches!(e, StoreError::Blind) {
            // A right that is granted meanwhile counts for new connections.
            self.link.drop_connection();
            self.pause = BLIND;
        }
        if matches!(e, StoreError::Blind | StoreError::Refused { .. }) {
            let why = Some(e.to_string());
            self.access.stuck.sessions(&self.access.metrics, self.watches.len(), why);
        }
        if !std::mem::replace(&mut self.complained, true) {
            tracing::warn!(error = %e, sessions, "cannot see whether ended sessions are gone; their locks stay held");
        }
    }
}

/// The run of the server, and which of `ids` it works for in this run.
async fn run_and_busy(link: &mut StoreLink, ids: &[u64]) -> Result<(i64, Vec<u64>), StoreError> {
    let conn = link.get().await?;
    let run = conn.started();
    let result = conn.still_there(ids).await.map(|there| (run, there));
    link.note_result(&result);
    result
}
