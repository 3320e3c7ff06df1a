//! A connection to the server that has greeted and waits for a login.

use std::io;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::clock;
use crate::config::HostPort;
use crate::net::socket::set_options;
use crate::protocol::frame::{FrameHeader, HEADER};
use crate::protocol::handshake::Greeting;

/// A greeting is some hundred bytes; more is no greeting.
const MAX_GREETING: usize = 4096;

/// A greeted connection.
#[derive(Debug)]
pub struct Greeted {
    /// The connection.
    pub stream: TcpStream,
    /// The greeting's frame, header included, as the server sent it.
    pub frame: Vec<u8>,
    /// What it says.
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
    /// The server refused with an error packet, which is for the client as it stands.
    #[error("the server refused the connection")]
    Refused(Vec<u8>),
    /// Not a MySQL server.
    #[error("the server's greeting is not MySQL's")]
    Unknown,
}

/// Connects and reads the greeting.
pub async fn connect(backend: &HostPort, limit: Duration) -> Result<Greeted, GreetError> {
    let opened = clock::now();
    let greet = async {
        let mut stream = TcpStream::connect((backend.host.as_str(), backend.port)).await?;
        set_options(&stream)?;
        let frame = read_frame(&mut stream, MAX_GREETING).await?;
        if frame.get(HEADER) == Some(&0xff) {
            return Err(GreetError::Refused(frame));
        }
        let greeting = Greeting::parse(&frame[HEADER..]).ok_or(GreetError::Unknown)?;
        Ok(Greeted { stream, frame, greeting, opened })
    };
    timeout(limit, greet).await.unwrap_or(Err(GreetError::Silent(limit)))
}

/// Reads one whole frame of at most `limit` bytes of payload, header included.
pub async fn read_frame(stream: &mut TcpStream, limit: usize) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; HEADER];
    stream.read_exact(&mut frame).await?;
    let header = FrameHeader::peek(&frame).ok_or(io::ErrorKind::InvalidData)?;
    if header.len > limit {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "packet too large for a login"));
    }
    frame.resize(HEADER + header.len, 0);
    stream.read_exact(&mut frame[HEADER..]).await?;
    Ok(frame)
}
