//! Claims by the server's own locks: a session has been granted one there, and its row is taken by that proof.

use std::collections::{HashMap, HashSet};

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Service, events};
use crate::engine::messages::{
    Acquired, Claim, Differences, EventSender, FindSessions, NativeHold, SessionEvent,
};
use crate::engine::service::keys::{KeyState, Waiter};
use crate::engine::shared::history::{RELEASED, UNSEEN};
use crate::lock::name::Key;
use crate::store::identity::{is_same_run, run_number};
use crate::store::rows::LockRow;
use crate::types::{BackendId, ConnectionId};

/// What the service knows of native locks beside its keys.
#[derive(Debug)]
pub(super) struct NativeMode {
    /// Whether sessions here take the server's own locks.
    pub(super) is_on: bool,
    sessions: Option<FindSessions>,
    /// Holds that the server did not have when it was asked last.
    gone: HashSet<NativeHold>,
    /// Sessions with the server's lock and no row for it.
    without_row: HashMap<ConnectionId, EventSender>,
}

impl NativeMode {
    pub(super) fn new(is_on: bool, sessions: Option<FindSessions>) -> Self {
        Self { is_on, sessions, gone: HashSet::new(), without_row: HashMap::new() }
    }

    pub(super) fn note_without_row(&mut self, conn: ConnectionId, events: EventSender) {
        self.without_row.insert(conn, events);
    }
}

impl Service {
    /// Claims the row for a session that has the server's own lock. The claim waits for no session here: what the
    /// server has granted, the holder before has released.
    pub(super) fn claim(&mut self, id: u64, claim: Claim, reply: oneshot::Sender<Acquired>) {
        let key = claim.name.key.clone();
        let claim = Claim { holds: false, ..claim };
        let since = claim.began.unwrap_or_else(Instant::now);
        let reply = Some(reply);
        let waiter = Waiter { id, claim, reply, ticket: 0, edge: None, since, hurried: false };
        let state = self.keys.enter(&key);
        state.queue.push_back(waiter);
        if state.remote.is_some() {
            self.poll.start_now();
        }
        self.keys.list(&key);
    }

    /// Has sessions claim the rows that could not be written before.
    pub(super) fn claim_again(&mut self) {
        if self.lease.unwritable().is_none() {
            for (_, events) in self.native.without_row.drain() {
                let _ = events.send(SessionEvent::ReadLocks);
            }
        }
    }

    /// A claim was won: the session that had the lock here has let go, and its release is not needed.
    pub(super) fn supersede(&mut self, key: &Key) {
        let Some(state) = self.keys.get_mut(key) else {
            return;
        };
        let how = state.release.take().map_or(UNSEEN, |_| RELEASED);
        if let Some(held) = state.held.take() {
            let kept = events::ended((&self.metrics, &self.history), key, held, how);
            self.metrics.hold_seconds.observe(kept.as_secs_f64());
        }
    }

    /// The server does not have the lock for this session.
    pub(super) fn refuse_claim(&mut self, key: &Key, mut waiter: Waiter) {
        self.metrics.unproven.inc();
        waiter.answer(Acquired::Unproven);
        let next = self
            .keys
            .get_mut(key)
            .filter(|state| state.queue.front().is_some_and(|waiter| waiter.claim.native));
        if let Some(state) = next {
            // The server has granted the lock to the next session since.
            state.remote = None;
        }
    }

    /// Whether the holder that the row names has the server's own lock, too, in the present run.
    pub(super) fn is_native_here(&self, row: &LockRow) -> bool {
        let here = self.writer.as_ref().map(|w| run_number(&self.lease.home(), w.run));
        row.run != 0 && here.is_some_and(|here| is_same_run(here, row.run))
    }

