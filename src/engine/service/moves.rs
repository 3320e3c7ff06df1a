//! The incarnation goes from one epoch into another, and takes its locks along.
//!
//! From the list of what is held to the end of the move, nothing is sent. No batch of the former epoch counts: its
//! grants are in no list.

use std::collections::HashSet;
use std::sync::Arc;

use super::keys::Remote;
use super::ownership::Due;
use super::{Service, events};
use crate::engine::shared::history::RELEASED;
use crate::lock::name::Key;
use crate::store::statement::BatchWriter;
use crate::store::succession::CarriedLock;
use crate::types::ProxyId;

impl Service {
    /// The incarnation, even while it moves.
    pub(super) fn incarnation(&self) -> Option<ProxyId> {
        self.writer.as_ref().or(self.moving.as_ref()).map(|writer| writer.proxy)
    }

    /// Nothing is sent from now on. What is held, locks on their way back included: their release is repeated.
    pub(super) fn begin_move(&mut self, proxy: ProxyId) -> Vec<CarriedLock> {
        if let Some(writer) = self.writer.take_if(|writer| writer.proxy == proxy) {
            self.moving = Some(writer);
        }
        if self.moving.as_ref().is_none_or(|writer| writer.proxy != proxy) {
            return Vec::new();
        }
        let held = self.keys.iter().filter_map(|(key, state)| Some((key, state.held.as_ref()?)));
        held.map(|(key, held)| CarriedLock {
            key: key.clone(),
            token: held.token,
            conn: held.conn,
            name: held.name.clone(),
            owner: Arc::clone(&held.owner),
        })
        .collect()
    }

    /// The locks are held in the writer's epoch, but for those that are lost.
    pub(super) fn end_move(&mut self, writer: BatchWriter, lost: &HashSet<Key>) {
        if self.moving.take_if(|moving| moving.proxy == writer.proxy).is_none() {
            return;
        }
        self.writer = Some(Arc::new(writer));
        for (key, state) in self.keys.iter_mut() {
            // The key's place in a row was one at another server.
            state.remote = state.remote.take().map(|_| Remote::default());
            // The lock was released at the former server already, though this proxy was not told, and another one has
            // it.
            if lost.contains(key)
                && let Some(release) = state.release.take()
                && let Some(held) = state.held.take_if(|held| held.token == release.token)
            {
                events::ended((&self.metrics, &self.history), key, held, RELEASED);
            }
        }
        for key in lost {
            if let Some(held) = self.keys.held(key) {
                self.tell_lost(key, held.token, held);
                self.end_statement(held);
                self.lost.insert((key.clone(), held.token));
            }
        }
        self.own_anew(lost);
        self.keys.forget_idle();
        self.keys.list_all();
        self.poll.start_now();
    }

