//! What a session can do with locks.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::super::link::close_reason::CloseReason;
use super::super::state::ledger::{Ledger, OtherIncarnation};
use super::server::Task;
use crate::engine::handle::{Look, NativeLocks, SessionEvent, Ticket};
use crate::engine::io::gatekeeper::Gate;
use crate::engine::io::held_locks::Census;
use crate::lock::name::{Key, Name};
use crate::types::ProxyId;

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
