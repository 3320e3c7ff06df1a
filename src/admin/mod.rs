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

pub use control::{Cluster, Control, Reloaded, Upgrade};
pub use table::{Cell, EXACT, Kind, Table};
pub use tables::problem;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use self::login::Door;
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

/// Whom the port lets in: those of the file `accounts`, from elsewhere only with TLS.
#[derive(Debug, Clone)]
pub struct Terms {
    /// The file.
    pub accounts: Arc<Path>,
    /// The listener whose certificate is shown to clients that want TLS.
    pub shown: InForce,
}

/// Serves users of this machine until dropped, and all connections with it. New ones are another
/// process's when that has taken this one's place.
pub async fn serve_socket(listener: UnixListener, control: Control) {
    let own = rustix::process::geteuid().as_raw();
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    let mut retired = control.retired.clone();
    let mut listener = Some(listener);
    loop {
        let accept = async {
            match &listener {
                Some(listener) => listener.accept().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            Ok(()) = retired.changed(), if listener.is_some() => listener = None,
            accepted = accept => match accepted {
                Ok((stream, _)) => {
                    let room = Arc::clone(&room).try_acquire_owned().ok();
                    connections.spawn(by_socket(stream, own, control.clone(), room));
                }
                Err(e) => cannot_accept(&e).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Serves those who have accounts, likewise.
pub async fn serve_port(listener: TcpListener, terms: Terms, control: Control) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    let mut retired = control.retired.clone();
    let mut listener = Some(listener);
    loop {
        let accept = async {
            match &listener {
                Some(listener) => listener.accept().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            Ok(()) = retired.changed(), if listener.is_some() => listener = None,
            accepted = accept => match accepted {
                Ok((stream, peer)) => {
                    let room = Arc::clone(&room).try_acquire_owned().ok();
                    let (_, hops) = terms.shown.both();
                    let tls = hops.acceptor().map(Acceptor::config);
                    let door = Door::Port { peer, accounts: Arc::clone(&terms.accounts), tls };
                    connections.spawn(by_port(stream, door, control.clone(), room));
                }
                Err(e) => cannot_accept(&e).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn cannot_accept(e: &std::io::Error) {
    tracing::warn!(error = %e, "cannot accept an administrator");
    tokio::time::sleep(Duration::from_millis(100)).await;
}

/// `room` is held to the end of the connection.
async fn by_port(
    stream: TcpStream,
    door: Door,
    control: Control,
    room: Option<OwnedSemaphorePermit>,
) {
    let ended = if room.is_none() {
        connection::refuse(stream, &codes::too_many_connections()).await
    } else {
        let _ = stream.set_nodelay(true);
        connection::serve(Box::new(stream), door, control).await
    };
    ended_with(&ended);
}

async fn by_socket(
    stream: UnixStream,
    own: u32,
    control: Control,
    room: Option<OwnedSemaphorePermit>,
) {
    let uid = match stream.peer_cred() {
        Ok(peer) => peer.uid(),
        Err(e) => {
            tracing::warn!(error = %e, "an administrator's user is not known");
            return;
        }
    };
    let ended = if uid != 0 && uid != own {
        tracing::warn!(target: "lockstead::audit", uid, "refused as an administrator");
        connection::refuse(stream, &not_allowed(uid)).await
    } else if room.is_none() {
        connection::refuse(stream, &codes::too_many_connections()).await
    } else {
        connection::serve(Box::new(stream), Door::Socket { uid }, control).await
    };
    ended_with(&ended);
}

/// A client that leaves is no event.
fn ended_with(result: &std::io::Result<()>) {
    if let Err(e) = result {
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
