//! Socket options, and reads and writes that take what is there.

use std::io;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::io::Interest;
use tokio::net::TcpStream;

/// No delay, and keepalive probes that find a vanished peer within about two minutes.
pub fn set_options(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let probes = TcpKeepalive::new()
        .with_time(Duration::from_mins(1))
        .with_interval(Duration::from_secs(10))
        .with_retries(6);
    SockRef::from(stream).set_tcp_keepalive(&probes)
}

/// Reads into the buffer's free room. `Ok(None)` when nothing is there yet, `Ok(Some(0))` at the
/// peer's end.
pub fn read_some(stream: &TcpStream, buffer: &mut Vec<u8>) -> io::Result<Option<usize>> {
    let room = buffer.capacity() - buffer.len();
    let mut read = Err(io::ErrorKind::WouldBlock.into());
    // A read that leaves room has emptied the socket: saying so spares the next call, which
    // would only find that out. An end of the stream stays visible all the same.
    let _ = stream.try_io(Interest::READABLE, || {
        read = stream.try_read_buf(buffer);
        match read {
            Ok(n) if 0 < n && n < room => Err(io::ErrorKind::WouldBlock.into()),
            _ => Ok(()),
        }
    });
    match read {
        Ok(n) => Ok(Some(n)),
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(e) => Err(e),
    }
}

/// Writes what the socket takes now.
pub fn write_some(stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    match stream.try_write(bytes) {
        Ok(n) => Ok(n),
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(0),
        Err(e) => Err(e),
    }
}
