//! The engine's one task: it owns all lock state and decides; pipes only carry.
//!
//! While a batch is at the store the next one gathers: no timer, no waiting for company. One
//! change of a key is under way at a time, a release and the grant it makes room for together.

pub(in crate::engine) mod gauges;
pub(in crate::engine) mod keys;
pub(in crate::engine) mod row_reads;
pub(in crate::engine) mod snapshot;

mod batches;
mod doubts;
mod events;
mod forced;
mod leaving;
mod losses;
mod outcomes;
mod queues;
#[cfg(test)]
mod staged;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{spawn_local, yield_now};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use doubts::Doubt;
use row_reads::PendingLook;

use super::handle::Engine;
use super::io::deadlock_detector::{self, Victim};
use super::io::link::StoreAccess;
use super::io::pipe::{Batch, FinishedBatch, run_pipe};
use super::io::reader::{FinishedRead, Lookup, run_reader};
use super::io::{admin_queries, disconnects, held_locks, wakeup};
use super::messages::{Acquired, EngineRequest, LeaseEvent, SessionEvent};
use super::shared::lease::Lease;
use super::shared::snapshot::Deadlock;
use crate::engine::service::keys::{Countdown, KeyState, PendingRelease, Remote};
use crate::engine::shared::wait_graph::Waits;
use crate::lock::name::Key;
use crate::metrics::Metrics;
use crate::store::statement::{BatchWriter, Others};
use crate::types::ProxyId;

/// Batches under way at once.
const PIPES: usize = 2;
/// Bounds of the poll for locks that other proxies hold.
const POLL: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(250));
/// Pause before something that the store refused is tried again.
const RETRY: Duration = Duration::from_millis(200);

/// How often the oldest holds and waits are looked for.
const SURVEY: Duration = Duration::from_secs(1);

/// Sessions that ask about keys; none for a key that a poll is for.
type Askers = HashMap<Key, Vec<PendingLook>>;

/// The service's end of a pipe.
struct PipeState {
    work: mpsc::Sender<Batch>,
    /// Keys of its batch at the store; 0: idle.
    keys: usize,
    /// When that batch went out.
    since: Instant,
}

/// The service's state.
pub(super) struct Service {
    lease: Arc<Lease>,
    metrics: Arc<Metrics>,
    writer: Option<Arc<BatchWriter>>,
    others: Arc<Others>,
    keys: HashMap<Key, KeyState>,
    waits: Waits,
    /// Locks to be given back for incarnations that are over.
    strays: VecDeque<Batch>,
    /// Rows that looked like ghosts when last compared.
    suspects: HashSet<(Key, u64)>,
    /// Held locks that were found without a row, and that was said.
    lost: HashSet<(Key, u64)>,
    /// A batch was refused, and that was said.
    complained: bool,
    lines: events::LogLimits,
    /// Keys with something to send.
    ready: VecDeque<Key>,
    pipes: Vec<PipeState>,
    finished: mpsc::UnboundedReceiver<FinishedBatch>,
    reader: mpsc::Sender<Lookup>,
    read: mpsc::UnboundedReceiver<FinishedRead>,
    /// Keys to look at next, and who asks.
    looks: Askers,
    /// The same keys, in the order in which their turn comes.
    look_next: VecDeque<Key>,
    /// Those of the read at the store: who asks later must not get an answer from before.
    looked_at: Askers,
    poll_every: Duration,
    poll_at: Option<Instant>,
    /// Hangs the doorbell.
    listens: watch::Sender<bool>,
    rung: mpsc::UnboundedReceiver<wakeup::WakeReason>,
    /// Whether another proxy is live.
    peers: watch::Sender<bool>,
    victims: mpsc::UnboundedReceiver<Victim>,
    /// Proxies to be told that a lock is free for them.
    rings: mpsc::UnboundedSender<ProxyId>,
    retry_at: Option<Instant>,
    /// Greatest token proposed or seen. A proposal above a row's last token becomes its next one.
    last_token: u64,
    queries: admin_queries::AdminQueries,
    /// The last ones, for people.
    deadlocks: VecDeque<Deadlock>,
    /// Who waits until it is certain that a holder stays.
    doubts: Vec<Doubt>,
    /// Put to holders so far.
    questions: u64,
    endings: mpsc::UnboundedSender<disconnects::Errand>,
    gone: mpsc::UnboundedReceiver<disconnects::DeferredRelease>,
    watched: usize,
    settling: Vec<oneshot::Sender<()>>,
}

