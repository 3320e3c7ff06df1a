//! Events from the keeper of the lease: a new incarnation, its end, and the other ones.

use std::sync::Arc;

use super::keys::Remote;
use super::{Service, events};
use crate::engine::messages::{LeaseEvent, SessionEvent};
use crate::engine::shared::history::FENCED;
use crate::store::statement::{BatchWriter, Others};
use crate::types::ProxyId;

impl Service {
    pub(super) fn lease_event(&mut self, event: LeaseEvent) {
        match event {
            LeaseEvent::Joined(writer) => {
                self.moving = None;
                self.writer = Some(Arc::new(writer));
                self.keys.list_all();
            }
            LeaseEvent::Fenced(proxy) => self.fence(proxy),
            LeaseEvent::Asked(locks) => self.release_by_force(locks),
            LeaseEvent::Others(others) => self.see_others(others),
            LeaseEvent::Restarted { proxy, run, reply } => {
                self.go_on(proxy, run);
                let _ = reply.send(self.held_now(proxy));
            }
            LeaseEvent::Moving { proxy, reply } => drop(reply.send(self.begin_move(proxy))),
            LeaseEvent::Moved { writer, lost, reply } => {
                self.end_move(writer, &lost);
                let _ = reply.send(());
            }
            LeaseEvent::Read { proxy, rows } => self.reconcile(proxy, rows),
            LeaseEvent::Compared { proxy, lost, reply } => {
                self.lose(proxy, lost);
                let _ = reply.send(());
            }
        }
    }

    /// The incarnation is over: its locks are lost, and its sessions are told.
    fn fence(&mut self, proxy: ProxyId) {
        let writer = self.writer.take().or(self.moving.take());
        self.keys.unlist_all();
        let mut unwanted = Vec::new();
        let mut ended = Vec::new();
        for (key, state) in self.keys.iter_mut() {
            // The session that asked for the release may live on; the takeover of the row would end it.
            let owned = state.owned.take();
            let released = state.release.take().is_some();
            let release =
                owned.filter(|_| released && !state.in_flight).map(|owned| owned.release());
            unwanted.extend(release.map(|release| (key.clone(), release)));
            // The key's place in a row went with the incarnation.
            state.remote = state.remote.take().map(|_| Remote::default());
            if let Some(held) = state.held.take() {
                ended.extend(held.backend.id().filter(|_| !released).map(|id| id.0));
                // The session closes itself; if it is gone already, so are its bytes.
                let _ = held.events.send(SessionEvent::Fence(proxy));
                events::ended((&self.metrics, &self.history), key, held, FENCED);
            }
        }
        self.keys.forget_idle();
        self.fenced.ended(proxy, ended);
        let Some(writer) = writer else { return };
        for (key, release) in unwanted {
            self.pipes.give_back(Arc::clone(&writer), key, release);
        }
    }

    /// The incarnation goes on in another run of the server. What an earlier run has granted and is not held yet,
    /// is given back: nobody compares its row.
    fn go_on(&mut self, proxy: ProxyId, run: i64) {
        if let Some(writer) = self.writer.as_ref().filter(|writer| writer.proxy == proxy) {
            self.writer = Some(Arc::new(BatchWriter { run, ..writer.as_ref().clone() }));
            self.keys.list_all();
        }
    }

    fn see_others(&mut self, others: Others) {
        self.peers.send_replace(!others.waiting.is_empty());
        self.modes.see(&others);
        let windows = self.others.know_windows;
        self.others = Arc::new(others);
        if windows && !self.others.know_windows {
            self.write_ahead();
        }
        self.poll.hurry();
    }
}
