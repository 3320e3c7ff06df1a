//! Certificates: the proxy's own for clients, and the checks of servers'.

use std::collections::HashMap;
use std::io;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore,
    ServerConfig, ServerConnection, SignatureScheme,
};

use super::leg::Leg;
use super::self_signed::{self, CertificateAndKey};
use super::tls::Tls;
pub use super::tls_error::TlsError;
use crate::config::tls::{BackendMode, BackendTls, ClientCertificate, ClientTls, Pair};
use crate::private;

fn in_file(path: &Path, problem: &dyn ToString) -> TlsError {
    TlsError::File { path: path.to_owned(), problem: problem.to_string() }
}

fn has_none(path: &Path) -> TlsError {
    in_file(path, &"has no certificate")
}

fn refused(problem: &dyn ToString) -> TlsError {
    TlsError::Refused(problem.to_string())
}

pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// TLS as clients get it.
#[derive(Debug)]
pub struct Acceptor {
    config: Arc<ServerConfig>,
    /// TLS for database clients: a client without a certificate gets an error of the protocol, not one of TLS.
    clients: Arc<ServerConfig>,
}

impl Acceptor {
    /// Reads the certificate, or makes one: in `state_dir`, if there is one.
    pub fn load(settings: &ClientTls, state_dir: Option<&Path>) -> Result<Self, TlsError> {
        let config = Arc::new(server_config(settings, state_dir)?);
        let clients = match settings.asked {
            ClientCertificate::Require => {
                let asked = ClientTls { asked: ClientCertificate::Request, ..settings.clone() };
                Arc::new(server_config(&asked, state_dir)?)
            }
            ClientCertificate::Request | ClientCertificate::Off => Arc::clone(&config),
        };
        Ok(Self { config, clients })
    }

    /// The configuration in force.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }

    /// The server's side of one connection. A certificate that a client shows was verified; whether it has shown one,
    /// the caller must check.
    pub fn start_tls(&self) -> io::Result<Tls> {
        let connection = ServerConnection::new(Arc::clone(&self.clients));
        connection.map(Tls::new).map_err(io::Error::other)
    }
}

fn server_config(tls: &ClientTls, state_dir: Option<&Path>) -> Result<ServerConfig, TlsError> {
    let (chain, key) = match &tls.pair {
        Some(pair) => read_pair(pair)?,
        None => self_signed::pair(state_dir)?,
    };
    let both = [&rustls::version::TLS13, &rustls::version::TLS12];
    let versions = if tls.only_13 { &both[..1] } else { &both };
    let builder = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(versions)
        .map_err(|e| refused(&e))?;
    let builder = match (tls.asked, &tls.ca) {
        (ClientCertificate::Off, _) | (_, None) => builder.with_no_client_auth(),
        (asked, Some(ca)) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(read_roots(ca)?, provider());
            let verifier = match asked {
                ClientCertificate::Require => verifier,
                _ => verifier.allow_unauthenticated(),
            };
            builder.with_client_cert_verifier(verifier.build().map_err(|e| in_file(ca, &e))?)
        }
    };
    builder.with_single_cert(chain, key).map_err(|e| match &tls.pair {
        Some(pair) => in_file(&pair.cert, &format!("{e}; does the key belong to it?")),
        None => refused(&e),
    })
}

/// TLS for pages.
pub fn http_config(pair: &Pair) -> Result<ServerConfig, TlsError> {
    let (chain, key) = read_pair(pair)?;
    ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|e| refused(&e))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|e| in_file(&pair.cert, &format!("{e}; does the key belong to it?")))
}

