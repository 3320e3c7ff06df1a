//! Taking in the outcomes of batches.

use std::collections::HashMap;
use std::sync::Arc;

use super::doubts::SECOND_LOOK;
use super::keys::{KeyState, LocalHold, PendingRelease, Remote, Waiter};
use super::ownership::{Due, Owned};
use super::{Service, events, poll};
use crate::engine::io::pipe::{Batch, FinishedBatch};
use crate::engine::messages::{Acquired, Grant};
use crate::engine::shared::current_backend::CurrentBackend;
use crate::engine::shared::history::FOUND;
use crate::lock::name::Key;
use crate::mutants::{self, Mutant};
use crate::seldom::Turn;
use crate::store::batch::BatchResult;
use crate::store::connection::StoreError;
use crate::store::identity::same_run;
use crate::store::rows::LockRow;
use crate::store::statement::{BatchWriter, GrantAttempt, LockChange, Precedence, RowRelease};
use crate::types::{ConnectionId, ProxyId};

/// The outcome of a batch for one key.
#[derive(Clone, Copy)]
struct KeyOutcome<'a> {
    writer: &'a BatchWriter,
    /// The key's row, if there is one.
    row: Option<&'a LockRow>,
    /// The batch was sent for the present incarnation, in its present epoch.
    current: bool,
    /// The incarnation's lease still vouches for grants.
    vouched: bool,
    /// The guard held.
    guarded: bool,
    /// A release has found no row of its own.
    missed: bool,
    /// The server does not have the lock for the session that claims it.
    unproven: bool,
    /// Run of the server that took it.
    run: i64,
}

impl<'a> KeyOutcome<'a> {
    /// The row, if the writer holds it.
    fn mine(&self) -> Option<&'a LockRow> {
        self.row.filter(|row| row.holder == self.writer.proxy.0)
    }

    /// Whether the writer no longer holds the row under this token.
    fn is_released(&self, token: u64) -> bool {
        self.current && self.mine().is_none_or(|row| row.token != token)
    }
}

impl Service {
    pub(super) fn finish(&mut self, done: FinishedBatch) {
        let FinishedBatch { batch, result, .. } = done;
        if batch.stray {
            // The takeover of its incarnation frees the rows that it did not free.
            return;
        }
        match result {
            Ok((run, result)) => self.settle_batch(batch, &result, run),
            Err(e) => self.undo(batch, &e),
        }
    }

    /// A batch that the server with this start has taken.
    fn settle_batch(&mut self, batch: Batch, result: &BatchResult, run: i64) {
        self.complained &= !result.guarded;
        let moved = self.follow_base(&batch.writer, result);
        if !result.guarded && !moved && !std::mem::replace(&mut self.complained, true) {
            tracing::warn!("a batch was refused: the lease is no longer this proxy's");
        }
        let rows: HashMap<&[u8], &LockRow> =
            result.rows.iter().map(|r| (r.key.as_slice(), r)).collect();
        self.last_token = result.rows.iter().fold(self.last_token, |last, row| last.max(row.token));
        let (proxy, epoch, guarded) = (batch.writer.proxy, batch.writer.epoch, result.guarded);
        let of_this_run = self.writer.as_ref().is_some_and(|w| same_run(w.run, run));
        for change in batch.changes {
            let key = change.key.clone();
            let outcome = KeyOutcome {
                writer: &batch.writer,
                row: rows.get(key.as_bytes()).copied(),
                current: self.writer.as_ref().is_some_and(|w| w.proxy == proxy && w.epoch == epoch),
                // The deadline is read after the reply and before any client is told.
                vouched: of_this_run
                    && (self.lease.vouches_for(proxy) || mutants::on(Mutant::NoCheckAfterReply)),
                guarded,
                missed: result.missed,
                unproven: result.unproven.contains(&key),
                run,
            };
            self.apply(change, &outcome);
            self.after(&key, guarded || moved);
        }
    }

