//! Waiting for a lock, and everything that may end the wait.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::attend::attend;
use super::call_context::CallContext;
use super::pending_claim::{ClaimTurn, PendingClaim};
use super::visible_wait::{
    GateStep, VisibleWait, WaitStatement, Waited, hear_gate, leave_gate, wait_at,
};
use crate::engine::handle::Acquired;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::moves::checkout::Checkout;
use crate::frontend::shared::waits::{LockWait, WaitCertainty};
use crate::lock::codes;
use crate::lock::name::{Key, Name};
use crate::lock::timeout::Timeout;
use crate::protocol::status::Status;
use crate::types::Flavour;

/// How long the store may take over one attempt before the caller learns of it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Takes a lock that this session does not hold yet.
///
/// `statement` is what the server sees of a longer wait, `pure` the arguments it warns about.
pub(crate) async fn wait_for(
    cx: &mut CallContext<'_>,
    name: Name,
    timeout: Timeout,
    statement: &WaitStatement<'_>,
    pure: &[Vec<u8>],
) -> Result<Waited, CloseReason> {
    let waited = wait_and_come_back(cx, name, timeout, statement, pure).await;
    cx.identity.activity().set_waiting(false);
    waited
}

async fn wait_and_come_back(
    cx: &mut CallContext<'_>,
    name: Name,
    timeout: Timeout,
    statement: &WaitStatement<'_>,
    pure: &[Vec<u8>],
) -> Result<Waited, CloseReason> {
    let started = Instant::now();
    let (once, until) = match timeout {
        Timeout::Wait(limit) => (false, started.checked_add(limit)),
        Timeout::Forever => (false, None),
        Timeout::Once | Timeout::Refused => (true, Some(started + PATIENCE)),
    };
    let tag = cx.locks.tag(&name.key);
    let waiting = cx.context.seen.waits.add(LockWait {
        who: cx.identity.waiter(),
        key: Some(name.key.clone()),
        name: name.given[..].into(),
        certainty: WaitCertainty::Waits,
        measured: !once,
    });
    let ticket = cx.locks.acquire(name, Arc::clone(cx.identity.owner()), once);
    let mut claim = PendingClaim::new(ticket, until);
    let mut wait = VisibleWait::new(statement, tag, pure, once, until);
    let result = until_decided(cx, &mut claim, &mut wait).await;
    let ticket = claim.into_ticket();
    if result.is_ok() {
        let refusal = match come_back(cx).await {
            Ok(refusal) => refusal,
            Err(end) => {
                drop(wait);
                // A lock that was granted meanwhile goes back at the session's end.
                if let Ok(Waited::Decided(Acquired::Granted(grant), _)) = result {
                    cx.enter_grant(ticket.key, grant)?;
                }
                return Err(end);
            }
        };
        if let Some(refusal) = refusal {
            drop(wait);
            if let Ok(Waited::Decided(Acquired::Granted(grant), _)) = result {
                cx.locks.release(vec![(ticket.key, grant.token)], grant.proxy).await;
            }
            return Ok(Waited::Refused(refusal));
        }
    }
    drop(waiting);
    match result {
        Ok(Waited::Decided(acquired, _)) => {
            let left = leave_gate(cx, wait, &acquired).await;
            let late = once && started.elapsed() >= PATIENCE;
            take_decision(cx, ticket.key, acquired, left, late)
        }
        Ok(ended) => {
            drop(wait);
            cx.locks.cancel(&ticket);
            if let Ok(Acquired::Granted(grant)) = ticket.outcome.await {
                cx.locks.release(vec![(ticket.key, grant.token)], grant.proxy).await;
            }
            Ok(ended)
        }
        Err(end) => {
            drop(wait);
            cx.server.owed_mut().drop_gate_reply();
            // The session ends: a grant that comes nevertheless goes back, since nobody
            // listens on the ticket any more. One already in the ticket is ours to return.
            cx.locks.cancel(&ticket);
            if let Ok(Acquired::Granted(grant)) = ticket.outcome.await {
                if cx.server.pooled().is_shared() && matches!(end, CloseReason::ServerGone) {
                    // The session may go on, and its client does not get this lock.
                    cx.locks.release(vec![(ticket.key, grant.token)], grant.proxy).await;
                } else {
                    cx.enter_grant(ticket.key, grant)?;
                }
            }
            Err(end)
        }
    }
}

