//! Greeted connections whose client left before it logged in.
//!
//! A load balancer's probe connects, reads the greeting and closes the connection. Passed on, each would count
//! at the server as a failed handshake, and after max_connect_errors of them the server blocks
//! the proxy's host. So the connection is kept for the next client, and before the server loses
//! patience it is completed with the proxy's own account.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{MissedTickBehavior, interval};

use super::greeted::Greeted;
use super::own::{Credentials, Guard, log_in};
use super::reach::Reach;
use crate::clock;
use crate::net::socket::Detached;
use crate::protocol::handshake::Greeting;
use crate::servers::writer::Destination;

struct Spare {
    stream: Detached,
    frame: Vec<u8>,
    greeting: Greeting,
    opened: Duration,
    to: Destination,
}

/// The spare connections of one backend.
#[derive(Clone)]
pub struct Spares {
    list: Arc<Mutex<Vec<Spare>>>,
    /// How long the server waits for each packet of a handshake.
    connect_timeout: Duration,
}

impl Spares {
    /// Spares for a server that waits `connect_timeout` for a handshake.
    pub fn new(connect_timeout: Duration) -> Self {
        Self { list: Arc::default(), connect_timeout }
    }

    /// How long the server waits for each packet of a handshake.
    pub fn connect_timeout(&self) -> Duration {
        self.connect_timeout
    }

    /// How long a client may take for a packet of a login that the server waits for. A login that
    /// the server gives up counts as a failed handshake there: the proxy must be the first.
    pub fn limit(&self) -> Duration {
        self.connect_timeout * 4 / 5
    }

    /// How long the server still waits for the first packet on a connection that was opened then.
    pub fn limit_since(&self, opened: Duration) -> Duration {
        self.limit().saturating_sub(clock::now().saturating_sub(opened))
    }

    /// How old a spare may get.
    fn patience(&self) -> Duration {
        (self.connect_timeout / 2).min(Duration::from_secs(5))
    }

    /// Keeps a connection, detached from its thread's event loop.
    pub fn keep(&self, greeted: Greeted) {
        let Greeted { stream, frame, greeting, opened, to } = greeted;
        if let Ok(stream) = stream.detach() {
            self.list.lock().push(Spare { stream, frame, greeting, opened, to });
        }
    }

    /// A connection that still waits for a login, if there is one: long enough for a client's.
    pub fn take(&self) -> Option<Greeted> {
        loop {
            let Spare { stream, frame, greeting, opened, to } = self.youngest()?;
            // A connection that the server has closed or spoken on meanwhile is dropped.
            if stream.is_quiet() {
                let stream = stream.attach().ok()?;
                return Some(Greeted { stream, frame, greeting, opened, to });
            }
        }
    }

    fn youngest(&self) -> Option<Spare> {
        let mut list = self.list.lock();
        let useful = list.iter().enumerate().filter(|(_, spare)| !spare.to.is_left());
        let (at, spare) = useful.max_by_key(|(_, spare)| spare.opened)?;
        // A connection that a client has kept for long is completed, and not given to the next client.
        let young = clock::now().saturating_sub(spare.opened) < self.patience();
        young.then(|| list.swap_remove(at))
    }

    /// Completes spares that have waited long enough; runs as long as the process.
    pub async fn tend(self, account: Credentials, guard: impl Fn() -> Arc<Guard>, reach: Reach) {
        let mut tick = interval(Duration::from_millis(250));
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            for spare in self.expired(self.patience()) {
                let (account, guard, reach) = (account.clone(), guard(), reach.clone());
                tokio::spawn(async move { retire(spare, &account, &guard, &reach).await });
            }
        }
    }

    /// Completes all spares, at shutdown.
    pub async fn finish(&self, account: &Credentials, guard: &Guard, reach: &Reach) {
        for spare in self.expired(Duration::ZERO) {
            retire(spare, account, guard, reach).await;
        }
    }

    fn expired(&self, age: Duration) -> Vec<Spare> {
        let now = clock::now();
        let mut list = self.list.lock();
        let (old, young) =
            list.drain(..).partition(|spare| now.saturating_sub(spare.opened) >= age);
        *list = young;
        old
    }
}

async fn retire(spare: Spare, account: &Credentials, guard: &Guard, reach: &Reach) {
    let Spare { stream, frame, greeting, opened, to } = spare;
    let Ok(stream) = stream.attach() else {
        return;
    };
    let tried = log_in(Greeted { stream, frame, greeting, opened, to }, guard, account).await;
    if let Err(e) = &tried {
        tracing::debug!(error = %e, "a spare connection could not be completed");
    }
    reach.tried(&tried, guard);
}
