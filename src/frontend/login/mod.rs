//! The login: the server authenticates the client, or has just authenticated another one like it.

pub mod auth_exchange;
mod known;
mod layers;
pub mod lent;
mod lesson;
mod like;
mod relayed;
mod side;

use std::io;
use std::net::{IpAddr, SocketAddr};

use tokio::time::timeout;

use self::known::OwnGreeting;
pub use self::relayed::{Authenticated, LoginStanding};
use self::relayed::{LoginClient, greeting_for, hear_login, judged_by_server, turn_away};
pub(super) use self::relayed::{owner, turned_away, without_reports};
use super::shared::context::Context;
use super::shared::registry::SessionNumber;
use crate::backend::greeted::Greeted;
use crate::net::leg::Leg;
use crate::net::peer::Peer;
use crate::net::proxy_protocol;
use crate::net::socket::Socket;
use crate::seldom::Turn;

/// Logs a client in. `None`: it was refused or left, and has been told.
pub(super) async fn log_in(
    socket: Socket,
    peer: Peer,
    number: SessionNumber,
    context: &Context,
) -> Option<Authenticated> {
    let mut client = LoginClient { leg: Leg::new(socket), peer, next: 0, number, connection: None };
    client.peer = match announced(&mut client, context).await {
        Ok(peer) => peer,
        Err(e) => {
            if let Some(Turn { left_out }) = context.lines.unannounced.turn() {
                tracing::info!(%peer, error = %e, left_out, "a connection without its PROXY header");
            }
            turned_away(peer, "no_proxy_header", context);
            return None;
        }
    };
    if let Some(own) = OwnGreeting::of(context) {
        return Box::pin(own.log_in(client, context)).await;
    }
    let greeted = greeting_for(&mut client, context).await?;
    let Greeted { frame, greeting, opened, .. } = &greeted;
    let limit = context.config.login_timeout.min(context.spares.limit_since(*opened));
    let answer = match hear_login(&mut client, (frame, greeting), limit, context).await {
        Ok(answer) => answer,
        Err(refusal) => {
            // The server has seen nothing of this client; its greeting serves the next one.
            context.spares.keep(greeted);
            turn_away(&mut client, refusal, context).await;
            return None;
        }
    };
    let session = judged_by_server(client, &answer, greeted, context).await?;
    context.metrics.logins.with_label_values(&["server"]).inc();
    Some(session)
}

/// Where the client is: a load balancer before the proxy may say it.
async fn announced(client: &mut LoginClient, context: &Context) -> io::Result<Peer> {
    let peer = client.peer;
    let networks = &context.config.proxy_protocol;
    let Some(address) = peer.0.filter(|a| networks.iter().any(|n| n.contains(&peer_ip(a)))) else {
        return Ok(peer);
    };
    let limit = context.config.login_timeout;
    let told = timeout(limit, proxy_protocol::read(&mut client.leg)).await;
    let told = told.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
    Ok(Peer(Some(told.unwrap_or(address))))
}

fn peer_ip(address: &SocketAddr) -> IpAddr {
    address.ip().to_canonical()
}
