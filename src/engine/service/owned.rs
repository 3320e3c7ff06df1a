//! Owned names: a lock passes between sessions of this proxy in memory, while its row names the proxy.
//!
//! The row may be older than the lock: it is written some milliseconds later. So whoever takes the row of an owner that
//! is gone begins above the tokens that the owner may have handed out ([`WINDOW`]). Another proxy that wants the name says so
//! in the row and rings; then the owner writes who has the lock, or gives the name back.
//! (docs/adr/0043-owned-names.md, tests/model/src/owned.rs)

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::keys::{Asked, Countdown, KeyState, LocalHold};
use super::{Service, events};
use crate::engine::messages::{Acquired, Grant, Look};
use crate::engine::shared::history::RELEASED;
use crate::engine::shared::keep_names::KeepNames;
use crate::lock::lease::Terms;
use crate::lock::name::Key;
use crate::mutants::{self, Mutant};
use crate::store::rows::LockRow;
use crate::store::statement::{GrantAttempt, Release, WINDOW};
use crate::types::ProxyId;

/// Names that are kept without a session that has the lock, and names that are remembered, at most.
const MOST: usize = 65_536;
/// Until this time after a change in memory it is sent to the store.
const BEHIND: Duration = Duration::from_millis(25);
/// Pause before another look at a change that could not be sent.
const AGAIN: Duration = Duration::from_millis(5);
/// A name that another proxy wanted is not kept for so many times as long as others.
const WANDERS: u32 = 10;
/// After so many renewals the others have read that this proxy keeps names.
const BEATS: u32 = 3;

/// What is to be written of an owned name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// Who has the lock.
    Show,
    /// Nobody needs the name here.
    GiveBack,
}

/// A row that names this incarnation.
#[derive(Debug)]
pub(super) struct Owned {
    /// The token that the row has.
    row: u64,
    /// The last token that was handed out.
    last: u64,
    /// Token of the hold that the row shows; 0: it shows none.
    shown: u64,
    /// Another proxy wants the name: what changes is written.
    wanted: bool,
    due: Option<Due>,
    /// The name is kept, and was used last at this time.
    used: Option<Instant>,
    /// Callers that wait until the row says what is so.
    told: Vec<Countdown>,
    /// It is in the list of names to be shown.
    listed: bool,
    /// It is in the list of names that are kept.
    timed: bool,
}

impl Owned {
    /// The row after a grant.
    pub(super) fn granted(token: u64) -> Self {
        let (wanted, listed, timed) = (false, false, false);
        let told = Vec::new();
        Self {
            row: token,
            last: token,
            shown: token,
            wanted,
            due: None,
            used: None,
            told,
            listed,
            timed,
        }
    }

    /// The token that the row has.
    pub(super) fn row(&self) -> u64 {
        self.row
    }

    /// Frees the row.
    pub(super) fn release(&self) -> Release {
        Release { token: self.row, last: self.last }
    }

    pub(super) fn due(&self) -> Option<Due> {
        self.due
    }

    /// Whether the row shows another hold than there is.
    pub(super) fn is_behind(&self, held: Option<&LocalHold>) -> bool {
        self.shown != held.map_or(0, |held| held.token)
    }

    /// Whether it is to be written now. A hold that has only begun may soon be over, and the row shows none.
    fn is_overdue(&self, held: Option<&LocalHold>) -> bool {
        let asked = self.wanted || !self.told.is_empty() || self.shown != 0;
        self.is_behind(held) && (asked || held.is_none_or(|held| held.since.elapsed() >= BEHIND))
    }

