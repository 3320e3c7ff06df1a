//! Sockets: their options, and reads and writes that take what is there.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BufMut;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::Interest;
use tokio::net::{TcpStream, UnixStream};

/// How long a peer may leave probes on an idle connection unanswered before it counts as gone.
///
/// While data are on their way to it, the kernel's own bound holds (`tcp_retries2`, about 15 minutes),
/// unless [`Socket::bound_silence`] sets this one for them, too.
pub const PEER_TIMEOUT: Duration = Duration::from_mins(2);

/// How long a server may leave probes unanswered, and data unacknowledged, before it counts as gone: it works for a
/// client that waits.
pub const SERVER_TIMEOUT: Duration = Duration::from_mins(1);

/// No delay, and a bound on how long a vanished peer goes unnoticed.
pub fn set_tcp_options(stream: &TcpStream) -> io::Result<()> {
    set_probes(stream, PEER_TIMEOUT)
}

fn set_probes(stream: &TcpStream, timeout: Duration) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let probes =
        TcpKeepalive::new().with_time(timeout / 2).with_interval(timeout / 12).with_retries(6);
    SockRef::from(stream).set_tcp_keepalive(&probes)
}

/// A connected stream socket.
#[derive(Debug)]
pub enum Socket {
    /// Over a network.
    Tcp(TcpStream),
    /// On this machine.
    Unix(UnixStream),
}

/// Does the same with either kind.
macro_rules! either {
    ($socket:expr, $stream:ident => $what:expr) => {
        match $socket {
            Self::Tcp($stream) => $what,
            Self::Unix($stream) => $what,
        }
    };
}

impl Socket {
    /// No delay, and a bound on how long a vanished peer goes unnoticed.
    pub fn set_options(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => set_tcp_options(stream),
            Self::Unix(_) => Ok(()),
        }
    }

    /// The options of a connection to a server: those of [`Self::set_options`], also while data are on their way to it.
    pub fn set_server_options(&self) -> io::Result<()> {
        if let Self::Tcp(stream) = self {
            set_probes(stream, SERVER_TIMEOUT)?;
        }
        self.bound_silence(Some(SERVER_TIMEOUT));
        Ok(())
    }

    /// Reads at most `room` bytes. `Ok(None)` when nothing is there yet, `Ok(Some(0))` at the
    /// peer's end.
    pub fn read(&self, buffer: &mut impl BufMut, room: usize) -> io::Result<Option<usize>> {
        let mut read = Err(io::ErrorKind::WouldBlock.into());
        // A read that leaves room has emptied the socket: saying so spares the next call, which
        // would only find that out. An end of the stream stays visible nevertheless.
        let tried = |read: &io::Result<usize>| match read {
            Ok(n) if 0 < *n && *n < room => Err(io::ErrorKind::WouldBlock.into()),
            _ => Ok(()),
        };
        let _ = either!(self, stream => stream.try_io(Interest::READABLE, || {
            read = stream.try_read_buf(&mut (&mut *buffer).limit(room));
            tried(&read)
        }));
        some(read)
    }

    /// Writes what the socket takes now.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let written = either!(self, stream => stream.try_write(bytes));
        Ok(some(written)?.unwrap_or(0))
    }

    /// Writes of several buffers what the socket takes now; an error of the kind `WouldBlock`
    /// when that is nothing.
    pub fn write_vectored(&self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        either!(self, stream => stream.try_write_vectored(buffers))
    }

    /// Waits until a read finds something.
    pub async fn readable(&self) -> io::Result<()> {
        either!(self, stream => stream.readable().await)
    }

    /// Waits until a write is taken.
    pub async fn writable(&self) -> io::Result<()> {
        either!(self, stream => stream.writable().await)
    }

    /// Whether a read would find something.
    pub fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, stream => stream.poll_read_ready(cx))
    }

    /// Whether a write would be taken.
    pub fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, stream => stream.poll_write_ready(cx))
    }

    /// For how long a peer may acknowledge no data before it counts as gone. Only for data that surely find room with
    /// it: the kernel takes one for gone, too, that has had no room for so long, though it acknowledges probes.
    pub fn bound_silence(&self, bound: Option<Duration>) {
        if let Self::Tcp(stream) = self {
            // Without this option the kernel's own bound holds.
            let _ = SockRef::from(stream).set_tcp_user_timeout(bound);
        }
    }

    /// Ends this side of the connection.
    pub fn shut_write(&self) {
        // A socket that is gone needs no end.
        let _ = SockRef::from(self).shutdown(std::net::Shutdown::Write);
    }

    /// Whether the peer has said nothing more, and not hung up.
    pub fn is_quiet(&self) -> bool {
        is_quiet(&SockRef::from(self))
    }

    /// Takes the socket off its thread's event loop.
    pub fn detach(self) -> io::Result<Detached> {
        Ok(match self {
            Self::Tcp(stream) => Detached { fd: stream.into_std()?.into(), unix: false },
            Self::Unix(stream) => Detached { fd: stream.into_std()?.into(), unix: true },
        })
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        either!(self, stream => stream.as_fd())
    }
}

