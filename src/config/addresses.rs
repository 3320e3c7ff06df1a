//! Addresses: of servers, lock tables and listeners.

use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;

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

/// TLS of the proxy's own connections to the lock tables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StoreTls {
    /// None.
    #[default]
    Off,
    /// The server's certificate is not checked.
    Required,
    /// The server's certificate is signed by this CA.
    VerifyCa(PathBuf),
    /// And it is for this host.
    VerifyIdentity(PathBuf),
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
    /// Reads `mysql://user[:password]@host[:port]/[schema]`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let example = "give for example mysql://lockstead:secret@127.0.0.1:3306/lockstead";
        let url = url::Url::parse(text).map_err(|e| format!("is no URL ({e}); {example}"))?;
        if url.scheme() != "mysql" {
            return Err(format!("starts with {}://, not mysql://; {example}", url.scheme()));
        }
        let host =
            url.host_str().filter(|h| !h.is_empty()).ok_or(format!("names no host; {example}"))?;
        let schema = match url.path().trim_matches('/') {
            "" => "lockstead",
            path => path,
        };
        let valid =
            schema.len() <= 64 && schema.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if !valid {
            // Not the name: it is part of the password where that has a bare slash.
            return Err(format!("names a schema of other than letters, digits and _; {example}"));
        }
        if url.username().is_empty() {
            return Err(format!("names no user; {example}"));
        }
        let decoded = |s: &str| decode(s).ok_or(format!("has a broken %-escape; {example}"));
        Ok(Self {
            host: host.trim_matches(['[', ']']).to_owned(),
            port: url.port().unwrap_or(3306),
            user: decoded(url.username())?,
            password: decoded(url.password().unwrap_or_default())?,
            schema: schema.to_owned(),
            tls: StoreTls::default(),
        })
    }
}

/// The text with its escapes decoded. `None`: one is broken, which the crate would leave as it is.
fn decode(text: &str) -> Option<String> {
    let whole = |rest: &str| rest.get(..2).is_some_and(|two| hex::decode(two).is_ok());
    if !text.split('%').skip(1).all(whole) {
        return None;
    }
    percent_decode_str(text).decode_utf8().ok().map(Cow::into_owned)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escape_is_decoded_and_a_broken_one_is_refused() {
        for (text, expected) in [
            ("s%40fe", Some("s@fe")),
            ("%c3%A4", Some("\u{e4}")),
            ("10%25", Some("10%")),
            ("10%", None),
            ("10%2", None),
            ("10%zz", None),
            ("%+1", None),
            ("%ff", None),
        ] {
            assert_eq!(decode(text).as_deref(), expected, "{text}");
        }
        let refused = StoreUrl::parse("mysql://u:10%zz@h/db").expect_err("a broken escape");
        assert!(refused.contains("%-escape") && !refused.contains("10%zz"), "{refused}");
    }
}
