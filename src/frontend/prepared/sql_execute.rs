//! The text of a named statement is run: its calls are carried out, then the server runs the rest
//! with the client's own values for the parameters that are left.

use super::prepare_context::{ELSEWHERE, is_in_context};
use super::sql_text::{CONVERTED, Request};
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::arguments::Given;
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::locks::reading::exact_dialect;
use crate::frontend::locks::unsupported::refuse_unsupported;
use crate::frontend::state::named_statements::NamedStatement;
use crate::frontend::statements::composite::run_all_calls;
use crate::frontend::statements::rewrite::{
    Edit, Edits, Which, kept_parameters, look_back, spliced,
};
use crate::frontend::statements::statement::{CallStatement, Flow, columns_of_native};
use crate::protocol::command::Command;
use crate::protocol::packet;
use crate::protocol::response::Ending;
use crate::sql::classify::named::UsingValue;
use crate::sql::expression::composite::{Back, Composite};
use crate::sql::lexer::dialect::Multibyte;
use crate::types::Flavour;

/// Carries out the calls of a named statement and has the server run the rest.
pub(crate) async fn execute_text(
    cx: &mut CallContext<'_>,
    request: &Request<'_>,
    named: &NamedStatement,
    using: &[UsingValue],
) -> Result<(), CloseReason> {
    let NamedStatement { text, composite, context } = named;
    if using.len() != composite.params.len() {
        return other_number(cx, request, named).await;
    }
    if using.iter().any(|value| !value.repeatable) {
        let why = "such a value for a statement with a lock call";
        return refuse_or_pass(cx, request, composite, why);
    }
    cx.command.set_text(text);
    cx.count(Command::QUERY);
    let mut edits = look_back(cx, composite).await?;
    forget_diagnostics(cx, composite, &mut edits);
    if !is_in_context(cx, context.as_ref()).await? {
        return refuse_or_pass(cx, request, composite, ELSEWHERE);
    }
    for (at, value) in composite.params.iter().zip(using) {
        let value = &request.text[value.span.clone()];
        // DEFAULT and IGNORE are no expressions.
        let word = value.iter().all(u8::is_ascii_alphabetic);
        let trial = if word { value.to_vec() } else { [b"(", value, b")"].concat() };
        edits.push(Edit { span: *at..*at + 1, last: b"?".to_vec(), trial, keeps: true });
    }
    fill_limits(cx, composite, &mut edits).await?;
    let given: Vec<Given> = using
        .iter()
        .map(|value| match &value.literal {
            Some(literal) => Given::from_text(literal, request.text),
            None => Given::Variable(request.text[value.span.clone()].to_vec()),
        })
        .collect();
    let reply = cx.prepare_and_close(&text[..composite.end]).await?;
    if reply.is_error() {
        cx.forget_skipped();
        return cx.send_client(&reply.bytes);
    }
    if let Some(refusal) = refuses_types(cx, text, composite, &edits).await? {
        cx.forget_skipped();
        return cx.send_client(&refusal);
    }
    let definitions = reply.definitions();
    let (prefix, definitions) = (request.prefix, definitions.as_slice());
    let statement = CallStatement { prefix, text, composite, definitions, values: &given };
    // Found out before anything is carried out: in what modes its text is quoted.
    let quote = if composite.params.is_empty() { None } else { quoting_of(cx, text).await? };
    if !composite.params.is_empty() && quote.is_none() {
        return refuse_or_pass(cx, request, composite, CONVERTED);
    }
    if run_all_calls(cx, &statement, &mut edits).await? == Flow::Answered {
        return Ok(());
    }
    let kept = kept_parameters(composite, &edits);
    let mut last = spliced(text, 0..composite.end, &edits, Which::Last);
    let columns = columns_of_native(cx, &statement, &edits).await?;
    if let Some(backslash) = quote.filter(|_| !kept.is_empty()) {
        let values: Vec<&[u8]> =
            kept.iter().map(|nth| &request.text[using[*nth].span.clone()]).collect();
        let quoted = quoted(&last, backslash);
        last = match with_values(cx, &quoted, &values.join(&b","[..])).await? {
            LastText::Runs(last) => last,
            LastText::Refused(refusal) => {
                cx.forget_skipped();
                return cx.send_client(&refusal);
            }
        };
    }
    cx.forget_skipped();
    let packet = packet::command(&[prefix, &last]);
    cx.server.amendments().describe(columns);
    cx.forward(&packet)
}

/// Refuses what is not covered. Without a lock call the server runs it as it is.
pub(crate) fn refuse_or_pass(
    cx: &mut CallContext<'_>,
    request: &Request<'_>,
    composite: &Composite,
    why: &'static str,
) -> Result<(), CloseReason> {
    if composite.calls.is_empty() {
        return cx.forward(request.packet);
    }
    refuse_unsupported(cx, why)
}

