//! Rows that name this proxy as holder, and that no session of it has.

use std::collections::HashSet;
use std::sync::Arc;

use super::Service;
use crate::lock::name::Key;
use crate::store::statement::RowRelease;
use crate::types::ProxyId;

impl Service {
    /// Gives back rows that name this incarnation though no session here has the lock: a change of
    /// unknown outcome or a defect may have left them.
    pub(super) fn reconcile(&mut self, proxy: ProxyId, rows: Vec<(Key, u64)>) {
        let Some(writer) = self.writer.clone().filter(|w| w.proxy == proxy) else {
            return;
        };
        let known = |key: &Key, token: u64| {
            // A grant or release under way decides about the row.
            let in_flight = self.keys.get(key).is_some_and(|state| state.in_flight);
            let owned = self.keys.get(key).and_then(|state| state.owned.as_ref());
            in_flight || owned.is_some_and(|owned| owned.row() == token)
        };
        let suspects: HashSet<(Key, u64)> =
            rows.into_iter().filter(|(key, token)| !known(key, *token)).collect();
        // A release of a row that was read once may have been under way, so two readings decide.
        let ghosts: Vec<_> = suspects.intersection(&self.suspects).cloned().collect();
        self.suspects = suspects;
        for (key, token) in ghosts {
            tracing::warn!(token, "a lock row without a session was freed");
            self.metrics.ghosts.inc();
            self.pipes.give_back(Arc::clone(&writer), key, RowRelease::of(token));
        }
    }
}
