//! A scripted server and scripted locks, with which lock calls are carried out in tests.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::call_context::CallContext;
use super::owner::{Asked, Locks};
use super::server::{Server, Task};
use crate::backend::reach::Reach;
use crate::backend::spares::Spares;
use crate::config::{Plan, Raw};
use crate::engine::handle::{Acquired, Grant, Look, SessionEvent, Ticket};
use crate::engine::io::gatekeeper::Gate;
use crate::engine::io::held_locks::Census;
use crate::engine::shared::lease::Lease;
use crate::engine::start;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::guard::LeaseGuard;
use crate::frontend::link::pending::{Recipient, Skipped};
use crate::frontend::link::reply::Keep;
use crate::frontend::link::reply::Reply;
use crate::frontend::link::{Interest, LinkEvent};
use crate::frontend::shared::context::Context;
use crate::frontend::shared::live_config::InForce;
use crate::frontend::shared::registry::Registry;
use crate::frontend::state::current_command::CurrentCommand;
use crate::frontend::state::identity::Identity;
use crate::frontend::state::ledger::Ledger;
use crate::frontend::state::server_view::ServerView;
use crate::frontend::state::statements::Statements;
use crate::lock::name::{Key, Name, plain};
use crate::metrics::Metrics;
use crate::net::buffers::Buffers;
use crate::net::peer::Peer;
use crate::protocol::auth::Method;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::column::Column;
use crate::protocol::command::{Command, Shape};
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::reader::put_lenenc_bytes;
use crate::protocol::reply::ErrorReply;
use crate::protocol::response::Ending;
use crate::protocol::status::Status;
use crate::types::{ConnectionId, Flavour, ProxyId};

/// The incarnation that grants everything.
pub(crate) const PROXY: ProxyId = ProxyId(7);
/// The session's connection id.
pub(crate) const CONNECTION: u64 = 42;

/// OK without rows.
pub(crate) fn ok() -> Reply {
    let status = Status(Status::AUTOCOMMIT);
    let mut bytes = Vec::new();
    put_frame(&mut bytes, 1, &[0, 0, 0, 2, 0, 0, 0]);
    Reply { bytes, ending: Ending::Ok { status, warnings: 0 } }
}

/// An error.
pub(crate) fn error(code: u16) -> Reply {
    let mut bytes = Vec::new();
    let error = ErrorReply { code, state: "HY000", message: "as scripted".to_owned() };
    error.encode(&mut bytes, 1, false);
    Reply { bytes, ending: Ending::Err { code } }
}

/// One row of text values.
pub(crate) fn row(values: &[Option<&str>]) -> Reply {
    let mut bytes = Vec::new();
    put_frame(&mut bytes, 1, &[u8::try_from(values.len()).expect("few columns")]);
    let mut seq = 2;
    for _ in values {
        let definition = b"\x03def\0\0\0\x01x\0\x0c\x2d\0\x01\0\0\0\x08\x81\0\0\0\0";
        put_frame(&mut bytes, seq, definition);
        seq += 1;
    }
    let mut row = Vec::new();
    for value in values {
        match value {
            Some(value) => put_lenenc_bytes(&mut row, value.as_bytes()),
            None => row.push(0xfb),
        }
    }
    put_frame(&mut bytes, seq, &row);
    put_frame(&mut bytes, seq + 1, &[0xfe, 0, 0, 2, 0, 0, 0]);
    let status = Status(Status::AUTOCOMMIT);
    Reply { bytes, ending: Ending::Ok { status, warnings: 0 } }
}

/// A statement is prepared: its id, no parameters, no columns.
pub(crate) fn prepared(id: u32) -> Reply {
    let mut bytes = Vec::new();
    let payload = [&[0][..], &id.to_le_bytes(), &[0; 7]].concat();
    put_frame(&mut bytes, 1, &payload);
    Reply { bytes, ending: Ending::Plain }
}

/// Answers what the script says, in its order, and writes down what it was told.
pub(crate) struct ScriptedServer {
    script: VecDeque<(String, Reply)>,
    /// Packets in order: what became of each, and its text.
    pub(crate) told: Vec<String>,
    /// What the client was sent.
    pub(crate) client: Vec<u8>,
    pub(crate) capabilities: Capabilities,
    pub(crate) status: Status,
    pub(crate) plain: bool,
    pub(crate) events: VecDeque<LinkEvent>,
    skipped: Skipped,
}

