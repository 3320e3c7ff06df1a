//! The engine's one task: it owns all lock state and decides; pipes only carry.
//!
//! While a batch is at the store the next one gathers: no timer, no waiting for company. One
//! change of a key is under way at a time, a release and the grant it makes room for together.

use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use super::endings;
use super::handle::{Acquired, Engine, Grant, Look, Request, SessionEvent};
use super::keys::{Held, KeyState, PendingRelease, Waiter};
use super::lease::Lease;
use super::pipe::{Batch, Finished, Read, StoreAccess, run_pipe, run_reader};
use crate::lock::name::Key;
use crate::metrics::Metrics;
use crate::store::batch::Row;
use crate::store::connection::StoreError;
use crate::store::statement::{Change, Grant as RowGrant, Writer};
use crate::types::{ConnectionId, ProxyId};

/// Batches under way at once.
const PIPES: usize = 2;
/// Keys in a batch at most.
const BATCH: usize = 256;
/// Keys in a read at most.
const READ: usize = 1024;
/// Bounds of the poll for locks that other proxies hold.
const POLL: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(250));
/// Pause before something that the store refused is tried again.
const RETRY: Duration = Duration::from_millis(200);

/// What the keeper tells the engine.
#[derive(Debug)]
pub(super) enum LeaseEvent {
    /// A new incarnation is registered.
    Joined(Writer),
    /// The incarnation is over; its locks are lost.
    Fenced(ProxyId),
    /// These incarnations are CLEAN.
    Clean(Vec<ProxyId>),
}

