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

/// How long an owner that does not answer is waited for.
const ANSWERED: Duration = Duration::from_secs(5);

impl OwnerAsked {
    pub(super) fn now(row: &LockRow) -> Self {
        Self { token: row.token, since: Instant::now() }
    }

    /// Whether the row says what is so. Its owner has written who has the lock, or has taken this proxy's question out of it,
    /// which was there at `placed`, before the row was read. From then on the owner writes each change of the name.
    pub(super) fn is_answered(
        &self,
        row: &LockRow,
        me: u64,
        (placed, read): (Option<Instant>, Instant),
    ) -> bool {
        let taken = placed.is_some_and(|at| at >= self.since && read > at) && row.want != me;
        let written = row.token != self.token;
        (row.conn != 0 && (written || taken)) || self.since.elapsed() >= ANSWERED
    }
}
