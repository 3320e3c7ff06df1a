//! Waiting for a lock, and everything that may end the wait.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};

use super::visible_wait::{Mirror, Shown, Waited};
use crate::engine::handle::{Acquired, Claim, Ticket};
use crate::frontend::session::{End, Session};
use crate::lock::name::{Key, Name};
use crate::lock::timeout::Timeout;
use crate::protocol::command::Command;
use crate::protocol::frame::put_frame;

/// How long the store may take over one attempt before the caller hears of it.
const PATIENCE: Duration = Duration::from_secs(10);
/// The server counts a waiting client as idle, so it hears from the session this often.
const SIGN_OF_LIFE: Duration = Duration::from_millis(500);
/// Client bytes read ahead during a wait, to notice the end behind them.
const READ_AHEAD: usize = 64 * 1024;

impl Session {
    /// Takes a lock that this session does not hold yet.
    ///
    /// `shown` is what the server sees of a longer wait, `pure` the arguments it warns about.
    pub(in crate::frontend) async fn wait_for(
        &mut self,
        name: Name,
        timeout: Timeout,
        shown: &Shown<'_>,
        pure: &[Vec<u8>],
    ) -> Result<Waited, End> {
        let started = Instant::now();
        let (once, until) = match timeout {
            Timeout::Wait(limit) => (false, started.checked_add(limit)),
            Timeout::Forever => (false, None),
            Timeout::Once | Timeout::Refused => (true, Some(started + PATIENCE)),
        };
        let tag = self.context.gates.tag(&name.key);
        let claim = Claim {
            name,
            conn: self.connection,
            owner: std::sync::Arc::clone(&self.owner),
            once,
            holds: !self.held.is_empty(),
            weight: self.deadlocks,
            events: self.events_in.clone(),
        };
        let mut ticket = self.context.engine.acquire(claim);
        let waiting = Waiting::new(&self.context.metrics);
        let mut mirror = Mirror::new(shown, tag, pure, once, until);
        let result = self.until_decided(&mut ticket, until, &mut mirror).await;
        drop(waiting);
        if !once {
            self.context.metrics.wait_seconds.observe(started.elapsed().as_secs_f64());
        }
        match result {
            Ok(Waited::Decided(acquired, _)) => {
                let left = self.leave_gate(mirror, &acquired).await;
                self.decided(ticket.key, acquired, left, once && started.elapsed() >= PATIENCE)
            }
            Ok(ended) => {
                drop(mirror);
                self.context.engine.cancel(&ticket);
                if let Ok(Acquired::Granted(grant)) = ticket.outcome.await {
                    let lock = vec![(ticket.key, grant.token)];
                    self.context.engine.release(lock, grant.proxy).await;
                }
                Ok(ended)
            }
            Err(end) => {
                drop(mirror);
                self.hide_gate();
                // The session ends: a grant that comes all the same goes back, since nobody
                // listens on the ticket any more. One already in the ticket is ours to return.
                self.context.engine.cancel(&ticket);
                if let Ok(Acquired::Granted(grant)) = ticket.outcome.await {
                    self.enter_grant(ticket.key, grant)?;
                }
                Err(end)
            }
        }
    }

    fn decided(
        &mut self,
        key: Key,
        acquired: Acquired,
        left: Result<Option<Vec<u8>>, End>,
        late: bool,
    ) -> Result<Waited, End> {
        match (left, acquired) {
            (Err(end), Acquired::Granted(grant)) => {
                self.enter_grant(key, grant)?;
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
        &mut self,
        ticket: &mut Ticket,
        until: Option<Instant>,
        mirror: &mut Mirror<'_>,
    ) -> Result<Waited, End> {
        let ended = || Acquired::Failed("the lock engine has ended".to_owned());
        // An uncontended lock is here before any of the rest matters.
        let mut signs = interval_at(Instant::now() + SIGN_OF_LIFE, SIGN_OF_LIFE);
        signs.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let gates = self.context.gates.clone();
        let mut cancelled = false;
        loop {
            tokio::select! {
                biased;
                outcome = &mut ticket.outcome => {
                    return Ok(Waited::Decided(outcome.unwrap_or_else(|_| ended()), None));
                }
                () = at(until), if !cancelled => {
                    self.context.engine.cancel(ticket);
                    cancelled = true;
                }
                event = self.events.recv() => {
                    if let Some(event) = event {
                        self.event(event)?;
                        // Waiting is no statement to be finished.
                        if self.draining {
                            return Err(End::Drained);
                        }
                    }
                }
                ready = self.server.readable() => {
                    ready.map_err(|_| End::ServerGone)?;
                    self.hear_server()?;
                    if let Some(reply) = self.at_gate.take()
                        && let Some(end) = self.at_gate(&reply, mirror).await?
                    {
                        return Ok(end);
                    }
                }
                ready = self.client.readable(), if self.inbox.len() < READ_AHEAD && !self.client_ended => {
                    ready.map_err(|_| End::ClientGone)?;
                    match self.client.read(&mut self.inbox) {
                        Ok(None) => {}
                        Ok(Some(0)) => return Err(End::ClientGone),
                        Err(e) => return Err(self.unread(&e, End::ClientGone)),
                        Ok(Some(_)) => self.inbox.reserve(4096),
                    }
                    self.client_is_there();
                }
                ready = self.server.writable(), if !self.server.is_flushed() => {
                    ready.map_err(|_| End::ServerGone)?;
                    poll_fn(|cx| Poll::Ready(self.flush_server(cx))).await?;
                }
                gate = mirror.gate(&gates) => match gate {
                    Some(gate) => self.wait_at(gate, mirror).await?,
                    None => self.context.metrics.gate_failures.inc(),
                },
                _ = signs.tick(), if !mirror.is_shown() => {
                    if self.owed.is_empty() {
                        let mut ping = Vec::new();
                        put_frame(&mut ping, 0, &[Command::PING.0]);
                        self.send_hidden(&ping)?;
                    }
                }
            }
        }
    }

    /// Lets come in what the server owes for signs of life and gates.
    pub(in crate::frontend) async fn settle_owed(&mut self) -> Result<(), End> {
        while !self.owed.is_empty() {
            tokio::select! {
                event = self.events.recv() => {
                    if let Some(event) = event {
                        self.event(event)?;
                    }
                }
                ready = self.server.readable() => {
                    ready.map_err(|_| End::ServerGone)?;
                    self.hear_server()?;
                }
                ready = self.server.writable(), if !self.server.is_flushed() => {
                    ready.map_err(|_| End::ServerGone)?;
                    poll_fn(|cx| Poll::Ready(self.flush_server(cx))).await?;
                }
            }
        }
        Ok(())
    }
}

async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

/// Counts a waiter as long as it lives.
struct Waiting(prometheus::IntGauge);

impl Waiting {
    fn new(metrics: &crate::metrics::Metrics) -> Self {
        metrics.waiting.inc();
        Self(metrics.waiting.clone())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.dec();
    }
}
