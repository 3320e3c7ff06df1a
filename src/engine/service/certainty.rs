//! Locks whose holder may be about to end: a session that tries one is refused only when it is certain
//! that the holder stays.
//!
//! A client that says COM_QUIT, or closes its connection, has released its locks as far as it knows. Another
//! connection that tries them next must not come before the proxy has noticed, and proven, the end.

use tokio::sync::oneshot;

use super::Service;
use super::doubts::{Doubt, PendingAnswer};
use super::keys::KeyState;
use super::looks::LookStage;
use crate::engine::messages::{Acquired, Look};
use crate::lock::name::Key;
use crate::types::ConnectionId;

impl Service {
    /// A session asks who has a lock.
    pub(super) fn look_up(&mut self, key: Key, reply: oneshot::Sender<Look>) {
        // A release on its way may have been carried out, and the lock be another proxy's.
        if !self.native.is_on && self.holder_here(&key).is_some() {
            self.doubts.enter(&key, PendingAnswer::Look(reply), self.keys.get(&key));
        } else {
            self.looks.ask_for(key, reply, LookStage::First);
        }
    }

    /// The session here that has the lock, as far as the lease vouches for it.
    fn holder_here(&self, key: &Key) -> Option<ConnectionId> {
        let held = self.keys.held(key)?;
        self.lease.vouches_for(self.incarnation()?).then_some(held.conn)
    }

    /// Ends doubts that have lasted long enough.
    pub(super) fn end_doubts(&mut self) {
        let over = self.doubts.take_due();
        self.settle_doubts(over);
    }

    /// A holder's client is there.
    pub(super) fn present(&mut self, conn: ConnectionId, question: u64) {
        let keys = &self.keys;
        let holds = |key: &Key| keys.held(key).is_some_and(|held| held.conn == conn);
        let over = self.doubts.take(|doubt| doubt.was_asked(question) && holds(&doubt.key));
        self.settle_doubts(over);
    }

    /// A key's change has come back: sessions that asked about it are told what its row says now. A
    /// session that tries is in the queue.
    pub(super) fn undoubt(&mut self, key: &Key) {
        if self.keys.get(key).is_some_and(KeyState::is_leaving) {
            return;
        }
        let asks = |doubt: &Doubt| matches!(doubt.answer, PendingAnswer::Look(_));
        let over = self.doubts.take(|doubt| doubt.key == *key && asks(doubt));
        self.settle_doubts(over);
    }

