//! The administration, over the MySQL protocol on a unix socket.
//!
//! Whoever may open the socket and is root, or the user that the proxy runs as, may do everything;
//! nobody is asked for a password (docs/adr/0015-administration.md).

mod command;
mod connection;
mod control;
mod own;
mod release;
mod table;
mod tables;

pub use control::{Cluster, Control, Reloaded, Upgrade};
pub use table::{Cell, Kind, Table};
pub use tables::problem;

use std::sync::Arc;
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

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

/// Serves until dropped, and all connections with it. New ones are another process's when that has
/// taken this one's place.
pub async fn serve(listener: UnixListener, control: Control) {
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
                    connections.spawn(connection(stream, own, control.clone(), room));
                }
                Err(e) => {
                    tracing::warn!(error = %e, "cannot accept an administrator");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connection(
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
    let refusal = if uid != 0 && uid != own {
        tracing::warn!(uid, "refused as an administrator");
        Some(connection::not_allowed(uid))
    } else if room.is_none() {
        Some(crate::lock::codes::too_many_connections())
    } else {
        None
    };
    // A client that leaves is no event.
    if let Err(e) = connection::serve(stream, uid, control, refusal).await {
        tracing::debug!(uid, error = %e, "an administrator's connection has ended");
    }
}
