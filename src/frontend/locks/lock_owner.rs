//! The locks of one session, and the engine that grants them.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::super::link::close_reason::CloseReason;
use super::super::state::ledger::{Ledger, OtherIncarnation};
use super::late::{LateLocks, LateStep};
use super::owner::{Asked, Locks};
use super::server::Task;
use crate::engine::handle::{Claim, Engine, EventSender, Look, NativeLocks, SessionEvent, Ticket};
use crate::engine::io::gatekeeper::{Gate, Gates};
use crate::engine::io::held_locks::Census;
use crate::engine::shared::current_backend::CurrentBackend;
use crate::engine::shared::history::FENCED;
use crate::lock::name::{Key, Name};
use crate::types::{ConnectionId, ProxyId};

/// What comes next for a session.
enum Next {
    Event(SessionEvent),
    Late(LateStep),
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
        let late = LateLocks::new(engine.clone());
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
            late,
            owner,
        }
    }

    /// The next event for the session. The future may be dropped at any time: no event is lost. Late rows are seen to
    /// meanwhile.
    pub(crate) async fn next_event(&mut self) -> SessionEvent {
        let step = poll_fn(|cx| match self.events.poll_recv(cx) {
            Poll::Ready(Some(event)) => Poll::Ready(Next::Event(event)),
            // The session holds a sender itself: there is no end.
            Poll::Ready(None) | Poll::Pending => self.late.poll_next(cx).map(Next::Late),
        });
        match step.await {
            Next::Event(event) => event,
            Next::Late(LateStep::Due) => {
                for (name, since) in self.late.due(&mut self.ledger) {
                    let ticket = self.claim(name, Arc::clone(&self.owner), false, None);
                    self.late.claim(ticket, since);
                }
                SessionEvent::LateRow
            }
            Next::Late(LateStep::Claimed(lock, acquired)) => {
                self.late.take_claimed(&mut self.ledger, &lock, &acquired)
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
        if let (Some(session), Some(conn), Some(proxy)) =
            (self.late.end(), self.backend.id(), self.ledger.granted_by())
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
        self.late.note(&self.ledger);
    }

    fn enter_late(&mut self, name: Name) -> Result<Option<ProxyId>, OtherIncarnation> {
        match self.backend.id() {
            Some(conn) => self.late.enter(&mut self.ledger, conn, name),
            None => Ok(None),
        }
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
            | SessionEvent::LateRow
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
