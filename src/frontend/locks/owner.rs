//! The locks of one session, and the engine that grants them.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::super::link::close_reason::CloseReason;
use super::super::state::ledger::{Ledger, OtherIncarnation};
use super::late::{LateLocks, LateStep, left};
use super::server::Task;
use crate::engine::handle::{
    Acquired, Claim, Engine, EventSender, Look, NativeLocks, SessionEvent, Ticket,
};
use crate::engine::io::gatekeeper::{Gate, Gates};
use crate::engine::io::held_locks::Census;
use crate::engine::shared::current_backend::CurrentBackend;
use crate::engine::shared::history::FENCED;
use crate::lock::held::LateLock;
use crate::lock::name::{Key, Name};
use crate::types::{ConnectionId, ProxyId};

/// Time until a late row that could not be written is claimed again.
const AGAIN: Duration = Duration::from_secs(1);

/// What an event asks of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Nothing is asked of the session.
    Nothing,
    /// The session is to check whether the client is still there, and to answer with this number.
    Look(u64),
    /// The session is to end, for KILL.
    End,
    /// The session is to give its connection to the server back, if nothing needs it.
    GiveBack,
}

/// What a session can do with locks.
pub(crate) trait Locks: Send {
    /// What is held.
    fn ledger(&self) -> &Ledger;
    /// What is held, to be changed.
    fn ledger_mut(&mut self) -> &mut Ledger;
    /// Queues for a lock in the name of `owner`; with `once` the answer comes at once.
    fn acquire(&mut self, name: Name, owner: Arc<[u8]>, once: bool) -> Ticket;
    /// Claims the row of a lock that the server holds for the session; with `once` the answer comes at once. `began`: when
    /// the session began to wait, if that is known.
    fn claim(&mut self, name: Name, owner: Arc<[u8]>, once: bool, began: Option<Instant>)
    -> Ticket;
    /// Leaves the queue.
    fn cancel(&mut self, ticket: &Ticket);
    /// Whether the server's own lock protects the session without a row, too.
    fn server_protects(&self) -> bool;
    /// The server has granted a lock of this name, whose row is not written: that is tried again later.
    fn keep_without_row(&mut self, name: Name);
    /// Whether rows may be late at all, now.
    fn allows_late(&self) -> bool;
    /// Whether a connection that was opened then is known to be one of the run of the server in which locks are held.
    fn knows_run_of(&self, opened: Duration) -> bool;
    /// Asks the server, so that more is known of that.
    fn confirm(&mut self) -> Task<'static, ()>;
    /// The ledger has changed: perhaps no lock without a row is left.
    fn note_late(&self);
    /// Enters a lock that the server has granted, whose row is written later. The incarnation; `None` if the row may not be
    /// late.
    fn enter_late(&mut self, name: Name) -> Result<Option<ProxyId>, OtherIncarnation>;
    /// Releases locks of an incarnation, and waits until they are free or lost.
    fn release(&mut self, locks: Vec<(Key, u64)>, proxy: ProxyId) -> Task<'static, ()>;
    /// Releases locks that the server has released, soon.
    fn release_later(&mut self, locks: Vec<(Key, u64)>, proxy: ProxyId);
    /// Reads which locks the server holds for the session: these, and others where it has a list.
    fn native_locks(&mut self, asked: Vec<Name>) -> Task<'static, Result<NativeLocks, String>>;
    /// Releases locks once the server no longer works for the session.
    fn release_when_gone(&mut self, locks: Vec<(Key, u64)>, proxy: ProxyId);
    /// Looks at a lock that the session does not hold.
    fn look_up(&mut self, key: Key) -> Task<'static, Look>;
    /// All held locks of all proxies.
    fn census(&mut self) -> Task<'static, Result<Census, String>>;
    /// The tag of a lock's gates.
    fn tag(&self, key: &Key) -> u64;
    /// Asks for a closed gate with a lock's tag.
    fn close_gate(&mut self, tag: u64) -> oneshot::Receiver<Option<Gate>>;
    /// Whether locks of an incarnation are certainly this proxy's.
    fn vouches_for(&self, proxy: ProxyId) -> bool;
    /// Waits while they are suspended; whether they are this proxy's then.
    fn certain(&self, proxy: ProxyId) -> Task<'static, bool>;
    /// Whether a server that is known since then has the lock tables.
    fn trusts(&self, known_since: Duration) -> bool;
    /// How the server with the lock tables identifies itself.
    fn home(&self) -> Arc<str>;
    /// The next event for the session.
    fn next_event(&mut self) -> Task<'_, SessionEvent>;
    /// The next event, if the session has one already.
    fn told_now(&mut self) -> Option<SessionEvent>;
    /// Has an event come again, after those that wait.
    fn tell_again(&mut self, event: SessionEvent);
    /// Takes in what the session is told. An error ends it.
    fn handle_event(&mut self, event: SessionEvent) -> Result<Asked, CloseReason>;
    /// Whether the proxy shuts down: the session ends when its statement has.
    fn is_draining(&self) -> bool;
    /// The client is there, as this question wanted to know.
    fn present(&mut self, question: u64);
    /// Whether the client is there will be known when it is heard.
    fn answer_when_heard(&mut self, question: u64);
    /// The client was heard, and has not left.
    fn client_is_there(&mut self);
}

