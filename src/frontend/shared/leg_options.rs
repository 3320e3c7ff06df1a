//! TLS and compression, agreed upon on each leg separately.

use std::io;
use std::sync::Arc;

use super::turned_away::TurnedAway;
use crate::backend::encrypt::encrypt;
use crate::backend::own::Guard;
use crate::config::tls::{BackendMode, ClientCertificate, Offer};
use crate::config::{Config, HostPort};
use crate::lock::codes;
use crate::net::certificate_expiry::Ends;
use crate::net::certificates::{Acceptor, Behalf, Connector, LegTls, TlsError};
use crate::net::compression::Compression;
use crate::net::leg::Leg;
use crate::net::peer::Peer;
use crate::protocol::auth::OwnKey;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::handshake::Greeting;
use crate::protocol::reply::ErrorReply;
use crate::seldom::{Seldom, Turn};

/// What the proxy can do on its legs.
#[derive(Debug)]
pub struct Hops {
    acceptor: Option<Acceptor>,
    connector: Option<Arc<Connector>>,
    own_key: Option<Arc<OwnKey>>,
    ends: Ends,
    guard: Arc<Guard>,
    failures: Seldom,
}

impl Hops {
    /// Reads certificates; makes what is missing.
    pub fn load(config: &Config) -> Result<Self, TlsError> {
        Self::read(config, None)
    }

    /// Reads certificates again, for other settings maybe.
    pub fn again(&self, config: &Config) -> Result<Self, TlsError> {
        Self::read(config, self.own_key.clone())
    }

    fn read(config: &Config, own_key: Option<Arc<OwnKey>>) -> Result<Self, TlsError> {
        let offers = config.tls.offer != Offer::Off;
        let acceptor =
            offers.then(|| Acceptor::load(&config.tls, config.state_dir.as_deref())).transpose()?;
        let mode = config.backend_tls.mode;
        let connector = (mode != BackendMode::Off)
            .then(|| Connector::load(&config.backend_tls, config.hosts()).map(Arc::new))
            .transpose()?;
        // Clients in clear before an encrypted leg.
        let mixed = config.tls.offer != Offer::Require
            && match mode {
                BackendMode::Off => false,
                BackendMode::Match => config.backend_tls.local,
                _ => true,
            };
        let make = || OwnKey::generate().map(Arc::new);
        let own_key = mixed.then(|| own_key.map_or_else(make, Ok)).transpose();
        let own_key = own_key.map_err(|_| TlsError::Refused("no RSA key can be made".into()))?;
        let guard = Arc::new(Guard::load(config)?);
        Ok(Self {
            acceptor,
            connector,
            own_key,
            ends: Ends::read(config),
            guard,
            failures: Seldom::default(),
        })
    }

    /// Until when the certificates are good.
    pub fn ends(&self) -> &Ends {
        &self.ends
    }

    /// What protects the proxy's own logins at the server.
    pub fn guard(&self) -> &Arc<Guard> {
        &self.guard
    }

    /// What is shown to clients that want TLS.
    pub fn acceptor(&self) -> Option<&Acceptor> {
        self.acceptor.as_ref()
    }

    /// What encrypts connections to the server.
    pub fn connector(&self) -> Option<&Arc<Connector>> {
        self.connector.as_ref()
    }

    /// The key for passwords of clients in clear.
    pub fn own_key(&self) -> Option<&OwnKey> {
        self.own_key.as_deref()
    }

    /// What a client is offered where the server offers `server`.
    pub fn offered(&self, config: &Config, server: Capabilities) -> Capabilities {
        let mut offered = server.without(Capabilities::HOPS);
        // Do not offer TLS if the server offers none.
        let matches = config.backend_tls.mode == BackendMode::Match;
        if self.acceptor.is_some() && (!matches || server.has(Capabilities::SSL)) {
            offered = offered.with(Capabilities::SSL);
        }
        if config.compression {
            offered = offered.with(Capabilities::COMPRESS).with(Capabilities::ZSTD);
        }
        offered
    }

