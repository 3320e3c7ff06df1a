//! Taking in what became of a batch.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tokio::time::Instant;

use super::doubts::SECOND_LOOK;
use super::{POLL, Service, events};
use crate::engine::io::pipe::{Batch, FinishedBatch};
use crate::engine::messages::{Acquired, Grant};
use crate::engine::service::keys::{LocalHold, PendingRelease, Waiter};
use crate::lock::name::Key;
use crate::mutants::{self, Mutant};
use crate::seldom::Turn;
use crate::store::batch::BatchResult;
use crate::store::connection::StoreError;
use crate::store::rows::LockRow;
use crate::store::statement::{BatchWriter, LockChange};
use crate::types::{ConnectionId, ProxyId};

/// What a batch says about all its keys.
#[derive(Clone, Copy)]
struct BatchVerdict {
    /// The incarnation it was sent for is this one.
    current: bool,
    /// Its lease still vouches for grants.
    vouched: bool,
    /// The guard held.
    guarded: bool,
    /// A release has found no row of its own.
    missed: bool,
    /// Run of the server that took it.
    run: i64,
}

impl Service {
    pub(super) fn finish(&mut self, done: FinishedBatch) {
        let FinishedBatch { batch, result, .. } = done;
        if batch.stray {
            // What it did not free, the takeover of its incarnation will.
            return;
        }
        match result {
            Ok((run, result)) => {
                self.complained &= !result.guarded;
                let moved = self.follow_base(&batch.writer, &result);
                if !result.guarded && !moved && !std::mem::replace(&mut self.complained, true) {
                    tracing::warn!("a batch was refused: the lease is no longer this proxy's");
                }
                let rows: HashMap<&[u8], &LockRow> =
                    result.rows.iter().map(|r| (r.key.as_slice(), r)).collect();
                self.last_token =
                    result.rows.iter().fold(self.last_token, |last, row| last.max(row.token));
                for change in batch.changes {
                    let row = rows.get(change.key.as_bytes()).copied();
                    let key = change.key.clone();
                    // The deadline is read behind the reply and before any client hears.
                    let verdict = BatchVerdict {
                        current: self
                            .writer
                            .as_ref()
                            .is_some_and(|w| w.proxy == batch.writer.proxy),
                        vouched: self.lease.vouches_for(batch.writer.proxy)
                            || mutants::on(Mutant::NoCheckBehindReply),
                        guarded: result.guarded,
                        missed: result.missed,
                        run,
                    };
                    self.apply(&batch.writer, change, row, verdict);
                    self.after(&key, result.guarded || moved);
                }
            }
            Err(e) => self.undo(batch, &e),
        }
    }

    /// Takes one key's outcome from its row.
    fn apply(
        &mut self,
        writer: &BatchWriter,
        change: LockChange,
        row: Option<&LockRow>,
        verdict: BatchVerdict,
    ) {
        let LockChange { key, release, acquire, withdraw } = change;
        let BatchVerdict { current, vouched, guarded, missed, run } = verdict;
        if missed && current && vouched {
            self.miss(&key);
        }
        let Some(state) = self.keys.get_mut(&key) else {
            return;
        };
        state.in_flight = false;
        let mine = row.filter(|r| r.holder == writer.proxy.0);
        let wanted = row.map(|r| ProxyId(r.want)).filter(|id| self.others.waiting.contains(id));
        if let Some(token) = release
            && current
            && mine.is_none_or(|r| r.token != token)
        {
            state.release = None;
            if let Some(held) = state.held.take_if(|h| h.token == token) {
                events::ended(&self.metrics, &key, &held, "released");
                self.metrics.hold_seconds.observe(held.since.elapsed().as_secs_f64());
            }
            if acquire.is_none() {
                if let Some(wanted) = wanted {
                    let _ = self.rings.send(wanted);
                } else if let Some(remote) = &mut state.remote {
                    // It was to be left to a proxy that waits no more.
                    remote.attempt = true;
                }
            }
        }
        if withdraw
            && guarded
            && let Some(remote) = &mut state.remote
        {
            remote.placed = false;
        }
        if let Some(mut waiter) = state.granting.take() {
            let won = mine.filter(|r| acquire.is_some_and(|a| a.id == r.grant)).map(|r| r.token);
            match won {
                Some(token) if current => {
                    let (conn, events) = (waiter.claim.conn, waiter.claim.events.clone());
                    // Not past the deadline, though the keeper may be about to move it on: then
                    // the row is given back, and its waiter waits on.
                    let heard = vouched
                        && waiter.answer(Acquired::Granted(Grant { token, proxy: writer.proxy }));
                    state.held = Some(LocalHold {
                        token,
                        conn,
                        run,
                        events,
                        since: Instant::now(),
                        leaving: false,
                    });
                    state.remote = None;
                    state.passed = if wanted.is_none() { 0 } else { state.passed + 1 };
                    events::granted(&self.metrics, &key, token, &waiter);
                    if !heard {
                        state.release = Some(PendingRelease { token, done: None });
                    }
                    if waiter.reply.is_some() {
                        state.queue.push_front(waiter);
                    }
                }
                // Won for an incarnation that is over, told to nobody. The row goes back now: its
                // takeover would end the session that the row names.
                Some(token) => {
                    if waiter.reply.is_some() {
                        state.queue.push_front(waiter);
                    }
                    self.give_back(Arc::new(writer.clone()), key, token);
                }
                None => {
                    if let Some(ghost) = mine.filter(|_| current && state.held.is_none()) {
                        // Ours, but nobody's here: left by a change whose outcome was unknown.
                        events::found(&self.metrics, &key, ghost.token);
                        let token = ghost.token;
                        state.release = Some(PendingRelease { token, done: None });
                        state.held = Some(LocalHold {
                            token,
                            conn: ConnectionId(ghost.conn),
                            run,
                            events: waiter.claim.events.clone(),
                            since: Instant::now(),
                            leaving: false,
                        });
                        if waiter.reply.is_some() {
                            state.queue.push_front(waiter);
                        }
                    } else {
                        self.not_won(&key, waiter, row, writer, guarded);
                    }
                }
            }
        }
    }

