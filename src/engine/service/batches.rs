//! Filling batches, and taking in what became of them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::super::handle::{Acquired, Grant};
use super::super::keys::{Held, PendingRelease};
use super::super::pipe::{Batch, Finished};
use super::{POLL, Service};
use crate::lock::name::Key;
use crate::mutants::{self, Mutant};
use crate::store::batch::{BatchResult, Row};
use crate::store::connection::StoreError;
use crate::store::statement::{Change, Grant as RowGrant, Writer};
use crate::types::ConnectionId;

/// How long a smaller batch waits for one under way.
const PATIENCE: Duration = Duration::from_millis(20);
/// Keys in a batch at most.
const BATCH: usize = 256;

impl Service {
    /// Fills idle pipes with what is ready.
    pub(super) fn dispatch(&mut self) {
        let Some(writer) = self.writer.clone() else {
            return;
        };
        for pipe in 0..self.pipes.len() {
            if self.pipes[pipe].keys == 0
                && let Some(batch) = self.strays.pop_front()
            {
                self.send(pipe, batch);
                continue;
            }
            if self.pipes[pipe].keys > 0 || self.ready.len() < self.under_way().max(1) {
                continue;
            }
            let changes = self.gather(&writer);
            if changes.is_empty() {
                continue;
            }
            let clean = self.clean.iter().copied().collect();
            let batch = Batch { writer: Arc::clone(&writer), changes, clean, stray: false };
            self.send(pipe, batch);
        }
    }

    fn send(&mut self, pipe: usize, batch: Batch) {
        self.pipes[pipe].keys = batch.changes.len();
        self.pipes[pipe].since = Instant::now();
        // The pipe is idle, so its channel of one has room.
        let _ = self.pipes[pipe].work.try_send(batch);
    }

    /// Keys at the store, for which a further batch waits unless it is as large: what a batch
    /// costs the store is mostly the same for few keys as for many. A batch that takes long does
    /// not count, it may be stuck.
    fn under_way(&self) -> usize {
        self.pipes.iter().filter(|p| p.since.elapsed() < PATIENCE).map(|p| p.keys).sum()
    }

    /// When the next batch under way is found to take long.
    pub(super) fn patience(&self) -> Option<Instant> {
        let now = Instant::now();
        let busy = self.pipes.iter().filter(|p| p.keys > 0).map(|p| p.since + PATIENCE);
        busy.filter(|end| *end > now && !self.ready.is_empty()).min()
    }

    fn gather(&mut self, writer: &Writer) -> Vec<Change> {
        let grants = self.lease.allows_grants(writer.proxy);
        let mut changes = Vec::new();
        let mut held_back = Vec::new();
        while changes.len() < BATCH
            && let Some(key) = self.ready.pop_front()
        {
            let Some(state) = self.keys.get_mut(&key) else {
                continue;
            };
            state.listed = false;
            if !state.has_work(grants) {
                if state.has_work(true) {
                    held_back.push(key);
                }
                continue;
            }
            let release = state.release.as_ref().map(|r| r.token);
            if grants && state.may_grant() {
                state.granting = state.queue.pop_front();
            }
            state.in_flight = true;
            let acquire = state.granting.as_ref().map(|w| RowGrant {
                id: w.id,
                token: writer.base.max(self.last_token) + 1,
                conn: w.claim.conn,
                name: w.claim.name.given.clone(),
                owner: Arc::clone(&w.claim.owner),
            });
            if let Some(grant) = &acquire {
                self.last_token = grant.token;
            }
            changes.push(Change { key, release, acquire });
        }
        if !held_back.is_empty() {
            for key in &held_back {
                self.list(key);
            }
            self.retry_later();
        }
        if !mutants::on(Mutant::UnsortedBatch) {
            changes.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        }
        changes
    }

