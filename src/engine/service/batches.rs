//! Filling batches.

use std::sync::Arc;

use super::Service;
use super::ownership::{Due, Owned};
use crate::engine::io::pipe::Batch;
use crate::engine::service::keys::{KeyState, Remote, Waiter};
use crate::lock::name::Key;
use crate::mutants::{self, Mutant};
use crate::store::statement::{
    BatchWriter, EXACT, GrantAttempt, LockChange, Precedence, RowRelease, SHOW,
};
use crate::types::ConnectionId;

/// Keys in a batch at most.
const BATCH: usize = 256;
/// Grants that may pass a waiting proxy by, from one session here to the next.
pub(in crate::engine) const PASSES: u32 = 16;

impl Service {
    /// Fills idle pipes with what is ready.
    pub(super) fn dispatch(&mut self) {
        // Locks that are given back have a writer of their own, and do not wait for another.
        self.pipes.send_stray();
        let Some(writer) = self.writer.clone() else {
            return;
        };
        while let Some(pipe) = self.pipes.for_batch(self.keys.ready()) {
            let changes = self.gather(&writer);
            if changes.is_empty() {
                return;
            }
            let (writer, others) = (Arc::clone(&writer), Arc::clone(&self.others));
            self.pipes.send(pipe, Batch { writer, changes, others, stray: false });
        }
    }

    pub(super) fn gather(&mut self, writer: &BatchWriter) -> Vec<LockChange> {
        let grants = self.lease.allows_grants(writer.proxy);
        let mut changes = Vec::new();
        let mut held_back = Vec::new();
        while changes.len() < BATCH
            && let Some((key, state)) = self.keys.next_ready()
        {
            if !state.has_work(grants) {
                if state.has_work(true) {
                    held_back.push(key);
                }
                continue;
            }
            let withdraw = state.withdraws();
            if let Some(change) = self.change_of_owned(&key) {
                changes.push(change);
                continue;
            }
            self.end_release_without_row(&key);
            let Some(state) = self.keys.get_mut(&key) else { continue };
            if state.release.is_some() && state.passed >= PASSES && !state.queue.is_empty() {
                // The waiters here now wait for the other proxy.
                state.remote = Some(Remote::default());
                self.metrics.yields.inc();
            }
            if grants && state.may_grant() {
                state.granting = state.queue.pop_front();
            }
            state.in_flight = true;
            // A claim takes the row over. Only if it fails, the release is sent after all. A row that names this incarnation
            // passes from it to the next session.
            let passes = state.release.is_some() || state.granting.is_some();
            let owned = state.owned.as_ref().filter(|_| passes && !state.claims());
            let release = owned.map(Owned::release);
            let turn = turn(state, release.is_some());
            let asks = std::mem::take(&mut state.asks) && state.owned.is_none();
            let ask = asks && state.granting.is_none() && release.is_none();
            let ask = ask.then(|| asking(&key, writer.base.max(self.last_token) + 1));
            let exact = exactness(state.owned.as_ref());
            let acquire = state.granting.as_ref().map(|w| GrantAttempt {
                id: GrantAttempt::new_id() | exact,
                token: writer.base.max(self.last_token) + 1,
                conn: w.claim.conn,
                name: w.claim.name.given.clone(),
                owner: Arc::clone(&w.claim.owner),
                turn,
                native: w.claim.native,
                after: state.held.as_ref().filter(|_| w.claim.native).map(|held| held.token),
            });
            if let Some(grant) = &acquire {
                self.last_token = grant.token;
            }
            let acquire = acquire.or(ask);
            self.last_token = acquire.iter().fold(self.last_token, |last, a| last.max(a.token));
            if release.is_none() && acquire.is_none() && !withdraw {
                // The release needed no row.
                state.in_flight = false;
                if !self.keys.forget_if_idle(&key) && state_waits(self.keys.get(&key)) {
                    held_back.push(key);
                }
                continue;
            }
            changes.push(LockChange { key, release, acquire, withdraw });
        }
        if !held_back.is_empty() {
            for key in &held_back {
                self.keys.list(key);
            }
            self.keys.retry_later();
        }
        if !mutants::on(Mutant::UnsortedBatch) {
            changes.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        }
        changes
    }
}

