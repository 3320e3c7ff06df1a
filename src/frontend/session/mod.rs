//! A logged-in session: its state, and the one loop that owns it.

pub mod close;
pub(in crate::frontend) mod limits;
pub(in crate::frontend) mod multi_statement;
pub(in crate::frontend) mod reading;
pub(in crate::frontend) mod reset;
pub(in crate::frontend) mod settings;

use std::collections::HashMap;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep};

use self::multi_statement::Chain;
use self::settings::Settings;
use super::link::discard::Dropped;
use super::link::pending::{Behind, Owed};
use super::link::presence::Unheard;
use super::link::server_query::Reply;
use super::locks::unsupported::AtHand;
use super::login::Authenticated;
use super::login::auth_exchange::Method;
use super::observe::observer::Watch;
use super::prepared::sql_prepare::NamedStatements;
use super::prepared::store::LockStatement;
use super::shared::context::Context;
use super::shared::registry::{Entry, Shown};
use crate::engine::handle::{EventSender, SessionEvent};
use crate::lock::held::Held;
use crate::net::leg::Leg;
use crate::net::peer::Peer;
use crate::protocol::amend::Amend;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::renumber::Renumber;
use crate::protocol::response::Tracker;
use crate::protocol::status::Status;
use crate::sql::find::stream::Stream;
use crate::sql::lexer::dialect::{Dialect, Multibyte};
use crate::types::{ConnectionId, Flavour, ProxyId};

/// Responses that may be owed before the client is no longer read.
const MAX_OWED: usize = 128;

