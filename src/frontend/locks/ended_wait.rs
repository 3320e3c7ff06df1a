//! The answer to a wait that ended without a decision and ended its statement. The server's own error comes in the
//! server's own diagnostics, after the columns that it would have sent.

use super::bare_call::CallInPacket;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::reply::{Reply, frames, is_end};
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::locks::reply::patch_reply;
use crate::frontend::locks::reply::source_name;
use crate::lock::codes;
use crate::lock::function::Function;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::column::is_definition;
use crate::protocol::frame::{HEADER, put_frame};
use crate::types::Flavour;

/// Why a wait ended its statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndedWait {
    /// The wait was given up to end a deadlock.
    Deadlock,
    /// KILL QUERY ended the wait, of which the server does not know. Only on MySQL: MariaDB's statements go on with
    /// NULL.
    Interrupted,
}

/// Answers a text call.
pub(crate) async fn answer_ended_wait(
    cx: &mut CallContext<'_>,
    call: &CallInPacket<'_>,
    why: EndedWait,
) -> Result<(), CloseReason> {
    if call.bare.is_do {
        return say_ended_wait(cx, why, &[], false, true).await;
    }
    let name = source_name(cx, call).await?;
    let expression = Function::GetLock.value_expression(cx.flavour(), None, &[]);
    let reply = cx.exchange(&call.spliced(&expression)).await?;
    let bytes = patch_reply(cx, call, name.as_deref(), &reply);
    say_ended_wait(cx, why, &bytes, false, false).await
}

/// Sends the error after the columns of `reply`, which is one with a row, or empty.
pub(crate) async fn say_ended_wait(
    cx: &mut CallContext<'_>,
    why: EndedWait,
    reply: &[u8],
    cursor: bool,
    is_do: bool,
) -> Result<(), CloseReason> {
    let mariadb = cx.flavour() == Flavour::MariaDb;
    if mariadb && why == EndedWait::Deadlock {
        // The more often it gives up, the later it is again.
        cx.locks.ledger_mut().note_deadlock();
    }
    let signal = match why {
        // To MariaDB's DO an error is a warning.
        EndedWait::Deadlock => codes::deadlock(cx.flavour(), is_do && mariadb),
        EndedWait::Interrupted => codes::INTERRUPTED.to_owned(),
    };
    let_server_say(cx, &signal, reply, cursor).await
}

/// Has the server raise an error, and sends it after the columns of `reply`.
pub(crate) async fn let_server_say(
    cx: &mut CallContext<'_>,
    signal: &str,
    reply: &[u8],
    cursor: bool,
) -> Result<(), CloseReason> {
    // The skipped statements are caught up for the client's next statement, which must not undo this one.
    cx.server.replay_skipped()?;
    let said = cx.question(signal.as_bytes()).await?;
    say_after_columns(cx, reply, cursor, &said)
}

/// Sends what the server said last after the columns of `reply`.
pub(crate) fn say_after_columns(
    cx: &mut CallContext<'_>,
    reply: &[u8],
    cursor: bool,
    said: &Reply,
) -> Result<(), CloseReason> {
    let mut out = Vec::with_capacity(reply.len() + said.bytes.len());
    let mut seq = 1;
    // Nothing was opened when a cursor fails.
    let eof = !cursor && !cx.capabilities().has(Capabilities::DEPRECATE_EOF);
    for frame in columns(reply, eof) {
        out.extend_from_slice(frame);
        seq += 1;
    }
    if let Some(error) = said.frames().last() {
        put_frame(&mut out, seq, &error[HEADER..]);
    }
    cx.send_client(&out)
}

/// The frames of a result set before its rows; with `eof`, one after the definitions.
fn columns(reply: &[u8], eof: bool) -> impl Iterator<Item = &[u8]> {
    let mut defined = false;
    let mut closed = false;
    frames(reply).take_while(move |frame| {
        let definition = is_definition(&frame[HEADER..]);
        let first = !defined && !definition;
        let end = eof && defined && !definition && !closed && is_end(frame);
        defined |= definition;
        closed |= end;
        first || definition || end
    })
}
