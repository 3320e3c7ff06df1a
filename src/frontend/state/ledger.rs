//! What a session holds, and which incarnation vouches for it.

use std::sync::Arc;
use std::time::Instant;

use super::super::link::guard::LeaseGuard;
use crate::engine::handle::Grant;
use crate::lock::held::{Held, Release, Taken};
use crate::lock::name::{Key, Name};
use crate::types::ProxyId;

/// Locks of an incarnation that is over cannot stand beside new ones.
#[derive(Debug)]
pub(crate) struct OtherIncarnation;

/// The locks of one session.
#[derive(Debug)]
pub(crate) struct Ledger {
    held: Held,
    /// The incarnation that granted what is held, or was held last.
    granted_by: Option<ProxyId>,
    /// Acquisitions of the command under way; `None`: it has also released what was held before it.
    taken: Option<Vec<Key>>,
    /// Locks that the server holds for the session, and whose rows are not written yet.
    without_row: Vec<Name>,
    /// The server's locks of the session are to be read between two commands.
    to_read: bool,
    /// Deadlocks that this session's waits were given up for, where the server counts them.
    deadlocks: u32,
    guard: Arc<LeaseGuard>,
}

impl Ledger {
    /// The ledger of a session that holds nothing.
    pub(crate) fn new(guard: Arc<LeaseGuard>) -> Self {
        let (held, taken) = (Held::default(), None);
        let without_row = Vec::new();
        Self { held, granted_by: None, taken, without_row, to_read: false, deadlocks: 0, guard }
    }

    /// What is held.
    pub(crate) fn held(&self) -> &Held {
        &self.held
    }

    /// The incarnation that granted what is held, or was held last.
    pub(crate) fn granted_by(&self) -> Option<ProxyId> {
        self.granted_by
    }

    /// Whether locks of this incarnation are held.
    pub(crate) fn depends_on(&self, proxy: ProxyId) -> bool {
        self.granted_by == Some(proxy) && !self.held.is_empty()
    }

    /// Enters a grant.
    pub(crate) fn enter(&mut self, key: Key, grant: Grant) -> Result<(), OtherIncarnation> {
        if !self.held.is_empty() && self.granted_by != Some(grant.proxy) {
            return Err(OtherIncarnation);
        }
        self.granted_by = Some(grant.proxy);
        self.taken.iter_mut().for_each(|taken| taken.push(key.clone()));
        self.without_row.retain(|name| name.key != key);
        self.held.grant(key, grant.token);
        self.guard.arm(grant.proxy);
        Ok(())
    }

    /// Enters a lock whose row is not written.
    pub(crate) fn enter_late(
        &mut self,
        name: Name,
        granted: Instant,
        proxy: ProxyId,
    ) -> Result<(), OtherIncarnation> {
        if !self.held.is_empty() && self.granted_by != Some(proxy) {
            return Err(OtherIncarnation);
        }
        self.granted_by = Some(proxy);
        self.without_row.retain(|known| known.key != name.key);
        self.held.grant_late(name, granted);
        self.guard.arm(proxy);
        self.guard.set_late(true);
        Ok(())
    }

    /// Rows are not written yet: a command that reads rows waits for them.
    pub(crate) fn ask_for_rows(&self) {
        self.guard.set_late(true);
    }

    /// See [`Held::note_failed`].
    pub(crate) fn note_failed(&mut self, key: &Key) -> bool {
        self.held.note_failed(key)
    }

    /// Takes a held lock again.
    pub(crate) fn reenter(&mut self, key: &Key) {
        self.taken.iter_mut().for_each(|taken| taken.push(key.clone()));
        self.held.reenter(key);
    }

    /// Gives one acquisition back; see [`Held::release`].
    pub(crate) fn release(&mut self, key: &Key) -> Release {
        let at = self.taken.as_ref().and_then(|taken| taken.iter().position(|other| other == key));
        match (&mut self.taken, at) {
            (Some(taken), Some(at)) => drop(taken.swap_remove(at)),
            (taken, None) if self.held.contains(key) => *taken = None,
            (Some(_) | None, _) => {}
        }
        self.held.release(key)
    }

    /// A command begins, or the client has its answer.
    pub(crate) fn begin_command(&mut self) {
        self.taken = Some(Vec::new());
    }

    /// Gives back what the command under way has taken, since its client gets an error. What the store must
    /// release, as after [`Held::release`].
    pub(crate) fn undo(&mut self) -> Vec<(Key, u64)> {
        // Where rows are late, the server answers the calls.
        let keys = self.taken.take().unwrap_or_default().into_iter();
        let last = |key: Key| match self.held.release(&key) {
            Release::Last(token) => Some((key, token)),
            Release::NotMine | Release::Counted | Release::Uncounted => None,
        };
        keys.filter_map(last).collect()
    }

    /// The locks were read from the server, which does not say how often each is held.
    pub(crate) fn uncount(&mut self) {
        self.held.uncount();
    }

    /// The server holds a lock of this name for the session; its row is not written yet.
    pub(crate) fn keep_without_row(&mut self, name: Name) {
        self.without_row.retain(|known| known.key != name.key);
        self.without_row.push(name);
    }

