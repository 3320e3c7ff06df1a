//! Sockets that clients connect to.

use std::fs::{self, File, TryLockError};
use std::io;
use std::net::{SocketAddr, TcpListener as StdTcp};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener as StdUnix, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpSocket, UnixListener};

use super::handover::NamedSocket;
use super::start_error::StartError;
use crate::admin::accounts::Accounts;
use crate::config::Listen;
use crate::frontend::accept::listener::Listener;

/// Binds, or takes what the process before this one has bound; and keeps all for the next.
#[derive(Debug)]
pub(super) struct Sockets {
    inherited: Vec<NamedSocket>,
    all: Vec<NamedSocket>,
    /// Whether this process is the one that serves: it removes files then.
    ours: Arc<AtomicBool>,
}

impl Sockets {
    /// If sockets were inherited, they become this process's own only when the old process says so.
    pub(super) fn new(inherited: Vec<NamedSocket>, ours: bool) -> Self {
        Self { inherited, all: Vec::new(), ours: Arc::new(AtomicBool::new(ours)) }
    }

    /// Notes whether the sockets are this process's own.
    pub(super) fn set_ours(&self, ours: bool) {
        self.ours.store(ours, Ordering::Relaxed);
    }

    /// Ends what the process before listened on and this one does not: clients must not wait there.
    pub(super) fn close_rest(&mut self) {
        for (name, _) in self.inherited.drain(..) {
            tracing::info!(
                socket = name,
                "an address is closed, because no listener has it any more"
            );
            if let Some((_, path)) = name.split_once(" unix:") {
                // An administrator may have removed the file.
                let _ = fs::remove_file(path);
            }
        }
    }

    /// Copies of all sockets, for the next process.
    pub(super) fn copies(&self) -> io::Result<Vec<NamedSocket>> {
        let copy = |(name, socket): &NamedSocket| Ok((name.clone(), socket.try_clone()?));
        self.all.iter().map(copy).collect()
    }

    /// Binds for administrators: for those alone who may write into the file system's socket. A
    /// proxy serves without them, but not where their orders would reach another one.
    pub(super) fn admin(&mut self, path: &Path) -> Result<Option<BoundSocket>, StartError> {
        match self.unix("admin", path, 0o600) {
            Ok(bound) => {
                tracing::debug!(path = %path.display(), "administrators connect here");
                Ok(Some(bound))
            }
            Err(e) if e.kind() == io::ErrorKind::AddrInUse => {
                Err(StartError::OthersSocket(path.to_owned()))
            }
            Err(e) => {
                tracing::warn!(path = %path.display(), error = %e, "no socket for administrators; another place is `admin = \"unix:/path\"`");
                Ok(None)
            }
        }
    }

    /// Binds for clients.
    pub(super) fn clients(&mut self, listen: &Listen) -> Result<BoundSocket, StartError> {
        let bound = match listen {
            Listen::Tcp(addr) => self.tcp("clients", *addr).map(|tcp| BoundSocket {
                listener: Some(Listener::Tcp(tcp)),
                file: None,
                ours: Arc::clone(&self.ours),
            }),
            // Like the servers' own sockets: accounts decide who may log in.
            Listen::Unix(path) => self.unix("clients", path, 0o777),
        };
        let addr = listen.to_string();
        bound.map_err(|source| StartError::Bind { what: "clients", addr, source })
    }

    /// Binds for the pages.
    pub(super) fn pages(&mut self, addr: SocketAddr) -> Result<TcpListener, StartError> {
        let refuse = |source| StartError::Bind { what: "http", addr: addr.to_string(), source };
        self.tcp("http", addr).map_err(refuse)
    }

    /// Binds for administrators with accounts, which must be there.
    pub(super) fn admin_port(
        &mut self,
        (addr, accounts): &(SocketAddr, PathBuf),
    ) -> Result<(TcpListener, Arc<Path>), StartError> {
        Accounts::load(accounts).map_err(StartError::Accounts)?;
        let refuse =
            |source| StartError::Bind { what: "administrators", addr: addr.to_string(), source };
        Ok((self.tcp("administrators", *addr).map_err(refuse)?, Arc::from(accounts.as_path())))
    }

    fn tcp(&mut self, what: &str, addr: SocketAddr) -> io::Result<TcpListener> {
        let name = format!("{what} {addr}");
        let listener = match self.inherited(&name) {
            Some(socket) => {
                let listener = StdTcp::from(socket);
                listener.set_nonblocking(true)?;
                TcpListener::from_std(listener)?
            }
            None => bind(addr)?,
        };
        self.keep(name, listener.as_fd())?;
        Ok(listener)
    }

    fn unix(&mut self, what: &str, path: &Path, mode: u32) -> io::Result<BoundSocket> {
        let name = format!("{what} unix:{}", path.display());
        let listener = match self.inherited(&name) {
            Some(socket) => {
                let listener = StdUnix::from(socket);
                listener.set_nonblocking(true)?;
                UnixListener::from_std(listener)?
            }
            None => bind_unix(path, mode)?,
        };
        self.keep(name, listener.as_fd())?;
        let file = Some((path.to_owned(), identity(path)));
        let listener = Some(Listener::Unix(listener));
        Ok(BoundSocket { listener, file, ours: Arc::clone(&self.ours) })
    }

