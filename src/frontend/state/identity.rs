//! Whose session it is.

use std::sync::Arc;
use std::time::Duration;

use super::super::shared::activity::Activity;
use super::super::shared::registry::{Entry, SessionInfo};
use super::super::shared::waits::WaitingSession;
use crate::engine::shared::current_backend::CurrentBackend;
use crate::net::peer::Peer;
use crate::protocol::auth::Method;
use crate::protocol::user_name::UserName;
use crate::types::ConnectionId;

/// What a session is called: by itself, and by the server.
#[derive(Debug, Clone)]
pub(crate) struct SessionIds {
    /// The id that the client was told.
    pub connection: ConnectionId,
    /// The server's connection that works for it.
    pub backend: CurrentBackend,
}

/// Whose session it is, and its entry in the list of sessions.
#[derive(Debug)]
pub(crate) struct Identity {
    peer: Peer,
    /// How its user proved to be one.
    method: Method,
    /// The nonce by which its client has logged in.
    nonce: Box<[u8]>,
    /// When its connection to the server was opened, on the boot clock.
    opened: Duration,
    ids: SessionIds,
    /// user@host.
    owner: Arc<[u8]>,
    user: UserName,
    cluster: Option<Arc<str>>,
    entry: Entry,
}

impl Identity {
    /// The identity of a session after its login.
    pub(crate) fn new(
        peer: Peer,
        method: Method,
        opened: Duration,
        ids: SessionIds,
        (owner, user): (Arc<[u8]>, UserName),
        cluster: Option<Arc<str>>,
        entry: Entry,
    ) -> Self {
        let nonce = method.nonce.clone().into();
        Self { peer, method, nonce, opened, ids, owner, user, cluster, entry }
    }

    /// Where the client is.
    pub(crate) fn peer(&self) -> Peer {
        self.peer
    }

    /// The start of the server that works for it, if its connection has told it.
    pub(crate) fn run(&self) -> Option<i64> {
        self.ids.backend.run()
    }

    /// The id that the client was told.
    pub(crate) fn connection(&self) -> ConnectionId {
        self.ids.connection
    }

    /// user@host.
    pub(crate) fn owner(&self) -> &Arc<[u8]> {
        &self.owner
    }

    /// user@host, if another session with this owner has the same account. `None`: only the server can tell.
    pub(crate) fn certain_owner(&self) -> Option<&Arc<[u8]>> {
        self.user.certain().map(|_| &self.owner)
    }

    /// The owner as text.
    pub(crate) fn owner_text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.owner)
    }

    /// The session as one that waits for a lock.
    pub(crate) fn waiter(&self) -> WaitingSession {
        let SessionIds { connection, backend } = &self.ids;
        WaitingSession { conn: *connection, backend: backend.id(), owner: Arc::clone(&self.owner) }
    }

    /// How its user proved to be one; taken for another login on the open connection.
    pub(crate) fn take_method(&mut self) -> Method {
        std::mem::take(&mut self.method)
    }

    /// The nonce by which its client has logged in.
    pub(crate) fn nonce(&self) -> &[u8] {
        &self.nonce
    }

    /// How its user proved to be one, in another login.
    pub(crate) fn set_method(&mut self, method: Method) {
        self.method = method;
    }

    /// Gives the session to another user, after COM_CHANGE_USER.
    pub(crate) fn set_owner(&mut self, owner: Arc<[u8]>, user: UserName) {
        (self.owner, self.user) = (owner, user);
    }

    /// The user name of the session.
    pub(crate) fn user(&self) -> &UserName {
        &self.user
    }

    /// What the session does, as it says itself.
    pub(crate) fn activity(&self) -> &Activity {
        self.entry.activity()
    }

    /// Shows the session in the list, as it is now.
    pub(crate) fn show(&self, tls: bool) {
        self.entry.show(SessionInfo {
            cluster: self.cluster.clone(),
            connection: self.ids.connection,
            backend: self.ids.backend.clone(),
            owner: Arc::clone(&self.owner),
            user: self.user.clone(),
            peer: self.peer,
            tls,
            opened: self.opened,
        });
    }
}
