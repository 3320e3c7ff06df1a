//! Whose session it is that shares its connections, and whether others may have the connection that it had.

use std::sync::Arc;

use tokio::time::Instant;

use super::capture::Doubts;
use super::named::NamedTexts;
use super::open::NewConnection;
use super::pins::{Pin, Pins};
use super::pooled_session::PooledSession;
use crate::backend::session_state::SessionState;
use crate::engine::shared::current_backend::Reuse;
use crate::mutants::{self, Mutant};
use crate::protocol::user_name::UserName;
use crate::types::Flavour;

/// An account that a session has changed to.
pub(crate) struct ChangedAccount {
    /// Its user name.
    pub user: UserName,
    /// The first collation; `None`: as before.
    pub collation: Option<u8>,
    /// The default schema.
    pub schema: Option<Box<[u8]>>,
}

impl PooledSession {
    /// What another connection for the session is opened with.
    pub(crate) fn opening(&self, until: Instant) -> NewConnection<'_> {
        let Self { key, collation, secrets, .. } = self;
        NewConnection { key, collation: *collation, secrets, until }
    }

    /// Whether more connections can be opened for the account: another login may have taught how.
    pub(crate) fn look_at_secrets(&mut self) {
        if self.pins.has(Pin::Auth) && !self.borrows_role && self.secrets.opens_for(&self.key.user)
        {
            self.pins.remove(Pin::Auth);
        }
    }

    /// The session has a connection.
    pub(crate) fn take_hold(&mut self) {
        let nudge = Arc::clone(&self.nudge);
        let hold = self.pool.hold(&self.key, move || nudge());
        hold.note_reasons(self.pins.names());
        self.hold = Some(hold);
        self.renewals = 0;
        self.forget_audits();
    }

    /// The session has started again as this account, on the connection that it has.
    pub(crate) fn change_user(&mut self, account: ChangedAccount) {
        let ChangedAccount { user, collation, schema } = account;
        // Whether an uncertain one is the same, only the server knows.
        if self.key.user != user || user.certain().is_none() {
            self.foreign = true;
            let of_user = Arc::new(self.key.of_user(user));
            self.key = mutants::or(Mutant::LendAcrossAccounts, of_user, Arc::clone(&self.key));
        }
        self.collation = collation.unwrap_or(self.collation);
        self.state = SessionState::at_login(schema, self.state.several);
        self.login_names = None;
        // A server may have kept something of the other account, which a login does not bring again.
        let doubts = Doubts::at_login(self.flavour).of_client(self.key.capabilities);
        let doubts = doubts.in_schema(self.state.schema.as_deref());
        self.doubts = Doubts { login: false, ..doubts };
        self.pins = Pins::default();
        self.statements.clear(self.state.schema.is_some());
        self.show_statements();
        self.named = NamedTexts::default();
        self.borrows_role = false;
        if !self.secrets.opens_for(&self.key.user) {
            self.pins.add(Pin::Auth);
        }
        self.take_hold();
    }

    /// The active role, if it may be one that the session's account has not: MariaDB leaves it to the account that a
    /// session changes to.
    pub(crate) fn doubtful_role(&self) -> Option<&[u8]> {
        let role = self.state.role.as_deref().filter(|role| *role != b"NONE");
        role.filter(|_| self.foreign && self.flavour == Flavour::MariaDb)
    }

    /// It is such a role: no other connection can be given it.
    pub(crate) fn note_borrowed_role(&mut self) {
        self.borrows_role = true;
        self.pins.add(Pin::Auth);
    }

    /// The session has no connection any more. Returns whether another one may have it that it had.
    pub(crate) fn leaves_connection(&mut self) -> bool {
        self.hold = None;
        self.asked = false;
        let foreign = std::mem::take(&mut self.foreign);
        let denied = std::mem::take(&mut self.denied);
        let reuse = self.current.clear();
        let foreign = mutants::or(Mutant::LendAcrossAccounts, foreign, false);
        reuse == Reuse::Allowed && !foreign && !denied && !self.pins.has(Pin::Replication)
    }
}
