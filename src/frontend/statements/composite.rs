//! Lock calls inside a larger statement.
//!
//! The calls are carried out one after the other, in the order in which the server would evaluate them. Then the server
//! runs the statement with each call replaced by its value. Where other expressions decide whether a call is evaluated,
//! the server is asked: it runs the statement with a probe in the call's place. A probe is a lock of the proxy's own
//! that tells afterwards whether it was taken ([ADR 12](../../docs/adr/0012-composite-statements.md)).

use tokio::time::Instant;

use super::clock::set_clock;
use super::lock_tables::list_locks;
use super::rewrite::{Edits, Which, edit_for_nothing, look_back, spliced};
use super::run_calls::{Filled, run_calls};
use super::statement::{CallStatement, Flow, columns_of_native};
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::locks::unsupported::refuse_unsupported;
use crate::protocol::command::Command;
use crate::protocol::packet;
use crate::protocol::response::Ending;
use crate::sql::expression::composite::{Composite, Verb};

/// Runs a statement with calls in it.
pub(crate) async fn run_composite(
    cx: &mut CallContext<'_>,
    prefix: &[u8],
    text: &[u8],
    composite: &Composite,
) -> Result<(), CloseReason> {
    if !composite.params.is_empty() {
        // Without PREPARE they are a syntax error.
        return cx.forward_text(prefix, text);
    }
    cx.count(Command::QUERY);
    let mut edits = look_back(cx, composite).await?;
    // Errors in the statement come before any of it runs.
    let reply = cx.prepare_and_close(&text[..composite.end]).await?;
    if reply.is_error() && composite.calls.is_empty() {
        return cx.forward_text(prefix, text);
    }
    match reply.ending {
        Ending::Err { code: 1295 } if composite.verb == Verb::Show => {}
        // No access to a schema that may not be there: MySQL says which when it is run.
        Ending::Err { code: 1044 } if composite.verb == Verb::Show => {
            edits.extend(composite.calls.iter().map(|call| edit_for_nothing(cx, call)));
            let last = spliced(text, 0..text.len(), &edits, Which::Last);
            let packet = packet::command(&[prefix, &last]);
            cx.forget_skipped();
            return cx.forward(&packet);
        }
        Ending::Err { code: 1295 } => {
            return refuse_unsupported(cx, "a lock call in this statement");
        }
        Ending::Err { .. } => {
            cx.forget_skipped();
            return cx.send_client(&reply.bytes);
        }
        Ending::Ok { .. } | Ending::Plain => {}
    }
    let definitions = reply.definitions();
    let definitions = definitions.as_slice();
    edits.extend(list_locks(cx, text, composite, definitions).await?);
    let statement = CallStatement { prefix, text, composite, definitions, values: &[] };
    if run_all_calls(cx, &statement, &mut edits).await? == Flow::Answered {
        return Ok(());
    }
    let last = spliced(text, 0..text.len(), &edits, Which::Last);
    let columns = columns_of_native(cx, &statement, &edits).await?;
    // The statement itself is the last one in the session.
    cx.forget_skipped();
    cx.server.amendments().describe(columns);
    cx.forward_text(prefix, &last)
}

/// How many columns a SELECT INTO has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnCount {
    /// As many as there are variables.
    Fits,
    /// Another number than there are variables: the statement fails.
    Differs,
    /// The number of columns cannot be told.
    Unknown,
}

/// Carries out the calls.
pub(crate) async fn run_all_calls(
    cx: &mut CallContext<'_>,
    statement: &CallStatement<'_>,
    edits: &mut Edits,
) -> Result<Flow, CloseReason> {
    let CallStatement { text, composite, .. } = *statement;
    if composite.calls.is_empty() {
        return Ok(Flow::Continue);
    }
    let columns = count_columns(cx, text, composite).await?;
    if columns == ColumnCount::Unknown {
        refuse_unsupported(cx, "a lock call in a SELECT INTO these variables")?;
        return Ok(Flow::Answered);
    }
    if let Some(why) = composite.explains_uncovered() {
        refuse_unsupported(cx, why)?;
        return Ok(Flow::Answered);
    }
    if composite.verb == Verb::Explain || columns == ColumnCount::Differs {
        edits.extend(composite.calls.iter().map(|call| edit_for_nothing(cx, call)));
        return Ok(Flow::Continue);
    }
    let began = Instant::now();
    Ok(match run_calls(cx, statement, edits).await? {
        Filled::All | Filled::Fails => {
            set_clock(cx, statement, began, edits).await?;
            Flow::Continue
        }
        Filled::Answered => Flow::Answered,
    })
}

/// Whether there are as many columns as variables after INTO: MariaDB finds out only when it
/// runs the statement, and before it evaluates anything.
async fn count_columns(
    cx: &mut CallContext<'_>,
    text: &[u8],
    composite: &Composite,
) -> Result<ColumnCount, CloseReason> {
    let Some((span, variables)) = composite.into.as_ref() else { return Ok(ColumnCount::Fits) };
    let without = [&text[..span.start], &text[span.end..composite.end]].concat();
    let reply = cx.prepare_and_close(&without).await?;
    Ok(if reply.is_error() {
        ColumnCount::Unknown
    } else if reply.definitions().len() == *variables {
        ColumnCount::Fits
    } else {
        ColumnCount::Differs
    })
}
