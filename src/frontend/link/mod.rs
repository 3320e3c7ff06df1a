//! Both legs of a session, and what is owed on them.
//!
//! The client receives the server's bytes unchanged, and the server the client's, unless the session says
//! otherwise. Nothing in the frontend waits for a socket but [`Link::next`]. What the
//! session does at its server, and waits for, is an [`errand`].

pub(super) mod checkout;
pub(super) mod close_reason;
pub(super) mod errand;
pub(super) mod guard;
pub(super) mod input;
pub(super) mod pending;
pub(crate) mod question;
pub(super) mod reply;

mod account;
mod audit;
mod carried;
mod diagnostics;
mod discard;
mod exchange;
pub(super) mod from_client;
mod from_server;
mod held;
mod idle;
mod known_login;
mod large_packets;
pub(super) mod loss;
mod making_way;
mod outgoing;
mod pooled;
mod presence;
mod server_side;
mod statements;
mod suspended;
mod unanswered;
mod within;

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use self::close_reason::CloseReason;
use self::guard::{Certainty, LeaseGuard};
use self::input::ClientInput;
use self::pending::{Finished, Pending, Skipped, any_for_client};
use self::question::Unanswered;
use self::reply::Reply;
use self::server_side::ServerSide;
use super::pooling::pooled_session::PooledSession;
use super::shared::context::Context;
use crate::backend::connection::Backend;
use crate::metrics::Metrics;
use crate::net::buffers::Buffers;
use crate::net::leg::Leg;
use crate::protocol::amend::Amend;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::Shape;
use crate::protocol::frame::{FrameHeader, HEADER};
use crate::protocol::statement_ids::Naming;
use crate::protocol::status::Status;

/// Responses that may be owed before the client is no longer read.
const MAX_PENDING: usize = 128;
/// Client bytes read ahead while the proxy answers, to notice the end after them.
const READ_AHEAD: usize = 64 * 1024;

/// Both legs, and what is owed on them.
pub(super) struct Link {
    client: Leg,
    server: ServerSide,
    capabilities: Capabilities,
    guard: Arc<LeaseGuard>,
    /// While the session is suspended.
    certainty: Option<Certainty>,
    metrics: Arc<Metrics>,
    buffers: Buffers,
    /// Client bytes that are not yet looked at.
    inbox: Vec<u8>,
    input: ClientInput,
    held: held::HeldForSwitchover,
    client_ended: bool,
    /// Its connection broke: what is sent to it is dropped.
    client_lost: bool,
    unheard: Unheard,
    pending: VecDeque<Pending>,
    unanswered: Unanswered,
    finished: Vec<Finished>,
    /// What the server said to a statement that shows a wait.
    gate_reply: Option<Reply>,
    amendment: Option<Amendment>,
    status: Status,
    /// The last response said the status.
    status_known: bool,
    skipped: Skipped,
    /// What a server said before it hung up on a session that may go on.
    last_words: Vec<u8>,
    /// The session's place in the pool, if it shares its connections.
    pooled: Option<Box<PooledSession>>,
}

/// What the client of a session that holds locks was sent and may not have acknowledged.
#[derive(Debug, Default)]
struct Unheard {
    bytes: usize,
    /// It counts as gone if it acknowledges nothing for long.
    bounded: bool,
    /// Since when it has not taken what is for it, while the session holds locks.
    stall: Option<Pin<Box<Sleep>>>,
}