impl ScriptedServer {
    fn note(&mut self, what: &str, packet: &[u8]) {
        let payload = &packet[HEADER..];
        let text = match payload.first().map(|b| Command(*b)) {
            Some(Command::QUERY) => String::from_utf8_lossy(&payload[1..]).into_owned(),
            Some(Command::STMT_PREPARE) => {
                format!("PREPARE {}", String::from_utf8_lossy(&payload[1..]))
            }
            Some(command) => command.label().to_owned(),
            None => String::new(),
        };
        self.told.push(format!("{what}: {text}"));
    }
}

impl Server for ScriptedServer {
    fn exchange<'a>(
        &'a mut self,
        packet: &'a [u8],
        _: Shape,
        _: Keep,
    ) -> Task<'a, Result<Reply, CloseReason>> {
        self.note("ask", packet);
        let asked = self.told.last().cloned().unwrap_or_default();
        let (expected, reply) = self
            .script
            .pop_front()
            .unwrap_or_else(|| panic!("the script has no more answers, to {asked}"));
        assert!(asked.contains(&expected), "asked {asked}, the script says {expected}");
        Box::pin(async move { Ok(reply) })
    }

    fn next(&mut self, _: Interest) -> Task<'_, Result<LinkEvent, CloseReason>> {
        match self.events.pop_front() {
            Some(event) => Box::pin(async move { Ok(event) }),
            None => Box::pin(std::future::pending()),
        }
    }

    fn hear_server(&mut self) -> Result<(), CloseReason> {
        Ok(())
    }

    fn read_ahead(&mut self) -> Result<(), CloseReason> {
        Err(CloseReason::ClientGone)
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn status(&self) -> Status {
        self.status
    }

    fn status_is_plain(&self) -> bool {
        self.plain
    }

    fn server_used(&self) -> Instant {
        Instant::now()
    }

    fn note_server_used(&mut self) {}

    fn owes_nothing(&self) -> bool {
        true
    }

    fn has_unread_command(&self) -> bool {
        false
    }

    fn send_client(&mut self, bytes: &[u8]) -> Result<(), CloseReason> {
        self.client.extend_from_slice(bytes);
        Ok(())
    }

    fn send_results(&mut self, bytes: &[u8]) -> Result<(), CloseReason> {
        self.send_client(bytes)
    }

    fn describe(&mut self, _: Vec<Column>) {}

    fn forward(&mut self, packet: &[u8], _: Recipient) -> Result<(), CloseReason> {
        self.note("forward", packet);
        Ok(())
    }

    fn send_unanswered(&mut self, packet: &[u8]) -> Result<(), CloseReason> {
        self.note("send", packet);
        Ok(())
    }

    fn send_hidden(&mut self, packet: &[u8]) -> Result<(), CloseReason> {
        self.note("hidden", packet);
        Ok(())
    }

    fn send_release(&mut self, packet: Box<[u8]>, _: u8) -> Result<(), CloseReason> {
        self.note("release", &packet);
        Ok(())
    }

    fn send_to_gate(&mut self, packet: &[u8]) -> Result<(), CloseReason> {
        self.note("gate", packet);
        Ok(())
    }

    fn take_gate_reply(&mut self) -> Option<Reply> {
        None
    }

    fn drop_gate_reply(&mut self) {}

    fn skipped(&mut self) -> &mut Skipped {
        &mut self.skipped
    }

    fn replay_skipped(&mut self) -> Result<(), CloseReason> {
        for text in self.skipped.take() {
            self.told.push(format!("replay: {text}"));
        }
        Ok(())
    }

    fn bound_silence(&mut self) {}
}

