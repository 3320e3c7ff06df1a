//! The words every floor uses: identifiers and the server flavour.

use std::fmt;

/// The id a client sees as `CONNECTION_ID()`: the server's own thread id, from its greeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId(pub u64);

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One incarnation of a proxy: a random, never reused, non-zero 63-bit number.
///
/// A process takes a new one after every self-fence, so an id is never both revoked and in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProxyId(pub u64);

impl ProxyId {
    /// A fresh random incarnation.
    pub fn random() -> Self {
        Self(rand::random_range(1..=u64::MAX >> 1))
    }
}

impl fmt::Display for ProxyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Which family of servers stands behind the proxy; they differ in names, types and errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flavour {
    /// MySQL 8.x and 9.x.
    MySql,
    /// MariaDB 10.6 and later.
    MariaDb,
}

impl Flavour {
    /// Tells the flavour from the version text of a greeting or of `VERSION()`.
    pub fn from_version(version: &str) -> Self {
        if version.to_ascii_lowercase().contains("mariadb") { Self::MariaDb } else { Self::MySql }
    }

    /// The name used in messages and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::MySql => "mysql",
            Self::MariaDb => "mariadb",
        }
    }
}