/// Changes responses on their way to the client.
#[derive(Debug)]
struct Amendment {
    amend: Box<Amend>,
    /// It joins the responses to several statements; otherwise it ends with the next one.
    joins: bool,
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
            client,
            server: ServerSide::of(server),
            capabilities,
            guard,
            certainty: None,
            metrics: Arc::clone(&context.metrics),
            buffers: context.buffers.clone(),
            inbox: Vec::new(),
            input: ClientInput::Command,
            held: held::HeldForSwitchover::default(),
            client_ended: false,
            client_lost: false,
            unheard: Unheard::default(),
            pending: VecDeque::new(),
            unanswered: Unanswered { question: None, lines: Arc::clone(&context.lines) },
            finished: Vec::new(),
            gate_reply: None,
            amendment: None,
            status: Status(Status::AUTOCOMMIT),
            status_known: false,
            skipped: Skipped::default(),
            last_words: Vec::new(),
            pooled: None,
        }
    }

    /// A response will come.
    fn owe(&mut self, pending: Pending) {
        self.owe_told(pending, Naming::Session);
    }

    /// The same where it may call a prepared statement by another id.
    fn owe_told(&mut self, mut pending: Pending, told: Naming) {
        if let Some(pooled) = &self.pooled {
            pending.undone = pooled.loss_tracking.undone;
            if pending.recipient.is_client() {
                pending.releases = pooled.loss_tracking.releases;
            }
        }
        self.server.expect(pending.shape, told);
        self.pending.push_back(pending);
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
        if self.poll_stalled(cx).is_ready() {
            return Poll::Ready(Ok(LinkEvent::Stalled));
        }
        if interest == Interest::Commands && self.poll_idle(cx).is_ready() {
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
            Interest::Ahead => self.inbox.len() < READ_AHEAD && !self.client_ended,
            Interest::End => self.inbox.is_empty() && !self.client_ended && !self.client_lost,
            Interest::Settled | Interest::Server => false,
        };
        if listens && self.client.poll_readable(cx).is_ready() {
            return Poll::Ready(Ok(LinkEvent::Client));
        }
        Poll::Pending
    }

    /// While the client does not take what it was sent, the server is not read.
    fn hears_server(&self) -> bool {
        self.client_lost || self.client.is_flushed()
    }

    /// Whether the client's commands are read, as far as the legs are concerned.
    pub(super) fn hears_commands(&self) -> bool {
        self.server.is_flushed()
            && !self.client_ended
            && self.pending.len() < MAX_PENDING
            && !self.makes_way()
            && !self.awaits_stream()
            && !self.awaits_rows()
    }

    /// Whether the next command waits until what a response reports of locks is settled. Read on, it
    /// would be answered before that.
    fn awaits_rows(&self) -> bool {
        matches!(self.input, ClientInput::Command)
            && self.pending.back().is_some_and(Pending::is_held_back)
    }

    /// Whether the client is read meanwhile, up to a limit, so that its end is noticed.
    fn hears_ahead_of_rows(&self) -> bool {
        self.awaits_rows() && self.inbox.len() < READ_AHEAD && !self.client_ended
    }

    /// Whether the server has all of a command that both sides talk freely after, and has yet to say
    /// if it refuses it.
    fn awaits_stream(&self) -> bool {
        matches!(self.input, ClientInput::Command)
            && self.pending.back().is_some_and(|last| last.shape == Shape::Endless)
    }

    fn flush_client(&mut self, cx: &mut TaskContext<'_>) -> Result<(), CloseReason> {
        while !self.client.is_flushed() && self.client.poll_writable(cx).is_ready() {
            self.client.flush().map_err(|_| CloseReason::ClientGone)?;
        }
        Ok(())
    }

    /// Whether a leg may hold bytes of which its socket does not know.
    pub(super) fn has_more(&self) -> bool {
        self.client.has_more() || self.server.has_more()
    }

    /// Nothing is owed, and the client has taken all that it was sent.
    pub(super) fn is_settled(&self) -> bool {
        self.pending.is_empty() && self.client.is_flushed()
    }

    /// Whether the server owes nothing.
    pub(super) fn owes_nothing(&self) -> bool {
        self.pending.is_empty()
    }

    /// Whether the client has an answer to all that it asked.
    pub(super) fn owes_client_nothing(&self) -> bool {
        self.client.is_flushed() && !any_for_client(&self.pending)
    }

    /// Nothing runs, nothing is half sent, and no transaction is open.
    pub(super) fn is_idle(&self) -> bool {
        self.is_settled()
            && self.server.is_flushed()
            && self.inbox.is_empty()
            && matches!(self.input, ClientInput::Command)
            && !self.status.has(Status::IN_TRANS)
    }

    /// What client and server speak.
    pub(super) fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// The status flags that the server said last.
    pub(super) fn status(&self) -> Status {
        self.status
    }

    /// Whether a reply that the proxy makes itself cannot be told from the server's: not while
    /// state trackers hang flags and blocks on the next reply, nor after an error.
    pub(super) fn status_is_plain(&self) -> bool {
        self.status_known && !self.status.has(Status::SESSION_STATE_CHANGED)
    }

    /// Takes the status flags that another login begins with.
    pub(super) fn reset_status(&mut self) {
        self.status = Status(Status::AUTOCOMMIT);
    }

    /// When the server last heard from this session.
    pub(super) fn server_used(&self) -> Instant {
        self.server.used()
    }

    /// The server runs a statement of this session, or has just run one.
    pub(super) fn note_server_used(&mut self) {
        self.server.note_used();
    }

    /// Since when the server is known to be the one with the lock tables; `None` while there is no
    /// connection to it.
    pub(super) fn known_since(&self) -> Option<Duration> {
        self.server.known_since()
    }

    /// It was, at this moment.
    pub(super) fn note_known(&mut self, at: Duration) {
        self.server.note_known(at);
    }

    /// The check before bytes of a session that holds locks go to the server.
    pub(super) fn guard(&self) -> &LeaseGuard {
        &self.guard
    }

    /// Whether the client's bytes are encrypted.
    pub(super) fn is_encrypted(&self) -> bool {
        self.client.tls().is_some()
    }

    /// Both legs, for a login on the open connection; `None` while there is none to the server.
    pub(super) fn legs(&mut self) -> Option<Legs<'_>> {
        let Self { client, server, .. } = self;
        server.leg_mut().map(|server| Legs { client, server })
    }

    /// The packet of the command that waits at the front of the inbox.
    pub(super) fn take_command(&mut self) -> Option<Vec<u8>> {
        let frame = FrameHeader::peek(&self.inbox)?;
        let rest = self.inbox.split_off((HEADER + frame.len).min(self.inbox.len()));
        Some(std::mem::replace(&mut self.inbox, rest))
    }

    /// Responses that somebody in the session waits for.
    pub(super) fn take_finished(&mut self) -> Vec<Finished> {
        std::mem::take(&mut self.finished)
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
