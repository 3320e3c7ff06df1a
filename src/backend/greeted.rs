//! A connection to the server that has greeted and waits for a login.

use std::io;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::clock;
use crate::config::HostPort;
use crate::net::leg::Leg;
use crate::net::peer::Peer;
use crate::net::proxy_protocol;
use crate::net::socket::Socket;
use crate::protocol::frame::HEADER;
use crate::protocol::handshake::Greeting;

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
}

/// Why there is no greeted connection.
#[derive(Debug, thiserror::Error)]
pub enum GreetError {
    /// The server could not be reached or hung up.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It took too long.
    #[error("no greeting within {0:?}")]
    Silent(Duration),
    /// The server refused with an error packet, which goes to the client unchanged.
    #[error("the server refused the connection")]
    Refused(Vec<u8>),
    /// Not a MySQL server.
    #[error("the server's greeting is not MySQL's")]
    Unknown,
}

/// Connects and reads the greeting. `client` is announced to the server.
pub async fn connect(
    backend: &HostPort,
    limit: Duration,
    client: Option<Peer>,
) -> Result<Greeted, GreetError> {
    let opened = clock::now();
    let greet = async {
        let stream = TcpStream::connect((backend.host.as_str(), backend.port)).await?;
        let header =
            client.map(|client| stream.peer_addr().map(|to| proxy_protocol::header(client, to)));
        let socket = Socket::Tcp(stream);
        socket.set_options()?;
        let mut leg = Leg::new(socket);
        if let Some(header) = header.transpose()? {
            leg.send_all(&header).await?;
        }
        let frame = leg.read_frame(MAX_GREETING).await?;
        if frame.get(HEADER) == Some(&0xff) {
            return Err(GreetError::Refused(frame));
        }
        let greeting = Greeting::parse(&frame[HEADER..]).ok_or(GreetError::Unknown)?;
        Ok(Greeted { stream: leg.into_socket(), frame, greeting, opened })
    };
    timeout(limit, greet).await.unwrap_or(Err(GreetError::Silent(limit)))
}
