//! The answer to a bare call: from a template, or by the server itself with the call replaced
//! by its value.

use std::time::Duration;

use super::bare_call::CallInPacket;
use super::call_context::CallContext;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::reply::Reply;
use crate::frontend::state::server_view::AnswerSettings;
use crate::lock::function::Function;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::column::{is_definition, rename};
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::reply::{Delivery, OneValue, put_ok};
use crate::sql::classify::Alias;
use crate::types::Flavour;

/// A server that has not heard from the session for this long gets the statement itself, so that
/// its idle timeout counts from the client's last statement.
const QUIET: Duration = Duration::from_millis(500);

/// Whether a reply from a template cannot be told from the server's.
///
/// Without DEPRECATE_EOF, result sets say nothing of changed state: the next OK does.
pub(crate) fn may_answer_alone(cx: &CallContext<'_>, by_ok: bool) -> bool {
    let late = by_ok
        && cx.capabilities().has(Capabilities::SESSION_TRACK)
        && !cx.capabilities().has(Capabilities::DEPRECATE_EOF);
    let shaped = by_ok || cx.view.settings() == AnswerSettings::Usual;
    !late
        && shaped
        && cx.server.status().is_plain()
        && !cx.capabilities().has(Capabilities::OPTIONAL_METADATA)
        && !cx.capabilities().has(Capabilities::MARIADB_CACHE_METADATA)
        && cx.server.server_used().elapsed() < QUIET
}

/// Answers a text call.
pub(crate) async fn answer_call(
    cx: &mut CallContext<'_>,
    call: &CallInPacket<'_>,
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
        cx.server.owed_mut().skipped().answered(call.bare.is_do);
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
    let reply = cx.exchange(&call.spliced(&expression)).await?;
    let bytes = patch_reply(cx, call, name.as_deref(), &reply);
    cx.server.send_results(&bytes)
}

/// The server's reply with the column's native name, and type where no expression has it.
pub(crate) fn patch_reply(
    cx: &CallContext<'_>,
    call: &CallInPacket<'_>,
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

/// The column's name where no alias gives it: the call's source text, as the server shows it in the character set of
/// results. The server is asked where it may convert or cut the text: the question describes the column and calls
/// nothing.
pub(crate) async fn source_name(
    cx: &mut CallContext<'_>,
    call: &CallInPacket<'_>,
) -> Result<Option<Vec<u8>>, CloseReason> {
    if call.bare.alias != Alias::None || call.bare.is_do {
        return Ok(None);
    }
    if let Some(name) = call.plain_name().filter(|_| cx.view.settings() == AnswerSettings::Usual) {
        return Ok(Some(name.to_vec()));
    }
    let (body, none) = call.bare.none;
    let payload = [call.prefix, &call.text[..body], none.as_bytes()].concat();
    let mut packet = Vec::with_capacity(payload.len() + HEADER);
    put_frame(&mut packet, 0, &payload);
    let reply = cx.exchange(&packet).await?;
    Ok(reply.column_names().next().map(|column| column.name))
}

/// MariaDB empties the warnings of earlier statements when GET_LOCK answers 0.
pub(crate) fn empties_warnings(function: Function, flavour: Flavour, value: Option<u64>) -> bool {
    flavour == Flavour::MariaDb && function == Function::GetLock && value == Some(0)
}

#[cfg(test)]
mod tests {
    use super::super::fakes::{Stage, row, run};
    use super::*;
    use crate::protocol::status::Status;
    use crate::sql::classify::{Statement, classify};

    fn answer(stage: &mut Stage, text: &str, value: Option<u64>) {
        let Statement::Bare(bare) = classify(text.as_bytes(), stage.cx().dialect()) else {
            panic!("no bare call: {text}");
        };
        let call = CallInPacket { prefix: b"\x03", text: text.as_bytes(), bare };
        run(answer_call(&mut stage.cx(), &call, value, &[])).expect("the session goes on");
    }

    const CALL: &str = "SELECT GET_LOCK('a', 1)";

    #[test]
    fn a_plain_value_needs_no_server() {
        let mut stage = Stage::new(Flavour::MySql);
        answer(&mut stage, CALL, Some(1));
        assert_eq!(stage.row(), [Some("1".to_owned())]);
        stage.server.client.clear();
        answer(&mut stage, CALL, None);
        assert_eq!(stage.row(), [None]);
        assert!(stage.server.told.is_empty());
    }

    #[test]
    fn calls_that_the_proxy_answered_are_replayed_before_the_next_statement() {
        let mut stage = Stage::new(Flavour::MySql);
        answer(&mut stage, CALL, Some(1));
        answer(&mut stage, "DO GET_LOCK('a', 1)", Some(1));
        run(stage.cx().settle_skipped()).expect("the session goes on");
        assert_eq!(stage.server.told, ["replay: SELECT (NULL OR 1)", "replay: DO (NULL OR 1)"]);
    }

    #[test]
    fn the_server_answers_where_its_flags_are_not_known() {
        let mut stage = Stage::new(Flavour::MySql);
        stage.server.say(Status::SESSION_STATE_CHANGED);
        stage.answers("SELECT ", row(&[Some("1")]));
        answer(&mut stage, CALL, Some(1));
        assert!(stage.is_over());
        assert_eq!(stage.row(), [Some("1".to_owned())]);
    }

    #[test]
    fn only_the_server_can_empty_mariadbs_warnings() {
        let mut stage = Stage::new(Flavour::MariaDb);
        stage.answers("SELECT ", row(&[Some("0")]));
        answer(&mut stage, CALL, Some(0));
        assert!(stage.is_over());
        let mut stage = Stage::new(Flavour::MySql);
        answer(&mut stage, CALL, Some(0));
        assert!(stage.server.told.is_empty());
    }
}