/// The locks of one session, by the engine of its cluster.
pub(crate) struct LockOwner {
    ledger: Ledger,
    engine: Engine,
    gates: Gates,
    connection: ConnectionId,
    backend: CurrentBackend,
    events_in: EventSender,
    events: mpsc::UnboundedReceiver<SessionEvent>,
    draining: bool,
    /// The question whether the client is there, to be answered when the client was heard.
    sought: Option<u64>,
    /// Why the session ends, when it does.
    ending: &'static str,
    late: LateLocks,
    owner: Arc<[u8]>,
}

impl LockOwner {
    /// The owner of a session that holds nothing.
    pub(crate) fn new(
        ledger: Ledger,
        (engine, gates): (Engine, Gates),
        (connection, backend, owner): (ConnectionId, CurrentBackend, Arc<[u8]>),
        (events_in, events): (EventSender, mpsc::UnboundedReceiver<SessionEvent>),
    ) -> Self {
        Self {
            ledger,
            engine,
            gates,
            connection,
            backend,
            events_in,
            events,
            draining: false,
            sought: None,
            ending: "panicked",
            late: LateLocks::default(),
            owner,
        }
    }

    /// The next event for the session. The future may be dropped at any time: no event is lost. Late rows are written
    /// meanwhile.
    pub(crate) async fn next_event(&mut self) -> SessionEvent {
        // Ends with an event, or with the session.
        loop {
            let step = tokio::select! {
                biased;
                event = self.events.recv() => match event {
                    Some(event) => return event,
                    // The session holds a sender itself.
                    None => std::future::pending().await,
                },
                step = self.late.next() => step,
            };
            let event = match step {
                LateStep::Due => self.claim_due(),
                LateStep::Claimed(key, since, acquired) => {
                    self.take_claimed(&key, since, &acquired)
                }
            };
            if let Some(event) = event {
                return event;
            }
        }
    }

    /// The incarnation that a takeover finds in the attributes of the session's connection, if any.
    pub(crate) fn note_mark(&self, mark: Option<ProxyId>) {
        self.backend.note_mark(mark);
    }

    /// The session is another user's from now on.
    pub(crate) fn set_owner(&mut self, owner: Arc<[u8]>) {
        self.owner = owner;
    }

