//! Both legs of a session, and what is owed on them.
//!
//! The client receives the server's bytes unchanged, and the server the client's, unless the session says
//! otherwise. Nothing in the frontend waits for a socket but [`Link::next`]. What the
//! session does at its server, and waits for, is an [`errand`].

pub(super) mod amendments;
pub(super) mod asker;
pub(super) mod client_side;
pub(super) mod close_reason;
pub(super) mod errand;
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

mod from_server;
pub(super) mod held;
mod outgoing;
mod pooled;
mod presence;
mod suspended;
mod unanswered;
pub(super) mod within;

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use self::amendments::Amendments;
use self::client_side::ClientSide;
use self::close_reason::CloseReason;
use self::guard::{Certainty, LeaseGuard};
use self::held::HeldForSwitchover;
use self::owed::Owed;
use self::pending::Pending;
use self::question::Unanswered;
use self::server_side::ServerSide;
use self::server_status::ServerStatus;
use super::pooling::pooled::Pooled;
use super::shared::context::Context;
use crate::backend::connection::Backend;
use crate::metrics::Metrics;
use crate::net::buffers::Buffers;
use crate::net::leg::Leg;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::Shape;
use crate::protocol::statement_ids::Naming;

/// Responses that may be owed before the client is no longer read.
const MAX_PENDING: usize = 128;

/// Both legs, and what is owed on them.
pub(super) struct Link {
    client: ClientSide,
    server: ServerSide,
    capabilities: Capabilities,
    guard: Arc<LeaseGuard>,
    /// While the session is suspended.
    certainty: Option<Certainty>,
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

/// What a caller of [`Link::next`] waits for, beside the server's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interest {
    /// The client's commands.
    Commands,
    /// The moment in which nothing is owed and the client has taken all that it was sent. Not while the
    /// session is suspended.
    Settled,
    /// Client bytes, read ahead while the proxy answers.
    Ahead,
    /// The client's end, while nothing of it is read ahead.
    End,
    /// Nothing else.
    Server,
}

/// What happened on the legs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkEvent {
    /// The server's leg can be read.
    Server,
    /// The client's leg can be read.
    Client,
    /// Nothing is owed, and the client has taken all that it was sent.
    Settled,
    /// The client of a session that holds locks takes nothing, so that the server is not read.
    Stalled,
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
            server: ServerSide::of(server),
            capabilities,
            guard,
            certainty: None,
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
        self.owe_told(pending, Naming::Session);
    }

    /// The same where it may call a prepared statement by another id.
    fn owe_told(&mut self, mut pending: Pending, told: Naming) {
        let (undone, releases) = self.pooled.under_way();
        pending.undone = undone;
        if pending.recipient.is_client() {
            pending.releases = releases;
        }
        self.server.expect(pending.shape, told);
        self.owed.push(pending);
    }

    /// Waits until something happens that the caller wants to know. Sends meanwhile what was queued.
    /// It may be dropped at any time: nothing is read here.
    pub(super) async fn next(&mut self, interest: Interest) -> Result<LinkEvent, CloseReason> {
        poll_fn(|cx| self.poll_next(cx, interest)).await
    }

    fn poll_next(
        &mut self,
        cx: &mut TaskContext<'_>,
        interest: Interest,
    ) -> Poll<Result<LinkEvent, CloseReason>> {
        self.flush_client(cx)?;
        self.flush_server(cx)?;
        self.check_unanswered(cx)?;
        if self.client.poll_stalled(cx, self.guard.is_armed()).is_ready() {
            return Poll::Ready(Ok(LinkEvent::Stalled));
        }
        let idles = interest == Interest::Commands && !self.server.is_there();
        if idles && self.client.inbox_is_empty() && self.pooled.poll_idle(cx).is_ready() {
            return Poll::Ready(Err(CloseReason::Inactive));
        }
        if interest == Interest::Settled && self.is_settled() && self.poll_certain(cx)?.is_ready() {
            return Poll::Ready(Ok(LinkEvent::Settled));
        }
        if self.hears_server() && self.server.poll_readable(cx).is_ready() {
            return Poll::Ready(Ok(LinkEvent::Server));
        }
        let listens = match interest {
            Interest::Commands => self.hears_commands() || self.hears_ahead_of_rows(),
            Interest::Ahead => self.client.has_room(),
            Interest::End => {
                let gone = self.client.has_ended() || self.client.is_lost();
                self.client.inbox_is_empty() && !gone
            }
            Interest::Settled | Interest::Server => false,
        };
        if listens && self.client.poll_readable(cx).is_ready() {
            return Poll::Ready(Ok(LinkEvent::Client));
        }
        Poll::Pending
    }

    /// While the client does not take what it was sent, the server is not read.
    fn hears_server(&self) -> bool {
        self.client.is_lost() || self.client.is_flushed()
    }

    /// Whether the client's commands are read, as far as the legs are concerned.
    pub(super) fn hears_commands(&self) -> bool {
        self.server.is_flushed()
            && !self.client.has_ended()
            && self.owed.len() < MAX_PENDING
            && !self.makes_way()
            && !self.awaits_stream()
            && !self.awaits_rows()
    }

    /// Whether the next command waits until nothing is owed, since other sessions wait for the connection.
    fn makes_way(&self) -> bool {
        !self.owed.is_nothing() && self.pooled.makes_way()
    }

    /// Whether the next command waits until what a response reports of locks is settled. Read on, it
    /// would be answered before that.
    fn awaits_rows(&self) -> bool {
        self.client.is_at_command() && self.owed.back().is_some_and(Pending::is_held_back)
    }

    /// Whether the client is read meanwhile, up to a limit, so that its end is noticed.
    fn hears_ahead_of_rows(&self) -> bool {
        self.awaits_rows() && self.client.has_room()
    }

    /// Whether the server has all of a command that both sides talk freely after, and has yet to say
    /// if it refuses it.
    fn awaits_stream(&self) -> bool {
        self.client.is_at_command()
            && self.owed.back().is_some_and(|last| last.shape == Shape::Endless)
    }

    fn flush_client(&mut self, cx: &mut TaskContext<'_>) -> Result<(), CloseReason> {
        self.client.poll_flush(cx).map_err(|_| CloseReason::ClientGone)
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

    /// The same, to be changed.
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

    /// The same, to be changed.
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

    /// The same, to be changed.
    pub(super) fn pooled_mut(&mut self) -> &mut Pooled {
        &mut self.pooled
    }

    /// The check before bytes of a session that holds locks go to the server.
    pub(super) fn guard(&self) -> &LeaseGuard {
        &self.guard
    }

    /// Both legs, for a login on the open connection; `None` while there is none to the server.
    pub(super) fn legs(&mut self) -> Option<Legs<'_>> {
        let Self { client, server, .. } = self;
        server.leg_mut().map(|server| Legs { client: client.leg_mut(), server })
    }

    /// Writes everything queued for the client.
    pub(super) async fn drain_to_client(&mut self) -> Result<(), CloseReason> {
        poll_fn(|cx| {
            self.flush_client(cx)?;
            if self.client.is_flushed() { Poll::Ready(Ok(())) } else { Poll::Pending }
        })
        .await
    }
}
