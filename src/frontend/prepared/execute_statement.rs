//! A prepared statement with lock calls in it: at its execution the calls are carried out, then the
//! server prepares and executes it with their values in their places.

use super::prepare_context::{ELSEWHERE, is_in_context};
use super::too_long::too_long;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::arguments::{Given, literal_of};
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::locks::unsupported::{
    Decision, note_unsupported, refuse_unsupported, run_as_it_is,
};
use crate::frontend::state::lock_statement::PrepareContext;
use crate::frontend::statements::composite::run_all_calls;
use crate::frontend::statements::lock_tables::list_locks;
use crate::frontend::statements::rewrite::{
    Edit, Edits, Which, kept_parameters, look_back, spliced,
};
use crate::frontend::statements::statement::{CallStatement, Flow, whole};
use crate::protocol::capabilities::Capabilities;
use crate::protocol::column::{self, Column};
use crate::protocol::command::Command;
use crate::protocol::packet;
use crate::protocol::params::{Execute, PARAMETER_COUNT_AVAILABLE, READ_ONLY, Value};
use crate::protocol::reader::{put_lenenc, put_lenenc_bytes};
use crate::protocol::response::PrepareOk;
use crate::sql::expression::composite::{Composite, Verb};
use crate::types::Flavour;

/// What an execution binds.
pub(crate) struct Values<'a> {
    pub payload: &'a [u8],
    pub execute: &'a Execute,
    /// The rows are to be fetched.
    pub cursor: bool,
}

/// A prepared statement with calls in it.
pub(crate) struct Bound<'a> {
    pub id: u32,
    pub text: &'a [u8],
    pub composite: &'a Composite,
    pub columns: &'a [Vec<u8>],
    /// Where it was prepared, if that matters.
    pub context: Option<PrepareContext>,
    /// The server keeps data for it that are no longer needed.
    pub stale: Option<u32>,
}

/// Executes a prepared statement with calls in it. `beyond`: its values are too long.
pub(crate) async fn execute_composite(
    cx: &mut CallContext<'_>,
    bound: &Bound<'_>,
    values: &Values<'_>,
    beyond: bool,
) -> Result<(), CloseReason> {
    cx.count(Command::STMT_EXECUTE);
    let Bound { id, text, composite, columns, ref context, stale } = *bound;
    if cx.flavour() == Flavour::MySql && values.refused_limits(composite) {
        return run_as_it_is(cx);
    }
    if let Some(id) = stale {
        cx.reset_statement(id).await?;
        cx.command.drop_packet();
    }
    if beyond {
        note_unsupported(cx, "parameters longer than 64 KiB", text, Decision::Refused);
        return cx.refuse(&too_long(Command::STMT_EXECUTE));
    }
    let mut edits = look_back(cx, composite).await?;
    if !is_in_context(cx, context.as_ref()).await? {
        return refuse_unsupported(cx, ELSEWHERE);
    }
    let given: Vec<Given> = values.execute.values.iter().map(Given::from_value).collect();
    for (nth, (at, value)) in composite.params.iter().zip(&given).enumerate() {
        let limit = values.execute.values.get(nth).filter(|_| composite.limits.contains(at));
        let trial = if composite.calls.is_empty() {
            b"?".to_vec()
        } else if let Some(rows) = limit.and_then(rows) {
            rows.into_bytes()
        } else if let Some(literal) = literal_of(cx, value.clone()).await? {
            literal
        } else {
            return refuse_unsupported(
                cx,
                "a parameter of this type in a statement with a lock call",
            );
        };
        edits.push(Edit { span: *at..*at + 1, last: b"?".to_vec(), trial, keeps: true });
    }
    edits.extend(list_locks(cx, text, composite, columns).await?);
    let prefix = packet::query_prefix(cx.capabilities());
    let statement = CallStatement { prefix, text, composite, definitions: columns, values: &given };
    if run_all_calls(cx, &statement, &mut edits).await? == Flow::Answered {
        return Ok(());
    }
    execute_last(cx, id, &statement, &edits, values).await
}

/// Whether the server executes a prepared statement unchanged. `beyond`: its values are too
/// long.
pub(crate) async fn runs_as_it_is(
    cx: &mut CallContext<'_>,
    bound: &Bound<'_>,
    beyond: bool,
) -> Result<bool, CloseReason> {
    let prepared = bound.context.as_ref();
    Ok(bound.composite.calls.is_empty() && (beyond || !is_in_context(cx, prepared).await?))
}

