//! The login: the server authenticates the client, the proxy passes the packets on.
//!
//! Accepted → Greeted → Authenticated. There is no user list: what the server asks, the client
//! answers. Only capability bits are masked and the connection tag is added.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::context::Context;
use super::watching::who_logs_in;
use crate::backend::greeted::{GreetError, Greeted, connect, read_frame};
use crate::lock::codes;
use crate::observe::event::Who;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::frame::{FrameHeader, HEADER, put_frame};
use crate::protocol::handshake::{Greeting, Login};
use crate::protocol::reply::ErrorReply;
use crate::types::ProxyId;

/// Largest login packet taken: names, a proof, 64 KiB of attributes.
pub const MAX_LOGIN: usize = 80 * 1024;

/// A logged-in client with its server connection.
#[derive(Debug)]
pub struct Authenticated {
    /// The client.
    pub client: TcpStream,
    /// The server.
    pub server: TcpStream,
    /// The server's greeting.
    pub greeting: Greeting,
    /// When the server's connection was asked for, on the boot clock.
    pub opened: Duration,
    /// What client and server speak.
    pub capabilities: Capabilities,
    /// user@host.
    pub owner: Arc<[u8]>,
    /// Who that is, for the observer.
    pub who: Option<Who>,
    /// The OK that ended the login.
    pub ok: Vec<u8>,
}

/// Logs a client in. `None`: it was refused or left, and has been told.
pub async fn log_in(
    mut client: TcpStream,
    peer: SocketAddr,
    context: &Context,
) -> Option<Authenticated> {
    let greeted = match greet(context).await {
        Ok(greeted) => greeted,
        Err(GreetError::Refused(frame)) => {
            let _ = client.write_all(&frame).await;
            closed(context, "refused_by_server");
            return None;
        }
        Err(e) => {
            let backend = context.config.backend.to_string();
            tracing::warn!(backend, error = %e, "no connection to the server for a client");
            refuse(&mut client, &codes::unreachable(&backend, &e.to_string()), 0).await;
            closed(context, "server_unreachable");
            return None;
        }
    };
    let mut masked = greeted.frame.clone();
    greeted.greeting.mask(&mut masked[HEADER..]);
    let limit = context.config.login_timeout;
    let answer = async {
        client.write_all(&masked).await?;
        read_frame(&mut client, MAX_LOGIN).await
    };
    let answer = match timeout(limit, answer).await.unwrap_or(Err(io::ErrorKind::TimedOut.into())) {
        Ok(answer) => answer,
        Err(e) => {
            // The server has seen nothing of this client; its greeting serves the next one.
            context.spares.keep(greeted);
            tracing::debug!(%peer, error = %e, "a client left before its login");
            closed(context, "left_before_login");
            return None;
        }
    };
    let Some(login) = Login::parse(&answer[HEADER..]) else {
        context.spares.keep(greeted);
        tracing::info!(%peer, "a client's login is broken or older than protocol 4.1");
        refuse(&mut client, &codes::bad_handshake(), 2).await;
        closed(context, "bad_handshake");
        return None;
    };
    let Greeted { stream: mut server, greeting, opened, .. } = greeted;
    let capabilities = login.capabilities.without(Capabilities::MASKED).both(greeting.capabilities);
    let owner = owner(login.user, peer);
    let who = context.observer.is_some().then(|| who_logs_in(&login, peer.ip()));
    let payload = if who.is_some() {
        login.masked(&answer[HEADER..])
    } else {
        let tag = context.engine.lease().proxy().unwrap_or(ProxyId(0)).to_string();
        login.for_server(greeting.capabilities, tag.as_bytes())
    };
    let mut out = Vec::with_capacity(payload.len() + HEADER);
    put_frame(&mut out, answer[HEADER - 1], &payload);
    let exchange = async {
        server.write_all(&out).await?;
        authenticate(&mut client, &mut server).await
    };
    match timeout(limit, exchange).await.unwrap_or(Err(io::ErrorKind::TimedOut.into())) {
        Ok(Some(ok)) => {
            Some(Authenticated { client, server, greeting, opened, capabilities, owner, who, ok })
        }
        Ok(None) => {
            closed(context, "login_failed");
            None
        }
        Err(e) => {
            tracing::debug!(%peer, error = %e, "a login broke off");
            closed(context, "login_failed");
            None
        }
    }
}

async fn greet(context: &Context) -> Result<Greeted, GreetError> {
    match context.spares.take() {
        Some(greeted) => Ok(greeted),
        None => connect(&context.config.backend, context.config.connect_timeout).await,
    }
}

/// Relays the authentication exchange. The OK is returned, not yet sent; an error is passed on.
pub async fn authenticate(
    client: &mut TcpStream,
    server: &mut TcpStream,
) -> io::Result<Option<Vec<u8>>> {
    loop {
        let frame = read_frame(server, MAX_LOGIN).await?;
        match frame.get(HEADER) {
            Some(0) => return Ok(Some(frame)),
            Some(0xff) => {
                client.write_all(&frame).await?;
                return Ok(None);
            }
            _ => client.write_all(&frame).await?,
        }
        // caching_sha2_password's "fast authentication worked" wants no answer.
        if frame[HEADER..] == [1, 3] {
            continue;
        }
        let answer = read_frame(client, MAX_LOGIN).await?;
        if FrameHeader::peek(&answer).is_some_and(|h| h.seq == 0) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a command inside a login"));
        }
        server.write_all(&answer).await?;
    }
}

async fn refuse(client: &mut TcpStream, error: &ErrorReply, seq: u8) {
    let mut out = Vec::new();
    error.encode(&mut out, seq, seq == 0);
    // The client may be gone; there is nobody else to tell.
    let _ = client.write_all(&out).await;
    let _ = client.shutdown().await;
}

/// Counts why a client was turned away.
pub fn closed(context: &Context, reason: &str) {
    context.metrics.sessions_closed.with_label_values(&[reason]).inc();
}

/// user@host, for people who look at locks.
pub fn owner(user: &[u8], peer: SocketAddr) -> Arc<[u8]> {
    let mut owner = user[..user.len().min(300)].to_vec();
    owner.push(b'@');
    owner.extend_from_slice(peer.ip().to_string().as_bytes());
    owner.into()
}
