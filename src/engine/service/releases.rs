//! Releases that sessions ask for, and when all of them are done.

use tokio::sync::oneshot;

use super::countdown::Countdown;
use super::keys::PendingRelease;
use super::{Service, events};
use crate::engine::shared::history::RELEASED;
use crate::lock::name::Key;
use crate::types::ProxyId;

impl Service {
    pub(super) fn release_all(
        &mut self,
        locks: Vec<(Key, u64)>,
        proxy: ProxyId,
        done: Option<&Countdown>,
    ) {
        // Locks of an earlier incarnation were lost with it; its takeover frees the rows.
        if self.incarnation() != Some(proxy) {
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
            if !self.release_in_memory(&key) {
                self.keys.list(&key);
            }
        }
    }

    /// Releases native locks, unless a native claim comes before their time.
    pub(super) fn release_later(&mut self, locks: Vec<(Key, u64)>, proxy: ProxyId) {
        if self.incarnation() != Some(proxy) {
            return;
        }
        for (key, token) in locks {
            let Some(state) = self.keys.get_mut(&key) else {
                continue;
            };
            if state.held.as_ref().is_some_and(|h| h.token == token) && state.release.is_none() {
                state.release = Some(PendingRelease { token, done: None });
                self.keys.list_later(&key);
            }
        }
    }

    /// A release whose row is another one's by now is done.
    pub(super) fn end_release_without_row(&mut self, key: &Key) {
        let state = self.keys.get(key);
        if state.is_some_and(|state| state.release.is_some() && state.owned.is_none()) {
            self.end_release(key);
        }
    }

    /// A release is done: its session is told.
    pub(super) fn end_release(&mut self, key: &Key) {
        let Some(state) = self.keys.get_mut(key) else {
            return;
        };
        let release = state.release.take();
        if let Some(release) = &release
            && let Some(held) = state.held.take_if(|held| held.token == release.token)
        {
            let kept = events::ended((&self.metrics, &self.history), key, held, RELEASED);
            self.metrics.hold_seconds.observe(kept.as_secs_f64());
        }
    }

    /// Remembers a caller that waits until all releases asked for are done, gone sessions included.
    pub(super) fn settle_later(&mut self, reply: oneshot::Sender<()>) {
        self.settling.push(reply);
        self.keys.hurry();
    }

    /// Tells the callers, if all are done.
    pub(super) fn settle(&mut self) {
        if !self.settling.is_empty()
            && self.watched == 0
            && self.keys.iter().all(|(_, s)| s.release.is_none() && !s.in_flight)
        {
            for reply in self.settling.drain(..) {
                let _ = reply.send(());
            }
        }
    }
}
