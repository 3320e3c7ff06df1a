//! Where things are: servers, lock tables, listeners.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::parse::parse_store;
use super::tls::StoreTls;

/// A host and port to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPort {
    /// Name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// Where the lock tables are, and with which account. Its `Debug` form hides the password.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl {
    /// Name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Account.
    pub user: String,
    /// Its password.
    pub password: String,
    /// Schema of the lock tables: letters, digits and `_`.
    pub schema: String,
    /// Whether connections there are encrypted.
    pub tls: StoreTls,
}

impl StoreUrl {
    /// Another account, as `mysql://user[:password]@host[:port]/`.
    pub fn parse(text: &str) -> Result<Self, String> {
        parse_store(text)
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mysql://{}:***@{}:{}/{}", self.user, self.host, self.port, self.schema)
    }
}

/// Where clients connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// Over a network.
    Tcp(SocketAddr),
    /// On this machine, by a socket in the file system.
    Unix(PathBuf),
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}
