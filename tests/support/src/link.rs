//! A network link between two processes on this machine. Bytes pass through until a fault is put on it. One way or both
//! are held back or slowed down, the server's side falls silent, a reply is lost, or all connections break.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

/// A direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From the link's port to the server.
    ToServer,
    /// Back.
    ToClient,
}

/// What happens to bytes that go one way.
#[derive(Debug, Clone, Copy, Default)]
struct Lane {
    held: bool,
    /// Held, but connections are still made.
    mute: bool,
    delay: Duration,
}

#[derive(Debug)]
struct Shared {
    target: AtomicU16,
    source: Ipv4Addr,
    lanes: Mutex<[Lane; 2]>,
    changed: Condvar,
    /// Clients' ends of the connections that are not over, by their number: more files than that are not kept open.
    clients: Mutex<Vec<(usize, TcpStream)>>,
    /// A connection that carries these bytes to the server breaks when the reply comes.
    fatal: Mutex<Option<Vec<u8>>>,
    /// Nothing arrives any more once these bytes were on their way to the server, and how often they were.
    last: Mutex<Option<(Vec<u8>, usize)>>,
    open: AtomicUsize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Returns when bytes may pass. Bytes that are held back come later, as resent packets do.
    fn pass(&self, way: Way) {
        let delay = lock(&self.lanes)[way as usize].delay;
        if !delay.is_zero() {
            std::thread::park_timeout(delay);
        }
        self.wait_while(|lanes| lanes[way as usize].held || lanes[way as usize].mute);
    }

    /// Returns when a connection may be made.
    fn pass_connection(&self) {
        self.wait_while(|lanes| lanes.iter().any(|lane| lane.held));
    }

    fn wait_while(&self, blocked: impl Fn(&[Lane; 2]) -> bool) {
        let lanes = self.changed.wait_while(lock(&self.lanes), |lanes| blocked(lanes));
        drop(lanes.unwrap_or_else(PoisonError::into_inner));
    }

    /// Looks at bytes that are on their way to the server.
    fn note(&self, bytes: &[u8]) {
        let mut last = lock(&self.last);
        let Some((sought, times)) = last.as_mut() else { return };
        let found = bytes.windows(sought.len()).filter(|window| window == sought).count();
        *times += found;
        if found > 0 {
            lock(&self.lanes).iter_mut().for_each(|lane| lane.held = true);
        }
    }

    /// Whether these bytes are those whose reply is to be lost.
    fn is_fatal(&self, bytes: &[u8]) -> bool {
        let mut fatal = lock(&self.fatal);
        let found = fatal.as_ref().is_some_and(|f| bytes.windows(f.len()).any(|w| w == f));
        if found {
            *fatal = None;
        }
        found
    }
}

/// A link from a port of its own to a server, for as long as the process lives.
#[derive(Debug)]
pub struct Link {
    at: SocketAddr,
    shared: Arc<Shared>,
}

impl Link {
    /// Leads to a port of this machine.
    pub fn to(target: u16) -> Self {
        Self::start(target, Ipv4Addr::LOCALHOST)
    }

    /// Leads to a port of this machine; the server sees connections from `source`.
    pub fn start(target: u16, source: Ipv4Addr) -> Self {
        Self::from(TcpListener::bind("127.0.0.1:0").expect("a free port"), target, source)
    }