    /// The token for a row that shows nobody: it is spent.
    pub(super) fn spend(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// The row was not written after all.
    pub(super) fn show_again(&mut self) {
        self.due.get_or_insert(Due::Show);
    }

    /// What was due is under way.
    pub(super) fn take_due(&mut self) -> Option<Due> {
        self.due.take()
    }

    /// The row was written, and shows this.
    pub(super) fn shows(&mut self, token: u64, held: bool, wanted: bool) {
        (self.row, self.last) = (token, self.last.max(token));
        self.shown = if held { token } else { 0 };
        self.wanted = wanted;
    }

    /// Callers that wait for the row are told, or it is written again.
    pub(super) fn tell(&mut self, held: Option<&LocalHold>) {
        if !self.is_behind(held) {
            self.told.clear();
        } else if !self.told.is_empty() {
            self.due.get_or_insert(Due::Show);
        }
    }

    /// The next token, if the row need not be written for it.
    fn next(&mut self) -> Option<u64> {
        (self.last + 1 < self.row + WINDOW).then(|| {
            self.last += 1;
            self.last
        })
    }
}

/// Keys, and when something is to be done about each.
#[derive(Debug, Default)]
struct Timers(BinaryHeap<Reverse<(Instant, Key)>>);

impl Timers {
    fn set(&mut self, at: Instant, key: Key) {
        self.0.push(Reverse((at, key)));
    }

