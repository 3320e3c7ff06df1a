//! Values of keys: from text to what they mean.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use super::tls::StoreTls;
use super::{HostPort, Listen, StoreUrl};

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

/// A number and its unit: `500ms`, `30s`, `2m`, `1h`.
pub(super) fn parse_duration(text: &str) -> Option<Duration> {
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(split);
    let number: u32 = number.parse().ok()?;
    let unit = match unit {
        "ms" => Duration::from_millis(1),
        "s" => Duration::from_secs(1),
        "m" => Duration::from_mins(1),
        "h" => Duration::from_hours(1),
        _ => return None,
    };
    unit.checked_mul(number)
}

/// One of several words; the first is the default.
pub(super) fn choice<T: Copy>(given: Option<&str>, words: &[(&str, T)]) -> Result<T, String> {
    let wanted = given.unwrap_or(words[0].0);
    words.iter().find(|(word, _)| *word == wanted).map(|(_, value)| *value).ok_or_else(|| {
        let all: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        format!("{wanted:?} is none of {}", all.join(", "))
    })
}

pub(super) fn parse_store(text: &str) -> Result<StoreUrl, String> {
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
    Ok(StoreUrl {
        host: host.trim_matches(['[', ']']).to_owned(),
        port: url.port().unwrap_or(3306),
        user: decode(url.username())?,
        password: decode(url.password().unwrap_or_default())?,
        schema: schema.to_owned(),
        tls: StoreTls::default(),
    })
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
