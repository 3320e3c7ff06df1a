//! Listeners that stop when another process takes this one's place, in clear and encrypted. Connections accepted
//! by then are served. Of too many connections one gives way ([`Crowd`]).

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep, sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::connection_limit::{Crowd, CrowdPlace, CrowdSeat};
use super::keys::Keys;

/// Connections that have done their handshakes and wait to be served.
const READY: usize = 64;
/// Limit of a handshake.
const PATIENCE: Duration = Duration::from_secs(10);

/// Connections at once: a flood of them must not take the descriptors of clients.
const CONNECTIONS: usize = 256;
/// A connection is ended when the answer to a request is not begun so long after the request's first byte,
/// however slowly the rest comes.
const REQUEST: Duration = Duration::from_secs(10);
/// A connection is ended when the next request is not begun so long after the answer's first byte: time to take the
/// answer and to be silent.
const ANSWER: Duration = Duration::from_secs(30);

/// A connection that counts, and that ends in time.
pub(super) struct TimedStream {
    stream: TcpStream,
    answering: bool,
    end: Pin<Box<Sleep>>,
    place: CrowdPlace,
}

impl TimedStream {
    fn new(stream: TcpStream, place: CrowdPlace) -> Self {
        Self { stream, answering: false, end: Box::pin(sleep(REQUEST)), place }
    }

    /// The result of reading or writing, or an error if it took too long or must give way.
    fn timed<T>(
        &mut self,
        cx: &mut Context<'_>,
        poll: Poll<io::Result<T>>,
        answering: bool,
    ) -> Poll<io::Result<T>> {
        if poll.is_ready() && self.answering != answering {
            self.answering = answering;
            let time = if answering { ANSWER } else { REQUEST };
            self.end.as_mut().reset(Instant::now() + time);
        }
        if self.end.as_mut().poll(cx).is_ready() || self.place.gives_way(cx) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        poll
    }
}

impl AsyncRead for TimedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.stream).poll_read(cx, room);
        self.timed(cx, poll, false)
    }
}

impl AsyncWrite for TimedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.timed(cx, poll, true)
    }

    // Without it, each connection would have a copy of the answer that all share.
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.timed(cx, poll, true)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Accepts until another process does.
pub(super) struct Plain {
    listener: Option<TcpListener>,
    retired: watch::Receiver<bool>,
    crowd: Arc<Crowd>,
}

impl Plain {
    pub(super) fn new(listener: TcpListener, retired: watch::Receiver<bool>) -> Self {
        Self { listener: Some(listener), retired, crowd: Crowd::new(CONNECTIONS) }
    }
}

impl Listener for Plain {
    type Io = TimedStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TimedStream, SocketAddr) {
        let Self { listener, retired, crowd } = self;
        loop {
            let Some(listening) = listener.as_ref() else { return std::future::pending().await };
            let over = async {
                let _ = retired.wait_for(|retired| *retired).await;
            };
            let accepted = tokio::select! {
                () = over => None,
                accepted = listening.accept() => Some(accepted),
            };
            match accepted {
                None => *listener = None,
                Some(Ok((stream, peer))) => {
                    return (TimedStream::new(stream, crowd.enter().await), peer);
                }
                Some(Err(e)) => {
                    tracing::debug!(error = %e, "cannot accept for http");
                    sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        let listener = self.listener.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        listener.local_addr()
    }
}

/// Handshakes run beside each other: a stalled one delays no other.
pub(super) struct Encrypted {
    ready: mpsc::Receiver<(TlsStream<TimedStream>, SocketAddr)>,
    address: Option<SocketAddr>,
    accepting: JoinHandle<()>,
}

impl Encrypted {
    pub(super) fn new(listener: Plain, keys: Keys) -> Self {
        let (sender, ready) = mpsc::channel(READY);
        let address = listener.local_addr().ok();
        let accepting = tokio::spawn(accept(listener, keys, sender));
        Self { ready, address, accepting }
    }
}

impl Drop for Encrypted {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(
    mut listener: Plain,
    keys: Keys,
    ready: mpsc::Sender<(TlsStream<TimedStream>, SocketAddr)>,
) {
    loop {
        let (stream, peer) = listener.accept().await;
        // Keys are never taken away, only changed.
        let Some(tls) = keys.tls().map(TlsAcceptor::from) else { return };
        let ready = ready.clone();
        tokio::spawn(async move {
            match timeout(PATIENCE, tls.accept(stream)).await {
                Ok(Ok(stream)) => {
                    let _ = ready.send((stream, peer)).await;
                }
                Ok(Err(e)) => tracing::debug!(%peer, error = %e, "a client of http failed at TLS"),
                Err(_) => tracing::debug!(%peer, "a client of http did not finish TLS in time"),
            }
        });
    }
}

impl Listener for Encrypted {
    type Io = TlsStream<TimedStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        match self.ready.recv().await {
            Some(accepted) => accepted,
            // The acceptor has ended; so does the process.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.address.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl Connected<IncomingStream<'_, Plain>> for CrowdSeat {
    fn connect_info(stream: IncomingStream<'_, Plain>) -> Self {
        stream.io().place.seat()
    }
}

impl Connected<IncomingStream<'_, Encrypted>> for CrowdSeat {
    fn connect_info(stream: IncomingStream<'_, Encrypted>) -> Self {
        stream.io().get_ref().0.place.seat()
    }
}