/// Grants and answers what the script says.
pub(crate) struct ScriptedLocks {
    ledger: Ledger,
    pub(crate) lease: Arc<Lease>,
    /// How the next waits end; a wait beyond them does not end.
    pub(crate) outcomes: VecDeque<Acquired>,
    waiting: Vec<oneshot::Sender<Acquired>>,
    pub(crate) looks: VecDeque<Look>,
    pub(crate) events: VecDeque<SessionEvent>,
    pub(crate) released: Vec<String>,
    pub(crate) gone: Vec<String>,
    pub(crate) cancelled: usize,
    pub(crate) trusts: bool,
    pub(crate) draining: bool,
}

impl Locks for ScriptedLocks {
    fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    fn acquire(&mut self, name: Name, _: Arc<[u8]>, _: bool) -> Ticket {
        let (tell, outcome) = oneshot::channel();
        match self.outcomes.pop_front() {
            Some(acquired) => {
                let _ = tell.send(acquired);
            }
            None => self.waiting.push(tell),
        }
        Ticket::of(name.key, outcome)
    }

    fn cancel(&mut self, _: &Ticket) {
        self.cancelled += 1;
        for tell in self.waiting.drain(..) {
            let _ = tell.send(Acquired::NotFree);
        }
    }

    fn release(&mut self, locks: Vec<(Key, u64)>, _: ProxyId) -> Task<'static, ()> {
        self.released.extend(locks.iter().map(|(key, _)| key.shown()));
        Box::pin(async {})
    }

    fn release_when_gone(&mut self, locks: Vec<(Key, u64)>, _: ProxyId) {
        self.gone.extend(locks.iter().map(|(key, _)| key.shown()));
    }

    fn look(&mut self, _: Key) -> Task<'static, Look> {
        let look = self.looks.pop_front().unwrap_or(Look::Free);
        Box::pin(async move { look })
    }

    fn census(&mut self) -> Task<'static, Result<Census, String>> {
        Box::pin(async { Err("not scripted".to_owned()) })
    }

    fn tag(&self, _: &Key) -> u64 {
        1
    }

    fn close_gate(&mut self, _: u64) -> oneshot::Receiver<Option<Gate>> {
        oneshot::channel().1
    }

    fn vouches_for(&self, proxy: ProxyId) -> bool {
        self.lease.vouches_for(proxy)
    }

    fn trusts(&self, _: Duration) -> bool {
        self.trusts
    }

    fn home(&self) -> Arc<str> {
        "home".into()
    }

    fn told(&mut self) -> Task<'_, SessionEvent> {
        match self.events.pop_front() {
            Some(event) => Box::pin(async move { event }),
            None => Box::pin(std::future::pending()),
        }
    }

    fn told_now(&mut self) -> Option<SessionEvent> {
        self.events.pop_front()
    }

    fn hear(&mut self, event: SessionEvent) -> Result<Asked, CloseReason> {
        match event {
            SessionEvent::Drain => {
                self.draining = true;
                Ok(Asked::Nothing)
            }
            SessionEvent::Lost(token) => Err(CloseReason::Lost(self.ledger.held().name_of(token))),
            _ => Ok(Asked::Nothing),
        }
    }

    fn is_draining(&self) -> bool {
        self.draining
    }

    fn present(&mut self, _: u64) {}

    fn answer_when_heard(&mut self, _: u64) {}

    fn client_is_there(&mut self) {}
}

/// A session without sockets.
pub(crate) struct Stage {
    pub(crate) server: ScriptedServer,
    pub(crate) locks: ScriptedLocks,
    pub(crate) view: ServerView,
    pub(crate) statements: Statements,
    identity: Identity,
    pub(crate) command: CurrentCommand,
    pub(crate) context: Context,
}

impl Stage {
    /// A session that holds nothing, at a server that says nothing.
    pub(crate) fn new(flavour: Flavour) -> Self {
        Self::with(flavour, |_| ())
    }

