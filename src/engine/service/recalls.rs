//! Names that one proxy owns and another one wants. The row of an owned name may be older than its lock, so the owner is asked: the
//! row names the proxy that asks, and its owner is rung.

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Service;
use super::ownership::{Due, Owned};
use crate::engine::messages::Look;
use crate::lock::name::Key;
use crate::store::rows::LockRow;
use crate::store::statement::GrantAttempt;
use crate::types::ProxyId;

impl Service {
    /// Another proxy wants an owned name: it is told who has the lock, or gets the name.
    /// `asks`: it only wants to know who has the lock.
    pub(super) fn recall(&mut self, key: &Key, asks: bool) {
        let Some(state) = self.keys.get_mut(key) else { return };
        let (unused, (token, _)) = (state.is_unused(), state.hold());
        let in_flight = state.in_flight;
        let Some(owned) = &mut state.owned else { return };
        if owned.is_wanted() {
            if in_flight || owned.due().is_some() {
                return;
            }
            // The change that was due may have come to nothing.
        } else if self.keeping.is_on() || owned.is_ahead() {
            owned.want();
            self.metrics.recalls.with_label_values(&["received"]).inc();
            self.keeping.let_wander(key);
        } else {
            return;
        }
        if unused {
            owned.set_due(Due::GiveBack);
        } else if owned.is_behind(token) {
            owned.set_due(Due::Show);
        } else if asks || !owned.is_exact() {
            owned.set_due(Due::Answer);
        } else {
            return;
        }
        self.keys.list(key);
    }

    /// The row names this proxy as waiting, or another one: its owner is rung.
    pub(super) fn owner_was_asked(
        &mut self,
        key: &Key,
        acquire: &GrantAttempt,
        row: Option<&LockRow>,
        current: bool,
    ) {
        let Some(row) = row.filter(|_| current) else { return };
        let me = self.writer.as_ref().map(|writer| writer.proxy.0);
        if Some(row.holder) == me && acquire.id == row.grant {
            // There was no row.
            if let Some(state) = self.keys.get_mut(key) {
                let mut owned = Owned::granted(row.token, false);
                owned.want();
                owned.set_due(Due::GiveBack);
                state.owned = Some(owned);
            }
            return;
        }
        let placed = Some(row.want) == me;
        if let Some(state) = self.keys.get_mut(key) {
            state.remote.get_or_insert_default().placed = placed;
        }
        if self.others.keeping.contains(&ProxyId(row.holder)) {
            let _ = self.rings.send(ProxyId(row.holder));
            self.metrics.recalls.with_label_values(&["sent"]).inc();
        }
    }

    /// Asks the owner of a name who has the lock, for a session that asks.
    pub(super) fn ask_owner(&mut self, key: &Key, reply: oneshot::Sender<Look>) {
        let state = self.keys.enter(key);
        state.asks = true;
        state.asking += 1;
        let asked = Instant::now();
        self.doubts.enter_asked(key, reply, asked);
        self.keys.list(key);
    }

    /// Such a session has its answer.
    pub(super) fn end_asking(&mut self, key: &Key) {
        let Some(state) = self.keys.get_mut(key) else { return };
        state.asking = state.asking.saturating_sub(1);
        let withdraws = state.withdraws();
        if !self.keys.forget_if_idle(key) && withdraws {
            self.keys.list(key);
        }
    }

    /// Has the doorbell hung while other proxies may ring.
    pub(super) fn listen(&self, waits: bool) {
        let owns = self.keeping.owns();
        self.listens.send_if_modified(|listens| {
            let wanted = (waits || owns) && !self.others.waiting.is_empty();
            std::mem::replace(listens, wanted) != wanted
        });
    }

    /// Keys that other proxies may want.
    pub(super) fn owned_keys(&self) -> Vec<Key> {
        let owned =
            self.keys.iter().filter(|(_, state)| state.owned.as_ref().is_some_and(Owned::is_ahead));
        owned.map(|(key, _)| key.clone()).collect()
    }

    /// Reads whether other proxies want what is owned here.
    pub(super) fn look_at_owned(&mut self) {
        for key in self.owned_keys() {
            self.looks.ask(key);
        }
    }
}
