//! Where administrators connect: accepting them, and limiting logins that are under way.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, UnixListener};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};

use super::connection;
use super::connection_slots::ConnectionSlots;
use super::control::Control;
use super::limits::{LOGIN, LOGINS};
use super::login::{self, ClientStream, Door, Entered};
use super::sources::ClientSource;
use crate::frontend::shared::live_config::InForce;
use crate::net::certificates::Acceptor;
use crate::net::socket::set_tcp_options;
use crate::protocol::reply::ErrorReply;
use crate::seldom::Turn;

/// Where administrators connect.
pub enum Entrance {
    /// For users of this machine.
    Socket(UnixListener),
    /// Holders of accounts; from other machines only with TLS.
    Port {
        /// The port.
        listener: TcpListener,
        /// The file of accounts.
        accounts: Arc<Path>,
        /// The listener whose certificate clients are shown that want TLS.
        shown: InForce,
    },
}

impl Entrance {
    /// The next connection, its source, and its door or why it may not log in.
    async fn next(&self) -> io::Result<Comer> {
        match self {
            Self::Socket(listener) => {
                let (stream, _) = listener.accept().await?;
                let uid = stream.peer_cred()?.uid();
                let known = uid == 0 || uid == rustix::process::geteuid().as_raw();
                let door = known.then_some(Door::Socket { uid }).ok_or_else(|| not_allowed(uid));
                Ok(Comer { stream: Box::new(stream), source: ClientSource::User(uid), door })
            }
            Self::Port { listener, accounts, shown } => {
                let (stream, peer) = listener.accept().await?;
                // If the client has left already, a later step fails.
                let _ = set_tcp_options(&stream);
                let tls = shown.both().1.acceptor().map(Acceptor::config);
                let door = Door::Port { peer, accounts: Arc::clone(accounts), tls };
                let source = ClientSource::of(peer.ip());
                Ok(Comer { stream: Box::new(stream), source, door: Ok(door) })
            }
        }
    }
}

/// A connection that wants to log in.
struct Comer {
    stream: Box<dyn ClientStream>,
    source: ClientSource,
    door: Result<Door, ErrorReply>,
}

/// Serves until dropped, and all connections with it. The entrance stops accepting when another process has taken this
/// one's place.
///
/// Unauthenticated connections have their own limit. Beyond it the oldest login of the source with
/// the most logins is dropped, so silent connections keep nobody out.
pub async fn serve(entrance: Entrance, control: Control) {
    let slots = Arc::new(ConnectionSlots::new(
        Arc::clone(&control.clusters[0].metrics),
        control.registry.clone(),
    ));
    let mut logins = Logins::default();
    let mut connections = JoinSet::new();
    let mut retired = control.retired.clone();
    let mut entrance = Some(entrance);
    loop {
        let next = async {
            match &entrance {
                Some(entrance) => entrance.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            Ok(()) = retired.changed(), if entrance.is_some() => entrance = None,
            next = next => match next {
                Ok(comer) => logins.admit(comer, &slots),
                Err(e) => pause(&e, &slots).await,
            },
            Some(entered) = logins.tasks.join_next() => if let Ok(Some(entered)) = entered {
                connections.spawn(connection(entered, control.clone(), Arc::clone(&slots)));
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Tells that no connection can be accepted now, and waits a moment.
async fn pause(error: &io::Error, slots: &ConnectionSlots) {
    if let Some(Turn { left_out }) = slots.failures.turn() {
        tracing::warn!(%error, left_out, "cannot accept an administrator");
    }
    sleep(Duration::from_millis(100)).await;
}

/// Logins that are under way.
#[derive(Default)]
struct Logins {
    /// The oldest first.
    begun: Vec<BegunLogin>,
    tasks: JoinSet<Option<Entered>>,
}

struct BegunLogin {
    source: ClientSource,
    task: AbortHandle,
}

impl Logins {
    /// Begins one more. If there is no room, one of the others is dropped, or the newcomer.
    fn admit(&mut self, newcomer: Comer, slots: &Arc<ConnectionSlots>) {
        let source = newcomer.source;
        self.begun.retain(|login| !login.task.is_finished());
        if self.begun.len() >= LOGINS {
            slots.refuse();
            let sources: Vec<ClientSource> = self.begun.iter().map(|login| login.source).collect();
            let gives_way = slots.sources.lock().gives_way(&sources, source, Instant::now());
            let Some(which) = gives_way else { return };
            self.begun.remove(which).task.abort();
        }
        let task = self.tasks.spawn(login(newcomer, Arc::clone(slots)));
        self.begun.push(BegunLogin { source, task });
    }
}

/// Carries out a login.
async fn login(comer: Comer, slots: Arc<ConnectionSlots>) -> Option<Entered> {
    let Comer { mut stream, source, door } = comer;
    let entering = async {
        match door {
            Ok(door) => login::enter(stream, source, door, &slots).await.map(Some),
            Err(refusal) => {
                if let Some(Turn { left_out }) = slots.refusals.turn() {
                    tracing::warn!(target: "lockstead::audit", refusal = refusal.message, left_out, "refused as an administrator");
                }
                login::turn_away(&mut *stream, &refusal).await.map(|()| None)
            }
        }
    };
    match timeout(LOGIN, entering).await {
        Ok(Ok(entered)) => entered,
        // A client that leaves is no event, nor is one that says nothing.
        Ok(Err(e)) => {
            tracing::debug!(error = %e, "an administrator's login failed");
            None
        }
        Err(_) => None,
    }
}

async fn connection(entered: Entered, control: Control, slots: Arc<ConnectionSlots>) {
    // A client that leaves is no event.
    if let Err(e) = connection::serve(entered, control, slots).await {
        tracing::debug!(error = %e, "an administrator's connection has ended");
    }
}

/// ER_ACCESS_DENIED_ERROR for a user of the operating system.
fn not_allowed(uid: u32) -> ErrorReply {
    let message =
        format!("Access denied: user id {uid} is neither root nor the user that Lockstead runs as");
    ErrorReply { code: 1045, state: "28000", message }
}
