//! Owned names: a lock passes between sessions of this proxy in memory, while its row names the proxy.
//!
//! The row may be older than the lock: it is written some milliseconds later. So a proxy that takes the row of an owner
//! that is gone begins above the tokens that the owner may have handed out ([`WINDOW`]).
//! (docs/adr/0043-owned-names.md, tests/model/src/owned.rs)
//!
//! [`WINDOW`]: crate::store::statement::WINDOW

use std::time::Duration;

use tokio::time::Instant;

use super::countdown::Countdown;
use super::keys::{KeyState, LocalHold};
use super::ownership::{BEHIND, Due, Owned};
use super::{Service, events};
use crate::engine::messages::{Acquired, Grant};
use crate::engine::shared::history::RELEASED;
use crate::lock::name::Key;
use crate::mutants::{self, Mutant};
use crate::types::ProxyId;

/// Pause before another look at a change that could not be sent.
const AGAIN: Duration = Duration::from_millis(5);

impl Service {
    /// Whether a lock may pass in memory now: the row names this incarnation, and nothing of the key is under way.
    fn passes_in_memory(&self, state: &KeyState) -> bool {
        let at_rest = !state.in_flight || state.showing;
        let at_rest = at_rest && state.granting.is_none() && state.remote.is_none();
        let owned = state.owned.as_ref().is_some_and(|owned| !owned.is_wanted());
        let vouched = |proxy: ProxyId| {
            let due = self.lease.allows_grants(proxy) && self.lease.vouches_for(proxy);
            due || mutants::on(Mutant::KeptPastTheDeadline)
        };
        at_rest
            && owned
            && self.keeping.is_on()
            && self.others.know_windows
            && self.writer.as_ref().is_some_and(|writer| vouched(writer.proxy))
    }

    /// Ends a hold whose release was asked for without a write, if the name stays here. Whether it did.
    pub(super) fn release_in_memory(&mut self, key: &Key) -> bool {
        let Some(state) = self.keys.get(key) else { return false };
        let native = state.held.as_ref().is_none_or(|held| held.native);
        if native || state.release.is_none() || !self.passes_in_memory(state) {
            return false;
        }
        let kept = state.owned.as_ref().is_some_and(|owned| owned.used().is_some());
        let waits = state.queue.front().is_some_and(|next| !next.claim.native);
        if !kept && !self.keeping.is_used_again(key) && !waits {
            return false;
        }
        let Some(state) = self.keys.get_mut(key) else { return false };
        let release = state.release.take();
        if let Some(held) = state.held.take() {
            let kept = events::ended((&self.metrics, &self.history), key, held, RELEASED);
            self.metrics.hold_seconds.observe(kept.as_secs_f64());
        }
        // The caller is told.
        drop(release);
        if let Some(owned) = &mut state.owned {
            owned.use_now();
        }
        if !self.grant_in_memory(key) {
            self.undoubt(key);
        }
        true
    }

    /// Grants the lock to the first session that waits here, if that needs no write. Whether it did.
    pub(super) fn grant_in_memory(&mut self, key: &Key) -> bool {
        let mut granted = false;
        while let Some(state) = self.keys.get(key) {
            let free = state.held.is_none() && state.release.is_none();
            let waits = state.queue.front().is_some_and(|next| !next.claim.native);
            if !free || !waits || !self.passes_in_memory(state) {
                break;
            }
            let Some(writer) = self.writer.clone() else { break };
            let Some(state) = self.keys.get_mut(key) else { break };
            let Some(token) = state.owned.as_mut().and_then(Owned::next) else { break };
            let Some(mut waiter) = state.queue.pop_front() else { break };
            self.last_token = self.last_token.max(token);
            let hold = LocalHold::new(token, &waiter.claim, writer.run);
            // Before the answer, so that a client that has it finds the lock counted.
            events::granted(&self.metrics, key, token, &waiter);
            self.metrics.granted_in_memory.inc();
            state.held = Some(hold);
            if waiter.answer(Acquired::Granted(Grant { token, proxy: writer.proxy })) {
                granted = true;
                self.show_soon(key);
                break;
            }
            // The session has gone.
            if let Some(held) = state.held.take() {
                events::ended((&self.metrics, &self.history), key, held, RELEASED);
            }
        }
        if !granted && self.keys.get(key).is_some_and(KeyState::is_unused) {
            self.keep(key);
        }
        granted
    }

