//! The words every floor uses: identifiers and the server flavour.

use std::fmt;

/// A session's own id, which its client was told and sees as `CONNECTION_ID()`. Lock rows name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId(pub u64);

impl ConnectionId {
    /// The first id that a proxy makes for a session which has no server's id: above those of servers.
    pub const FIRST_MADE: u64 = 1 << 30;

    /// Whether a proxy has made it, as far as it tells. A server that has run for very long may come to such ids.
    pub fn is_made(self) -> bool {
        self.0 >= Self::FIRST_MADE
    }

    /// The server's connection of a session that has one from its login to its end: its id is that connection's. If
    /// only the connection's tag tells which it is, the id stands for it.
    pub fn of_one_backend(self) -> BackendId {
        BackendId(self.0)
    }
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The server's own id of a connection to it: its process list shows it, and KILL takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BackendId(pub u64);

impl BackendId {
    /// The id of a session that has this connection from its login to its end.
    pub fn as_session(self) -> ConnectionId {
        ConnectionId(self.0)
    }
}

impl fmt::Display for BackendId {
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

    /// A fresh random incarnation whose slot none of `others` has, unless they have all.
    pub fn random_beside(others: impl IntoIterator<Item = Self>) -> Self {
        let mut free: Vec<bool> = vec![true; usize::from(SLOTS)];
        for other in others {
            if let Some(slot) = free.get_mut(usize::from(other.slot())) {
                *slot = false;
            }
        }
        let any = free.contains(&true);
        loop {
            let id = Self::random();
            if !any || free.get(usize::from(id.slot())) == Some(&true) {
                return id;
            }
        }
    }

    /// The incarnation's part in the ids of sessions that it makes: 10 bits.
    pub fn slot(self) -> u16 {
        u16::try_from(self.0 % u64::from(SLOTS)).unwrap_or_default()
    }
}

/// Slots that there are.
const SLOTS: u16 = 1 << 10;

impl fmt::Display for ProxyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The family of the server behind the proxy: they differ in names, types and errors.
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

    /// The oldest version whose statements the lock engine can use: its number and its name.
    pub fn oldest(self) -> (u32, &'static str) {
        match self {
            // Rows of VALUES in a FROM clause.
            Self::MySql => (80_019, "MySQL 8.0.19"),
            // The oldest that is still maintained.
            Self::MariaDb => (100_600, "MariaDB 10.6"),
        }
    }

    /// The name used in messages and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::MySql => "mysql",
            Self::MariaDb => "mariadb",
        }
    }
}

/// What the proxy keeps of passwords that logins show it, to open more connections for their accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LearnPasswords {
    /// The passwords themselves: connections can be opened even after a server's restart.
    Clear,
    /// Nothing.
    Off,
}

impl LearnPasswords {
    /// Whether anything is kept.
    pub fn learns(self) -> bool {
        self != Self::Off
    }
}

/// A version text as a number: 90704 for `9.7.4`, 101119 for `5.5.5-10.11.19-MariaDB`.
pub fn version_number(text: &str) -> u32 {
    // MariaDB's prefix for clients that know no version above 5.
    let text = text.strip_prefix("5.5.5-").unwrap_or(text);
    let mut parts = text.split(|c: char| !c.is_ascii_digit()).map(|p| p.parse().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0u32).min(99);
    next() * 10_000 + next() * 100 + next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incarnation_takes_the_slot_that_is_left() {
        let others =
            |left: u64| (0..1024).filter(move |slot| *slot != left).map(|n| ProxyId(n | 7 << 20));
        for left in [0, 5, 1023] {
            let id = ProxyId::random_beside(others(left));
            assert_eq!(u64::from(id.slot()), left);
        }
        let all = (0..1024).map(ProxyId);
        assert_ne!(ProxyId::random_beside(all), ProxyId(0), "there is none left");
    }

    #[test]
    fn versions_compare_as_numbers() {
        assert_eq!(version_number("9.7.4-2"), 90_704);
        assert_eq!(version_number("5.5.5-10.11.19-MariaDB-log"), 101_119);
        for (version, old) in [("8.0.18", true), ("8.0.19", false), ("5.7.44-log", true)] {
            assert_eq!(version_number(version) < Flavour::MySql.oldest().0, old, "{version}");
        }
        for (version, old) in [("10.5.29-MariaDB", true), ("11.4.2-MariaDB", false)] {
            assert_eq!(version_number(version) < Flavour::MariaDb.oldest().0, old, "{version}");
        }
    }
}
