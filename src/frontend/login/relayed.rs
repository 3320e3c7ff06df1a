//! A login that the server judges: it greets, it asks, and the proxy passes the packets on.
//!
//! Accepted → Greeted → Authenticated. There is no user list: what the server asks, the client
//! answers. Each leg has TLS and compression of its own, and the connection tag is added.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::auth_exchange::{Broken, Exchange, Learning, MAX_LOGIN, Side, Verdict};
use super::layers::{compress, encrypt};
use super::lent;
use super::like::{Asking, judged, renumbered};
use crate::backend::admissions::{JudgedLogin, KnownGreeting, LoginValues};
use crate::backend::greeted::{GreetError, Greeted, connect_to_replica, connect_to_writer};
use crate::backend::proven::Proven;
use crate::frontend::dispatch::watched::user_of_login;
use crate::frontend::pooling::pooled_login::LoginAccount;
use crate::frontend::shared::context::{Context, Shared};
use crate::frontend::shared::leg_options::Hops;
use crate::frontend::shared::registry::SessionNumber;
use crate::frontend::shared::turned_away::TurnedAway;
use crate::lock::codes;
use crate::net::leg::Leg;
use crate::net::peer::Peer;
use crate::observe::event::StatementUser;
use crate::protocol::auth::Method;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::handshake::{Greeting, Login, TAG_ATTRIBUTE, tag};
use crate::protocol::host_block_guard;
use crate::protocol::reply::ErrorReply;
use crate::protocol::session_track::{DefaultReports, OkPacket};
use crate::seldom::Turn;
use crate::servers::writer::Destination;
use crate::types::{ConnectionId, Flavour};

/// A logged-in client with its server connection.
#[derive(Debug)]
pub struct Authenticated {
    /// The client.
    pub client: Leg,
    /// Where it is.
    pub peer: Peer,
    /// What the server has to do with it so far.
    pub standing: LoginStanding,
    /// The server's greeting.
    pub greeting: Greeting,
    /// When the server's connection was asked for, on the boot clock.
    pub opened: Duration,
    /// What client and server speak.
    pub capabilities: Capabilities,
    /// The id that the client was told.
    pub connection: ConnectionId,
    /// What further connections for it are opened with.
    pub account: LoginAccount,
    /// user@host.
    pub owner: Arc<[u8]>,
    /// user@host, for the observer.
    pub who: Option<StatementUser>,
    /// What proved it.
    pub method: Method,
    /// The OK that ended the login. The client has it.
    pub ok: Vec<u8>,
}

/// The judge of a login.
#[derive(Debug)]
pub enum LoginStanding {
    /// The server, on this connection. `judged`: others like it may be let in by that.
    Asked {
        /// The connection.
        server: Leg,
        /// Where it leads.
        to: Destination,
        /// What the others are compared with.
        judged: Option<Box<JudgedLogin>>,
    },
    /// The proxy: it was proved as one that the server has judged a short time ago.
    Known {
        /// What the server has answered about that one.
        values: LoginValues,
    },
}

/// A client that wants to log in.
pub(super) struct LoginClient {
    pub(super) leg: Leg,
    pub(super) peer: Peer,
    /// Sequence id of the next packet for it.
    pub(super) next: u8,
    /// The number of the client's session.
    pub(super) number: SessionNumber,
    /// The connection id that the client was told; `None`: the server's.
    pub(super) connection: Option<ConnectionId>,
}

/// A client that is turned away at its login.
struct RefusedLogin {
    client: LoginClient,
    refusal: TurnedAway,
}

