//! Whether `backend` and `store` lead to one server, as they must: the connections of sessions are looked up, and ended, at
//! the store by the ids that `backend` gave them. And that neither leads to this proxy.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use tokio::net::lookup_host;
use tokio::time::{sleep, timeout};

use super::start_error::StartError;
use crate::backend::greeted::{Greeted, connect};
use crate::backend::own::leave;
use crate::config::{Config, HostPort, Listen, Mode, ServerAddress, StoreUrl};
use crate::frontend::shared::live_config::InForce;
use crate::net::peer::Peer;
use crate::protocol::handshake::Greeting;
use crate::servers::pairs::Pairs;
use crate::servers::writer::Writer;
use crate::store::connection::{StoreConnection, StoreError};
use crate::store::identity::same_run;
use crate::store::sessions::ConnectionIds;
use crate::types::{Flavour, version_number};

/// How often it is tried again.
const AGAIN: Duration = Duration::from_secs(1);
/// Pauses after which a server that cannot be compared is not tried more seldom: each login is seen there.
const SELDOM: u32 = 5;

/// What both addresses of a server lead to.
#[derive(Debug)]
pub(super) enum Compared {
    /// One server, whose connections have these ids.
    Same(ConnectionIds),
    /// Two servers; with what to do.
    Other(String),
    /// The addresses cannot be compared.
    Unknown {
        /// Why they cannot, and what to do.
        why: String,
        /// Why `backend` cannot be reached.
        unreachable: Option<String>,
    },
}

/// Compares the only server of `config` with the one that `store` is connected to.
pub(super) async fn compare(
    config: &Config,
    url: &StoreUrl,
    store: &mut StoreConnection,
) -> Compared {
    if is_one_address(&config.servers[0]) {
        return Compared::Same(ConnectionIds::Server);
    }
    match by_login(config, url, store).await {
        Ok(compared) => compared,
        // The server may be there, though this account cannot log in.
        Err(e) => by_greeting(config, store, &e).await,
    }
}

fn is_one_address(server: &ServerAddress) -> bool {
    server.backend == server.store
}

/// By what the server says to the store account there.
async fn by_login(
    config: &Config,
    url: &StoreUrl,
    store: &mut StoreConnection,
) -> Result<Compared, StoreError> {
    // The store's demands count as well: it is the same account.
    let demanded = config.backend_tls.of_everybody(&config.tls).or_stricter(&url.tls);
    let there = StoreUrl { tls: demanded.for_store(), ..url.at(config.backend()) };
    let mut backend = StoreConnection::open(&there, config.connect_timeout).await?;
    let same = backend.identity().await? == store.identity().await?
        && same_run(backend.started(), store.started());
    let ids = backend.ids().await?;
    let version = backend.version().to_owned();
    backend.close().await;
    Ok(if same { Compared::Same(ids) } else { Compared::Other(other(config, &version, store)) })
}

/// By what the server says before a login: its version, and the id of the connection, which it lists.
async fn by_greeting(
    config: &Config,
    store: &mut StoreConnection,
    refused: &StoreError,
) -> Compared {
    let unknown = |problem: &str, unreachable| Compared::Unknown {
        why: format!(
            "cannot check whether `backend` ({}) and `store` are the same server, as they must be: {problem}",
            config.backend()
        ),
        unreachable,
    };
    if let StoreError::Connect(why) = refused
        && why.starts_with("no answer within")
    {
        return unknown(why, Some(why.clone()));
    }
    let header = config.backend_proxy_protocol.then_some(Peer(None));
    let to = Writer::among(config.servers.clone()).found().await;
    let greeted = match connect(&to, config.connect_timeout, header).await {
        Ok(greeted) => greeted,
        Err(e) => {
            let unreachable = matches!(refused, StoreError::Connect(_)).then(|| e.to_string());
            return unknown(&refused.to_string(), unreachable);
        }
    };
    let judged = compare_greeting(&greeted, store).await;
    let Greeted { greeting: Greeting { version, .. }, .. } = &greeted;
    let compared = match judged {
        Ok(Some(true)) => Compared::Same(ConnectionIds::Server),
        Ok(Some(false)) => Compared::Other(other(config, version, store)),
        Ok(None) => unknown(
            &format!("{refused}. Create the store account there, or grant it PROCESS"),
            None,
        ),
        Err(e) => unknown(&e.to_string(), None),
    };
    leave(greeted).await;
    compared
}

/// Whether it is the store's server that has greeted, if that is certain.
async fn compare_greeting(
    greeted: &Greeted,
    store: &mut StoreConnection,
) -> Result<Option<bool>, StoreError> {
    let greeting = &greeted.greeting;
    let number = version_number(store.version());
    if (greeting.flavour, greeting.version_number()) != (store.flavour(), number) {
        return Ok(Some(false));
    }
    if !greeting.has_id() {
        return Ok(None);
    }
    store.has_greeted(greeting.connection).await
}

