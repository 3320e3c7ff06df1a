//! The sessions that held locks of this process's incarnations when those ended. A takeover of such an incarnation waits for
//! them, not for the sessions that its rows name: a row may be older than its lock.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::types::ProxyId;

/// By incarnation; `None` until its sessions are known.
#[derive(Debug, Default)]
pub struct FencedSessions(Mutex<HashMap<ProxyId, Option<Vec<u64>>>>);

/// What is known of an incarnation's sessions.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine) enum Fenced {
    /// The incarnation never ended here: its rows tell.
    Unknown,
    /// The sessions are soon known.
    Soon,
    /// The server's ids of their connections.
    Known(Vec<u64>),
}

impl FencedSessions {
    /// An incarnation is over; its sessions follow.
    pub(in crate::engine) fn begin(&self, proxy: ProxyId) {
        self.0.lock().insert(proxy, None);
    }

    /// The connections of the sessions that held its locks.
    pub(in crate::engine) fn ended(&self, proxy: ProxyId, connections: Vec<u64>) {
        if let Some(known) = self.0.lock().get_mut(&proxy) {
            *known = Some(connections);
        }
    }

    /// The sessions of an incarnation.
    pub(in crate::engine) fn of(&self, proxy: ProxyId) -> Fenced {
        match self.0.lock().get(&proxy) {
            None => Fenced::Unknown,
            Some(None) => Fenced::Soon,
            Some(Some(connections)) => Fenced::Known(connections.clone()),
        }
    }

    /// Nobody asks for them any more.
    pub(in crate::engine) fn forget(&self, proxy: ProxyId) {
        self.0.lock().remove(&proxy);
    }
}