/// The server's greeting for a client. `None`: the client has heard why there is none.
pub(super) async fn greeting_for(client: &mut LoginClient, context: &Context) -> Option<Greeted> {
    let peer = client.peer;
    let greeted = match greet(peer, context).await {
        Ok(greeted) => greeted,
        Err(GreetError::Refused(frame)) => {
            let _ = client.leg.send_all(&renumbered(frame, client.next)).await;
            turned_away(peer, "refused_by_server", context);
            return None;
        }
        Err(e) => {
            let backend = context.servers();
            if let Some(Turn { left_out }) = context.lines.unreachable.turn() {
                tracing::warn!(backend, error = %e, left_out, "no connection to the server for a client");
            }
            client.refuse(&codes::unreachable(&backend, &e.to_string())).await;
            turned_away(peer, "server_unreachable", context);
            return None;
        }
    };
    let tls = Hops::refusal(&context.config, greeted.to.backend(), greeted.greeting.capabilities);
    let tls = tls.map(|error| {
        context.reach.closed(&error.message);
        TurnedAway::of("backend_tls", error)
    });
    if let Some(refusal) = tls.or_else(|| lent::refusal(&greeted, context)) {
        context.spares.keep(greeted);
        turn_away(client, refusal, context).await;
        return None;
    }
    Some(greeted)
}

/// Passes a login, as it is or as the proxy has changed it, to the server that has greeted. `None`: it was refused, and
/// the client has been told.
pub(super) async fn judged_by_server(
    client: LoginClient,
    answer: &[u8],
    greeted: Greeted,
    context: &Context,
) -> Option<Authenticated> {
    match judge(client, answer, greeted, context).await {
        Ok(session) => Some(session),
        Err(RefusedLogin { mut client, refusal }) => {
            turn_away(&mut client, refusal, context).await;
            None
        }
    }
}

async fn judge(
    client: LoginClient,
    answer: &[u8],
    greeted: Greeted,
    context: &Context,
) -> Result<Authenticated, RefusedLogin> {
    let Some(login) = Login::parse(answer) else {
        context.spares.keep(greeted);
        tracing::debug!(peer = %client.peer, "a client's login is broken or older than protocol 4.1");
        let refusal = TurnedAway::of("bad_handshake", codes::bad_handshake());
        return Err(RefusedLogin { client, refusal });
    };
    if let Some(error) = host_block_guard::refusal(&login, &greeted.greeting) {
        context.spares.keep(greeted);
        let refusal = TurnedAway::of("bad_handshake", error);
        return Err(RefusedLogin { client, refusal });
    }
    authenticated(client, &login, greeted, context).await
}

/// Greets the client and hears its login, after TLS if it asks for that. Returns the payload.
pub(super) async fn hear_login(
    client: &mut LoginClient,
    (frame, of_server): (&[u8], &Greeting),
    limit: Duration,
    context: &Context,
) -> Result<Vec<u8>, TurnedAway> {
    let mut greeting = frame.to_vec();
    let offered = context.hops.offered(&context.config, of_server.capabilities);
    if of_server.offer(&mut greeting[HEADER..], offered).is_none() {
        let why = GreetError::Unknown.to_string();
        let error = codes::unreachable(&context.servers(), &why);
        return Err(TurnedAway::of("server_unreachable", error));
    }
    if context.shared.is_some() || !of_server.has_id() {
        let id = client.number.id(context.engine.lease().proxy());
        of_server.rename(&mut greeting[HEADER..], id);
        client.connection = Some(id);
    }
    let heard = async {
        client.leg.send_all(&greeting).await?;
        let mut frame = client.leg.read_frame(MAX_LOGIN).await?;
        if Login::asks_for_tls(&frame[HEADER..]) && offered.has(Capabilities::SSL) {
            context.hops.encrypt_client(&mut client.leg).await?;
            frame = client.leg.read_frame(MAX_LOGIN).await?;
        }
        Ok(frame)
    };
    let deadline = Instant::now() + limit;
    let heard: io::Result<Vec<u8>> =
        timeout_at(deadline, heard).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    let frame = match heard {
        Ok(frame) => frame,
        Err(e) => {
            tracing::debug!(peer = %client.peer, error = %e, "a client left before its login");
            return Err(TurnedAway::silent("left_before_login"));
        }
    };
    client.next = frame[HEADER - 1].wrapping_add(1);
    match Hops::too_open(&context.config, &client.leg) {
        Some(refusal) => Err(refusal),
        None if is_own(&frame[HEADER..], context) => {
            let backend = context.servers();
            if let Some(Turn { left_out }) = context.lines.unreachable.turn() {
                tracing::error!(
                    backend,
                    left_out,
                    "a login of this proxy's own has come back to it"
                );
            }
            Err(TurnedAway::of("server_unreachable", codes::ring(&backend)))
        }
        None => Ok(frame[HEADER..].to_vec()),
    }
}