    /// Takes one key's outcome from its row.
    fn apply(&mut self, change: LockChange, outcome: &KeyOutcome<'_>) {
        let LockChange { key, release, acquire, withdraw } = change;
        if outcome.missed && outcome.current && outcome.vouched {
            self.miss(&key);
        }
        let wanted = outcome.row.map(|row| ProxyId(row.want));
        let rival = wanted.filter(|id| self.others.waiting.contains(id));
        let Some(state) = self.keys.get_mut(&key) else {
            return;
        };
        state.in_flight = false;
        if std::mem::take(&mut state.showing) {
            return self.shown(&key, release, acquire.as_ref(), outcome, rival.is_some());
        }
        let freed = release.is_some_and(|release| outcome.is_released(release.token));
        if release.is_some() && acquire.is_none() && !freed {
            give_back_again(state);
        }
        if freed {
            state.owned = None;
            self.end_release(&key);
            let Some(state) = self.keys.get_mut(&key) else {
                return;
            };
            if acquire.is_none() {
                if let Some(rival) = rival {
                    let _ = self.rings.send(rival);
                } else if let Some(remote) = &mut state.remote {
                    // The lock was to be left to a proxy that no longer waits.
                    remote.attempt = true;
                }
            }
        }
        let Some(state) = self.keys.get_mut(&key) else {
            return;
        };
        if withdraw
            && outcome.guarded
            && let Some(remote) = &mut state.remote
        {
            remote.placed = false;
        }
        let Some(waiter) = state.granting.take() else {
            let mine = outcome.mine().filter(|_| outcome.current);
            if let Some(owned) = state.owned.as_mut()
                && mine.is_some_and(LockRow::is_exact)
            {
                owned.note_exact();
            }
            if let Some(acquire) = acquire.as_ref().filter(|a| a.turn == Precedence::Ask) {
                self.owner_was_asked(&key, acquire, outcome.row, outcome.current);
            }
            return;
        };
        let won = outcome.mine().filter(|row| acquire.is_some_and(|a| a.id == row.grant));
        match won {
            Some(row) if outcome.current => {
                state.passed = if rival.is_none() { 0 } else { state.passed + 1 };
                self.won(&key, waiter, row, outcome, rival.is_some());
                if rival.is_some() {
                    self.recall(&key, row.asks());
                }
            }
            // Won for an incarnation that is over; no client is told. The row goes back now: its
            // takeover would end the session that the row names.
            Some(row) => {
                state.requeue(waiter);
                let proxy = outcome.writer.proxy;
                let goes_on = self.writer.clone().filter(|writer| writer.proxy == proxy);
                let writer = goes_on.unwrap_or_else(|| Arc::new(outcome.writer.clone()));
                self.pipes.give_back(writer, key, RowRelease::of(row.token));
            }
            None => self.not_won(&key, waiter, outcome),
        }
    }

    /// The row of an owned name was written, or is not this incarnation's any more.
    fn shown(
        &mut self,
        key: &Key,
        release: Option<RowRelease>,
        acquire: Option<&GrantAttempt>,
        outcome: &KeyOutcome<'_>,
        wanted: bool,
    ) {
        let Some(state) = self.keys.get_mut(key) else {
            return;
        };
        let won = outcome.mine().filter(|row| acquire.is_some_and(|a| a.id == row.grant));
        match won {
            Some(row) if outcome.current && acquire.is_some_and(|a| a.token == row.token) => {
                let (held, _) = state.hold();
                if let Some(owned) = &mut state.owned {
                    owned.shows(row, wanted);
                    owned.tell(held);
                }
                if !outcome.vouched {
                    owned_is_uncertain(state);
                }
                self.show_soon(key);
                if wanted {
                    self.recall(key, row.asks());
                }
            }
            _ if !outcome.current || !outcome.guarded => show_again(state),
            _ if release.is_some_and(|release| outcome.is_released(release.token)) => {
                state.owned = None;
                self.miss(key);
                self.end_release(key);
            }
            _ => show_again(state),
        }
    }

    /// A grant was won.
    fn won(
        &mut self,
        key: &Key,
        mut waiter: Waiter,
        row: &LockRow,
        outcome: &KeyOutcome<'_>,
        wanted: bool,
    ) {
        let token = row.token;
        if waiter.claim.native {
            self.supersede(key);
        }
        let Some(state) = self.keys.get_mut(key) else {
            return;
        };
        let hold = LocalHold::new(token, &waiter.claim, outcome.run);
        // Before the answer, so that a client that has it finds the lock counted.
        events::granted(&self.metrics, key, token, &waiter);
        // Not past the deadline, though the keeper may be about to move it on: then the row is
        // given back, and its waiter waits on.
        let grant = Grant { token, proxy: outcome.writer.proxy };
        let heard = outcome.vouched && waiter.answer(Acquired::Granted(grant));
        state.held = Some(hold);
        let was_wanted = state.owned.as_ref().is_some_and(Owned::is_wanted);
        let mut owned = Owned::after(state.owned.take(), token, row.is_exact());
        if wanted && was_wanted {
            owned.want();
        }
        if !outcome.vouched {
            // Of an earlier run of the server, which may have lost it: what comes next is written.
            owned.want();
        }
        state.owned = Some(owned);
        state.remote = None;
        if !heard {
            state.release = Some(PendingRelease { token, done: None });
        }
        state.requeue(waiter);
    }