    fn inherited(&mut self, name: &str) -> Option<OwnedFd> {
        let at = self.inherited.iter().position(|(of, _)| of == name)?;
        Some(self.inherited.remove(at).1)
    }

    fn keep(&mut self, name: String, socket: BorrowedFd<'_>) -> io::Result<()> {
        self.all.push((name, socket.try_clone_to_owned()?));
        Ok(())
    }
}

/// A bound socket. One in the file system is removed when this is dropped, unless another process
/// has taken it over.
pub(super) struct BoundSocket {
    listener: Option<Listener>,
    /// The socket's file, and which one that was when it was bound.
    file: Option<(PathBuf, Option<FileId>)>,
    ours: Arc<AtomicBool>,
}

impl BoundSocket {
    /// Where that is, now that the system has chosen a port where it was to.
    pub(super) fn address(&self) -> String {
        match &self.listener {
            Some(Listener::Tcp(tcp)) => tcp.local_addr().map(|a| a.to_string()).unwrap_or_default(),
            _ => {
                self.file.as_ref().map(|(p, _)| format!("unix:{}", p.display())).unwrap_or_default()
            }
        }
    }

    /// The listener; only once.
    pub(super) fn listener(&mut self) -> Option<Listener> {
        self.listener.take()
    }
}

impl Drop for BoundSocket {
    fn drop(&mut self) {
        let Some((path, file)) = self.file.as_ref().filter(|_| self.ours.load(Ordering::Relaxed))
        else {
            return;
        };
        // Somebody may have removed it, and another process bound its own in its place.
        let _alone = alone_in(path);
        if *file == identity(path) {
            let _ = fs::remove_file(path);
        }
    }
}

/// Device and number of a file.
type FileId = (u64, u64);

fn identity(path: &Path) -> Option<FileId> {
    fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

fn bind(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = if addr.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    socket.listen(4096)
}

/// A socket file left by a process that has ended is taken over; one that a process listens on is not.
fn bind_unix(path: &Path, mode: u32) -> io::Result<UnixListener> {
    // Between the look and the bind, another start would take ours for one left behind.
    let _alone = alone_in(path);
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

/// How long another start may take to bind.
const OTHER_START: Duration = Duration::from_secs(1);

/// Keeps other starts out of the folder until it is dropped. Without a lock, where none can be made:
/// other programs that lock the folder must not keep a proxy from starting.
fn alone_in(path: &Path) -> Option<File> {
    // A name without a folder is in the current one.
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let folder = File::open(parent.unwrap_or(Path::new("."))).ok()?;
    let until = Instant::now() + OTHER_START;
    while let Err(TryLockError::WouldBlock) = folder.try_lock() {
        if Instant::now() > until {
            break;
        }
        thread::park_timeout(Duration::from_millis(5));
    }
    Some(folder)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    fn folder() -> PathBuf {
        let folder = std::env::temp_dir().join(format!("lockstead-{:016x}", rand::random::<u64>()));
        fs::create_dir(&folder).expect("made");
        folder
    }

    #[tokio::test]
    async fn a_file_that_is_another_process_s_by_now_stays() {
        let folder = folder();
        let path = folder.join("socket");
        let bind = || Sockets::new(Vec::new(), true).unix("clients", &path, 0o600).expect("bound");
        drop(bind());
        assert!(!path.exists(), "its own goes with it");
        let first = bind();
        fs::remove_file(&path).expect("removed");
        let _second = bind();
        drop(first);
        assert!(path.exists());
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[tokio::test]
    async fn of_two_starts_at_once_one_is_refused() {
        let folder = folder();
        let path = folder.join("socket");
        for _ in 0..500 {
            drop(StdUnix::bind(&path).expect("one that is left behind"));
            // A process that another test has just started has it until it runs its program.
            while UnixStream::connect(&path).is_ok() {
                std::thread::yield_now();
            }
            let ready = Arc::new(Barrier::new(2));
            let start = || {
                let (path, ready) = (path.clone(), Arc::clone(&ready));
                tokio::task::spawn_blocking(move || {
                    ready.wait();
                    bind_unix(&path, 0o600)
                })
            };
            let (one, other) = (start(), start());
            let (one, other) = (one.await.expect("no panic"), other.await.expect("no panic"));
            assert!(one.is_ok() != other.is_ok(), "{one:?} {other:?}");
            assert!(path.exists());
            fs::remove_file(&path).expect("removed");
        }
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[tokio::test]
    async fn a_socket_that_is_not_listened_on_any_more_is_closed() {
        let folder = folder();
        let path = folder.join("socket");
        let old = StdUnix::bind(&path).expect("bound");
        let tcp = StdTcp::bind("127.0.0.1:0").expect("bound");
        let addr = tcp.local_addr().expect("bound");
        let inherited = vec![
            (format!("clients unix:{}", path.display()), OwnedFd::from(old)),
            (format!("clients {addr}"), OwnedFd::from(tcp)),
        ];
        let mut sockets = Sockets::new(inherited, false);
        sockets.close_rest();
        assert!(!path.exists());
        assert!(std::net::TcpStream::connect(addr).is_err());
        fs::remove_dir_all(&folder).expect("removed");
    }
}
