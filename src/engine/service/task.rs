//! The service's task: how it is made, and the loop that owns its state.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{spawn, yield_now};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::Service;
use super::countdown::Countdown;
use super::deadlocks::Deadlocks;
use super::doubts::HolderDoubts;
use super::keeping::Keeping;
use super::key_table::KeyTable;
use super::looks::Looks;
use super::native::NativeMode;
use super::pipes::Pipes;
use super::poll::Poll;
use crate::engine::handle::Engine;
use crate::engine::io::admin_queries::AdminQueries;
use crate::engine::io::confirm;
use crate::engine::io::deadlock_detector::{self, Victim};
use crate::engine::io::disconnects::{self, DeferredRelease};
use crate::engine::io::held_locks;
use crate::engine::io::link::StoreAccess;
use crate::engine::io::native_locks;
use crate::engine::io::pipe::FinishedBatch;
use crate::engine::io::reader::{FinishedRead, run_reader};
use crate::engine::io::wakeup::{self, WakeReason};
use crate::engine::messages::{EngineRequest, FindSessions, LeaseEvent};
use crate::engine::shared::deferred::Deferred;
use crate::engine::shared::engine_wake::EngineWake;
use crate::engine::shared::lease::Lease;
use crate::engine::shared::wait_graph::Waits;
use crate::seldom::Seldom;
use crate::wakes::together;

/// How often the oldest holds and waits are looked for.
const SURVEY: Duration = Duration::from_secs(1);

/// The service, and the channels that it receives from.
pub(in crate::engine) struct ServiceTask {
    service: Service,
    requests: mpsc::UnboundedReceiver<EngineRequest>,
    wake: Arc<EngineWake>,
    finished: mpsc::UnboundedReceiver<FinishedBatch>,
    read: mpsc::UnboundedReceiver<FinishedRead>,
    /// Ended sessions that the server no longer works for.
    gone: mpsc::UnboundedReceiver<DeferredRelease>,
    rung: mpsc::UnboundedReceiver<WakeReason>,
    victims: mpsc::UnboundedReceiver<Victim>,
}

/// Makes the service and the handle to it. Must run inside a `LocalSet`.
pub(in crate::engine) fn build(
    access: &Arc<StoreAccess>,
    lease: Arc<Lease>,
    (native, ttl): (bool, Duration),
    sessions: Option<FindSessions>,
) -> (ServiceTask, Engine) {
    let (requests_in, requests) = mpsc::unbounded_channel();
    let (finished_in, finished) = mpsc::unbounded_channel();
    let pipes = Pipes::start(access, &lease, &finished_in);
    let (reader, lookups) = mpsc::channel(1);
    let (read_in, read) = mpsc::unbounded_channel();
    tokio::spawn(run_reader(Arc::clone(access), lookups, read_in));
    let queries = AdminQueries::open(access);
    let (endings, errands) = mpsc::unbounded_channel();
    let (gone_in, gone) = mpsc::unbounded_channel();
    tokio::spawn(disconnects::watch(Arc::clone(access), errands, gone_in));
    let (listens, wanted) = watch::channel(false);
    let (rung_in, rung) = mpsc::unbounded_channel();
    tokio::spawn(wakeup::listen(Arc::clone(access), Arc::clone(&lease), wanted, rung_in));
    let (waits, deferred) = (Waits::default(), Arc::<Deferred>::default());
    let (peers, some_peers) = watch::channel(false);
    let (questions_in, questions) = mpsc::unbounded_channel();
    tokio::spawn(native_locks::answer(Arc::clone(access), questions));
    let (victims_in, victims) = mpsc::unbounded_channel();
    let (theirs, leased) = (Arc::clone(access), Arc::clone(&lease));
    spawn(deadlock_detector::watch(theirs, leased, waits.clone(), some_peers, victims_in));
    let service = Service {
        lease: Arc::clone(&lease),
        metrics: Arc::clone(&access.metrics),
        history: Arc::clone(&access.history),
        writer: None,
        moving: None,
        others: Arc::default(),
        keys: KeyTable::default(),
        waits,
        native: NativeMode::new(native, sessions),
        pipes,
        looks: Looks::new(reader),
        poll: Poll::default(),
        doubts: HolderDoubts::default(),
        deadlocks: Deadlocks::new(Arc::clone(&access.metrics)),
        suspects: HashSet::new(),
        lost: HashSet::new(),
        keeping: Keeping::new(access.keep_names.clone(), ttl),
        fenced: Arc::clone(&access.fenced),
        complained: false,
        refusals: Seldom::default(),
        listens,
        peers,
        modes: Arc::default(),
        rings: wakeup::start_ringing(access),
        last_token: 0,
        queries: queries.clone(),
        endings,
        watched: 0,
        settling: Vec::new(),
        deferred: Arc::clone(&deferred),
    };
    let (wake, stuck) = (Arc::<EngineWake>::default(), Arc::clone(&access.stuck));
    let (modes, confirms) = (Arc::clone(&service.modes), confirm::start(access, &lease));
    let engine = Engine {
        requests: requests_in,
        wake: Arc::clone(&wake),
        deferred,
        lease,
        census: held_locks::start(access),
        queries,
        stuck,
        native: questions_in,
        direct: Arc::default(),
        peers: modes,
        keep_names: access.keep_names.clone(),
        late_rows: Arc::clone(&access.late_rows),
        failed_rows: Some(access.metrics.claims.with_label_values(&["native"])),
        confirms,
    };
    let task = ServiceTask { service, requests, wake, finished, read, gone, rung, victims };
    (task, engine)
}

