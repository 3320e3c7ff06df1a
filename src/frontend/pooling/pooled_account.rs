//! The account of a session that shares its connections: what others are opened with.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::open::NewConnection;
use crate::backend::learned::LearnedSecrets;
use crate::backend::pool::PoolKey;
use crate::mutants::{self, Mutant};
use crate::protocol::user_name::UserName;

/// The account.
pub(crate) struct PooledAccount {
    /// Which connections the session may have.
    key: Arc<PoolKey>,
    /// The passwords that logins have taught.
    secrets: Arc<LearnedSecrets>,
    /// The first collation of the login.
    collation: u8,
    /// The character sets and the collation of the login, as SET NAMES takes them, once they are known.
    login_names: Option<Box<[u8]>>,
    /// The session's connection was another account's before: it may have kept something of that one, and goes to nobody.
    foreign: bool,
    /// The session has a role of that account, which no other connection could be given.
    borrows_role: bool,
}

impl PooledAccount {
    /// Right after a login with this collation.
    pub(super) fn new(key: Arc<PoolKey>, secrets: Arc<LearnedSecrets>, collation: u8) -> Self {
        Self { key, secrets, collation, login_names: None, foreign: false, borrows_role: false }
    }

    /// Which connections the session may have.
    pub(crate) fn key(&self) -> &Arc<PoolKey> {
        &self.key
    }

    /// The passwords that logins have taught.
    pub(super) fn secrets(&self) -> &LearnedSecrets {
        &self.secrets
    }

    /// The first collation of the login.
    pub(crate) fn collation(&self) -> u8 {
        self.collation
    }

    /// Whether more connections can be opened for the account.
    pub(super) fn opens(&self) -> bool {
        self.secrets.opens_for(&self.key.user)
    }

    /// What another connection is opened with.
    pub(super) fn opening(&self, until: Instant) -> NewConnection<'_> {
        let Self { key, collation, secrets, .. } = self;
        NewConnection { key, collation: *collation, secrets, until }
    }

    /// The session has started again as this account, on the connection that it has.
    pub(super) fn change(&mut self, user: UserName, collation: Option<u8>, since: Duration) {
        // Whether an uncertain one is the same, only the server knows.
        let other = self.key.user != user || user.certain().is_none();
        self.foreign |= other;
        let of_user = Arc::new(self.key.of_user(user, since));
        self.key = mutants::or(Mutant::LendAcrossAccounts, of_user, Arc::clone(&self.key));
        self.collation = collation.unwrap_or(self.collation);
        (self.login_names, self.borrows_role) = (None, false);
    }

    /// The character sets that the login has given the session.
    pub(super) fn login_names(&self) -> Option<&[u8]> {
        self.login_names.as_deref()
    }

    /// The login has given the session these character sets.
    pub(super) fn note_login_names(&mut self, names: Option<&[u8]>) {
        self.login_names = names.map(Into::into);
    }

    /// Another account may be the session's from here on, by SET SESSION AUTHORIZATION.
    pub(super) fn note_session_user(&mut self) {
        (self.foreign, self.borrows_role) = (true, true);
    }

    /// Whether the connection was another account's before.
    pub(super) fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// The active role is of another account.
    pub(super) fn note_borrowed_role(&mut self) {
        self.borrows_role = true;
    }

    /// Whether it is.
    pub(super) fn borrows_role(&self) -> bool {
        self.borrows_role
    }

    /// The session leaves its connection. Whether that was of this account alone.
    pub(super) fn leave(&mut self) -> bool {
        let foreign = std::mem::take(&mut self.foreign);
        !mutants::or(Mutant::LendAcrossAccounts, foreign, false)
    }
}