    /// The same with other settings.
    pub(crate) fn with(flavour: Flavour, change: impl FnOnce(&mut Raw)) -> Self {
        let mut raw = Raw {
            backend: Some("127.0.0.1:1".into()),
            store: Some("mysql://l:l@127.0.0.1:1/l".into()),
            tls: Some("off".into()),
            ..Raw::default()
        };
        change(&mut raw);
        let config = Plan::load(None, raw).map(Plan::only).expect("valid settings");
        let in_force = InForce::load(config).expect("no certificates");
        let (config, hops) = in_force.both();
        let (engine, gates) = start::none();
        let metrics = Arc::new(Metrics::new(None).expect("metrics"));
        let registry = Registry::default();
        let events = mpsc::unbounded_channel().0;
        let entry = registry.enter(events, 1).expect("room for one");
        let commands = Context::command_counters(&metrics);
        let context = Context {
            cluster: None,
            config,
            in_force,
            engine,
            gates,
            observer: None,
            shapes: <_>::default(),
            digests: <_>::default(),
            lines: <_>::default(),
            reach: Reach::new(None, metrics.backend_up.clone()),
            metrics,
            hops,
            spares: Spares::new(Duration::from_secs(1)),
            registry,
            buffers: Buffers::default(),
            commands,
        };
        let lease = Arc::new(Lease::of(PROXY));
        let guard = Arc::new(LeaseGuard::new(Arc::clone(&lease)));
        let (peer, opened) = (Peer(None), Duration::ZERO);
        let connection = ConnectionId(CONNECTION);
        let owner = b"app@localhost"[..].into();
        let version = if flavour == Flavour::MySql { 80_400 } else { 101_100 };
        Self {
            server: ScriptedServer {
                script: VecDeque::new(),
                told: Vec::new(),
                client: Vec::new(),
                capabilities: Capabilities(0).with(Capabilities::DEPRECATE_EOF),
                status: Status(Status::AUTOCOMMIT),
                plain: true,
                events: VecDeque::new(),
                skipped: Skipped::default(),
            },
            locks: ScriptedLocks {
                ledger: Ledger::new(guard),
                lease,
                outcomes: VecDeque::new(),
                waiting: Vec::new(),
                looks: VecDeque::new(),
                events: VecDeque::new(),
                released: Vec::new(),
                gone: Vec::new(),
                cancelled: 0,
                trusts: true,
                draining: false,
            },
            view: ServerView::new(flavour, version, false, opened),
            statements: Statements::default(),
            identity: Identity::new(
                peer,
                Method::default(),
                opened,
                connection,
                owner,
                None,
                entry,
            ),
            command: CurrentCommand::default(),
            context,
        }
    }

    /// The server will be asked a text that contains `asked`, and answers this.
    pub(crate) fn answers(&mut self, asked: &str, reply: Reply) -> &mut Self {
        self.server.script.push_back((asked.to_owned(), reply));
        self
    }

    /// The engine grants the next lock, under this token.
    pub(crate) fn grants(&mut self, token: u64) -> &mut Self {
        self.locks.outcomes.push_back(Acquired::Granted(Grant { token, proxy: PROXY }));
        self
    }

    /// The session holds this lock.
    pub(crate) fn holds(&mut self, name: &str, token: u64) -> &mut Self {
        assert!(self.locks.ledger.enter(key(name), Grant { token, proxy: PROXY }));
        self
    }

    /// What lock calls work with.
    pub(crate) fn cx(&mut self) -> CallContext<'_> {
        CallContext {
            server: &mut self.server,
            locks: &mut self.locks,
            view: &mut self.view,
            statements: &mut self.statements,
            identity: &self.identity,
            command: &mut self.command,
            context: &self.context,
        }
    }

    /// Whether the script was played to its end.
    pub(crate) fn is_over(&self) -> bool {
        self.server.script.is_empty()
    }

    /// The error that the client was sent: its code.
    pub(crate) fn error_code(&self) -> Option<u16> {
        match self.server.client.get(HEADER..)? {
            [0xff, low, high, ..] => Some(u16::from_le_bytes([*low, *high])),
            _ => None,
        }
    }

    /// The only value that the client was sent, of a row of text.
    pub(crate) fn value(&self) -> Option<Option<String>> {
        let reply = Reply { bytes: self.server.client.clone(), ending: Ending::Plain };
        let row = reply.row()?;
        let value = row.into_iter().next()?;
        Some(value.map(|value| String::from_utf8_lossy(&value).into_owned()))
    }
}

/// A lock's key.
pub(crate) fn key(name: &str) -> Key {
    plain(name.as_bytes(), Flavour::MySql).expect("a plain name").key
}

/// Runs a future that waits for nothing but what the script says.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(future)
}