/// Why a session ended.
#[derive(Debug)]
pub(super) enum End {
    /// The client closed its side, or its connection broke.
    ClientGone,
    /// The server closed its side, or its connection broke.
    ServerGone,
    /// The locks are lost.
    Fenced,
    /// The proxy shuts down.
    Drained,
    /// The lock tables may be on another server than this session.
    Moved,
    /// An administrator has taken this lock away.
    Revoked(String),
    /// The row of a lock, of this name if it is known, is not the session's any more.
    Lost(Option<String>),
    /// The client said something that cannot be relayed.
    Broken(&'static str),
}

/// What the client's next bytes are.
#[derive(Debug)]
pub(super) enum ClientState {
    /// A command.
    Command,
    /// The rest of a packet that is forwarded: bytes left in its frame, whether another frame
    /// follows, and with which sequence id. A long statement is searched for lock calls on its way.
    Body { left: usize, continued: bool, seq: u8, stream: Option<Box<Stream>> },
    /// The rest of a packet that is not forwarded.
    Dropped(Dropped),
    /// The file that the server asked for, up to an empty packet: bytes left in a frame, and the
    /// next one's sequence id.
    File { left: usize, seq: u8 },
    /// Both sides talk freely (replication).
    Pipe,
}

/// A session.
pub(super) struct Session {
    pub(super) client: Leg,
    pub(super) server: Leg,
    pub(super) peer: Peer,
    /// How its user proved to be one.
    pub(super) method: Method,
    /// When it was opened, on the boot clock.
    pub(super) opened: Duration,
    pub(super) context: Context,
    pub(super) connection: ConnectionId,
    pub(super) flavour: Flavour,
    pub(super) version: u32,
    pub(super) capabilities: Capabilities,
    pub(super) owner: Arc<[u8]>,
    /// Client bytes that are not yet looked at.
    pub(super) inbox: Vec<u8>,
    pub(super) owed: VecDeque<Owed>,
    /// What the server said to a statement that shows a wait.
    pub(super) at_gate: Option<Reply>,
    pub(super) tracker: Tracker,
    /// Of a compressed leg to the server.
    pub(super) renumber: Option<Renumber>,
    pub(super) client_state: ClientState,
    /// The command at the front of the inbox waits until the server owes nothing.
    pub(super) parked: bool,
    /// The proxy is answering a command itself, or was when the session ended.
    pub(super) answering: bool,
    /// The command that is being answered.
    pub(super) at_hand: AtHand,
    /// A dropped packet, which the parked session is to answer.
    pub(super) refused: Option<Dropped>,
    /// Statements of the same text that are still to be run.
    pub(super) chain: Option<Box<Chain>>,
    /// Changes the response that is under way.
    pub(super) amend: Option<Box<Amend>>,
    pub(super) client_ended: bool,
    /// Its connection broke: what is sent to it is dropped.
    pub(super) client_lost: bool,
    /// It has said COM_QUIT, which the server has not heard.
    pub(super) has_quit: bool,
    pub(super) status: Status,
    /// The last response said the status.
    pub(super) status_known: bool,
    pub(super) held: Held,
    /// The incarnation that granted what is held.
    pub(super) granted_by: Option<ProxyId>,
    pub(super) behind: Behind,
    pub(super) settings: Settings,
    /// A prepared statement may change them at any time.
    pub(super) settings_prepared: bool,
    /// One text may hold several statements, as far as the proxy knows.
    pub(super) several: bool,
    /// When the server last heard of this session.
    pub(super) server_used: Instant,
    /// Prepared lock calls, by the server's statement id.
    pub(super) statements: HashMap<u32, LockStatement>,
    /// Those that have a name in SQL.
    pub(super) named: NamedStatements,
    /// The lock call that was prepared last, if no other statement has been since: what MariaDB's
    /// clients mean by the id −1.
    pub(super) last_prepared: Option<u32>,
    /// The statement of which rows are fetched from another one's cursor just now.
    pub(super) fetching: Option<u32>,
    /// The last alias that the server accepted as one.
    pub(super) good_alias: Option<Box<[u8]>>,
    /// Deadlocks that this session's waits were given up for, where the server counts them.
    pub(super) deadlocks: u32,
    pub(super) events_in: EventSender,
    pub(super) events: mpsc::UnboundedReceiver<SessionEvent>,
    pub(super) draining: bool,
    /// Since when the client has not taken what is for it, while the session holds locks.
    pub(super) stall: Option<Pin<Box<Sleep>>>,
    pub(super) unheard: Unheard,
    /// Who wants to know whether the client is there: answered when it was heard.
    pub(super) sought: Option<u64>,
    /// Its observer, where lock calls are not the proxy's.
    pub(super) watch: Option<Box<Watch>>,
    entry: Entry,
}

/// What the loop woke up for.
enum Wake {
    /// The client has taken what was before the command that waits.
    Turn,
    Client,
    Server,
    Event(SessionEvent),
}

impl Session {
    /// A session right behind its login.
    pub(super) fn new(
        login: Authenticated,
        context: Context,
        events_in: EventSender,
        events: mpsc::UnboundedReceiver<SessionEvent>,
        entry: Entry,
    ) -> Self {
        let Authenticated {
            client,
            peer,
            server,
            greeting,
            opened,
            capabilities,
            owner,
            who,
            method,
            ok,
        } = login;
        let watch = context.observer.clone().zip(who);
        let watch = watch.map(|(o, who)| Box::new(Watch::new(o, who, greeting.flavour)));
        let renumbers = server.is_compressed();
        let mut session = Self {
            client,
            server,
            peer,
            method,
            opened,
            context,
            connection: greeting.connection,
            flavour: greeting.flavour,
            version: greeting.version_number(),
            capabilities,
            owner,
            inbox: Vec::new(),
            owed: VecDeque::new(),
            at_gate: None,
            tracker: Tracker::new(capabilities),
            renumber: renumbers.then(Renumber::default),
            client_state: ClientState::Command,
            parked: false,
            answering: false,
            at_hand: AtHand::default(),
            refused: None,
            chain: None,
            amend: None,
            client_ended: false,
            client_lost: false,
            has_quit: false,
            status: Status(Status::AUTOCOMMIT),
            status_known: false,
            held: Held::default(),
            granted_by: None,
            behind: Behind::default(),
            settings: Settings::default(),
            settings_prepared: false,
            several: capabilities.has(Capabilities::MULTI_STATEMENTS),
            server_used: Instant::now(),
            statements: HashMap::new(),
            named: NamedStatements::default(),
            last_prepared: None,
            fetching: None,
            good_alias: None,
            deadlocks: 0,
            events_in,
            events,
            draining: false,
            stall: None,
            unheard: Unheard::default(),
            sought: None,
            watch,
            entry,
        };
        session.learn_status(&ok);
        session.show();
        session
    }

    /// Shows it to people as it is now.
    pub(super) fn show(&self) {
        self.entry.show(Shown {
            cluster: self.context.cluster.clone(),
            connection: self.connection,
            owner: Arc::clone(&self.owner),
            peer: self.peer,
            tls: self.client.tls().is_some(),
            opened: self.opened,
        });
    }

