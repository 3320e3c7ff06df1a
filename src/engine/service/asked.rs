//! A question to the owner of a name, and when the row has its answer.

use std::time::Duration;

use tokio::time::Instant;

use crate::store::rows::LockRow;

/// A question to the owner of a name: the row may be older than the lock.
#[derive(Debug, Clone, Copy)]
pub(super) struct OwnerAsked {
    /// The token of the row when the owner was asked.
    pub(super) token: u64,
    pub(super) since: Instant,
}

/// An owner that has a holder in its row corrects that within this time, or the row is right.
const CORRECTED: Duration = Duration::from_millis(80);
/// How long an owner is waited for whose row has no holder.
const ANSWERED: Duration = Duration::from_secs(1);

impl OwnerAsked {
    pub(super) fn now(row: &LockRow) -> Self {
        Self { token: row.token, since: Instant::now() }
    }

    /// Whether the row says what is so: its owner has written since, or would have.
    pub(super) fn is_answered(&self, row: &LockRow) -> bool {
        let since = self.since.elapsed();
        let held = row.conn != 0;
        (held && (row.token != self.token || since >= CORRECTED)) || since >= ANSWERED
    }
}
