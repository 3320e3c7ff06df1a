//! What a pool has: its connections, and the sessions that have one or wait.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::accounts::AccountTurns;
use super::holder::PoolHolder;
use super::key::PoolKey;
use super::permit::Permit;
use crate::backend::connection::DetachedBackend;
use crate::backend::session_state::SessionState;
use crate::mutants;

/// Between two times at which connections are closed because accounts have changed: a client can cause that.
const RETIRE_PAUSE: Duration = Duration::from_secs(1);

/// What a session gets that needs a connection.
#[derive(Debug)]
pub enum Lent {
    /// A connection that is open.
    Open(Box<DetachedBackend>),
    /// Leave to open one.
    New(Permit),
}

/// What a session's connection must be like, beside its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wish {
    /// No schema was selected on it.
    pub schemaless: bool,
    /// No session had it before.
    pub fresh: bool,
}

/// A session that waits.
pub(super) struct PoolWaiter {
    pub(super) key: Arc<PoolKey>,
    pub(super) wish: Wish,
    pub(super) to: oneshot::Sender<Lent>,
}

/// The state of a pool.
pub(super) struct PoolState {
    /// Connections that have a permit.
    pub(super) open: usize,
    /// Free ones, the last used last.
    pub(super) free: Vec<DetachedBackend>,
    pub(super) accounts: AccountTurns<PoolWaiter>,
    pub(super) holders: HashMap<u64, Arc<PoolHolder>>,
    pub(super) next: u64,
    /// Connections from before have the privileges of accounts that have changed: no other session gets one.
    pub(super) retired_before: Duration,
    /// Accounts have changed since then.
    pub(super) accounts_changed: bool,
    /// When they changed last. A session that logs in later gets no connection from before.
    pub(super) changed_at: Duration,
}

impl PoolState {
    /// Nothing yet.
    pub(super) fn new() -> Self {
        Self {
            open: 0,
            free: Vec::new(),
            accounts: AccountTurns::new(),
            holders: HashMap::new(),
            next: 0,
            retired_before: Duration::ZERO,
            accounts_changed: false,
            changed_at: Duration::ZERO,
        }
    }

    /// Counts one more connection of this account.
    pub(super) fn count_opening(&mut self, user: &[u8]) {
        self.open += 1;
        self.accounts.open(user);
    }

    /// The place of a free connection that suits: the one used last, best of those that have this state. `room`:
    /// another one could be opened.
    pub(super) fn suited(
        &self,
        key: &PoolKey,
        wish: Wish,
        state: &SessionState,
        room: bool,
    ) -> Option<usize> {
        let suited = |backend: &DetachedBackend| suits(backend, key, wish);
        let last = self.free.iter().rposition(suited);
        if !mutants::shuffles() {
            let same = |backend: &DetachedBackend| {
                backend.left().state() == Some(state) && suited(backend)
            };
            return self.free.iter().rposition(same).or(last);
        }
        // Not the one that the session had, if there is another or may be one.
        let first = self.free.iter().position(suited);
        if room && first == last { None } else { first }
    }

    /// Free connections from before accounts have changed, to be closed; none if others were a short time ago.
    pub(super) fn retire(&mut self, now: Duration) -> Vec<DetachedBackend> {
        if !self.accounts_changed || now.saturating_sub(self.retired_before) < RETIRE_PAUSE {
            return Vec::new();
        }
        (self.accounts_changed, self.retired_before) = (false, now);
        self.free.extract_if(.., |backend| backend.opened() < now).collect()
    }

    pub(super) fn has_retired(&self, backend: &DetachedBackend) -> bool {
        backend.opened() < self.retired_before
    }

    /// Takes at most `count` free connections, those that were used longest ago, to be closed.
    pub(super) fn evict(&mut self, count: usize) -> Vec<DetachedBackend> {
        self.free.drain(..count.min(self.free.len())).collect()
    }

    /// Asks the session that has done nothing for longest.
    pub(super) fn nudge(&self) {
        let idle = self.holders.values().filter_map(|h| Some((h.idle_since()?, h)));
        if let Some((_, holder)) = idle.min_by_key(|(since, _)| *since) {
            holder.nudge();
        }
    }
}

/// Whether no other session may have the connection: only the server can tell whose it is.
pub(super) fn is_alone(backend: &DetachedBackend) -> bool {
    backend.key().user.certain().is_none()
}

/// A connection that was given back is not fresh.
pub(super) fn suits(backend: &DetachedBackend, key: &PoolKey, wish: Wish) -> bool {
    !wish.fresh
        && !backend.is_left()
        && key.suits(backend.key(), backend.opened())
        && (!wish.schemaless || backend.is_schemaless())
}
