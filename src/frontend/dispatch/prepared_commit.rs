//! COMMIT and the like as a prepared statement: its execution is fenced.

use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::locks::commit_fence::{fence, fences};
use crate::frontend::prepared::session_id::note_prepared;
use crate::frontend::state::statements::Noted;
use crate::protocol::command::Command;
use crate::protocol::frame::HEADER;
use crate::protocol::reader::Reader;
use crate::sql::classify::commits::commit_of;
use crate::sql::find::words::{mentions, names_connection};

/// Prepares a statement that commits. `false`: the text is another.
pub(crate) async fn prepare_commit(
    cx: &mut CallContext<'_>,
    packet: &[u8],
) -> Result<bool, CloseReason> {
    let text = packet.get(HEADER + 1..).unwrap_or_default();
    // Those are more than commits.
    let more = mentions(text) || cx.server.is_shared() && names_connection(text);
    let commit = commit_of(text, cx.dialect()).filter(|_| !more && fences(&cx.context.config));
    let Some(commit) = commit else { return Ok(false) };
    cx.count(Command::STMT_PREPARE);
    cx.settle_skipped().await?;
    let reply = cx.exchange_prepare(packet).await?;
    match reply.prepared() {
        Some(ok) => note_prepared(cx, ok.id, Noted::Commits(commit), &reply.bytes)?,
        None => cx.send_client(&reply.bytes)?,
    }
    Ok(true)
}

/// Fences the execution of such a statement, and has the server run it. `false`: it is another command.
pub(crate) async fn execute_commit(
    cx: &mut CallContext<'_>,
    packet: &[u8],
) -> Result<bool, CloseReason> {
    let mut r = Reader::new(packet.get(HEADER..).unwrap_or_default());
    let (Some(byte), Some(id)) = (r.u8(), r.u32()) else { return Ok(false) };
    let (Command::STMT_EXECUTE, Some(&Noted::Commits(commit))) =
        (Command(byte), cx.statements.noted(id))
    else {
        return Ok(false);
    };
    match fence(cx, commit).await? {
        Some(error) => {
            cx.count(Command::STMT_EXECUTE);
            cx.send_client(&error)?;
        }
        None => cx.forward(packet)?,
    }
    Ok(true)
}