    /// A grant was tried in vain.
    fn not_won(&mut self, key: &Key, mut waiter: Waiter, outcome: &KeyOutcome<'_>) {
        if outcome.unproven && outcome.guarded {
            return self.refuse_claim(key, waiter);
        }
        let native = waiter.claim.native;
        let takes_over = native && outcome.row.is_some_and(|row| self.is_native_here(row));
        let Some(state) = self.keys.get_mut(key) else {
            return;
        };
        if let Some(row) = outcome.mine().filter(|_| outcome.current && state.held.is_none()) {
            // This proxy's, but no session's: left by a change whose outcome was unknown.
            events::found(&self.metrics, key, row.token);
            let held = LocalHold::new(row.token, &waiter.claim, outcome.run);
            let (conn, backend) = (ConnectionId(row.conn), CurrentBackend::default());
            state.release = Some(PendingRelease { token: row.token, done: None });
            state.owned = Some(Owned::granted(row.token, row.is_exact()));
            // No more is known of the holder.
            let (owner, leaving) = (Arc::default(), Some(FOUND));
            state.held = Some(LocalHold { conn, backend, owner, leaving, native: false, ..held });
            state.requeue(waiter);
            return;
        }
        if let Some(row) = outcome.row.filter(|_| outcome.guarded) {
            let remote = state.remote.get_or_insert_default();
            remote.placed = row.want == outcome.writer.proxy.0;
            let keeps = self.others.keeping.contains(&ProxyId(row.holder));
            if keeps && remote.placed {
                let _ = self.rings.send(ProxyId(row.holder));
                self.metrics.recalls.with_label_values(&["sent"]).inc();
            }
            // Not by a look first: its owner is to be asked.
            let asks = keeps && !native && !std::mem::replace(&mut remote.asks, true);
            let clean = self.others.clean.contains(&ProxyId(row.holder));
            let free = row.holder == 0 || clean || takes_over;
            // Free by now: again. Free for another proxy that waits: a look will tell.
            let for_others = self.others.waiting.contains(&ProxyId(row.want));
            let again = free && !for_others && !std::mem::replace(&mut waiter.hurried, true);
            remote.attempt = again || (asks && !remote.placed);
            if waiter.ticket == 0 {
                waiter.ticket = row.token;
            }
            self.poll.quicken();
            // The other proxy may be about to release it: a session that tries once is refused
            // after a second look.
            self.poll.within(if waiter.claim.once { SECOND_LOOK } else { poll::SHORTEST });
        } else if native && outcome.guarded && std::mem::replace(&mut waiter.hurried, true) {
            // Proven when it was too late, for the second time.
            state.remote = Some(Remote::default());
            self.poll.within(poll::SHORTEST);
        }
        state.requeue(waiter);
    }

    /// Goes on from a base that has moved on. Whether that is why a batch was refused.
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
        if self.release_in_memory(key) || self.grant_in_memory(key) {
            return;
        }
        if self.keys.forget_if_idle(key) {
            return;
        }
        let Some(state) = self.keys.get(key) else {
            return;
        };
        if state.has_work(true) {
            if at_once {
                self.keys.list(key);
            } else {
                self.keys.retry_later();
            }
        } else if state.remote.is_some() {
            self.poll.start();
        }
    }

    /// A batch that was certainly not executed.
    fn undo(&mut self, batch: Batch, e: &StoreError) {
        let retry = e.is_retryable();
        if !retry
            && !std::mem::replace(&mut self.complained, true)
            && let Some(Turn { left_out }) = self.refusals.turn()
        {
            tracing::warn!(error = %e, keys = batch.changes.len(), left_out, "a batch failed at the lock store; trying again");
        }
        // A connection that cannot be opened says nothing about the other pipe's.
        let hopeless = !retry && matches!(e, StoreError::Refused { .. });
        for change in batch.changes {
            let Some(state) = self.keys.get_mut(&change.key) else {
                continue;
            };
            state.in_flight = false;
            if std::mem::take(&mut state.showing) {
                show_again(state);
            }
            if change.release.is_some() && change.acquire.is_none() {
                give_back_again(state);
            }
            if let Some(mut waiter) = state.granting.take() {
                if hopeless {
                    waiter.answer(Acquired::Failed(e.to_string()));
                }
                state.requeue(waiter);
            }
            self.after(&change.key, retry);
        }
    }
}

/// The row was not given back, though nobody here needs it.
fn give_back_again(state: &mut KeyState) {
    let unused = state.is_unused();
    if let Some(owned) = state.owned.as_mut().filter(|_| unused) {
        owned.set_due(Due::GiveBack);
    }
}

/// The server that has written the row may have lost it: each change is written.
fn owned_is_uncertain(state: &mut KeyState) {
    if let Some(owned) = &mut state.owned {
        owned.want();
    }
}

/// The row was not written after all.
fn show_again(state: &mut KeyState) {
    if let Some(owned) = &mut state.owned {
        owned.show_again();
    }
}
