//! Accepting clients and spreading them over the relay threads.
//!
//! Each thread runs an event loop of its own, so a session's two sockets and its task never
//! move between cores.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::context::Context;
use super::login::{closed, log_in};
use super::session::Session;
use crate::lock::codes;
use crate::net::buffers::Buffers;
use crate::net::leg::Leg;
use crate::net::peer::Peer;
use crate::net::socket::{Detached, Socket, set_options};

struct Client {
    stream: Detached,
    peer: Peer,
}

struct Worker {
    clients: mpsc::UnboundedSender<Client>,
    load: Arc<AtomicUsize>,
}

/// The relay threads.
pub struct Workers {
    workers: Vec<Worker>,
}

impl Workers {
    /// Starts `config.workers` threads.
    pub fn start(context: &Context) -> std::io::Result<Self> {
        let mut workers = Vec::new();
        for n in 0..context.config.workers {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let (clients, inbox) = mpsc::unbounded_channel();
            let load = Arc::new(AtomicUsize::new(0));
            let context = Context { buffers: Buffers::default(), ..context.clone() };
            let counted = Arc::clone(&load);
            std::thread::Builder::new()
                .name(format!("relay-{n}"))
                .spawn(move || runtime.block_on(serve(inbox, context, counted)))?;
            workers.push(Worker { clients, load });
        }
        Ok(Self { workers })
    }

    fn assign(&self, client: Client) {
        let least = self.workers.iter().min_by_key(|w| w.load.load(Ordering::Relaxed));
        if let Some(worker) = least {
            worker.load.fetch_add(1, Ordering::Relaxed);
            // A worker lives as long as the process.
            let _ = worker.clients.send(client);
        }
    }
}

async fn serve(
    mut inbox: mpsc::UnboundedReceiver<Client>,
    context: Context,
    load: Arc<AtomicUsize>,
) {
    while let Some(client) = inbox.recv().await {
        let context = context.clone();
        let load = Arc::clone(&load);
        tokio::spawn(async move {
            session(client, context).await;
            load.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

async fn session(client: Client, context: Context) {
    let Client { stream, peer } = client;
    let Ok(socket) = stream.attach() else {
        return;
    };
    let (events_in, events) = mpsc::unbounded_channel();
    let limit = context.config.max_connections;
    let Some(entry) = context.registry.enter(events_in.clone(), limit) else {
        let mut out = Vec::new();
        codes::too_many_connections().encode(&mut out, 0, true);
        let _ = Leg::new(socket).send(&out);
        closed(&context, "too_many_connections");
        return;
    };
    context.metrics.sessions_total.inc();
    let open = OpenSession::new(&context);
    // Boxed: a login needs more room than the session that lives on after it.
    if let Some(login) = Box::pin(log_in(socket, peer, &context)).await {
        Session::new(login, context, events_in, events, entry).run().await;
    }
    drop(open);
}

/// Accepts until the process stops accepting, by dropping this future.
pub async fn accept(listener: TcpListener, workers: &Workers) {
    let mut complained = false;
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                complained = false;
                let stream = set_options(&stream).and_then(|()| Socket::Tcp(stream).detach());
                // One whose client has left already has no options to set.
                if let Ok(stream) = stream {
                    workers.assign(Client { stream, peer: Peer(Some(peer)) });
                }
            }
            Err(e) => {
                // Out of file descriptors or memory: it passes when clients leave.
                if !complained {
                    complained = true;
                    tracing::error!(error = %e, "cannot accept a client");
                }
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Counts a session as long as it lives.
struct OpenSession(prometheus::IntGauge);

impl OpenSession {
    fn new(context: &Context) -> Self {
        context.metrics.sessions.inc();
        Self(context.metrics.sessions.clone())
    }
}

impl Drop for OpenSession {
    fn drop(&mut self) {
        self.0.dec();
    }
}
