//! TLS and compression on the legs of a login.

use std::io;

use crate::config::HostPort;
use crate::frontend::shared::context::Context;
use crate::frontend::shared::leg_options::{Hops, compression};
use crate::frontend::shared::turned_away::TurnedAway;
use crate::net::compression::Role;
use crate::net::leg::Leg;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::handshake::{Greeting, Login};

/// Encrypts the server's leg; `packet` is the login that follows. Notes a failure that other clients
/// would meet too.
pub(super) async fn encrypt(
    client: &Leg,
    server: &mut Leg,
    (greeting, backend): (&Greeting, &HostPort),
    packet: &[u8],
    context: &Context,
) -> Result<(), TurnedAway> {
    let config = &context.config;
    let encrypted = context.hops.encrypt_server(backend, client, server, greeting, packet).await;
    if let Err(refusal) = &encrypted
        && Hops::keeps_all_out(config)
        && !refusal.text().is_empty()
    {
        context.reach.closed(refusal.text());
    }
    encrypted
}

/// Sends the client its OK. From there on, each leg is compressed as was agreed on it, `hops` on the
/// server's.
pub(super) fn compress(
    client: &mut Leg,
    ok: &[u8],
    server: &mut Leg,
    hops: Capabilities,
    login: &Login<'_>,
    context: &Context,
) -> io::Result<()> {
    answer_client(client, ok, login, context)?;
    let room = context.registry.room();
    if let Some(agreed) = compression(hops, login.zstd_level()) {
        server.compress(agreed, Role::Client, room)?;
    }
    Ok(())
}

/// Sends a client its OK. From there on, its leg is compressed if it has asked for that.
pub(super) fn answer_client(
    client: &mut Leg,
    ok: &[u8],
    login: &Login<'_>,
    context: &Context,
) -> io::Result<()> {
    client.send(ok)?;
    let offers = context.config.compression;
    let asked = if offers { login.capabilities } else { Capabilities(0) };
    if let Some(agreed) = compression(asked, login.zstd_level()) {
        client.compress(agreed, Role::Server, context.registry.room())?;
    }
    Ok(())
}
