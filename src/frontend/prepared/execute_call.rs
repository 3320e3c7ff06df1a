//! A prepared bare lock call is executed.

use super::too_long::{LONG_PARAMETERS, too_long};
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::arguments::Given;
use crate::frontend::locks::bare_call::{CallInPacket, gives_no_row, is_plain_name};
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::locks::ended_wait::{say_after_columns, say_ended_wait};
use crate::frontend::locks::operations::{CallResult, make_call};
use crate::frontend::locks::reply::{empties_warnings, may_answer_alone};
use crate::frontend::locks::unsupported::{
    Decision, UNJUDGED, note_unsupported, refusal, runs_uncovered,
};
use crate::frontend::locks::visible_wait::WaitStatement;
use crate::frontend::state::lock_statement::Cursor;
use crate::frontend::state::server_view::AnswerSettings;
use crate::lock::codes;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::Command;
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::packet;
use crate::protocol::params::{Execute, Value, wants_cursor};
use crate::protocol::reply::{Delivery, OneValue, put_ok};
use crate::protocol::response::Ending;
use crate::sql::classify::BareCall;
use crate::sql::expression::argument::Argument;
use crate::types::Flavour;

/// What is executed.
pub(crate) struct Execution {
    /// The statement's id.
    pub id: u32,
    pub text: Vec<u8>,
    /// The column's name.
    pub name: Vec<u8>,
    pub bare: BareCall,
    /// The server keeps data for it that are no longer needed.
    pub stale: Option<u32>,
    /// The packet for the server.
    pub as_it_is: Vec<u8>,
}

/// Whether the values were kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    Known,
    /// The values are too long to be kept.
    Long,
    /// The name is longer than any.
    LongName,
}

/// Executes a prepared bare call.
pub(crate) async fn execute_bare(
    cx: &mut CallContext<'_>,
    execution: Execution,
    execute: &Execute,
    length: Length,
) -> Result<(), CloseReason> {
    let Execution { id, text, name, bare, stale, as_it_is } = execution;
    // MySQL runs DO as a SELECT, and a cursor shows it.
    let is_do = bare.is_do;
    let cursor = wants_cursor(execute.flags) && (cx.flavour() == Flavour::MySql || !is_do);
    cx.count(Command::STMT_EXECUTE);
    let given = bind(&bare, &text, &execute.values);
    let mut name = name;
    let call = CallInPacket { prefix: packet::query_prefix(cx.capabilities()), text: &text, bare };
    let mut catalog = b"def".to_vec();
    let no_row = gives_no_row(cx, &call).await?;
    let wide = matches!(cx.view.settings(), AnswerSettings::Unusual { wide: true, .. });
    // The character set of results may be another than when it was prepared. So may the
    // client's, so that only ASCII means the same again.
    if (wide || !is_plain_name(&name)) && text.is_ascii() {
        let again = cx.prepare_and_close(&text).await?.column_names().last();
        if let Some(column) = again.filter(|_| !call.bare.is_do) {
            (catalog, name) = (column.catalog, column.name);
        }
    }
    let mut outcome = match length {
        // The server has all of the name, and refuses it.
        Length::LongName => CallResult::Native,
        _ if no_row => CallResult::Native,
        Length::Long => {
            note_unsupported(cx, LONG_PARAMETERS, &text, Decision::Refused);
            CallResult::Error(too_long(Command::STMT_EXECUTE))
        }
        Length::Known => {
            let shown =
                WaitStatement { call: &call, name: Some(&name), stale, cursor, stand_in: false };
            make_call(cx, &shown, given).await?
        }
    };
    if let CallResult::Unsupported = outcome {
        outcome = uncovered_execution(cx, &text);
    }
    let servers = matches!(outcome, CallResult::Native | CallResult::Said(..));
    if stale.is_some() && !servers {
        cx.reset_statement(id).await?;
    }
    let answer = described(cx, &call, (&catalog, &name), cursor);
    match outcome {
        CallResult::Value(value, pure) | CallResult::Fails(value, pure) => {
            if let Some(statement) = cx.statements.get_mut(id).filter(|_| cursor) {
                statement.cursor = Some(Cursor::new(answer.column, value));
            }
            answer_binary(cx, &call, OneValue { value, ..answer }, &pure).await
        }
        CallResult::Native => {
            // The session may have waited for a lock, and have another connection since.
            if let Some(refusal) = cx.bring(id).await? {
                let mut out = Vec::with_capacity(HEADER + refusal.len());
                put_frame(&mut out, 1, &refusal);
                return cx.send_client(&out);
            }
            if let Some(statement) = cx.statements.get_mut(id) {
                statement.server_cursor = cursor;
            }
            cx.forward(&as_it_is)
        }
        CallResult::Said(_, reply) => cx.send_client(&reply),
        CallResult::EndedWait(why) => {
            let columns = columns_binary(cx, &call, &answer);
            say_ended_wait(cx, why, &columns, cursor, call.bare.is_do).await
        }
        CallResult::Error(error) => cx.refuse(&error),
        CallResult::Unsupported => cx.refuse(&codes::unsupported(UNJUDGED)),
    }
}