/// Whether a login carries the tag that this proxy adds to those of its clients.
fn is_own(login: &[u8], context: &Context) -> bool {
    let Some(proxy) = context.engine.lease().proxy() else { return false };
    let tag = Login::parse(login).and_then(|login| login.attribute(TAG_ATTRIBUTE));
    let of = tag.and_then(|tag| tag.split(|byte| *byte == b'/').next());
    of.is_some_and(|of| of == proxy.to_string().as_bytes())
}

/// The server's part: TLS, the exchange, and what comes with the OK.
async fn authenticated(
    mut client: LoginClient,
    login: &Login<'_>,
    greeted: Greeted,
    context: &Context,
) -> Result<Authenticated, RefusedLogin> {
    let (config, peer) = (&context.config, client.peer);
    let deadline = Instant::now() + config.login_timeout.min(context.spares.limit());
    let Greeted { stream, frame, greeting, opened, to } = greeted;
    let (asking, mut server) = (Asking::if_allowed(context), Leg::new(stream));
    let (user, offered) = (login.user_name(greeting.flavour), greeting.capabilities);
    let hops = Hops::asked(config, &client.leg, peer, offered);
    let who = context.observer.is_some().then(|| user_of_login(login, peer));
    let incarnation = context.engine.lease().proxy();
    let tag = tag(incarnation, client.connection.filter(|_| context.shared.is_none()));
    let tag = who.is_none().then_some(tag.as_bytes());
    // A server that has it reports what others must restore.
    let reports =
        if context.shared.is_some() { Capabilities::SESSION_TRACK } else { Capabilities(0) };
    let asked = hops.with(reports.both(offered));
    let packet = |proof: Option<&[u8]>| login.for_server(offered, asked, proof, tag);
    if hops.has(Capabilities::SSL) {
        let packet = packet(None);
        let here = (&greeting, to.backend());
        let encrypted = encrypt(&client.leg, &mut server, here, &packet, context);
        let late = || Err(TurnedAway::silent("backend_tls"));
        if let Err(refusal) = timeout_at(deadline, encrypted).await.unwrap_or_else(|_| late()) {
            return Err(RefusedLogin { client, refusal });
        }
    }
    let mut exchange = Exchange::new(
        Side { leg: &mut client.leg, next: client.next },
        Side { leg: &mut server, next: 1 + u8::from(hops.has(Capabilities::SSL)) },
        context.hops.own_key(),
        deadline,
        Method { plugin: greeting.plugin.clone(), nonce: greeting.nonce.clone() },
    );
    if let Some((Shared { secrets, .. }, user)) = context.shared.as_ref().zip(user.certain()) {
        exchange = exchange.teaching(Learning { secrets, user });
    }
    let verdict = exchange.decide(login, packet).await;
    let refused = match &verdict {
        Ok(Verdict::Denied) if exchange.lacks_room() => "refused_by_server",
        Ok(_) | Err(_) => "login_failed",
    };
    let proven = exchange.proven();
    let method = exchange.into_method();
    let known = proven.is_some_and(|proven| learn(login, &proven, context));
    if let Err(Broken::Io(e)) = &verdict {
        tracing::debug!(%peer, error = %e, "a login broke off");
    }
    let Ok(Verdict::Accepted(ok)) = verdict else {
        return Err(RefusedLogin { client, refusal: TurnedAway::silent(refused) });
    };
    context.reach.open();
    let ok = match &context.shared {
        Some(_) => without_reports(&ok, login.capabilities, greeting.flavour),
        None => ok,
    };
    let seen = KnownGreeting { frame, greeting: greeting.clone() };
    let (asking, tls) = (asking.filter(|_| known), context.hops.leg_tls(hops, &client.leg));
    let judged = asking.and_then(|asking| judged(login, tls.clone(), &method, (&ok, seen), asking));
    if let Err(e) = compress(&mut client.leg, &ok, &mut server, hops, login, context) {
        tracing::debug!(%peer, error = %e, "a client left during its login");
        return Err(RefusedLogin { client, refusal: TurnedAway::silent("left_before_login") });
    }
    Ok(Authenticated {
        connection: client.connection.unwrap_or_else(|| greeting.connection.as_session()),
        client: client.leg,
        peer,
        standing: LoginStanding::Asked { server, to, judged },
        account: LoginAccount::of(login, greeting.flavour, tls, incarnation),
        greeting,
        opened,
        capabilities: login.capabilities.without(Capabilities::HOPS).both(offered),
        owner: owner(login.user, peer),
        who,
        method,
        ok,
    })
}

