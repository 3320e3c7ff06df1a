//! A listener whose connections are encrypted.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Handshakes at once; who comes later waits in the system's queue.
const HANDSHAKES: usize = 64;
/// For a handshake.
const PATIENCE: Duration = Duration::from_secs(10);

/// Handshakes go on beside each other: one that stands still holds nobody up.
pub(super) struct Encrypted {
    ready: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    address: io::Result<SocketAddr>,
    accepting: JoinHandle<()>,
}

impl Encrypted {
    pub(super) fn new(listener: TcpListener, config: Arc<rustls::ServerConfig>) -> Self {
        let (sender, ready) = mpsc::channel(HANDSHAKES);
        let address = listener.local_addr();
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
    listener: TcpListener,
    tls: TlsAcceptor,
    ready: mpsc::Sender<(TlsStream<TcpStream>, SocketAddr)>,
) {
    let room = Arc::new(Semaphore::new(HANDSHAKES));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(e) => {
                tracing::debug!(error = %e, "cannot accept for http");
                sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
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

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.ready.recv().await {
            Some(accepted) => accepted,
            // Whoever accepts has ended; so does the process.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        match &self.address {
            Ok(address) => Ok(*address),
            Err(e) => Err(io::Error::from(e.kind())),
        }
    }
}