    /// Why nobody is let in, whatever the client offers.
    pub fn refusal(
        config: &Config,
        backend: &HostPort,
        server: Capabilities,
    ) -> Option<ErrorReply> {
        if server.has(Capabilities::SSL) {
            return None;
        }
        let mode = config.backend_tls.mode;
        let why = if mode.demands() {
            "the server offers none, but backend_tls requires it"
        } else if mode == BackendMode::Match && config.tls.asked == ClientCertificate::Require {
            "the server offers none, and with backend_tls = \"match\" Lockstead then offers none to \
             clients, but tls_client_cert requires it"
        } else {
            return None;
        };
        Some(codes::backend_tls(&backend.to_string(), why))
    }

    /// Why a client is not let in over this leg.
    pub fn too_open(config: &Config, client: &Leg) -> Option<TurnedAway> {
        if config.tls.offer == Offer::Require && !client.is_secure() {
            return Some(TurnedAway::of("no_tls", codes::tls_required()));
        }
        let certified = client.tls().is_some_and(|tls| tls.peer_certificate().is_some());
        (config.tls.asked == ClientCertificate::Require && !certified)
            .then(|| TurnedAway::of("no_certificate", codes::certificate_required()))
    }

    /// Encrypts the client's leg, as it has asked.
    pub async fn encrypt_client(&self, client: &mut Leg) -> io::Result<()> {
        let acceptor = self.acceptor.as_ref();
        let tls = acceptor.ok_or(io::ErrorKind::InvalidData)?.start_tls()?;
        client.encrypt(tls).await
    }

    /// What the server is asked for of what it offers.
    pub fn asked(config: &Config, client: &Leg, peer: Peer, offered: Capabilities) -> Capabilities {
        let encrypted = match config.backend_tls.mode {
            BackendMode::Off => false,
            BackendMode::Match => {
                client.tls().is_some() || (config.backend_tls.local && peer.is_local())
            }
            _ => true,
        };
        let tls = if encrypted { Capabilities::SSL } else { Capabilities(0) };
        // Where the server's offer is against the settings, nobody got this far.
        config.backend_compression.with(tls).both(offered)
    }

    /// How the server's leg of this client's session is encrypted, where the server is asked for `asked`.
    pub fn leg_tls(&self, asked: Capabilities, client: &Leg) -> LegTls {
        match self.connector.as_ref().filter(|_| asked.has(Capabilities::SSL)) {
            Some(connector) => connector.of_client(client.tls()),
            None => LegTls::Off,
        }
    }

    /// Encrypts the leg to this server. `login` is what follows.
    pub async fn encrypt_server(
        &self,
        backend: &HostPort,
        client: &Leg,
        server: &mut Leg,
        greeting: &Greeting,
        login: &[u8],
    ) -> Result<(), TurnedAway> {
        let Some(connector) = &self.connector else {
            return Ok(());
        };
        let to = (greeting, backend.host.as_str());
        let behalf = client.tls().map_or(Behalf::Nobody, Behalf::Client);
        let Err(e) = encrypt(connector, server, behalf, to, login).await else {
            return Ok(());
        };
        if let Some(Turn { left_out }) = self.failures.turn() {
            tracing::warn!(%backend, error = %e, left_out, "no TLS with the server");
        }
        let backend = backend.to_string();
        Err(TurnedAway::of("backend_tls", codes::backend_tls(&backend, &e.to_string())))
    }

    /// Whether a leg to the server that could not be encrypted is no better for any other client.
    pub fn keeps_all_out(config: &Config) -> bool {
        config.backend_tls.of_everybody(&config.tls).mode.demands()
    }
}

/// The algorithm that both ends have named, as servers choose it.
pub fn compression(agreed: Capabilities, zstd_level: u8) -> Option<Compression> {
    if agreed.has(Capabilities::COMPRESS) {
        Some(Compression::Zlib)
    } else if agreed.has(Capabilities::ZSTD) {
        Some(Compression::Zstd(zstd_level))
    } else {
        None
    }
}
