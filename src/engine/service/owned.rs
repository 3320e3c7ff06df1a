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
        let owned = state.owned.as_ref().is_some_and(Owned::may_be_behind);
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
        let held = state.held.as_ref().filter(|held| !held.native);
        let release = state.release.as_ref();
        let same = held.zip(release).is_some_and(|(held, release)| held.token == release.token);
        if !same || !self.passes_in_memory(state) {
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
            let next = state.queue.front();
            if next.is_none_or(|next| !next.claim.backend.is_marked(writer.proxy)) {
                // After a death here its connection is found by the row alone.
                break;
            }
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
        let left = |state: &KeyState| state.owned.is_some() && state.is_unused();
        if !granted && self.keys.get(key).is_some_and(left) {
            self.keep(key);
        }
        granted
    }

    /// Has the row written soon, unless it is right.
    pub(super) fn show_soon(&mut self, key: &Key) {
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
            if owned.due().is_some() || releases || state.in_flight {
                // The outcome of that shows more.
                continue;
            }
            if owned.is_overdue(token, since) {
                owned.set_due(Due::Show);
                self.keys.list(&key);
            } else {
                // A hold that has only begun may last.
                self.show_soon(&key);
            }
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

    /// Has the rows of these keys say who holds the locks, and tells when that is done. No keys: all.
    pub(super) fn write_now(&mut self, only: &[Key], told: &Countdown) {
        let mut keys = Vec::new();
        let asked = |key: &Key| only.is_empty() || only.contains(key);
        for (key, state) in self.keys.iter_mut().filter(|(key, _)| asked(key)) {
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

    /// Has all rows written that are older than their locks, and given back if no session needs them.
    pub(super) fn write_ahead(&mut self) {
        let mut keys = Vec::new();
        for (key, state) in self.keys.iter_mut() {
            let unused = state.is_unused();
            if let Some(owned) = state.owned.as_mut().filter(|owned| owned.is_ahead()) {
                owned.set_due(if unused { Due::GiveBack } else { Due::Show });
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::{mpsc, oneshot};
    use tokio::time::sleep;

    use super::super::keeping::Keeping;
    use super::super::staged::{on_engine_thread, renew, service};
    use super::*;
    use crate::clock;
    use crate::engine::io::pipe::{Batch, FinishedBatch};
    use crate::engine::messages::{Claim, EngineRequest};
    use crate::engine::shared::current_backend::CurrentBackend;
    use crate::engine::shared::lease::Lease;
    use crate::lock::name::plain;
    use crate::store::batch::BatchResult;
    use crate::store::connection::StoreError;
    use crate::store::rows::LockRow;
    use crate::store::statement::{LockChange, Others, Precedence, RowRelease};
    use crate::types::{BackendId, ConnectionId, Flavour};

    const ME: ProxyId = ProxyId(7);
    const KEEP: Duration = Duration::from_millis(60);

    /// A service that keeps names, and the row of one.
    struct Stage {
        service: Service,
        lease: Arc<Lease>,
        row: LockRow,
    }

    fn key() -> Key {
        plain(b"k", Flavour::MariaDb).expect("valid").key
    }

    impl Stage {
        fn new() -> Self {
            let lease = Arc::new(Lease::default());
            let mut service = service(&lease);
            renew(&lease, clock::now() + Duration::from_mins(1));
            lease.start_incarnation(ME, Duration::ZERO);
            service.keeping = Keeping::always(KEEP);
            service.others = Arc::new(Others { know_windows: true, ..Others::default() });
            let (token, key) = (50, key().as_bytes().to_vec());
            let (holder, grant, conn, want, ticket, run) = (0, 0, 0, 0, 0, 0);
            let row = LockRow { key, token, holder, grant, conn, want, ticket, run };
            Self { service, lease, row }
        }

        fn ask(&mut self, conn: u64) -> oneshot::Receiver<Acquired> {
            let backend = CurrentBackend::of(BackendId(conn));
            backend.note_mark(Some(ME));
            self.ask_on(conn, backend)
        }

        fn ask_on(&mut self, conn: u64, backend: CurrentBackend) -> oneshot::Receiver<Acquired> {
            let claim = Claim {
                name: plain(b"k", Flavour::MariaDb).expect("valid"),
                conn: ConnectionId(conn),
                backend,
                owner: Arc::from(&b""[..]),
                once: false,
                holds: false,
                weight: 0,
                events: mpsc::unbounded_channel().0,
                native: false,
                began: None,
            };
            let (reply, outcome) = oneshot::channel();
            self.service.request(EngineRequest::Acquire { id: conn, claim, reply });
            outcome
        }

        fn release(&mut self, token: u64) -> oneshot::Receiver<()> {
            let (reply, done) = oneshot::channel();
            let locks = vec![(key(), token)];
            self.service.request(EngineRequest::Release { locks, proxy: ME, reply });
            done
        }

        /// What goes to the store.
        fn send(&mut self) -> Option<LockChange> {
            let writer = self.service.writer.clone().expect("joined");
            self.service.gather(&writer).pop()
        }

        /// The store carries a change out, if the row is as it says.
        fn carry_out(&mut self, change: LockChange) {
            let released = match change.release {
                Some(release) => self.row.holder == ME.0 && self.row.token == release.token,
                None => self.row.holder == 0,
            };
            if released && let Some(grant) = &change.acquire {
                (self.row.holder, self.row.token) = (ME.0, grant.token);
                (self.row.grant, self.row.conn) = (grant.id, grant.conn.0);
            } else if released && let Some(release) = change.release {
                (self.row.holder, self.row.token) = (0, release.last);
            }
            let writer = self.service.writer.clone().expect("joined");
            let others = Arc::clone(&self.service.others);
            let batch = Batch { writer, changes: vec![change], others, stray: false };
            let (rows, guarded) = (vec![self.row.clone()], true);
            let result = Ok((0, BatchResult { rows, guarded, ..BatchResult::default() }));
            self.service.finish(FinishedBatch { pipe: 0, batch, result });
        }

        /// Takes the lock, through the store where that is needed: the token, and whether it was.
        fn gets(&mut self, conn: u64) -> (u64, bool) {
            let mut outcome = self.ask(conn);
            let written = self.send();
            let through = written.is_some();
            if let Some(change) = written {
                self.carry_out(change);
            }
            match outcome.try_recv() {
                Ok(Acquired::Granted(grant)) => (grant.token, through),
                other => panic!("{other:?}"),
            }
        }

        /// Lets go, through the store where that is needed. Whether it was.
        fn lets_go(&mut self, token: u64) -> bool {
            let mut done = self.release(token);
            let written = self.send();
            let through = written.is_some();
            if let Some(change) = written {
                self.carry_out(change);
            }
            assert_eq!(done.try_recv(), Ok(()));
            through
        }

        /// Uses the lock until its name stays; the last token.
        fn keeps(&mut self) -> u64 {
            for through in [true, false] {
                let (token, _) = self.gets(1);
                assert_eq!(self.lets_go(token), through);
                if !through {
                    return token;
                }
            }
            unreachable!("the name is kept");
        }

        /// Has done what is due after this time, and sends it.
        async fn after(&mut self, time: Duration) -> Option<LockChange> {
            sleep(time).await;
            self.service.do_what_is_due_of_owned();
            self.send()
        }
    }

    #[test]
    fn a_name_that_is_used_again_passes_in_memory() {
        on_engine_thread(async {
            let mut stage = Stage::new();
            let mut last = stage.keeps();
            for conn in [1, 2, 1] {
                let (token, through) = stage.gets(conn);
                assert!(!through && token > last, "{token} after {last}");
                assert!(!stage.lets_go(token));
                last = token;
            }
            let held = stage.gets(1).0;
            let mut waits = stage.ask(2);
            assert!(stage.send().is_none() && waits.try_recv().is_err());
            assert!(!stage.lets_go(held));
            assert!(matches!(waits.try_recv(), Ok(Acquired::Granted(g)) if g.token > held));
        });
    }

    /// Tests I7.
    #[test]
    fn nothing_passes_in_memory_past_the_deadline() {
        on_engine_thread(async {
            let mut stage = Stage::new();
            stage.keeps();
            renew(&stage.lease, clock::now());
            let mut outcome = stage.ask(2);
            assert!(outcome.try_recv().is_err());
            assert!(stage.service.keys.held(&key()).is_none());
        });
    }

    #[test]
    fn a_row_is_written_when_a_hold_lasts_and_when_it_is_over() {
        on_engine_thread(async {
            let mut stage = Stage::new();
            stage.keeps();
            let idle = stage.after(BEHIND * 2).await.expect("the first hold is over");
            assert_eq!(idle.acquire.as_ref().map(|grant| grant.conn), Some(ConnectionId(0)));
            stage.carry_out(idle);
            let (token, through) = stage.gets(2);
            assert!(!through && token > stage.row.token);
            let shown = stage.after(BEHIND * 2).await.expect("a hold that lasts");
            stage.carry_out(shown);
            assert_eq!((stage.row.token, stage.row.conn), (token, 2));
            assert!(stage.after(BEHIND * 2).await.is_none());
        });
    }

    #[test]
    fn a_name_goes_back_with_its_last_token_when_its_time_is_over() {
        on_engine_thread(async {
            let mut stage = Stage::new();
            let last = stage.keeps();
            let idle = stage.after(BEHIND * 2).await.expect("the first hold is over");
            stage.carry_out(idle);
            let row = stage.row.token;
            assert!(row > last);
            let given = stage.after(KEEP * 2).await.expect("the name goes back");
            assert_eq!((given.release, given.acquire.is_none()), (Some(RowRelease::of(row)), true));
            stage.carry_out(given);
            assert_eq!((stage.row.holder, stage.row.token), (0, row));
            assert!(stage.service.keys.get(&key()).is_none(), "nothing is remembered");
        });
    }

    #[test]
    fn a_name_that_another_proxy_wants_goes_back_at_once_or_after_the_hold() {
        on_engine_thread(async {
            for held in [false, true] {
                let mut stage = Stage::new();
                let mut last = stage.keeps();
                if held {
                    last = stage.gets(2).0;
                }
                stage.service.recall(&key(), false);
                let change = stage.send().expect("an answer");
                assert_eq!(change.acquire.as_ref().map(|a| a.token), held.then_some(last));
                stage.carry_out(change);
                if held {
                    assert_eq!((stage.row.conn, stage.row.token), (2, last));
                    // The row was written before the other proxy's place was known.
                    stage.service.recall(&key(), false);
                    assert!(stage.lets_go(last), "by the store");
                }
                assert_eq!((stage.row.holder, stage.row.token), (0, last));
            }
        });
    }

    /// A takeover would not find its connection.
    #[test]
    fn a_session_that_is_marked_otherwise_gets_the_lock_by_a_write() {
        on_engine_thread(async {
            for mark in [None, Some(ProxyId(6))] {
                let mut stage = Stage::new();
                stage.keeps();
                let backend = CurrentBackend::of(BackendId(2));
                backend.note_mark(mark);
                let mut outcome = stage.ask_on(2, backend);
                assert!(outcome.try_recv().is_err());
                let change = stage.send().expect("a write");
                stage.carry_out(change);
                assert!(matches!(outcome.try_recv(), Ok(Acquired::Granted(_))));
            }
        });
    }

    /// The row may be another proxy's by now.
    #[test]
    fn a_lock_that_is_lost_passes_to_nobody_in_memory() {
        on_engine_thread(async {
            let mut stage = Stage::new();
            stage.keeps();
            let (token, _) = stage.gets(2);
            let mut waits = stage.ask(3);
            stage.service.lose(ME, vec![(key(), stage.row.token)]);
            (stage.row.holder, stage.row.token) = (8, token + 100);
            let mut done = stage.release(token);
            let change = stage.send().expect("a write");
            assert!(change.acquire.is_some());
            stage.carry_out(change);
            assert_eq!(done.try_recv(), Ok(()));
            assert!(waits.try_recv().is_err() && stage.service.keys.held(&key()).is_none());
        });
    }

    #[test]
    fn a_caller_is_told_when_its_own_hold_is_written() {
        on_engine_thread(async {
            let mut stage = Stage::new();
            stage.keeps();
            let (first, _) = stage.gets(2);
            let (reply, mut told) = oneshot::channel();
            stage.service.request(EngineRequest::WriteNow { keys: vec![key()], reply });
            let shown = stage.send().expect("a write");
            // The lock goes on meanwhile.
            assert!(!stage.lets_go(first));
            let (second, through) = stage.gets(3);
            assert!(!through && second > first);
            stage.carry_out(shown);
            assert_eq!(told.try_recv(), Ok(()));
        });
    }

    #[test]
    fn a_name_that_could_not_be_given_back_is_given_back_again() {
        on_engine_thread(async {
            let mut stage = Stage::new();
            stage.keeps();
            stage.service.recall(&key(), false);
            let change = stage.send().expect("an answer");
            let writer = stage.service.writer.clone().expect("joined");
            let others = Arc::clone(&stage.service.others);
            let batch = Batch { writer, changes: vec![change], others, stray: false };
            let result = Err(StoreError::Refused { code: 1213, message: String::new() });
            stage.service.finish(FinishedBatch { pipe: 0, batch, result });
            let change = stage.send().expect("again");
            assert!(change.release.is_some() && change.acquire.is_none());
        });
    }

    /// Another proxy asks who has the lock: it is told that the row is right.
    #[test]
    fn a_question_is_answered_though_the_row_is_right() {
        on_engine_thread(async {
            let mut stage = Stage::new();
            stage.keeps();
            let idle = stage.after(BEHIND * 2).await.expect("the first hold is over");
            stage.carry_out(idle);
            let (token, _) = stage.gets(2);
            let shown = stage.after(BEHIND * 2).await.expect("a hold that lasts");
            stage.carry_out(shown);
            for _ in 0..2 {
                stage.service.recall(&key(), true);
                let change = stage.send().expect("an answer");
                let turn = change.acquire.as_ref().map(|grant| grant.turn);
                assert_eq!((turn, change.release), (Some(Precedence::Answer), None));
                let writer = stage.service.writer.clone().expect("joined");
                let others = Arc::clone(&stage.service.others);
                let batch = Batch { writer, changes: vec![change], others, stray: false };
                let (rows, guarded) = (vec![stage.row.clone()], true);
                let result = Ok((0, BatchResult { rows, guarded, ..BatchResult::default() }));
                stage.service.finish(FinishedBatch { pipe: 0, batch, result });
            }
            // From then on each change is written.
            assert!(stage.lets_go(token));
            assert_eq!((stage.row.holder, stage.row.token), (0, token));
        });
    }

    #[test]
    fn a_row_that_is_another_ones_ends_the_ownership() {
        on_engine_thread(async {
            let mut stage = Stage::new();
            stage.keeps();
            stage.service.lose(ME, vec![(key(), stage.row.token)]);
            assert!(stage.service.keys.get(&key()).is_none());
            let (_, through) = stage.gets(2);
            assert!(through);
        });
    }
}
