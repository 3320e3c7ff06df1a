//! A write with autocommit of a session that holds locks: it runs in a transaction of the proxy's, whose COMMIT is fenced.
//!
//! The question comes after the write. Before it, the rows would stay locked for as long as the write takes, and with them
//! all claims of the proxies that come to them.

use super::attend::attend;
use super::call_context::CallContext;
use super::commit_fence::{count, put_question};
use crate::config::{Config, FencedCommit};
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::question::Whose;
use crate::frontend::link::reply::Reply;
use crate::protocol::command::Command;
use crate::protocol::frame::HEADER;
use crate::protocol::packet;
use crate::protocol::session_track::ended;
use crate::protocol::status::Status;

/// How often autocommit is switched on again if the first time fails.
const TRIES: usize = 3;

/// Whether single writes are fenced.
pub(crate) fn fences_writes(config: &Config) -> bool {
    config.fenced_commit == FencedCommit::All
}

/// Has the server run a write, in a transaction that is fenced, if it commits by itself. `false`: it was not sent.
pub(crate) async fn fence_write(
    cx: &mut CallContext<'_>,
    packet: &[u8],
) -> Result<bool, CloseReason> {
    if !fences_writes(&cx.context.config) || cx.locks.ledger().held().is_empty() {
        return Ok(false);
    }
    cx.settle().await?;
    if !is_between(cx).await? {
        return Ok(false);
    }
    if cx.context.lines.unfenced.has(cx.identity.certain_owner()) {
        count(cx, "denied");
        return Ok(false);
    }
    // After a BEGIN tables would be unlocked, and what SET TRANSACTION says of the next transaction would be used up.
    if unseen(cx, &["SET autocommit=0"], false).await?.is_error() {
        count(cx, "unfenced");
        return Ok(false);
    }
    cx.forget_skipped();
    let command = Command(packet.get(HEADER).copied().unwrap_or(0));
    cx.count(command);
    let write = cx.exchange(packet).await?;
    attend(cx.locks, cx.context, cx.server.keep_diagnostics()).await?;
    let answer = settle_write(cx, write).await?;
    // A KILL QUERY may have ended the statement that switches autocommit on.
    for _ in 0..TRIES {
        if !cx.server.status().flags().has(Status::AUTOCOMMIT) {
            back(cx).await?;
        }
    }
    if !cx.server.status().flags().has(Status::AUTOCOMMIT) {
        return Err(CloseReason::Broken("autocommit could not be switched on again"));
    }
    cx.send_client(&answer)?;
    Ok(true)
}

/// Whether the session is in no transaction, and a write would commit.
async fn is_between(cx: &mut CallContext<'_>) -> Result<bool, CloseReason> {
    let apart = |status: Status| status.has(Status::AUTOCOMMIT) && !status.has(Status::IN_TRANS);
    if apart(cx.server.status().flags()) && cx.server.status().may_have_changes() {
        // After an error only the server knows whether a transaction is open.
        attend(
            cx.locks,
            cx.context,
            cx.server.exchange_unseen(vec![packet::ping()], true, Whose::Proxy),
        )
        .await?;
    }
    Ok(apart(cx.server.status().flags()) && !cx.server.status().may_have_changes())
}

/// Commits a write, or takes it back: what its client hears.
async fn settle_write(cx: &mut CallContext<'_>, write: Reply) -> Result<Vec<u8>, CloseReason> {
    if write.is_error() {
        back(cx).await?;
        return Ok(write.bytes);
    }
    let mut instead = None;
    if cx.server.status().flags().has(Status::IN_TRANS) {
        instead = put_question(cx).await?;
    } else {
        // A write to tables without transactions is made already.
        count(cx, "unfenced");
    }
    if let Some(error) = instead {
        back(cx).await?;
        return Ok(error);
    }
    // If the COMMIT fails, the switch commits nothing.
    let ends =
        ["COMMIT AND NO CHAIN NO RELEASE", "ROLLBACK AND NO CHAIN NO RELEASE", "SET autocommit=1"];
    let commit = unseen(cx, &ends, false).await?;
    if commit.is_error() {
        return Ok(commit.bytes);
    }
    Ok(ended(&write.bytes, &commit.bytes, cx.capabilities()))
}

/// Takes the write back.
async fn back(cx: &mut CallContext<'_>) -> Result<(), CloseReason> {
    let ends = ["ROLLBACK AND NO CHAIN NO RELEASE", "SET autocommit=1"];
    unseen(cx, &ends, true).await.map(|_| ())
}

/// Runs statements of the proxy's own; `undone`: if the connection ends, nothing of them is left. The first reply.
async fn unseen(
    cx: &mut CallContext<'_>,
    texts: &[&str],
    undone: bool,
) -> Result<Reply, CloseReason> {
    let packet = |text: &&str| packet::query(text.as_bytes(), cx.capabilities());
    let packets = texts.iter().map(packet).collect();
    // The commit or rollback may take as long as the write did, so the session hears events meanwhile.
    attend(cx.locks, cx.context, cx.server.exchange_unseen(packets, undone, Whose::Client)).await
}
