//! What the proxy shows to clients, and what it takes from servers.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
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
}

fn in_file(path: &Path, problem: &dyn ToString) -> TlsError {
    TlsError::File { path: path.to_owned(), problem: problem.to_string() }
}

fn refused(problem: &dyn ToString) -> TlsError {
    TlsError::Refused(problem.to_string())
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// TLS as clients get it.
#[derive(Debug)]
pub struct Acceptor {
    settings: ClientTls,
    /// Where a certificate of the proxy's own is kept.
    state_dir: Option<PathBuf>,
    config: ArcSwap<ServerConfig>,
}

impl Acceptor {
    /// Reads the certificate, or makes one.
    pub fn load(settings: &ClientTls, state_dir: Option<&Path>) -> Result<Self, TlsError> {
        let config = server_config(settings, state_dir)?;
        let state_dir = state_dir.map(Path::to_owned);
        Ok(Self { settings: settings.clone(), state_dir, config: ArcSwap::from_pointee(config) })
    }

    /// Reads it again; connections that are there keep the old one. At an error it stays.
    pub fn reload(&self) -> Result<(), TlsError> {
        let config = server_config(&self.settings, self.state_dir.as_deref())?;
        self.config.store(Arc::new(config));
        Ok(())
    }

    /// Its side of one connection.
    pub fn begin(&self) -> io::Result<Tls> {
        let connection = ServerConnection::new(self.config.load_full());
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

/// TLS as the server gets it.
#[derive(Debug)]
pub struct Connector {
    config: Arc<ClientConfig>,
    /// With a client's certificate, of which the proxy has the key too.
    certified: Vec<(CertificateDer<'static>, Arc<ClientConfig>)>,
    name: ServerName<'static>,
}

impl Connector {
    /// Reads what is to be trusted and shown. `host` is the server's.
    pub fn load(settings: &BackendTls, host: &str) -> Result<Self, TlsError> {
        let verifier: Arc<dyn ServerCertVerifier> = match &settings.ca {
            None => Arc::new(Trusting(provider())),
            Some(ca) => {
                let inner =
                    WebPkiServerVerifier::builder_with_provider(read_roots(ca)?, provider())
                        .build()
                        .map_err(|e| in_file(ca, &e))?;
                if settings.mode == BackendMode::VerifyIdentity {
                    inner
                } else {
                    Arc::new(AnyName(inner))
                }
            }
        };
        let builder = || {
            ClientConfig::builder_with_provider(provider())
                .with_safe_default_protocol_versions()
                .map_err(|e| refused(&e))
                .map(|b| b.dangerous().with_custom_certificate_verifier(Arc::clone(&verifier)))
        };
        let mut certified = Vec::new();
        for pair in &settings.pairs {
            let (chain, key) = read_pair(pair)?;
            let own = chain[0].clone();
            let config = builder()?.with_client_auth_cert(chain, key);
            certified.push((own, Arc::new(config.map_err(|e| in_file(&pair.cert, &e))?)));
        }
        let name = ServerName::try_from(host.to_owned()).map_err(|e| refused(&e))?;
        Ok(Self { config: Arc::new(builder()?.with_no_client_auth()), certified, name })
    }

    /// The proxy's side of one connection. To the server it shows what the client has shown, if
    /// that is one of those that it has: what an account demands of a certificate keeps its meaning.
    pub fn begin(&self, shown: Option<&CertificateDer<'_>>) -> io::Result<Tls> {
        let same = |(own, _): &&(CertificateDer<'_>, _)| shown == Some(own);
        let certified = self.certified.iter().find(same).map(|(_, config)| config);
        let config = Arc::clone(certified.unwrap_or(&self.config));
        let connection = ClientConnection::new(config, self.name.clone());
        connection.map(Tls::client).map_err(io::Error::other)
    }
}

type CertificateAndKey = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn read_pair(pair: &Pair) -> Result<CertificateAndKey, TlsError> {
    let key = PrivateKeyDer::from_pem_file(&pair.key).map_err(|e| in_file(&pair.key, &e))?;
    Ok((read_certificates(&pair.cert)?, key))
}

fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
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

/// Takes any certificate, as clients do that are not told what to trust. That the server has its
/// key is checked.
#[derive(Debug)]
struct Trusting(Arc<CryptoProvider>);

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
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

/// Takes a certificate of the CA's for any host.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        use CertificateError::{NotValidForName, NotValidForNameContext};
        match self.0.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            // The name is looked at last.
            Err(rustls::Error::InvalidCertificate(
                NotValidForName | NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            judged => judged,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
