//! Calls in a larger statement that take nothing, so that the server may run them itself.

use super::probe::PREFIX;
use super::rewrite::{Edits, Which, spliced};
use super::statement::CallStatement;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::call_context::CallContext;
use crate::sql::expression::composite::Call;
use crate::types::Flavour;

/// What the server makes of a call that is its own.
pub(crate) enum Native {
    /// NULL.
    TakesNothing,
    /// An error, which ends the statement.
    Fails,
    /// The call may take a lock, so the server must not run it.
    Unclear,
}

/// What the server makes of a call that is its own because it takes nothing. That it takes
/// nothing is asked, not trusted: its lock would belong to no session.
pub(crate) async fn ask_native(
    cx: &mut CallContext<'_>,
    statement: &CallStatement<'_>,
    call: &Call,
    edits: &Edits,
) -> Result<Native, CloseReason> {
    let argument = |nth: usize| {
        let span = call.arguments.get(nth)?.span.clone();
        Some(spliced(statement.text, span, edits, Which::Trial))
    };
    let Some(name) = argument(0) else { return Ok(Native::Unclear) };
    let row = cx.ask_row(&[b"SELECT IS_FREE_LOCK(", name.as_slice(), b")"].concat()).await?;
    match row.as_deref() {
        None => return Ok(Native::Fails),
        Some([None]) => return Ok(Native::TakesNothing),
        Some(_) => {}
    }
    let Some(timeout) = argument(1).filter(|_| cx.flavour() == Flavour::MariaDb) else {
        return Ok(Native::Unclear);
    };
    // MariaDB refuses some timeouts, with a lock of a random name as with any.
    let probe = format!("_utf8mb4'{PREFIX}{:016x}'", rand::random::<u64>());
    let sql = [b"SELECT GET_LOCK(", probe.as_bytes(), b",", timeout.as_slice(), b")"].concat();
    if cx.ask_row(&sql).await?.as_deref() == Some(&[None]) {
        return Ok(Native::TakesNothing);
    }
    cx.question(format!("DO RELEASE_LOCK({probe})").as_bytes()).await?;
    Ok(Native::Unclear)
}
