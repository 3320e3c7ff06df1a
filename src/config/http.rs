//! Settings of the windows over HTTP.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::error::WrongValue;
use super::parse::choice;
use super::raw::Raw;
use super::tls::{Pair, pair};

/// Where metrics, probes and perhaps the page are served, and to whom.
#[derive(Debug, Clone)]
pub struct Http {
    /// The address to listen on.
    pub address: SocketAddr,
    /// The status page and the API are served, too.
    pub page: bool,
    /// A file with what is asked for there.
    pub token: Option<PathBuf>,
    /// Certificate and key: everything is encrypted.
    pub tls: Option<Pair>,
}

impl Http {
    /// No other machine reaches it.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.address.ip().to_canonical().is_loopback()
    }
}

/// If other machines can reach the page, a token and TLS are required.
pub(super) fn read(raw: &Raw) -> Result<Option<Http>, WrongValue> {
    let text = raw.http.as_deref().unwrap_or("127.0.0.1:6080");
    if text == "off" {
        return Ok(None);
    }
    let address: SocketAddr = text.parse().map_err(|_| {
        (
            "http",
            format!("{text:?} is no address and port; give for example 127.0.0.1:6080, or off"),
        )
    })?;
    let given = |file: &Option<String>| file.clone().filter(|file| !file.is_empty());
    let token = given(&raw.http_token_file).map(PathBuf::from);
    let keys = ["http_tls_cert", "http_tls_key"];
    let tls = pair(keys, given(&raw.http_tls_cert), given(&raw.http_tls_key))?;
    let local = address.ip().to_canonical().is_loopback();
    let safe = local || (token.is_some() && tls.is_some());
    let words = [("auto", None), ("on", Some(true)), ("off", Some(false))];
    let page = choice("http_page", raw.http_page.as_deref(), &words)?;
    if page == Some(true) && !safe {
        let problem = format!(
            "is on, and {address} can be reached from other machines: set http_token_file, \
             http_tls_cert and http_tls_key, or http_page = \"off\", which still serves metrics and probes"
        );
        return Err(("http_page", problem));
    }
    Ok(Some(Http { address, page: page.unwrap_or(safe), token, tls }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_needs_this_machine_or_the_token() {
        let page = |http: &str, page: &str, guarded: bool| {
            let given = |file: &str| guarded.then(|| file.to_owned());
            let raw = Raw {
                http: Some(http.to_owned()),
                http_page: Some(page.to_owned()),
                http_token_file: given("/t"),
                http_tls_cert: given("/c"),
                http_tls_key: given("/k"),
                ..Raw::default()
            };
            read(&raw).map(|http| http.map(|http| http.page)).map_err(|(key, _)| key)
        };
        for (http, asked, guarded, expected) in [
            ("127.0.0.1:1", "auto", false, Ok(Some(true))),
            ("[::1]:1", "auto", false, Ok(Some(true))),
            ("127.0.0.1:1", "off", false, Ok(Some(false))),
            ("0.0.0.0:1", "auto", false, Ok(Some(false))),
            ("0.0.0.0:1", "on", false, Err("http_page")),
            ("[::]:1", "on", false, Err("http_page")),
            ("10.0.0.1:1", "auto", true, Ok(Some(true))),
            ("10.0.0.1:1", "on", true, Ok(Some(true))),
            ("10.0.0.1:1", "maybe", true, Err("http_page")),
            ("off", "on", false, Ok(None)),
            ("here", "on", false, Err("http")),
        ] {
            assert_eq!(page(http, asked, guarded), expected, "{http} {asked} {guarded}");
        }
    }
}
