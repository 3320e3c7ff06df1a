//! The claim of one row by the server's own lock, and how long it may wait.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::config::OnStoreError;
use crate::engine::handle::{Acquired, Ticket};
use crate::engine::shared::lease::Lease;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::wait::{Interest, LinkEvent};
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::locks::operations::{check_server, over_limit};
use crate::frontend::locks::server::Task;
use crate::frontend::locks::wait::at;
use crate::lock::name::Name;
use crate::lock::timeout::Timeout;
use crate::protocol::packet;
use crate::protocol::reply::ErrorReply;

/// How long the store may take before the client learns of it.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// How long a claim may take in any case. Only a session at a proxy in mode durable makes it take so long.
pub(super) const LEAST: Duration = Duration::from_secs(1);
/// The server counts a waiting client as idle, so it hears from the session this often.
const SIGN_OF_LIFE: Duration = Duration::from_millis(500);

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
    let mut ticket = cx.locks.claim(name, owner, limit.once, limit.began);
    let acquired = match until_claimed(cx, &mut ticket, limit).await {
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
    ticket: &mut Ticket,
    limit: Limit,
) -> Result<Acquired, CloseReason> {
    let mut signs = interval_at(Instant::now() + SIGN_OF_LIFE, SIGN_OF_LIFE);
    signs.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let lease = cx.context.engine.lease_handle();
    // A startup wait may be over soon; the grace of a failover is not.
    let until = match lease.reign().grace_left() {
        Some(_) if limit.once => Some(Instant::now() + LEAST),
        // No session has it by its row alone: only the store can make it wait.
        _ if stands_by(cx) => Some(Instant::now() + LEAST),
        _ => limit.until,
    };
    let mut late = false;
    loop {
        tokio::select! {
            biased;
            outcome = &mut ticket.outcome => {
                let ended = || Acquired::Failed("the lock engine has ended".to_owned());
                return Ok(match outcome.unwrap_or_else(|_| ended()) {
                    // The store has not said who holds the row. While nothing is granted it was not asked, and the lock counts as held.
                    Acquired::NotFree if late && (limit.once || stands_by(cx)) && !withheld(&lease) => {
                        Acquired::Failed("no answer from the lock store".to_owned())
                    }
                    outcome => outcome,
                });
            }
            () = at(until), if !late => {
                cx.locks.cancel(ticket);
                late = true;
            }
            event = cx.locks.next_event() => {
                cx.hear(event)?;
                if cx.locks.is_draining() {
                    return Err(CloseReason::Drained);
                }
            }
            event = cx.server.next(Interest::Ahead) => hear(cx, event?)?,
            _ = signs.tick() => {
                if cx.server.owed().is_nothing() {
                    cx.server.send_hidden(&packet::ping())?;
                }
            }
        }
    }
}

/// Whether nothing is granted, for a time: a session elsewhere may have the lock.
fn withheld(lease: &Lease) -> bool {
    lease.withholds_grants() || lease.reign().grace_left().is_some()
}

/// Waits for what is asked, and attends to both legs meanwhile.
pub(super) async fn attend<T>(
    cx: &mut CallContext<'_>,
    mut asked: Task<'static, T>,
) -> Result<T, CloseReason> {
    loop {
        tokio::select! {
            biased;
            answer = &mut asked => return Ok(answer),
            event = cx.locks.next_event() => cx.hear(event)?,
            event = cx.server.next(Interest::Ahead) => hear(cx, event?)?,
        }
    }
}

fn hear(cx: &mut CallContext<'_>, event: LinkEvent) -> Result<(), CloseReason> {
    match event {
        LinkEvent::Server => cx.server.hear_server(),
        LinkEvent::Client => {
            cx.server.read_ahead()?;
            cx.locks.client_is_there();
            Ok(())
        }
        LinkEvent::Settled | LinkEvent::Stalled => Ok(()),
    }
}