    /// Claims the rows that are due.
    fn claim_due(&mut self) -> Option<SessionEvent> {
        for ticket in self.late.drop_stale(&self.ledger) {
            self.cancel(&ticket);
            self.give_back(ticket);
        }
        let delay = self.engine.late_rows().delay();
        if self.engine.lease().unwritable().is_some() {
            // Nothing need be tried now.
            let failed: Vec<Key> =
                self.ledger.held().late().map(|late| late.name.key.clone()).collect();
            for key in &failed {
                self.note_failed(key);
            }
            if !failed.is_empty() {
                self.late.arm(AGAIN);
            }
            self.note_late();
            return None;
        }
        let mut due = Vec::new();
        let mut next: Option<Duration> = None;
        for LateLock { name, since, .. } in self.ledger.held().late() {
            match left(*since, delay) {
                Some(left) => next = Some(next.map_or(left, |next| next.min(left))),
                None if self.late.claims(&name.key, *since) => {}
                None => due.push((name.clone(), *since)),
            }
        }
        for (name, since) in due {
            let ticket = self.claim(name, Arc::clone(&self.owner), false, None);
            self.late.claim(ticket, since);
        }
        if let Some(next) = next {
            self.late.arm(next);
        }
        self.note_late();
        None
    }

    /// The row of a late lock could not be written.
    fn note_failed(&mut self, key: &Key) {
        if self.ledger.note_failed(key) {
            self.engine.note_failed_row();
        }
        // A command that reads rows tries it once more.
        self.ledger.ask_for_rows();
    }

    /// Gives back what a claim has come to that is not needed.
    fn give_back(&mut self, mut ticket: Ticket) {
        // From here on the engine sees that it is not heard.
        ticket.outcome.close();
        if let Ok(Acquired::Granted(grant)) = ticket.outcome.try_recv() {
            self.engine.release_later(vec![(ticket.key, grant.token)], grant.proxy);
        }
    }

    /// Takes in what became of a late row. An event if the session is to do something about it.
    fn take_claimed(
        &mut self,
        key: &Key,
        since: std::time::Instant,
        acquired: &Acquired,
    ) -> Option<SessionEvent> {
        // The server may have released the lock meanwhile, and have granted it again: that is another claim's.
        let late = self.ledger.held().late_since(key) == Some(since);
        let event = match acquired {
            Acquired::Granted(grant) if !late => {
                self.engine.release_later(vec![(key.clone(), grant.token)], grant.proxy);
                None
            }
            Acquired::Granted(grant) => {
                let entered = self.ledger.enter(key.clone(), *grant);
                entered.err().and_then(|OtherIncarnation| {
                    self.release_when_gone(vec![(key.clone(), grant.token)], grant.proxy);
                    self.ledger.granted_by().map(SessionEvent::Fence)
                })
            }
            Acquired::Unproven => late.then(|| {
                // The locks that are read may still have this one.
                self.late.arm(AGAIN);
                SessionEvent::ReadLocks
            }),
            Acquired::NotFree | Acquired::Deadlock | Acquired::Failed(_) => {
                if late {
                    self.note_failed(key);
                    self.late.arm(AGAIN);
                }
                None
            }
        };
        self.note_late();
        event
    }

    fn claim_of(&self, name: Name, owner: Arc<[u8]>, once: bool, native: bool) -> Claim {
        let (conn, backend) = (self.connection, self.backend.clone());
        let events = self.events_in.clone();
        Claim {
            name,
            conn,
            backend,
            owner,
            once,
            holds: false,
            weight: 0,
            events,
            native,
            began: None,
        }
    }

    /// Asks whether the server still works for the session, which holds locks.
    pub(crate) fn ask_whether_served(&self) {
        if let Some(lock) = self.ledger.held().any() {
            self.engine.ask_whether_served(lock);
        }
    }

    /// Why the session ends.
    pub(crate) fn end_with(&mut self, reason: &'static str) {
        self.ending = reason;
    }

    /// The session is ending: those who want its locks wait a moment for their release.
    pub(crate) fn announce_end(&self) {
        self.engine.leaving(self.ledger.held().grants(), self.ending);
    }