impl ServiceTask {
    /// Runs until every handle is dropped.
    pub(in crate::engine) async fn run(
        mut self,
        mut lease_events: mpsc::UnboundedReceiver<LeaseEvent>,
    ) {
        let service = &mut self.service;
        let mut survey = interval(SURVEY);
        survey.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut missing = 1;
        loop {
            let due = service.due(missing);
            tokio::select! {
                biased;
                Some(event) = lease_events.recv() => service.lease_event(event),
                // Before what there may always be more of.
                _ = survey.tick() => {
                    service.survey();
                    service.tidy_owned();
                    service.claim_again();
                    service.refuse_tries();
                }
                Some(done) = self.finished.recv() => {
                    // Changes that have gathered go out before the answers of this batch: the store
                    // works while they are given.
                    service.pipes.set_idle(done.pipe);
                    service.dispatch();
                    yield_now().await;
                    together(|| service.finish(done));
                }
                request = self.requests.recv(), if missing == 1 => match request {
                    Some(request) => service.request(request),
                    None => return,
                },
                () = self.wake.rung(), if missing > 1 => {}
                Some(read) = self.read.recv() => service.finish_read(read),
                Some(ended) = self.gone.recv() => {
                    service.watched -= 1;
                    service.release_all(ended.locks, ended.proxy, None);
                    drop(ended.late);
                }
                Some(look) = self.rung.recv() => service.hear_ring(look),
                Some(victim) = self.victims.recv() => service.give_up(victim),
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    service.do_what_is_due();
                }
            }
            loop {
                // Take what else has come in before sending: it goes into the same batch.
                self.wake.reads();
                while let Ok(request) = self.requests.try_recv() {
                    service.request(request);
                }
                service.dispatch();
                service.dispatch_reads();
                service.settle();
                missing = service.pipes.missing(service.keys.ready());
                if service.keeping.is_on() {
                    // A request may be served without a batch.
                    missing = 1;
                }
                self.wake.needs(missing);
                if self.requests.is_empty() {
                    break;
                }
            }
        }
    }

    /// The service alone, without the channels that it receives from.
    #[cfg(test)]
    pub(super) fn into_service(self) -> Service {
        self.service
    }
}

impl Service {
    pub(super) fn request(&mut self, request: EngineRequest) {
        // A session leaves the release of a lock before it or another one asks for the lock.
        for (locks, proxy) in self.deferred.take() {
            self.release_later(locks, proxy);
        }
        match request {
            EngineRequest::Acquire { id, claim, reply } => self.acquire(id, claim, reply),
            EngineRequest::Cancel { id, key } => self.end_wait(id, &key),
            EngineRequest::Release { locks, proxy, reply } => {
                self.release_all(locks, proxy, Some(&Countdown::new(reply)));
            }
            EngineRequest::WriteNow { keys, reply } => {
                self.write_now(&keys, &Countdown::new(reply));
            }
            EngineRequest::TakeDeferred => {}
            EngineRequest::WithoutRow { conn, events } => {
                self.native.note_without_row(conn, events);
            }
            EngineRequest::Differ(differences) => self.differ(differences),
            EngineRequest::ReleaseWhenGone { conn, locks, proxy, why } => {
                self.watch(conn, locks, proxy, why);
            }
            EngineRequest::LateUntilGone { conn, run, proxy, session } => {
                self.watch_late((conn, run), proxy, session);
            }
            EngineRequest::Leaving { locks, why } => self.leaving(&locks, why),
            EngineRequest::Present { conn, question } => self.present(conn, question),
            EngineRequest::UntilGone { conn, run, reply } => self.until_gone(conn, run, reply),
            EngineRequest::Serves { lock: (key, token) } => self.ask_whether_served(&key, token),
            EngineRequest::Look { key, reply } => self.look_up(key, reply),
            EngineRequest::Reconcile { proxy, rows } => self.reconcile(proxy, rows),
            EngineRequest::Held { proxy, reply } => drop(reply.send(self.held_now(proxy))),
            EngineRequest::Lost { proxy, locks } => self.lose(proxy, locks),
            EngineRequest::Snapshot { reply } => {
                let _ = reply.send(self.snapshot());
            }
            EngineRequest::Settled { reply } => self.settle_later(reply),
        }
    }

    /// When there is something to do though nothing is heard.
    fn due(&self, missing: usize) -> Option<Instant> {
        // When a batch under way is found to take long, a smaller one is sent.
        let patience = self.pipes.patience().filter(|_| missing > 1 || self.keys.ready() > 0);
        let due = [
            self.poll.due(),
            self.keys.retry_at(),
            self.keys.later(),
            self.doubts.due(),
            patience,
            self.keeping.due(),
        ];
        due.into_iter().flatten().min()
    }

    fn do_what_is_due(&mut self) {
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= Instant::now());
        if is_due(self.poll.due()) {
            self.poll_remote();
        }
        if is_due(self.keys.retry_at()) {
            self.keys.retry();
        }
        self.keys.list_due();
        self.do_what_is_due_of_owned();
        self.end_doubts();
    }
}
