//! All keys that the service knows, and those of them with something to send.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use super::keys::{KeyState, LocalHold};
use crate::engine::messages::Acquired;
use crate::lock::name::Key;

/// Pause before something that the store refused is tried again.
const RETRY: Duration = Duration::from_millis(200);
/// Pause before a native lock's release is sent, in which its next claim may come.
const LATER: Duration = Duration::from_millis(5);

/// The keys. One without any state is forgotten.
#[derive(Debug, Default)]
pub(super) struct KeyTable {
    keys: HashMap<Key, KeyState>,
    /// Keys with something to send, in the order in which they came.
    ready: VecDeque<Key>,
    /// When keys that could not be sent are listed again.
    retry_at: Option<Instant>,
    /// Keys to be listed later, and when.
    later: VecDeque<(Instant, Key)>,
}

impl KeyTable {
    pub(super) fn get(&self, key: &Key) -> Option<&KeyState> {
        self.keys.get(key)
    }

    pub(super) fn get_mut(&mut self, key: &Key) -> Option<&mut KeyState> {
        self.keys.get_mut(key)
    }

    /// The state of a key, which is remembered from now on.
    pub(super) fn enter(&mut self, key: &Key) -> &mut KeyState {
        self.keys.entry(key.clone()).or_default()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Key, &KeyState)> {
        self.keys.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&Key, &mut KeyState)> {
        self.keys.iter_mut()
    }

    /// The session here that has a lock.
    pub(super) fn held(&self, key: &Key) -> Option<&LocalHold> {
        self.keys.get(key)?.held.as_ref()
    }

    /// The hold of a key, if a session here has the lock under this token.
    pub(super) fn held_under(&self, key: &Key, token: u64) -> Option<&LocalHold> {
        self.held(key).filter(|held| held.token == token)
    }

    /// Lists a key to be sent, unless a change of it is at the store.
    pub(super) fn list(&mut self, key: &Key) {
        if let Some(state) = self.keys.get_mut(key)
            && !state.listed
            && !state.in_flight
        {
            state.listed = true;
            self.ready.push_back(key.clone());
        }
    }

    /// Lists all keys.
    pub(super) fn list_all(&mut self) {
        let keys: Vec<Key> = self.keys.keys().cloned().collect();
        for key in keys {
            self.list(&key);
        }
    }

    /// Strikes all keys off the list.
    pub(super) fn unlist_all(&mut self) {
        self.ready.clear();
        for state in self.keys.values_mut() {
            state.listed = false;
        }
    }

    /// The next key on the list, which it leaves, and its state.
    pub(super) fn next_ready(&mut self) -> Option<(Key, &mut KeyState)> {
        while let Some(key) = self.ready.pop_front() {
            if self.keys.contains_key(&key) {
                let state = self.keys.get_mut(&key)?;
                state.listed = false;
                return Some((key, state));
            }
        }
        None
    }

    /// How many keys are listed.
    pub(super) fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Lists keys with something to send again, after a pause.
    pub(super) fn retry_later(&mut self) {
        self.retry_at.get_or_insert(Instant::now() + RETRY);
    }

    /// When the pause before another attempt ends.
    pub(super) fn retry_at(&self) -> Option<Instant> {
        self.retry_at
    }

    /// Lists all keys with something to send.
    pub(super) fn retry(&mut self) {
        self.retry_at = None;
        let keys: Vec<Key> =
            self.keys.iter().filter(|(_, s)| s.has_work(true)).map(|(k, _)| k.clone()).collect();
        for key in keys {
            self.list(&key);
        }
    }

    /// Lists a key a little later.
    pub(super) fn list_later(&mut self, key: &Key) {
        self.later.push_back((Instant::now() + LATER, key.clone()));
    }

    /// When the first key that waits for later is to be listed.
    pub(super) fn later(&self) -> Option<Instant> {
        self.later.front().map(|(at, _)| *at)
    }

    /// Lists the keys whose time has come.
    pub(super) fn list_due(&mut self) {
        let now = Instant::now();
        while let Some((_, key)) = self.later.pop_front_if(|(at, _)| *at <= now) {
            self.list(&key);
        }
    }

    /// Lists all keys that wait for later.
    pub(super) fn hurry(&mut self) {
        for (_, key) in std::mem::take(&mut self.later) {
            self.list(&key);
        }
    }

    /// Forgets a key without any state. Whether it had none.
    pub(super) fn forget_if_idle(&mut self, key: &Key) -> bool {
        let idle = self.keys.get(key).is_some_and(KeyState::is_idle);
        if idle {
            self.keys.remove(key);
        }
        idle
    }

    /// Forgets all keys without any state.
    pub(super) fn forget_idle(&mut self) {
        self.keys.retain(|_, state| !state.is_idle());
    }

    /// Takes a waiter out of its queue, and tells it the outcome.
    pub(super) fn leave(&mut self, id: u64, key: &Key, outcome: Acquired) {
        let Some(state) = self.keys.get_mut(key) else {
            return;
        };
        if let Some(at) = state.queue.iter().position(|w| w.id == id) {
            if let Some(mut waiter) = state.queue.remove(at) {
                waiter.answer(outcome);
            }
        } else if let Some(waiter) = state.granting.as_mut().filter(|w| w.id == id) {
            // The waiter's grant is at the store; if that was won, the lock goes on to the next waiter.
            waiter.answer(outcome);
        }
        let withdraws = state.withdraws();
        if !self.forget_if_idle(key) && withdraws {
            self.list(key);
        }
    }

    /// Forgets everything.
    #[cfg(test)]
    pub(super) fn clear(&mut self) {
        self.keys.clear();
    }
}
