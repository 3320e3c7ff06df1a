//! One connection to the server after its login: what belongs to it, and not to the session that it works for.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::left::Left;
use super::pool::key::PoolKey;
use super::pool::permit::Permit;
use crate::net::buffers::Buffers;
use crate::net::leg::{DetachedLeg, Leg};
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::Shape;
use crate::protocol::cut::{Cutter, Reported};
use crate::protocol::handshake::Greeting;
use crate::protocol::renumber::Renumber;
use crate::protocol::response::{Progress, Tracker};
use crate::protocol::statement_ids::{Naming, StatementNumbers};
use crate::servers::writer::Destination;
use crate::types::{BackendId, Flavour, ProxyId};

/// A connection to the server.
#[derive(Debug)]
pub struct Backend {
    leg: Leg,
    facts: BackendFacts,
    /// When the server last heard from it.
    used: Instant,
    tracker: Tracker,
    /// Sequence ids of a compressed leg.
    renumber: Option<Renumber>,
    /// What a connection has that several sessions may have.
    pooled: Option<Box<PooledBackend>>,
}

/// What a connection has that several sessions may have, one after the other.
#[derive(Debug)]
struct PooledBackend {
    key: Arc<PoolKey>,
    /// The incarnation of the proxy that it was tagged with: if that dies, the connection is ended.
    tag: Option<ProxyId>,
    /// The server's start, if the connection has told it.
    run: Option<i64>,
    /// No schema was selected on it: nothing could take one back.
    schemaless: bool,
    /// What the last session has left on it.
    left: Left,
    cutter: Cutter,
    _permit: Permit,
}

/// A connection on no thread's event loop.
#[derive(Debug)]
pub struct DetachedBackend {
    leg: DetachedLeg,
    facts: BackendFacts,
    pooled: Box<PooledBackend>,
}

/// What is known of a connection, on whatever thread it is.
#[derive(Debug)]
struct BackendFacts {
    id: BackendId,
    flavour: Flavour,
    version: u32,
    capabilities: Capabilities,
    /// When it was asked for, on the boot clock.
    opened: Duration,
    /// Where it leads.
    to: Destination,
    /// Since when the server is known to be the one with the lock tables, on the boot clock.
    known_since: Duration,
}

impl DetachedBackend {
    /// Which sessions may have it.
    pub fn key(&self) -> &Arc<PoolKey> {
        &self.pooled.key
    }

    /// The server's own id of it.
    pub fn id(&self) -> BackendId {
        self.facts.id
    }

    /// The incarnation of the proxy that it was tagged with.
    pub fn tag(&self) -> Option<ProxyId> {
        self.pooled.tag
    }

    /// Whether no schema was selected on it.
    pub fn is_schemaless(&self) -> bool {
        self.pooled.schemaless
    }

    /// What the last session has left on it.
    pub(crate) fn left(&self) -> &Left {
        &self.pooled.left
    }

    /// When it was asked for, on the boot clock.
    pub fn opened(&self) -> Duration {
        self.facts.opened
    }

    /// Whether it leads to a server that is not the writer any more.
    pub fn is_left(&self) -> bool {
        self.facts.to.is_left()
    }

    /// Whether the server has said nothing on it, and not hung up.
    pub fn is_quiet(&self) -> bool {
        self.leg.is_quiet()
    }

    /// Puts it on this thread's event loop, for a client that speaks `client`.
    pub fn attach(self, client: Capabilities) -> io::Result<Backend> {
        let Self { leg, facts, mut pooled } = self;
        pooled.cutter = Cutter::new(client, facts.flavour);
        Ok(Backend {
            leg: leg.attach()?,
            facts,
            used: Instant::now(),
            tracker: Tracker::new(client),
            renumber: None,
            pooled: Some(pooled),
        })
    }
}

impl Backend {
    /// A connection after its login, in which `capabilities` were agreed upon.
    pub fn new(
        leg: Leg,
        greeting: &Greeting,
        opened: Duration,
        to: Destination,
        capabilities: Capabilities,
    ) -> Self {
        Self {
            renumber: leg.is_compressed().then(Renumber::default),
            leg,
            facts: BackendFacts {
                id: greeting.connection,
                flavour: greeting.flavour,
                version: greeting.version_number(),
                capabilities,
                opened,
                to,
                known_since: opened,
            },
            used: Instant::now(),
            tracker: Tracker::new(capabilities),
            pooled: None,
        }
    }

    /// Several sessions may have it from here on; this one's client speaks `client`. `schemaless`: none was
    /// selected at its login.
    #[must_use]
    pub fn shared(
        self,
        key: Arc<PoolKey>,
        client: Capabilities,
        schemaless: bool,
        tag: Option<ProxyId>,
        permit: Permit,
    ) -> Self {
        let cutter = Cutter::new(client, self.facts.flavour);
        let pooled = PooledBackend {
            key,
            tag,
            run: None,
            schemaless,
            left: Left::Nothing,
            cutter,
            _permit: permit,
        };
        Self { pooled: Some(Box::new(pooled)), tracker: Tracker::new(client), ..self }
    }

    /// Takes it off its thread's event loop, for the next session, which finds on it what this one has left.
    pub(crate) fn detach(self, left: Left) -> io::Result<DetachedBackend> {
        let Self { leg, facts, pooled, .. } = self;
        let mut pooled = pooled.ok_or(io::ErrorKind::Unsupported)?;
        if !pooled.cutter.is_at_rest() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        pooled.left = left;
        Ok(DetachedBackend { leg: leg.detach()?, facts, pooled })
    }

    /// The incarnation of the proxy that it was tagged with, if several sessions may have it.
    pub fn tag(&self) -> Option<ProxyId> {
        self.pooled.as_ref().and_then(|pooled| pooled.tag)
    }

