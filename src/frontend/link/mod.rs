//! Both legs of a session, and what is owed on them.
//!
//! The client receives the server's bytes unchanged, and the server the client's, unless the session says
//! otherwise. Nothing in the frontend waits for a socket but [`wait`]. What the
//! session does at its server, and waits for, is an [`errand`].

pub(super) mod amendments;
pub(super) mod asker;
pub(super) mod client_side;
pub(super) mod close_reason;
pub(super) mod errand;
pub(super) mod errands;
pub(super) mod from_client;
pub(super) mod guard;
pub(super) mod input;
pub(super) mod loss;
pub(super) mod owed;
pub(super) mod pending;
pub(crate) mod question;
pub(super) mod reply;
pub(super) mod server_side;
pub(super) mod server_status;

mod bad_response;
mod endings;
pub(super) mod from_server;
pub(super) mod held;
mod outgoing;
mod pooled;
mod presence;
mod suspended;
mod unanswered;
pub(super) mod wait;
pub(super) mod within;

use std::sync::Arc;

use self::amendments::Amendments;
use self::client_side::ClientSide;
use self::guard::LeaseGuard;
use self::held::HeldForSwitchover;
use self::owed::Owed;
use self::pending::Pending;
use self::question::Unanswered;
use self::server_side::ServerSide;
use self::server_status::ServerStatus;
use super::pooling::address::Addressed;
use super::pooling::pooled::Pooled;
use super::shared::context::Context;
use crate::backend::connection::Backend;
use crate::metrics::Metrics;
use crate::net::buffers::Buffers;
use crate::net::leg::Leg;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::statement_ids::Naming;

/// Responses that may be owed before the client is no longer read.
const MAX_PENDING: usize = 128;

/// Both legs, and what is owed on them.
pub(super) struct Link {
    client: ClientSide,
    server: ServerSide,
    capabilities: Capabilities,
    metrics: Arc<Metrics>,
    buffers: Buffers,
    held: HeldForSwitchover,
    owed: Owed,
    unanswered: Unanswered,
    amendments: Amendments,
    status: ServerStatus,
    /// What a server said before it hung up on a session that may go on.
    last_words: Vec<u8>,
    /// What the session has for sharing its connections, if it does.
    pooled: Pooled,
}

/// Both legs, lent.
pub(super) struct Legs<'a> {
    pub client: &'a mut Leg,
    pub server: &'a mut Leg,
}

impl Link {
    /// After a login.
    pub(super) fn new(
        client: Leg,
        server: Option<Backend>,
        capabilities: Capabilities,
        guard: Arc<LeaseGuard>,
        context: &Context,
    ) -> Self {
        Self {
            client: ClientSide::new(client),
            server: ServerSide::of(server, guard),
            capabilities,
            metrics: Arc::clone(&context.metrics),
            buffers: context.buffers.clone(),
            held: HeldForSwitchover::default(),
            owed: Owed::default(),
            unanswered: Unanswered { question: None, lines: Arc::clone(&context.lines) },
            amendments: Amendments::new(capabilities),
            status: ServerStatus::new(),
            last_words: Vec::new(),
            pooled: Pooled::default(),
        }
    }

    /// A response will come.
    fn owe(&mut self, pending: Pending) {
        self.owe_about(pending, None);
    }

    /// A response will come to a command that may be for a prepared statement, which it may call by another id.
    fn owe_about(&mut self, mut pending: Pending, about: Option<Addressed>) {
        let mut told = Naming::Session;
        if let Some(about) = about {
            (told, pending.statement) = (about.told, about.statement);
        }
        let (undone, releases) = self.pooled.under_way();
        pending.undone = undone;
        if pending.recipient.is_client() {
            pending.releases = releases;
        }
        self.server.expect(pending.shape, told);
        self.owed.push(pending);
    }

    /// Whether the client's commands are read, as far as the legs are concerned.
    pub(super) fn hears_commands(&self) -> bool {
        // Other sessions wait for the connection.
        let makes_way = !self.owed.is_nothing() && self.pooled.makes_way();
        self.server.is_flushed()
            && !self.client.has_ended()
            && self.owed.len() < MAX_PENDING
            && !makes_way
            && !self.awaits_last()
    }

