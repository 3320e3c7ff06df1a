//! An administrator who has logged in.

use super::accounts::AdminRole;

/// The user who gives commands on a connection.
#[derive(Debug, Clone)]
pub(super) struct Administrator {
    /// For the audit log.
    pub(super) name: String,
    /// As CURRENT_USER() shows it.
    pub(super) account: String,
    pub(super) role: AdminRole,
}
