//! What is known of a session on its connection, for an audit of it.

use tokio::time::Instant;

use super::creation::Creations;
use super::pins::Pins;

/// What is known of a session on its connection, for an audit.
#[derive(Debug)]
pub(super) struct AuditNotes {
    pub(super) creations: Creations,
    /// The last audit found that the session must stay, and nothing that could change that has run since.
    pub(super) futile: bool,
    /// Something may have run that leaves what no server lists.
    pub(super) unlisted: bool,
    /// An audit has found nothing: what it cannot see would be lost by a reset at least.
    pub(super) clear: bool,
    /// The seeds of RAND() were set: nothing uses them up.
    pub(super) seeded: bool,
    /// The pins that the audit under way may end.
    pub(super) lifted: Pins,
    /// The reading of stored programs before which their changes are not known.
    pub(super) reading: u64,
    /// The session has the connection since then.
    pub(super) since: Instant,
}

impl AuditNotes {
    /// On a connection without any state.
    pub(super) fn new() -> Self {
        Self {
            creations: Creations::default(),
            futile: false,
            unlisted: false,
            clear: false,
            seeded: false,
            lifted: Pins::default(),
            reading: 0,
            since: Instant::now(),
        }
    }
}
