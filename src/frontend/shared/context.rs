//! What every session of a process shares.

use std::sync::Arc;

use prometheus::IntCounter;

use super::audits::Audits;
use super::leg_options::Hops;
use super::live_config::InForce;
use super::log_lines::Lines;
use super::paced::Paced;
use super::programs::KnownPrograms;
use super::registry::Registry;
use super::seen_locks::SeenLocks;
use super::shapes::Shapes;
use super::switchover::Switchover;
use crate::backend::greeted::Patience;
use crate::backend::learned::LearnedSecrets;
use crate::backend::pool::Pool;
use crate::backend::reach::Reach;
use crate::backend::spares::Spares;
use crate::config::Config;
use crate::engine::handle::Engine;
use crate::engine::io::gatekeeper::Gates;
use crate::metrics::Metrics;
use crate::net::buffers::Buffers;
use crate::observe::recorder::Observer;
use crate::protocol::command::Command;
use crate::servers::replicas::Replicas;

/// What sessions need that share server connections.
#[derive(Clone)]
pub struct Shared {
    /// The connections.
    pub pool: Pool,
    /// What is known of their accounts.
    pub secrets: Arc<LearnedSecrets>,
    /// What is known of stored programs.
    pub programs: KnownPrograms,
    /// Asks the server what sessions have.
    pub audits: Audits,
    /// Connections of other accounts, opened for the question whether a session may end theirs.
    pub examples: Arc<Paced>,
}

/// Handles, cheap to clone; one a relay thread because of its buffers and counters.
#[derive(Clone)]
pub struct Context {
    /// The cluster's name, where there may be several.
    pub cluster: Option<Arc<str>>,
    /// Settings of this session.
    pub config: Arc<Config>,
    /// Settings of new ones.
    pub in_force: InForce,
    /// The lock engine.
    pub engine: Engine,
    /// Where server sessions wait while their clients do.
    pub gates: Gates,
    /// Where sessions tell what they observe, if that is what they do.
    pub observer: Option<Observer>,
    /// Shapes of statements that are not covered and were logged.
    pub shapes: Shapes,
    /// What is shown of the locks of sessions.
    pub seen: SeenLocks,
    /// Lines of the log that clients can cause.
    pub lines: Arc<Lines>,
    /// Counters.
    pub metrics: Arc<Metrics>,
    /// TLS and compression.
    pub hops: Arc<Hops>,
    /// Greeted connections to reuse.
    pub spares: Spares,
    /// What sessions need that share server connections, if they do.
    pub shared: Option<Shared>,
    /// Whether the writer can be reached.
    pub reach: Reach,
    /// The servers that sessions go to, if that is not the writer.
    pub replicas: Option<Replicas>,
    /// Server connections can be found by what their proxy has tagged them with.
    pub finds_tagged: bool,
    /// All sessions, for the drain.
    pub registry: Registry,
    /// Statements wait while a switchover is prepared.
    pub switchover: Switchover,
    /// Buffers of this thread.
    pub buffers: Buffers,
    /// Command counters by command byte: looked up once, not by label at each command.
    pub commands: Arc<[IntCounter]>,
}

impl Context {
    /// This context with the settings of a listener.
    #[must_use]
    pub fn renewed_with(&self, in_force: InForce) -> Self {
        Self { in_force, ..self.clone() }.renewed()
    }

    /// This context for a new session, with the settings of the moment.
    #[must_use]
    pub fn renewed(&self) -> Self {
        let (config, hops) = self.in_force.both();
        Self { config, hops, ..self.clone() }
    }

    /// The addresses of the servers that sessions may be at now.
    pub fn servers(&self) -> String {
        let replicas = self.replicas.as_ref().map(Replicas::to_string);
        replicas.unwrap_or_else(|| self.reach.writer().to_string())
    }

    /// How long a connection to the server may take.
    pub fn patience(&self) -> Patience {
        let Config { connect_timeout, writer_wait, .. } = *self.config;
        Patience { connect: connect_timeout, writer: writer_wait }
    }

    /// Counts why the proxy ended a client's connection.
    pub fn count_closed(&self, reason: &str) {
        self.metrics.sessions_closed.with_label_values(&[reason]).inc();
    }

    /// Counters for each command byte.
    pub fn command_counters(metrics: &Metrics) -> Arc<[IntCounter]> {
        (0..=u8::MAX).map(|b| metrics.commands.with_label_values(&[Command(b).label()])).collect()
    }
}