impl Service {
    /// What is due of an owned row.
    fn change_of_owned(&mut self, key: &Key) -> Option<LockChange> {
        let state = self.keys.get_mut(key)?;
        let owned = state.owned.as_mut()?;
        let due = owned.take_due()?;
        if state.release.is_some() {
            return None;
        }
        let unused = state.held.is_none() && state.queue.is_empty();
        let (key, withdraw) = (key.clone(), false);
        if due == Due::GiveBack && unused {
            state.in_flight = true;
            return Some(LockChange {
                key,
                release: Some(owned.release()),
                acquire: None,
                withdraw,
            });
        }
        if due == Due::Answer {
            state.in_flight = true;
            let acquire = Some(GrantAttempt { turn: Precedence::Answer, ..asking(&key, 0) });
            return Some(LockChange { key, release: None, acquire, withdraw });
        }
        let release = Some(RowRelease::of(owned.row()));
        let held = state.held.as_ref();
        let shows = held.map_or(0, |held| held.token);
        if !owned.is_behind(shows) {
            owned.tell(shows);
            return None;
        }
        let exact = exactness(Some(&*owned));
        let (token, conn) = match held {
            Some(held) => (held.token, held.conn),
            None => (owned.spend(), ConnectionId(0)),
        };
        (state.in_flight, state.showing) = (true, true);
        owned.begin_telling();
        let acquire = GrantAttempt {
            id: GrantAttempt::new_id() | SHOW | exact,
            token,
            conn,
            name: held.map_or_else(|| key.folded().into(), |held| held.name.clone()),
            owner: held.map(|held| Arc::clone(&held.owner)).unwrap_or_default(),
            turn: Precedence::Show(owned.row()),
            native: false,
            after: None,
        };
        self.last_token = self.last_token.max(token);
        Some(LockChange { key, release, acquire: Some(acquire), withdraw })
    }
}

/// Whether a session waits for the key.
fn state_waits(state: Option<&KeyState>) -> bool {
    state.is_some_and(|state| state.has_work(true))
}

/// [`EXACT`] for a row that another proxy wants: it is written before each answer.
fn exactness(owned: Option<&Owned>) -> u64 {
    if owned.is_some_and(Owned::is_wanted) { EXACT } else { 0 }
}

/// The question to the owner of a name.
fn asking(key: &Key, token: u64) -> GrantAttempt {
    GrantAttempt {
        id: GrantAttempt::new_id(),
        token,
        conn: ConnectionId(0),
        name: key.folded().into(),
        owner: Arc::default(),
        turn: Precedence::Ask,
        native: false,
        after: None,
    }
}

