//! The network between one proxy and the server: each direction can be cut, or made slow.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    ToServer,
    ToProxy,
}

/// What becomes of bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Leg {
    cut: bool,
    delay: Duration,
}

#[derive(Debug, Default)]
struct Legs {
    legs: Mutex<[Leg; 2]>,
    changed: Condvar,
}

impl Legs {
    fn lock(&self) -> MutexGuard<'_, [Leg; 2]> {
        self.legs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when bytes may pass; a cut holds them back, as resent packets would come then.
    fn pass(&self, way: Way) {
        let mut legs = self.lock();
        let delay = legs[way as usize].delay;
        if !delay.is_zero() {
            drop(legs);
            std::thread::park_timeout(delay);
            legs = self.lock();
        }
        while legs[way as usize].cut {
            legs = self.changed.wait(legs).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Passes bytes on from a port of its own as long as the process lives.
pub(crate) struct Relay {
    pub(crate) port: u16,
    legs: Arc<Legs>,
}

impl Relay {
    pub(crate) fn start(target: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let legs = Arc::new(Legs::default());
        let shared = Arc::clone(&legs);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let legs = Arc::clone(&shared);
                std::thread::spawn(move || connect(client, target, &legs));
            }
        });
        Self { port, legs }
    }

    pub(crate) fn cut(&self, way: Way) {
        self.legs.lock()[way as usize].cut = true;
    }

    pub(crate) fn delay(&self, way: Way, delay: Duration) {
        self.legs.lock()[way as usize].delay = delay;
    }

    pub(crate) fn heal(&self) {
        *self.legs.lock() = Default::default();
        self.legs.changed.notify_all();
    }
}

fn connect(client: TcpStream, target: u16, legs: &Arc<Legs>) {
    legs.pass(Way::ToServer);
    legs.pass(Way::ToProxy);
    let Ok(server) = TcpStream::connect(("127.0.0.1", target)) else { return };
    for stream in [&client, &server] {
        let _ = stream.set_nodelay(true);
    }
    let (Ok(from), Ok(to)) = (server.try_clone(), client.try_clone()) else { return };
    let shared = Arc::clone(legs);
    let back = std::thread::spawn(move || pump(from, to, &shared, Way::ToProxy));
    pump(client, server, legs, Way::ToServer);
    let _ = back.join();
}

fn pump(mut from: TcpStream, mut to: TcpStream, legs: &Legs, way: Way) {
    let mut buffer = vec![0; 16_384];
    loop {
        let n = from.read(&mut buffer).unwrap_or(0);
        legs.pass(way);
        if n == 0 || to.write_all(&buffer[..n]).is_err() {
            let _ = to.shutdown(Shutdown::Write);
            let _ = from.shutdown(Shutdown::Read);
            return;
        }
    }
}
