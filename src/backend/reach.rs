//! Whether the server behind the proxy can be reached, as clients find it. While it cannot, it is tried
//! again and again, so that its coming back is noticed where load balancers send no clients meanwhile.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use prometheus::IntGauge;
use tokio::time::sleep;

use super::greeted::{GreetError, Greeted, connect};
use super::spares::Spares;
use crate::config::Config;
use crate::net::peer::Peer;

/// How often a server that could not be reached is tried.
const AGAIN: Duration = Duration::from_secs(1);

/// What is known of one cluster's server.
#[derive(Clone)]
pub struct Reach {
    problem: Arc<Mutex<Option<String>>>,
    up: IntGauge,
}

impl Reach {
    /// It is as the start has found it.
    pub fn new(problem: Option<String>, up: IntGauge) -> Self {
        up.set(i64::from(problem.is_none()));
        Self { problem: Arc::new(Mutex::new(problem)), up }
    }

    /// Takes in what became of a connection. A server that refuses one is there.
    pub fn heard(&self, result: &Result<Greeted, GreetError>) {
        let problem = match result {
            Ok(_) | Err(GreetError::Refused(_)) => None,
            Err(e) => Some(e.to_string()),
        };
        self.up.set(i64::from(problem.is_none()));
        *self.problem.lock() = problem;
    }

    /// Why it cannot be reached.
    pub fn problem(&self) -> Option<String> {
        self.problem.lock().clone()
    }

    /// Tries it while it cannot be reached; runs as long as the process.
    pub async fn watch(self, settings: impl Fn() -> Arc<Config>, spares: Spares) {
        loop {
            sleep(AGAIN).await;
            if self.problem.lock().is_none() {
                continue;
            }
            let config = settings();
            // Some servers hear nobody without it.
            let header = config.backend_proxy_protocol.then_some(Peer(None));
            let tried = connect(&config.backend, config.connect_timeout, header).await;
            self.heard(&tried);
            if let Ok(greeted) = tried {
                tracing::info!(backend = %config.backend, "the server can be reached again");
                // To be completed: to hang up would count as a failed handshake there.
                spares.keep(greeted);
            }
        }
    }
}
