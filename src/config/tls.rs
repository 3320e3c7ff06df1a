//! Settings of encryption, on either side.

use std::path::PathBuf;

use super::choice;
use super::raw::Raw;

/// What clients are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// Nothing.
    Off,
    /// TLS, to those who want it.
    Prefer,
    /// TLS, without which nobody gets in.
    Require,
}

/// Whether clients are asked for a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// No.
    Off,
    /// Those that have none get in.
    Request,
    /// Those that have none do not.
    Require,
}

/// A certificate with those that vouch for it, and its key: PEM files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The certificates.
    pub cert: PathBuf,
    /// The key.
    pub key: PathBuf,
}

/// TLS with clients.
#[derive(Debug, Clone)]
pub struct ClientTls {
    /// What they are offered.
    pub offer: Offer,
    /// What the proxy shows; `None`: one that it makes itself.
    pub pair: Option<Pair>,
    /// TLS 1.2 is not good enough.
    pub only_13: bool,
    /// Who signs clients' certificates.
    pub ca: Option<PathBuf>,
    /// Whether they are asked for one.
    pub asked: Asked,
}

/// When the connection to the server is encrypted, and what is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendMode {
    /// As the client's is.
    Match,
    /// Always; whoever answers.
    Required,
    /// Always; who answers has a certificate signed by the CA.
    VerifyCa,
    /// Always, and it is for this host.
    VerifyIdentity,
    /// Never.
    Off,
}

/// TLS with the server.
#[derive(Debug, Clone)]
pub struct BackendTls {
    /// When.
    pub mode: BackendMode,
    /// Who signs the server's certificate. Checked in mode match too, if given.
    pub ca: Option<PathBuf>,
    /// What the proxy shows on behalf of clients that have shown a certificate.
    pub pair: Option<Pair>,
    /// In mode match, clients on this machine count as encrypted.
    pub local: bool,
}

/// A key and what is wrong with it.
type Wrong = (&'static str, String);

/// Reads both.
pub(super) fn read(raw: &Raw) -> Result<(ClientTls, BackendTls), Wrong> {
    let offers = [("prefer", Offer::Prefer), ("require", Offer::Require), ("off", Offer::Off)];
    let offer = choice(raw.tls.as_deref(), &offers).map_err(|e| ("tls", e))?;
    let versions = [("1.2", false), ("1.3", true)];
    let only_13 =
        choice(raw.tls_min_version.as_deref(), &versions).map_err(|e| ("tls_min_version", e))?;
    let asking = [("off", Asked::Off), ("request", Asked::Request), ("require", Asked::Require)];
    let asked =
        choice(raw.tls_client_cert.as_deref(), &asking).map_err(|e| ("tls_client_cert", e))?;
    let modes = [
        ("match", BackendMode::Match),
        ("required", BackendMode::Required),
        ("verify-ca", BackendMode::VerifyCa),
        ("verify-identity", BackendMode::VerifyIdentity),
        ("off", BackendMode::Off),
    ];
    let mode = choice(raw.backend_tls.as_deref(), &modes).map_err(|e| ("backend_tls", e))?;
    let client = ClientTls {
        offer,
        pair: pair(["tls_cert", "tls_key"], raw.tls_cert.as_ref(), raw.tls_key.as_ref())?,
        only_13,
        ca: raw.tls_client_ca.as_ref().map(PathBuf::from),
        asked,
    };
    let backend = BackendTls {
        mode,
        ca: raw.backend_tls_ca.as_ref().map(PathBuf::from),
        pair: pair(
            ["backend_tls_cert", "backend_tls_key"],
            raw.backend_tls_cert.as_ref(),
            raw.backend_tls_key.as_ref(),
        )?,
        local: raw.backend_tls_local.unwrap_or(false),
    };
    agree(&client, &backend).map(|()| (client, backend))
}

fn agree(client: &ClientTls, backend: &BackendTls) -> Result<(), Wrong> {
    if client.asked != Asked::Off && client.ca.is_none() {
        let problem = "is missing: the certificates of clients are checked by it";
        return Err(("tls_client_ca", problem.to_owned()));
    }
    if client.asked != Asked::Off && client.offer == Offer::Off {
        let problem = "asks for certificates where tls = \"off\" leaves no way to show one";
        return Err(("tls_client_cert", problem.to_owned()));
    }
    let verifies = matches!(backend.mode, BackendMode::VerifyCa | BackendMode::VerifyIdentity);
    if verifies && backend.ca.is_none() {
        let problem = "is missing: the server's certificate is checked by it";
        return Err(("backend_tls_ca", problem.to_owned()));
    }
    // Else anybody would pass an account that demands a certificate, by the proxy's.
    if backend.pair.is_some() && (client.asked != Asked::Require || client.offer != Offer::Require)
    {
        let problem = "is shown to the server on behalf of clients, so it needs tls = \"require\" and tls_client_cert = \"require\"";
        return Err(("backend_tls_cert", problem.to_owned()));
    }
    Ok(())
}

fn pair(
    [cert_key, key_key]: [&'static str; 2],
    cert: Option<&String>,
    key: Option<&String>,
) -> Result<Option<Pair>, Wrong> {
    match (cert, key) {
        (None, None) => Ok(None),
        (Some(cert), Some(key)) => Ok(Some(Pair { cert: cert.into(), key: key.into() })),
        (Some(_), None) => Err((key_key, format!("is missing: {cert_key} is given"))),
        (None, Some(_)) => Err((cert_key, format!("is missing: {key_key} is given"))),
    }
}