/// What to do where they are two.
fn other(config: &Config, version: &str, store: &StoreConnection) -> String {
    let of = |flavour: Flavour| match flavour {
        Flavour::MySql => "MySQL",
        Flavour::MariaDb => "MariaDB",
    };
    let flavour = Flavour::from_version(version);
    format!(
        "`backend` ({}) is another server: the lock tables must be on the server whose sessions take the locks. `backend` \
         is {} {version}, `store` is {} {}. Give both the same address; if a proxy with connection ids of its own is \
         between, let `backend` name the server",
        config.backend(),
        of(flavour),
        of(store.flavour()),
        store.version(),
    )
}

/// The addresses that lead to one server, for those that answer beside the one of `config`: an error where they lead to two.
pub(super) async fn compare_others(
    listed: &Config,
    writer: &ServerAddress,
    pairs: &Pairs,
) -> Result<(), StartError> {
    for server in listed.servers.iter().filter(|server| *server != writer) {
        // A server that does not answer now is compared when it is the writer.
        if let Some(Compared::Other(problem)) = compare_addresses(listed, server, pairs).await {
            return Err(StartError::Apart(problem));
        }
    }
    Ok(())
}

/// Compares the addresses of the servers beside `writer`, for a caller that asks once.
pub async fn others_are_whole(listed: &Config, writer: &ServerAddress) -> Result<(), StartError> {
    compare_others(listed, writer, &Pairs::default()).await
}

/// Compares the addresses of one server, if that is needed; `None`: it is not, or the server does not answer.
async fn compare_addresses(
    config: &Config,
    server: &ServerAddress,
    pairs: &Pairs,
) -> Option<Compared> {
    if !pairs.is_open(server) {
        return None;
    }
    let config = config.at(server);
    let url = config.store.clone()?;
    let mut store = match StoreConnection::open(&url, config.connect_timeout).await {
        Ok(store) => store,
        Err(e) => {
            tracing::debug!(server = %server.store, error = %e, "not compared");
            return None;
        }
    };
    let compared = compare(&config, &url, &mut store).await;
    store.close().await;
    note(&compared, server, pairs);
    Some(compared)
}

/// Keeps what is known of a server.
fn note(compared: &Compared, server: &ServerAddress, pairs: &Pairs) {
    match compared {
        Compared::Same(_) => pairs.prove(server),
        Compared::Other(why) | Compared::Unknown { why, .. } => pairs.doubt(server, why.clone()),
    }
}

/// Compares the writer's addresses until they are known to lead to one server. Runs as long as the process.
pub(super) async fn watch(in_force: InForce, writer: Writer, pairs: Pairs) {
    if in_force.config().mode != Mode::Durable || writer.servers().iter().all(is_one_address) {
        return;
    }
    let mut pause = 0;
    let mut last = None;
    loop {
        sleep(AGAIN * pause).await;
        let now = writer.last().map(|to| to.address().clone());
        if now != last {
            (pause, last) = (0, now.clone());
        }
        pause = (pause + 1).min(SELDOM);
        let Some(server) = now else { continue };
        if let Some(Compared::Same(_)) =
            compare_addresses(&in_force.config(), &server, &pairs).await
        {
            tracing::info!(backend = %server.backend, "`backend` and `store` lead to the same server");
        }
    }
}

/// An error if an address of a server is one where this proxy listens.
pub async fn refuse_own(listeners: &[Config]) -> Result<(), StartError> {
    // The servers are the cluster's.
    let Some(config) = listeners.first() else { return Ok(()) };
    let listens: Vec<Listen> = listeners.iter().flat_map(|of| of.listen.clone()).collect();
    let backends = config.servers.iter().map(|server| ("backend", &server.backend));
    let stores = config.servers.iter().map(|server| ("store", &server.store));
    for (key, at) in backends.chain(stores.filter(|_| config.store.is_some())) {
        if listens.iter().any(|listen| has_port(listen, at.port))
            && let Some(listen) = own(at, &listens, config.connect_timeout).await
        {
            return Err(StartError::Ring { key, at: at.to_string(), listen });
        }
    }
    Ok(())
}

fn has_port(listen: &Listen, port: u16) -> bool {
    match listen {
        Listen::Tcp(address) => address.port() == port,
        Listen::Unix(_) => false,
    }
}

/// Where this proxy listens at that address.
async fn own(at: &HostPort, listens: &[Listen], limit: Duration) -> Option<SocketAddr> {
    // A name that cannot be found is told later.
    let found = timeout(limit, lookup_host((at.host.as_str(), at.port))).await.ok()?.ok()?;
    let found: Vec<SocketAddr> = found.collect();
    let tcp = listens.iter().filter_map(|listen| match listen {
        Listen::Tcp(address) => Some(*address),
        Listen::Unix(_) => None,
    });
    let is = |listen: &SocketAddr, to: &SocketAddr| {
        listen.port() == to.port()
            && (listen.ip() == to.ip() || listen.ip().is_unspecified() && is_local(*to))
    };
    tcp.into_iter().find(|listen| found.iter().any(|to| is(listen, to)))
}

/// Whether an address is one of this machine's: the way there begins and ends at it. Nothing is sent.
fn is_local(to: SocketAddr) -> bool {
    let any: SocketAddr = match to {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let source = || -> io::Result<SocketAddr> {
        let socket = UdpSocket::bind(any)?;
        socket.connect(to)?;
        socket.local_addr()
    };
    to.ip().is_loopback() || source().is_ok_and(|source| source.ip() == to.ip())
}
