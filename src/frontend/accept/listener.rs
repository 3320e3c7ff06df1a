//! Accepting clients and spreading them over the relay threads.
//!
//! Each thread runs an event loop of its own, so a session's two sockets and its task never
//! move between cores.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::{TcpListener, UnixListener};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use crate::frontend::login::{log_in, turned_away};
use crate::frontend::session::Session;
use crate::frontend::shared::context::Context;
use crate::lock::codes;
use crate::metrics::GaugeGuard;
use crate::net::buffers::Buffers;
use crate::net::leg::Leg;
use crate::net::peer::Peer;
use crate::net::socket::{Detached, Socket};
use crate::panics::contained;
use crate::protocol::reply::ErrorReply;
use crate::wakes::Wakes;

/// What accepts clients.
pub enum Listener {
    /// Over a network.
    Tcp(TcpListener),
    /// On this machine.
    Unix(UnixListener),
}

impl Listener {
    async fn accept(&self) -> std::io::Result<(Socket, Peer)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                Ok((Socket::Tcp(stream), Peer(Some(peer))))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                Ok((Socket::Unix(stream), Peer(None)))
            }
        }
    }
}

/// Pause between log lines about a lack of files. The lack can come and go with each client.
const COMPLAIN: Duration = Duration::from_mins(1);

struct Client {
    /// Which listener has accepted it.
    listener: usize,
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
    /// Starts `config.workers` threads. There is a context for each listener.
    pub fn start(contexts: &[Context]) -> std::io::Result<Self> {
        let mut workers = Vec::new();
        let threads = contexts.first().map_or(0, |context| context.config.workers);
        for n in 0..threads {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let (clients, inbox) = mpsc::unbounded_channel();
            let load = Arc::new(AtomicUsize::new(0));
            let buffers = Buffers::default();
            let with_buffers = |c: &Context| Context { buffers: buffers.clone(), ..c.clone() };
            let contexts = contexts.iter().map(with_buffers).collect();
            let counted = Arc::clone(&load);
            std::thread::Builder::new()
                .name(format!("relay-{n}"))
                .spawn(move || runtime.block_on(serve(inbox, contexts, counted)))?;
            workers.push(Worker { clients, load });
        }
        Ok(Self { workers })
    }

    /// Whether there is no client, logged in or not.
    pub fn are_idle(&self) -> bool {
        self.workers.iter().all(|worker| worker.load.load(Ordering::Relaxed) == 0)
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
    contexts: Vec<Context>,
    load: Arc<AtomicUsize>,
) {
    let wakes = Wakes::of_this_thread();
    tokio::spawn(Arc::clone(&wakes).pass_on());
    while let Some(client) = inbox.recv().await {
        let context = Box::new(contexts[client.listener].renewed());
        let counted = CountedClient(Arc::clone(&load));
        let wakes = Arc::clone(&wakes);
        tokio::spawn(async move {
            let (metrics, peer) = (Arc::clone(&context.metrics), client.peer);
            let session = pin!(session(client, context));
            if let Err(what) = wakes.gather(contained(session)).await {
                metrics.panics.inc();
                tracing::error!(%peer, what, "a fault of the proxy ends a login, or the end of a session");
            }
            drop(counted);
        });
    }
}

/// A client of a thread: it counts until this is dropped.
struct CountedClient(Arc<AtomicUsize>);

impl Drop for CountedClient {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// `context` is boxed, since the session that lives on has it in itself.
async fn session(client: Client, context: Box<Context>) {
    let Client { stream, peer, .. } = client;
    let Ok(socket) = stream.attach() else {
        return;
    };
    let (events_in, events) = mpsc::unbounded_channel();
    let limit = context.config.max_connections;
    let entry = match context.registry.enter(events_in.clone(), limit) {
        Some(_) if !context.registry.may_log_in(context.config.max_login_rate) => {
            let refusal = codes::too_many_logins(context.config.max_login_rate);
            return refuse(socket, peer, "max_login_rate", &refusal, &context).await;
        }
        Some(entry) => entry,
        None => {
            let refusal = codes::too_many_connections();
            return refuse(socket, peer, "max_connections", &refusal, &context).await;
        }
    };
    context.metrics.sessions_total.inc();
    let open = GaugeGuard::of(&context.metrics.sessions);
    // Boxed: a login needs more room than the session that lives on after it.
    if let Some(login) = Box::pin(log_in(socket, peer, entry.number(), &context)).await {
        Box::new(Session::new(login, *context, events_in, events, entry)).run().await;
    }
    drop(open);
}

/// How long the reason of a refusal may take to be sent.
const LAST_WORD: Duration = Duration::from_secs(2);

/// Refuses a client before its login.
async fn refuse(socket: Socket, peer: Peer, limit: &str, refusal: &ErrorReply, context: &Context) {
    context.metrics.limits.with_label_values(&[limit]).inc();
    turned_away(peer, "too_many_connections", context);
    let mut out = Vec::new();
    refusal.encode(&mut out, 0, true);
    // A client that does not read is only closed.
    let _ = timeout(LAST_WORD, Leg::new(socket).send_all(&out)).await;
}

/// Accepts until the process stops accepting, by dropping this future.
pub async fn accept(listener: Listener, workers: Arc<Workers>, index: usize) {
    let mut complained: Option<Instant> = None;
    loop {
        match listener.accept().await {
            Ok((socket, peer)) => {
                // A socket whose client has left already has no options to set.
                if let Ok(stream) = socket.set_options().and_then(|()| socket.detach()) {
                    workers.assign(Client { listener: index, stream, peer });
                }
            }
            Err(e) => {
                // Out of file descriptors or memory: it passes when clients leave.
                if complained.is_none_or(|then| then.elapsed() > COMPLAIN) {
                    complained = Some(Instant::now());
                    tracing::error!(error = %e, "cannot accept a client");
                }
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}
