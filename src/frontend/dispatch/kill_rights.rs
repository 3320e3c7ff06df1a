//! Whether a session may end another one that has no connection to the server.
//!
//! Every account may end its own sessions. Of others the server judges: it is told to end the statement, of which there
//! is none, on an idle connection of the same account.

use std::sync::Arc;

use tokio::time::Instant;

use crate::backend::connection::DetachedBackend;
use crate::backend::left::Left;
use crate::backend::pool::PoolKey;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::pooling::open::{NewConnection, open_as};
use crate::frontend::shared::context::{Context, Shared};
use crate::protocol::capabilities::Capabilities;
use crate::protocol::packet;
use crate::protocol::user_name::UserName;

/// The first collation of a connection on which nothing is said: utf8mb4_general_ci.
const COLLATION: u8 = 45;

/// What the server has said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KillRights {
    /// The session may.
    Granted,
    /// It may not, or there is no connection by which the server could tell.
    Refused,
}

/// Whether this session may end those of this user.
pub(super) async fn rights_over(
    cx: &mut CallContext<'_>,
    user: &UserName,
) -> Result<KillRights, CloseReason> {
    if user.certain().is_some() && user == cx.identity.user() {
        return Ok(KillRights::Granted);
    }
    let Some(shared) = cx.context.shared.clone() else { return Ok(KillRights::Refused) };
    let Some(own) = cx.server.pool_key() else { return Ok(KillRights::Refused) };
    let key = Arc::new(own.of_user(user.clone()));
    let (context, capabilities) = (cx.context, cx.capabilities());
    let Some(idle) = idle_connection(context, &shared, &key, capabilities).await else {
        return Ok(KillRights::Refused);
    };
    let question = format!("KILL QUERY {}", idle.id());
    let question = packet::query(question.as_bytes(), cx.capabilities());
    let reply = cx.exchange(&question).await?;
    shared.pool.give(idle);
    Ok(if reply.is_error() { KillRights::Refused } else { KillRights::Granted })
}

/// A connection of this account that works for no session: a free one, or another one beside all of the pool's.
async fn idle_connection(
    context: &Context,
    shared: &Shared,
    key: &Arc<PoolKey>,
    capabilities: Capabilities,
) -> Option<DetachedBackend> {
    while let Some(free) = shared.pool.take_free(&key.user) {
        if free.is_quiet() && !free.is_left() {
            return Some(free);
        }
    }
    let until = Instant::now() + context.config.pooling.wait;
    let wanted = NewConnection { key, collation: COLLATION, secrets: &shared.secrets, until };
    match open_as(context, &wanted, capabilities, shared.pool.adopt(key)).await {
        Ok(backend) => backend.detach(Left::Unknown).ok(),
        Err(why) => {
            tracing::debug!(why, "no connection to ask the server whether a session may be ended");
            None
        }
    }
}
