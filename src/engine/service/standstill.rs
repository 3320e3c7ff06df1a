//! Waits for locks that nobody can be granted: the lock tables cannot be written.

use std::time::Duration;

use super::Service;
use crate::engine::messages::Acquired;
use crate::engine::service::keys::KeyState;
use crate::lock::name::Key;

/// After this a try waits in vain: the tables might be writable again, and it was on its way.
const LATE: Duration = Duration::from_millis(500);

/// Whether a session has the lock, here or at another proxy, as far as is known.
pub(super) fn is_taken(state: &KeyState) -> bool {
    state.holder().is_some() || state.remote.is_some()
}

impl Service {
    /// A session waits no longer. If nobody has the lock, it learns why it does not get it.
    pub(super) fn end_wait(&mut self, id: u64, key: &Key) {
        let why = self.lease.unwritable().filter(|_| !self.keys.get(key).is_some_and(is_taken));
        self.keys.leave(id, key, why.map_or(Acquired::NotFree, Acquired::Failed));
    }

    /// Sessions that try once are not kept waiting until the tables can be written.
    pub(super) fn refuse_tries(&mut self) {
        let Some(why) = self.lease.unwritable() else { return };
        let mut tries = Vec::new();
        for (key, state) in self.keys.iter() {
            let waiters = state.queue.iter().chain(&state.granting);
            let late = waiters.filter(|w| w.claim.once && w.since.elapsed() >= LATE);
            tries.extend(late.map(|waiter| (waiter.id, key.clone())));
        }
        for (id, key) in tries {
            self.keys.leave(id, &key, Acquired::Failed(why.clone()));
        }
    }
}