/// Gets a connection to the server again, if the wait was without one. The error for the client if there is none: a
/// session that waited on with a lock might wait for one that waits for the lock.
async fn come_back(cx: &mut CallContext<'_>) -> Result<Option<Vec<u8>>, CloseReason> {
    if !cx.server.pooled().is_shared() {
        return Ok(None);
    }
    let arrival = attend(cx.locks, cx.context, cx.server.check_out(cx.context)).await?;
    // News of the session's locks comes first: the connection may be used only after it.
    while let Some(event) = cx.locks.told_now() {
        cx.handle_event(event)?;
    }
    let error = match arrival {
        Checkout::Here => return Ok(None),
        Checkout::TooLate => {
            cx.context.metrics.pool_timeouts.inc();
            codes::no_connection(cx.context.config.pooling.wait)
        }
        Checkout::Refused(why) => codes::unreachable(&cx.context.reach.writer().to_string(), &why),
    };
    let mut out = Vec::new();
    error.encode(&mut out, 1, false);
    Ok(Some(out))
}

fn take_decision(
    cx: &mut CallContext<'_>,
    key: Key,
    acquired: Acquired,
    left: Result<Option<Vec<u8>>, CloseReason>,
    late: bool,
) -> Result<Waited, CloseReason> {
    match (left, acquired) {
        (Err(end), Acquired::Granted(grant)) => {
            cx.enter_grant(key, grant)?;
            Err(end)
        }
        (Err(end), _) => Err(end),
        (Ok(_), Acquired::NotFree) if late => {
            let why = "no answer from the lock store".to_owned();
            Ok(Waited::Decided(Acquired::Failed(why), None))
        }
        (Ok(said), acquired) => Ok(Waited::Decided(acquired, said)),
    }
}

async fn until_decided(
    cx: &mut CallContext<'_>,
    claim: &mut PendingClaim,
    wait: &mut VisibleWait<'_>,
) -> Result<Waited, CloseReason> {
    // Ends with the engine's decision, by the timeout, by the server's word at the gate, or with the session.
    loop {
        let shown = wait.is_shown();
        match claim.next(cx, wait.next_step(), shown).await? {
            ClaimTurn::Decided(outcome) => return Ok(Waited::Decided(outcome, None)),
            ClaimTurn::Interrupted if !shown => return Ok(interrupted(cx)),
            // The server interrupts it.
            ClaimTurn::Interrupted => {}
            ClaimTurn::Server => {
                if let Some(end) = hear_server(cx, wait).await? {
                    return Ok(end);
                }
            }
            ClaimTurn::Step(GateStep::Due) => become_visible(cx, wait).await?,
            ClaimTurn::Step(GateStep::Closed(Some(gate))) => wait_at(cx, gate, wait).await?,
            ClaimTurn::Step(GateStep::Closed(None)) => cx.context.metrics.gate_failures.inc(),
        }
    }
}

/// The wait lasts: it gives its connection away, or the server is to see it.
async fn become_visible(
    cx: &mut CallContext<'_>,
    wait: &mut VisibleWait<'_>,
) -> Result<(), CloseReason> {
    cx.command.note_wait();
    let inside = cx.server.status().flags().has(Status::IN_TRANS);
    cx.identity.activity().set_waiting(!inside);
    if cx.server.pooled().is_shared() && !cx.server.pooled().limits(wait.text()) {
        // Others need the connection more: among them, perhaps, the lock's holder.
        wait.never_shown();
        return attend(cx.locks, cx.context, cx.server.check_in()).await;
    }
    wait.asked(cx.locks.close_gate(wait.tag()));
    Ok(())
}

/// KILL QUERY has ended a wait of which the server does not know.
fn interrupted(cx: &CallContext<'_>) -> Waited {
    match cx.flavour() {
        Flavour::MySql => Waited::Interrupted,
        Flavour::MariaDb => Waited::Null(None),
    }
}