    /// Has the row written soon, unless it is right.
    fn show_soon(&mut self, key: &Key) {
        let Some(state) = self.keys.get_mut(key) else { return };
        let (token, since) = state.hold();
        if let Some(owned) = &mut state.owned
            && owned.is_behind(token)
            && owned.enter_list()
        {
            let now = Instant::now();
            let at = since.unwrap_or(now) + BEHIND;
            self.keeping.unwritten.set(at.max(now + AGAIN), key.clone());
        }
    }

    /// Keeps a name that no session has, for a time.
    pub(super) fn keep(&mut self, key: &Key) {
        self.show_soon(key);
        let keep = self.keeping.time();
        let Some(state) = self.keys.get_mut(key) else { return };
        if state.owned.as_mut().is_some_and(Owned::enter_kept) {
            self.keeping.kept.set(Instant::now() + keep, key.clone());
            self.metrics.owned_names.inc();
        }
        if !*self.listens.borrow() {
            self.listen(false);
        }
    }

    /// Has written what is due.
    pub(super) fn do_what_is_due_of_owned(&mut self) {
        let now = Instant::now();
        while let Some(key) = self.keeping.unwritten.next_due(now) {
            let Some(state) = self.keys.get_mut(&key) else { continue };
            let ((token, since), releases) = (state.hold(), state.release.is_some());
            let Some(owned) = &mut state.owned else { continue };
            owned.leave_list();
            if owned.due().is_none() && !releases && owned.is_overdue(token, since) {
                owned.set_due(Due::Show);
                self.keys.list(&key);
            }
            // A hold that has only begun may last.
            self.show_soon(&key);
        }
        while let Some(key) = self.keeping.kept.next_due(now) {
            self.look_at_kept(&key, now);
        }
    }

    /// Gives a name back that was not used for its time. One in use is looked at again.
    fn look_at_kept(&mut self, key: &Key, now: Instant) {
        self.metrics.owned_names.dec();
        let keep = self.keeping.time();
        let Some(state) = self.keys.get_mut(key) else { return };
        let idle = state.is_unused();
        let Some(owned) = &mut state.owned else { return };
        owned.leave_kept();
        let ends = owned.used().map_or(now, |used| used + keep);
        if idle && ends <= now {
            owned.set_due(Due::GiveBack);
            self.metrics.given_back.inc();
            return self.keys.list(key);
        }
        owned.enter_kept();
        self.metrics.owned_names.inc();
        let at = if idle { ends } else { now + keep.max(BEHIND) };
        self.keeping.kept.set(at, key.clone());
    }

    /// Has the rows say who holds the locks, and tells when that is done.
    pub(super) fn write_now(&mut self, told: &Countdown) {
        let mut keys = Vec::new();
        for (key, state) in self.keys.iter_mut() {
            let native = state.held.as_ref().is_some_and(|held| held.native);
            let (token, _) = if state.release.is_some() { (0, None) } else { state.hold() };
            let Some(owned) = state.owned.as_mut().filter(|_| !native) else { continue };
            if owned.is_behind(token) {
                owned.tell_later(told.clone());
                keys.push(key.clone());
            }
        }
        for key in keys {
            self.keys.list(&key);
        }
    }

    /// Forgets names of which nothing is to be remembered, and looks for changes that have come to nothing.
    pub(super) fn tidy_owned(&mut self) {
        self.keeping.tidy();
        let left = |state: &KeyState| {
            let owned = state.owned.as_ref().is_some_and(Owned::is_left);
            owned && !state.in_flight && state.is_unused()
        };
        let left = self.keys.iter().filter(|(_, state)| left(state));
        let left: Vec<Key> = left.map(|(key, _)| key.clone()).collect();
        for key in left {
            self.keep(&key);
        }
        // A ring may be lost.
        if self.keeping.owns() && !self.others.waiting.is_empty() {
            self.look_at_owned();
        }
    }
}