    /// Whether the next command waits for the last response that is owed. It would be answered before locks that the response
    /// reports are settled; or both sides talk freely after it, unless the server refuses.
    fn awaits_last(&self) -> bool {
        self.client.is_at_command() && self.owed.back().is_some_and(Pending::stops_client)
    }

    /// Whether a leg may hold bytes of which its socket does not know.
    pub(super) fn has_more(&self) -> bool {
        self.client.has_more() || self.server.has_more()
    }

    /// Nothing is owed, and the client has taken all that it was sent.
    pub(super) fn is_settled(&self) -> bool {
        self.owed.is_nothing() && self.client.is_flushed()
    }

    /// Whether the client has an answer to all that it asked.
    pub(super) fn owes_client_nothing(&self) -> bool {
        self.client.is_flushed() && !self.owed.any_for_client()
    }

    /// Nothing is owed, nothing is half sent or half read on either leg: the next byte of the client's begins a command.
    pub(super) fn between_commands(&self) -> bool {
        self.is_settled() && self.server.is_flushed() && self.client.is_at_command()
    }

    /// Between two commands outside a transaction, and no part of the next has come.
    pub(super) fn is_idle(&self) -> bool {
        self.between_commands() && self.client.inbox_is_empty() && !self.status.in_transaction()
    }

    /// What client and server speak.
    pub(super) fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// What the server said last of the session's status.
    pub(super) fn status(&self) -> ServerStatus {
        self.status
    }

    /// Another login begins.
    pub(super) fn reset_status(&mut self) {
        self.status.reset();
    }

    /// Where what happens is counted.
    pub(super) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// What is owed.
    pub(super) fn owed(&self) -> &Owed {
        &self.owed
    }

    /// What is owed on the legs, to be changed.
    pub(super) fn owed_mut(&mut self) -> &mut Owed {
        &mut self.owed
    }

    /// How responses are changed on their way to the client.
    pub(super) fn amendments(&mut self) -> &mut Amendments {
        &mut self.amendments
    }

    /// The client's connection.
    pub(super) fn client(&self) -> &ClientSide {
        &self.client
    }

    /// The client's connection, to be read or written.
    pub(super) fn client_mut(&mut self) -> &mut ClientSide {
        &mut self.client
    }

    /// The server's connection, if there is one.
    pub(super) fn server(&self) -> &ServerSide {
        &self.server
    }

    /// The server's connection, to be changed.
    pub(super) fn server_mut(&mut self) -> &mut ServerSide {
        &mut self.server
    }

    /// What is held back while a switchover is prepared.
    pub(super) fn held(&self) -> &HeldForSwitchover {
        &self.held
    }

    /// What a switchover holds back, to be changed.
    pub(super) fn held_mut(&mut self) -> &mut HeldForSwitchover {
        &mut self.held
    }

    /// Whether a command was kept back, and is there still.
    pub(super) fn is_kept_back(&self) -> bool {
        self.held.kept_for() != 0 && !self.client.inbox_is_empty()
    }

    /// Whether a command was kept back, but not for the switchover of this number.
    pub(super) fn has_waited(&self, number: u64) -> bool {
        self.is_kept_back() && self.held.kept_for() != number
    }

    /// What the session has for sharing its connections.
    pub(super) fn pooled(&self) -> &Pooled {
        &self.pooled
    }

    /// What the session has for sharing its connections, to be changed.
    pub(super) fn pooled_mut(&mut self) -> &mut Pooled {
        &mut self.pooled
    }

    /// The check before bytes of a session that holds locks go to the server.
    pub(super) fn guard(&self) -> &LeaseGuard {
        self.server.guard()
    }

    /// Both legs, for a login on the open connection; `None` while there is none to the server.
    pub(super) fn legs(&mut self) -> Option<Legs<'_>> {
        let Self { client, server, .. } = self;
        server.leg_mut().map(|server| Legs { client: client.leg_mut(), server })
    }
}
