//! A session that shares its connections, right after its login.

use std::sync::Arc;

use super::seat::{Seat, SeatOf};
use super::state::SessionState;
use crate::backend::connection::Backend;
use crate::backend::pool::PoolKey;
use crate::config::OnLoss;
use crate::engine::handle::{EventSender, SessionEvent};
use crate::engine::shared::current_backend::CurrentBackend;
use crate::frontend::shared::context::{Context, Shared};
use crate::protocol::capabilities::Capabilities;
use crate::sql::lexer::dialect::Dialect;
use crate::types::ProxyId;

/// What a login says, as far as other connections take it over.
#[derive(Debug)]
pub struct LoginAccount {
    /// The incarnation that the server's connection was tagged with.
    pub tag: Option<ProxyId>,
    /// The account's user name.
    pub user: Box<[u8]>,
    /// The first collation.
    pub collation: u8,
    /// The default schema.
    pub schema: Option<Box<[u8]>>,
}

/// A session's first connection and its place in the pool, if sessions share their connections.
pub(crate) fn seated(
    server: Backend,
    account: LoginAccount,
    current: &CurrentBackend,
    events: &EventSender,
    context: &Context,
) -> (Backend, Option<Seat>) {
    let Some(Shared { pool, secrets, programs }) = &context.shared else {
        return (server, None);
    };
    let LoginAccount { tag, user, collation, schema } = account;
    let (capabilities, flavour) = (server.capabilities(), server.flavour());
    let encrypted = server.leg().tls().is_some();
    let key = Arc::new(PoolKey::new(&user, capabilities, encrypted));
    let (same, schemaless) = (Arc::clone(&key), schema.is_none());
    let server = server.shared(same, capabilities, schemaless, tag, pool.adopt());
    let events = events.clone();
    let nudge = Arc::new(move || {
        // A session that has just ended no longer listens.
        let _ = events.send(SessionEvent::GiveBack);
    });
    let several = capabilities.has(Capabilities::MULTI_STATEMENTS);
    let dialect = Dialect::by_default(flavour, server.version());
    let seat = Seat::new(SeatOf {
        pool: pool.clone(),
        key,
        flavour,
        dialect,
        collation,
        tracks: capabilities.has(Capabilities::SESSION_TRACK),
        secrets: Arc::clone(secrets),
        programs: programs.clone(),
        state: SessionState::at_login(schema, several),
        current: current.clone(),
        nudge,
        goes_on: context.config.pooling.on_loss == OnLoss::Error,
        metrics: Arc::clone(&context.metrics),
    });
    (server, Some(seat))
}
