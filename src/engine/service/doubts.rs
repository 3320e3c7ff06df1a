//! Locks whose holder may be about to go: who wants one at once hears no only when that is certain.
//!
//! A client that says COM_QUIT, or hangs up, has released its locks as far as it knows. Another
//! connection that tries them next must not come before the proxy has noticed, and proven, the end.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Service;
use super::row_reads::PendingLook;
use crate::engine::messages::{Acquired, Look, SessionEvent};
use crate::engine::service::keys::KeyState;
use crate::lock::name::Key;
use crate::types::ConnectionId;

/// How long the release of a session that ends is waited for.
const LEAVING: Duration = Duration::from_secs(1);
/// How long a session may take to look for its client. One that is busy runs something for it.
const LOOKING: Duration = Duration::from_millis(100);
/// When a row that another proxy holds is looked at a second time.
pub(super) const SECOND_LOOK: Duration = Duration::from_millis(10);

/// Whoever waits for certainty.
pub(super) enum PendingAnswer {
    /// The waiter of this id, who tries once.
    Tries(u64),
    /// A session asks about the key.
    Asks(oneshot::Sender<Look>),
    /// The same where another proxy holds it, before the second look.
    AsksAgain(oneshot::Sender<Look>),
}

/// A wait for certainty.
pub(super) struct Doubt {
    key: Key,
    who: PendingAnswer,
    until: Instant,
    /// What its holder was asked; none if that is leaving.
    question: Option<u64>,
}

impl Service {
    /// A session asks who has a lock.
    pub(super) fn look(&mut self, key: Key, reply: oneshot::Sender<Look>) {
        // A release on its way may have been carried out, and the lock be another proxy's.
        if self.holder_here(&key).is_some() {
            self.doubt(&key, PendingAnswer::Asks(reply));
        } else {
            self.ask_about(key).push(PendingLook::new(reply));
        }
    }

    /// The session here that has the lock, as far as the lease vouches for it.
    fn holder_here(&self, key: &Key) -> Option<ConnectionId> {
        let held = self.keys.get(key)?.held.as_ref()?;
        let writer = self.writer.as_ref()?;
        self.lease.vouches_for(writer.proxy).then_some(held.conn)
    }

    /// Lets somebody wait who wants a key that a session here holds.
    pub(super) fn doubt(&mut self, key: &Key, who: PendingAnswer) {
        let state = self.keys.get(key);
        let question = match state.filter(|s| !s.is_leaving()).and_then(|s| s.held.as_ref()) {
            Some(held) => {
                self.questions += 1;
                // Without a session that hears it, its release is on the way.
                let asked = held.events.send(SessionEvent::Look(self.questions));
                asked.is_ok().then_some(self.questions)
            }
            None => None,
        };
        let pause = if question.is_some() { LOOKING } else { LEAVING };
        self.doubts.push(Doubt { key: key.clone(), who, until: Instant::now() + pause, question });
    }

    /// Lets somebody wait for the second look.
    pub(super) fn look_again(&mut self, key: &Key, reply: oneshot::Sender<Look>) {
        let (who, until) = (PendingAnswer::AsksAgain(reply), Instant::now() + SECOND_LOOK);
        self.doubts.push(Doubt { key: key.clone(), who, until, question: None });
    }

    /// When the first doubt ends.
    pub(super) fn doubts_end(&self) -> Option<Instant> {
        self.doubts.iter().map(|doubt| doubt.until).min()
    }

    /// Ends those that have waited long enough.
    pub(super) fn end_doubts(&mut self) {
        let now = Instant::now();
        self.resolve(|doubt| doubt.until <= now);
    }

    /// A holder's client is there.
    pub(super) fn present(&mut self, conn: ConnectionId, question: u64) {
        let asked = |doubt: &Doubt| doubt.question.is_some_and(|q| q <= question);
        let holder = |state: &KeyState| state.held.as_ref().is_some_and(|h| h.conn == conn);
        let (over, doubts) = std::mem::take(&mut self.doubts)
            .into_iter()
            .partition(|doubt| asked(doubt) && self.keys.get(&doubt.key).is_some_and(holder));
        self.doubts = doubts;
        self.settle_doubts(over);
    }

    /// Those that asked its holder wait for the release instead.
    pub(super) fn wait_for_release(&mut self, key: &Key) {
        for doubt in self.doubts.iter_mut().filter(|d| d.key == *key && d.question.is_some()) {
            doubt.question = None;
            doubt.until = Instant::now() + LEAVING;
        }
    }

