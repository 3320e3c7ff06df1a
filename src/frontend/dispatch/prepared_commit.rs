//! COMMIT and the like, and writes, as prepared statements: their executions are fenced.

use crate::config::Config;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::locks::commit_fence::{fence, fences};
use crate::frontend::locks::write_fence::{fence_write, fences_writes};
use crate::frontend::prepared::session_id::note_prepared;
use crate::frontend::state::statements::Noted;
use crate::protocol::command::Command;
use crate::protocol::frame::HEADER;
use crate::protocol::reader::Reader;
use crate::sql::classify::commits::commit_of;
use crate::sql::classify::writes::{Write, write_of};
use crate::sql::find::words::{mentions, names_connection};
use crate::sql::lexer::dialect::Dialect;

/// Prepares a statement that commits, or writes. `false`: the text is another.
pub(crate) async fn prepare_commit(
    cx: &mut CallContext<'_>,
    packet: &[u8],
) -> Result<bool, CloseReason> {
    let text = packet.get(HEADER + 1..).unwrap_or_default();
    // A text with lock calls, or with the connection's id, needs more than this.
    let more = mentions(text) || cx.server.pooled().is_shared() && names_connection(text);
    let noted = noted_of(&cx.context.config, text, cx.dialect()).filter(|_| !more);
    let Some(noted) = noted else { return Ok(false) };
    cx.count(Command::STMT_PREPARE);
    cx.settle_skipped().await?;
    let reply = cx.exchange_prepare(packet).await?;
    match reply.prepared() {
        Some(ok) => note_prepared(cx, ok.id, noted, &reply.bytes)?,
        None => cx.send_client(&reply.bytes)?,
    }
    Ok(true)
}

/// What is to be known of a prepared statement whose executions are fenced.
pub(super) fn noted_of(config: &Config, text: &[u8], dialect: Dialect) -> Option<Noted> {
    if !fences(config) {
        return None;
    }
    let writes = fences_writes(config) && write_of(text, false) == Some(Write::Plain);
    commit_of(text, dialect).map(Noted::Commits).or_else(|| writes.then_some(Noted::Writes))
}

/// Fences the execution of such a statement, and has the server run it. `false`: it is another command.
pub(crate) async fn execute_commit(
    cx: &mut CallContext<'_>,
    packet: &[u8],
) -> Result<bool, CloseReason> {
    let mut r = Reader::new(packet.get(HEADER..).unwrap_or_default());
    let (Some(byte), Some(id)) = (r.u8(), r.u32()) else { return Ok(false) };
    let commit = match (Command(byte), cx.statements.noted(id)) {
        (Command::STMT_EXECUTE, Some(Noted::Commits(commit))) => Some(*commit),
        (Command::STMT_EXECUTE, Some(Noted::Writes)) => None,
        _ => return Ok(false),
    };
    let instead = match commit {
        Some(commit) => fence(cx, commit).await?,
        None if fence_write(cx, packet).await? => return Ok(true),
        None => None,
    };
    match instead {
        Some(error) => {
            cx.count(Command::STMT_EXECUTE);
            cx.send_client(&error)?;
        }
        None => cx.forward(packet)?,
    }
    Ok(true)
}
