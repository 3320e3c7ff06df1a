//! KILL with an id that the server computes: it does so in a query, with the session's own ids in their places.

use std::ops::Range;

use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::statements::rewrite::{Which, id_edits, spliced};
use crate::sql::classify::as_composite;
use crate::sql::expression::composite::{Composite, Verb};

/// What goes before the expression and after it. Texts without the id or something of its kind are not read.
const AROUND: [&[u8]; 2] = [b"SELECT CAST((", b") AS SIGNED),CONNECTION_ID()"];

/// The text of a KILL with a number in place of the expression in `span`. `None`: it stays as it is, and the server answers.
pub(super) async fn computed(
    cx: &mut CallContext<'_>,
    text: &[u8],
    span: &Range<usize>,
) -> Result<Option<Vec<u8>>, CloseReason> {
    let [before, after] = AROUND;
    let question = [before, &text[span.clone()], after].concat();
    let Some(composite) = as_composite(&question, cx.dialect()) else { return Ok(None) };
    let edits = id_edits(cx, &composite);
    let mut number = None;
    if is_calm(&composite, question.len()) && is_kill(cx, text).await? {
        let reply = cx.ask(&spliced(&question, 0..question.len(), &edits, Which::Last)).await?;
        number = reply.values().and_then(|row| row.into_iter().next().flatten());
    }
    let inside = before.len()..question.len() - after.len();
    let names_itself = edits.iter().any(|edit| inside.contains(&edit.span.start));
    // The id of the session's connection, or one near it, may be that of another session's.
    let own = || names_itself.then(|| spliced(&question, inside, &edits, Which::Last));
    let victim = number.or_else(own);
    Ok(victim.map(|victim| [&text[..span.start], &victim, &text[span.end..]].concat()))
}

/// Whether the server may compute it again: it reads nothing, and changes nothing.
fn is_calm(composite: &Composite, length: usize) -> bool {
    composite.verb == Verb::Rows
        && composite.repeatable
        && !composite.tables
        && composite.calls.is_empty()
        && composite.params.is_empty()
        && composite.into.is_none()
        && composite.looks_back.iter().all(|(_, back)| back.is_id())
        && composite.end == length
}

/// Whether the server takes the text for a statement.
async fn is_kill(cx: &mut CallContext<'_>, text: &[u8]) -> Result<bool, CloseReason> {
    Ok(!cx.prepare_and_close(text).await?.is_error())
}
