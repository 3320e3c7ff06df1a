//! Settings of encryption, on either side.

use std::path::PathBuf;

pub use super::addresses::StoreTls;
use super::error::WrongValue;
use super::parse::choice;
use super::raw::{OneOrMore, Raw};

/// What encryption clients are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// Nothing.
    Off,
    /// TLS, to clients that want it.
    Prefer,
    /// TLS, which clients must use.
    Require,
}

/// Whether clients are asked for a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientCertificate {
    /// Clients are not asked.
    Off,
    /// Clients without a certificate get in.
    Request,
    /// Clients without a certificate are refused.
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
    /// The offer.
    pub offer: Offer,
    /// The proxy's certificate; `None`: one that it makes itself.
    pub pair: Option<Pair>,
    /// TLS 1.2 is not good enough.
    pub only_13: bool,
    /// The CA that signs clients' certificates.
    pub ca: Option<PathBuf>,
    /// Whether they are asked for one.
    pub asked: ClientCertificate,
}

/// When the connection to the server is encrypted, and what is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendMode {
    /// As the client's is.
    Match,
    /// Always, without checking the certificate.
    Required,
    /// Always, with a certificate signed by the CA.
    VerifyCa,
    /// Always, and it is for this host.
    VerifyIdentity,
    /// Never.
    Off,
}

/// TLS with the server.
#[derive(Debug, Clone)]
pub struct BackendTls {
    /// When connections to the server are encrypted, and how far the server must prove itself.
    pub mode: BackendMode,
    /// The CA that signs the server's certificate. Checked in mode match too, if given.
    pub ca: Option<PathBuf>,
    /// Clients' certificates: the proxy shows the server the one that a client has shown it.
    pub pairs: Vec<Pair>,
    /// In mode match, clients on this machine count as encrypted.
    pub local: bool,
}

impl BackendMode {
    /// Whether there is TLS for every client.
    pub fn demands(self) -> bool {
        !matches!(self, Self::Match | Self::Off)
    }

    /// The mode of the two that demands more of the server.
    fn or_stricter(self, other: Self) -> Self {
        let demands = |mode| match mode {
            Self::Match | Self::Off => 0,
            Self::Required => 1,
            Self::VerifyCa => 2,
            Self::VerifyIdentity => 3,
        };
        if demands(other) > demands(self) { other } else { self }
    }
}

impl BackendTls {
    /// What these settings demand for every client: `match` demands nothing, unless all clients have TLS.
    #[must_use]
    pub fn of_everybody(&self, clients: &ClientTls) -> Self {
        // Then the client's leg always has TLS.
        let always = clients.offer == Offer::Require || clients.asked == ClientCertificate::Require;
        let mode = match (self.mode, &self.ca) {
            (BackendMode::Match, None) if always => BackendMode::Required,
            (BackendMode::Match, Some(_)) if always => BackendMode::VerifyCa,
            // A CA that is given is asked.
            (BackendMode::Required, Some(_)) => BackendMode::VerifyCa,
            (mode, _) => mode,
        };
        Self { mode, ..self.clone() }
    }

    /// These settings, or what is demanded for the lock tables, if that is more.
    #[must_use]
    pub fn or_stricter(self, store: &StoreTls) -> Self {
        Self { mode: self.mode.or_stricter(store.mode()), ..self }
    }

    /// As it is for connections to the lock tables.
    pub fn for_store(&self) -> StoreTls {
        match (self.mode, &self.ca) {
            (BackendMode::VerifyCa, Some(ca)) => StoreTls::VerifyCa(ca.clone()),
            (BackendMode::VerifyIdentity, Some(ca)) => StoreTls::VerifyIdentity(ca.clone()),
            (BackendMode::Match | BackendMode::Off, _) => StoreTls::Off,
            _ => StoreTls::Required,
        }
    }
}

impl StoreTls {
    fn mode(&self) -> BackendMode {
        match self {
            Self::Off => BackendMode::Off,
            Self::Required => BackendMode::Required,
            Self::VerifyCa(_) => BackendMode::VerifyCa,
            Self::VerifyIdentity(_) => BackendMode::VerifyIdentity,
        }
    }
}

/// Reads that of the store.
pub(super) fn store(raw: &Raw) -> Result<StoreTls, WrongValue> {
    let ca = raw.backend_tls_ca.as_ref().filter(|file| !file.is_empty()).map(PathBuf::from);
    let words = [("off", 0), ("required", 1), ("verify-ca", 2), ("verify-identity", 3)];
    match (choice("store_tls", raw.store_tls.as_deref(), &words)?, ca) {
        (0, _) => Ok(StoreTls::Off),
        (1, _) => Ok(StoreTls::Required),
        (2, Some(ca)) => Ok(StoreTls::VerifyCa(ca)),
        (_, Some(ca)) => Ok(StoreTls::VerifyIdentity(ca)),
        (_, None) => Err(no_ca()),
    }
}