    /// Leaves the release to the engine, once the server shows the session's connection no more.
    pub(crate) fn abandon(&mut self) {
        for ticket in self.late.take_claims() {
            self.cancel(&ticket);
            self.give_back(ticket);
        }
        if let (Some(session), Some(conn), Some(proxy)) =
            (self.late.take(), self.backend.id(), self.ledger.granted_by())
        {
            self.engine.late_until_gone(conn, proxy, session);
        }
        let locks = self.ledger.take_all().locks;
        if let (Some(proxy), false) = (self.ledger.granted_by(), locks.is_empty()) {
            self.engine.release_when_gone(self.backend.id(), locks, proxy, self.ending);
        }
    }
}

/// Of a session that a fault of the program has ended: what it still has goes back.
impl Drop for LockOwner {
    fn drop(&mut self) {
        self.abandon();
    }
}

impl Locks for LockOwner {
    fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    fn acquire(&mut self, name: Name, owner: Arc<[u8]>, once: bool) -> Ticket {
        let holds = !self.ledger.held().is_empty();
        let weight = self.ledger.deadlocks();
        self.engine.acquire(Claim { holds, weight, ..self.claim_of(name, owner, once, false) })
    }

    fn claim(
        &mut self,
        name: Name,
        owner: Arc<[u8]>,
        once: bool,
        began: Option<Instant>,
    ) -> Ticket {
        self.engine.acquire(Claim { began, ..self.claim_of(name, owner, once, true) })
    }

    fn server_protects(&self) -> bool {
        self.engine.lease().server_protects()
    }

    fn keep_without_row(&mut self, name: Name) {
        self.ledger.keep_without_row(name);
        self.engine.without_row(self.connection, self.events_in.clone());
    }

    fn allows_late(&self) -> bool {
        let lease = self.engine.lease();
        // No row names the session: a takeover finds it by its tag alone.
        let marked = || lease.proxy().is_some_and(|proxy| self.backend.is_marked(proxy));
        self.engine.late_rows().is_allowed() && lease.server_protects() && marked()
    }

    fn knows_run_of(&self, opened: Duration) -> bool {
        let lease = self.engine.lease();
        // A row that it has got says so, too.
        lease.is_of_this_run(opened)
            || self.ledger.granted_by().is_some_and(|proxy| lease.proxy() == Some(proxy))
    }

