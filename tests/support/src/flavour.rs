//! Kinds of servers.

use std::fmt;
use std::str::FromStr;

/// A family of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// MySQL.
    MySql,
    /// MariaDB.
    MariaDb,
}

impl Flavour {
    /// The name in options, file names and reports.
    pub fn name(self) -> &'static str {
        match self {
            Flavour::MySql => "mysql",
            Flavour::MariaDb => "mariadb",
        }
    }

    /// The environment variable that holds the URL of the server that tests use.
    pub fn variable(self) -> &'static str {
        match self {
            Flavour::MySql => "LOCKSTEAD_TEST_MYSQL",
            Flavour::MariaDb => "LOCKSTEAD_TEST_MARIADB",
        }
    }
}

/// A server that `dev/install.sh` fetches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// MySQL of the distribution or of its makers.
    MySql,
    /// MariaDB of the distribution.
    MariaDb,
    /// MariaDB 11.8.
    MariaDb118,
}

impl Release {
    /// All of them.
    pub const ALL: [Release; 3] = [Release::MySql, Release::MariaDb, Release::MariaDb118];

    /// The name for `dev/install.sh` and `dev/server.sh`.
    pub fn name(self) -> &'static str {
        match self {
            Release::MySql => "mysql",
            Release::MariaDb => "mariadb",
            Release::MariaDb118 => "mariadb118",
        }
    }

    /// The family it belongs to.
    pub fn flavour(self) -> Flavour {
        match self {
            Release::MySql => Flavour::MySql,
            Release::MariaDb | Release::MariaDb118 => Flavour::MariaDb,
        }
    }
}

impl From<Flavour> for Release {
    fn from(flavour: Flavour) -> Self {
        match flavour {
            Flavour::MySql => Release::MySql,
            Flavour::MariaDb => Release::MariaDb,
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Release {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|release| release.name() == name);
        found.ok_or_else(|| format!("unknown server '{name}': take mysql, mariadb or mariadb118"))
    }
}