    fn settle_doubts(&mut self, over: Vec<Doubt>) {
        for doubt in over {
            let stays = doubt.has_question();
            let Doubt { key, answer, .. } = doubt;
            match answer {
                // Nobody has a lock whose release is only not stored yet: the try stays in the queue for it.
                PendingAnswer::Try(id)
                    if self.keys.get(&key).and_then(KeyState::holder).is_some() =>
                {
                    self.keys.leave(id, &key, Acquired::NotFree);
                }
                PendingAnswer::Try(_) => {}
                PendingAnswer::Look(reply) => match self.holder_here(&key).filter(|_| stays) {
                    Some(conn) => {
                        let _ = reply.send(Look::Used(conn));
                    }
                    None => self.looks.ask_for(key, reply, LookStage::First),
                },
                PendingAnswer::SecondLook(reply) => {
                    self.looks.ask_for(key, reply, LookStage::Again);
                }
                PendingAnswer::Owner(reply, asked) => {
                    self.looks.ask_for(key, reply, LookStage::Asked(asked));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::sync::mpsc;
    use tokio::time::Instant;

    use super::super::staged::{on_engine_thread, renew, service};
    use super::*;
    use crate::clock;
    use crate::engine::messages::{Claim, SessionEvent};
    use crate::engine::service::keys::LocalHold;
    use crate::engine::service::ownership::Owned;
    use crate::engine::shared::current_backend::CurrentBackend;
    use crate::engine::shared::lease::Lease;
    use crate::lock::name::plain;
    use crate::types::BackendId;
    use crate::types::{Flavour, ProxyId};

    /// A key held by connection 52 under token 101, and a try of connection 2.
    struct HeldKey {
        service: Service,
        key: Key,
        heard: mpsc::UnboundedReceiver<SessionEvent>,
    }

    impl HeldKey {
        fn new() -> Self {
            let lease = Arc::new(Lease::default());
            let mut service = service(&lease);
            renew(&lease, clock::now() + Duration::from_mins(1));
            lease.start_incarnation(ProxyId(7), Duration::ZERO);
            let key = plain(b"k", Flavour::MariaDb).expect("valid").key;
            let (events, heard) = mpsc::unbounded_channel();
            let (conn, since) = (ConnectionId(52), Instant::now());
            let held = LocalHold {
                token: 101,
                conn,
                name: Box::default(),
                owner: Arc::from(&b""[..]),
                backend: CurrentBackend::default(),
                run: 0,
                events,
                since,
                leaving: None,
                native: false,
            };
            let state = service.keys.enter(&key);
            (state.held, state.owned) = (Some(held), Some(Owned::granted(101, false)));
            Self { service, key, heard }
        }

        fn tries(&mut self, id: u64) -> oneshot::Receiver<Acquired> {
            let claim = Claim {
                name: plain(b"k", Flavour::MariaDb).expect("valid"),
                conn: ConnectionId(2),
                backend: CurrentBackend::of(BackendId(2)),
                owner: Arc::from(&b""[..]),
                once: true,
                holds: false,
                weight: 0,
                events: mpsc::unbounded_channel().0,
                native: false,
                began: None,
            };
            let (reply, outcome) = oneshot::channel();
            self.service.acquire(id, claim, reply);
            outcome
        }
    }

    #[test]
    fn a_try_hears_no_when_the_holder_was_looked_for() {
        on_engine_thread(async {
            let mut stage = HeldKey::new();
            let mut first = stage.tries(1);
            assert_eq!(stage.heard.try_recv(), Ok(SessionEvent::Look(1)));
            assert!(first.try_recv().is_err());
            // A session is in the queue already.
            assert_eq!(stage.tries(2).try_recv(), Ok(Acquired::NotFree));
            stage.service.present(ConnectionId(52), 1);
            assert_eq!(first.try_recv(), Ok(Acquired::NotFree));
            // An answer to an earlier question is none to a later one.
            let mut later = stage.tries(3);
            stage.service.present(ConnectionId(52), 1);
            assert!(later.try_recv().is_err());
        });
    }

    #[test]
    fn a_try_takes_what_a_leaving_session_releases() {
        on_engine_thread(async {
            let mut stage = HeldKey::new();
            let mut tried = stage.tries(1);
            stage.service.leaving(&[(stage.key.clone(), 101)], "client");
            // The session said so before it left.
            stage.service.present(ConnectionId(52), 1);
            assert!(tried.try_recv().is_err());
            stage.service.release_all(vec![(stage.key.clone(), 101)], ProxyId(7), None);
            stage.service.dispatch();
            let key_state = stage.service.keys.get(&stage.key);
            let granting = key_state.and_then(|state| state.granting.as_ref());
            assert_eq!(granting.map(|w| w.id), Some(1));
        });
    }

    /// The lock's release is at the store, which does not answer.
    #[test]
    fn a_try_is_not_refused_for_a_lock_that_nobody_has() {
        on_engine_thread(async {
            let mut stage = HeldKey::new();
            stage.service.release_all(vec![(stage.key.clone(), 101)], ProxyId(7), None);
            stage.service.dispatch();
            let mut tried = stage.tries(1);
            tokio::time::sleep_until(stage.service.doubts.due().expect("a doubt")).await;
            stage.service.end_doubts();
            assert!(tried.try_recv().is_err());
        });
    }

    #[test]
    fn nobody_waits_for_ever_for_certainty() {
        on_engine_thread(async {
            let mut stage = HeldKey::new();
            let mut tried = stage.tries(1);
            let end = stage.service.doubts.due().expect("a doubt");
            tokio::time::sleep_until(end).await;
            stage.service.end_doubts();
            assert_eq!(tried.try_recv(), Ok(Acquired::NotFree));
            assert!(stage.service.doubts.due().is_none());
        });
    }
}
