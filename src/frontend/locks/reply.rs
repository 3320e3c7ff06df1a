//! The answer to a bare call: from a template, or by the server itself with the call replaced
//! by its value.

use std::time::Duration;

use super::bare_call::Call;
use super::call_context::CallContext;
use super::settings::{Trial, try_out};
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::reply::Reply;
use crate::frontend::state::server_view::Settings;
use crate::lock::function::Function;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::column::{is_definition, rename};
use crate::protocol::command::Shape;
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::reply::{Delivery, OneValue, put_ok};
use crate::sql::classify::Alias;
use crate::types::Flavour;

/// A server that has not heard of the session for this long gets the statement itself, so that
/// its idle timeout counts from the client's last statement.
const QUIET: Duration = Duration::from_millis(500);

/// Whether the server takes the alias: a bare word may be reserved. The refusal is its reply
/// to the statement without the call.
pub(crate) async fn check_alias(
    cx: &mut CallContext<'_>,
    call: &Call<'_>,
) -> Result<Option<Vec<u8>>, CloseReason> {
    let alias = match &call.bare.alias {
        // The server must read the comments as the proxy does.
        _ if call.bare.odd => b"",
        Alias::None | Alias::Simple { bare: false, .. } => return Ok(None),
        Alias::Simple { text, bare: true } => &call.text[text.clone()],
        Alias::Complex => b"",
    };
    if cx.view.takes_alias(alias) {
        return Ok(None);
    }
    if let Trial::Refused(reply) = try_out(cx, call).await? {
        return Ok(Some(reply));
    }
    cx.view.note_alias(alias);
    Ok(None)
}

/// Whether a reply from a template cannot be told from the server's.
///
/// Without DEPRECATE_EOF, result sets say nothing of changed state: the next OK does.
pub(crate) fn may_answer_alone(cx: &CallContext<'_>, by_ok: bool) -> bool {
    let late = by_ok
        && cx.capabilities().has(Capabilities::SESSION_TRACK)
        && !cx.capabilities().has(Capabilities::DEPRECATE_EOF);
    let shaped = by_ok || cx.view.settings() == Settings::Usual;
    !late
        && shaped
        && cx.context.config.fast_path
        && cx.server.status_is_plain()
        && !cx.capabilities().has(Capabilities::OPTIONAL_METADATA)
        && !cx.capabilities().has(Capabilities::MARIADB_CACHE_METADATA)
        && cx.server.server_used().elapsed() < QUIET
}

/// Answers a text call.
pub(crate) async fn answer_call(
    cx: &mut CallContext<'_>,
    call: &Call<'_>,
    value: Option<u64>,
    pure: &[Vec<u8>],
) -> Result<(), CloseReason> {
    // A failed attempt empties MariaDB's list of warnings, which only the server can do.
    let emptied = empties_warnings(call.bare.function, cx.flavour(), value);
    let simple =
        pure.is_empty() && !call.bare.special && !emptied && may_answer_alone(cx, call.bare.is_do);
    if let Some(name) = call.plain_name().filter(|_| simple) {
        let mut out = Vec::with_capacity(128);
        let status = cx.lasting_status();
        cx.server.skipped().answered(call.bare.is_do);
        if call.bare.is_do {
            put_ok(&mut out, 1, status);
        } else {
            let column = call.bare.function.column(cx.flavour());
            let reply = OneValue {
                catalog: b"def",
                name,
                column,
                value,
                between: status,
                status,
                warnings: 0,
                delivery: Delivery::Text,
                metadata: true,
                end: None,
            };
            reply.encode(&mut out, cx.capabilities());
        }
        return cx.send_client(&out);
    }
    // Asked before the statement runs, so that what it leaves behind is the last.
    let name = source_name(cx, call).await?;
    cx.forget_skipped();
    let expression = call.bare.function.value_expression(cx.flavour(), value, pure);
    let reply = cx.exchange(&call.spliced(&expression), Shape::Results).await?;
    let bytes = patch_reply(cx, call, name.as_deref(), &reply);
    cx.server.send_results(&bytes)
}

/// The server's reply with the column's native name, and type where no expression has it.
pub(crate) fn patch_reply(
    cx: &CallContext<'_>,
    call: &Call<'_>,
    name: Option<&[u8]>,
    reply: &Reply,
) -> Vec<u8> {
    let retype = cx.flavour() == Flavour::MariaDb
        && matches!(call.bare.function, Function::IsUsedLock | Function::ReleaseAllLocks);
    let column = retype.then(|| call.bare.function.column(cx.flavour()));
    let mut out = Vec::with_capacity(reply.bytes.len() + 64);
    for frame in reply.frames() {
        let payload = &frame[HEADER..];
        let renamed = is_definition(payload).then(|| rename(payload, name, column)).flatten();
        match renamed {
            Some(definition) => put_frame(&mut out, frame[HEADER - 1], &definition),
            None => out.extend_from_slice(frame),
        }
    }
    out
}

/// The column's name where no alias gives it: the call's source text, as the server shows it in
/// the character set of results. It is asked where it may convert or cut: with LIMIT 0 it
/// describes the column and calls nothing.
pub(crate) async fn source_name(
    cx: &mut CallContext<'_>,
    call: &Call<'_>,
) -> Result<Option<Vec<u8>>, CloseReason> {
    if call.bare.alias != Alias::None || call.bare.is_do {
        return Ok(None);
    }
    if let Some(name) = call.plain_name().filter(|_| cx.view.settings() == Settings::Usual) {
        return Ok(Some(name.to_vec()));
    }
    let (body, none) = call.bare.none;
    let payload = [call.prefix, &call.text[..body], none.as_bytes()].concat();
    let mut packet = Vec::with_capacity(payload.len() + HEADER);
    put_frame(&mut packet, 0, &payload);
    let reply = cx.exchange(&packet, Shape::Results).await?;
    Ok(reply.column_names().next().map(|(_, name)| name))
}

/// MariaDB empties the warnings of earlier statements when GET_LOCK answers 0.
pub(crate) fn empties_warnings(function: Function, flavour: Flavour, value: Option<u64>) -> bool {
    flavour == Flavour::MariaDb && function == Function::GetLock && value == Some(0)
}