/// A name or timeout was bound that nobody can judge.
fn uncovered_execution(cx: &mut CallContext<'_>, text: &[u8]) -> CallResult {
    let native = runs_uncovered(cx.context);
    let decision = if native { Decision::Native } else { Decision::Refused };
    let (why, error) = refusal(cx.context, UNJUDGED, codes::unsupported);
    note_unsupported(cx, why, text, decision);
    if native { CallResult::Native } else { CallResult::Error(error) }
}

/// A response as far as it is known before its value.
fn described<'a>(
    cx: &CallContext<'_>,
    call: &CallInPacket<'_>,
    (catalog, name): (&'a [u8], &'a [u8]),
    cursor: bool,
) -> OneValue<'a> {
    let delivery = if cursor { Delivery::Cursor } else { Delivery::Binary };
    let column = call.bare.function.column(cx.flavour());
    let status = cx.lasting_status();
    OneValue {
        catalog,
        name,
        column: if cursor { column.in_cursor() } else { column },
        value: None,
        between: status,
        status,
        warnings: 0,
        delivery,
        // The client may keep what the PREPARE told. A cursor reads another column.
        metadata: cursor || !cx.capabilities().has(Capabilities::MARIADB_CACHE_METADATA),
        end: None,
    }
}

/// A response of which the columns count, in the session as it is now.
fn columns_binary(cx: &CallContext<'_>, call: &CallInPacket<'_>, answer: &OneValue<'_>) -> Vec<u8> {
    let status = cx.lasting_status();
    let mut columns = Vec::new();
    if !call.bare.is_do {
        OneValue { between: status, status, ..*answer }.encode(&mut columns, cx.capabilities());
    }
    columns
}

async fn answer_binary(
    cx: &mut CallContext<'_>,
    call: &CallInPacket<'_>,
    answer: OneValue<'_>,
    pure: &[Vec<u8>],
) -> Result<(), CloseReason> {
    let OneValue { value, delivery, .. } = answer;
    let by_ok = call.bare.is_do && delivery == Delivery::Binary;
    let function = call.bare.function;
    // To MariaDB's FOUND_ROWS(), what a cursor reads was not found yet.
    let unfound = delivery == Delivery::Cursor && cx.flavour() == Flavour::MariaDb;
    let mut said = answer;
    let mut end = None;
    let emptied = empties_warnings(function, cx.flavour(), value);
    if pure.is_empty() && !call.bare.special && !emptied && !unfound && may_answer_alone(cx, by_ok)
    {
        cx.server.owed_mut().skipped().answered(by_ok);
    } else {
        cx.forget_skipped();
        let (before, after): (&[u8], &[u8]) = if unfound {
            (b"SELECT 1 FROM DUAL WHERE ", b"=-1")
        } else if by_ok {
            (b"DO ", b"")
        } else {
            (b"SELECT ", b" LIMIT 1")
        };
        let expression = function.value_expression(cx.flavour(), value, pure);
        let reply = cx.ask(&[before, &expression, after].concat()).await?;
        if let Ending::Ok { status, warnings } = reply.ending {
            (said.status, said.warnings) = (status, warnings);
            said.between = reply.first_eof().unwrap_or(status);
        }
        let first = reply.frames().next();
        said.metadata &= first.is_none_or(|f| f.get(HEADER + 1) != Some(&0));
        if by_ok {
            return cx.send_client(&reply.bytes);
        }
        if reply.is_error() {
            let columns = columns_binary(cx, call, &answer);
            return say_after_columns(cx, &columns, delivery == Delivery::Cursor, &reply);
        }
        if cx.capabilities().has(Capabilities::DEPRECATE_EOF) {
            end = reply.frames().last().map(|f| f[HEADER..].to_vec());
        }
    }
    let mut out = Vec::with_capacity(128);
    if by_ok {
        put_ok(&mut out, 1, said.status);
    } else {
        said.end = end.as_deref();
        said.encode(&mut out, cx.capabilities());
    }
    cx.send_client(&out)
}

/// Bound values in the places of the parameters.
fn bind(bare: &BareCall, text: &[u8], values: &[Value]) -> Vec<Given> {
    let mut values = values.iter();
    bare.arguments
        .iter()
        .map(|argument| match argument {
            Argument::Parameter => values.next().map_or(Given::Unknown, Given::from_value),
            literal => Given::from_text(literal, text),
        })
        .collect()
}
