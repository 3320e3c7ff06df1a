//! Locks that end as the script says.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::super::owner::{Asked, Locks};
use super::super::server::Task;
use crate::engine::handle::{Acquired, Look, NativeLocks, SessionEvent, Ticket};
use crate::engine::io::gatekeeper::Gate;
use crate::engine::io::held_locks::Census;
use crate::engine::shared::lease::Lease;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::guard::LeaseGuard;
use crate::frontend::state::ledger::{Ledger, OtherIncarnation};
use crate::lock::name::{Key, Name};
use crate::types::ProxyId;

/// Grants and answers what the script says.
pub(crate) struct ScriptedLocks {
    pub(super) ledger: Ledger,
    pub(crate) lease: Arc<Lease>,
    /// How the next waits end; a wait beyond them does not end.
    pub(crate) outcomes: VecDeque<Acquired>,
    pub(super) waiting: Vec<oneshot::Sender<Acquired>>,
    pub(crate) looks: VecDeque<Look>,
    /// The locks that the server holds for the session, each time that they are read.
    pub(crate) native: VecDeque<Vec<Name>>,
    /// Whether these are read from a list of the server's.
    pub(crate) lists: bool,
    pub(crate) events: VecDeque<SessionEvent>,
    pub(crate) released: Vec<String>,
    pub(crate) gone: Vec<String>,
    pub(crate) cancelled: usize,
    pub(crate) trusts: bool,
    /// Whether the server's own locks protect without rows.
    pub(crate) protects: bool,
    pub(crate) draining: bool,
    /// Whether rows may be late, and whether the connection is known to be of the run in which locks are held.
    pub(crate) late: bool,
    pub(crate) confirmed: bool,
}

impl ScriptedLocks {
    pub(super) fn new(lease: Arc<Lease>) -> Self {
        Self {
            ledger: Ledger::new(Arc::new(LeaseGuard::new(Arc::clone(&lease)))),
            lease,
            outcomes: VecDeque::new(),
            waiting: Vec::new(),
            looks: VecDeque::new(),
            native: VecDeque::new(),
            lists: true,
            events: VecDeque::new(),
            released: Vec::new(),
            gone: Vec::new(),
            cancelled: 0,
            trusts: true,
            protects: true,
            draining: false,
            late: false,
            confirmed: false,
        }
    }
}

impl Locks for ScriptedLocks {
    fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    fn acquire(&mut self, name: Name, _: Arc<[u8]>, _: bool) -> Ticket {
        let (tell, outcome) = oneshot::channel();
        match self.outcomes.pop_front() {
            Some(acquired) => {
                let _ = tell.send(acquired);
            }
            None => self.waiting.push(tell),
        }
        Ticket::of(name.key, outcome)
    }

    fn claim(&mut self, name: Name, owner: Arc<[u8]>, once: bool, _: Option<Instant>) -> Ticket {
        self.acquire(name, owner, once)
    }

    fn server_protects(&self) -> bool {
        self.protects
    }

    fn keep_without_row(&mut self, name: Name) {
        self.ledger.keep_without_row(name);
    }

    fn allows_late(&self) -> bool {
        self.late
    }

    fn knows_run_of(&self, _: Duration) -> bool {
        self.confirmed
    }

    fn confirm(&mut self) -> Task<'static, ()> {
        self.confirmed = true;
        Box::pin(async {})
    }

    fn note_late(&self) {}

    fn enter_late(&mut self, name: Name) -> Result<Option<ProxyId>, OtherIncarnation> {
        let Some(proxy) = self.lease.proxy() else { return Ok(None) };
        self.ledger.enter_late(name, std::time::Instant::now(), proxy)?;
        Ok(Some(proxy))
    }

    fn release_later(&mut self, locks: Vec<(Key, u64)>, _: ProxyId) {
        self.released.extend(locks.iter().map(|(key, _)| key.shown()));
    }

    fn native_locks(&mut self, asked: Vec<Name>) -> Task<'static, Result<NativeLocks, String>> {
        let read = self.native.pop_front();
        let none = || Err(format!("not scripted: {asked:?}"));
        let (complete, unlisted) = (self.lists, (!self.lists).then_some("no list"));
        let read = read.map_or_else(none, |names| Ok(NativeLocks { names, complete, unlisted }));
        Box::pin(async move { read })
    }

    fn cancel(&mut self, _: &Ticket) {
        self.cancelled += 1;
        for tell in self.waiting.drain(..) {
            let _ = tell.send(Acquired::NotFree);
        }
    }

    fn release(&mut self, locks: Vec<(Key, u64)>, _: ProxyId) -> Task<'static, ()> {
        self.released.extend(locks.iter().map(|(key, _)| key.shown()));
        Box::pin(async {})
    }

    fn release_when_gone(&mut self, locks: Vec<(Key, u64)>, _: ProxyId) {
        self.gone.extend(locks.iter().map(|(key, _)| key.shown()));
    }

    fn look_up(&mut self, _: Key) -> Task<'static, Look> {
        let look = self.looks.pop_front().unwrap_or(Look::Free);
        Box::pin(async move { look })
    }

    fn census(&mut self) -> Task<'static, Result<Census, String>> {
        Box::pin(async { Err("not scripted".to_owned()) })
    }

    fn tag(&self, _: &Key) -> u64 {
        1
    }

    fn close_gate(&mut self, _: u64) -> oneshot::Receiver<Option<Gate>> {
        oneshot::channel().1
    }

    fn vouches_for(&self, proxy: ProxyId) -> bool {
        self.lease.vouches_for(proxy)
    }

    fn certain(&self, proxy: ProxyId) -> Task<'static, bool> {
        let lease = Arc::clone(&self.lease);
        Box::pin(async move { lease.certain(proxy).await })
    }

    fn trusts(&self, _: Duration) -> bool {
        self.trusts
    }

    fn home(&self) -> Arc<str> {
        "home".into()
    }

    fn next_event(&mut self) -> Task<'_, SessionEvent> {
        // Nothing is lost if it is dropped.
        Box::pin(async {
            match self.events.pop_front() {
                Some(event) => event,
                None => std::future::pending().await,
            }
        })
    }

    fn tell_again(&mut self, event: SessionEvent) {
        self.events.push_back(event);
    }

    fn told_now(&mut self) -> Option<SessionEvent> {
        self.events.pop_front()
    }

    fn handle_event(&mut self, event: SessionEvent) -> Result<Asked, CloseReason> {
        match event {
            SessionEvent::Drain => {
                self.draining = true;
                Ok(Asked::Nothing)
            }
            SessionEvent::Kill => Ok(Asked::End),
            SessionEvent::Lost(token) => Err(CloseReason::Lost(self.ledger.held().name_of(token))),
            _ => Ok(Asked::Nothing),
        }
    }

    fn is_draining(&self) -> bool {
        self.draining
    }

    fn present(&mut self, _: u64) {}

    fn answer_when_heard(&mut self, _: u64) {}

    fn client_is_there(&mut self) {}
}
