//! Joining and leaving the queue of a lock.

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Service;
use super::doubts::PendingAnswer;
use super::standstill::is_taken;
use crate::engine::io::deadlock_detector::Victim;
use crate::engine::messages::{Acquired, Claim};
use crate::engine::service::keys::{KeyState, Waiter};
use crate::engine::shared::wait_graph::Wait;
use crate::lock::name::Key;
use crate::types::ConnectionId;

impl Service {
    pub(super) fn acquire(&mut self, id: u64, claim: Claim, reply: oneshot::Sender<Acquired>) {
        if claim.native {
            return self.claim(id, claim, reply);
        }
        let key = claim.name.key.clone();
        let writer = self.writer.as_ref();
        let granting = writer.is_some_and(|w| self.lease.allows_grants(w.proxy));
        let state = self.keys.enter(&key);
        let since = Instant::now();
        let mut waiter =
            Waiter { id, claim, reply: Some(reply), ticket: 0, edge: None, since, hurried: false };
        if state.owned.is_some() && state.queue.is_empty() && state.held.is_none() {
            state.queue.push_back(waiter);
            if self.grant_in_memory(&key) {
                return;
            }
            let Some(back) = self.keys.get_mut(&key).and_then(|state| state.queue.pop_back())
            else {
                return;
            };
            waiter = back;
        }
        let Some(state) = self.keys.get_mut(&key) else { return };
        // Another session here has it or is first: no trip to the store can change that.
        let wanted = state.granting.as_ref().is_some_and(|first| first.reply.is_some());
        let before = wanted || !state.queue.is_empty();
        if waiter.claim.once && granting && !before && state.held.is_some() {
            state.queue.push_back(waiter);
            self.doubts.enter(&key, PendingAnswer::Try(id), self.keys.get(&key));
            return;
        }
        if waiter.claim.once && (before || !granting) {
            let taken = before || is_taken(state);
            let refusal = self.lease.unwritable().filter(|_| !taken);
            waiter.answer(refusal.map_or(Acquired::NotFree, Acquired::Failed));
            self.keys.forget_if_idle(&key);
            return;
        }
        waiter.ticket = state.held.as_ref().map_or(0, |h| h.token);
        let Claim { conn, once, holds, weight, .. } = waiter.claim;
        if !once {
            let wait = Wait { id, key: key.clone(), weight, holds, since };
            waiter.edge = Some(self.waits.enter(conn, wait));
        }
        state.queue.push_back(waiter);
        if state.remote.is_some() {
            self.poll.start_now();
        }
        self.keys.list(&key);
        if holds && !once {
            self.end_deadlocks_of(conn);
        }
    }

    /// Ends the deadlocks that a new wait closes.
    fn end_deadlocks_of(&mut self, conn: ConnectionId) {
        loop {
            let holder = |key: &Key| self.keys.get(key).and_then(KeyState::holder);
            let Some((victim, circle)) = self.waits.victim(conn, holder) else {
                return;
            };
            let by = circle.iter().find(|(_, key)| *key == victim.key).map_or(conn, |(c, _)| *c);
            let circle = circle.into_iter().map(|(conn, key)| (conn, key.shown())).collect();
            self.deadlocks.note(false, by, circle);
            self.keys.leave(victim.id, &victim.key, Acquired::Deadlock);
        }
    }

    /// Ends a deadlock in which other proxies take part.
    pub(super) fn give_up(&mut self, Victim { id, key, circle }: Victim) {
        // A wait whose grant is under way is no part of the circle any more.
        let queue = self.keys.get(&key).map(|state| &state.queue);
        let waits = queue.and_then(|queue| queue.iter().find(|w| w.id == id));
        if let Some(conn) = waits.map(|waiter| waiter.claim.conn) {
            self.deadlocks.note(true, conn, circle);
            self.keys.leave(id, &key, Acquired::Deadlock);
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
    use crate::engine::shared::current_backend::CurrentBackend;
    use crate::engine::shared::lease::Lease;
    use crate::lock::name::plain;
    use crate::types::BackendId;
    use crate::types::{Flavour, ProxyId};

    fn claim(name: &[u8], conn: u64, once: bool) -> Claim {
        Claim {
            name: plain(name, Flavour::MariaDb).expect("valid"),
            conn: ConnectionId(conn),
            backend: CurrentBackend::of(BackendId(conn)),
            owner: Arc::from(&b""[..]),
            once,
            holds: true,
            weight: 0,
            events: mpsc::unbounded_channel().0,
            native: false,
            began: None,
        }
    }

    fn ask(service: &mut Service, id: u64, claim: Claim) -> oneshot::Receiver<Acquired> {
        let (reply, outcome) = oneshot::channel();
        service.acquire(id, claim, reply);
        outcome
    }

    fn granting() -> Service {
        let lease = Arc::new(Lease::default());
        let service = service(&lease);
        renew(&lease, clock::now() + Duration::from_mins(1));
        lease.start_incarnation(ProxyId(7), Duration::ZERO);
        service
    }

    #[test]
    fn a_try_is_refused_for_a_grant_that_is_under_way_if_it_is_wanted() {
        on_engine_thread(async {
            let mut service = granting();
            let key = plain(b"k", Flavour::MariaDb).expect("valid").key;
            let _first = ask(&mut service, 1, claim(b"k", 1, false));
            service.dispatch();
            let mut second = ask(&mut service, 2, claim(b"k", 2, true));
            assert_eq!(second.try_recv(), Ok(Acquired::NotFree));
            service.keys.leave(1, &key, Acquired::NotFree);
            let mut third = ask(&mut service, 3, claim(b"k", 3, true));
            assert!(third.try_recv().is_err());
        });
    }

    /// A grant for a session that no longer wants it goes back: no session waits for it.
    #[test]
    fn a_session_that_gave_up_holds_nobody_up() {
        on_engine_thread(async {
            for gives_up in [true, false] {
                let mut service = granting();
                let _one = ask(&mut service, 1, claim(b"k", 1, false));
                let _two = ask(&mut service, 2, claim(b"l", 2, false));
                service.dispatch();
                let key = plain(b"k", Flavour::MariaDb).expect("valid").key;
                if gives_up {
                    service.keys.leave(1, &key, Acquired::NotFree);
                }
                // Of each session the grant is at the store; each wants the other one's lock too.
                let _first = ask(&mut service, 3, claim(b"l", 1, false));
                let mut closing = ask(&mut service, 4, claim(b"k", 2, false));
                let deadlock = matches!(closing.try_recv(), Ok(Acquired::Deadlock));
                assert_eq!(deadlock, !gives_up);
            }
        });
    }
}
