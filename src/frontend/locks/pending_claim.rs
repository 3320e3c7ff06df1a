//! The loop of a session that waits for the lock engine: its legs and its events are attended to meanwhile.

use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until};

use super::call_context::CallContext;
use super::server::Task;
use crate::engine::handle::{Acquired, SessionEvent, Ticket};
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::wait::{Interest, LinkEvent};
use crate::protocol::packet;

/// The server counts a waiting client as idle, so it hears from the session this often.
const SIGN_OF_LIFE: Duration = Duration::from_millis(500);

/// What a session that waits for a lock has to look at.
#[derive(Debug)]
pub(crate) enum ClaimTurn<S> {
    /// The engine has decided.
    Decided(Acquired),
    /// KILL QUERY.
    Interrupted,
    /// The server has sent something.
    Server,
    /// A step of the caller's is over.
    Step(S),
}

/// A lock that the engine was asked for.
pub(crate) struct PendingClaim {
    ticket: Ticket,
    until: Option<Instant>,
    /// The time was over, and the engine was asked to stop.
    late: bool,
    signs: Interval,
}

impl PendingClaim {
    /// The claim is given up at `until`, and the engine decides soon after that.
    pub(crate) fn new(ticket: Ticket, until: Option<Instant>) -> Self {
        let mut signs = interval_at(Instant::now() + SIGN_OF_LIFE, SIGN_OF_LIFE);
        signs.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { ticket, until, late: false, signs }
    }

    /// Whether the time was over before the engine had decided.
    pub(crate) fn is_late(&self) -> bool {
        self.late
    }

    /// The ticket, of a claim that is over.
    pub(crate) fn into_ticket(self) -> Ticket {
        self.ticket
    }

    /// Waits until there is something to look at. `step`: what the caller waits for besides; it begins again each time.
    /// `shown`: the server sees the wait, and needs no sign of life.
    pub(crate) async fn next<S>(
        &mut self,
        cx: &mut CallContext<'_>,
        step: impl Future<Output = S>,
        shown: bool,
    ) -> Result<ClaimTurn<S>, CloseReason> {
        let mut step = std::pin::pin!(step);
        // Ends with any of these; signs of life and bytes of the client's end no turn.
        loop {
            tokio::select! {
                biased;
                // An uncontended lock is here before any of the rest matters.
                outcome = &mut self.ticket.outcome => {
                    let ended = |_| Acquired::Failed("the lock engine has ended".to_owned());
                    return Ok(ClaimTurn::Decided(outcome.unwrap_or_else(ended)));
                }
                () = at(self.until), if !self.late => {
                    cx.locks.cancel(&self.ticket);
                    self.late = true;
                }
                event = cx.locks.next_event() => {
                    cx.handle_event(event)?;
                    if event == SessionEvent::Interrupt {
                        return Ok(ClaimTurn::Interrupted);
                    }
                    // Waiting is no statement to be finished.
                    if cx.locks.is_draining() {
                        return Err(CloseReason::Drained);
                    }
                }
                event = cx.server.next(Interest::Ahead) => match event? {
                    LinkEvent::Server => return Ok(ClaimTurn::Server),
                    event => hear_client(cx, event)?,
                },
                step = &mut step => return Ok(ClaimTurn::Step(step)),
                _ = self.signs.tick(), if !shown => {
                    if cx.server.owed().is_nothing() && cx.server.known_since().is_some() {
                        cx.server.send_hidden(&packet::ping())?;
                    }
                }
            }
        }
    }
}

/// Waits for what is asked of the engine or the store, and attends to both legs meanwhile.
pub(crate) async fn answer_of<T>(
    cx: &mut CallContext<'_>,
    mut asked: Task<'static, T>,
) -> Result<T, CloseReason> {
    // Ends with the answer, or with the session.
    loop {
        tokio::select! {
            biased;
            answer = &mut asked => return Ok(answer),
            event = cx.locks.next_event() => cx.handle_event(event)?,
            event = cx.server.next(Interest::Ahead) => match event? {
                LinkEvent::Server => cx.server.hear_server()?,
                event => hear_client(cx, event)?,
            },
        }
    }
}

/// Takes in what the client has sent.
fn hear_client(cx: &mut CallContext<'_>, event: LinkEvent) -> Result<(), CloseReason> {
    if event == LinkEvent::Client {
        cx.server.read_ahead()?;
        cx.locks.client_is_there();
    }
    Ok(())
}

/// Waits until then; for ever without a time.
pub(crate) async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