    /// Relays until one side ends, then ends the other and gives the locks back.
    pub(super) async fn run(mut self) {
        self.log_opened();
        let end = loop {
            match self.turn().await {
                Ok(()) => {}
                Err(end) => break end,
            }
        };
        Box::pin(self.finish(end)).await;
    }

    async fn turn(&mut self) -> Result<(), End> {
        if self.has_turn() {
            self.answering = true;
            // Boxed, so that an idle session does not carry the room for it.
            if self.chain.is_some() {
                Box::pin(self.next_in_chain()).await?;
            } else {
                self.parked = false;
                self.at_hand = AtHand::begun();
                Box::pin(self.intercept()).await?;
            }
            self.answering = false;
            if self.chain.is_none() {
                self.at_hand = AtHand::default();
            }
            return self.process_inbox();
        }
        if self.draining && self.is_idle() {
            return Err(End::Drained);
        }
        if self.client.has_more() || self.server.has_more() {
            tokio::task::yield_now().await;
        }
        let wake = poll_fn(|cx| self.poll_wake(cx)).await?;
        match wake {
            Wake::Turn => Ok(()),
            Wake::Server => self.hear_server(),
            Wake::Client => self.hear_client(),
            Wake::Event(event) => self.event(event),
        }
    }

    /// A command waits for the proxy, and nothing is due before it.
    fn has_turn(&self) -> bool {
        (self.parked || self.chain.is_some()) && self.owed.is_empty() && self.client.is_flushed()
    }

    /// Nothing runs, nothing is half sent, and no transaction is open.
    fn is_idle(&self) -> bool {
        self.owed.is_empty()
            && self.client.is_flushed()
            && self.server.is_flushed()
            && self.inbox.is_empty()
            && self.chain.is_none()
            && matches!(self.client_state, ClientState::Command)
            && !self.status.has(Status::IN_TRANS)
    }

    fn poll_wake(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<Wake, End>> {
        if let Poll::Ready(Some(event)) = self.events.poll_recv(cx) {
            return Poll::Ready(Ok(Wake::Event(event)));
        }
        self.flush_client(cx)?;
        self.flush_server(cx)?;
        self.mind_the_server(cx);
        if self.has_turn() {
            return Poll::Ready(Ok(Wake::Turn));
        }
        if self.client.is_flushed() && self.server.poll_readable(cx).is_ready() {
            return Poll::Ready(Ok(Wake::Server));
        }
        if self.hears_client() && self.client.poll_readable(cx).is_ready() {
            return Poll::Ready(Ok(Wake::Client));
        }
        Poll::Pending
    }

    pub(super) fn hears_client(&self) -> bool {
        self.server.is_flushed()
            && !self.parked
            && self.chain.is_none()
            && !self.client_ended
            && self.owed.len() < MAX_OWED
    }

    pub(super) fn flush_client(&mut self, cx: &mut TaskContext<'_>) -> Result<(), End> {
        while !self.client.is_flushed() && self.client.poll_writable(cx).is_ready() {
            self.client.flush().map_err(|_| End::ClientGone)?;
        }
        Ok(())
    }

    pub(super) fn flush_server(&mut self, cx: &mut TaskContext<'_>) -> Result<(), End> {
        while !self.server.is_flushed() && self.server.poll_writable(cx).is_ready() {
            self.check_lease()?;
            self.server.flush().map_err(|_| End::ServerGone)?;
        }
        Ok(())
    }

    /// The check immediately before bytes of a lock-holding session go to the server.
    pub(super) fn check_lease(&self) -> Result<(), End> {
        match self.granted_by {
            Some(proxy) if !self.held.is_empty() => {
                if self.context.engine.lease().vouches_for(proxy) {
                    Ok(())
                } else {
                    Err(End::Fenced)
                }
            }
            _ => Ok(()),
        }
    }

    /// How the server reads this session's statements, as far as the proxy knows.
    pub(super) fn dialect(&self) -> Dialect {
        Dialect {
            flavour: self.flavour,
            version: self.version,
            ansi_quotes: self.flavour == Flavour::MariaDb && self.status.has(Status::ANSI_QUOTES),
            no_backslash_escapes: self.status.has(Status::NO_BACKSLASH_ESCAPES),
            brackets: false,
            multibyte: Multibyte::Safe,
        }
    }
}
