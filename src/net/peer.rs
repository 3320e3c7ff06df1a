//! The address of a client.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// A client's address: over a network, or on this machine by a socket in the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub Option<SocketAddr>);

impl Peer {
    /// Whether it is on this machine.
    pub fn is_local(self) -> bool {
        self.0.is_none_or(|address| address.ip().to_canonical().is_loopback())
    }

    /// The peer's host, as accounts name it.
    pub fn host(self) -> String {
        self.0.map_or_else(|| "localhost".to_owned(), |a| canonical(a).to_string())
    }
}

fn canonical(address: SocketAddr) -> IpAddr {
    address.ip().to_canonical()
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(address) => write!(f, "{}", SocketAddr::new(canonical(address), address.port())),
            None => f.write_str("localhost"),
        }
    }
}
