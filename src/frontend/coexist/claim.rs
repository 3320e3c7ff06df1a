//! The claim of one row by the server's own lock, and how long it may wait.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::config::OnStoreError;
use crate::engine::handle::Acquired;
use crate::engine::shared::lease::Lease;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::locks::operations::{check_server, over_limit};
use crate::frontend::locks::pending_claim::{ClaimTurn, PendingClaim};
use crate::lock::name::Name;
use crate::lock::timeout::Timeout;
use crate::protocol::reply::ErrorReply;

/// How long the store may take before the client learns of it.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// How long a claim may take in any case. Only a session at a proxy in mode durable makes it take so long.
pub(super) const LEAST: Duration = Duration::from_secs(1);

/// How the row of a lock that the server granted has fared.
#[derive(Debug)]
pub(super) enum Row {
    /// The row is the session's.
    Kept,
    /// The claim was refused: the server does not hold a lock of this name for the session.
    Unproven,
    /// When the time was over, a session at a proxy in mode durable had the row, or may have had it after a failover.
    NotFree,
    /// The session has as many locks as it may have.
    OverLimit(ErrorReply),
    /// The row cannot be written, for this reason.
    Failed(String),
    /// The server's locks cannot be read, for this reason: nobody knows whether there are rows to be written.
    Unread(String),
}

/// Whether a lock of the server counts without its row.
pub(super) fn stands_by(cx: &CallContext<'_>) -> bool {
    cx.context.config.on_store_error == OnStoreError::Native && cx.locks.server_protects()
}

pub(super) fn count(cx: &CallContext<'_>, result: &str) {
    cx.context.metrics.claims.with_label_values(&[result]).inc();
}

/// Until when a claim waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    once: bool,
    until: Option<Instant>,
    /// When the statement was sent, if that is known.
    began: Option<Instant>,
}

impl Limit {
    /// `sent`: when the statement was sent. The server has used up a part of its time.
    pub(super) fn of(timeout: Timeout, sent: Option<std::time::Instant>) -> Self {
        let now = Instant::now();
        let began = sent.map(Instant::from_std);
        let (once, until) = match timeout {
            Timeout::Once | Timeout::Refused => (true, Some(now + PATIENCE)),
            Timeout::Wait(limit) => {
                let until = (began.unwrap_or(now) + limit).min(now + limit);
                // The server may have granted it in the last moment.
                (false, Some(until.max(now + LEAST)))
            }
            Timeout::Forever => (false, None),
        };
        Self { once, until, began }
    }

    /// When the engine is asked to give up.
    fn end(self, cx: &CallContext<'_>) -> Option<Instant> {
        // A startup wait may be over soon; the grace of a failover is not.
        match cx.context.engine.lease_handle().reign().grace_left() {
            Some(_) if self.once => Some(Instant::now() + LEAST),
            // No session has it by its row alone: only the store can make it wait.
            _ if stands_by(cx) => Some(Instant::now() + LEAST),
            _ => self.until,
        }
    }
}

/// Claims the row of a lock that the server granted.
pub(super) async fn claim(
    cx: &mut CallContext<'_>,
    name: Name,
    limit: Limit,
) -> Result<Row, CloseReason> {
    if cx.locks.ledger().held().contains(&name.key) {
        cx.check_lease().await?;
        cx.locks.ledger_mut().reenter(&name.key);
        return Ok(Row::Kept);
    }
    check_server(cx).await?;
    if let Some(error) = over_limit(cx) {
        return Ok(Row::OverLimit(error));
    }
    // Then nothing need be tried. The row is claimed again when the tables can be written.
    if let Some(why) = cx.context.engine.lease().unwritable().filter(|_| stands_by(cx)) {
        return Ok(Row::Failed(why));
    }
    let owner = Arc::clone(cx.identity.owner());
    let ticket = cx.locks.claim(name, owner, limit.once, limit.began);
    let mut claim = PendingClaim::new(ticket, limit.end(cx));
    let acquired = until_claimed(cx, &mut claim, limit).await;
    let ticket = claim.into_ticket();
    let acquired = match acquired {
        Ok(acquired) => acquired,
        Err(end) => {
            // The session ends, and the server's lock with it.
            cx.locks.cancel(&ticket);
            if let Ok(Acquired::Granted(grant)) = ticket.outcome.await {
                cx.enter_grant(ticket.key, grant)?;
            }
            return Err(end);
        }
    };
    Ok(match acquired {
        Acquired::Granted(grant) => {
            cx.enter_grant(ticket.key, grant)?;
            count(cx, "claimed");
            Row::Kept
        }
        Acquired::Unproven => Row::Unproven,
        Acquired::NotFree | Acquired::Deadlock => Row::NotFree,
        Acquired::Failed(why) => Row::Failed(why),
    })
}

async fn until_claimed(
    cx: &mut CallContext<'_>,
    claim: &mut PendingClaim,
    limit: Limit,
) -> Result<Acquired, CloseReason> {
    // Ends with the engine's decision, by the limit, or with the session.
    loop {
        match claim.next(cx, std::future::pending::<()>(), false).await? {
            // The store has not said who holds the row. While nothing is granted it was not asked, and the lock counts as held.
            ClaimTurn::Decided(Acquired::NotFree)
                if claim.is_late()
                    && (limit.once || stands_by(cx))
                    && !withheld(&cx.context.engine.lease_handle()) =>
            {
                return Ok(Acquired::Failed("no answer from the lock store".to_owned()));
            }
            ClaimTurn::Decided(outcome) => return Ok(outcome),
            ClaimTurn::Server => cx.server.hear_server()?,
            // The server has granted the lock: its answer is held back for the row, not for the lock.
            ClaimTurn::Interrupted | ClaimTurn::Step(()) => {}
        }
    }
}

/// Whether nothing is granted, for a time: a session elsewhere may have the lock.
fn withheld(lease: &Lease) -> bool {
    lease.withholds_grants() || lease.reign().grace_left().is_some()
}
