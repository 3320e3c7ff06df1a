//! What the session holds: entering grants, releasing, and looking at the locks of others.

use super::call_context::CallContext;
use crate::engine::handle::{Grant, Look};
use crate::frontend::link::close_reason::CloseReason;
use crate::lock::held::Release;
use crate::lock::name::Key;

/// Who holds a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Holder {
    /// Nobody.
    None,
    /// This connection.
    Connection(u64),
    /// The lock tables did not say, for this reason.
    Unknown(String),
}

/// Enters a grant into the ledger.
pub(crate) fn enter_grant(
    cx: &mut CallContext<'_>,
    key: Key,
    grant: Grant,
) -> Result<(), CloseReason> {
    if !cx.locks.ledger_mut().enter(key.clone(), grant) {
        cx.locks.release_when_gone(vec![(key, grant.token)], grant.proxy);
        return Err(CloseReason::Fenced);
    }
    cx.server.bound_silence();
    Ok(())
}

/// RELEASE_LOCK: whether it was released, if the session held it; else who holds it.
pub(crate) async fn release_lock(
    cx: &mut CallContext<'_>,
    key: Key,
) -> Result<Result<(), Holder>, CloseReason> {
    match cx.locks.ledger_mut().release(&key) {
        Release::Counted => {
            cx.check_lease().await?;
            Ok(Ok(()))
        }
        Release::Last(token) => {
            release(cx, vec![(key.clone(), token)]).await?;
            cx.locks.ledger_mut().forget(&key);
            Ok(Ok(()))
        }
        Release::NotMine => Ok(Err(look_at(cx, key).await?)),
    }
}

/// Releases everything; the number of acquisitions there were.
pub(crate) async fn release_held(cx: &mut CallContext<'_>) -> Result<u64, CloseReason> {
    let (count, locks) = cx.locks.ledger_mut().take_all();
    if !locks.is_empty() {
        release(cx, locks).await?;
    }
    Ok(count)
}

async fn release(cx: &mut CallContext<'_>, locks: Vec<(Key, u64)>) -> Result<(), CloseReason> {
    let Some(proxy) = cx.locks.ledger().granted_by() else {
        return Ok(());
    };
    cx.locks.release(locks, proxy).await;
    // Released, or lost with the lease: the difference decides what the client hears.
    cx.check_lease_of(proxy).await?;
    // Or lost before, which the engine has said by now.
    while let Some(event) = cx.locks.told_now() {
        cx.hear(event)?;
    }
    Ok(())
}

/// Looks at a lock.
pub(crate) async fn look_at(cx: &mut CallContext<'_>, key: Key) -> Result<Holder, CloseReason> {
    if cx.locks.ledger().held().contains(&key) {
        cx.check_lease().await?;
        return Ok(Holder::Connection(cx.identity.connection().0));
    }
    let mut look = cx.locks.look(key);
    let look = loop {
        tokio::select! {
            biased;
            look = &mut look => break look,
            // Others may look for this session meanwhile.
            event = cx.locks.told() => cx.hear(event)?,
        }
    };
    Ok(match look {
        Look::Free => Holder::None,
        Look::Used(conn) => Holder::Connection(conn.0),
        Look::Failed(why) => Holder::Unknown(why),
    })
}
