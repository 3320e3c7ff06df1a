//! Whether a session may end another one.
//!
//! Every account may end its own sessions. To end those of others takes a privilege, and the server says which of them
//! the session has in force. For a session without the privilege, the server answers only that question. Only MySQL's
//! SYSTEM_USER depends on the other account, too. If the session lacks it, the server gets a KILL QUERY for an idle
//! connection of that account, where there is no statement to end.

use std::sync::Arc;

use tokio::time::Instant;

use crate::backend::connection::DetachedBackend;
use crate::backend::left::Left;
use crate::backend::pool::PoolKey;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::reply::Reply;
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::pooling::open::{NewConnection, open_as};
use crate::frontend::shared::context::{Context, Shared};
use crate::protocol::capabilities::Capabilities;
use crate::protocol::user_name::UserName;
use crate::sql::lexer::dialect::Dialect;
use crate::types::Flavour;

/// The first collation of a connection on which nothing is said: utf8mb4_general_ci.
const COLLATION: u8 = 45;
/// The first version of MariaDB where SUPER does not include CONNECTION ADMIN.
const SUPER_IS_LESS: u32 = 110_000;

/// What the server has said.
#[derive(Debug)]
pub(super) enum KillRights {
    /// The session may.
    Granted,
    /// The session may not, or there is no connection by which the server could tell.
    Refused,
    /// The session may ask nothing now; the server's error says why.
    Untold(Reply),
}

/// What the privileges of a session allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Power {
    /// The right to end sessions of others.
    others: bool,
    /// The right to end sessions of accounts with SYSTEM_USER, too.
    system_users: bool,
}

impl Power {
    /// By what SHOW GRANTS says of the account and its active roles.
    fn of(grants: impl Iterator<Item = Vec<u8>>, dialect: Dialect) -> Self {
        let mariadb = dialect.flavour == Flavour::MariaDb;
        let mut power = Self { others: false, system_users: mariadb };
        for grant in grants {
            let listed = global_privileges(&grant).unwrap_or_default();
            for privilege in listed.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
                match privilege {
                    b"ALL PRIVILEGES" | b"CONNECTION_ADMIN" | b"CONNECTION ADMIN" => {
                        power.others = true;
                    }
                    b"SUPER" => power.others |= !mariadb || dialect.version < SUPER_IS_LESS,
                    b"SYSTEM_USER" => power.system_users = true,
                    _ => {}
                }
            }
        }
        power
    }
}

/// The privileges in a GRANT for all schemas. Names, which others choose, come after them, or they are in quotes.
fn global_privileges(grant: &[u8]) -> Option<&[u8]> {
    let rest = grant.strip_prefix(b"GRANT ")?;
    let listed = &rest[..memchr::memmem::find(rest, b" ON *.* TO ")?];
    let plain = |b: &u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b"_ ,".contains(b);
    listed.iter().all(plain).then_some(listed)
}

/// Whether this session may end those of this user.
pub(super) async fn rights_over(
    cx: &mut CallContext<'_>,
    user: &UserName,
) -> Result<KillRights, CloseReason> {
    if user.certain().is_some() && user == cx.identity.user() {
        return Ok(KillRights::Granted);
    }
    let told = cx.question(b"SHOW GRANTS").await?;
    if told.is_error() {
        return Ok(KillRights::Untold(told));
    }
    match Power::of(told.first_values(), cx.dialect()) {
        Power { others: false, .. } => Ok(KillRights::Refused),
        Power { system_users: true, .. } => Ok(KillRights::Granted),
        Power { system_users: false, .. } => judged_by_example(cx, user).await,
    }
}

/// Has the server judge it by another connection of the user's, which does nothing.
async fn judged_by_example(
    cx: &mut CallContext<'_>,
    user: &UserName,
) -> Result<KillRights, CloseReason> {
    let Some(shared) = cx.context.shared.clone() else { return Ok(KillRights::Refused) };
    let Some(own) = cx.server.pooled().key() else { return Ok(KillRights::Refused) };
    let key = Arc::new(own.of_user(user.clone(), shared.pool.accounts_as_of()));
    let (context, capabilities) = (cx.context, cx.capabilities());
    let Some(idle) = idle_connection(context, &shared, &key, capabilities).await else {
        return Ok(KillRights::Refused);
    };
    let question = format!("KILL QUERY {}", idle.id());
    let reply = cx.question(question.as_bytes()).await?;
    shared.pool.give(idle);
    Ok(if reply.is_error() { KillRights::Refused } else { KillRights::Granted })
}

/// A connection of this account that works for no session: a free one, or another one beside all of the pool's. Others
/// are opened one after the other, with a pause.
async fn idle_connection(
    context: &Context,
    shared: &Shared,
    key: &Arc<PoolKey>,
    capabilities: Capabilities,
) -> Option<DetachedBackend> {
    let free = || {
        std::iter::from_fn(|| shared.pool.take_free(&key.user))
            .find(|free| free.is_quiet() && !free.is_left())
    };
    if let Some(free) = free() {
        return Some(free);
    }
    shared.examples.turn().await;
    // The session before this one may have opened a connection.
    if let Some(free) = free() {
        return Some(free);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn privileges_count_where_they_are_global_and_in_the_version() {
        let of = |grants: &[&str], flavour, version| {
            let grants = grants.iter().map(|grant| grant.as_bytes().to_vec());
            let Power { others, system_users } =
                Power::of(grants, Dialect::by_default(flavour, version));
            (others, system_users)
        };
        let (mysql, mariadb) = (Flavour::MySql, Flavour::MariaDb);
        for (grants, power) in [
            (&["GRANT USAGE ON *.* TO `a`@`%`"][..], (false, false)),
            (&["GRANT SELECT, PROCESS, SUPER ON *.* TO `a`@`%`"], (true, false)),
            (&["GRANT AUDIT_ADMIN,CONNECTION_ADMIN,SYSTEM_USER ON *.* TO `a`@`%`"], (true, true)),
            (&["GRANT SYSTEM_USER ON *.* TO `a`@`%`"], (false, true)),
            (&["GRANT SELECT (`SUPER ON *.* TO `) ON `d`.`t` TO `a`@`%`"], (false, false)),
            (&["GRANT SELECT (`,SUPER, ON *.* TO `) ON `d`.`t` TO `a`@`%`"], (false, false)),
            (&["GRANT `SUPER`@`%` TO `a`@`%`", "REVOKE SUPER ON *.* FROM a"], (false, false)),
            (&["GRANT ALL PRIVILEGES ON `d`.* TO ` ON *.* TO `@`%`"], (false, false)),
        ] {
            assert_eq!(of(grants, mysql, 90_700), power, "{grants:?}");
        }
        for (grant, old, new) in [
            ("GRANT SUPER ON *.* TO `a`@`%` IDENTIFIED BY PASSWORD '*1'", true, false),
            ("GRANT CONNECTION ADMIN ON *.* TO `a_role`", true, true),
            ("GRANT ALL PRIVILEGES ON *.* TO `a`@`%` WITH GRANT OPTION", true, true),
            ("GRANT READ_ONLY ADMIN, PROCESS ON *.* TO `a`@`%`", false, false),
        ] {
            assert_eq!(of(&[grant], mariadb, 101_119), (old, true), "{grant}");
            assert_eq!(of(&[grant], mariadb, 110_809), (new, true), "{grant}");
        }
    }
}
