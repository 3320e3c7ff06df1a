//! Finding the writer: for as long as a proxy runs, or once.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;

use super::pairs::Pairs;
use super::probe::{Probe, keep_asking};
use super::writer::Writer;
use crate::config::{Config, Mode};

/// How long servers may take to say which of them is the writer, at least.
const LEAST: Duration = Duration::from_secs(5);

/// None of the servers takes writes.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NoWriter(String);

/// Which server is the writer, kept up to date until this is dropped.
#[derive(Debug)]
pub struct Following {
    writer: Writer,
    pairs: Pairs,
    probes: JoinSet<()>,
}

impl Following {
    /// Asks each server of a cluster from here on. A single one is not asked.
    pub fn start(config: &Config) -> Self {
        let writer = Writer::among(config.servers.clone());
        let mut probes = JoinSet::new();
        if let Some(store) = config.store.as_ref().filter(|_| writer.is_chosen()) {
            for (place, server) in config.servers.iter().enumerate() {
                let (url, limit) = (store.at(&server.store), config.connect_timeout);
                let probe = Probe::new(url, limit, config.has_replicas);
                probes.spawn(keep_asking(writer.clone(), place, probe));
            }
        }
        let pairs = Pairs::new(config.mode == Mode::Durable);
        Self { writer, pairs, probes }
    }

    /// What it finds.
    pub fn writer(&self) -> &Writer {
        &self.writer
    }

    /// Whether both addresses of each lead to one server, as far as that is known.
    pub fn pairs(&self) -> &Pairs {
        &self.pairs
    }

    /// The configuration with the writer alone, as soon as it is known: within `writer_wait`. An error at once if an account asks to which
    /// a server's answers do not apply.
    pub async fn found(&self, config: &Config) -> Result<Config, NoWriter> {
        self.found_within(config, config.writer_wait).await
    }

    async fn found_within(&self, config: &Config, limit: Duration) -> Result<Config, NoWriter> {
        let found = timeout(limit.max(LEAST), self.writer.found_or_unfit()).await;
        match found.ok().flatten() {
            Some(to) => Ok(config.at(to.address())),
            None => Err(NoWriter(self.writer.situation())),
        }
    }

    /// The configuration with the writer alone, if it is known: without a wait until there is one.
    pub async fn with_known_writer(&self, config: &Config) -> Result<Config, NoWriter> {
        self.found_within(config, Duration::ZERO).await
    }

    /// Waits until all servers were asked, though the writer may be known before.
    pub async fn all_heard(&self) {
        // A question has a limit of its own, which is shorter.
        let _ = timeout(LEAST, self.writer.all_heard()).await;
    }

    /// Ends the questions.
    pub async fn end(mut self) {
        self.probes.shutdown().await;
    }
}

/// The configuration with the writer alone, for a command that does not follow it.
pub async fn at_writer(config: &Config) -> Result<Config, NoWriter> {
    let following = Following::start(config);
    let found = following.with_known_writer(config).await;
    following.end().await;
    found
}
