//! A piece of network between a proxy and a server: bytes pass through, until they are stalled or
//! a connection breaks.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

/// Forwards from a port of its own to a server as long as the process lives.
pub(crate) struct Forwarder {
    pub(crate) port: u16,
    target: Arc<AtomicU16>,
    /// Clients' ends of all connections so far.
    clients: Arc<Mutex<Vec<TcpStream>>>,
    stalled: Arc<AtomicBool>,
    mute: Arc<AtomicBool>,
    /// A connection that carries these bytes to the server breaks when the reply comes.
    fatal: Arc<Mutex<Option<Vec<u8>>>>,
    open: Arc<AtomicUsize>,
}

impl Forwarder {
    /// Forwards to a port of this machine, from `source`.
    pub(crate) fn start(target: u16, source: Ipv4Addr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let target = Arc::new(AtomicU16::new(target));
        let clients: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let (leads_to, all) = (Arc::clone(&target), Arc::clone(&clients));
        let stalled = Arc::new(AtomicBool::new(false));
        let mute = Arc::new(AtomicBool::new(false));
        let silence = Arc::clone(&mute);
        let open = Arc::new(AtomicUsize::new(0));
        let fatal = Arc::default();
        let (state, last_words, count) =
            (Arc::clone(&stalled), Arc::clone(&fatal), Arc::clone(&open));
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (state, last_words, count) =
                    (Arc::clone(&state), Arc::clone(&last_words), Arc::clone(&count));
                let silence = Arc::clone(&silence);
                count.fetch_add(1, Ordering::SeqCst);
                all.lock().expect("clients").extend(client.try_clone());
                let target = leads_to.load(Ordering::SeqCst);
                std::thread::spawn(move || {
                    forward(client, (target, source), (&state, &silence), &last_words);
                    count.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { port, target, clients, stalled, mute, fatal, open }
    }

    /// The next connection that carries `bytes` to the server breaks instead of bringing the
    /// reply: what was asked is done, and nobody hears of it.
    pub(crate) fn lose_the_reply_to(&self, bytes: &[u8]) {
        *self.fatal.lock().expect("fatal") = Some(bytes.to_vec());
    }

    /// Whether that has happened.
    pub(crate) fn has_lost_it(&self) -> bool {
        self.fatal.lock().expect("fatal").is_none()
    }

    /// New connections go to another server from now on; those that are open stay where they are.
    pub(crate) fn lead_to(&self, target: u16) {
        self.target.store(target, Ordering::SeqCst);
    }

    /// Breaks all connections.
    pub(crate) fn cut(&self) {
        for client in self.clients.lock().expect("clients").drain(..) {
            let _ = client.shutdown(Shutdown::Both);
        }
    }

    /// Connections that neither side has ended yet.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }

    /// From now on nothing arrives, as when a cable is cut: no byte, no end, no connection.
    pub(crate) fn stall(&self) {
        self.stalled.store(true, Ordering::SeqCst);
    }

    /// From now on the server hears, but nothing arrives from it.
    pub(crate) fn mute(&self) {
        self.mute.store(true, Ordering::SeqCst);
    }

    /// What was under way arrives after all, and what comes next.
    pub(crate) fn heal(&self) {
        self.stalled.store(false, Ordering::SeqCst);
        self.mute.store(false, Ordering::SeqCst);
    }
}

fn forward(
    client: TcpStream,
    (target, source): (u16, Ipv4Addr),
    (stalled, mute): (&Arc<AtomicBool>, &Arc<AtomicBool>),
    fatal: &Mutex<Option<Vec<u8>>>,
) {
    while_stalled(stalled);
    let Ok(server) = connect(target, source) else { return };
    let (Ok(from), Ok(to)) = (server.try_clone(), client.try_clone()) else { return };
    let (state, silence) = (Arc::clone(stalled), Arc::clone(mute));
    let doomed = Arc::new(AtomicBool::new(false));
    let doom = Arc::clone(&doomed);
    let back = std::thread::spawn(move || {
        pump(from, to, &state, |_| {
            while_stalled(&silence);
            !doom.load(Ordering::SeqCst)
        });
    });
    pump(client, server, stalled, |bytes| {
        let mut fatal = fatal.lock().expect("fatal");
        if fatal.as_ref().is_some_and(|f| bytes.windows(f.len()).any(|w| w == f)) {
            *fatal = None;
            doomed.store(true, Ordering::SeqCst);
        }
        true
    });
    let _ = back.join();
}

/// A connection to a port of this machine, from `source`.
pub(crate) fn connect(target: u16, source: Ipv4Addr) -> std::io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((source, 0)).into())?;
    socket.connect(&SocketAddr::from((Ipv4Addr::LOCALHOST, target)).into())?;
    socket.set_tcp_nodelay(true)?;
    Ok(socket.into())
}

/// Passes on what `good` finds good; at anything else the connection breaks.
fn pump(
    mut from: TcpStream,
    mut to: TcpStream,
    stalled: &AtomicBool,
    good: impl Fn(&[u8]) -> bool,
) {
    let mut buffer = vec![0; 65536];
    loop {
        let n = from.read(&mut buffer).unwrap_or(0);
        while_stalled(stalled);
        if n > 0 && !good(&buffer[..n]) {
            let _ = from.shutdown(Shutdown::Both);
            let _ = to.shutdown(Shutdown::Both);
            return;
        }
        if n == 0 || to.write_all(&buffer[..n]).is_err() {
            let _ = to.shutdown(Shutdown::Write);
            return;
        }
    }
}

fn while_stalled(stalled: &AtomicBool) {
    while stalled.load(Ordering::SeqCst) {
        std::thread::park_timeout(Duration::from_millis(5));
    }
}