    /// Leads from a listener, which may be in another network namespace, to a port of this one.
    pub fn from(listener: TcpListener, target: u16, source: Ipv4Addr) -> Self {
        let at = listener.local_addr().expect("bound");
        let shared = Arc::new(Shared {
            target: AtomicU16::new(target),
            source,
            lanes: Mutex::default(),
            changed: Condvar::new(),
            clients: Mutex::default(),
            fatal: Mutex::default(),
            last: Mutex::default(),
            open: AtomicUsize::new(0),
        });
        let link = Self { at, shared: Arc::clone(&shared) };
        std::thread::spawn(move || {
            for (number, client) in listener.incoming().flatten().enumerate() {
                shared.open.fetch_add(1, Ordering::SeqCst);
                lock(&shared.clients).extend(client.try_clone().map(|client| (number, client)));
                // Where a client is led is decided when it comes.
                let target = shared.target.load(Ordering::SeqCst);
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || {
                    forward(client, target, &shared);
                    lock(&shared.clients).retain(|(other, _)| *other != number);
                    shared.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        link
    }

    /// Where it begins.
    pub fn at(&self) -> SocketAddr {
        self.at
    }

    /// The port at which it begins.
    pub fn port(&self) -> u16 {
        self.at.port()
    }

    /// New connections go to another server from now on; open ones stay where they are.
    pub fn lead_to(&self, target: u16) {
        self.shared.target.store(target, Ordering::SeqCst);
    }

    /// Nothing passes this way from now on, and no connection is made.
    pub fn hold(&self, way: Way) {
        self.change(|lanes| lanes[way as usize].held = true);
    }

    /// Nothing arrives from now on, as when a cable is cut: no byte, no end, no connection.
    pub fn stall(&self) {
        self.hold(Way::ToServer);
        self.hold(Way::ToClient);
    }

    /// Nothing arrives, as in [`Self::stall`], from the moment when `bytes` are on their way to the server.
    pub fn stall_at(&self, bytes: &[u8]) {
        *lock(&self.shared.last) = Some((bytes.to_vec(), 0));
    }

    /// How often these bytes were on their way since.
    pub fn stalled(&self) -> usize {
        lock(&self.shared.last).as_ref().map_or(0, |(_, times)| *times)
    }

    /// From now on the server hears, but nothing arrives from it.
    pub fn mute(&self) {
        self.change(|lanes| lanes[Way::ToClient as usize].mute = true);
    }

    /// Bytes that go this way take so much longer from now on.
    pub fn delay(&self, way: Way, delay: Duration) {
        self.change(|lanes| lanes[way as usize].delay = delay);
    }

    /// Ends all of these faults. Bytes that were held back arrive, and then the later ones.
    pub fn heal(&self) {
        self.change(|lanes| *lanes = Default::default());
    }

    fn change(&self, what: impl FnOnce(&mut [Lane; 2])) {
        what(&mut lock(&self.shared.lanes));
        self.shared.changed.notify_all();
    }

    /// Breaks all connections.
    pub fn cut(&self) {
        for (_, client) in lock(&self.shared.clients).drain(..) {
            let _ = client.shutdown(Shutdown::Both);
        }
    }

    /// The next connection that carries `bytes` to the server breaks instead of bringing the reply: the server has
    /// done what was asked, and nobody is told.
    pub fn lose_the_reply_to(&self, bytes: &[u8]) {
        *lock(&self.shared.fatal) = Some(bytes.to_vec());
    }

    /// Whether that has happened.
    pub fn has_lost_it(&self) -> bool {
        lock(&self.shared.fatal).is_none()
    }

    /// Connections that neither side has ended yet.
    pub fn open(&self) -> usize {
        self.shared.open.load(Ordering::SeqCst)
    }
}

fn forward(client: TcpStream, target: u16, shared: &Arc<Shared>) {
    shared.pass_connection();
    let Ok(server) = connect(target, shared.source) else { return };
    let _ = client.set_nodelay(true);
    let (Ok(from), Ok(to)) = (server.try_clone(), client.try_clone()) else { return };
    let doomed = Arc::new(AtomicBool::new(false));
    let (doom, both) = (Arc::clone(&doomed), Arc::clone(shared));
    let back = std::thread::spawn(move || {
        pump(from, to, &both, Way::ToClient, |_| !doom.load(Ordering::SeqCst));
    });
    pump(client, server, shared, Way::ToServer, |bytes| {
        if shared.is_fatal(bytes) {
            doomed.store(true, Ordering::SeqCst);
        }
        true
    });
    let _ = back.join();
}

/// A connection to a port of this machine, from `source`.
pub fn connect(target: u16, source: Ipv4Addr) -> std::io::Result<TcpStream> {
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
    shared: &Shared,
    way: Way,
    good: impl Fn(&[u8]) -> bool,
) {
    let mut buffer = vec![0; 65536];
    loop {
        let n = from.read(&mut buffer).unwrap_or(0);
        if way == Way::ToServer {
            shared.note(&buffer[..n]);
        }
        shared.pass(way);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eventually;

    /// A server that sends back what it gets.
    fn echo() -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        std::thread::spawn(move || {
            for mut client in listener.incoming().flatten() {
                std::thread::spawn(move || {
                    let mut reader = client.try_clone().expect("a clone");
                    let _ = std::io::copy(&mut reader, &mut client);
                });
            }
        });
        port
    }

    fn client(link: &Link) -> TcpStream {
        connect(link.port(), Ipv4Addr::LOCALHOST).expect("a connection")
    }

    fn reads(client: &mut TcpStream, patience: Duration) -> Option<u8> {
        client.set_read_timeout(Some(patience)).expect("set");
        let mut byte = [0];
        client.read_exact(&mut byte).ok().map(|()| byte[0])
    }

    const LONG: Duration = Duration::from_mins(1);
    const SHORT: Duration = Duration::from_millis(50);

    #[test]
    fn bytes_that_are_held_back_arrive_when_the_link_is_healed() {
        for fault in [Link::stall, Link::mute, |link: &Link| link.hold(Way::ToServer)] {
            let link = Link::to(echo());
            let mut client = client(&link);
            client.write_all(b"a").expect("sent");
            assert_eq!(reads(&mut client, LONG), Some(b'a'));
            fault(&link);
            client.write_all(b"b").expect("sent");
            assert_eq!(reads(&mut client, SHORT), None);
            link.heal();
            assert_eq!(reads(&mut client, LONG), Some(b'b'));
        }
    }

    #[test]
    fn a_lost_reply_breaks_its_connection_once() {
        let link = Link::to(echo());
        link.lose_the_reply_to(b"x");
        let mut first = client(&link);
        first.write_all(b"a").expect("sent");
        assert_eq!(reads(&mut first, LONG), Some(b'a'));
        assert!(!link.has_lost_it());
        first.write_all(b"x").expect("sent");
        assert_eq!(reads(&mut first, LONG), None, "the end");
        assert!(link.has_lost_it());
        let mut second = client(&link);
        second.write_all(b"x").expect("sent");
        assert_eq!(reads(&mut second, LONG), Some(b'x'));
    }

    #[test]
    fn a_connection_that_is_over_leaves_no_file_open() {
        let link = Link::to(echo());
        for _ in 0..3 {
            let mut client = client(&link);
            client.write_all(b"a").expect("sent");
            assert_eq!(reads(&mut client, LONG), Some(b'a'));
        }
        eventually("none is kept", || lock(&link.shared.clients).is_empty().then_some(()));
    }

    #[test]
    fn a_cut_link_has_no_open_connection_and_takes_new_ones() {
        let link = Link::to(echo());
        let mut first = client(&link);
        eventually("it is open", || (link.open() == 1).then_some(()));
        link.cut();
        assert_eq!(reads(&mut first, LONG), None);
        eventually("it is closed", || (link.open() == 0).then_some(()));
        let mut second = client(&link);
        second.write_all(b"a").expect("sent");
        assert_eq!(reads(&mut second, LONG), Some(b'a'));
    }
}
