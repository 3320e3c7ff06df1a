//! Packets of prepared lock calls that are too long to be held back.
//!
//! A name of that length is refused by every server, so the packet may go there as it is. Anything
//! else is not looked at: the client hears that it is too long.

use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::from_client::CommandAction;
use crate::frontend::link::input::Dropped;
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::locks::unsupported::{Decision, note_unsupported};
use crate::frontend::state::lock_statement::LockStatement;
use crate::frontend::state::statements::Statements;
use crate::lock::codes;
use crate::net::buffers::BUFFER;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::Command;
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::params::first_value;
use crate::protocol::reply::ErrorReply;

/// The types of all parameters stand within this many bytes, or are not looked for.
const HEAD: usize = 4096;
/// No server takes a name of more bytes, in whatever character set.
const MAX_NAME: u64 = 1024;
/// Why an execution is refused of which the values are not kept.
pub(crate) const LONG_PARAMETERS: &str = "parameters of a lock call longer than 64 KiB";

/// The refusal of an execution that is too long to be looked at.
pub(crate) fn too_long(command: Command) -> ErrorReply {
    codes::unsupported(if command == Command::MARIADB_BULK_EXECUTE {
        "a lock call in a bulk execution"
    } else {
        LONG_PARAMETERS
    })
}

/// Decides about a long packet for a prepared lock call.
pub(crate) fn decide_long(
    statements: &mut Statements,
    capabilities: Capabilities,
    id: u32,
    bytes: &[u8],
) -> Result<CommandAction, CloseReason> {
    if bytes.len() < HEAD.min(BUFFER) {
        return Ok(CommandAction::Incomplete);
    }
    let payload = &bytes[HEADER..];
    match Command(payload[0]) {
        Command::STMT_SEND_LONG_DATA => {
            let index = usize::from(u16::from_le_bytes([payload[5], payload[6]]));
            long_data_beyond_limit(statements, id, index);
            Ok(CommandAction::Forward(None))
        }
        Command::STMT_EXECUTE if has_too_long_a_name(statements, capabilities, id, payload) => {
            Ok(CommandAction::Forward(None))
        }
        Command::STMT_EXECUTE | Command::MARIADB_BULK_EXECUTE => Ok(CommandAction::Drop(id)),
        _ => Err(CloseReason::Broken("a long packet for a prepared statement")),
    }
}

fn has_too_long_a_name(
    statements: &mut Statements,
    capabilities: Capabilities,
    id: u32,
    payload: &[u8],
) -> bool {
    let attributes = capabilities.has(Capabilities::QUERY_ATTRIBUTES);
    let Some(statement) = statements.get_mut(id) else {
        return false;
    };
    if !statement.name_is_sent_with_execution() {
        return false;
    }
    match first_value(payload, statement.params(), attributes) {
        Some((types, length)) if length > MAX_NAME => {
            statement.run_by_server(types);
            true
        }
        _ => false,
    }
}

/// Answers what was dropped.
pub(crate) async fn refuse_dropped(
    cx: &mut CallContext<'_>,
    dropped: Dropped,
) -> Result<(), CloseReason> {
    cx.count(dropped.command);
    if let Some(refusal) = cx.server.pooled_mut().take_refusal(dropped.id, dropped.command) {
        return refuse_away(cx, dropped, &refusal);
    }
    if !cx.statements.contains(dropped.id) {
        // As after any failed execution, nothing is left of what was sent ahead of it.
        cx.reset_statement(dropped.id).await?;
        let mut out = Vec::new();
        codes::types_do_not_fit().encode(&mut out, dropped.seq.wrapping_add(1), false);
        return cx.send_client(&out);
    }
    let text = cx.statements.get(dropped.id).map(|s| s.text.clone()).unwrap_or_default();
    let why = "a long packet for a prepared lock call";
    note_unsupported(cx, why, &text, Decision::Refused);
    forget_long_data(cx, dropped.id).await?;
    let mut out = Vec::new();
    too_long(dropped.command).encode(&mut out, dropped.seq.wrapping_add(1), false);
    cx.send_client(&out)
}

/// Answers what was for a statement that could not be prepared again, with the payload of the server's error packet.
fn refuse_away(
    cx: &mut CallContext<'_>,
    dropped: Dropped,
    refusal: &[u8],
) -> Result<(), CloseReason> {
    if dropped.command.is_unanswered() {
        return Ok(());
    }
    if let Some(statement) = cx.statements.get_mut(dropped.id) {
        // The server has none.
        statement.forget_long_data();
    }
    let mut out = Vec::with_capacity(HEADER + refusal.len());
    put_frame(&mut out, dropped.seq.wrapping_add(1), refusal);
    cx.send_client(&out)
}

/// Long data that is not kept came for a parameter.
pub(crate) fn long_data_beyond_limit(statements: &mut Statements, id: u32, index: usize) {
    if let Some(statement) = statements.get_mut(id) {
        statement.keep_long_data(index, &[], 0);
        if index < statement.params && !statement.beyond.contains(&index) {
            statement.beyond.push(index);
        }
    }
}

/// Forgets the long data of an execution that the server does not see.
pub(crate) async fn forget_long_data(cx: &mut CallContext<'_>, id: u32) -> Result<(), CloseReason> {
    if cx.statements.get_mut(id).is_some_and(LockStatement::forget_long_data) {
        cx.reset_statement(cx.statements.meant(id)).await?;
    }
    Ok(())
}
