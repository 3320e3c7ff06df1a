//! Addresses: of servers, lock tables and listeners.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

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
        let decode = |s: &str| percent_decode(s).ok_or(format!("has a broken %-escape; {example}"));
        Ok(Self {
            host: host.trim_matches(['[', ']']).to_owned(),
            port: url.port().unwrap_or(3306),
            user: decode(url.username())?,
            password: decode(url.password().unwrap_or_default())?,
            schema: schema.to_owned(),
            tls: StoreTls::default(),
        })
    }
}

fn percent_decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        if b == b'%' {
            let hex = [bytes.next()?, bytes.next()?];
            out.extend(hex::decode(hex).ok()?);
        } else {
            out.push(b);
        }
    }
    String::from_utf8(out).ok()
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
