//! A connection to the server that has greeted and waits for a login.

use std::io;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};

use crate::clock;
use crate::net::leg::Leg;
use crate::net::peer::Peer;
use crate::net::proxy_protocol;
use crate::net::socket::Socket;
use crate::protocol::frame::HEADER;
use crate::protocol::handshake::Greeting;
use crate::servers::greetings::NoTurn;
use crate::servers::replicas::Replicas;
use crate::servers::writer::{Destination, Writer};

/// A greeting is some hundred bytes; more is no greeting.
const MAX_GREETING: usize = 4096;

/// A greeted connection.
#[derive(Debug)]
pub struct Greeted {
    /// The connection.
    pub stream: Socket,
    /// The greeting's frame, header included, as the server sent it.
    pub frame: Vec<u8>,
    /// The greeting, decoded.
    pub greeting: Greeting,
    /// When the connection was asked for, on the boot clock.
    pub opened: Duration,
    /// Where it leads.
    pub to: Destination,
}

/// Why there is no greeted connection.
#[derive(Debug, thiserror::Error)]
pub enum GreetError {
    /// The server could not be reached or hung up.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The greeting took too long.
    #[error("no greeting within {0:?}")]
    Silent(Duration),
    /// The server refused with an error packet, which goes to the client unchanged.
    #[error("the server refused the connection")]
    Refused(Vec<u8>),
    /// The address leads back to this proxy, or may.
    #[error(transparent)]
    NoTurn(#[from] NoTurn),
    /// Not a MySQL server.
    #[error("the server's greeting is not MySQL's")]
    Unknown,
    /// Of several servers none was known to take writes in time.
    #[error("for {waited:?} (writer_wait) {why}")]
    NoWriter {
        /// How long it was waited for.
        waited: Duration,
        /// What the servers say.
        why: String,
    },
    /// Of several servers none was known to be a replica in time.
    #[error(
        "for {waited:?} (writer_wait) {why}. This listener has role = \"replica\": start a replica, or use a listener to the writer"
    )]
    NoReplica {
        /// How long it was waited for.
        waited: Duration,
        /// What the servers say.
        why: String,
    },
}

/// How long a connection may take.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Time to connect to one server.
    pub connect: Duration,
    /// Time until there is a server that takes writes, or one that is a replica.
    pub writer: Duration,
}

/// Connects to the server that takes writes, as soon as one is known. `client` is announced to it.
pub async fn connect_to_writer(
    writer: &Writer,
    patience: Patience,
    client: Option<Peer>,
) -> Result<Greeted, GreetError> {
    let deadline = Instant::now() + patience.writer;
    loop {
        let Ok(to) = timeout_at(deadline, writer.found()).await else {
            let why = writer.problem().unwrap_or_default();
            return Err(GreetError::NoWriter { waited: patience.writer, why });
        };
        let made = tokio::select! {
            made = connect_in_turn(&to, patience.connect, client) => made,
            () = to.left() => continue,
        };
        match made {
            // If the server is lost, that will be noticed, and another one may be the writer then.
            Err(GreetError::Io(_) | GreetError::Silent(_)) if writer.is_chosen() => {
                if timeout_at(deadline, to.doubted()).await.is_err() {
                    return made;
                }
            }
            made => return made,
        }
    }
}

/// Connects to a replica, as soon as there is one. One that fails is passed over. `client` is announced to it.
pub async fn connect_to_replica(
    replicas: &Replicas,
    patience: Patience,
    client: Option<Peer>,
) -> Result<Greeted, GreetError> {
    let deadline = Instant::now() + patience.writer;
    let mut news = replicas.news();
    let (mut passed, mut failed) = (Vec::new(), None);
    loop {
        if let Some(to) = replicas.next(&passed) {
            match connect_in_turn(&to, patience.connect, client).await {
                Err(e) => failed = Some(e),
                made => return made,
            }
            passed.push(to.backend().clone());
            continue;
        }
        // All refuse the client for the moment, which they say in their own words.
        if let Some(refused @ GreetError::Refused(_)) = failed {
            return Err(refused);
        }
        // If a server is lost, that will be noticed.
        if timeout_at(deadline, news.changed()).await.is_err() {
            let waited = patience.writer;
            let none = || GreetError::NoReplica { waited, why: replicas.situation() };
            return Err(failed.unwrap_or_else(none));
        }
        (passed, failed) = (Vec::new(), None);
    }
}

/// Connects for a session, as soon as few others wait for a greeting.
async fn connect_in_turn(
    to: &Destination,
    limit: Duration,
    client: Option<Peer>,
) -> Result<Greeted, GreetError> {
    let in_turn = async {
        // A part of the limit: if it is this very proxy that waits for a client here, it gets the refusal in time.
        let _turn = to.greetings().turn(limit / 4).await?;
        connect(to, limit, client).await
    };
    timeout(limit, in_turn).await.unwrap_or(Err(GreetError::Silent(limit)))
}

/// Connects to one server and reads its greeting. `client` is announced to it.
pub async fn connect(
    to: &Destination,
    limit: Duration,
    client: Option<Peer>,
) -> Result<Greeted, GreetError> {
    let opened = clock::now();
    let backend = to.backend();
    let greet = async {
        let stream = TcpStream::connect((backend.host.as_str(), backend.port)).await?;
        let header =
            client.map(|client| stream.peer_addr().map(|at| proxy_protocol::header(client, at)));
        let socket = Socket::Tcp(stream);
        socket.set_server_options()?;
        let mut leg = Leg::new(socket);
        if let Some(header) = header.transpose()? {
            leg.send_all(&header).await?;
        }
        let frame = leg.read_frame(MAX_GREETING).await?;
        if frame.get(HEADER) == Some(&0xff) {
            to.greetings().refused(&frame, backend)?;
            return Err(GreetError::Refused(frame));
        }
        let greeting = Greeting::parse(&frame[HEADER..]).ok_or(GreetError::Unknown)?;
        to.greetings().greeted();
        Ok(Greeted { stream: leg.into_socket(), frame, greeting, opened, to: to.clone() })
    };
    timeout(limit, greet).await.unwrap_or(Err(GreetError::Silent(limit)))
}
