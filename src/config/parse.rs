//! Values of keys, read from text.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use ipnet::IpNet;

use super::addresses::{HostPort, Listen};
use super::error::WrongValue;

/// Where clients connect by default.
pub(super) const LISTEN: &str = "127.0.0.1:6033";

pub(super) fn state_dir(text: Option<&str>, place: &str) -> Option<PathBuf> {
    match text.unwrap_or("auto") {
        "off" => None,
        "auto" => default_state_dir(place),
        path => Some(PathBuf::from(path)),
    }
}

/// A directory for each address or cluster in the state folder of the service or user, if there is one.
fn default_state_dir(place: &str) -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let base = folder("STATE_DIRECTORY")
        .or_else(|| Some(folder("XDG_STATE_HOME")?.join("lockstead")))
        .or_else(|| Some(folder("HOME")?.join(".local/state/lockstead")))?;
    Some(base.join(place.trim_start_matches("unix:/").replace([':', '[', ']', '/'], "_")))
}

pub(super) fn parse_host_port(text: &str) -> Option<HostPort> {
    let (host, port) = text.rsplit_once(':')?;
    let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    let port = port.parse().ok().filter(|p| *p != 0)?;
    (!host.is_empty()).then(|| HostPort { host: host.to_owned(), port })
}

/// The value that a key chooses by a word; the first one if the key is not given.
pub(super) fn choice<T: Copy>(
    key: &'static str,
    given: Option<&str>,
    words: &[(&str, T)],
) -> Result<T, WrongValue> {
    let wanted = given.unwrap_or(words[0].0);
    words.iter().find(|(word, _)| *word == wanted).map(|(_, value)| *value).ok_or_else(|| {
        let all: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        (key, format!("{wanted:?} is none of {}", all.join(", ")))
    })
}

/// An address and port, or a socket's path.
pub(super) fn parse_listen(text: &str) -> Result<Listen, String> {
    if let Some(path) = text.strip_prefix("unix:") {
        let absolute = path.starts_with('/');
        return absolute.then(|| Listen::Unix(PathBuf::from(path))).ok_or_else(|| {
            format!(
                "{text:?} names no absolute path; give for example unix:/run/lockstead/mysql.sock"
            )
        });
    }
    text.parse::<SocketAddr>().map(Listen::Tcp).map_err(|_| {
        format!("{text:?} is no address and port; give for example 127.0.0.1:6033 or [::1]:6033")
    })
}

/// A network, or one address.
pub(super) fn parse_network(text: &str) -> Result<IpNet, String> {
    let network = text.parse::<IpNet>().ok();
    network.or_else(|| text.parse::<IpAddr>().map(IpNet::from).ok()).ok_or_else(|| {
        format!("{text:?} is no network; give for example 10.0.0.0/8, fd00::/8 or 10.1.2.3")
    })
}