fn no_ca() -> WrongValue {
    ("backend_tls_ca", "is missing: it is needed to verify the server's certificate".to_owned())
}

/// Reads both.
pub(super) fn read(raw: &Raw) -> Result<(ClientTls, BackendTls), WrongValue> {
    let offers = [("prefer", Offer::Prefer), ("require", Offer::Require), ("off", Offer::Off)];
    let offer = choice("tls", raw.tls.as_deref(), &offers)?;
    let versions = [("1.2", false), ("1.3", true)];
    let only_13 = choice("tls_min_version", raw.tls_min_version.as_deref(), &versions)?;
    let asking = [
        ("off", ClientCertificate::Off),
        ("request", ClientCertificate::Request),
        ("require", ClientCertificate::Require),
    ];
    let asked = choice("tls_client_cert", raw.tls_client_cert.as_deref(), &asking)?;
    let modes = [
        ("match", BackendMode::Match),
        ("required", BackendMode::Required),
        ("verify-ca", BackendMode::VerifyCa),
        ("verify-identity", BackendMode::VerifyIdentity),
        ("off", BackendMode::Off),
    ];
    let mode = choice("backend_tls", raw.backend_tls.as_deref(), &modes)?;
    let given = |file: &Option<String>| file.clone().filter(|file| !file.is_empty());
    let client = ClientTls {
        offer,
        pair: pair(["tls_cert", "tls_key"], given(&raw.tls_cert), given(&raw.tls_key))?,
        only_13,
        ca: given(&raw.tls_client_ca).map(PathBuf::from),
        asked,
    };
    let backend = BackendTls {
        mode,
        ca: given(&raw.backend_tls_ca).map(PathBuf::from),
        pairs: pairs(raw.backend_tls_cert.as_ref(), raw.backend_tls_key.as_ref())?,
        local: raw.backend_tls_local.unwrap_or(false),
    };
    agree(&client, &backend).map(|()| (client, backend))
}

fn agree(client: &ClientTls, backend: &BackendTls) -> Result<(), WrongValue> {
    if client.asked != ClientCertificate::Off && client.ca.is_none() {
        let problem = "is missing: it is needed to verify clients' certificates";
        return Err(("tls_client_ca", problem.to_owned()));
    }
    if client.asked != ClientCertificate::Off && client.offer == Offer::Off {
        let problem = "asks for certificates, but with tls = \"off\" a client cannot show one";
        return Err(("tls_client_cert", problem.to_owned()));
    }
    let verifies = matches!(backend.mode, BackendMode::VerifyCa | BackendMode::VerifyIdentity);
    if verifies && backend.ca.is_none() {
        return Err(no_ca());
    }
    if !backend.pairs.is_empty() && client.asked == ClientCertificate::Off {
        let problem = "is shown to the server for clients that have shown it, but with tls_client_cert = \"off\" no client shows one";
        return Err(("backend_tls_cert", problem.to_owned()));
    }
    Ok(())
}

fn pairs(certs: Option<&OneOrMore>, keys: Option<&OneOrMore>) -> Result<Vec<Pair>, WrongValue> {
    let files = |list: Option<&OneOrMore>| list.map_or(&[][..], |list| &list.0[..]).to_vec();
    let (certs, keys) = (files(certs), files(keys));
    if certs.len() != keys.len() {
        let problem = "needs one file for each certificate in backend_tls_cert, in its order";
        return Err(("backend_tls_key", problem.to_owned()));
    }
    let both = certs.into_iter().zip(keys);
    Ok(both.map(|(cert, key)| Pair { cert: cert.into(), key: key.into() }).collect())
}

pub(super) fn pair(
    [cert_key, key_key]: [&'static str; 2],
    cert: Option<String>,
    key: Option<String>,
) -> Result<Option<Pair>, WrongValue> {
    match (cert, key) {
        (None, None) => Ok(None),
        (Some(cert), Some(key)) => Ok(Some(Pair { cert: cert.into(), key: key.into() })),
        (Some(_), None) => Err((key_key, format!("is missing, but {cert_key} is set"))),
        (None, Some(_)) => Err((cert_key, format!("is missing, but {key_key} is set"))),
    }
}
