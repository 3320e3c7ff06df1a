//! Addresses: of servers, lock tables and listeners.

use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;

/// A host and port to connect to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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
    /// The server's certificate is signed by this CA, and is for this host.
    VerifyIdentity(PathBuf),
}

/// Where the lock tables are, and with which account. The `Debug` form hides the password.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl {
    /// Name or address of the server that connections go to.
    pub host: String,
    /// TCP port of that server.
    pub port: u16,
    /// All servers that the URL names; none, if they are those of `backend`.
    pub hosts: Vec<HostPort>,
    /// Account.
    pub user: String,
    /// Password of the account.
    pub password: String,
    /// Schema of the lock tables: letters, digits and `_`.
    pub schema: String,
    /// Whether connections there are encrypted.
    pub tls: StoreTls,
}

impl StoreUrl {
    /// Reads `mysql://user[:password]@[host[:port][,host[:port]…]]/[schema]`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let example = "give for example mysql://lockstead:secret@127.0.0.1:3306/lockstead";
        let (text, others) = one_host(text);
        let url = url::Url::parse(&text).map_err(|e| format!("is no URL ({e}); {example}"))?;
        if url.scheme() != "mysql" {
            return Err(format!("starts with {}://, not mysql://; {example}", url.scheme()));
        }
        let host =
            url.host_str().filter(|h| !h.is_empty()).ok_or(format!("names no host; {example}"))?;
        let host = host.trim_matches(['[', ']']).to_owned();
        let port = url.port().unwrap_or(PORT);
        let hosts = match others {
            OtherHosts::NoHost => Vec::new(),
            OtherHosts::These(others) => {
                let mut hosts = vec![HostPort { host: host.clone(), port }];
                for other in others {
                    let read = host_of(&other);
                    hosts
                        .push(read.ok_or(format!("names {other:?}, which is no host; {example}"))?);
                }
                hosts
            }
        };
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
            host,
            port,
            hosts,
            user: decoded(url.username())?,
            password: decoded(url.password().unwrap_or_default())?,
            schema: schema.to_owned(),
            tls: StoreTls::default(),
        })
    }

    /// These lock tables at one server.
    #[must_use]
    pub fn at(&self, server: &HostPort) -> Self {
        let HostPort { host, port } = server.clone();
        Self { host, port, hosts: vec![server.clone()], ..self.clone() }
    }
}

/// The port of a host without one.
const PORT: u16 = 3306;

/// Hosts of a URL beside the first.
enum OtherHosts {
    /// The URL has not even a first host.
    NoHost,
    /// These, as text.
    These(Vec<String>),
}

/// A URL with the first of its hosts alone, or with a stand-in where it names none.
fn one_host(text: &str) -> (String, OtherHosts) {
    let as_it_is = || (text.to_owned(), OtherHosts::These(Vec::new()));
    let Some((scheme, rest)) = text.split_once("://") else { return as_it_is() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let Some((account, hosts)) = authority.rsplit_once('@') else { return as_it_is() };
    let (first, others) = hosts.split_once(',').unwrap_or((hosts, ""));
    let with = |host: &str| format!("{scheme}://{account}@{host}{path}");
    if hosts.is_empty() {
        return (with("localhost"), OtherHosts::NoHost);
    }
    let others = others.split(',').filter(|_| hosts.contains(',')).map(str::to_owned);
    (with(first), OtherHosts::These(others.collect()))
}

fn host_of(text: &str) -> Option<HostPort> {
    let url = url::Url::parse(&format!("mysql://{text}/")).ok()?;
    let bare = url.username().is_empty() && url.password().is_none();
    let host = url.host_str().filter(|host| bare && !host.is_empty())?;
    let host = host.trim_matches(['[', ']']).to_owned();
    Some(HostPort { host, port: url.port().unwrap_or(PORT) })
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
        write!(f, "mysql://{}:***@", self.user)?;
        match self.hosts.as_slice() {
            [] | [_] => write!(f, "{}:{}", self.host, self.port)?,
            hosts => {
                let all: Vec<_> = hosts.iter().map(ToString::to_string).collect();
                f.write_str(&all.join(","))?;
            }
        }
        write!(f, "/{}", self.schema)
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
    fn a_url_names_no_host_one_or_several() {
        for (text, hosts) in [
            ("mysql://u:p@h/db", &["h:3306"][..]),
            ("mysql://u:p@h:1,k/db", &["h:1", "k:3306"]),
            ("mysql://u:p,q@h,[::1]:7,10.0.0.2/db", &["h:3306", "[::1]:7", "10.0.0.2:3306"]),
            ("mysql://u:p@/db", &[]),
        ] {
            let url = StoreUrl::parse(text).expect(text);
            let found: Vec<_> = url.hosts.iter().map(ToString::to_string).collect();
            assert_eq!(found, hosts, "{text}");
            assert_eq!((url.user.as_str(), url.schema.as_str()), ("u", "db"), "{text}");
        }
        let url = StoreUrl::parse("mysql://u:p@h:1,k/db").expect("two hosts");
        assert_eq!(format!("{url:?}"), "mysql://u:***@h:1,k:3306/db");
        assert_eq!(format!("{:?}", url.at(&url.hosts[1])), "mysql://u:***@k:3306/db");
        for text in ["mysql://u:p@h,/db", "mysql://u:p@h,k:x/db", "mysql://u:p@,k/db"] {
            let refused = StoreUrl::parse(text).expect_err(text);
            assert!(refused.contains("give for example"), "{refused}");
        }
    }

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