/// With a wrong number of values the server runs nothing; in Oracle mode `:name` is a parameter too.
async fn other_number(
    cx: &mut CallContext<'_>,
    request: &Request<'_>,
    named: &NamedStatement,
) -> Result<(), CloseReason> {
    let reply = cx.prepare_and_close(&named.text).await?;
    let counted = reply.prepared();
    if counted.is_some_and(|ok| usize::from(ok.params) != named.composite.params.len()) {
        let why = "a lock call in a statement with such parameters";
        return refuse_or_pass(cx, request, &named.composite, why);
    }
    cx.forward(request.packet)
}

/// MySQL's EXECUTE has cleared them when the statement asks for their number.
fn forget_diagnostics(cx: &CallContext<'_>, composite: &Composite, edits: &mut Edits) {
    let counts = |back: Back| matches!(back, Back::Warnings | Back::Errors);
    let looks = composite.looks_back.iter().filter(|(_, back)| counts(*back));
    for (span, _) in looks.filter(|_| cx.flavour() == Flavour::MySql) {
        let none = b"CAST('0' AS SIGNED)".to_vec();
        edits.retain(|edit| edit.span != *span);
        edits.push(Edit::everywhere(span.clone(), none));
    }
}

/// MariaDB's refusal of a number for a name: of parameters it knows the types when it executes.
async fn refuses_types(
    cx: &mut CallContext<'_>,
    text: &[u8],
    composite: &Composite,
    edits: &Edits,
) -> Result<Option<Vec<u8>>, CloseReason> {
    if cx.flavour() == Flavour::MySql || composite.params.is_empty() {
        return Ok(None);
    }
    let bound = spliced(text, 0..composite.end, edits, Which::Trial);
    let reply = cx.prepare_and_close(&bound).await?;
    Ok(matches!(reply.ending, Ending::Err { code: 4079 }).then_some(reply.bytes))
}

/// Numbers after LIMIT: there the server takes no variable, which a trial would put there.
async fn fill_limits(
    cx: &mut CallContext<'_>,
    composite: &Composite,
    edits: &mut Edits,
) -> Result<(), CloseReason> {
    for at in &composite.limits {
        let Some(edit) = edits.iter_mut().find(|edit| edit.span.start == *at) else { continue };
        let row = cx.ask_row(&[b"SELECT ", edit.trial.as_slice()].concat()).await?;
        if let Some([Some(value)]) = row.as_deref()
            && value.iter().all(u8::is_ascii_digit)
        {
            edit.trial.clone_from(value);
        }
    }
    Ok(())
}

/// The statement that runs a text with values.
enum LastText {
    /// The text is to be run.
    Runs(Vec<u8>),
    /// The server has refused to prepare the text: its reply.
    Refused(Vec<u8>),
}

async fn with_values(
    cx: &mut CallContext<'_>,
    literal: &[u8],
    values: &[u8],
) -> Result<LastText, CloseReason> {
    if cx.flavour() == Flavour::MariaDb {
        let text = [b"EXECUTE IMMEDIATE ", literal, b" USING ", values].concat();
        return Ok(LastText::Runs(text));
    }
    let own = cx.statements.named.own().to_owned();
    // The statement stays until the next PREPARE of this name: DEALLOCATE would clear what the client's EXECUTE leaves.
    let reply = cx.ask(&[b"PREPARE ", own.as_bytes(), b" FROM ", literal].concat()).await?;
    if reply.is_error() {
        // Too many statements: the one before is still there.
        return Ok(LastText::Refused(reply.bytes));
    }
    Ok(LastText::Runs([b"EXECUTE ", own.as_bytes(), b" USING ", values].concat()))
}

/// What a backslash is in a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Backslash {
    /// A backslash escapes, so it is to be doubled.
    Escapes,
    /// A letter as any other.
    Plain,
}

/// What a backslash is in the session's modes; `None` if this text cannot be quoted.
async fn quoting_of(
    cx: &mut CallContext<'_>,
    text: &[u8],
) -> Result<Option<Backslash>, CloseReason> {
    let Some(dialect) = exact_dialect(cx).await? else { return Ok(None) };
    if !text.is_ascii() && dialect.multibyte != Multibyte::Safe {
        return Ok(None);
    }
    let plain = dialect.no_backslash_escapes;
    Ok(Some(if plain { Backslash::Plain } else { Backslash::Escapes }))
}

/// A string literal.
fn quoted(text: &[u8], backslash: Backslash) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 16);
    out.push(b'\'');
    for byte in text {
        if *byte == b'\'' || (*byte == b'\\' && backslash == Backslash::Escapes) {
            out.push(*byte);
        }
        out.push(*byte);
    }
    out.push(b'\'');
    out
}