/// Tells a caller when the last of several releases is done: when the last clone is dropped.
#[derive(Debug, Clone)]
pub(super) struct Countdown(#[expect(dead_code, reason = "dropped with the last clone")] Rc<Done>);

#[derive(Debug)]
struct Done(Option<oneshot::Sender<()>>);

impl Drop for Done {
    fn drop(&mut self) {
        if let Some(reply) = self.0.take() {
            let _ = reply.send(());
        }
    }
}

/// The service's state.
pub(super) struct Service {
    lease: Arc<Lease>,
    metrics: Arc<Metrics>,
    writer: Option<Arc<Writer>>,
    clean: HashSet<ProxyId>,
    keys: HashMap<Key, KeyState>,
    /// Keys with something to send.
    ready: VecDeque<Key>,
    pipes: Vec<(mpsc::Sender<Batch>, bool)>,
    finished: mpsc::UnboundedReceiver<Finished>,
    reader: mpsc::Sender<Vec<Key>>,
    reading: bool,
    read: mpsc::UnboundedReceiver<Read>,
    looks: HashMap<Key, Vec<oneshot::Sender<Look>>>,
    poll_every: Duration,
    poll_at: Option<Instant>,
    retry_at: Option<Instant>,
    /// Greatest token proposed or seen. A proposal above a row's last token becomes its next one.
    last_token: u64,
    endings: mpsc::UnboundedSender<endings::Watch>,
    gone: mpsc::UnboundedReceiver<endings::Watch>,
    watched: usize,
    settling: Vec<oneshot::Sender<()>>,
}

/// Makes the handle and the service behind it. Must run inside a `LocalSet`.
pub(super) fn build(
    access: &Arc<StoreAccess>,
    lease: Arc<Lease>,
) -> (Service, Engine, mpsc::UnboundedReceiver<Request>) {
    let (requests, inbox) = mpsc::unbounded_channel();
    let (finished_in, finished) = mpsc::unbounded_channel();
    let (read_in, read) = mpsc::unbounded_channel();
    let (endings, watches) = mpsc::unbounded_channel();
    let (gone_in, gone) = mpsc::unbounded_channel();
    let pipes = (0..PIPES)
        .map(|n| {
            let (work, inbox) = mpsc::channel(1);
            tokio::spawn(run_pipe(n, Arc::clone(access), inbox, finished_in.clone()));
            (work, true)
        })
        .collect();
    let (reader, reads) = mpsc::channel(1);
    tokio::spawn(run_reader(Arc::clone(access), reads, read_in));
    tokio::spawn(endings::watch(Arc::clone(access), watches, gone_in));
    let service = Service {
        lease: Arc::clone(&lease),
        metrics: Arc::clone(&access.metrics),
        writer: None,
        clean: HashSet::new(),
        keys: HashMap::new(),
        ready: VecDeque::new(),
        pipes,
        finished,
        reader,
        reading: false,
        read,
        looks: HashMap::new(),
        poll_every: POLL.0,
        poll_at: None,
        retry_at: None,
        last_token: 0,
        endings,
        gone,
        watched: 0,
        settling: Vec::new(),
    };
    (service, Engine { requests, lease }, inbox)
}

impl Service {
    /// Runs until every handle is dropped.
    pub(super) async fn run(
        mut self,
        mut requests: mpsc::UnboundedReceiver<Request>,
        mut lease_events: mpsc::UnboundedReceiver<LeaseEvent>,
    ) {
        loop {
            tokio::select! {
                biased;
                Some(event) = lease_events.recv() => self.lease_event(event),
                Some(done) = self.finished.recv() => self.finish(done),
                request = requests.recv() => match request {
                    Some(request) => self.request(request),
                    None => return,
                },
                Some(read) = self.read.recv() => self.finish_read(read),
                Some(watch) = self.gone.recv() => {
                    self.watched -= 1;
                    self.release_all(watch.locks, watch.proxy, None);
                }
                () = at(self.poll_at) => self.poll(),
                () = at(self.retry_at) => self.retry(),
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

    fn request(&mut self, request: Request) {
        match request {
            Request::Acquire { id, claim, reply } => self.acquire(id, claim, reply),
            Request::Cancel { id, key } => self.cancel(id, &key),
            Request::Release { locks, proxy, reply } => {
                self.release_all(locks, proxy, Some(&Countdown(Rc::new(Done(Some(reply))))));
            }
            Request::ReleaseWhenGone { conn, locks, proxy } => self.watch(conn, locks, proxy),
            Request::Look { key, reply } => self.look(key, reply),
            Request::Settled { reply } => self.settling.push(reply),
        }
    }

    fn acquire(&mut self, id: u64, claim: super::handle::Claim, reply: oneshot::Sender<Acquired>) {
        let key = claim.name.key.clone();
        let granting = self.may_send_grants();
        let state = self.keys.entry(key.clone()).or_default();
        let mut waiter = Waiter { id, claim, reply: Some(reply) };
        // Somebody here has it or is before us: no trip to the store can change that.
        let taken = state.held.is_some() || state.granting.is_some() || !state.queue.is_empty();
        if waiter.claim.once && (taken || !granting) {
            waiter.answer(Acquired::NotFree);
            if state.is_idle() {
                self.keys.remove(&key);
            }
            return;
        }
        state.queue.push_back(waiter);
        self.list(&key);
    }

    fn cancel(&mut self, id: u64, key: &Key) {
        let Some(state) = self.keys.get_mut(key) else {
            return;
        };
        if let Some(at) = state.queue.iter().position(|w| w.id == id) {
            if let Some(mut waiter) = state.queue.remove(at) {
                waiter.answer(Acquired::NotFree);
            }
        } else if let Some(waiter) = state.granting.as_mut().filter(|w| w.id == id) {
            // Its grant is at the store; if it was won it goes on to the next.
            waiter.answer(Acquired::NotFree);
        }
        if state.is_idle() {
            self.keys.remove(key);
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

    fn watch(&mut self, conn: ConnectionId, locks: Vec<(Key, u64)>, proxy: ProxyId) {
        let held = |(key, token): &(Key, u64)| {
            let held = self.keys.get(key)?.held.as_ref()?;
            (held.token == *token).then_some(held.run)
        };
        // The connection was there before its first grant. Without one there is nothing to wait
        // for: the locks were lost meanwhile.
        if let Some(run) = locks.iter().filter_map(held).min() {
            self.watched += 1;
            let _ = self.endings.send(endings::Watch { conn, run, locks, proxy });
        }
    }

    fn look(&mut self, key: Key, reply: oneshot::Sender<Look>) {
        let held = self.keys.get(&key).and_then(|s| s.held.as_ref());
        if let (Some(held), Some(writer)) = (held, &self.writer)
            && self.lease.vouches_for(writer.proxy)
        {
            let _ = reply.send(Look::Used(held.conn));
            return;
        }
        self.looks.entry(key).or_default().push(reply);
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

    /// Fills idle pipes with what is ready.
    fn dispatch(&mut self) {
        let Some(writer) = self.writer.clone() else {
            return;
        };
        for pipe in 0..self.pipes.len() {
            if !self.pipes[pipe].1 || self.ready.is_empty() {
                continue;
            }
            let changes = self.gather(&writer);
            if changes.is_empty() {
                continue;
            }
            let clean = self.clean.iter().copied().collect();
            let batch = Batch { writer: Arc::clone(&writer), changes, clean };
            self.pipes[pipe].1 = false;
            // The pipe is idle, so its channel of one has room.
            let _ = self.pipes[pipe].0.try_send(batch);
        }
    }

    fn gather(&mut self, writer: &Writer) -> Vec<Change> {
        let grants = self.lease.allows_grants(writer.proxy);
        let mut changes = Vec::new();
        let mut held_back = Vec::new();
        while changes.len() < BATCH
            && let Some(key) = self.ready.pop_front()
        {
            let Some(state) = self.keys.get_mut(&key) else {
                continue;
            };
            state.listed = false;
            if !state.has_work(grants) {
                if state.has_work(true) {
                    held_back.push(key);
                }
                continue;
            }
            let release = state.release.as_ref().map(|r| r.token);
            if grants && state.may_grant() {
                state.granting = state.queue.pop_front();
            }
            state.in_flight = true;
            let acquire = state.granting.as_ref().map(|w| RowGrant {
                id: w.id,
                token: writer.floor.max(self.last_token + 1),
                conn: w.claim.conn,
                name: w.claim.name.given.clone(),
                owner: Arc::clone(&w.claim.owner),
            });
            if let Some(grant) = &acquire {
                self.last_token = grant.token;
            }
            changes.push(Change { key, release, acquire });
        }
        if !held_back.is_empty() {
            for key in &held_back {
                self.list(key);
            }
            self.retry_later();
        }
        changes.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        changes
    }

    fn finish(&mut self, done: Finished) {
        let Finished { pipe, batch, result } = done;
        self.pipes[pipe].1 = true;
        match result {
            Ok((run, result)) => {
                if !result.guarded {
                    tracing::warn!("a batch was refused: the lease is no longer this proxy's");
                    self.retry_later();
                }
                let mut rows: HashMap<&[u8], &Row> =
                    result.rows.iter().map(|r| (r.key.as_slice(), r)).collect();
                self.last_token =
                    result.rows.iter().fold(self.last_token, |last, row| last.max(row.token));
                for change in batch.changes {
                    let row = rows.remove(change.key.as_bytes());
                    self.apply(&batch.writer, change, row, result.guarded, run);
                }
            }
            Err(e) => self.undo(batch, &e),
        }
    }

    /// Takes one key's outcome from its row.
    fn apply(
        &mut self,
        writer: &Writer,
        change: Change,
        row: Option<&Row>,
        guarded: bool,
        run: i64,
    ) {
        let Change { key, release, acquire } = change;
        let current = self.writer.as_ref().is_some_and(|w| w.proxy == writer.proxy);
        let vouched = self.lease.vouches_for(writer.proxy);
        let Some(state) = self.keys.get_mut(&key) else {
            return;
        };
        state.in_flight = false;
        let mine = row.filter(|r| r.holder == writer.proxy.0);
        if let Some(token) = release
            && current
            && mine.is_none_or(|r| r.token != token)
        {
            state.release = None;
            if let Some(held) = state.held.take_if(|h| h.token == token) {
                self.metrics.held.dec();
                self.metrics.hold_seconds.observe(held.since.elapsed().as_secs_f64());
            }
        }
        if let Some(mut waiter) = state.granting.take()
            && acquire.is_some()
        {
            let won = mine.filter(|r| r.grant == waiter.id).map(|r| r.token);
            match won {
                // The deadline is checked here, behind the reply and before the client hears.
                Some(token) if current && vouched => {
                    let grant = Grant { token, proxy: writer.proxy };
                    let (conn, events) = (waiter.claim.conn, waiter.claim.events.clone());
                    let heard = waiter.answer(Acquired::Granted(grant));
                    state.held = Some(Held { token, conn, run, events, since: Instant::now() });
                    self.metrics.held.inc();
                    if !heard {
                        state.release = Some(PendingRelease { token, done: None });
                    }
                }
                // Won for an incarnation that is over: its takeover frees the row.
                Some(_) => state.queue.push_front(waiter),
                None => {
                    if let Some(ghost) = mine.filter(|_| current && state.held.is_none()) {
                        // Ours, but nobody's here: left by a change whose outcome was unknown.
                        tracing::warn!(
                            token = ghost.token,
                            "a lock row without a session is freed"
                        );
                        let token = ghost.token;
                        state.release = Some(PendingRelease { token, done: None });
                        state.held = Some(Held {
                            token,
                            conn: ConnectionId(ghost.conn),
                            run,
                            events: waiter.claim.events.clone(),
                            since: Instant::now(),
                        });
                        self.metrics.held.inc();
                        state.queue.push_front(waiter);
                    } else if waiter.reply.is_none() {
                        // Gave up meanwhile.
                    } else if waiter.claim.once && guarded {
                        waiter.answer(Acquired::NotFree);
                    } else {
                        if guarded {
                            state.remote = true;
                            self.poll_every = POLL.0;
                            self.poll_at.get_or_insert(Instant::now() + POLL.0);
                        }
                        state.queue.push_front(waiter);
                    }
                }
            }
        }
        self.after(&key, guarded);
    }

    /// Keeps, drops or sends on a key whose change has come back.
    fn after(&mut self, key: &Key, at_once: bool) {
        let Some(state) = self.keys.get(key) else {
            return;
        };
        if state.is_idle() {
            self.keys.remove(key);
        } else if state.has_work(true) {
            self.list(key);
            if !at_once {
                self.retry_later();
            }
        }
    }

    /// A batch that was certainly not executed.
    fn undo(&mut self, batch: Batch, e: &StoreError) {
        let retry = e.is_retryable();
        if !retry {
            tracing::warn!(error = %e, keys = batch.changes.len(), "the lock store did not take a batch");
            self.retry_later();
        }
        for change in batch.changes {
            let Some(state) = self.keys.get_mut(&change.key) else {
                continue;
            };
            state.in_flight = false;
            if let Some(mut waiter) = state.granting.take() {
                let hopeless = waiter.claim.once || matches!(e, StoreError::Refused { .. });
                if !retry && hopeless {
                    waiter.answer(Acquired::Failed(e.to_string()));
                } else if waiter.reply.is_some() {
                    state.queue.push_front(waiter);
                }
            }
            self.after(&change.key, retry);
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
                self.writer = None;
                self.ready.clear();
                for state in self.keys.values_mut() {
                    state.listed = false;
                    state.release = None;
                    if let Some(held) = state.held.take() {
                        self.metrics.held.dec();
                        // The session closes itself; if it is gone already, so are its bytes.
                        let _ = held.events.send(SessionEvent::Fence(proxy));
                    }
                }
                self.keys.retain(|_, state| !state.is_idle());
            }
            LeaseEvent::Clean(ids) => {
                self.clean = ids.into_iter().collect();
                self.poll_at = self.poll_at.map(|_| Instant::now());
            }
        }
    }

    fn poll(&mut self) {
        self.poll_at = None;
        let keys: Vec<Key> = self.remote_keys();
        for key in keys {
            self.looks.entry(key).or_default();
        }
    }

    fn remote_keys(&self) -> Vec<Key> {
        self.keys
            .iter()
            .filter(|(_, s)| s.remote && !s.queue.is_empty())
            .map(|(k, _)| k.clone())
            .collect()
    }

    fn dispatch_reads(&mut self) {
        if self.reading || self.looks.is_empty() {
            return;
        }
        let keys: Vec<Key> = self.looks.keys().take(READ).cloned().collect();
        self.reading = self.reader.try_send(keys).is_ok();
    }

    fn finish_read(&mut self, read: Read) {
        self.reading = false;
        let Read { keys, result } = read;
        let rows: Result<HashMap<&[u8], &Row>, _> = match &result {
            Ok(rows) => Ok(rows.iter().map(|r| (r.key.as_slice(), r)).collect()),
            Err(e) => Err(e.to_string()),
        };
        if let Ok(rows) = &result {
            self.last_token = rows.iter().fold(self.last_token, |last, row| last.max(row.token));
        }
        for key in keys {
            let look = match &rows {
                Err(e) => Look::Failed(e.clone()),
                Ok(rows) => match rows.get(key.as_bytes()) {
                    Some(r) if r.holder != 0 && !self.clean.contains(&ProxyId(r.holder)) => {
                        Look::Used(ConnectionId(r.conn))
                    }
                    _ => Look::Free,
                },
            };
            for reply in self.looks.remove(&key).unwrap_or_default() {
                let _ = reply.send(look.clone());
            }
            if look == Look::Free
                && let Some(state) = self.keys.get_mut(&key).filter(|s| s.remote)
            {
                state.remote = false;
                self.list(&key);
            }
        }
        if self.remote_keys().is_empty() {
            self.poll_at = None;
        } else if self.poll_at.is_none() {
            self.poll_every = (self.poll_every * 6 / 5).min(POLL.1);
            self.poll_at = Some(Instant::now() + self.poll_every);
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