    /// A key's change has come back: who asked about it is told what its row says now. A session that tries is
    /// in the queue.
    pub(super) fn undoubt(&mut self, key: &Key) {
        if self.doubts.is_empty() || self.keys.get(key).is_some_and(KeyState::is_leaving) {
            return;
        }
        self.resolve(|doubt| doubt.key == *key && matches!(doubt.who, PendingAnswer::Asks(_)));
    }

    fn resolve(&mut self, is_over: impl Fn(&Doubt) -> bool) {
        let (over, doubts) = std::mem::take(&mut self.doubts).into_iter().partition(is_over);
        self.doubts = doubts;
        self.settle_doubts(over);
    }

    fn settle_doubts(&mut self, over: Vec<Doubt>) {
        for Doubt { key, who, question, .. } in over {
            match who {
                PendingAnswer::Tries(id) => self.leave(id, &key, Acquired::NotFree),
                PendingAnswer::Asks(reply) => {
                    match self.holder_here(&key).filter(|_| question.is_some()) {
                        Some(conn) => {
                            let _ = reply.send(Look::Used(conn));
                        }
                        None => self.ask_about(key).push(PendingLook::new(reply)),
                    }
                }
                PendingAnswer::AsksAgain(reply) => {
                    self.ask_about(key).push(PendingLook::again(reply))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::mpsc;

    use super::super::staged::{on_engine_thread, renew, service};
    use super::*;
    use crate::clock;
    use crate::engine::messages::Claim;
    use crate::engine::service::keys::LocalHold;
    use crate::engine::shared::lease::Lease;
    use crate::lock::name::plain;
    use crate::types::{Flavour, ProxyId};

    /// A key held by connection 52 under token 101, and a try of connection 2.
    struct Stage {
        service: Service,
        key: Key,
        heard: mpsc::UnboundedReceiver<SessionEvent>,
    }

    impl Stage {
        fn new() -> Self {
            let lease = Arc::new(Lease::default());
            let mut service = service(&lease);
            renew(&lease, clock::now() + Duration::from_mins(1));
            lease.begin(ProxyId(7), Duration::ZERO);
            let key = plain(b"k", Flavour::MariaDb).expect("valid").key;
            let (events, heard) = mpsc::unbounded_channel();
            let (conn, since) = (ConnectionId(52), Instant::now());
            let held = LocalHold { token: 101, conn, run: 0, events, since, leaving: false };
            service.keys.entry(key.clone()).or_default().held = Some(held);
            Self { service, key, heard }
        }

        fn tries(&mut self, id: u64) -> oneshot::Receiver<Acquired> {
            let claim = Claim {
                name: plain(b"k", Flavour::MariaDb).expect("valid"),
                conn: ConnectionId(2),
                owner: Arc::from(&b""[..]),
                once: true,
                holds: false,
                weight: 0,
                events: mpsc::unbounded_channel().0,
            };
            let (reply, outcome) = oneshot::channel();
            self.service.acquire(id, claim, reply);
            outcome
        }
    }

    #[test]
    fn a_try_hears_no_when_the_holder_was_looked_for() {
        on_engine_thread(async {
            let mut stage = Stage::new();
            let mut first = stage.tries(1);
            assert_eq!(stage.heard.try_recv(), Ok(SessionEvent::Look(1)));
            assert!(first.try_recv().is_err());
            // The queue has somebody.
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
            let mut stage = Stage::new();
            let mut tried = stage.tries(1);
            stage.service.leaving(&[(stage.key.clone(), 101)]);
            // What the session said before it left.
            stage.service.present(ConnectionId(52), 1);
            assert!(tried.try_recv().is_err());
            stage.service.release_all(vec![(stage.key.clone(), 101)], ProxyId(7), None);
            stage.service.dispatch();
            let granting = stage.service.keys[&stage.key].granting.as_ref();
            assert_eq!(granting.map(|w| w.id), Some(1));
        });
    }

    #[test]
    fn nobody_waits_for_ever_for_certainty() {
        on_engine_thread(async {
            let mut stage = Stage::new();
            let mut tried = stage.tries(1);
            let end = stage.service.doubts_end().expect("a doubt");
            tokio::time::sleep_until(end).await;
            stage.service.end_doubts();
            assert_eq!(tried.try_recv(), Ok(Acquired::NotFree));
            assert!(stage.service.doubts_end().is_none());
        });
    }
}
