//! The proxy's own logins on connections to its clients' server. Such a login ends a connection that no client needs,
//! so that it does not count as an error there, and shows whether clients can log in.
//!
//! The connection of such a login is protected as the sessions' are, and as the connections to the lock tables are
//! where that is more. A peer that is not proved to be the server learns neither an account's name nor anything that
//! was computed from a password. No password leaves by a connection without TLS, not even under a key of the peer's.

use std::io;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use tokio::time::timeout;

use super::greeted::Greeted;
use crate::config::tls::{BackendMode, BackendTls};
use crate::config::{Config, StoreUrl};
use crate::net::certificates::{Behalf, Connector, NoTls, TlsError};
use crate::net::leg::Leg;
use crate::net::tls::Tls;
use crate::protocol::auth::{self, NOBODY};
use crate::protocol::capabilities::Capabilities;
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::handshake::{Greeting, LOGIN_HEAD};
use crate::protocol::host_block_guard;

/// How long such a login may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// An account for the proxy's own logins.
#[derive(Clone)]
pub struct Credentials {
    /// User.
    pub user: String,
    /// Password; `None`: a made-up account.
    pub password: Option<String>,
}

impl Credentials {
    /// The store account.
    pub fn of_store(store: &StoreUrl) -> Self {
        Self { user: store.user.clone(), password: Some(store.password.clone()) }
    }

    /// An account that gives nothing away. A login that is refused is not counted as a failed handshake.
    pub fn nobody() -> Self {
        Self { user: NOBODY.to_owned(), password: None }
    }
}

/// How the proxy's own logins are protected.
#[derive(Debug)]
pub struct Guard {
    connector: Option<Connector>,
    /// The mode that is demanded.
    pub mode: BackendMode,
    /// An obstacle to these logins is an obstacle to every client.
    pub(super) of_everybody: bool,
}

impl Guard {
    /// Reads the certificates to trust.
    pub fn load(config: &Config) -> Result<Self, TlsError> {
        let everybody = config.backend_tls.of_everybody(&config.tls);
        let store = config.store.as_ref().map(|store| store.tls.clone()).unwrap_or_default();
        let own = everybody.clone().or_stricter(&store);
        Self::read(&own, own.mode == everybody.mode, config)
    }

    /// The protection of clients with TLS, if the server offers it.
    pub fn of_clients(config: &Config, offered: bool) -> Result<Self, TlsError> {
        let settings = &config.backend_tls;
        let mode = match (settings.mode, &settings.ca) {
            (BackendMode::Match, Some(_)) if offered => BackendMode::VerifyCa,
            (BackendMode::Match, None) if offered => BackendMode::Required,
            _ => settings.of_everybody(&config.tls).mode,
        };
        Self::read(&BackendTls { mode, ..settings.clone() }, true, config)
    }

    fn read(settings: &BackendTls, of_everybody: bool, config: &Config) -> Result<Self, TlsError> {
        let demanded = settings.mode.demands();
        let connector = demanded.then(|| Connector::load(settings, config.hosts()));
        Ok(Self { connector: connector.transpose()?, mode: settings.mode, of_everybody })
    }
}

