//! Looking at rows: for IS_FREE_LOCK and IS_USED_LOCK, and for locks that other proxies hold.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Service;
use super::looks::{LookStage, PendingLook};
use crate::engine::io::reader::FinishedRead;
use crate::engine::io::wakeup::WakeReason;
use crate::engine::messages::{Acquired, Look};
use crate::engine::service::keys::{KeyState, PendingRelease, Waiter};
use crate::lock::name::Key;
use crate::store::rows::LockRow;
use crate::types::{ConnectionId, ProxyId};

/// How long a free row is left to a proxy that does not take it.
const LEFT: Duration = Duration::from_millis(100);

/// In an epoch's grace nobody knows whether a lock is free: its holder may come.
const IN_GRACE: &str =
    "another server became the primary: whether the lock is free is known after the grace";

/// How long an owner that does not answer is waited for.
const ANSWERED: Duration = Duration::from_secs(5);

/// Whether the row of a proxy that keeps names says who has the lock. The owner writes each change of it first.
fn says_who(row: &LockRow) -> bool {
    row.conn != 0 && row.is_exact()
}

impl Service {
    /// Looks at the locks that other proxies hold and sessions here wait for.
    pub(super) fn poll_remote(&mut self) {
        self.poll.clear();
        for key in self.remote_keys() {
            self.looks.ask(key);
        }
    }

    /// A lock may be free for this proxy.
    pub(super) fn hear_ring(&mut self, reason: WakeReason) {
        // If it waits for one lock alone, no look is needed to know which it is.
        if reason == WakeReason::Rung
            && let Some(key) = self.only_placed_key()
        {
            if let Some(remote) = self.keys.get_mut(&key).and_then(|state| state.remote.as_mut()) {
                remote.attempt = true;
            }
            self.keys.list(&key);
        }
        self.poll_remote();
        self.look_at_owned();
    }

    /// The only key whose row names this proxy as waiting; none if there are several.
    fn only_placed_key(&self) -> Option<Key> {
        let placed = |s: &KeyState| s.remote.as_ref().is_some_and(|r| r.placed);
        let mut placed = self.keys.iter().filter(|(_, s)| placed(s) && !s.queue.is_empty());
        match (placed.next(), placed.next()) {
            (Some((key, _)), None) => Some(key.clone()),
            _ => None,
        }
    }

    fn remote_keys(&self) -> Vec<Key> {
        let awaits = |state: &KeyState| state.remote.is_some() && !state.queue.is_empty();
        self.keys.iter().filter(|(_, s)| awaits(s)).map(|(k, _)| k.clone()).collect()
    }

    pub(super) fn dispatch_reads(&mut self) {
        let Some(keys) = self.looks.next_read() else {
            return;
        };
        // While nobody can write, a probe would hold up the read.
        let writable = self.lease.unwritable().is_none();
        let waits = |state: &KeyState| state.remote.is_some() && !state.queue.is_empty();
        let remote = |key: &&Key| writable && self.keys.get(key).is_some_and(waits);
        let probed = keys.iter().filter(remote).cloned().collect();
        self.looks.send(keys, probed, Arc::clone(&self.others));
    }

    pub(super) fn finish_read(&mut self, read: FinishedRead) {
        let FinishedRead { keys, result } = read;
        let none = (Vec::new(), HashSet::new());
        let ((rows, at_rest), error) = match result {
            Ok(read) => (read, None),
            Err(e) => (none, Some(e.to_string())),
        };
        // Locks may be granted elsewhere, of which these rows know nothing.
        let obstacle = self.lease.obstacle();
        self.last_token = rows.iter().fold(self.last_token, |last, row| last.max(row.token));
        let rows: HashMap<&[u8], &LockRow> = rows.iter().map(|r| (r.key.as_slice(), r)).collect();
        for key in keys {
            let row = rows.get(key.as_bytes()).copied();
            let look = match (error.as_ref().or(obstacle.as_ref()), row) {
                (Some(e), _) => Look::Failed(e.clone()),
                (None, Some(r))
                    if self.is_held(r) && !self.is_servers(r) && !self.is_nobodys(&key, r) =>
                {
                    Look::Used(ConnectionId(r.conn))
                }
                (None, _) if self.lease.reign().grace_left().is_some() => {
                    Look::Failed(IN_GRACE.to_owned())
                }
                (None, _) => Look::Free,
            };
            for pending in self.looks.answered(&key) {
                self.answer_look(&key, row, &look, pending);
            }
            if error.is_none() {
                if let Some(row) = row {
                    self.see_wanted(&key, row);
                }
                let rests = row.is_none() || at_rest.contains(key.as_bytes());
                self.look_at_remote(&key, row, rests);
            }
        }
        let waiting = !self.remote_keys().is_empty();
        // Only another live proxy would ring.
        self.listen(waiting);
        if waiting {
            self.poll.plan_next();
        } else {
            self.poll.clear();
        }
    }