    /// A grant was tried in vain.
    fn not_won(
        &mut self,
        key: &Key,
        mut waiter: Waiter,
        row: Option<&LockRow>,
        writer: &BatchWriter,
        guarded: bool,
    ) {
        let Some(state) = self.keys.get_mut(key) else {
            return;
        };
        let mut pause = None;
        if guarded && let Some(row) = row {
            let remote = state.remote.get_or_insert_default();
            remote.placed = row.want == writer.proxy.0;
            let free = row.holder == 0 || self.others.clean.contains(&ProxyId(row.holder));
            // Free by now: once more. Free for another proxy that waits: a look will tell.
            let for_others = self.others.waiting.contains(&ProxyId(row.want));
            remote.attempt = free && !for_others && !std::mem::replace(&mut waiter.hurried, true);
            if waiter.ticket == 0 {
                waiter.ticket = row.token;
            }
            self.poll_every = POLL.0;
            // The other proxy may be about to release it: who tries once hears no after a second look.
            pause = Some(if waiter.claim.once { SECOND_LOOK } else { POLL.0 });
        }
        if waiter.reply.is_some() {
            state.queue.push_front(waiter);
        }
        if let Some(pause) = pause {
            self.poll_within(pause);
        }
    }

    /// Goes on from a base that has moved on. True if that is why a batch was refused.
    fn follow_base(&mut self, writer: &BatchWriter, result: &BatchResult) -> bool {
        let Some(base) = result.base.filter(|base| *base > writer.base) else {
            return false;
        };
        if let Some(mine) = self.writer.as_ref().filter(|w| w.proxy == writer.proxy) {
            let base = base.max(mine.base);
            self.writer = Some(Arc::new(BatchWriter { base, ..mine.as_ref().clone() }));
        }
        !result.guarded
    }

    /// Keeps, drops or sends on a key whose change has come back.
    fn after(&mut self, key: &Key, at_once: bool) {
        self.undoubt(key);
        let Some(state) = self.keys.get(key) else {
            return;
        };
        if state.is_idle() {
            self.keys.remove(key);
        } else if state.has_work(true) {
            if at_once {
                self.list(key);
            } else {
                self.retry_later();
            }
        } else if state.remote.is_some() {
            self.poll_at.get_or_insert(Instant::now() + POLL.0);
        }
    }

    /// A batch that was certainly not executed.
    fn undo(&mut self, batch: Batch, e: &StoreError) {
        let retry = e.is_retryable();
        if !retry
            && !std::mem::replace(&mut self.complained, true)
            && let Some(Turn { left_out }) = self.lines.refusals.turn()
        {
            tracing::warn!(error = %e, keys = batch.changes.len(), left_out, "the lock store did not take a batch; trying again");
        }
        for change in batch.changes {
            let Some(state) = self.keys.get_mut(&change.key) else {
                continue;
            };
            state.in_flight = false;
            if let Some(mut waiter) = state.granting.take() {
                // A connection that cannot be had says nothing about the other pipe's.
                let hopeless = matches!(e, StoreError::Refused { .. });
                if !retry && hopeless {
                    waiter.answer(Acquired::Failed(e.to_string()));
                } else if waiter.reply.is_some() {
                    state.queue.push_front(waiter);
                }
            }
            self.after(&change.key, retry);
        }
    }

    /// Releases a row that is nobody's here. Bound to its token, it does no harm to any other.
    pub(super) fn give_back(&mut self, writer: Arc<BatchWriter>, key: Key, token: u64) {
        let change = LockChange { key, release: Some(token), acquire: None, withdraw: false };
        let (changes, others) = (vec![change], Arc::default());
        self.strays.push_back(Batch { writer, changes, others, stray: true });
    }

    /// Gives back rows that name this incarnation, and that nobody has: what a change of unknown
    /// outcome or a defect may have left.
    pub(super) fn reconcile(&mut self, proxy: ProxyId, rows: Vec<(Key, u64)>) {
        let Some(writer) = self.writer.clone().filter(|w| w.proxy == proxy) else {
            return;
        };
        let known = |key: &Key, token: u64| {
            self.keys.get(key).is_some_and(|state| {
                // A grant or release under way decides about the row.
                state.in_flight || state.held.as_ref().is_some_and(|h| h.token == token)
            })
        };
        let suspects: HashSet<(Key, u64)> =
            rows.into_iter().filter(|(key, token)| !known(key, *token)).collect();
        // Of a row read once, the release may have been under way.
        let ghosts: Vec<_> = suspects.intersection(&self.suspects).cloned().collect();
        self.suspects = suspects;
        for (key, token) in ghosts {
            tracing::warn!(token, "a lock row without a session is freed");
            self.metrics.ghosts.inc();
            self.give_back(Arc::clone(&writer), key, token);
        }
    }
}