    pub(super) fn finish(&mut self, done: Finished) {
        let Finished { batch, result, .. } = done;
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
                let mut rows: HashMap<&[u8], &Row> =
                    result.rows.iter().map(|r| (r.key.as_slice(), r)).collect();
                self.last_token =
                    result.rows.iter().fold(self.last_token, |last, row| last.max(row.token));
                for change in batch.changes {
                    let row = rows.remove(change.key.as_bytes());
                    let key = change.key.clone();
                    self.apply(&batch.writer, change, row, result.guarded, run);
                    self.after(&key, result.guarded || moved);
                }
            }
            Err(e) => self.undo(batch, &e),
        }
    }

    /// Takes one key's outcome from its row.
    fn apply(
        &mut self,
        writer: &Writer,
        change: Change,
        row: Option<&Row>,
        guarded: bool,
        run: i64,
    ) {
        let Change { key, release, acquire } = change;
        let current = self.writer.as_ref().is_some_and(|w| w.proxy == writer.proxy);
        let vouched =
            self.lease.vouches_for(writer.proxy) || mutants::on(Mutant::NoCheckBehindReply);
        let Some(state) = self.keys.get_mut(&key) else {
            return;
        };
        state.in_flight = false;
        let mine = row.filter(|r| r.holder == writer.proxy.0);
        if let Some(token) = release
            && current
            && mine.is_none_or(|r| r.token != token)
        {
            state.release = None;
            if let Some(held) = state.held.take_if(|h| h.token == token) {
                self.metrics.held.dec();
                self.metrics.hold_seconds.observe(held.since.elapsed().as_secs_f64());
            }
        }
        if let Some(mut waiter) = state.granting.take()
            && acquire.is_some()
        {
            let won = mine.filter(|r| r.grant == waiter.id).map(|r| r.token);
            match won {
                // The deadline is checked here, behind the reply and before the client hears.
                Some(token) if current && vouched => {
                    let grant = Grant { token, proxy: writer.proxy };
                    let (conn, events) = (waiter.claim.conn, waiter.claim.events.clone());
                    let heard = waiter.answer(Acquired::Granted(grant));
                    state.held = Some(Held { token, conn, run, events, since: Instant::now() });
                    self.metrics.held.inc();
                    if !heard {
                        state.release = Some(PendingRelease { token, done: None });
                    }
                }
                // Won for an incarnation that is over, told to nobody. The row goes back now: its
                // takeover would end the session that the row names.
                Some(token) => {
                    state.queue.push_front(waiter);
                    let release = Change { key: key.clone(), release: Some(token), acquire: None };
                    self.strays.push_back(Batch {
                        writer: Arc::new(writer.clone()),
                        changes: vec![release],
                        clean: Vec::new(),
                        stray: true,
                    });
                }
                None => {
                    if let Some(ghost) = mine.filter(|_| current && state.held.is_none()) {
                        // Ours, but nobody's here: left by a change whose outcome was unknown.
                        tracing::warn!(
                            token = ghost.token,
                            "a lock row without a session is freed"
                        );
                        let token = ghost.token;
                        state.release = Some(PendingRelease { token, done: None });
                        state.held = Some(Held {
                            token,
                            conn: ConnectionId(ghost.conn),
                            run,
                            events: waiter.claim.events.clone(),
                            since: Instant::now(),
                        });
                        self.metrics.held.inc();
                        state.queue.push_front(waiter);
                    } else if waiter.reply.is_none() {
                        // Gave up meanwhile.
                    } else if waiter.claim.once && guarded {
                        waiter.answer(Acquired::NotFree);
                    } else {
                        if guarded {
                            state.remote = true;
                            self.poll_every = POLL.0;
                            self.poll_at.get_or_insert(Instant::now() + POLL.0);
                        }
                        state.queue.push_front(waiter);
                    }
                }
            }
        }
    }

    /// Goes on from a base that has moved on. True if that is why a batch was refused.
    fn follow_base(&mut self, writer: &Writer, result: &BatchResult) -> bool {
        let Some(base) = result.base.filter(|base| *base > writer.base) else {
            return false;
        };
        if let Some(mine) = self.writer.as_ref().filter(|w| w.proxy == writer.proxy) {
            let base = base.max(mine.base);
            self.writer = Some(Arc::new(Writer { base, ..mine.as_ref().clone() }));
        }
        !result.guarded
    }

    /// Keeps, drops or sends on a key whose change has come back.
    fn after(&mut self, key: &Key, at_once: bool) {
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
        }
    }

    /// A batch that was certainly not executed.
    fn undo(&mut self, batch: Batch, e: &StoreError) {
        let retry = e.is_retryable();
        if !retry && !std::mem::replace(&mut self.complained, true) {
            tracing::warn!(error = %e, keys = batch.changes.len(), "the lock store did not take a batch; trying again");
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
}

#[cfg(test)]
mod tests {
    use tokio::sync::{mpsc, oneshot};

    use super::super::super::handle::{Claim, Request};
    use super::super::super::lease::Lease;
    use super::super::LeaseEvent;
    use super::super::staged::{renew, service};
    use super::*;
    use crate::clock;
    use crate::lock::name::plain;
    use crate::types::{Flavour, ProxyId};

    fn ask(service: &mut Service, id: u64) -> oneshot::Receiver<Acquired> {
        let (reply, outcome) = oneshot::channel();
        let claim = Claim {
            name: plain(b"k", Flavour::MariaDb).expect("valid"),
            conn: ConnectionId(id),
            owner: Arc::from(&b""[..]),
            once: false,
            events: mpsc::unbounded_channel().0,
        };
        service.request(Request::Acquire { id, claim, reply });
        outcome
    }

    /// The row behind a grant.
    fn won(change: &Change) -> Row {
        let grant = change.acquire.clone().expect("a grant");
        let key = change.key.as_bytes().to_vec();
        Row { key, token: grant.token, holder: 7, grant: grant.id, conn: grant.conn.0 }
    }

    /// Gathers a batch, and answers it as won after the deadline was set.
    fn win(service: &mut Service, deadline: Duration) {
        let writer = service.writer.clone().expect("joined");
        let changes = service.gather(&writer);
        let rows = changes.iter().map(won).collect();
        let batch = Batch { writer, changes, clean: Vec::new(), stray: false };
        renew(&service.lease, deadline);
        let result = Ok((0, BatchResult { rows, guarded: true, base: None }));
        service.finish(Finished { pipe: 0, batch, result });
    }

    /// I7.
    #[tokio::test]
    async fn the_deadline_is_checked_between_the_stores_reply_and_the_answer() {
        for in_time in [true, false] {
            let lease = Arc::new(Lease::default());
            let mut service = service(&lease);
            let later = clock::now() + Duration::from_mins(1);
            renew(&lease, later);
            lease.begin(ProxyId(7), Duration::ZERO);
            let mut outcome = ask(&mut service, 1);
            win(&mut service, if in_time { later } else { clock::now() });
            let told = matches!(outcome.try_recv(), Ok(Acquired::Granted(_)));
            let held = service.keys.values().any(|state| state.held.is_some());
            assert_eq!((told, held), (in_time, in_time));
        }
    }

    /// The session that the row names must not be ended with the incarnation that is over.
    #[tokio::test]
    async fn what_a_former_incarnation_wins_is_given_back() {
        let lease = Arc::new(Lease::default());
        let mut service = service(&lease);
        let later = clock::now() + Duration::from_mins(1);
        renew(&lease, later);
        lease.begin(ProxyId(7), Duration::ZERO);
        let mut outcome = ask(&mut service, 1);
        let writer = service.writer.clone().expect("joined");
        let changes = service.gather(&writer);
        service.lease_event(LeaseEvent::Fenced(ProxyId(7)));
        let row = won(&changes[0]);
        let token = row.token;
        let batch = Batch { writer, changes, clean: Vec::new(), stray: false };
        let result = Ok((0, BatchResult { rows: vec![row], guarded: true, base: None }));
        service.finish(Finished { pipe: 0, batch, result });
        assert!(outcome.try_recv().is_err(), "waits on");
        let stray = service.strays.pop_front().expect("a release");
        assert_eq!(stray.changes[0].release, Some(token));
        assert_eq!(stray.writer.proxy, ProxyId(7));
    }
}