/// Keeps what the client has proved, if sessions share connections. Returns whether it is known now.
fn learn(login: &Login<'_>, proven: &Proven, context: &Context) -> bool {
    context.shared.as_ref().is_some_and(|shared| shared.secrets.learn(login.user, proven))
}

/// The OK of a server that was asked to report, for a client that did not ask.
pub(in crate::frontend) fn without_reports(
    ok: &[u8],
    client: Capabilities,
    flavour: Flavour,
) -> Vec<u8> {
    let Some(packet) = ok.get(HEADER..).and_then(OkPacket::parse) else { return ok.to_vec() };
    let mut told = DefaultReports::new(client, flavour);
    let mut out = Vec::with_capacity(ok.len());
    put_frame(&mut out, ok[HEADER - 1], &packet.for_client(&mut told));
    out
}

async fn greet(peer: Peer, context: &Context) -> Result<Greeted, GreetError> {
    let config = &context.config;
    // A connection that was announced for another client is no other client's.
    let announced = config.backend_proxy_protocol.then_some(peer);
    if announced.is_none()
        && let Some(greeted) = context.spares.take()
    {
        return Ok(greeted);
    }
    if let Some(replicas) = &context.replicas {
        return connect_to_replica(replicas, context.patience(), announced).await;
    }
    let made = connect_to_writer(context.reach.writer(), context.patience(), announced).await;
    context.reach.heard(&made);
    made
}

pub(super) async fn turn_away(client: &mut LoginClient, refusal: TurnedAway, context: &Context) {
    if let Some(error) = &refusal.error {
        client.refuse(error).await;
    }
    turned_away(client.peer, refusal.reason, context);
}

impl LoginClient {
    async fn refuse(&mut self, error: &ErrorReply) {
        let mut out = Vec::new();
        error.encode(&mut out, self.next, self.next == 0);
        // The client may be gone; then nothing is left to tell it.
        let _ = self.leg.send_all(&out).await;
        self.leg.end();
    }
}

/// Counts and tells why a client was turned away before it had a session.
pub(in crate::frontend) fn turned_away(peer: Peer, reason: &str, context: &Context) {
    tracing::debug!(target: "lockstead::sessions", %peer, reason, "turned away");
    context.count_closed(reason);
}

/// user@host, as administrators see it.
pub(in crate::frontend) fn owner(user: &[u8], peer: Peer) -> Arc<[u8]> {
    let mut owner = user[..user.len().min(300)].to_vec();
    owner.push(b'@');
    owner.extend_from_slice(peer.host().as_bytes());
    owner.into()
}
