//! A session between a client and a server that do what a test says, over sockets of this process.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::mpsc;

use super::Session;
use crate::config::Raw;
use crate::engine::handle::{EventSender, SessionEvent};
use crate::frontend::locks::fakes::{CONNECTION, PROXY, Stage};
use crate::frontend::login::{Authenticated, LoginStanding};
use crate::frontend::pooling::pooled_login::LoginAccount;
use crate::metrics::Metrics;
use crate::net::certificates::LegTls;
use crate::net::leg::Leg;
use crate::net::peer::Peer;
use crate::net::socket::Socket;
use crate::protocol::auth::Method;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::frame::put_frame;
use crate::protocol::handshake::Greeting;
use crate::protocol::user_name::UserName;
use crate::servers::writer::Writer;
use crate::types::{BackendId, Flavour};

/// OK with autocommit, as the first packet of an answer.
pub(super) const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

/// A packet.
pub(super) fn packet(seq: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_frame(&mut out, seq, payload);
    out
}

/// COM_QUERY.
pub(super) fn query(text: &str) -> Vec<u8> {
    packet(0, &[b"\x03", text.as_bytes()].concat())
}

/// The two peers of a session.
pub(super) struct SessionPeers {
    pub(super) client: UnixStream,
    pub(super) server: UnixStream,
    pub(super) events: EventSender,
    pub(super) metrics: Arc<Metrics>,
}

impl SessionPeers {
    /// The server hears exactly this.
    pub(super) async fn server_hears(&mut self, bytes: &[u8]) {
        assert_eq!(read(&mut self.server, bytes.len()).await, bytes, "at the server");
    }

    /// The client hears exactly this.
    pub(super) async fn client_hears(&mut self, bytes: &[u8]) {
        assert_eq!(read(&mut self.client, bytes.len()).await, bytes, "at the client");
    }

    /// The client says a command, and the server hears and answers it.
    pub(super) async fn exchange(&mut self, command: &[u8], answer: &[u8]) {
        self.client.write_all(command).await.expect("a client that can write");
        self.server_hears(command).await;
        self.server.write_all(answer).await.expect("a server that can write");
        self.client_hears(answer).await;
    }

    /// The server is asked something by the proxy, and does not answer.
    pub(super) async fn server_says_nothing_to_a_question(&mut self) {
        let header = read(&mut self.server, 4).await;
        let len = usize::from(header[0]) | usize::from(header[1]) << 8;
        read(&mut self.server, len).await;
    }

    /// The next packet that the client hears.
    pub(super) async fn client_s_packet(&mut self) -> Vec<u8> {
        let header = read(&mut self.client, 4).await;
        let len = usize::from(header[0]) | usize::from(header[1]) << 8;
        [header, read(&mut self.client, len).await].concat()
    }

    /// What the client hears until its connection ends.
    pub(super) async fn client_s_last(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.client.read_to_end(&mut bytes).await.expect("an end");
        bytes
    }
}

async fn read(stream: &mut UnixStream, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    stream.read_exact(&mut bytes).await.expect("as many bytes");
    bytes
}

/// The greeting of such a server.
fn greeting(flavour: Flavour) -> Greeting {
    let version = match flavour {
        Flavour::MySql => "8.4.0",
        Flavour::MariaDb => "5.5.5-11.4.0-MariaDB",
    };
    let id = u32::try_from(CONNECTION).expect("a small number");
    let payload = [
        &[10][..],
        version.as_bytes(),
        &[0],
        &id.to_le_bytes(),
        b"01234567\0\xff\xff\x2d\x02\0\xff\xff\x15\0\0\0\0\0\0\0\0\0\0",
        b"890123456789\0mysql_native_password\0",
    ]
    .concat();
    Greeting::parse(&payload).expect("a greeting")
}

/// Plays a session right after its login, in mode `durable`, until both it and the script have ended.
pub(super) fn play<F>(flavour: Flavour, script: impl FnOnce(SessionPeers) -> F)
where
    F: Future<Output = ()>,
{
    play_with(flavour, |_| (), script);
}

/// Like [`play`], with other settings.
pub(super) fn play_with<F>(
    flavour: Flavour,
    change: impl FnOnce(&mut Raw),
    script: impl FnOnce(SessionPeers) -> F,
) where
    F: Future<Output = ()>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let (session, peers) = session(flavour, change);
        let played = async { tokio::join!(session.run(), script(peers)) };
        tokio::time::timeout(Duration::from_mins(1), played).await.expect("an end of the session");
    });
}

fn session(flavour: Flavour, change: impl FnOnce(&mut Raw)) -> (Box<Session>, SessionPeers) {
    let Stage { context, .. } = Stage::with(flavour, change);
    let (client, client_leg) = UnixStream::pair().expect("two ends");
    let (server, server_leg) = UnixStream::pair().expect("two ends");
    let to = Writer::among(context.config.servers.clone()).last().expect("the only server");
    let (events_in, events) = mpsc::unbounded_channel::<SessionEvent>();
    let entry = context.registry.enter(events_in.clone(), 9).expect("room");
    let metrics = Arc::clone(&context.metrics);
    let login = Authenticated {
        client: Leg::new(Socket::Unix(client_leg)),
        peer: Peer(None),
        standing: LoginStanding::Asked {
            server: Leg::new(Socket::Unix(server_leg)),
            to,
            judged: None,
        },
        greeting: greeting(flavour),
        opened: Duration::ZERO,
        capabilities: Capabilities(0).with(Capabilities::DEPRECATE_EOF),
        connection: BackendId(CONNECTION).as_session(),
        account: LoginAccount {
            tag: Some(PROXY),
            user: UserName::of_login(b"app", None, flavour),
            tls: LegTls::Off,
            collation: 45,
            schema: None,
        },
        owner: b"app@localhost"[..].into(),
        who: None,
        method: Method::default(),
        ok: packet(2, OK),
    };
    let peers = SessionPeers { client, server, events: events_in.clone(), metrics };
    (Box::new(Session::new(login, context, events_in, events, entry)), peers)
}
