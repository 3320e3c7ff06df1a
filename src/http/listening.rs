//! Listeners that stop when another process takes this one's place, in clear and encrypted. What has
//! been accepted by then is served.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Handshakes at once; who comes later waits in the system's queue.
const HANDSHAKES: usize = 64;
/// For a handshake.
const PATIENCE: Duration = Duration::from_secs(10);

/// Accepts until another process does.
pub(super) struct Plain {
    listener: Option<TcpListener>,
    retired: watch::Receiver<bool>,
}

impl Plain {
    pub(super) fn new(listener: TcpListener, retired: watch::Receiver<bool>) -> Self {
        Self { listener: Some(listener), retired }
    }
}

impl Listener for Plain {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        let Self { listener, retired } = self;
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
                Some(Ok(accepted)) => return accepted,
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

/// Handshakes go on beside each other: one that stands still holds nobody up.
pub(super) struct Encrypted {
    ready: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    address: Option<SocketAddr>,
    accepting: JoinHandle<()>,
}

impl Encrypted {
    pub(super) fn new(listener: Plain, config: Arc<rustls::ServerConfig>) -> Self {
        let (sender, ready) = mpsc::channel(HANDSHAKES);
        let address = listener.local_addr().ok();
        let accepting = tokio::spawn(accept(listener, TlsAcceptor::from(config), sender));
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
    tls: TlsAcceptor,
    ready: mpsc::Sender<(TlsStream<TcpStream>, SocketAddr)>,
) {
    let room = Arc::new(Semaphore::new(HANDSHAKES));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        let (stream, peer) = listener.accept().await;
        let (tls, ready) = (tls.clone(), ready.clone());
        tokio::spawn(async move {
            let _place = place;
            match timeout(PATIENCE, tls.accept(stream)).await {
                Ok(Ok(stream)) => {
                    let _ = ready.send((stream, peer)).await;
                }
                Ok(Err(e)) => tracing::debug!(%peer, error = %e, "no TLS for http"),
                Err(_) => tracing::debug!(%peer, "no TLS for http in time"),
            }
        });
    }
}

impl Listener for Encrypted {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        match self.ready.recv().await {
            Some(accepted) => accepted,
            // Whoever accepts has ended; so does the process.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.address.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}
