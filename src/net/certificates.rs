//! What the proxy shows to clients, and what it takes from servers.

use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
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

use super::self_signed;
use super::tls::Tls;
use crate::config::tls::{Asked, BackendMode, BackendTls, ClientTls, Pair};

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read as what it should be.
    #[error("{path}: {problem}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Certificate and key, or a CA, are refused.
    #[error("{0}")]
    Refused(String),
    /// The disk is full or may not be written now: with the same settings a later start may succeed.
    #[error("{path}: {problem}")]
    Disk {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

fn in_file(path: &Path, problem: &dyn ToString) -> TlsError {
    TlsError::File { path: path.to_owned(), problem: problem.to_string() }
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
}

impl Acceptor {
    /// Reads the certificate, or makes one: in `state_dir`, if there is one.
    pub fn load(settings: &ClientTls, state_dir: Option<&Path>) -> Result<Self, TlsError> {
        Ok(Self { config: Arc::new(server_config(settings, state_dir)?) })
    }

    /// What is shown now.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }

    /// Its side of one connection.
    pub fn begin(&self) -> io::Result<Tls> {
        let connection = ServerConnection::new(self.config());
        connection.map(Tls::server).map_err(io::Error::other)
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
        (Asked::Off, _) | (_, None) => builder.with_no_client_auth(),
        (asked, Some(ca)) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(read_roots(ca)?, provider());
            let verifier = match asked {
                Asked::Require => verifier,
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

/// TLS as the server gets it.
#[derive(Debug)]
pub struct Connector {
    config: Arc<ClientConfig>,
    /// With a client's certificate, of which the proxy has the key too.
    certified: Vec<(CertificateDer<'static>, Arc<ClientConfig>)>,
}

impl Connector {
    /// Reads what is to be trusted and shown. `host` is the server's.
    pub fn load(settings: &BackendTls, host: &str) -> Result<Self, TlsError> {
        let ca = match &settings.ca {
            None => None,
            Some(ca) => Some(
                WebPkiServerVerifier::builder_with_provider(read_roots(ca)?, provider())
                    .build()
                    .map_err(|e| in_file(ca, &e))?,
            ),
        };
        let host = match settings.mode {
            BackendMode::VerifyIdentity => {
                Some(ServerName::try_from(host.to_owned()).map_err(|e| refused(&e))?)
            }
            _ => None,
        };
        let verifier = Arc::new(Trust { provider: provider(), ca, host });
        let builder = || {
            ClientConfig::builder_with_provider(provider())
                .with_safe_default_protocol_versions()
                .map_err(|e| refused(&e))
                .map(|b| b.dangerous().with_custom_certificate_verifier(verifier.clone()))
        };
        let mut certified = Vec::new();
        for pair in &settings.pairs {
            let (chain, key) = read_pair(pair)?;
            let own = chain[0].clone();
            let config = builder()?.with_client_auth_cert(chain, key);
            certified.push((own, Arc::new(config.map_err(|e| in_file(&pair.cert, &e))?)));
        }
        Ok(Self { config: Arc::new(builder()?.with_no_client_auth()), certified })
    }

    /// The proxy's side of one connection of a client's. To the server it shows what the client has
    /// shown, if that is one of those that it has: what an account demands of a certificate keeps
    /// its meaning. The server is called as the client called the proxy (SNI), or by no name.
    pub fn begin(&self, client: Option<&Tls>) -> io::Result<Tls> {
        let shown = client.and_then(Tls::peer_certificate);
        let same = |(own, _): &&(CertificateDer<'_>, _)| shown == Some(own);
        let certified = self.certified.iter().find(same).map(|(_, config)| config);
        let config = Arc::clone(certified.unwrap_or(&self.config));
        let asked =
            client.and_then(Tls::asked_for).map(|name| ServerName::try_from(name.to_owned()));
        // An address is not sent.
        let name = asked.and_then(Result::ok).unwrap_or(Ipv4Addr::UNSPECIFIED.into());
        let connection = ClientConnection::new(config, name);
        connection.map(Tls::client).map_err(io::Error::other)
    }
}

type CertificateAndKey = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn read_pair(pair: &Pair) -> Result<CertificateAndKey, TlsError> {
    let key = PrivateKeyDer::from_pem_file(&pair.key).map_err(|e| in_file(&pair.key, &e))?;
    Ok((read_certificates(&pair.cert)?, key))
}

pub(super) fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    match all {
        Ok(all) if all.is_empty() => Err(in_file(path, &"has no certificate")),
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

/// What is demanded of the server's certificate. That the server has its key is checked always.
#[derive(Debug)]
struct Trust {
    provider: Arc<CryptoProvider>,
    /// Without a CA any certificate will do, as for clients that are not told what to trust.
    ca: Option<Arc<WebPkiServerVerifier>>,
    /// The host that it must be for. Not the name that is asked for: that one is the client's.
    host: Option<ServerName<'static>>,
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        asked: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        use CertificateError::{NotValidForName, NotValidForNameContext};
        let Some(ca) = &self.ca else {
            return Ok(ServerCertVerified::assertion());
        };
        let name = self.host.as_ref().unwrap_or(asked);
        match ca.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            // The name is looked at last.
            Err(rustls::Error::InvalidCertificate(
                NotValidForName | NotValidForNameContext { .. },
            )) if self.host.is_none() => Ok(ServerCertVerified::assertion()),
            judged => judged,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
