//! The administration, over the MySQL protocol (docs/adr/0015-administration.md).
//!
//! On a unix socket root and the user that the proxy runs as may do everything, without a password.
//! On a port there are accounts with roles.

pub mod accounts;
mod command;
mod connection;
mod control;
mod login;
mod own;
mod release;
mod table;
mod tables;
mod upgrade;

pub use control::{Cluster, Control, Reloaded, Replaced};
pub use table::{Cell, EXACT, Kind, Table};
pub use upgrade::Upgrade;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::sleep;

use self::login::{Door, Stream};
use crate::frontend::in_force::InForce;
use crate::lock::codes;
use crate::net::certificates::Acceptor;
use crate::protocol::reply::ErrorReply;

/// What clients are told: a version that they take for one of a server, and whose it is.
const VERSION: &str = concat!("8.4.0-lockstead-", env!("CARGO_PKG_VERSION"));
/// Longest command taken, in bytes.
const MAX_COMMAND: usize = 64 * 1024;
/// An administrator who says nothing for this long is gone.
const IDLE: Duration = Duration::from_hours(8);
/// For a login.
const LOGIN: Duration = Duration::from_secs(10);
/// Connections at once.
const CONNECTIONS: usize = 32;

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
    /// The next one who comes, and by which door, if at all.
    async fn next(&self) -> io::Result<(Box<dyn Stream>, Result<Door, ErrorReply>)> {
        match self {
            Self::Socket(listener) => {
                let (stream, _) = listener.accept().await?;
                let uid = stream.peer_cred()?.uid();
                let known = uid == 0 || uid == rustix::process::geteuid().as_raw();
                let door = known.then_some(Door::Socket { uid }).ok_or_else(|| not_allowed(uid));
                Ok((Box::new(stream), door))
            }
            Self::Port { listener, accounts, shown } => {
                let (stream, peer) = listener.accept().await?;
                let _ = stream.set_nodelay(true);
                let tls = shown.both().1.acceptor().map(Acceptor::config);
                let door = Door::Port { peer, accounts: Arc::clone(accounts), tls };
                Ok((Box::new(stream), Ok(door)))
            }
        }
    }
}

/// Serves until dropped, and all connections with it. New ones are another process's when that has
/// taken this one's place.
pub async fn serve(entrance: Entrance, control: Control) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
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
                Ok((stream, door)) => {
                    let place = Arc::clone(&room).try_acquire_owned().ok();
                    connections.spawn(connection(stream, door, control.clone(), place));
                }
                Err(e) => {
                    tracing::warn!(error = %e, "cannot accept an administrator");
                    sleep(Duration::from_millis(100)).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// `place` is held to the end of the connection.
async fn connection(
    stream: Box<dyn Stream>,
    door: Result<Door, ErrorReply>,
    control: Control,
    place: Option<OwnedSemaphorePermit>,
) {
    let ended = match door {
        Err(refusal) => {
            tracing::warn!(target: "lockstead::audit", refusal = refusal.message, "refused as an administrator");
            connection::refuse(stream, &refusal).await
        }
        Ok(_) if place.is_none() => {
            connection::refuse(stream, &codes::too_many_connections()).await
        }
        Ok(door) => connection::serve(stream, door, control).await,
    };
    // A client that leaves is no event.
    if let Err(e) = ended {
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