    fn confirm(&mut self) -> Task<'static, ()> {
        Box::pin(self.engine.confirm())
    }

    fn note_late(&self) {
        if let Some(session) = self.late.session()
            && self.ledger.held().late().next().is_none()
        {
            session.end();
        }
    }

    fn enter_late(&mut self, name: Name) -> Result<Option<ProxyId>, OtherIncarnation> {
        let (late, lease) = (self.engine.late_rows(), self.engine.lease());
        let (Some(proxy), Some(conn)) = (lease.proxy(), self.backend.id()) else { return Ok(None) };
        let delay = late.delay();
        if self.late.session().is_none() {
            self.late.list(late.enter(conn));
        }
        let begins = self.late.session().is_some_and(|session| session.begin(proxy, lease.run()));
        if !begins || !lease.vouches_for(proxy) {
            self.note_late();
            return Ok(None);
        }
        let entered = self.ledger.enter_late(name, std::time::Instant::now(), proxy);
        self.note_late();
        entered?;
        self.late.arm(delay);
        Ok(Some(proxy))
    }

    fn release_later(&mut self, locks: Vec<(Key, u64)>, proxy: ProxyId) {
        self.engine.release_later(locks, proxy);
    }

    fn native_locks(&mut self, asked: Vec<Name>) -> Task<'static, Result<NativeLocks, String>> {
        let (engine, backend) = (self.engine.clone(), self.backend.id());
        Box::pin(async move {
            match backend {
                Some(backend) => engine.native_locks(backend, asked).await,
                // The server holds no lock for a session without a connection to it.
                None => Ok(NativeLocks { names: Vec::new(), complete: true, unlisted: None }),
            }
        })
    }

    fn cancel(&mut self, ticket: &Ticket) {
        self.engine.cancel(ticket);
    }

    fn release(&mut self, locks: Vec<(Key, u64)>, proxy: ProxyId) -> Task<'static, ()> {
        let engine = self.engine.clone();
        Box::pin(async move { engine.release(locks, proxy).await })
    }

    fn release_when_gone(&mut self, locks: Vec<(Key, u64)>, proxy: ProxyId) {
        self.engine.release_when_gone(self.backend.id(), locks, proxy, FENCED);
    }

    fn look_up(&mut self, key: Key) -> Task<'static, Look> {
        let engine = self.engine.clone();
        Box::pin(async move { engine.look_up(key).await })
    }

    fn census(&mut self) -> Task<'static, Result<Census, String>> {
        let engine = self.engine.clone();
        Box::pin(async move { engine.census().await })
    }

    fn tag(&self, key: &Key) -> u64 {
        self.gates.tag(key)
    }

    fn close_gate(&mut self, tag: u64) -> oneshot::Receiver<Option<Gate>> {
        self.gates.close_one(tag)
    }

    fn vouches_for(&self, proxy: ProxyId) -> bool {
        self.engine.lease().vouches_for(proxy)
    }

    fn certain(&self, proxy: ProxyId) -> Task<'static, bool> {
        let lease = self.engine.lease_handle();
        Box::pin(async move { lease.certain(proxy).await })
    }

    fn trusts(&self, known_since: Duration) -> bool {
        self.engine.lease().trusts(known_since)
    }

    fn home(&self) -> Arc<str> {
        self.engine.lease().home()
    }

    fn next_event(&mut self) -> Task<'_, SessionEvent> {
        Box::pin(self.next_event())
    }

    fn told_now(&mut self) -> Option<SessionEvent> {
        self.events.try_recv().ok()
    }

    fn tell_again(&mut self, event: SessionEvent) {
        let _ = self.events_in.send(event);
    }

    fn handle_event(&mut self, event: SessionEvent) -> Result<Asked, CloseReason> {
        match event {
            SessionEvent::Fence(proxy) if self.ledger.depends_on(proxy) => Err(CloseReason::Fenced),
            // Each wait takes an interrupt in by itself.
            SessionEvent::WriterChanged if self.backend.is_left() => Err(CloseReason::Left),
            SessionEvent::Fence(_)
            | SessionEvent::Interrupt
            | SessionEvent::WriterChanged
            | SessionEvent::SwitchoverChanged => Ok(Asked::Nothing),
            SessionEvent::Revoke(token) => match self.ledger.held().name_of(token) {
                Some(name) => Err(CloseReason::Revoked(name)),
                None => Ok(Asked::Nothing),
            },
            SessionEvent::Lost(token) => Err(CloseReason::Lost(self.ledger.held().name_of(token))),
            SessionEvent::Drain => {
                self.draining = true;
                Ok(Asked::Nothing)
            }
            SessionEvent::Stop => Err(CloseReason::Drained),
            SessionEvent::Kill => Ok(Asked::End),
            SessionEvent::ServerDone => {
                tracing::info!(
                    connection = %self.connection,
                    locks = self.ledger.held().len(),
                    "the server has ended a session whose client does not read; its locks are released"
                );
                // A client that reads after all still gets the server's last bytes.
                self.ending = CloseReason::ServerGone.label();
                self.abandon();
                Ok(Asked::Nothing)
            }
            SessionEvent::Look(question) => Ok(Asked::Look(question)),
            SessionEvent::ReadLocks => {
                self.ledger.ask_to_read();
                Ok(Asked::Nothing)
            }
            SessionEvent::GiveBack => Ok(Asked::GiveBack),
        }
    }

    fn is_draining(&self) -> bool {
        self.draining
    }

    fn present(&mut self, question: u64) {
        self.engine.present(self.connection, question);
    }

    fn answer_when_heard(&mut self, question: u64) {
        self.sought = Some(question);
    }

    fn client_is_there(&mut self) {
        if let Some(question) = self.sought.take() {
            self.engine.present(self.connection, question);
        }
    }
}
