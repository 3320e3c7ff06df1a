//! Statements in which no call is carried out: they pass, or are refused.

use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::locks::unsupported::refuse_unsupported;
use crate::protocol::command::Command;
use crate::protocol::frame::HEADER;
use crate::protocol::response::Ending;
use crate::seldom::Turn;
use crate::sql::classify::at_prepare::preparing_evaluates;
use crate::sql::classify::{self, Statement};

/// Forwards or refuses a text that is no bare call.
pub(crate) async fn pass_or_refuse(
    cx: &mut CallContext<'_>,
    packet: &[u8],
    text: &[u8],
    statement: &Statement,
) -> Result<(), CloseReason> {
    match statement {
        Statement::Definition => {
            // Another statement may follow what looks like the end of its body.
            if cx.view.several() && !classify::is_single(text, cx.dialect()) {
                let reply = cx.prepare_and_close(text).await?;
                if matches!(reply.ending, Ending::Err { code: 1064 }) {
                    return cx.send_client(&reply.bytes);
                }
            }
            note_definition(cx);
            cx.forward(packet)
        }
        Statement::Executes if !cx.statements.named.any_but_commits() => cx.forward(packet),
        // Bound to a statement id, no server takes PREPARE and EXECUTE.
        Statement::NoCall
        | Statement::PerhapsLists
        | Statement::WrongCount
        | Statement::InTable
        | Statement::Bare(_)
        | Statement::Named(_) => cx.forward(packet),
        Statement::Other
        | Statement::Executes
        | Statement::Composite(_)
        | Statement::Several(_)
        | Statement::Ambiguous => {
            // If the server refuses the text anyway, the client gets that error. No lock is taken.
            let prepares = packet.get(HEADER) == Some(&Command::STMT_PREPARE.0);
            if (prepares || !cx.view.several() || classify::is_single(text, cx.dialect()))
                && let Some(refusal) = try_prepare(cx, text).await?
            {
                return cx.send_client(&refusal);
            }
            refuse_unsupported(cx, "a lock function in this kind of statement")
        }
    }
}

/// Counts a definition whose calls Lockstead will not see.
pub(crate) fn note_definition(cx: &CallContext<'_>) {
    cx.context.metrics.definitions.inc();
    if let Some(Turn { left_out }) = cx.context.lines.definitions.turn() {
        tracing::warn!(
            connection = %cx.identity.connection(),
            left_out,
            "a definition of a stored program or view with a lock call was passed on: its calls take \
             the server's own locks"
        );
    }
}

/// The server's refusal to prepare a text; `None` when it can be prepared, or when it is
/// only the protocol that forbids it.
pub(crate) async fn try_prepare(
    cx: &mut CallContext<'_>,
    text: &[u8],
) -> Result<Option<Vec<u8>>, CloseReason> {
    if preparing_evaluates(text, cx.dialect()) {
        return Ok(None);
    }
    let reply = cx.prepare_and_close(text).await?;
    Ok(match reply.ending {
        Ending::Err { code: 1295 } | Ending::Ok { .. } | Ending::Plain => None,
        Ending::Err { .. } => Some(reply.bytes),
    })
}