    fn first(&self) -> Option<Instant> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    fn next_due(&mut self, now: Instant) -> Option<Key> {
        let is_due = self.first().is_some_and(|at| at <= now);
        is_due.then(|| self.0.pop()).flatten().map(|Reverse((_, key))| key)
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

/// Which names are kept.
#[derive(Debug)]
pub(super) struct Keeping {
    setting: KeepNames,
    /// As the row of this proxy has said for long enough that the others know.
    keep: Option<Duration>,
    /// When that began to be.
    since: Option<Instant>,
    /// After this time the others have read it.
    known: Duration,
    /// Names whose lock was released lately.
    used: HashMap<Key, Instant>,
    /// Names that other proxies wanted, and until when they are not kept.
    wander: HashMap<Key, Instant>,
    /// Changes in memory, and when they are to be written.
    unwritten: Timers,
    /// Names that are kept, and when to look at them next.
    kept: Timers,
}

impl Keeping {
    pub(super) fn new(setting: KeepNames, ttl: Duration) -> Self {
        Self {
            setting,
            keep: None,
            since: None,
            used: HashMap::new(),
            wander: HashMap::new(),
            unwritten: Timers::default(),
            kept: Timers::default(),
            known: Terms { ttl }.heartbeat() * BEATS,
        }
    }

    /// Whether names may be kept at all.
    pub(super) fn is_on(&self) -> bool {
        self.keep.is_some()
    }

    /// Looks at the setting again.
    fn follow(&mut self) {
        let keep = self.setting.time();
        let now = Instant::now();
        self.since = keep.map(|_| self.since.unwrap_or(now));
        self.keep = keep.filter(|_| self.since.is_some_and(|since| now - since >= self.known));
        self.setting.set_on(self.keep.is_some() || self.owns());
    }

    /// Whether a name whose lock is released now was released before within the time; and remembers it.
    fn is_used_again(&mut self, key: &Key) -> bool {
        let Some(keep) = self.keep else { return false };
        let now = Instant::now();
        if self.wander.get(key).is_some_and(|until| *until > now) || self.kept.len() >= MOST {
            return false;
        }
        let before = self.used.get(key).copied();
        if before.is_some() || self.used.len() < MOST {
            self.used.insert(key.clone(), now);
        }
        before.is_some_and(|before| now - before < keep)
    }

    /// Forgets what is over.
    fn tidy(&mut self) {
        self.follow();
        let now = Instant::now();
        let keep = self.keep.unwrap_or_default();
        self.used.retain(|_, used| now - *used < keep);
        self.wander.retain(|_, until| *until > now);
    }

    /// Whether rows may be older than their locks.
    fn owns(&self) -> bool {
        self.unwritten.len() > 0 || self.kept.len() > 0
    }

    /// When the next name is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.unwritten.first().into_iter().chain(self.kept.first()).min()
    }
}

impl Service {
    /// Whether a lock may pass in memory now: the row names this incarnation, and nothing of the key is under way.
    fn passes_in_memory(&self, state: &KeyState) -> bool {
        let at_rest = !state.in_flight || state.showing;
        let at_rest = at_rest && state.granting.is_none() && state.remote.is_none();
        let owned = state.owned.as_ref().is_some_and(|owned| !owned.wanted);
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
        let kept = state.owned.as_ref().is_some_and(|owned| owned.used.is_some());
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
            owned.used = Some(Instant::now());
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

    /// Has the row written soon, unless it says what is so.
    fn show_soon(&mut self, key: &Key) {
        let Some(state) = self.keys.get_mut(key) else { return };
        let held = state.held.as_ref();
        if let Some(owned) = state.owned.as_mut().filter(|owned| !owned.listed)
            && owned.shown != held.map_or(0, |held| held.token)
        {
            owned.listed = true;
            let now = Instant::now();
            let at = held.map_or(now, |held| held.since) + BEHIND;
            self.keeping.unwritten.set(at.max(now + AGAIN), key.clone());
        }
    }

    /// Keeps a name that no session has, for a time.
    fn keep(&mut self, key: &Key) {
        self.show_soon(key);
        let keep = self.keeping.keep.unwrap_or_default();
        let Some(state) = self.keys.get_mut(key) else { return };
        if let Some(owned) = state.owned.as_mut().filter(|owned| !owned.timed) {
            owned.timed = true;
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
            let held = state.held.as_ref();
            let Some(owned) = &mut state.owned else { continue };
            owned.listed = false;
            if owned.due.is_none() && state.release.is_none() && owned.is_overdue(held) {
                owned.due = Some(Due::Show);
                self.keys.list(&key);
            }
            // A hold that has only begun may last.
            self.show_soon(&key);
        }
        while let Some(key) = self.keeping.kept.next_due(now) {
            self.look_at_kept(&key, now);
        }
    }

    /// Gives a name back that was not used for its time.
    fn look_at_kept(&mut self, key: &Key, now: Instant) {
        self.metrics.owned_names.dec();
        let keep = self.keeping.keep.unwrap_or_default();
        let Some(state) = self.keys.get_mut(key) else { return };
        let idle = state.is_unused();
        let Some(owned) = &mut state.owned else { return };
        owned.timed = false;
        let used = owned.used.unwrap_or(now);
        if !idle || (owned.used.is_some() && used + keep > now) {
            // A name in use is looked at again.
            owned.timed = true;
            self.metrics.owned_names.inc();
            let at = if idle { used + keep } else { now + keep.max(BEHIND) };
            self.keeping.kept.set(at, key.clone());
            return;
        }
        owned.due = Some(Due::GiveBack);
        self.metrics.given_back.inc();
        self.keys.list(key);
    }

    /// Has the rows say who holds the locks, and tells when that is done.
    pub(super) fn write_now(&mut self, told: &Countdown) {
        let mut keys = Vec::new();
        for (key, state) in self.keys.iter_mut() {
            let held = state.held.as_ref().filter(|_| state.release.is_none());
            let Some(owned) = &mut state.owned else { continue };
            if held.is_none_or(|held| !held.native)
                && owned.shown != held.map_or(0, |held| held.token)
            {
                owned.told.push(told.clone());
                owned.due.get_or_insert(Due::Show);
                keys.push(key.clone());
            }
        }
        for key in keys {
            self.keys.list(&key);
        }
    }

    /// Another proxy wants an owned name: it is told who has the lock, or gets the name.
    pub(super) fn recall(&mut self, key: &Key) {
        let keep = self.keeping.keep.unwrap_or_default();
        let Some(state) = self.keys.get_mut(key) else { return };
        let unused = state.is_unused();
        let held = state.held.as_ref();
        let Some(owned) = state.owned.as_mut().filter(|owned| !owned.wanted) else { return };
        owned.wanted = true;
        self.metrics.recalls.with_label_values(&["received"]).inc();
        if unused {
            owned.due = Some(Due::GiveBack);
        } else if owned.is_overdue(held) {
            owned.due = Some(Due::Show);
        }
        owned.used = None;
        if self.keeping.wander.len() < MOST {
            self.keeping.wander.insert(key.clone(), Instant::now() + keep * WANDERS);
        }
        self.keys.list(key);
    }

    /// The row that was written says that another proxy wants the name.
    pub(super) fn recall_again(&mut self, key: &Key) {
        if let Some(owned) = self.keys.get_mut(key).and_then(|state| state.owned.as_mut()) {
            owned.wanted = false;
        }
        self.recall(key);
    }

    /// The row names this proxy as waiting, or another one: its owner is rung.
    pub(super) fn owner_was_asked(
        &mut self,
        key: &Key,
        acquire: Option<GrantAttempt>,
        row: Option<&LockRow>,
        current: bool,
    ) {
        let Some(row) = row.filter(|_| current) else { return };
        let me = self.writer.as_ref().map(|writer| writer.proxy.0);
        if Some(row.holder) == me && acquire.is_some_and(|acquire| acquire.id == row.grant) {
            // There was no row.
            if let Some(state) = self.keys.get_mut(key) {
                state.owned = Some(Owned { due: Some(Due::GiveBack), ..Owned::granted(row.token) });
            }
            return;
        }
        let placed = Some(row.want) == me;
        if let Some(state) = self.keys.get_mut(key) {
            state.remote.get_or_insert_default().placed = placed;
        }
        if self.others.keeping.contains(&ProxyId(row.holder)) {
            let _ = self.rings.send(ProxyId(row.holder));
            self.metrics.recalls.with_label_values(&["sent"]).inc();
        }
    }

    /// Asks the owner of a name who has the lock, for a session that asks.
    pub(super) fn ask_owner(&mut self, key: &Key, row: &LockRow, reply: oneshot::Sender<Look>) {
        let state = self.keys.enter(key);
        state.asks = true;
        state.asking += 1;
        self.doubts.enter_asked(key, reply, Asked::now(row));
        self.keys.list(key);
    }

    /// Such a session has its answer.
    pub(super) fn end_asking(&mut self, key: &Key) {
        let Some(state) = self.keys.get_mut(key) else { return };
        state.asking = state.asking.saturating_sub(1);
        let withdraws = state.withdraws();
        if !self.keys.forget_if_idle(key) && withdraws {
            self.keys.list(key);
        }
    }

    /// Has the doorbell hung while other proxies may ring.
    pub(super) fn listen(&self, waits: bool) {
        let owns = self.keeping.owns();
        self.listens.send_if_modified(|listens| {
            let wanted = (waits || owns) && !self.others.waiting.is_empty();
            std::mem::replace(listens, wanted) != wanted
        });
    }

    /// Keys that other proxies may want.
    pub(super) fn owned_keys(&self) -> Vec<Key> {
        let may = |state: &KeyState| {
            let owned = state.owned.as_ref();
            owned.is_some_and(|owned| owned.used.is_some() || owned.row != owned.last)
        };
        self.keys.iter().filter(|(_, state)| may(state)).map(|(key, _)| key.clone()).collect()
    }

    /// Forgets names of which nothing is to be remembered.
    pub(super) fn tidy_owned(&mut self) {
        self.keeping.tidy();
        // A change that was due may have come to nothing.
        let left = |state: &KeyState| {
            let owned = state.owned.as_ref();
            let untimed = owned.is_some_and(|owned| !owned.timed && owned.due.is_none());
            untimed && !state.in_flight && state.is_unused()
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

    /// Reads whether other proxies want what is owned here.
    pub(super) fn look_at_owned(&mut self) {
        for key in self.owned_keys() {
            self.looks.ask(key);
        }
    }
}