    /// Answers a session that asked about a key, or looks again where what was read may change at once.
    fn answer_look(&mut self, key: &Key, row: Option<&LockRow>, look: &Look, pending: PendingLook) {
        let PendingLook { reply, stage } = pending;
        let used = row.filter(|_| matches!(look, Look::Used(_)));
        let keeps = |row: &LockRow| self.others.keeping.contains(&ProxyId(row.holder));
        match (stage, used) {
            (LookStage::First, Some(row)) if keeps(row) && !says_who(row) => {
                self.ask_owner(key, reply);
            }
            (LookStage::First, Some(_)) => self.doubts.enter_second_look(key, reply),
            (LookStage::Asked(asked), Some(row))
                if keeps(row) && !says_who(row) && asked.elapsed() < ANSWERED =>
            {
                self.doubts.enter_asked(key, reply, asked);
                self.ask_again(key, row);
            }
            (stage, _) => {
                let _ = reply.send(look.clone());
                if matches!(stage, LookStage::Asked(_)) {
                    self.end_asking(key);
                }
            }
        }
    }

    /// The question to the owner of a name may have been answered for an earlier hold, or not have been sent.
    fn ask_again(&mut self, key: &Key, row: &LockRow) {
        let me = self.writer.as_ref().map(|writer| writer.proxy.0);
        if Some(row.want) == me || self.others.waiting.contains(&ProxyId(row.want)) {
            return;
        }
        if let Some(state) = self.keys.get_mut(key) {
            state.asks = true;
            self.keys.list(key);
        }
    }

    /// Another proxy may want a name that is owned here.
    fn see_wanted(&mut self, key: &Key, row: &LockRow) {
        let mine = self.writer.as_ref().is_some_and(|writer| writer.proxy.0 == row.holder);
        if mine && self.others.waiting.contains(&ProxyId(row.want)) {
            self.recall(key, row.asks());
        }
    }

    /// Whether sessions here ask the server itself about this lock, and not its row.
    fn is_servers(&self, row: &LockRow) -> bool {
        self.native.is_on && self.is_native_here(row)
    }

    /// Whether a row names this proxy for a grant that no client knows of or will be told. The client has got an error
    /// while the outcome was unknown, or has been told that the lock is released. The row goes back soon.
    fn is_nobodys(&self, key: &Key, row: &LockRow) -> bool {
        let mine = self.incarnation().is_some_and(|proxy| proxy.0 == row.holder);
        let told = || {
            let Some(state) = self.keys.get(key) else { return false };
            let kept = state.release.as_ref().is_none_or(PendingRelease::is_awaited);
            state.held.is_some() && kept || state.granting.as_ref().is_some_and(Waiter::is_awaited)
        };
        mine && !told()
    }

    fn is_held(&self, row: &LockRow) -> bool {
        row.holder != 0 && !self.others.clean.contains(&ProxyId(row.holder))
    }