/// Prepares and executes the statement with the calls' values in it.
async fn execute_last(
    cx: &mut CallContext<'_>,
    client_id: u32,
    statement: &CallStatement<'_>,
    edits: &Edits,
    values: &Values<'_>,
) -> Result<(), CloseReason> {
    let CallStatement { text, composite, definitions: native, .. } = *statement;
    let last = spliced(text, 0..composite.end, edits, Which::Last);
    cx.forget_skipped();
    let reply = cx.exchange(&packet::prepare(&last)).await?;
    let prepared = reply.prepared();
    let Some(PrepareOk { id, .. }) = prepared else {
        return cx.send_client(&reply.bytes);
    };
    let own = reply.definitions();
    if composite.verb == Verb::Rows {
        let caches = cx.capabilities().has(Capabilities::MARIADB_CACHE_METADATA);
        // Another length does not matter to the rows.
        let columns = native.iter().enumerate().filter_map(|(nth, native)| {
            let (_, name) = column::names(native)?;
            let left_out = own.get(nth).filter(|_| caches).cloned();
            let own = own.get(nth).filter(|own| kind(own) == kind(native));
            let whole = composite.lists.as_ref().and_then(|_| whole(own?, native));
            let types = own.and_then(|own| column::type_bytes(own));
            let types = types.zip(column::type_bytes(native));
            Some(Column { name: name.to_vec(), types, whole, left_out })
        });
        cx.server.amendments().describe(columns.collect());
    }
    let kept = kept_parameters(composite, edits);
    let payload = values.encode(id, &kept, cx.capabilities());
    cx.forward(&packet::command(&[&payload]))?;
    match cx.statements.get_mut(client_id) {
        // The client fetches rows by its own id, not by that of the stand-in.
        Some(statement) if values.cursor => {
            statement.stand_in = Some(id);
            Ok(())
        }
        Some(_) | None => cx.close_statement(id),
    }
}

/// The number that a value is after LIMIT.
fn rows(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("0".to_owned()),
        // MariaDB takes it for the largest number there is.
        Value::Int(..0) => Some(u64::MAX.to_string()),
        Value::Int(n) => Some(n.to_string()),
        Value::Uint(n) => Some(n.to_string()),
        Value::Double(x) if *x >= 0.0 && *x < 1e15 => Some(format!("{:.0}", x.trunc())),
        Value::Decimal(bytes) | Value::Bytes { bytes, .. } => {
            let text = String::from_utf8_lossy(bytes);
            let text = text.trim_start();
            let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            let negative = text.starts_with('-');
            let text = if digits == 0 { "0" } else { &text[..digits] };
            (!negative && digits < 19).then(|| text.to_owned())
        }
        Value::Double(_) | Value::Moment(_) | Value::Other => None,
    }
}

/// The type in a column definition, and the character set, which is another if the session has set one since the PREPARE.
fn kind(definition: &[u8]) -> Option<(u8, [u8; 2])> {
    Some((column::type_bytes(definition)?[4], column::character_set(definition)?))
}

impl Values<'_> {
    /// Whether MySQL refuses a value after LIMIT before it evaluates anything.
    fn refused_limits(&self, composite: &Composite) -> bool {
        let refused =
            |value: &Value| matches!(value, Value::Int(..0) | Value::Double(_) | Value::Decimal(_));
        let params = composite.params.iter().zip(&self.execute.values);
        params.filter(|(at, _)| composite.limits.contains(at)).any(|(_, value)| refused(value))
    }

    /// `COM_STMT_EXECUTE` of another statement with some of the values.
    fn encode(&self, id: u32, kept: &[usize], capabilities: Capabilities) -> Vec<u8> {
        let Execute { values, types, raw, attributes: extra, .. } = self.execute;
        let mut out = vec![Command::STMT_EXECUTE.0];
        out.extend_from_slice(&id.to_le_bytes());
        // Perhaps a cursor, one iteration.
        let cursor = if self.cursor { READ_ONLY } else { 0 };
        let counted = if extra.is_empty() { 0 } else { PARAMETER_COUNT_AVAILABLE };
        out.extend_from_slice(&[cursor | counted, 1, 0, 0, 0]);
        let count = kept.len() + extra.len();
        if count == 0 {
            return out;
        }
        let attributes = capabilities.has(Capabilities::QUERY_ATTRIBUTES);
        if attributes {
            put_lenenc(&mut out, count as u64);
        }
        let null = kept.iter().map(|nth| values[*nth] == Value::Null);
        let mut nulls = vec![0u8; count.div_ceil(8)];
        for (nth, null) in null.chain(extra.iter().map(|a| a.value.is_none())).enumerate() {
            nulls[nth / 8] |= u8::from(null) << (nth % 8);
        }
        out.extend_from_slice(&nulls);
        out.push(1);
        for value in kept {
            out.extend_from_slice(&types[*value].to_le_bytes());
            if attributes {
                put_lenenc(&mut out, 0);
            }
        }
        for attribute in extra {
            out.extend_from_slice(&attribute.kind.to_le_bytes());
            out.extend_from_slice(&self.payload[attribute.name.clone()]);
        }
        for value in kept {
            match (&values[*value], &raw[*value]) {
                // COM_STMT_SEND_LONG_DATA carried the value before the execution.
                (Value::Bytes { bytes, .. }, span) if span.is_empty() => {
                    put_lenenc_bytes(&mut out, bytes);
                }
                (_, span) => out.extend_from_slice(&self.payload[span.clone()]),
            }
        }
        for span in extra.iter().filter_map(|a| a.value.clone()) {
            out.extend_from_slice(&self.payload[span]);
        }
        out
    }
}
