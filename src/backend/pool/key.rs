//! Which sessions may have the same connection.

use crate::protocol::capabilities::Capabilities;

/// Sessions with equal keys may have the same connection, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolKey {
    /// The account's user name. The server sees the proxy's host for all.
    pub user: Box<[u8]>,
    /// What was agreed upon, but for what the proxy makes equal.
    pub capabilities: Capabilities,
    /// The connection is encrypted.
    pub tls: bool,
}

/// What the proxy makes equal on each connection, or keeps from the server.
const MADE_EQUAL: Capabilities = Capabilities(
    Capabilities::HOPS.0
        | Capabilities::SESSION_TRACK.0
        | Capabilities::MULTI_STATEMENTS.0
        | Capabilities::CONNECT_WITH_DB.0
        | Capabilities::CONNECT_ATTRS.0
        | Capabilities::PLUGIN_AUTH.0
        | Capabilities::PLUGIN_AUTH_LENENC.0,
);

impl PoolKey {
    /// Of a session of this account that speaks `capabilities`.
    pub fn new(user: &[u8], capabilities: Capabilities, tls: bool) -> Self {
        Self { user: user.into(), capabilities: capabilities.without(MADE_EQUAL), tls }
    }

    /// Of the same session as another account.
    #[must_use]
    pub fn of_user(&self, user: Box<[u8]>) -> Self {
        Self { user, ..self.clone() }
    }
}