    /// Rows of held locks were written in the new epoch, with their tokens. Names that no session has are let go.
    fn own_anew(&mut self, lost: &HashSet<Key>) {
        for (key, state) in self.keys.iter_mut() {
            let Some(owned) = &mut state.owned else { continue };
            match &state.held {
                _ if lost.contains(key) => state.owned = None,
                Some(held) => owned.carried(held.token),
                // A copy of the row may name this incarnation still.
                None => {
                    owned.want();
                    owned.set_due(Due::GiveBack);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::{mpsc, oneshot};
    use tokio::time::Instant;

    use super::super::staged::{on_engine_thread, renew, service};
    use super::*;
    use crate::clock;
    use crate::engine::io::pipe::{Batch, FinishedBatch};
    use crate::engine::messages::{Claim, EngineRequest, LeaseEvent, SessionEvent};
    use crate::engine::service::keys::LocalHold;
    use crate::engine::service::ownership::Owned;
    use crate::engine::shared::current_backend::CurrentBackend;
    use crate::engine::shared::lease::Lease;
    use crate::lock::name::plain;
    use crate::store::batch::BatchResult;
    use crate::store::rows::LockRow;
    use crate::store::statement::RowRelease;
    use crate::types::{BackendId, ConnectionId, Flavour};

    fn key(name: &str) -> Key {
        plain(name.as_bytes(), Flavour::MariaDb).expect("valid").key
    }

    /// A service whose connection 52 has this lock under the token 101.
    fn holder(lease: &Arc<Lease>, name: &str) -> (Service, mpsc::UnboundedReceiver<SessionEvent>) {
        let mut service = service(lease);
        renew(lease, clock::now() + Duration::from_mins(1));
        lease.start_incarnation(ProxyId(7), Duration::ZERO);
        let (events, heard) = mpsc::unbounded_channel();
        let held = LocalHold {
            token: 101,
            conn: ConnectionId(52),
            name: name.as_bytes().into(),
            owner: Arc::from(&b"a@b"[..]),
            backend: CurrentBackend::default(),
            run: 0,
            events,
            since: Instant::now(),
            leaving: None,
            native: false,
        };
        let state = service.keys.enter(&key(name));
        (state.held, state.owned) = (Some(held), Some(Owned::granted(101, false)));
        (service, heard)
    }

    fn later_epoch() -> BatchWriter {
        BatchWriter { schema: "lockstead".into(), proxy: ProxyId(7), epoch: 2, base: 900, run: 9 }
    }

    fn release(service: &mut Service) -> oneshot::Receiver<()> {
        let (reply, done) = oneshot::channel();
        let locks = vec![(key("k"), 101)];
        service.request(EngineRequest::Release { locks, proxy: ProxyId(7), reply });
        done
    }

    #[test]
    fn a_release_during_a_move_is_sent_after_it() {
        on_engine_thread(async {
            let (mut service, _heard) = holder(&Arc::default(), "k");
            let held = service.begin_move(ProxyId(7));
            assert_eq!((held.len(), held[0].token, &*held[0].name), (1, 101, &b"k"[..]));
            let mut done = release(&mut service);
            service.dispatch();
            assert_eq!(done.try_recv(), Err(oneshot::error::TryRecvError::Empty));
            service.end_move(later_epoch(), &HashSet::new());
            let writer = service.writer.clone().expect("it goes on");
            let sent = service.gather(&writer);
            assert_eq!((writer.epoch, sent[0].release), (2, Some(RowRelease::of(101))));
        });
    }

    #[test]
    fn a_lock_that_was_lost_ends_its_session_unless_it_was_to_be_released() {
        on_engine_thread(async {
            for releases in [true, false] {
                let (mut service, mut heard) = holder(&Arc::default(), "k");
                let done = releases.then(|| release(&mut service));
                service.begin_move(ProxyId(7));
                service.end_move(later_epoch(), &HashSet::from([key("k")]));
                let told = heard.try_recv().ok();
                assert_eq!(told, (!releases).then_some(SessionEvent::Lost(101)));
                assert_eq!(service.keys.held(&key("k")).is_some(), !releases);
                if let Some(mut done) = done {
                    assert_eq!(done.try_recv(), Ok(()));
                }
            }
        });
    }

    /// A grant of the former epoch is in no list of what was held: the new primary may never have got it.
    #[test]
    fn a_grant_of_the_former_epoch_is_told_to_nobody() {
        on_engine_thread(async {
            for late in [false, true] {
                let (mut service, _heard) = holder(&Arc::default(), "other");
                let (reply, mut outcome) = oneshot::channel();
                let claim = Claim {
                    name: plain(b"k", Flavour::MariaDb).expect("valid"),
                    conn: ConnectionId(1),
                    backend: CurrentBackend::of(BackendId(1)),
                    owner: Arc::from(&b""[..]),
                    once: false,
                    holds: false,
                    weight: 0,
                    events: mpsc::unbounded_channel().0,
                    native: false,
                    began: None,
                };
                service.request(EngineRequest::Acquire { id: 1, claim, reply });
                let writer = service.writer.clone().expect("joined");
                let changes = service.gather(&writer);
                let grant = changes[0].acquire.clone().expect("a grant");
                let row = LockRow {
                    key: key("k").as_bytes().to_vec(),
                    token: grant.token,
                    holder: 7,
                    grant: grant.id,
                    conn: 1,
                    want: 0,
                    ticket: 0,
                    run: 0,
                };
                assert_eq!(service.begin_move(ProxyId(7)).len(), 1, "the other lock");
                if late {
                    // Both servers seem to be of the same run.
                    service.end_move(BatchWriter { run: 0, ..later_epoch() }, &HashSet::new());
                }
                let rows = vec![row];
                let result = Ok((0, BatchResult { rows, guarded: true, ..BatchResult::default() }));
                let batch = Batch { writer, changes, others: Arc::default(), stray: false };
                service.finish(FinishedBatch { pipe: 0, batch, result });
                assert!(outcome.try_recv().is_err(), "waits on");
                assert!(service.keys.held(&key("k")).is_none());
            }
        });
    }

    #[test]
    fn the_end_of_an_incarnation_that_moves_ends_its_locks() {
        on_engine_thread(async {
            let (mut service, mut heard) = holder(&Arc::default(), "k");
            service.begin_move(ProxyId(7));
            service.lease_event(LeaseEvent::Fenced(ProxyId(7)));
            assert_eq!(heard.try_recv(), Ok(SessionEvent::Fence(ProxyId(7))));
            assert!(service.moving.is_none() && service.keys.held(&key("k")).is_none());
        });
    }
}
