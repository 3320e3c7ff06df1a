//! KILL as a prepared statement, of a session with shared connections.

use std::sync::Arc;

use super::kill::{Kill, run_prepared_kill};
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::prepared::session_id::note_prepared;
use crate::frontend::state::statements::Noted;
use crate::protocol::command::Command;
use crate::protocol::frame::HEADER;
use crate::protocol::reader::Reader;

/// Prepares a KILL with a number. `false`: the text is another.
pub(crate) async fn prepare_kill(
    cx: &mut CallContext<'_>,
    packet: &[u8],
) -> Result<bool, CloseReason> {
    let text = packet.get(HEADER + 1..).unwrap_or_default();
    if !cx.server.pooled().is_shared() || Kill::read(text).is_none() {
        return Ok(false);
    }
    cx.count(Command::STMT_PREPARE);
    cx.settle_skipped().await?;
    let reply = cx.exchange_prepare(packet).await?;
    match reply.prepared() {
        Some(ok) => note_prepared(cx, ok.id, Noted::Kills(text.into()), &reply.bytes)?,
        None => cx.send_client(&reply.bytes)?,
    }
    Ok(true)
}

/// Carries out a prepared KILL, if this is the execution of one. `false`: it is another command.
pub(crate) async fn execute_kill(
    cx: &mut CallContext<'_>,
    packet: &[u8],
) -> Result<bool, CloseReason> {
    let mut r = Reader::new(packet.get(HEADER..).unwrap_or_default());
    let (Some(byte), Some(id)) = (r.u8(), r.u32()) else { return Ok(false) };
    let (Command::STMT_EXECUTE, Some(Noted::Kills(text))) =
        (Command(byte), cx.statements.noted(id))
    else {
        return Ok(false);
    };
    let text = Arc::clone(text);
    run_prepared_kill(cx, packet, &text).await?;
    Ok(true)
}
