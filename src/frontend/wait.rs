//! Waiting for a lock, and everything that may end the wait.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};

use super::session::{End, Owed, Session, Whose};
use crate::engine::handle::{Acquired, Claim, Ticket};
use crate::lock::name::Name;
use crate::lock::timeout::Timeout;
use crate::net::socket::read_some;
use crate::protocol::command::{Command, Shape};
use crate::protocol::frame::put_frame;

/// How long the store may take over one attempt before the caller hears of it.
const PATIENCE: Duration = Duration::from_secs(10);
/// The server counts a waiting client as idle, so it hears from the session this often.
const SIGN_OF_LIFE: Duration = Duration::from_millis(500);
/// Client bytes read ahead during a wait, to notice the end behind them.
const READ_AHEAD: usize = 64 * 1024;

impl Session {
    /// Takes a lock that this session does not hold yet.
    pub(super) async fn wait_for(&mut self, name: Name, timeout: Timeout) -> Result<Acquired, End> {
        let started = Instant::now();
        let (once, until) = match timeout {
            Timeout::Wait(limit) => (false, started.checked_add(limit)),
            Timeout::Forever => (false, None),
            Timeout::Once | Timeout::Refused => (true, Some(started + PATIENCE)),
        };
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
        let result = self.until_decided(&mut ticket, until).await;
        drop(waiting);
        if !once {
            self.context.metrics.wait_seconds.observe(started.elapsed().as_secs_f64());
        }
        match result {
            Ok(Acquired::NotFree) if once && started.elapsed() >= PATIENCE => {
                Ok(Acquired::Failed("no answer from the lock store".to_owned()))
            }
            Ok(acquired) => Ok(acquired),
            Err(end) => {
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

    async fn until_decided(
        &mut self,
        ticket: &mut Ticket,
        until: Option<Instant>,
    ) -> Result<Acquired, End> {
        let ended = || Acquired::Failed("the lock engine has ended".to_owned());
        // An uncontended lock is here before any of the rest matters.
        let mut signs = interval_at(Instant::now() + SIGN_OF_LIFE, SIGN_OF_LIFE);
        signs.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut cancelled = false;
        loop {
            tokio::select! {
                biased;
                outcome = &mut ticket.outcome => return Ok(outcome.unwrap_or_else(|_| ended())),
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
                }
                ready = self.client.readable(), if self.inbox.len() < READ_AHEAD && !self.client_ended => {
                    ready.map_err(|_| End::ClientGone)?;
                    match read_some(&self.client, &mut self.inbox) {
                        Ok(None) => {}
                        Ok(Some(0)) | Err(_) => return Err(End::ClientGone),
                        Ok(Some(_)) => self.inbox.reserve(4096),
                    }
                }
                _ = signs.tick() => {
                    if self.owed.is_empty() {
                        let mut ping = Vec::new();
                        put_frame(&mut ping, 0, &[Command::PING.0]);
                        self.owed.push_back(Owed { shape: Shape::Results, whose: Whose::Hidden });
                        self.send_server(&ping)?;
                    }
                }
            }
        }
    }

    /// Lets answers to signs of life come in, so that the server owes nothing.
    pub(super) async fn settle_owed(&mut self) -> Result<(), End> {
        while !self.owed.is_empty() {
            self.server.readable().await.map_err(|_| End::ServerGone)?;
            self.hear_server()?;
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