/// The precedence of a key's grant over other proxies that want the key.
fn turn(state: &mut KeyState, hand_over: bool) -> Precedence {
    let Some(remote) = &mut state.remote else {
        if state.claims() {
            return if state.passed < PASSES { Precedence::Pass } else { Precedence::Yield };
        }
        return if hand_over { Precedence::Take } else { Precedence::Yield };
    };
    remote.attempt = false;
    if std::mem::take(&mut remote.take) {
        return Precedence::Take;
    }
    match &state.granting {
        Some(Waiter { ticket, claim, .. }) if !claim.once => Precedence::Queue(*ticket),
        Some(_) if remote.asks && !remote.placed => Precedence::Ask,
        _ => Precedence::Yield,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::{mpsc, oneshot};

    use super::super::staged::{on_engine_thread, renew, service};
    use super::*;
    use crate::clock;
    use crate::engine::io::pipe::FinishedBatch;
    use crate::engine::messages::{Acquired, Claim, EngineRequest, LeaseEvent};
    use crate::engine::shared::current_backend::CurrentBackend;
    use crate::engine::shared::lease::Lease;
    use crate::lock::name::plain;
    use crate::store::batch::BatchResult;
    use crate::store::rows::LockRow;
    use crate::types::BackendId;
    use crate::types::ConnectionId;
    use crate::types::{Flavour, ProxyId};

    fn ask(service: &mut Service, id: u64) -> oneshot::Receiver<Acquired> {
        let (reply, outcome) = oneshot::channel();
        let claim = Claim {
            name: plain(b"k", Flavour::MariaDb).expect("valid"),
            conn: ConnectionId(id),
            backend: CurrentBackend::of(BackendId(id)),
            owner: Arc::from(&b""[..]),
            once: false,
            holds: false,
            weight: 0,
            events: mpsc::unbounded_channel().0,
            native: false,
            began: None,
        };
        service.request(EngineRequest::Acquire { id, claim, reply });
        outcome
    }

    /// The row after a grant.
    fn won(change: &LockChange) -> LockRow {
        let grant = change.acquire.clone().expect("a grant");
        let key = change.key.as_bytes().to_vec();
        LockRow {
            key,
            token: grant.token,
            holder: 7,
            grant: grant.id,
            conn: grant.conn.0,
            want: 0,
            ticket: 0,
            run: 0,
        }
    }

    /// Gathers a batch, and answers it as won after the deadline was set.
    fn win(service: &mut Service, deadline: Duration) {
        let writer = service.writer.clone().expect("joined");
        let changes = service.gather(&writer);
        let rows = changes.iter().map(won).collect();
        let batch = Batch { writer, changes, others: Arc::default(), stray: false };
        renew(&service.lease, deadline);
        let result = Ok((0, BatchResult { rows, guarded: true, ..BatchResult::default() }));
        service.finish(FinishedBatch { pipe: 0, batch, result });
    }

    /// Tests I7. Also, a lock that was won too late goes back before its waiter asks again. The keeper may be about to
    /// move the deadline on, and a row that still names the session would look like a grant.
    #[test]
    fn the_deadline_is_checked_between_the_stores_reply_and_the_answer() {
        on_engine_thread(async {
            for in_time in [true, false] {
                let lease = Arc::new(Lease::default());
                let mut service = service(&lease);
                let later = clock::now() + Duration::from_mins(1);
                renew(&lease, later);
                lease.start_incarnation(ProxyId(7), Duration::ZERO);
                let mut outcome = ask(&mut service, 1);
                win(&mut service, if in_time { later } else { clock::now() });
                let told = matches!(outcome.try_recv(), Ok(Acquired::Granted(_)));
                let held = service.keys.iter().any(|(_, state)| state.held.is_some());
                assert_eq!((told, held), (in_time, true));
                renew(&lease, later);
                let writer = service.writer.clone().expect("joined");
                let next = service.gather(&writer);
                let handed: Vec<_> =
                    next.iter().map(|c| (c.release, c.acquire.is_some())).collect();
                let expected =
                    if in_time { vec![] } else { vec![(Some(RowRelease::of(101)), true)] };
                assert_eq!(handed, expected);
            }
        });
    }

    /// The holder has released the lock between the attempt and the look at the row. A second time may be a sign of
    /// another cause.
    #[test]
    fn a_row_that_is_found_free_is_tried_again_at_once_and_once() {
        on_engine_thread(async {
            let lease = Arc::new(Lease::default());
            let mut service = service(&lease);
            renew(&lease, clock::now() + Duration::from_mins(1));
            lease.start_incarnation(ProxyId(7), Duration::ZERO);
            let _outcome = ask(&mut service, 1);
            let mut tried = Vec::new();
            for _ in 0..3 {
                let writer = service.writer.clone().expect("joined");
                let changes = service.gather(&writer);
                tried.push(changes.len());
                let free = |c: &LockChange| LockRow { holder: 0, grant: 0, conn: 0, ..won(c) };
                let rows = changes.iter().map(free).collect();
                let batch = Batch { writer, changes, others: Arc::default(), stray: false };
                let result = Ok((0, BatchResult { rows, guarded: true, ..BatchResult::default() }));
                service.finish(FinishedBatch { pipe: 0, batch, result });
            }
            assert_eq!(tried, [1, 1, 0]);
        });
    }

    /// The session that the row names must not be ended with the incarnation that is over.
    #[test]
    fn a_lock_that_a_former_incarnation_wins_is_given_back() {
        on_engine_thread(async {
            let lease = Arc::new(Lease::default());
            let mut service = service(&lease);
            let later = clock::now() + Duration::from_mins(1);
            renew(&lease, later);
            lease.start_incarnation(ProxyId(7), Duration::ZERO);
            let mut outcome = ask(&mut service, 1);
            let writer = service.writer.clone().expect("joined");
            let changes = service.gather(&writer);
            service.lease_event(LeaseEvent::Fenced(ProxyId(7)));
            let row = won(&changes[0]);
            let token = row.token;
            let batch = Batch { writer, changes, others: Arc::default(), stray: false };
            let result =
                Ok((0, BatchResult { rows: vec![row], guarded: true, ..BatchResult::default() }));
            service.finish(FinishedBatch { pipe: 0, batch, result });
            assert!(outcome.try_recv().is_err(), "waits on");
            let stray = service.pipes.next_stray().expect("a release");
            assert_eq!(stray.changes[0].release, Some(RowRelease::of(token)));
            assert_eq!(stray.writer.proxy, ProxyId(7));
        });
    }
}