    /// Tells sessions to read their locks at the server, where those are others than the locks here. A lock that is
    /// gone at the server counts when two readings show it, since its release may be on the way.
    pub(super) fn differ(&mut self, Differences { gone, more }: Differences) {
        let mut told = HashSet::new();
        let mut unheard = Vec::new();
        for hold in gone.intersection(&self.native.gone) {
            if let Some(held) = self.keys.held_under(&hold.key, hold.token)
                && self.keys.get(&hold.key).is_some_and(|state| state.release.is_none())
            {
                self.metrics.differences.inc();
                if told.insert(hold.conn) && held.events.send(SessionEvent::ReadLocks).is_err() {
                    // The session has ended before it knew of the row.
                    unheard.push((hold.key.clone(), hold.token));
                }
            }
        }
        if let Some(proxy) = self.lease.proxy().filter(|_| !unheard.is_empty()) {
            self.release_all(unheard, proxy, None);
        }
        self.native.gone = gone;
        let knows = |state: &KeyState, conn: BackendId| {
            let mut waiters = state.granting.iter().chain(&state.queue);
            state.held.as_ref().is_some_and(|held| held.backend.id() == Some(conn))
                || waiters.any(|waiter| waiter.claim.backend.id() == Some(conn))
        };
        let is_new = |(conn, key): &&(BackendId, Key)| {
            !told.contains(conn) && !self.keys.get(key).is_some_and(|state| knows(state, *conn))
        };
        let new: HashSet<BackendId> = more.iter().filter(is_new).map(|(conn, _)| *conn).collect();
        if let Some(sessions) = self.native.sessions.as_ref().filter(|_| !new.is_empty()) {
            for events in sessions.find(&new).into_values() {
                self.metrics.differences.inc();
                let _ = events.send(SessionEvent::ReadLocks);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::sync::mpsc;

    use super::super::staged::{on_engine_thread, renew, service};
    use super::*;
    use crate::clock;
    use crate::engine::io::pipe::{Batch, FinishedBatch};
    use crate::engine::io::reader::FinishedRead;
    use crate::engine::messages::{EngineRequest, LeaseEvent};
    use crate::engine::shared::current_backend::CurrentBackend;
    use crate::engine::shared::lease::Lease;
    use crate::lock::name::plain;
    use crate::store::batch::BatchResult;
    use crate::store::statement::{LockChange, Others, Precedence, RowRelease};
    use crate::types::{Flavour, ProxyId};

    const ME: ProxyId = ProxyId(7);
    const OTHER: ProxyId = ProxyId(8);

    /// A service, and a table with one row.
    struct Stage {
        service: Service,
        row: LockRow,
        heard: mpsc::UnboundedReceiver<SessionEvent>,
        events: crate::engine::messages::EventSender,
        claims: u64,
    }

    impl Stage {
        fn new() -> Self {
            let lease = Arc::new(Lease::default());
            let service = service(&lease);
            renew(&lease, clock::now() + Duration::from_mins(1));
            lease.start_incarnation(ME, Duration::ZERO);
            lease.set_home("here");
            let (events, heard) = mpsc::unbounded_channel();
            let key = key().as_bytes().to_vec();
            let row = LockRow {
                key,
                token: 50,
                holder: 0,
                grant: 0,
                conn: 0,
                want: 0,
                ticket: 0,
                run: 0,
            };
            Self { service, row, heard, events, claims: 0 }
        }

        fn claim(&mut self, conn: u64) -> oneshot::Receiver<Acquired> {
            self.ask(conn, false)
        }

        fn ask(&mut self, conn: u64, once: bool) -> oneshot::Receiver<Acquired> {
            self.claims += 1;
            let claim = Claim {
                name: plain(b"k", Flavour::MariaDb).expect("valid"),
                conn: ConnectionId(conn),
                backend: CurrentBackend::of(BackendId(conn)),
                owner: Arc::from(&b""[..]),
                once,
                holds: true,
                weight: 0,
                events: self.events.clone(),
                native: true,
                began: None,
            };
            let (reply, outcome) = oneshot::channel();
            self.service.request(EngineRequest::Acquire { id: self.claims, claim, reply });
            outcome
        }

        /// The next change, if there is one to send.
        fn send(&mut self) -> Option<LockChange> {
            let writer = self.service.writer.clone().expect("joined");
            let mut changes = self.service.gather(&writer);
            assert!(changes.len() <= 1);
            changes.pop()
        }

        /// The row is being read.
        fn begin_look(&mut self) {
            self.service.looks.ask(key());
            self.service.dispatch_reads();
        }

        /// The read comes back with the row as it is.
        fn end_look(&mut self) {
            let result = Ok((vec![self.row.clone()], HashSet::from([self.row.key.clone()])));
            self.service.finish_read(FinishedRead { keys: vec![key()], result });
        }

        fn look(&mut self) {
            self.begin_look();
            self.end_look();
        }

        /// The table's answer, where the server holds the lock for `holder`.
        fn answer(&mut self, change: LockChange, holder: Option<u64>) {
            let mut unproven = HashSet::new();
            if change.release == Some(RowRelease::of(self.row.token)) && self.row.holder == ME.0 {
                self.row.holder = 0;
            }
            if let Some(grant) = &change.acquire {
                let left = self.row.holder == 0 || self.row.run != 0;
                let waited = self.row.want != 0 && grant.turn != Precedence::Pass;
                if holder != Some(grant.conn.0) {
                    unproven.insert(change.key.clone());
                } else if left && !waited {
                    self.row.token = grant.token.max(self.row.token + 1);
                    (self.row.holder, self.row.grant) = (ME.0, grant.id);
                    (self.row.conn, self.row.run) = (grant.conn.0, run_number("here", 0));
                }
            }
            let writer = self.service.writer.clone().expect("joined");
            let missed = change.release.is_some() && self.row.holder != 0;
            let batch =
                Batch { writer, changes: vec![change], others: Arc::default(), stray: false };
            let (rows, guarded) = (vec![self.row.clone()], true);
            let result = BatchResult { rows, guarded, missed, unproven, base: None };
            self.service.finish(FinishedBatch { pipe: 0, batch, result: Ok((0, result)) });
        }

        /// A session that the server has granted the lock gets the row at its first attempt; its token.
        fn gets(&mut self, conn: u64) -> u64 {
            let mut outcome = self.claim(conn);
            let change = self.send().expect("a claim");
            self.answer(change, Some(conn));
            match outcome.try_recv() {
                Ok(Acquired::Granted(grant)) => grant.token,
                other => panic!("{other:?}"),
            }
        }

        fn release_later(&mut self, token: u64) {
            let locks = vec![(key(), token)];
            self.service.deferred.leave((locks, ME));
            self.service.request(EngineRequest::TakeDeferred);
        }

        fn held(&self) -> Option<u64> {
            self.service.keys.held(&key()).map(|held| held.conn.0)
        }

        fn see(&mut self, waiting: &[ProxyId]) {
            let others = Others { waiting: waiting.to_vec(), ..Others::default() };
            self.service.lease_event(LeaseEvent::Others(others));
        }
    }

    fn key() -> Key {
        plain(b"k", Flavour::MariaDb).expect("valid").key
    }

    #[test]
    fn a_claim_waits_for_no_session_here_and_ends_its_hold() {
        on_engine_thread(async {
            let mut stage = Stage::new();
            let first = stage.gets(51);
            let second = stage.gets(52);
            assert_eq!((stage.held(), stage.service.metrics.held.get()), (Some(52), 1));
            // A message of the session before about its lock comes too late.
            stage.release_later(first);
            let locks = vec![(key(), first)];
            stage.service.release_all(locks.clone(), ME, None);
            stage.service.watch(Some(BackendId(51)), locks, ME, "client");
            stage.service.keys.hurry();
            assert!(stage.send().is_none() && stage.service.watched == 0);
            assert!(stage.heard.try_recv().is_err(), "it is told nothing");
            stage.release_later(second);
            stage.service.keys.hurry();
            let release = stage.send().expect("a release");
            assert_eq!(
                (release.release, release.acquire.is_some()),
                (Some(RowRelease::of(second)), false)
            );
            stage.answer(release, None);
            assert_eq!((stage.held(), stage.service.metrics.held.get()), (None, 0));
        });
    }

    #[test]
    fn a_loop_of_lock_and_unlock_writes_once_a_turn() {
        on_engine_thread(async {
            let mut stage = Stage::new();
            let mut writes = 0;
            for _ in 0..10 {
                let mut outcome = stage.claim(51);
                while let Some(change) = stage.send() {
                    writes += 1;
                    stage.answer(change, Some(51));
                }
                let Ok(Acquired::Granted(grant)) = outcome.try_recv() else { panic!("granted") };
                stage.release_later(grant.token);
                assert!(stage.send().is_none(), "not at once");
            }
            assert_eq!(writes, 10);
            // The last one is released when its time has come, after those of the turns before it.
            while let Some(at) = stage.service.keys.later() {
                tokio::time::sleep_until(at).await;
                stage.service.keys.list_due();
            }
            let release = stage.send().expect("a release");
            stage.answer(release, None);
            assert_eq!((stage.row.holder, stage.held()), (0, None));
            assert!(stage.send().is_none());
        });
    }

    #[test]
    fn a_release_is_sent_after_all_if_the_claim_before_it_fails() {
        on_engine_thread(async {
            let mut stage = Stage::new();
            let first = stage.gets(51);
            stage.release_later(first);
            let mut vain = stage.claim(52);
            let claim = stage.send().expect("a claim");
            assert_eq!(claim.release, None);
            stage.answer(claim, None);
            assert_eq!(vain.try_recv(), Ok(Acquired::Unproven));
            let release = stage.send().expect("a release");
            assert_eq!(release.release, Some(RowRelease::of(first)));
            stage.answer(release, None);
            assert_eq!((stage.row.holder, stage.held()), (0, None));
        });
    }

    #[test]
    fn a_claim_in_vain_leaves_the_holder_its_lock() {
        on_engine_thread(async {
            let mut stage = Stage::new();
            stage.gets(51);
            let mut vain = stage.claim(52);
            let claim = stage.send().expect("a claim");
            stage.answer(claim, Some(51));
            assert_eq!(vain.try_recv(), Ok(Acquired::Unproven));
            assert_eq!(stage.held(), Some(51));
            assert!(stage.send().is_none());
        });
    }

    /// One change of a key is at the store at a time.
    #[test]
    fn a_claim_follows_one_that_is_under_way() {
        on_engine_thread(async {
            let mut stage = Stage::new();
            let _first = stage.claim(51);
            let change = stage.send().expect("a claim");
            let mut second = stage.claim(52);
            assert!(stage.send().is_none());
            stage.answer(change, Some(51));
            assert_eq!(stage.held(), Some(51));
            let change = stage.send().expect("the next claim");
            stage.answer(change, Some(52));
            assert!(matches!(second.try_recv(), Ok(Acquired::Granted(_))));
            assert_eq!(stage.held(), Some(52));
        });
    }

    #[test]
    fn a_claim_waits_while_a_row_is_held_in_another_way() {
        on_engine_thread(async {
            let mut stage = Stage::new();
            stage.see(&[OTHER]);
            (stage.row.holder, stage.row.conn) = (OTHER.0, 99);
            let mut waits = stage.claim(51);
            let change = stage.send().expect("an attempt");
            stage.answer(change, Some(51));
            assert!(stage.send().is_none(), "it waits for a look");
            assert!(waits.try_recv().is_err() && stage.service.poll.due().is_some());
            // The first session's lock at the server is lost, and another session has it.
            let mut next = stage.claim(52);
            stage.row.holder = 0;
            stage.service.look_at_remote(&key(), Some(&stage.row.clone()), true);
            let change = stage.send().expect("an attempt");
            stage.answer(change, Some(52));
            assert_eq!(waits.try_recv(), Ok(Acquired::Unproven));
            let change = stage.send().expect("the next one, at once");
            stage.answer(change, Some(52));
            assert!(matches!(next.try_recv(), Ok(Acquired::Granted(_))));
        });
    }

    #[test]
    fn a_claim_that_tries_once_is_refused_by_a_second_look() {
        on_engine_thread(async {
            let mut stage = Stage::new();
            stage.see(&[OTHER]);
            (stage.row.holder, stage.row.conn) = (OTHER.0, 99);
            stage.begin_look();
            let mut tries = stage.ask(51, true);
            let change = stage.send().expect("an attempt");
            stage.answer(change, Some(51));
            assert!(tries.try_recv().is_err(), "the holder may be about to let go");
            // Nor is a row that was read before the try.
            stage.end_look();
            assert!(tries.try_recv().is_err());
            // A row that the server's own lock is proof against is no reason to refuse.
            stage.row.run = run_number("here", 0);
            stage.look();
            assert!(tries.try_recv().is_err());
            stage.row.run = 0;
            stage.look();
            assert_eq!(tries.try_recv(), Ok(Acquired::NotFree));
        });
    }

    #[test]
    fn a_claim_that_is_proven_and_not_won_is_repeated_at_once_only_once() {
        on_engine_thread(async {
            let mut stage = Stage::new();
            let mut outcome = stage.claim(51);
            for (attempt, more) in [(1, true), (2, true), (3, false)] {
                let Some(change) = stage.send() else {
                    assert!(!more, "attempt {attempt}");
                    break;
                };
                let writer = stage.service.writer.clone().expect("joined");
                let batch =
                    Batch { writer, changes: vec![change], others: Arc::default(), stray: false };
                let result = BatchResult { guarded: true, ..BatchResult::default() };
                let result = Ok((0, result));
                stage.service.finish(FinishedBatch { pipe: 0, batch, result });
            }
            assert!(outcome.try_recv().is_err() && stage.service.poll.due().is_some());
        });
    }

    #[test]
    fn another_proxy_is_passed_by_sixteen_times() {
        on_engine_thread(async {
            let mut stage = Stage::new();
            stage.see(&[OTHER]);
            // A third one's session has had it.
            (stage.row.holder, stage.row.run) = (9, run_number("here", 0));
            stage.row.want = OTHER.0;
            let mut token = 0;
            for _ in 0..16 {
                token = stage.gets(51);
                stage.release_later(token);
            }
            let mut waits = stage.claim(51);
            let release = stage.send().expect("a release");
            assert_eq!(
                (release.release, release.acquire.is_some()),
                (Some(RowRelease::of(token)), false)
            );
            stage.answer(release, Some(51));
            assert!(stage.send().is_none() && waits.try_recv().is_err());
        });
    }

    #[test]
    fn a_native_row_that_is_another_ones_by_now_is_no_lost_lock() {
        on_engine_thread(async {
            let mut stage = Stage::new();
            let token = stage.gets(51);
            let (held, native) = {
                let now = stage.service.held_now(ME);
                (now.locks, now.native)
            };
            assert!(held.is_empty() && native.len() == 1);
            (stage.row.holder, stage.row.token) = (OTHER.0, token + 1);
            stage.release_later(token);
            assert!(stage.service.held_now(ME).native.is_empty());
            stage.service.keys.hurry();
            let release = stage.send().expect("a release");
            stage.answer(release, None);
            assert!(stage.heard.try_recv().is_err());
            assert_eq!((stage.held(), stage.service.metrics.lost_rows.get()), (None, 0));
        });
    }

    #[test]
    fn a_session_reads_its_locks_when_one_is_missing_twice_or_has_no_row() {
        on_engine_thread(async {
            let mut stage = Stage::new();
            let token = stage.gets(51);
            let hold = NativeHold { key: key(), token, conn: BackendId(51) };
            let gone = || Differences { gone: [hold.clone()].into(), more: HashSet::new() };
            for told in [false, true, true] {
                stage.service.differ(gone());
                assert_eq!(stage.heard.try_recv().is_ok(), told);
            }
            stage.service.differ(Differences::default());
            stage.service.differ(gone());
            assert!(stage.heard.try_recv().is_err(), "once");
            stage.release_later(token);
            stage.service.differ(gone());
            assert!(stage.heard.try_recv().is_err(), "its release is on the way");

            let events = stage.events.clone();
            let find = FindSessions::new(move |wanted| {
                wanted.iter().map(|conn| (*conn, events.clone())).collect()
            });
            stage.service.native = NativeMode::new(true, Some(find));
            let more = |conn| Differences {
                gone: HashSet::new(),
                more: [(BackendId(conn), key())].into(),
            };
            stage.service.differ(more(51));
            assert!(stage.heard.try_recv().is_err(), "it holds it");
            stage.service.differ(more(53));
            assert_eq!(stage.heard.try_recv(), Ok(SessionEvent::ReadLocks));
            let _claims = stage.claim(53);
            stage.service.differ(more(53));
            assert!(stage.heard.try_recv().is_err(), "its claim is on the way");
        });
    }
}
