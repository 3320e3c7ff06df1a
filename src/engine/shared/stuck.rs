//! Locks of dead proxies and ended sessions that stay held until an operator helps.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use crate::metrics::Metrics;
use crate::types::ProxyId;

/// Takeovers that do not get on, and why; and ended sessions that cannot be seen to their end.
#[derive(Debug, Default)]
pub struct Stuck {
    takeovers: Mutex<BTreeMap<ProxyId, String>>,
    sessions: Mutex<Option<String>>,
}

impl Stuck {
    /// Why the takeover of a dead proxy does not get on; `None` once it does.
    pub(in crate::engine) fn takeover(&self, metrics: &Metrics, id: ProxyId, why: Option<String>) {
        let mut takeovers = self.takeovers.lock();
        match why {
            Some(why) => drop(takeovers.insert(id, why)),
            None => drop(takeovers.remove(&id)),
        }
        show(metrics, "proxy", takeovers.len());
    }

    /// Why this many ended sessions keep their locks.
    pub(in crate::engine) fn sessions(&self, metrics: &Metrics, many: usize, why: Option<String>) {
        show(metrics, "session", if why.is_some() { many } else { 0 });
        *self.sessions.lock() = why;
    }

    /// Why the locks of a dead proxy stay held.
    pub fn of(&self, id: ProxyId) -> Option<String> {
        self.takeovers.lock().get(&id).cloned()
    }

    /// Everything that keeps locks held, in words.
    pub fn all(&self) -> Vec<String> {
        let takeovers = self.takeovers.lock();
        let proxies = takeovers
            .iter()
            .map(|(id, why)| format!("the locks of the dead proxy {id} stay held: {why}"));
        let sessions = self.sessions.lock();
        let sessions =
            sessions.iter().map(|why| format!("locks of ended sessions stay held: {why}"));
        proxies.chain(sessions).collect()
    }
}

fn show(metrics: &Metrics, of: &str, many: usize) {
    metrics.stuck.with_label_values(&[of]).set(i64::try_from(many).unwrap_or(i64::MAX));
}
