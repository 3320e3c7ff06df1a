//! A scripted server and scripted locks, with which lock calls are carried out in tests.

pub(crate) mod engine;
pub(crate) mod server;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::call_context::CallContext;
use crate::backend::reach::Reach;
use crate::backend::spares::Spares;
use crate::config::{Plan, Raw};
use crate::engine::handle::{Acquired, Grant};
use crate::engine::shared::current_backend::CurrentBackend;
use crate::engine::shared::history::History;
use crate::engine::shared::lease::Lease;
use crate::engine::start;
use crate::frontend::link::amendments::Amendments;
use crate::frontend::link::owed::Owed;
use crate::frontend::link::reply::Reply;
use crate::frontend::pooling::pooled::Pooled;
use crate::frontend::shared::context::Context;
use crate::frontend::shared::live_config::InForce;
use crate::frontend::shared::registry::Registry;
use crate::frontend::shared::seen_locks::SeenLocks;
use crate::frontend::shared::switchover::Switchover;
use crate::frontend::state::current_command::CurrentCommand;
use crate::frontend::state::identity::{Identity, SessionIds};
use crate::frontend::state::server_view::ServerView;
use crate::frontend::state::statements::Statements;
use crate::lock::name::{Key, plain};
use crate::metrics::Metrics;
use crate::net::buffers::Buffers;
use crate::net::peer::Peer;
use crate::protocol::auth::Method;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::frame::HEADER;
use crate::protocol::response::Ending;
use crate::protocol::status::Status;
use crate::protocol::user_name::UserName;
use crate::servers::writer::Writer;
use crate::types::{BackendId, Flavour, ProxyId};

use self::engine::ScriptedLocks;
use self::server::{ScriptedServer, said};
pub(crate) use self::server::{error, ok, row};

/// The incarnation that grants everything.
pub(crate) const PROXY: ProxyId = ProxyId(7);
/// The session's connection id.
pub(crate) const CONNECTION: u64 = 42;

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

    /// A session that holds nothing, at a server that says nothing, with other settings.
    pub(crate) fn with(flavour: Flavour, change: impl FnOnce(&mut Raw)) -> Self {
        let mut raw = Raw {
            backend: Some(vec!["127.0.0.1:1".into()]),
            store: Some("mysql://l:l@127.0.0.1:1/l".into()),
            tls: Some("off".into()),
            mode: Some("durable".into()),
            ..Raw::default()
        };
        change(&mut raw);
        let config = Plan::load(None, raw).map(Plan::only).expect("valid settings");
        let in_force = InForce::load(config).expect("no certificates");
        let (config, hops) = in_force.both();
        let (engine, gates) = start::none();
        let metrics = Arc::new(Metrics::new(None).expect("metrics"));
        let registry = Registry::default();
        let entry = registry.enter(mpsc::unbounded_channel().0, 1).expect("room for one");
        let context = Context {
            cluster: None,
            config,
            in_force,
            engine,
            gates,
            observer: None,
            shapes: <_>::default(),
            seen: SeenLocks::new(&metrics, History::in_memory(0)),
            commands: Context::command_counters(&metrics),
            lines: <_>::default(),
            shared: None,
            reach: Reach::new(Writer::among(Vec::new()), None, metrics.backend_up.clone()),
            replicas: None,
            finds_tagged: true,
            switchover: Switchover::new(None, &registry, &metrics),
            metrics,
            hops,
            spares: Spares::new(Duration::from_secs(1)),
            registry,
            buffers: Buffers::default(),
        };
        let lease = Arc::new(Lease::of(PROXY));
        let (peer, opened, backend) = (Peer(None), Duration::ZERO, BackendId(CONNECTION));
        let ids =
            SessionIds { connection: backend.as_session(), backend: CurrentBackend::of(backend) };
        let owner = (b"app@localhost"[..].into(), UserName::of_login(b"app", None, flavour));
        let version = if flavour == Flavour::MySql { 80_400 } else { 101_100 };
        Self {
            server: ScriptedServer {
                script: VecDeque::new(),
                told: Vec::new(),
                client: Vec::new(),
                capabilities: Capabilities(0).with(Capabilities::DEPRECATE_EOF),
                status: said(Status::AUTOCOMMIT),
                events: VecDeque::new(),
                owed: Owed::default(),
                amendments: Amendments::new(Capabilities::default()),
                pooled: Pooled::default(),
                known_since: Some(opened),
            },
            locks: ScriptedLocks::new(lease),
            view: ServerView::new(flavour, version, false),
            statements: Statements::new(flavour),
            identity: Identity::new(peer, Method::default(), opened, ids, owner, None, entry),
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
        self.locks.ledger.enter(key(name), Grant { token, proxy: PROXY }).expect("the same");
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

    /// The row of text that the client was sent.
    pub(crate) fn row(&self) -> Vec<Option<String>> {
        let reply = Reply { bytes: self.server.client.clone(), ending: Ending::Plain };
        let text = |value: Vec<u8>| String::from_utf8_lossy(&value).into_owned();
        reply.row().into_iter().flatten().map(|value| value.map(text)).collect()
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
