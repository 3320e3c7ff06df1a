//! Whose a pooled session is, and whether others may have the connection that it had.

use tokio::time::Instant;

use super::capture::Doubts;
use super::open::NewConnection;
use super::pins::{Pin, Pins};
use super::pooled_session::PooledSession;
use crate::backend::session_state::SessionState;
use crate::protocol::user_name::UserName;
use crate::types::Flavour;

/// An account that a session has changed to.
pub(crate) struct ChangedAccount {
    /// User name of the account.
    pub user: UserName,
    /// The first collation; `None`: as before.
    pub collation: Option<u8>,
    /// The default schema.
    pub schema: Option<Box<[u8]>>,
}

impl PooledSession {
    /// What another connection for the session is opened with.
    pub(crate) fn opening(&self, until: Instant) -> NewConnection<'_> {
        self.account.opening(until)
    }

    /// Whether more connections can be opened for the account: another login may have taught how.
    pub(crate) fn look_at_secrets(&mut self) {
        if self.pins.has(Pin::Auth) && !self.account.borrows_role() && self.account.opens() {
            self.pins.remove(Pin::Auth);
        }
    }

    /// The session has a connection.
    pub(crate) fn take_hold(&mut self) {
        self.place.take_hold(self.account.key(), self.pins);
        self.warnings.forget_renewals();
        self.audit.forget();
    }

    /// The session has started again as this account, on the connection that it has.
    pub(crate) fn change_user(&mut self, account: ChangedAccount) {
        let ChangedAccount { user, collation, schema } = account;
        let since = self.place.pool().accounts_as_of();
        self.account.change(user, collation, since);
        self.state = SessionState::at_login(schema, self.state.several);
        // A server may have kept something of the other account, which a login does not bring again.
        let doubts = Doubts::at_login(self.flavour).of_client(self.account.key().capabilities);
        let doubts = doubts.in_schema(self.state.schema.as_deref());
        self.doubts = Doubts { login: false, ..doubts };
        self.pins = Pins::default();
        self.prepared.clear(self.state.schema.is_some());
        self.show_statements();
        if !self.account.opens() {
            self.pins.add(Pin::Auth);
        }
        self.take_hold();
    }

    /// The active role, if it may be one that the session's account has not: MariaDB leaves it to the account that a
    /// session changes to.
    pub(crate) fn doubtful_role(&self) -> Option<&[u8]> {
        let role = self.state.role.as_deref().filter(|role| *role != b"NONE");
        role.filter(|_| self.account.is_foreign() && self.flavour == Flavour::MariaDb)
    }

    /// The active role is one that no other connection can be given.
    pub(crate) fn note_borrowed_role(&mut self) {
        self.account.note_borrowed_role();
        self.pins.add(Pin::Auth);
    }

    /// The session has no connection any more. Whether another one may have it that it had.
    pub(crate) fn leaves_connection(&mut self) -> bool {
        let (free, own) = (self.place.leave(), self.account.leave());
        free && own && !self.pins.has(Pin::Replication)
    }
}
