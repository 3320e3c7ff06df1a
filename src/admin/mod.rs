//! The administration, over the MySQL protocol (docs/adr/0015-administration.md).
//!
//! On a unix socket root and the user that the proxy runs as may do everything, without a password.
//! On a port there are accounts with roles.

pub mod accounts;
mod client_queries;
mod command;
mod connection;
mod connection_slots;
mod control;
mod locks;
mod login;
mod release;
mod sources;
mod table;
mod tables;
mod upgrade;

pub use control::{Cluster, Control, Reloaded, Replaced, failed};
pub use table::{Cell, EXACT, Kind, Table};
pub use upgrade::Upgrade;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, UnixListener};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};

use crate::admin::connection_slots::Desk;
use crate::admin::login::{Door, Entered, Stream};
use crate::admin::sources::Source;
use crate::frontend::shared::live_config::InForce;
use crate::net::certificates::Acceptor;
use crate::net::socket::set_tcp_options;
use crate::protocol::reply::ErrorReply;
use crate::seldom::Turn;

/// What clients are told: a version that they take for one of a server, and whose it is.
const VERSION: &str = concat!("8.4.0-lockstead-", env!("CARGO_PKG_VERSION"));
/// Longest command taken, in bytes.
const MAX_COMMAND: usize = 64 * 1024;
/// An administrator who says nothing for this long is gone. A machine that is gone is noticed sooner
/// ([`set_tcp_options`]).
const IDLE: Duration = Duration::from_hours(8);
/// For a login.
const LOGIN: Duration = Duration::from_secs(10);
/// For the client to take an answer.
const ANSWER: Duration = Duration::from_mins(1);
/// Connections at once, of one entrance.
const CONNECTIONS: usize = 32;
/// Logins under way at once, of one entrance.
const LOGINS: usize = 32;

/// Where administrators come in.
pub enum Entrance {
    /// Users of this machine.
    Socket(UnixListener),
    /// Those who have accounts, from elsewhere only with TLS.
    Port {
        /// Where.
        listener: TcpListener,
        /// The file of accounts.
        accounts: Arc<Path>,
        /// The listener whose certificate is shown to clients that want TLS.
        shown: InForce,
    },
}

impl Entrance {
    /// The next one who comes, from where, and by which door, if at all.
    async fn next(&self) -> io::Result<Comer> {
        match self {
            Self::Socket(listener) => {
                let (stream, _) = listener.accept().await?;
                let uid = stream.peer_cred()?.uid();
                let known = uid == 0 || uid == rustix::process::geteuid().as_raw();
                let door = known.then_some(Door::Socket { uid }).ok_or_else(|| not_allowed(uid));
                Ok(Comer { stream: Box::new(stream), source: Source::User(uid), door })
            }
            Self::Port { listener, accounts, shown } => {
                let (stream, peer) = listener.accept().await?;
                // Who has left again fails later.
                let _ = set_tcp_options(&stream);
                let tls = shown.both().1.acceptor().map(Acceptor::config);
                let door = Door::Port { peer, accounts: Arc::clone(accounts), tls };
                let source = Source::of(peer.ip());
                Ok(Comer { stream: Box::new(stream), source, door: Ok(door) })
            }
        }
    }
}

/// Somebody who wants to be let in.
struct Comer {
    stream: Box<dyn Stream>,
    source: Source,
    door: Result<Door, ErrorReply>,
}

/// Serves until dropped, and all connections with it. New ones are another process's when that has
/// taken this one's place.
///
/// Who has not logged in yet takes no place of those who have. Of too many logins the oldest of the
/// source that has the most gives way: silent connections keep nobody out, nor do many of them.
pub async fn serve(entrance: Entrance, control: Control) {
    let desk = Arc::new(Desk::new(control.clone()));
    let mut logins = JoinSet::new();
    let mut begun: Vec<(Source, AbortHandle)> = Vec::new();
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
                Ok(comer) => {
                    let source = comer.source;
                    if make_room(&mut begun, source, &desk) {
                        begun.push((source, logins.spawn(login(comer, Arc::clone(&desk)))));
                    }
                }
                Err(e) => {
                    if let Some(Turn { left_out }) = desk.failures.turn() {
                        tracing::warn!(error = %e, left_out, "cannot accept an administrator");
                    }
                    sleep(Duration::from_millis(100)).await;
                }
            },
            Some(entered) = logins.join_next() => if let Ok(Some(entered)) = entered {
                connections.spawn(connection(entered, control.clone(), Arc::clone(&desk)));
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Makes room for one more login, if there is to be room for it.
fn make_room(begun: &mut Vec<(Source, AbortHandle)>, newcomer: Source, desk: &Desk) -> bool {
    begun.retain(|(_, login)| !login.is_finished());
    if begun.len() < LOGINS {
        return true;
    }
    desk.refuse();
    let sources: Vec<Source> = begun.iter().map(|(source, _)| *source).collect();
    let Some(which) = desk.sources.lock().gives_way(&sources, newcomer, Instant::now()) else {
        return false;
    };
    begun.remove(which).1.abort();
    true
}

/// Lets somebody in, or not.
async fn login(comer: Comer, desk: Arc<Desk>) -> Option<Entered> {
    let Comer { mut stream, source, door } = comer;
    let entering = async {
        match door {
            Ok(door) => login::enter(stream, (source, door), &desk).await.map(Some),
            Err(refusal) => {
                if let Some(Turn { left_out }) = desk.refusals.turn() {
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
            tracing::debug!(error = %e, "no administrator has come of it");
            None
        }
        Err(_) => None,
    }
}

async fn connection(entered: Entered, control: Control, desk: Arc<Desk>) {
    // A client that leaves is no event.
    if let Err(e) = connection::serve(entered, control, desk).await {
        tracing::debug!(error = %e, "an administrator's connection has ended");
    }
}

/// ER_ACCESS_DENIED_ERROR for a user of the operating system.
fn not_allowed(uid: u32) -> ErrorReply {
    let message = format!(
        "Access denied: user id {uid} of this machine is neither root nor the one that Lockstead runs as"
    );
    ErrorReply { code: 1045, state: "28000", message }
}
