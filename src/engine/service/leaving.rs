//! Sessions that end: their locks are released when the server has stopped working for them.

use super::Service;
use crate::engine::io::disconnects::{DeferredRelease, Errand, Question};
use crate::engine::service::keys::LocalHold;
use crate::lock::name::Key;
use crate::types::{ConnectionId, ProxyId};

impl Service {
    /// Sessions end: a session that wants their locks waits for the release.
    pub(super) fn leaving(&mut self, locks: &[(Key, u64)]) {
        for (key, token) in locks {
            let held = self.keys.get_mut(key).and_then(|state| state.held.as_mut());
            let Some(held) = held.filter(|held| held.token == *token) else { continue };
            held.leaving = true;
            self.doubts.wait_for_release(key);
        }
    }

    /// Releases locks when the thread of their session is gone.
    pub(super) fn watch(&mut self, conn: ConnectionId, locks: Vec<(Key, u64)>, proxy: ProxyId) {
        self.leaving(&locks);
        // The connection was there before its first grant. Without one there is nothing to wait
        // for: the locks were lost meanwhile.
        if let Some(run) = locks
            .iter()
            .filter_map(|(key, token)| self.keys.held_under(key, *token))
            .map(|h| h.run)
            .min()
        {
            self.watched += 1;
            let watch = DeferredRelease { conn, run, locks, proxy };
            let _ = self.endings.send(Errand::Release(watch));
        }
    }

    /// Tells the session of a lock if the server no longer works for it.
    pub(super) fn ask_whether_served(&self, key: &Key, token: u64) {
        if let Some(LocalHold { conn, run, events, .. }) = self.keys.held_under(key, token) {
            let (conn, run, events) = (*conn, *run, events.clone());
            let question = Question { conn, run, events };
            let _ = self.endings.send(Errand::Ask(question));
        }
    }
}
