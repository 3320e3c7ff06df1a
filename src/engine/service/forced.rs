//! Releases that an administrator has asked for: the session goes, and its locks as at any end of one.

use super::Service;
use super::ownership::Owned;
use crate::engine::messages::SessionEvent;
use crate::store::releases::ReleaseRequest;

impl Service {
    /// Told with each renewal until the row is free: a session that is closing already closes on.
    pub(super) fn release_by_force(&mut self, locks: Vec<ReleaseRequest>) {
        let Some(proxy) = self.writer.as_ref().map(|writer| writer.proxy) else {
            return;
        };
        let mut nobodys = Vec::new();
        for ReleaseRequest { key, token, who } in locks {
            let state = self.keys.get(&key);
            if state.is_some_and(|s| s.release.is_some()) {
                continue;
            }
            let row = state.and_then(|s| s.owned.as_ref()).map(Owned::row);
            let held = state.and_then(|s| s.held.as_ref());
            let Some(held) = held.filter(|held| held.token == token || row == Some(token)) else {
                nobodys.push((key, token));
                continue;
            };
            if held.events.send(SessionEvent::Revoke(held.token)).is_ok() {
                tracing::warn!(target: "lockstead::audit", lock = key.shown(), token, connection = %held.conn, who, "a lock is released by force: its session is closed");
            }
            // A statement that runs would hold the lock to its end. Without the right to kill, it does.
            self.end_statement(held);
        }
        // Rows without a session are freed as they always are: when seen twice.
        if !nobodys.is_empty() {
            self.reconcile(proxy, nobodys);
        }
    }
}
