//! Locks whose rows are written after the client has its answer: the server's own lock excludes meanwhile.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::claim::{LEAST, count, stands_by};
use crate::engine::handle::{Acquired, Ticket};
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::locks::pending_claim::{ClaimTurn, PendingClaim, answer_of};
use crate::lock::name::Name;

/// How long a session waits for the server to say in which run it is. The row is written at once then.
const CONFIRMED: Duration = Duration::from_millis(250);

/// Whether rows may be late. A client that is to have an error instead of a lock without a row must wait for that.
fn allows(cx: &CallContext<'_>) -> bool {
    stands_by(cx) && cx.locks.allows_late()
}

/// Enters a lock that the server has granted, if its row may be written later. Whether that is so.
pub(crate) fn enter_late(cx: &mut CallContext<'_>, name: &Name) -> Result<bool, CloseReason> {
    if cx.locks.is_draining() || !allows(cx) {
        return Ok(false);
    }
    let known = |since| cx.locks.trusts(since) && cx.locks.knows_run_of(since);
    if !cx.server.known_since().is_some_and(known) {
        return Ok(false);
    }
    if cx.locks.ledger().held().contains(&name.key) {
        let vouched = cx.locks.ledger().granted_by().is_some_and(|p| cx.locks.vouches_for(p));
        if vouched {
            cx.locks.ledger_mut().reenter(&name.key);
        }
        return Ok(vouched);
    }
    if cx.locks.ledger().held().len() >= cx.context.config.max_session_locks {
        return Ok(false);
    }
    let Ok(entered) = cx.locks.enter_late(name.clone()) else { return Err(CloseReason::Fenced) };
    let Some(proxy) = entered else { return Ok(false) };
    cx.server.bound_silence();
    if !cx.server.answers_for(proxy) {
        return Err(CloseReason::Broken(
            "the lease changed while a lock was taken on an older connection",
        ));
    }
    count(cx, "later");
    Ok(true)
}

/// Enters a lock as [`enter_late`] does, after the server was asked in which run it is, if only that is not known.
pub(super) async fn confirm_and_enter(
    cx: &mut CallContext<'_>,
    name: &Name,
) -> Result<bool, CloseReason> {
    if !allows(cx) {
        return Ok(false);
    }
    if cx.server.known_since().is_some_and(|since| !cx.locks.knows_run_of(since)) {
        let confirmed = cx.locks.confirm();
        let within = Box::pin(async move { drop(timeout(CONFIRMED, confirmed).await) });
        answer_of(cx, within).await?;
    }
    enter_late(cx, name)
}

/// Writes the rows of the session's locks that have none yet, since the next command may read them.
pub(super) async fn write_late(cx: &mut CallContext<'_>) -> Result<(), CloseReason> {
    let late: Vec<Name> = cx.locks.ledger().held().late().map(|late| late.name.clone()).collect();
    let until = Some(Instant::now() + LEAST);
    let claim = |name| cx.locks.claim(name, Arc::clone(cx.identity.owner()), false, None);
    let tickets: Vec<Ticket> = late.into_iter().map(claim).collect();
    for ticket in tickets {
        let mut claim = PendingClaim::new(ticket, until);
        // Ends with the engine's decision, which comes soon after the time is over.
        let acquired = loop {
            match claim.next(cx, std::future::pending::<()>(), false).await? {
                ClaimTurn::Decided(acquired) => break acquired,
                ClaimTurn::Server => cx.server.hear_server()?,
                ClaimTurn::Interrupted | ClaimTurn::Step(()) => {}
            }
        };
        // Otherwise it is claimed again when it is due.
        if let Acquired::Granted(grant) = acquired {
            cx.enter_grant(claim.into_ticket().key, grant)?;
        }
    }
    cx.locks.note_late();
    Ok(())
}
