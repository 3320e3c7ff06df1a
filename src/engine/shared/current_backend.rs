//! The server's connection that works for a session now, as everyone knows it who may have to end it.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::config::HostPort;
use crate::servers::writer::Destination;
use crate::types::{BackendId, ProxyId};

/// The server's connection that works for a session now, if one does. Copies speak of the same session.
#[derive(Debug, Clone, Default)]
pub struct CurrentBackend(Arc<Mutex<Option<Assigned>>>);

#[derive(Debug, Clone)]
struct Assigned {
    id: BackendId,
    /// Where it leads, if that is known.
    to: Option<Destination>,
    /// The server's start, where the connection has told it.
    run: Option<i64>,
    /// How many are ending it at the server.
    condemned: u32,
    /// The incarnation that it was tagged with at its login, if that is known.
    mark: Option<ProxyId>,
}

/// Whether a connection that a session gives back may work for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    /// No KILL for this session is on its way to the connection.
    Allowed,
    /// A KILL for this session is on its way to the connection, and would hit the next session there.
    Forbidden,
}

impl CurrentBackend {
    /// The place of a session that has this connection.
    pub fn of(id: BackendId) -> Self {
        let current = Self::default();
        current.set(id, None, None);
        current
    }

    /// From here on this connection works for the session. `run`: the server's start, if the connection has told it.
    pub fn set(&self, id: BackendId, run: Option<i64>, to: Option<Destination>) {
        *self.0.lock() = Some(Assigned { id, to, run, condemned: 0, mark: None });
    }

    /// Whether the connection leads to a server that is not the writer any more.
    pub fn is_left(&self) -> bool {
        self.0.lock().as_ref().and_then(|now| now.to.as_ref()).is_some_and(Destination::is_left)
    }

    /// The server where the connection leads, if that is known.
    pub fn server(&self) -> Option<HostPort> {
        Some(self.0.lock().as_ref()?.to.as_ref()?.backend().clone())
    }

    /// Whether the connection leads to another server than the writer, where ids are that server's own.
    pub fn is_at_replica(&self) -> bool {
        self.at_replica().is_some()
    }

    /// Where the connection leads, if that is another server than the writer.
    pub fn at_replica(&self) -> Option<Destination> {
        self.0.lock().as_ref()?.to.clone().filter(Destination::is_replica)
    }

    /// The connection was tagged with this incarnation at its login.
    pub fn note_mark(&self, mark: Option<ProxyId>) {
        if let Some(assigned) = &mut *self.0.lock() {
            assigned.mark = mark;
        }
    }

    /// Whether a takeover of this incarnation finds the connection by its tag.
    pub fn is_marked(&self, proxy: ProxyId) -> bool {
        self.0.lock().as_ref().is_some_and(|assigned| assigned.mark == Some(proxy))
    }

    /// The connection has told the server's start.
    pub fn note_run(&self, run: i64) {
        if let Some(assigned) = &mut *self.0.lock() {
            assigned.run = Some(run);
        }
    }

    /// The server's start, if the connection has told it. A connection that has not is of the run in which its
    /// session's locks were granted.
    pub fn run(&self) -> Option<i64> {
        self.0.lock().as_ref().and_then(|assigned| assigned.run)
    }

    /// The session has no connection from here on.
    pub fn clear(&self) -> Reuse {
        match self.0.lock().take() {
            Some(Assigned { condemned: 1.., .. }) => Reuse::Forbidden,
            Some(_) | None => Reuse::Allowed,
        }
    }

    /// The id of the connection at this moment. A moment later, the connection may be another session's.
    pub fn id(&self) -> Option<BackendId> {
        self.0.lock().as_ref().map(|assigned| assigned.id)
    }

    /// Whether somebody ends the connection at the server.
    pub fn is_condemned(&self) -> bool {
        self.0.lock().as_ref().is_some_and(|assigned| assigned.condemned > 0)
    }

    /// The connection, to be ended at the server, and the server's start as [`Self::run`] says: it works for no other
    /// session any more.
    pub fn condemn(&self) -> Option<(BackendId, Option<i64>)> {
        let mut assigned = self.0.lock();
        assigned.as_mut().map(|assigned| {
            assigned.condemned = assigned.condemned.saturating_add(1);
            (assigned.id, assigned.run)
        })
    }

    /// The server has refused to end the connection: nothing of that is on its way any more.
    pub fn pardon(&self, id: BackendId) {
        if let Some(assigned) = self.0.lock().as_mut().filter(|assigned| assigned.id == id) {
            assigned.condemned = assigned.condemned.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_is_being_ended_goes_to_nobody_else() {
        let current = CurrentBackend::of(BackendId(7));
        let other = current.clone();
        assert_eq!(other.id(), Some(BackendId(7)));
        assert_eq!(current.clear(), Reuse::Allowed);
        assert_eq!((other.id(), other.condemn()), (None, None), "there is nothing to end");
        current.set(BackendId(8), Some(7), None);
        assert_eq!(other.run(), Some(7));
        assert!(!current.is_condemned());
        assert_eq!(other.condemn(), Some((BackendId(8), Some(7))));
        assert!(current.is_condemned());
        assert_eq!(current.clear(), Reuse::Forbidden);
        current.set(BackendId(9), None, None);
        assert_eq!(other.run(), None);
        assert_eq!(current.clear(), Reuse::Allowed, "the next one was not ended");
    }

    #[test]
    fn a_connection_that_the_server_does_not_end_goes_to_others_again() {
        let current = CurrentBackend::of(BackendId(7));
        current.condemn();
        current.condemn();
        current.pardon(BackendId(7));
        assert!(current.is_condemned(), "another one ends it");
        current.pardon(BackendId(8));
        assert!(current.is_condemned(), "it is another connection");
        current.pardon(BackendId(7));
        current.pardon(BackendId(7));
        assert_eq!(current.clear(), Reuse::Allowed);
    }
}
