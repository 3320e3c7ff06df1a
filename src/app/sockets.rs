//! Sockets that clients connect to.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::{TcpListener, TcpSocket, UnixListener};

use super::StartError;
use crate::admin::accounts::Accounts;
use crate::config::Listen;
use crate::frontend::listener::Listener;

/// A bound socket. One in the file system is removed when this is dropped.
pub(super) struct Bound {
    listener: Option<Listener>,
    path: Option<PathBuf>,
}

impl Bound {
    /// Where that is, now that the system has chosen a port where it was to.
    pub(super) fn address(&self) -> String {
        match &self.listener {
            Some(Listener::Tcp(tcp)) => tcp.local_addr().map(|a| a.to_string()).unwrap_or_default(),
            _ => self.path.as_ref().map(|p| format!("unix:{}", p.display())).unwrap_or_default(),
        }
    }

    /// What accepts; once.
    pub(super) fn listener(&mut self) -> Option<Listener> {
        self.listener.take()
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // Somebody may have removed it.
            let _ = fs::remove_file(path);
        }
    }
}

/// Binds for administrators: for those alone who may write into the file system's socket. A proxy
/// serves without them.
pub(super) fn bind_admin(path: &Path) -> Option<Bound> {
    match bind_unix(path, 0o600) {
        Ok(unix) => {
            tracing::debug!(path = %path.display(), "administrators connect here");
            Some(Bound { listener: Some(Listener::Unix(unix)), path: Some(path.to_owned()) })
        }
        Err(e) => {
            tracing::warn!(path = %path.display(), error = %e, "no socket for administrators; another place is `admin = \"unix:/path\"`");
            None
        }
    }
}

/// Binds for administrators with accounts, which must be there.
pub(super) fn bind_admin_port(
    (addr, accounts): &(SocketAddr, PathBuf),
) -> Result<(TcpListener, Arc<Path>), StartError> {
    Accounts::load(accounts).map_err(StartError::Accounts)?;
    let bound = bind(*addr).map_err(|source| StartError::Bind {
        what: "administrators",
        addr: addr.to_string(),
        source,
    });
    Ok((bound?, Arc::from(accounts.as_path())))
}

/// Binds for clients.
pub(super) fn bind_clients(listen: &Listen) -> Result<Bound, StartError> {
    let bound = match listen {
        Listen::Tcp(addr) => {
            bind(*addr).map(|tcp| Bound { listener: Some(Listener::Tcp(tcp)), path: None })
        }
        // As the servers' own: who may log in is for accounts to say.
        Listen::Unix(path) => bind_unix(path, 0o777)
            .map(|unix| Bound { listener: Some(Listener::Unix(unix)), path: Some(path.clone()) }),
    };
    let addr = listen.to_string();
    bound.map_err(|source| StartError::Bind { what: "clients", addr, source })
}

/// Binds for the pages.
pub(super) fn bind_pages(addr: SocketAddr) -> Result<TcpListener, StartError> {
    bind(addr).map_err(|source| StartError::Bind { what: "http", addr: addr.to_string(), source })
}

fn bind(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = if addr.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    socket.listen(4096)
}

/// A socket that another process left behind is taken over; one that somebody listens on is not.
fn bind_unix(path: &Path, mode: u32) -> io::Result<UnixListener> {
    if fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
        match UnixStream::connect(path) {
            Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path)?,
            _ => return Err(io::ErrorKind::AddrInUse.into()),
        }
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    Ok(listener)
}
