//! Which sessions may have the same connection.

use std::time::Duration;

use crate::net::certificates::LegTls;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::user_name::UserName;

/// What tells which sessions may have the same connection, one after the other: all that the server judges a login by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolKey {
    /// The account's user name. The server sees the proxy's host for all.
    pub user: UserName,
    /// What was agreed upon, but for what the proxy makes equal.
    pub capabilities: Capabilities,
    /// How the connection is encrypted.
    pub tls: LegTls,
    /// When accounts or their privileges had changed last at the login, on the boot clock. A connection that is older has
    /// other privileges.
    pub since: Duration,
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
    /// The key of a session of this account that speaks `capabilities`.
    pub fn new(user: UserName, capabilities: Capabilities, tls: LegTls, since: Duration) -> Self {
        Self { user, capabilities: capabilities.without(MADE_EQUAL), tls, since }
    }

    /// The key of the same session as another account, or at another login.
    #[must_use]
    pub fn of_user(&self, user: UserName, since: Duration) -> Self {
        Self { user, since, ..self.clone() }
    }

    /// Whether a session with this key may have a connection of the other key that was opened then.
    pub fn suits(&self, other: &Self, opened: Duration) -> bool {
        let Self { user, capabilities, tls, since } = self;
        let same = *user == other.user && *capabilities == other.capabilities && *tls == other.tls;
        user.certain().is_some() && same && opened > *since
    }
}