/// A socket on no event loop, on its way to another thread.
#[derive(Debug)]
pub struct Detached {
    fd: OwnedFd,
    unix: bool,
}

impl Detached {
    /// Puts the socket on this thread's event loop.
    pub fn attach(self) -> io::Result<Socket> {
        Ok(if self.unix {
            Socket::Unix(UnixStream::from_std(self.fd.into())?)
        } else {
            Socket::Tcp(TcpStream::from_std(self.fd.into())?)
        })
    }

    /// Whether the peer has said nothing, and not hung up.
    pub fn is_quiet(&self) -> bool {
        is_quiet(&SockRef::from(&self.fd))
    }
}

fn is_quiet(socket: &SockRef<'_>) -> bool {
    let mut byte = [std::mem::MaybeUninit::uninit()];
    let peeked = socket.peek(&mut byte);
    matches!(peeked, Err(e) if e.kind() == io::ErrorKind::WouldBlock)
}

fn some(done: io::Result<usize>) -> io::Result<Option<usize>> {
    match done {
        Ok(n) => Ok(Some(n)),
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn connected() -> (Socket, TcpStream) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let stream = TcpStream::connect(address).await.expect("a connection");
        (Socket::Tcp(stream), listener.accept().await.expect("a peer").0)
    }

    /// How long it may leave data, and probes, unanswered.
    fn bounds(socket: &Socket) -> (Option<Duration>, Duration) {
        let socket = SockRef::from(socket);
        assert!(socket.keepalive().expect("an option"));
        let idle = socket.tcp_keepalive_time().expect("an option");
        let probes = socket.tcp_keepalive_retries().expect("an option");
        let apart = socket.tcp_keepalive_interval().expect("an option");
        (socket.tcp_user_timeout().expect("an option"), idle + apart * probes)
    }

    #[tokio::test]
    async fn a_vanished_peer_is_found() {
        let (socket, _peer) = connected().await;
        socket.set_options().expect("options");
        assert_eq!(bounds(&socket), (None, PEER_TIMEOUT));
        socket.bound_silence(Some(PEER_TIMEOUT));
        assert_eq!(bounds(&socket), (Some(PEER_TIMEOUT), PEER_TIMEOUT));
        socket.bound_silence(None);
        assert_eq!(bounds(&socket), (None, PEER_TIMEOUT));
    }

    #[tokio::test]
    async fn a_vanished_server_is_found_while_data_are_on_their_way_to_it() {
        let (socket, _peer) = connected().await;
        socket.set_server_options().expect("options");
        assert_eq!(bounds(&socket), (Some(SERVER_TIMEOUT), SERVER_TIMEOUT));
    }

    /// Why the bound is only for data that find room.
    #[tokio::test]
    async fn the_kernel_takes_a_peer_without_room_for_a_vanished_one() {
        let (socket, _peer) = connected().await;
        socket.bound_silence(Some(Duration::from_millis(300)));
        let bytes = vec![0; 1 << 20];
        // The peer lives, and reads nothing.
        while socket.write(&bytes).expect("room") > 0 {}
        let gone = async {
            loop {
                socket.writable().await.expect("watched");
                match socket.write(&bytes) {
                    Ok(_) => {}
                    Err(e) => return e.kind(),
                }
            }
        };
        assert_eq!(gone.await, io::ErrorKind::TimedOut);
    }
}
