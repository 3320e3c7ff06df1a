//! A response that ended, and what has to be done before the client gets its end.

use std::time::Instant;

use super::held_back::HeldBack;
use super::row_update::{RowUpdate, UnknownLocks};
use super::run_end::RunEnd;

/// A response that ended, and what has to be done before the client gets its end.
#[derive(Debug)]
pub(crate) struct PendingRowUpdate {
    pub need: RowUpdate,
    /// A statement whose locks only the server may know.
    pub untold: UnknownLocks,
    /// What is held back of the response.
    pub held: Option<HeldBack>,
    /// When its command was sent, if no other was under way.
    pub sent: Option<Instant>,
    /// The run that it answers; none where the sweep has found a lock.
    pub run: Option<RunEnd>,
}

impl PendingRowUpdate {
    /// The locks of a session are to be read although it has asked nothing.
    pub(crate) fn unasked() -> Self {
        Self { need: RowUpdate::Unknown, untold: None, held: None, sent: None, run: None }
    }

    /// Rows that are not written yet are to be, before the next command.
    pub(crate) fn late() -> Self {
        Self { need: RowUpdate::WriteLate, ..Self::unasked() }
    }
}