    /// Where it leads.
    pub fn to(&self) -> &Destination {
        &self.facts.to
    }

    /// The server's start, if the connection has told it.
    pub fn run(&self) -> Option<i64> {
        self.pooled.as_ref().and_then(|pooled| pooled.run)
    }

    /// Keeps the server's start, which the connection has told.
    pub fn note_run(&mut self, run: i64) {
        if let Some(pooled) = &mut self.pooled {
            pooled.run = Some(run);
        }
    }

    /// What the last session has left on it, which the next one changes.
    pub(crate) fn take_left(&mut self) -> Left {
        let left = self.pooled.as_mut().map(|pooled| &mut pooled.left);
        left.map(|left| std::mem::replace(left, Left::Unknown)).unwrap_or_default()
    }

    /// Whether no schema was selected on it.
    pub fn is_schemaless(&self) -> bool {
        self.pooled.as_ref().is_some_and(|pooled| pooled.schemaless)
    }

    /// A schema is selected on it.
    pub fn note_schema(&mut self) {
        if let Some(pooled) = &mut self.pooled {
            pooled.schemaless = false;
        }
    }

    /// A response will come.
    pub fn expect(&mut self, shape: Shape, told: Naming) {
        if let Some(pooled) = &mut self.pooled {
            pooled.cutter.expect(shape, told);
        }
    }

    /// How prepared statements are numbered from here on.
    pub fn number_statements(&mut self, numbers: StatementNumbers) {
        if let Some(pooled) = &mut self.pooled {
            pooled.cutter.number(numbers);
        }
    }

    /// How prepared statements are numbered, if several sessions may have the connection.
    pub fn statement_numbers(&self) -> Option<StatementNumbers> {
        self.pooled.as_ref().map(|pooled| pooled.cutter.numbers())
    }

    /// The connection was reset.
    pub fn note_reset(&mut self) {
        if let Some(pooled) = &mut self.pooled {
            pooled.cutter.reset();
        }
    }

    /// Whether the client hears all of what the server reports.
    pub fn pass_all(&mut self, all: bool) {
        if let Some(pooled) = &mut self.pooled {
            pooled.cutter.pass_all(all);
        }
    }

    /// What the server has reported of the session's state since this was asked last.
    pub fn take_reported(&mut self) -> Reported {
        self.pooled.as_mut().map(|pooled| pooled.cutter.take_reported()).unwrap_or_default()
    }

    /// Reads what is there, as the client is to see it.
    pub fn read(&mut self, buffer: &mut Vec<u8>, buffers: &Buffers) -> io::Result<Option<usize>> {
        let Some(pooled) = &mut self.pooled else {
            return self.leg.read(buffer);
        };
        let mut raw = buffers.take();
        let read = self.leg.read(&mut raw);
        let before = buffer.len();
        let read = match read {
            Ok(Some(n @ 1..)) => pooled.cutter.feed(&raw, buffer).map(|()| Some(n)),
            read => read,
        };
        buffers.give(raw);
        // Bytes that are kept until their packet is whole are not there yet.
        let nothing = buffer.len() == before;
        read.map(|read| read.filter(|n| *n == 0 || !nothing))
    }

    /// The server's own id of it.
    pub fn id(&self) -> BackendId {
        self.facts.id
    }

    /// The server's family.
    pub fn flavour(&self) -> Flavour {
        self.facts.flavour
    }

    /// The server's version, as a number.
    pub fn version(&self) -> u32 {
        self.facts.version
    }

    /// What it speaks with the server.
    pub fn capabilities(&self) -> Capabilities {
        self.facts.capabilities
    }

    /// Since when the server is known to be the one with the lock tables, on the boot clock.
    pub fn known_since(&self) -> Duration {
        self.facts.known_since
    }

    /// Notes that the server was the one with the lock tables at this moment.
    pub fn note_known(&mut self, at: Duration) {
        self.facts.known_since = at;
    }

    /// When the server last heard from it.
    pub fn used(&self) -> Instant {
        self.used
    }

    /// The server runs a statement on it, or has just run one.
    pub fn note_used(&mut self) {
        self.used = Instant::now();
    }

    /// The socket and its layers.
    pub fn leg(&self) -> &Leg {
        &self.leg
    }

    /// The socket and its layers, to be read and written.
    pub fn leg_mut(&mut self) -> &mut Leg {
        &mut self.leg
    }

    /// Begins to follow a response whose first packet has this sequence id.
    pub fn begin_response(&mut self, shape: Shape, seq: u8) {
        self.tracker.start_response(shape);
        match &mut self.renumber {
            Some(renumber) => renumber.restart(seq),
            // Compressed, packets are counted otherwise, and a stream of replication by nobody here.
            None if self.leg.is_compressed() || shape == Shape::Endless => {}
            None => self.tracker.count_from(seq),
        }
    }

    /// Follows a response through these bytes, which may be more than the rest of a packet. In a `pipe`
    /// no response ends, so nobody knows where to begin counting again.
    pub fn follow(&mut self, bytes: &mut [u8], pipe: bool) -> (usize, Progress) {
        let (n, progress) = self.tracker.feed(bytes);
        if let Some(renumber) = self.renumber.as_mut().filter(|_| !pipe) {
            renumber.pass(&mut bytes[..n]);
        }
        (n, progress)
    }

    /// Counts the packets that come before the server closes the connection.
    pub fn number_last_words(&mut self, bytes: &mut [u8]) {
        if let Some(renumber) = &mut self.renumber {
            renumber.restart(0);
            renumber.pass(bytes);
        }
    }

    /// The response that is followed.
    pub fn tracker(&self) -> &Tracker {
        &self.tracker
    }
}
