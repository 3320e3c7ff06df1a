//! A session that shares its connections, right after its login.

use std::sync::Arc;

use super::pooled_session::{PooledSession, PooledSessionOf};
use crate::backend::connection::Backend;
use crate::backend::pool::PoolKey;
use crate::backend::session_state::SessionState;
use crate::engine::handle::{EventSender, SessionEvent};
use crate::engine::shared::current_backend::CurrentBackend;
use crate::frontend::shared::context::{Context, Shared};
use crate::net::certificates::LegTls;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::handshake::Login;
use crate::protocol::user_name::UserName;
use crate::sql::lexer::dialect::Dialect;
use crate::types::{Flavour, ProxyId};

/// What a login says, as far as other connections take it over.
#[derive(Debug)]
pub struct LoginAccount {
    /// The incarnation that the server's connection was tagged with.
    pub tag: Option<ProxyId>,
    /// The account's user name.
    pub user: UserName,
    /// How the server's leg is encrypted.
    pub tls: LegTls,
    /// The first collation.
    pub collation: u8,
    /// The default schema.
    pub schema: Option<Box<[u8]>>,
}

impl LoginAccount {
    /// Of a login over a leg that is encrypted so; `tag` is what the server's connection carries.
    pub(crate) fn of(
        login: &Login<'_>,
        flavour: Flavour,
        tls: LegTls,
        tag: Option<ProxyId>,
    ) -> Self {
        Self {
            tag,
            user: login.user_name(flavour),
            tls,
            collation: login.collation,
            schema: Some(login.database).filter(|name| !name.is_empty()).map(Into::into),
        }
    }
}

/// What a pooled session depends on beside its account.
#[derive(Clone, Copy)]
pub(crate) struct LoginAt<'a> {
    /// What client and server speak.
    pub capabilities: Capabilities,
    pub flavour: Flavour,
    /// The server's version.
    pub version: u32,
    pub current: &'a CurrentBackend,
    pub events: &'a EventSender,
    pub context: &'a Context,
}

/// The first connection of a session, which is the pool's, if sessions share their connections.
pub(crate) fn logged_in(
    server: Backend,
    account: LoginAccount,
    current: &CurrentBackend,
    events: &EventSender,
    context: &Context,
) -> (Backend, Option<PooledSession>) {
    let Some(shared) = &context.shared else {
        return (server, None);
    };
    let (capabilities, tag) = (server.capabilities(), account.tag);
    let (flavour, version) = (server.flavour(), server.version());
    let schemaless = account.schema.is_none();
    let at = LoginAt { capabilities, flavour, version, current, events, context };
    let pooled = session_of(account, shared, at);
    let key = Arc::clone(pooled.account.key());
    let permit = shared.pool.adopt(&key);
    let server = server.shared(key, capabilities, schemaless, tag, permit);
    (server, Some(pooled))
}

/// A session that has no connection yet.
pub(crate) fn without_connection(account: LoginAccount, at: LoginAt<'_>) -> Option<PooledSession> {
    let shared = at.context.shared.as_ref()?;
    Some(session_of(account, shared, at))
}

fn session_of(account: LoginAccount, shared: &Shared, at: LoginAt<'_>) -> PooledSession {
    let LoginAt { capabilities, flavour, version, current, events, context } = at;
    let Shared { pool, secrets, programs, audits, .. } = shared;
    let LoginAccount { user, tls, collation, schema, .. } = account;
    let events = events.clone();
    let nudge = Arc::new(move || {
        // A session that has just ended no longer listens.
        let _ = events.send(SessionEvent::GiveBack);
    });
    let several = capabilities.has(Capabilities::MULTI_STATEMENTS);
    PooledSession::new(PooledSessionOf {
        pool: pool.clone(),
        key: Arc::new(PoolKey::new(user, capabilities, tls, pool.accounts_as_of())),
        flavour,
        dialect: Dialect::by_default(flavour, version),
        collation,
        tracks: capabilities.has(Capabilities::SESSION_TRACK),
        secrets: Arc::clone(secrets),
        programs: programs.clone(),
        audits: audits.clone(),
        state: SessionState::at_login(schema, several),
        current: current.clone(),
        nudge,
        metrics: Arc::clone(&context.metrics),
    })
}
