//! What a statement was prepared in. The server keeps that with a prepared statement, but what is
//! run in its place is read where the session is now.

use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::state::lock_statement::PrepareContext;
use crate::sql::expression::composite::Composite;
use crate::sql::find::words::names_schema;

/// Why a statement is refused that was prepared in others.
pub(crate) const ELSEWHERE: &str =
    "a lock call in a statement that was prepared in another schema, SQL mode or character set";

/// What a text with calls is prepared in; `None` if it means the same everywhere.
pub(crate) async fn context_of(
    cx: &mut CallContext<'_>,
    text: &[u8],
    composite: &Composite,
) -> Result<Option<PrepareContext>, CloseReason> {
    let anywhere = text.is_ascii()
        && !text.iter().any(|b| matches!(b, b'"' | b'\\' | b'|' | b'['))
        && !composite.reads
        && !composite.tables
        && composite.repeatable
        && !names_schema(text);
    if anywhere {
        return Ok(None);
    }
    current_context(cx).await.map(Some)
}

/// Whether a statement is executed where it was prepared.
pub(crate) async fn is_in_context(
    cx: &mut CallContext<'_>,
    prepared: Option<&PrepareContext>,
) -> Result<bool, CloseReason> {
    let Some(prepared) = prepared else { return Ok(true) };
    Ok(current_context(cx).await? == *prepared)
}

async fn current_context(cx: &mut CallContext<'_>) -> Result<PrepareContext, CloseReason> {
    let question = b"SELECT HEX(DATABASE()),@@sql_mode,@@character_set_client";
    Ok(PrepareContext(cx.question_row(question).await?.unwrap_or_default()))
}