/// Why a login did not come to the server's own answer.
#[derive(Debug, thiserror::Error)]
pub enum Obstacle {
    /// The server has none.
    #[error("the server offers no TLS, but the settings require it")]
    NotOffered,
    /// The server is not the one that it must be.
    #[error("no TLS with the server: {0}")]
    Untrusted(rustls::Error),
    /// The exchange of keys failed.
    #[error("no TLS with the server: {0}")]
    Handshake(io::Error),
    /// The connection broke, or the server said what no server says.
    #[error("{0}")]
    Broken(#[from] io::Error),
}

impl Obstacle {
    /// Whether the next client will meet it too.
    pub fn is_lasting(&self) -> bool {
        !matches!(self, Self::Broken(_))
    }
}

/// The server's certificate, where it was shown.
pub type PeerCertificate = Option<CertificateDer<'static>>;

/// Logs in, and leaves. A refused account is no obstacle: the server answers logins.
pub async fn log_in(
    greeted: Greeted,
    guard: &Guard,
    account: &Credentials,
) -> Result<PeerCertificate, Obstacle> {
    timeout(PATIENCE, pass(greeted, guard, account))
        .await
        .unwrap_or_else(|_| Err(Obstacle::Broken(io::ErrorKind::TimedOut.into())))
}

async fn pass(
    greeted: Greeted,
    guard: &Guard,
    account: &Credentials,
) -> Result<PeerCertificate, Obstacle> {
    let Greeted { stream, greeting, to, .. } = greeted;
    let mut server = Leg::new(stream);
    let secured = secure(guard, &mut server, &greeting, &to.backend().host).await;
    let (account, seq, obstacle) = match secured {
        Ok(seq) => (account.clone(), seq, None),
        Err((obstacle, Some(seq))) => (Credentials::nobody(), seq, Some(obstacle)),
        Err((obstacle, None)) => return Err(obstacle),
    };
    let password = account.password.as_deref();
    let proof = auth::proof(&greeting.plugin, &greeting.nonce, password.unwrap_or_default());
    let packet = auth::own_login(&greeting, &account.user, &proof, server.tls().is_some());
    let said = exchange(&mut server, &greeting, seq, packet, password).await;
    match obstacle {
        // The first obstacle counts for more than how the rest ended.
        Some(obstacle) => Err(obstacle),
        None => said.map(|()| server.tls().and_then(Tls::peer_certificate).cloned()),
    }
}

/// Encrypts the leg if that is demanded. Returns the sequence id of the login; with an obstacle, the
/// one of a login with a made-up account, if there can be one.
async fn secure(
    guard: &Guard,
    server: &mut Leg,
    greeting: &Greeting,
    host: &str,
) -> Result<u8, (Obstacle, Option<u8>)> {
    let Some(connector) = &guard.connector else {
        return Ok(1);
    };
    if !greeting.capabilities.has(Capabilities::SSL) {
        return Err((Obstacle::NotOffered, Some(1)));
    }
    let mut question = Vec::new();
    let login = auth::own_login(greeting, NOBODY, &[], true);
    put_frame(&mut question, 1, &login[..LOGIN_HEAD]);
    server.send_all(&question).await.map_err(|e| (Obstacle::Broken(e), None))?;
    connector.encrypt(server, Behalf::Nobody, host).await.map(|()| 2).map_err(|e| match e {
        NoTls::Untrusted(e) => (Obstacle::Untrusted(e), Some(2)),
        NoTls::Broken(e) => (Obstacle::Handshake(e), None),
    })
}

/// Ends a connection of which no more than the greeting was wanted: hung up, it would count as a
/// failed handshake.
pub async fn leave(greeted: Greeted) {
    let guard = Guard { connector: None, mode: BackendMode::Off, of_everybody: false };
    // A made-up account has no secrets, and needs no TLS.
    let _ = log_in(greeted, &guard, &Credentials::nobody()).await;
}

/// Ends a connection on which the `head` of a login asked for TLS. The peer must not learn the rest of
/// the login.
pub async fn leave_as_nobody(server: &mut Leg, greeting: &Greeting, head: &[u8]) {
    let packet = auth::anonymous_login(head);
    // The login only spares the server an aborted handshake.
    let _ = timeout(PATIENCE / 3, exchange(server, greeting, 2, packet, None)).await;
}

/// Runs until the server has accepted or refused.
async fn exchange(
    server: &mut Leg,
    greeting: &Greeting,
    mut seq: u8,
    mut packet: Vec<u8>,
    password: Option<&str>,
) -> Result<(), Obstacle> {
    let mut plugin = greeting.plugin.clone();
    let mut out = Vec::new();
    loop {
        out.clear();
        put_frame(&mut out, seq, &packet);
        server.send_all(&out).await?;
        let frame = loop {
            let frame = server.read_frame(4096).await?;
            // "Fast authentication worked": the OK follows.
            if frame[HEADER..] != [1, 3] {
                break frame;
            }
        };
        seq = frame[HEADER - 1].wrapping_add(1);
        packet = match &frame[HEADER..] {
            [0, ..] => {
                out.clear();
                put_frame(&mut out, 0, &[1]);
                return Ok(server.send_all(&out).await?);
            }
            [0xff, ..] => return Ok(()),
            [0xfe, rest @ ..] => {
                let end = memchr::memchr(0, rest).unwrap_or(rest.len());
                plugin = rest[..end].to_vec();
                let nonce = rest.get(end + 1..).unwrap_or_default();
                let proof = auth::proof(&plugin, nonce, password.unwrap_or_default());
                host_block_guard::answer(&plugin, false, proof)
            }
            // Full authentication: the password itself, which nothing but TLS protects.
            [1, 4] if plugin == b"caching_sha2_password" => {
                let secure = server.tls().is_some();
                let said = password.filter(|_| secure).map(|p| [p.as_bytes(), &[0]].concat());
                host_block_guard::answer(&plugin, true, said.unwrap_or_default())
            }
            [1, ..] => host_block_guard::answer(&plugin, false, Vec::new()),
            _ => {
                return Err(
                    io::Error::other("the server's answer to a login cannot be read").into()
                );
            }
        };
    }
}