/// Takes in what the server sent: the end of the wait, if the server has ended it.
async fn hear_server(
    cx: &mut CallContext<'_>,
    wait: &mut VisibleWait<'_>,
) -> Result<Option<Waited>, CloseReason> {
    cx.server.hear_server()?;
    match cx.server.owed_mut().take_gate_reply() {
        Some(reply) => hear_gate(cx, &reply, wait).await,
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::super::bare_call::CallInPacket;
    use super::super::fakes::{Stage, run};
    use super::*;
    use crate::engine::handle::SessionEvent;
    use crate::frontend::link::wait::LinkEvent;
    use crate::lock::name::plain;
    use crate::sql::classify::{Statement, classify};

    fn wait(stage: &mut Stage, timeout: Timeout) -> Result<Waited, CloseReason> {
        let text = b"SELECT GET_LOCK('a', 1)";
        let Statement::Bare(bare) = classify(text, stage.cx().dialect()) else {
            panic!("a bare call");
        };
        let call = CallInPacket { prefix: b"\x03", text, bare };
        let statement =
            WaitStatement { call: &call, name: None, stale: None, cursor: false, stand_in: false };
        let name = plain(b"a", Flavour::MySql).expect("a plain name");
        run(wait_for(&mut stage.cx(), name, timeout, &statement, &[]))
    }

    const SHORT: Timeout = Timeout::Wait(Duration::from_millis(5));

    #[test]
    fn a_wait_that_is_over_is_cancelled_and_answers_that_the_lock_is_not_free() {
        let mut stage = Stage::new(Flavour::MySql);
        let waited = wait(&mut stage, SHORT);
        assert!(matches!(waited, Ok(Waited::Decided(Acquired::NotFree, None))));
        assert_eq!(stage.locks.cancelled, 1);
        assert_eq!(stage.context.metrics.waiting.get(), 0);
    }

    #[test]
    fn a_client_that_leaves_ends_its_wait() {
        let mut stage = Stage::new(Flavour::MySql);
        stage.server.events.push_back(LinkEvent::Client);
        assert!(matches!(wait(&mut stage, Timeout::Forever), Err(CloseReason::ClientGone)));
        assert_eq!(stage.locks.cancelled, 1);
    }

    #[test]
    fn a_shutdown_ends_a_wait() {
        let mut stage = Stage::new(Flavour::MySql);
        stage.locks.events.push_back(SessionEvent::Drain);
        assert!(matches!(wait(&mut stage, Timeout::Forever), Err(CloseReason::Drained)));
        assert_eq!(stage.locks.cancelled, 1);
    }

    #[test]
    fn a_kill_of_the_statement_ends_a_wait_that_the_server_does_not_see() {
        for flavour in [Flavour::MySql, Flavour::MariaDb] {
            let mut stage = Stage::new(flavour);
            stage.locks.events.push_back(SessionEvent::Interrupt);
            let waited = wait(&mut stage, Timeout::Forever);
            let native = flavour == Flavour::MySql;
            assert!(match waited {
                Ok(Waited::Interrupted) => native,
                Ok(Waited::Null(None)) => !native,
                _ => false,
            });
            assert_eq!(stage.locks.cancelled, 1);
        }
    }

    #[test]
    fn a_lock_that_is_lost_during_a_wait_ends_the_session() {
        let mut stage = Stage::new(Flavour::MySql);
        stage.holds("other", 3).locks.events.push_back(SessionEvent::Lost(3));
        let end = wait(&mut stage, Timeout::Forever);
        assert!(matches!(end, Err(CloseReason::Lost(Some(name))) if name == "other"));
    }

    #[test]
    fn a_wait_of_its_whole_time_is_measured_and_an_attempt_is_not() {
        let mut stage = Stage::new(Flavour::MySql);
        stage.grants(1);
        assert!(matches!(wait(&mut stage, Timeout::Once), Ok(Waited::Decided(..))));
        assert_eq!(stage.context.metrics.wait_seconds.get_sample_count(), 0);
        assert!(wait(&mut stage, SHORT).is_ok());
        assert_eq!(stage.context.metrics.wait_seconds.get_sample_count(), 1);
    }
}
