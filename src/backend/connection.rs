//! One connection to the server after its login: what belongs to it, and not to the session that it works for.

use std::time::Duration;

use tokio::time::Instant;

use crate::net::leg::Leg;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::Shape;
use crate::protocol::handshake::Greeting;
use crate::protocol::renumber::Renumber;
use crate::protocol::response::{Progress, Tracker};
use crate::types::{BackendId, Flavour};

/// A connection to the server.
#[derive(Debug)]
pub struct Backend {
    leg: Leg,
    id: BackendId,
    flavour: Flavour,
    version: u32,
    capabilities: Capabilities,
    /// When it was asked for, on the boot clock.
    opened: Duration,
    /// Since when the server is known to be the one with the lock tables, on the boot clock.
    known_since: Duration,
    /// When the server last heard from it.
    used: Instant,
    tracker: Tracker,
    /// Of a compressed leg.
    renumber: Option<Renumber>,
}

impl Backend {
    /// After its login, in which `capabilities` were agreed upon.
    pub fn new(
        leg: Leg,
        greeting: &Greeting,
        opened: Duration,
        capabilities: Capabilities,
    ) -> Self {
        Self {
            renumber: leg.is_compressed().then(Renumber::default),
            leg,
            id: greeting.connection,
            flavour: greeting.flavour,
            version: greeting.version_number(),
            capabilities,
            opened,
            known_since: opened,
            used: Instant::now(),
            tracker: Tracker::new(capabilities),
        }
    }

    /// The server's own id of it.
    pub fn id(&self) -> BackendId {
        self.id
    }

    /// The server's family.
    pub fn flavour(&self) -> Flavour {
        self.flavour
    }

    /// The server's version, as a number.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// What it speaks with the server.
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// When it was asked for, on the boot clock.
    pub fn opened(&self) -> Duration {
        self.opened
    }

    /// Since when the server is known to be the one with the lock tables, on the boot clock.
    pub fn known_since(&self) -> Duration {
        self.known_since
    }

    /// It was, at this moment.
    pub fn note_known(&mut self, at: Duration) {
        self.known_since = at;
    }

    /// When the server last heard from it.
    pub fn used(&self) -> Instant {
        self.used
    }

    /// The server runs a statement on it, or has just run one.
    pub fn note_used(&mut self) {
        self.used = Instant::now();
    }

    /// Its leg.
    pub fn leg(&self) -> &Leg {
        &self.leg
    }

    /// Its leg, to be read and written.
    pub fn leg_mut(&mut self) -> &mut Leg {
        &mut self.leg
    }

    /// Begins to follow a response whose first packet has this sequence id.
    pub fn begin_response(&mut self, shape: Shape, seq: u8) {
        self.tracker.begin(shape);
        if let Some(renumber) = &mut self.renumber {
            renumber.begin(seq);
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

    /// Counts the packets that come before the server hangs up.
    pub fn number_last_words(&mut self, bytes: &mut [u8]) {
        if let Some(renumber) = &mut self.renumber {
            renumber.begin(0);
            renumber.pass(bytes);
        }
    }

    /// The response that is followed.
    pub fn tracker(&self) -> &Tracker {
        &self.tracker
    }
}