    /// Takes in a look, for the sessions that wait here. `rests`: no transaction is at the row.
    pub(super) fn look_at_remote(&mut self, key: &Key, row: Option<&LockRow>, rests: bool) {
        let held = row.is_some_and(|r| self.is_held(r));
        let of_servers = row.is_some_and(|r| self.is_native_here(r));
        let me = self.writer.as_ref().map(|w| w.proxy.0);
        let rival = row.map(|r| r.want).filter(|w| self.others.waiting.contains(&ProxyId(*w)));
        let Some(state) = self.keys.get_mut(key) else {
            return;
        };
        let Some(remote) = state.remote.as_mut().filter(|_| !state.queue.is_empty()) else {
            return;
        };
        if held {
            remote.left_to = None;
            let token = row.map_or(0, |r| r.token);
            for waiter in state.queue.iter_mut().filter(|w| w.ticket == 0) {
                waiter.ticket = token;
            }
            // A session that tries once is refused. Not if its claim ends the hold, if the row was read before it came, or if
            // only the owner knows who has the lock.
            let keeps = |row: &LockRow| self.others.keeping.contains(&ProxyId(row.holder));
            let unsaid = row.is_some_and(|row| keeps(row) && !says_who(row));
            let read = self.looks.began();
            let refused = |w: &&mut Waiter| {
                let told = !unsaid || w.since.elapsed() >= ANSWERED;
                w.claim.once && !(w.claim.native && of_servers) && told && w.since <= read
            };
            for waiter in state.queue.iter_mut().filter(refused) {
                waiter.answer(Acquired::NotFree);
            }
            state.queue.retain(|w| w.reply.is_some());
            let since = state.queue.front().map(|w| w.ticket);
            let first = row.is_some_and(|r| since.is_some_and(|since| since < r.ticket));
            remote.placed = row.is_some_and(|r| me == Some(r.want));
            remote.asks |= unsaid;
            remote.attempt = !remote.placed && since.is_some() && (rival.is_none() || first);
        } else if let Some(rival) = rival {
            let now = Instant::now();
            match remote.left_to {
                Some((to, since)) if to == rival => {
                    remote.take = since.elapsed() >= LEFT;
                    remote.attempt = remote.take && rests;
                }
                _ => remote.left_to = Some((rival, now)),
            }
            self.poll.quicken();
        } else {
            remote.attempt = rests;
            self.poll.quicken();
        }
        let ready = state.may_grant() || state.withdraws();
        if !self.keys.forget_if_idle(key) && ready {
            self.keys.list(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::{mpsc, oneshot};

    use super::super::staged::{on_engine_thread, renew, service};
    use super::*;
    use crate::clock;
    use crate::engine::messages::{Claim, EventSender, SessionEvent};
    use crate::engine::service::countdown::Countdown;
    use crate::engine::service::keys::LocalHold;
    use crate::engine::shared::current_backend::CurrentBackend;
    use crate::engine::shared::lease::Lease;
    use crate::lock::name::plain;
    use crate::store::statement::{EXACT, Others};
    use crate::types::{BackendId, Flavour};

    #[test]
    fn a_question_is_not_answered_by_a_read_from_before_it() {
        on_engine_thread(async {
            let mut service = service(&Arc::new(Lease::default()));
            let key = plain(b"k", Flavour::MariaDb).expect("valid").key;
            let ask = |service: &mut Service| {
                let (reply, answer) = oneshot::channel();
                service.look_up(key.clone(), reply);
                service.dispatch_reads();
                answer
            };
            let mut early = ask(&mut service);
            let mut late = ask(&mut service);
            let keys = vec![key.clone()];
            service.finish_read(FinishedRead { keys, result: Ok(Default::default()) });
            assert_eq!(early.try_recv(), Ok(Look::Free));
            assert!(late.try_recv().is_err(), "the next read is for this one");
            service.dispatch_reads();
            service.finish_read(FinishedRead {
                keys: vec![key.clone()],
                result: Ok(Default::default()),
            });
            assert_eq!(late.try_recv(), Ok(Look::Free));
        });
    }

    /// A client that got an error does not find the lock that it asked for in its own name.
    #[test]
    fn a_grant_that_no_client_is_told_of_is_not_reported() {
        on_engine_thread(async {
            for (leaves, expected) in [(true, Look::Free), (false, Look::Used(ConnectionId(2)))] {
                let lease = Arc::new(Lease::default());
                let mut service = service(&lease);
                renew(&lease, clock::now() + Duration::from_mins(1));
                lease.start_incarnation(ProxyId(7), Duration::ZERO);
                let key = plain(b"k", Flavour::MariaDb).expect("valid").key;
                let claim = Claim {
                    name: plain(b"k", Flavour::MariaDb).expect("valid"),
                    conn: ConnectionId(2),
                    backend: CurrentBackend::of(BackendId(2)),
                    owner: Arc::from(&b""[..]),
                    once: false,
                    holds: false,
                    weight: 0,
                    events: mpsc::unbounded_channel().0,
                    native: false,
                    began: None,
                };
                let (reply, outcome) = oneshot::channel();
                service.acquire(1, claim, reply);
                // At the store, and its outcome is not known.
                service.dispatch();
                let outcome = Some(outcome).filter(|_| !leaves);
                let (asked, mut answer) = oneshot::channel();
                service.looks.ask_for(key.clone(), asked, LookStage::Again);
                service.dispatch_reads();
                let row = LockRow {
                    key: key.as_bytes().to_vec(),
                    token: 101,
                    holder: 7,
                    grant: 1,
                    conn: 2,
                    want: 0,
                    ticket: 0,
                    run: 0,
                };
                let result = Ok((vec![row], HashSet::new()));
                service.finish_read(FinishedRead { keys: vec![key.clone()], result });
                assert_eq!(answer.try_recv(), Ok(expected));
                drop(outcome);
            }
        });
    }

    /// The row of an owner that keeps names may be older than the lock.
    #[test]
    fn a_row_that_is_not_exact_does_not_tell_who_has_the_lock() {
        on_engine_thread(async {
            let lease = Arc::new(Lease::default());
            let mut service = service(&lease);
            renew(&lease, clock::now() + Duration::from_mins(1));
            lease.start_incarnation(ProxyId(7), Duration::ZERO);
            let keeping = vec![ProxyId(8)];
            service.others =
                Arc::new(Others { waiting: keeping.clone(), keeping, ..<_>::default() });
            let key = plain(b"k", Flavour::MariaDb).expect("valid").key;
            let (asked, mut answer) = oneshot::channel();
            service.looks.ask_for(key.clone(), asked, LookStage::First);
            for (grant, conn) in [(1, 5), (2, 0), (3 | EXACT, 0), (4 | EXACT, 5)] {
                let mut look = answer.try_recv();
                assert!(look.is_err(), "{grant}: {look:?}");
                service.dispatch_reads();
                let row = LockRow {
                    key: key.as_bytes().to_vec(),
                    token: 101,
                    holder: 8,
                    grant,
                    conn,
                    want: 0,
                    ticket: 0,
                    run: 0,
                };
                let result = Ok((vec![row], HashSet::new()));
                service.finish_read(FinishedRead { keys: vec![key.clone()], result });
                look = answer.try_recv();
                if let Ok(look) = look {
                    assert_eq!((look, conn), (Look::Used(ConnectionId(5)), 5));
                    return;
                }
                // The question is sent, and asked again, until the row is exact.
                let state = service.keys.get_mut(&key).expect("a question");
                assert!(std::mem::take(&mut state.asks));
                tokio::time::sleep(super::super::doubts::SECOND_LOOK * 2).await;
                service.end_doubts();
            }
            panic!("no answer");
        });
    }

    /// Token 101, of connection 52.
    fn hold_of_52(events: EventSender) -> LocalHold {
        LocalHold {
            token: 101,
            conn: ConnectionId(52),
            name: Box::default(),
            owner: Arc::from(&b""[..]),
            backend: CurrentBackend::default(),
            run: 0,
            events,
            since: Instant::now(),
            leaving: None,
            native: false,
        }
    }

    /// While the lock tables cannot be written, RELEASE_LOCK is answered before its row is free.
    #[test]
    fn a_lock_whose_release_was_answered_is_not_reported() {
        on_engine_thread(async {
            let lease = Arc::new(Lease::default());
            let mut service = service(&lease);
            renew(&lease, clock::now() + Duration::from_mins(1));
            lease.start_incarnation(ProxyId(7), Duration::ZERO);
            let key = plain(b"k", Flavour::MariaDb).expect("valid").key;
            let (events, _) = mpsc::unbounded_channel();
            service.keys.enter(&key).held = Some(hold_of_52(events));
            let (done, awaited) = oneshot::channel();
            let done = Countdown::new(done);
            service.release_all(vec![(key.clone(), 101)], ProxyId(7), Some(&done));
            let mut awaited = Some(awaited);
            for expected in [Look::Used(ConnectionId(52)), Look::Free] {
                let (asked, mut answer) = oneshot::channel();
                service.looks.ask_for(key.clone(), asked, LookStage::Again);
                service.dispatch_reads();
                let (key, token, conn) = (key.as_bytes().to_vec(), 101, 52);
                let (grant, want, ticket, run) = (1, 0, 0, 0);
                let row = LockRow { key, token, holder: 7, grant, conn, want, ticket, run };
                let result = Ok((vec![row], HashSet::new()));
                let keys = vec![plain(b"k", Flavour::MariaDb).expect("valid").key];
                service.finish_read(FinishedRead { keys, result });
                assert_eq!(answer.try_recv(), Ok(expected));
                // The session that released the lock goes on.
                drop(awaited.take());
            }
        });
    }

    /// The release may have been carried out already, and the lock be another proxy's.
    #[test]
    fn a_holder_who_has_let_go_is_not_named_from_memory() {
        on_engine_thread(async {
            let lease = Arc::new(Lease::default());
            let mut service = service(&lease);
            renew(&lease, clock::now() + Duration::from_mins(1));
            lease.start_incarnation(ProxyId(7), Duration::ZERO);
            let key = plain(b"k", Flavour::MariaDb).expect("valid").key;
            let (events, mut heard) = mpsc::unbounded_channel();
            let held = hold_of_52(events);
            service.keys.enter(&key).held = Some(held);
            let ask = |service: &mut Service| {
                let (reply, answer) = oneshot::channel();
                service.look_up(key.clone(), reply);
                answer
            };
            let mut answer = ask(&mut service);
            assert_eq!(heard.try_recv(), Ok(SessionEvent::Look(1)));
            assert!(answer.try_recv().is_err(), "its client may have left");
            service.present(ConnectionId(52), 1);
            assert_eq!(answer.try_recv(), Ok(Look::Used(ConnectionId(52))));
            service.release_all(vec![(key.clone(), 101)], ProxyId(7), None);
            let mut answer = ask(&mut service);
            assert!(answer.try_recv().is_err(), "the release decides");
            service.keys.clear();
            service.undoubt(&key);
            service.dispatch_reads();
            service.finish_read(FinishedRead {
                keys: vec![key.clone()],
                result: Ok(Default::default()),
            });
            assert_eq!(answer.try_recv(), Ok(Look::Free));
        });
    }
}