/// Makes the handle and the service behind it. Must run inside a `LocalSet`.
pub(super) fn build(
    access: &Arc<StoreAccess>,
    lease: Arc<Lease>,
) -> (Service, Engine, mpsc::UnboundedReceiver<EngineRequest>) {
    let (requests, inbox) = mpsc::unbounded_channel();
    let (finished_in, finished) = mpsc::unbounded_channel();
    let (read_in, read) = mpsc::unbounded_channel();
    let (endings, watches) = mpsc::unbounded_channel();
    let (gone_in, gone) = mpsc::unbounded_channel();
    let (listens, wanted) = watch::channel(false);
    let (rung_in, rung) = mpsc::unbounded_channel();
    let (rings, whom) = mpsc::unbounded_channel();
    let pipes = (0..PIPES)
        .map(|n| {
            let (work, inbox) = mpsc::channel(1);
            tokio::spawn(run_pipe(n, Arc::clone(access), inbox, finished_in.clone()));
            PipeState { work, keys: 0, since: Instant::now() }
        })
        .collect();
    let (reader, reads) = mpsc::channel(1);
    tokio::spawn(run_reader(Arc::clone(access), reads, read_in));
    let (census, asked) = mpsc::unbounded_channel();
    tokio::spawn(held_locks::answer(Arc::clone(access), asked));
    let queries = admin_queries::AdminQueries::open(access);
    tokio::spawn(disconnects::watch(Arc::clone(access), watches, gone_in));
    tokio::spawn(wakeup::listen(Arc::clone(access), Arc::clone(&lease), wanted, rung_in));
    tokio::spawn(wakeup::ring(Arc::clone(access), whom));
    let waits = Waits::default();
    let (peers, some_peers) = watch::channel(false);
    let (victims_in, victims) = mpsc::unbounded_channel();
    let (theirs, leased) = (Arc::clone(access), Arc::clone(&lease));
    spawn_local(deadlock_detector::watch(theirs, leased, waits.clone(), some_peers, victims_in));
    let service = Service {
        lease: Arc::clone(&lease),
        metrics: Arc::clone(&access.metrics),
        writer: None,
        others: Arc::default(),
        keys: HashMap::new(),
        waits,
        strays: VecDeque::new(),
        suspects: HashSet::new(),
        lost: HashSet::new(),
        complained: false,
        lines: events::LogLimits::default(),
        ready: VecDeque::new(),
        pipes,
        finished,
        reader,
        read,
        looks: Askers::new(),
        look_next: VecDeque::new(),
        looked_at: Askers::new(),
        poll_every: POLL.0,
        poll_at: None,
        listens,
        rung,
        peers,
        victims,
        rings,
        retry_at: None,
        last_token: 0,
        queries: queries.clone(),
        deadlocks: VecDeque::new(),
        doubts: Vec::new(),
        questions: 0,
        endings,
        gone,
        watched: 0,
        settling: Vec::new(),
    };
    let stuck = Arc::clone(&access.stuck);
    (service, Engine { requests, lease, census, queries, stuck }, inbox)
}

