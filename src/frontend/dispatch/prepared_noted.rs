//! Prepared statements without lock calls at whose executions the proxy looks: KILL in a session with shared connections, and
//! COMMIT, its like and writes, which are fenced.

use std::sync::Arc;

use super::kill::{Kill, run_prepared_kill};
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::locks::commit_fence::{WhichRows, fence, fences, names_locks, write_now};
use crate::frontend::locks::write_fence::{fence_write, fences_writes};
use crate::frontend::prepared::session_id::note_prepared;
use crate::frontend::shared::context::Context;
use crate::frontend::state::statements::Noted;
use crate::protocol::command::Command;
use crate::protocol::frame::HEADER;
use crate::protocol::reader::Reader;
use crate::sql::classify::commits::commit_of;
use crate::sql::classify::writes::{Write, write_of};
use crate::sql::find::words::{mentions, names_connection};
use crate::sql::lexer::dialect::Dialect;

/// Prepares such a statement. `false`: the text is another.
pub(crate) async fn prepare_noted(
    cx: &mut CallContext<'_>,
    packet: &[u8],
) -> Result<bool, CloseReason> {
    let text = packet.get(HEADER + 1..).unwrap_or_default();
    let shared = cx.server.pooled().is_shared();
    let noted = if shared && Kill::read(text).is_some() {
        Some(Noted::Kills(text.into()))
    } else if mentions(text) || shared && names_connection(text) {
        // A text with lock calls, or with the connection's id, needs more than this.
        None
    } else {
        noted_of(cx.context, text, cx.dialect())
    };
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
pub(super) fn noted_of(context: &Context, text: &[u8], dialect: Dialect) -> Option<Noted> {
    let (config, reads) = (&context.config, names_locks(context, text));
    let reads = || reads.then_some(Noted::Reads);
    if !fences(config) {
        return reads();
    }
    let writes = fences_writes(config) && write_of(text, false) == Some(Write::Plain);
    let commits = commit_of(text, dialect).map(Noted::Commits);
    commits.or_else(|| writes.then_some(Noted::Writes)).or_else(reads)
}

/// Carries out a prepared KILL, or fences the execution of another such statement and has the server run it. `false`: it
/// is another command.
pub(crate) async fn execute_noted(
    cx: &mut CallContext<'_>,
    packet: &[u8],
) -> Result<bool, CloseReason> {
    let mut r = Reader::new(packet.get(HEADER..).unwrap_or_default());
    let (Some(byte), Some(id)) = (r.u8(), r.u32()) else { return Ok(false) };
    let noted = cx.statements.noted(id).filter(|_| Command(byte) == Command::STMT_EXECUTE);
    let instead = match noted {
        Some(Noted::Kills(text)) => {
            let text = Arc::clone(text);
            run_prepared_kill(cx, packet, &text).await?;
            return Ok(true);
        }
        Some(Noted::Commits(commit)) => {
            let commit = *commit;
            fence(cx, commit).await?
        }
        Some(Noted::Writes) => {
            if fence_write(cx, packet).await? {
                return Ok(true);
            }
            None
        }
        Some(Noted::Reads) => {
            write_now(cx, WhichRows::All).await?;
            None
        }
        Some(Noted::Asks(_)) | None => return Ok(false),
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