/// Why a leg to the server is not encrypted as it must be.
#[derive(Debug, thiserror::Error)]
pub enum NoTls {
    /// The connection broke: no error can be sent to the peer any more.
    #[error("{0}")]
    Broken(#[from] io::Error),
    /// The leg is encrypted, but the peer has not proved that it is the server: no secret may be sent to it.
    #[error("{0}")]
    Untrusted(rustls::Error),
}

/// How the server's leg of a session is encrypted, as far as the server may judge a login by that.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LegTls {
    /// The leg is not encrypted.
    Off,
    /// Without a certificate of the client's.
    Nameless,
    /// With this one, as DER.
    Certified(Arc<[u8]>),
}

/// On whose behalf a leg to the server is encrypted.
#[derive(Debug, Clone, Copy)]
pub enum Behalf<'a> {
    /// On the proxy's own behalf.
    Nobody,
    /// On behalf of a client that logs in.
    Client(&'a Tls),
    /// On behalf of a session whose client has logged in before.
    Session(&'a LegTls),
}

/// TLS as the server gets it.
#[derive(Debug)]
pub struct Connector {
    trust: Trust,
    config: Arc<ClientConfig>,
    /// With a client's certificate, of which the proxy has the key too.
    certified: Vec<(CertificateDer<'static>, Arc<ClientConfig>)>,
}

impl Connector {
    /// Reads what is to be trusted and shown. `hosts` are those of the servers.
    pub fn load<'a>(
        settings: &BackendTls,
        hosts: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, TlsError> {
        let ca = match &settings.ca {
            None => None,
            Some(ca) => Some(
                WebPkiServerVerifier::builder_with_provider(read_roots(ca)?, provider())
                    .build()
                    .map_err(|e| in_file(ca, &e))?,
            ),
        };
        let named = |host: &str| {
            let name = ServerName::try_from(host.to_owned()).map_err(|e| refused(&e))?;
            Ok::<_, TlsError>((host.to_owned(), name))
        };
        let hosts = match settings.mode {
            BackendMode::VerifyIdentity => {
                Some(hosts.into_iter().map(named).collect::<Result<_, _>>()?)
            }
            _ => None,
        };
        let verifier = Arc::new(LookAtItLater(provider()));
        let builder = || {
            ClientConfig::builder_with_provider(provider())
                .with_safe_default_protocol_versions()
                .map_err(|e| refused(&e))
                .map(|b| b.dangerous().with_custom_certificate_verifier(verifier.clone()))
        };
        let mut certified = Vec::new();
        for pair in &settings.pairs {
            let (chain, key) = read_pair(pair)?;
            let own = chain.first().ok_or_else(|| has_none(&pair.cert))?.clone();
            let config = builder()?.with_client_auth_cert(chain, key);
            certified.push((own, Arc::new(config.map_err(|e| in_file(&pair.cert, &e))?)));
        }
        let config = Arc::new(builder()?.with_no_client_auth());
        Ok(Self { trust: Trust { ca, hosts }, config, certified })
    }

    /// Encrypts the leg to the server, and looks at the server's certificate. `host` is the one that
    /// was connected to.
    pub async fn encrypt(
        &self,
        server: &mut Leg,
        behalf: Behalf<'_>,
        host: &str,
    ) -> Result<(), NoTls> {
        server.encrypt(self.start_tls(behalf)?).await?;
        let shown = server.tls().map(Tls::peer_certificates).unwrap_or_default();
        self.trust.verify(shown, host).map_err(NoTls::Untrusted)
    }

    /// How a leg is encrypted on behalf of this client, as far as the server may judge a login by that.
    pub fn of_client(&self, client: Option<&Tls>) -> LegTls {
        match client.and_then(Tls::peer_certificate) {
            Some(shown) if self.certified(shown).is_some() => LegTls::Certified(shown[..].into()),
            _ => LegTls::Nameless,
        }
    }

    fn certified(&self, shown: &[u8]) -> Option<&Arc<ClientConfig>> {
        let same = |(own, _): &&(CertificateDer<'_>, _)| own[..] == *shown;
        self.certified.iter().find(same).map(|(_, config)| config)
    }

    /// The proxy's side of one connection. To the server it shows what the client has shown, if that is
    /// one of those that it has: what an account demands of a certificate keeps its meaning. The server
    /// is called as the client called the proxy (SNI), or by no name.
    fn start_tls(&self, behalf: Behalf<'_>) -> io::Result<Tls> {
        let (config, asked) = match behalf {
            Behalf::Client(client) => {
                let shown = client.peer_certificate();
                (shown.and_then(|shown| self.certified(shown)), client.asked_for())
            }
            Behalf::Session(LegTls::Certified(shown)) => {
                let gone =
                    || io::Error::other("backend_tls_cert has the client's certificate no more");
                (Some(self.certified(shown).ok_or_else(gone)?), None)
            }
            Behalf::Nobody | Behalf::Session(_) => (None, None),
        };
        let config = Arc::clone(config.unwrap_or(&self.config));
        let asked = asked.map(|name| ServerName::try_from(name.to_owned()));
        // An address is not sent.
        let name = asked.and_then(Result::ok).unwrap_or(Ipv4Addr::UNSPECIFIED.into());
        let connection = ClientConnection::new(config, name);
        connection.map(Tls::new).map_err(io::Error::other)
    }
}

fn read_pair(pair: &Pair) -> Result<CertificateAndKey, TlsError> {
    let key = PrivateKeyDer::from_pem_file(&pair.key).map_err(|e| in_file(&pair.key, &e))?;
    if let Some(warning) = std::fs::metadata(&pair.key).ok().as_ref().and_then(private::readable) {
        tracing::warn!(path = %pair.key.display(), "the key of a certificate: {warning}");
    }
    Ok((read_certificates(&pair.cert)?, key))
}

pub(super) fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    match all {
        Ok(all) if all.is_empty() => Err(has_none(path)),
        Ok(all) => Ok(all),
        Err(e) => Err(in_file(path, &e)),
    }
}

fn read_roots(path: &Path) -> Result<Arc<RootCertStore>, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in read_certificates(path)? {
        roots.add(certificate).map_err(|e| in_file(path, &e))?;
    }
    Ok(Arc::new(roots))
}

/// The checks of the server's certificate.
#[derive(Debug)]
struct Trust {
    /// Without a CA any certificate is accepted, as by clients without a CA.
    ca: Option<Arc<WebPkiServerVerifier>>,
    /// The hosts, and the names that certificates must be for. Not the name that is asked for: that one is the client's.
    hosts: Option<HashMap<String, ServerName<'static>>>,
}

impl Trust {
    fn verify(&self, shown: &[CertificateDer<'_>], host: &str) -> Result<(), rustls::Error> {
        use CertificateError::{NotValidForName, NotValidForNameContext};
        let Some(ca) = &self.ca else {
            return Ok(());
        };
        let Some((own, intermediates)) = shown.split_first() else {
            return Err(rustls::Error::NoCertificatesPresented);
        };
        // A CA alone vouches for any name: which one is looked at then does not matter.
        let any = Ipv4Addr::UNSPECIFIED.into();
        let name = match &self.hosts {
            Some(hosts) => hosts.get(host).ok_or(NotValidForName)?,
            None => &any,
        };
        match ca.verify_server_cert(own, intermediates, name, &[], UnixTime::now()) {
            // The name is looked at last.
            Err(rustls::Error::InvalidCertificate(
                NotValidForName | NotValidForNameContext { .. },
            )) if self.hosts.is_none() => Ok(()),
            judged => judged.map(|_| ()),
        }
    }
}

/// Lets the exchange of keys come to its end: one that breaks off counts as a failed handshake at
/// the server, which blocks the proxy's host after some. [`Connector::encrypt`] looks at the
/// certificate then. That the peer has its key is checked here, and always.
#[derive(Debug)]
struct LookAtItLater(Arc<CryptoProvider>);

impl ServerCertVerifier for LookAtItLater {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _asked: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