impl Service {
    /// Runs until every handle is dropped.
    pub(super) async fn run(
        mut self,
        mut requests: mpsc::UnboundedReceiver<EngineRequest>,
        mut lease_events: mpsc::UnboundedReceiver<LeaseEvent>,
    ) {
        let mut survey = interval(SURVEY);
        survey.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let (patience, certainty) = (self.patience(), self.doubts_end());
            tokio::select! {
                biased;
                Some(event) = lease_events.recv() => self.lease_event(event),
                // Before what there may always be more of.
                _ = survey.tick() => self.survey(),
                Some(done) = self.finished.recv() => {
                    // What has gathered goes out before the answers of this batch: the store
                    // works while they are given.
                    self.pipes[done.pipe].keys = 0;
                    self.dispatch();
                    yield_now().await;
                    self.finish(done);
                }
                request = requests.recv() => match request {
                    Some(request) => self.request(request),
                    None => return,
                },
                Some(read) = self.read.recv() => self.finish_read(read),
                Some(watch) = self.gone.recv() => {
                    self.watched -= 1;
                    self.release_all(watch.locks, watch.proxy, None);
                }
                Some(look) = self.rung.recv() => self.hear_ring(look),
                Some(victim) = self.victims.recv() => self.give_up(victim),
                () = at(self.poll_at) => self.poll(),
                () = at(self.retry_at) => self.retry(),
                () = at(certainty) => self.end_doubts(),
                // Only to dispatch.
                () = at(patience) => {}
            }
            // Take what else has come in before sending: it goes into the same batch.
            while let Ok(request) = requests.try_recv() {
                self.request(request);
            }
            self.dispatch();
            self.dispatch_reads();
            self.settle();
        }
    }

    fn request(&mut self, request: EngineRequest) {
        match request {
            EngineRequest::Acquire { id, claim, reply } => self.acquire(id, claim, reply),
            EngineRequest::Cancel { id, key } => self.leave(id, &key, Acquired::NotFree),
            EngineRequest::Release { locks, proxy, reply } => {
                self.release_all(locks, proxy, Some(&Countdown::new(reply)));
            }
            EngineRequest::ReleaseWhenGone { conn, locks, proxy } => self.watch(conn, locks, proxy),
            EngineRequest::Leaving { locks } => self.leaving(&locks),
            EngineRequest::Present { conn, question } => self.present(conn, question),
            EngineRequest::Serves { lock } => self.ask_whether_served(&lock),
            EngineRequest::Look { key, reply } => self.look(key, reply),
            EngineRequest::Reconcile { proxy, rows } => self.reconcile(proxy, rows),
            EngineRequest::Held { proxy, reply } => drop(reply.send(self.held_now(proxy))),
            EngineRequest::Lost { proxy, locks } => self.lose(proxy, locks),
            EngineRequest::Snapshot { reply } => {
                let _ = reply.send(self.snapshot());
            }
            EngineRequest::Settled { reply } => self.settling.push(reply),
        }
    }

    fn release_all(&mut self, locks: Vec<(Key, u64)>, proxy: ProxyId, done: Option<&Countdown>) {
        // Locks of an earlier incarnation were lost with it; its takeover frees the rows.
        if self.writer.as_ref().is_none_or(|w| w.proxy != proxy) {
            return;
        }
        for (key, token) in locks {
            let Some(state) = self.keys.get_mut(&key) else {
                continue;
            };
            if state.held.as_ref().is_none_or(|h| h.token != token) {
                continue;
            }
            state.release = Some(PendingRelease { token, done: done.cloned() });
            self.list(&key);
        }
    }

    fn may_send_grants(&self) -> bool {
        self.writer.as_ref().is_some_and(|w| self.lease.allows_grants(w.proxy))
    }

    fn list(&mut self, key: &Key) {
        if let Some(state) = self.keys.get_mut(key)
            && !state.listed
            && !state.in_flight
        {
            state.listed = true;
            self.ready.push_back(key.clone());
        }
    }

    fn lease_event(&mut self, event: LeaseEvent) {
        match event {
            LeaseEvent::Joined(writer) => {
                self.writer = Some(Arc::new(writer));
                let keys: Vec<Key> = self.keys.keys().cloned().collect();
                for key in keys {
                    self.list(&key);
                }
            }
            LeaseEvent::Fenced(proxy) => {
                let writer = self.writer.take();
                self.ready.clear();
                let mut unwanted = Vec::new();
                for (key, state) in &mut self.keys {
                    state.listed = false;
                    // Its session may live on, which the row's takeover would end.
                    let token = state.release.take().map(|release| release.token);
                    unwanted.extend(token.filter(|_| !state.in_flight).map(|t| (key.clone(), t)));
                    // Its place in a row went with it.
                    state.remote = state.remote.take().map(|_| Remote::default());
                    if let Some(held) = state.held.take() {
                        events::ended(&self.metrics, key, &held, "lost with the lease");
                        // The session closes itself; if it is gone already, so are its bytes.
                        let _ = held.events.send(SessionEvent::Fence(proxy));
                    }
                }
                self.keys.retain(|_, state| !state.is_idle());
                for (key, token) in unwanted {
                    if let Some(writer) = &writer {
                        self.give_back(Arc::clone(writer), key, token);
                    }
                }
            }
            LeaseEvent::Asked(locks) => self.release_by_force(locks),
            LeaseEvent::Others(others) => {
                self.peers.send_replace(!others.waiting.is_empty());
                self.others = Arc::new(others);
                self.poll_at = self.poll_at.map(|_| Instant::now());
            }
        }
    }

    fn retry_later(&mut self) {
        self.retry_at.get_or_insert(Instant::now() + RETRY);
    }

    fn retry(&mut self) {
        self.retry_at = None;
        let keys: Vec<Key> =
            self.keys.iter().filter(|(_, s)| s.has_work(true)).map(|(k, _)| k.clone()).collect();
        for key in keys {
            self.list(&key);
        }
    }

    fn settle(&mut self) {
        if !self.settling.is_empty()
            && self.watched == 0
            && self.keys.values().all(|s| s.release.is_none() && !s.in_flight)
        {
            for reply in self.settling.drain(..) {
                let _ = reply.send(());
            }
        }
    }
}

async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