    /// Locks of the session without a row.
    pub(crate) fn without_row(&self) -> &[Name] {
        &self.without_row
    }

    /// Of locks without a row the server still holds those that are `kept`.
    pub(crate) fn keep_of_those_without_row(&mut self, kept: impl Fn(&Key) -> bool) {
        self.without_row.retain(|name| kept(&name.key));
    }

    /// Whether the session has no lock, with a row or without.
    pub(crate) fn holds_nothing(&self) -> bool {
        self.held.is_empty() && self.without_row.is_empty()
    }

    /// The server's locks of the session are others than is known here.
    pub(crate) fn ask_to_read(&mut self) {
        self.to_read = true;
    }

    /// Whether they are to be read; once.
    pub(crate) fn is_to_read(&mut self) -> bool {
        std::mem::take(&mut self.to_read)
    }

    /// Drops a lock that was released.
    pub(crate) fn forget(&mut self, key: &Key) {
        self.held.forget(key);
        if self.held.is_empty() {
            self.guard.disarm();
        }
    }

    /// Empties the ledger.
    pub(crate) fn take_all(&mut self) -> Taken {
        self.taken = None;
        self.without_row.clear();
        self.guard.disarm();
        self.held.take_all()
    }

    /// How often the session gave up to end a deadlock.
    pub(crate) fn deadlocks(&self) -> u32 {
        self.deadlocks
    }

    /// Counts a wait that was given up to end a deadlock. A session that gave up often is the next victim later than
    /// others.
    pub(crate) fn note_deadlock(&mut self) {
        self.deadlocks = self.deadlocks.saturating_add(1);
    }

    /// The session starts over.
    pub(crate) fn reset(&mut self) {
        self.deadlocks = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::name::plain;
    use crate::types::Flavour;

    fn ledger() -> (Ledger, Arc<LeaseGuard>) {
        let guard = Arc::new(LeaseGuard::new(Arc::default()));
        (Ledger::new(Arc::clone(&guard)), guard)
    }

    fn key(name: &str) -> Key {
        plain(name.as_bytes(), Flavour::MySql).expect("a plain name").key
    }

    #[test]
    fn the_guard_is_armed_while_something_is_held() {
        let (mut ledger, guard) = ledger();
        let grant = Grant { token: 5, proxy: ProxyId(9) };
        assert!(ledger.enter(key("a"), grant).is_ok() && ledger.enter(key("b"), grant).is_ok());
        assert!(guard.is_armed() && ledger.depends_on(ProxyId(9)));
        ledger.forget(&key("a"));
        assert!(guard.is_armed(), "b is held");
        ledger.forget(&key("b"));
        assert!(!guard.is_armed() && !ledger.depends_on(ProxyId(9)));
        assert!(ledger.enter(key("a"), grant).is_ok());
        let taken = Taken { acquisitions: 1, locks: vec![(key("a"), 5)] };
        assert_eq!(ledger.take_all(), taken);
        assert!(!guard.is_armed());
    }

    #[test]
    fn a_command_that_ends_with_an_error_gives_back_what_it_took() {
        let (mut ledger, _) = ledger();
        let grant = |token| Grant { token, proxy: ProxyId(9) };
        ledger.begin_command();
        assert!(ledger.enter(key("before"), grant(1)).is_ok());
        ledger.begin_command();
        ledger.reenter(&key("before"));
        assert!(ledger.enter(key("a"), grant(2)).is_ok());
        ledger.reenter(&key("a"));
        assert!(ledger.enter(key("b"), grant(3)).is_ok());
        assert_eq!(ledger.release(&key("b")), Release::Last(3));
        ledger.forget(&key("b"));
        assert_eq!(ledger.undo(), [(key("a"), 2)]);
        assert_eq!(ledger.undo(), []);
        assert_eq!(ledger.release(&key("before")), Release::Last(1), "taken once");
        // The command has also released a lock that was held before: nobody can restore that.
        ledger.begin_command();
        ledger.reenter(&key("a"));
        assert!(matches!(ledger.release(&key("before")), Release::Last(1)));
        assert_eq!(ledger.undo(), []);
    }

    #[test]
    fn locks_of_two_incarnations_do_not_stand_beside_each_other() {
        let (mut ledger, _) = ledger();
        assert!(ledger.enter(key("a"), Grant { token: 1, proxy: ProxyId(1) }).is_ok());
        assert!(ledger.enter(key("b"), Grant { token: 2, proxy: ProxyId(2) }).is_err());
        ledger.take_all();
        assert!(ledger.enter(key("b"), Grant { token: 2, proxy: ProxyId(2) }).is_ok());
    }

    #[test]
    fn deadlocks_are_counted_until_the_session_begins_anew() {
        let (mut ledger, _) = ledger();
        ledger.note_deadlock();
        ledger.note_deadlock();
        assert_eq!(ledger.deadlocks(), 2);
        ledger.reset();
        assert_eq!(ledger.deadlocks(), 0);
    }
}
