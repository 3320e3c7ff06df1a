//! Carrying out the lock calls of a larger statement, in the order in which the server would.

use std::ops::Range;

use super::native::{Native, ask_native};
use super::probe::{MAX_TIMES, NextCall, next_call};
use super::rewrite::{Edit, Edits, Which, edit_for, edit_for_nothing, spliced};
use super::row_names::look_by_row;
use super::statement::{CallStatement, Flow, columns_before, say_error, stand_in};
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::reply::frames;
use crate::frontend::locks::arguments::Given;
use crate::frontend::locks::bare_call::CallInPacket;
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::locks::ended_wait::{let_server_say, say_ended_wait};
use crate::frontend::locks::operations::{CallResult, make_call};
use crate::frontend::locks::unsupported::{UNJUDGED, refuse_midway, refuse_unsupported};
use crate::frontend::locks::visible_wait::WaitStatement;
use crate::frontend::state::server_view::AnswerSettings;
use crate::lock::codes;
use crate::lock::function::Function;
use crate::protocol::frame::HEADER;
use crate::sql::expression::argument::Argument;
use crate::sql::expression::composite::{Call, Composite, Part, Verb};
use crate::sql::find::words;
use crate::types::Flavour;

/// For each of these the statement is run again, with a probe in place of each.
const MAX_TRIED: usize = 64;

/// What came of the calls.
pub(crate) enum Filled {
    /// Each call's place has its value.
    All,
    /// The server is to say the error: the values in the places do not matter any more.
    Fails,
    /// The client has its answer.
    Answered,
}

/// Judges a statement's calls before any of it is carried out. Returns those of which the names depend on rows; an error
/// says why the statement is not covered.
async fn judge_calls<'a>(
    cx: &mut CallContext<'_>,
    statement: &CallStatement<'a>,
) -> Result<Result<Vec<&'a Call>, &'static str>, CloseReason> {
    let composite = statement.composite;
    let mut by_row = Vec::new();
    let mut tried = 0;
    let shifts = words::shifts(statement.text, composite.start);
    for call in &composite.calls {
        if shifts && call.arguments.iter().any(|part| !fixed(statement.text, part)) {
            return Ok(Err("a computed lock name or timeout in a statement with its own settings"));
        }
        if shifts && call.item.is_some() && !call.only_looks() {
            return Ok(Err("a lock call in a statement with its own settings"));
        }
        if let Some(why) = composite.uncovered(call) {
            return Ok(Err(why));
        }
        if let Some(item) = composite.asks_beside_tables(call)
            && needs_tables(cx, &statement.text[item.span.clone()]).await?
        {
            return Ok(Err("a lock call in an expression with a column"));
        }
        tried += usize::from(!composite.tables && !call.certain && !call.only_looks());
        if tried > MAX_TRIED {
            return Ok(Err("so many lock calls in an order that only the server knows"));
        }
        for part in &call.arguments {
            // An argument that needs no table of the statement has the same value before the statement.
            let may_differ = part.literal.is_none() && (composite.reads || !part.repeatable);
            if !may_differ || !needs_tables(cx, &statement.text[part.span.clone()]).await? {
                continue;
            }
            if !call.only_looks() {
                return Ok(Err("a lock's name or timeout from a column"));
            }
            by_row.push(call);
        }
    }
    Ok(Ok(by_row))
}

/// Whether an expression cannot be evaluated without the statement's tables.
async fn needs_tables(cx: &mut CallContext<'_>, expression: &[u8]) -> Result<bool, CloseReason> {
    let reply = cx.prepare_and_close(&[b"SELECT ", expression].concat()).await?;
    Ok(reply.is_error())
}

/// Carries out the calls.
pub(crate) async fn run_calls(
    cx: &mut CallContext<'_>,
    statement: &CallStatement<'_>,
    edits: &mut Edits,
) -> Result<Filled, CloseReason> {
    let by_row = match judge_calls(cx, statement).await? {
        Ok(by_row) => by_row,
        Err(what) => {
            refuse_unsupported(cx, what)?;
            return Ok(Filled::Answered);
        }
    };
    if look_by_row(cx, statement, &by_row, edits).await? == Flow::Answered {
        return Ok(Filled::Answered);
    }
    let Composite { calls, verb, .. } = statement.composite;
    let limited = *verb == Verb::Rows && cx.settings().await? != AnswerSettings::Usual;
    let rest = calls.iter().filter(|call| !by_row.contains(call)).collect();
    let waiting = WaitingCalls { calls: rest, scope: None, limited };
    run_waiting(cx, statement, waiting, edits).await
}

/// Calls that are still to be carried out: all of the statement's, or all in one argument.
struct WaitingCalls<'a> {
    calls: Vec<&'a Call>,
    /// The argument.
    scope: Option<Range<usize>>,
    /// The statement's rows may be limited to none.
    limited: bool,
}

/// Carries out the calls that wait.
async fn run_waiting(
    cx: &mut CallContext<'_>,
    statement: &CallStatement<'_>,
    waiting: WaitingCalls<'_>,
    edits: &mut Edits,
) -> Result<Filled, CloseReason> {
    let WaitingCalls { calls: mut waiting, scope, limited } = waiting;
    // Looking changes nothing, so it does not matter whether the server would look.
    let looks_only = waiting.iter().all(|c| c.only_looks());
    // MariaDB takes looking for a constant, which a condition has evaluated first.
    let mariadb = cx.flavour() == Flavour::MariaDb;
    let constant = |call: &Call| mariadb && call.looks() && call.filters && !call.conditional;
    // Rows are chosen before anything is made of them.
    let tables = statement.composite.tables;
    waiting.sort_by_key(|call| (!constant(call), tables && !call.filters));
    while let Some(&first) = waiting.first() {
        let item = first.item.as_ref().filter(|item| item.repeatable);
        let untold = looks_only || constant(first) || (tables && scope.is_none() && item.is_none());
        let next = if untold || (first.certain && !limited) {
            NextCall::Call { nth: 0, times: 1 }
        } else {
            let scope = scope.clone().or_else(|| item.map(|item| item.span.clone()));
            next_call(cx, statement, &waiting, scope, edits).await?
        };
        let (nth, times) = match next {
            NextCall::Call { nth, times } => (nth, times),
            NextCall::None(first_ones) => {
                edits.extend(waiting.drain(..first_ones).map(|call| edit_for_nothing(cx, call)));
                continue;
            }
            NextCall::Warned => {
                refuse_midway(cx, "a lock call in an expression that gives a warning")?;
                return Ok(Filled::Answered);
            }
            NextCall::Ended(error) => {
                cx.forget_skipped();
                say_error(cx, statement, first, &error)?;
                return Ok(Filled::Answered);
            }
        };
        let call = waiting.remove(nth);
        if times > MAX_TIMES || (times > 1 && !call.looks() && call.function != Function::GetLock) {
            refuse_midway(cx, "a lock call that one statement evaluates several times")?;
            return Ok(Filled::Answered);
        }
        for _ in 0..times {
            edits.retain(|edit| edit.span != call.span);
            match run_call(cx, statement, call, edits).await? {
                Filled::All => {}
                // Perhaps the server does not evaluate it, so it is the server's to fail.
                Filled::Fails if untold && !call.certain => {}
                Filled::Fails => {
                    edits.extend(waiting.iter().map(|call| edit_for_nothing(cx, call)));
                    return Ok(Filled::Fails);
                }
                Filled::Answered => return Ok(Filled::Answered),
            }
        }
    }
    Ok(Filled::All)
}

/// Carries out a call that is evaluated, after those in its arguments.
async fn run_call(
    cx: &mut CallContext<'_>,
    statement: &CallStatement<'_>,
    call: &Call,
    edits: &mut Edits,
) -> Result<Filled, CloseReason> {
    let inner = edits.len();
    let mut given = Vec::with_capacity(call.arguments.len());
    let mut pure = true;
    for part in &call.arguments {
        if !part.calls.is_empty() {
            let (calls, scope) = (part.calls.iter().collect(), Some(part.span.clone()));
            let waiting = WaitingCalls { calls, scope, limited: false };
            match Box::pin(run_waiting(cx, statement, waiting, edits)).await? {
                Filled::All => {}
                // Only the argument is left to fail: MySQL would take the call's lock nevertheless.
                Filled::Fails => {
                    let part = spliced(statement.text, part.span.clone(), edits, Which::Trial);
                    let sql = [b"COALESCE(", part.as_slice(), b")"].concat();
                    edits.truncate(inner);
                    edits.push(Edit::everywhere(call.span.clone(), sql));
                    return Ok(Filled::Fails);
                }
                Filled::Answered => return Ok(Filled::Answered),
            }
        }
        pure &= part.repeatable;
        let is_name = given.is_empty();
        let judged = argument_of(cx, statement, part, is_name, edits).await?;
        if is_name && !part.repeatable {
            // Uses the value of this evaluation, since another evaluation might not repeat it.
            let sql = match &judged {
                Given::Expression { sql, .. } => sql.clone(),
                _ => b"NULL".to_vec(),
            };
            edits.push(Edit::everywhere(part.span.clone(), sql));
        }
        given.push(judged);
    }
    let source = spliced(statement.text, call.span.clone(), edits, Which::Trial);
    let stand_in = stand_in(statement, call, &source);
    let shown =
        CallInPacket { prefix: statement.prefix, text: &stand_in.text, bare: stand_in.bare };
    let shown =
        WaitStatement { call: &shown, name: None, stale: None, cursor: false, stand_in: true };
    let result = make_call(cx, &shown, given).await?;
    let inside = |e: &&Edit| call.span.start <= e.span.start && e.span.end <= call.span.end;
    let inner_edits: Edits = edits.iter().filter(inside).cloned().collect();
    edits.truncate(inner);
    fill_place(cx, statement, call, result, CallPlace { source, pure, inner_edits }, edits).await
}

/// The place of a call in its statement.
struct CallPlace {
    /// The call, with values for the calls in its arguments.
    source: Vec<u8>,
    /// The call's arguments mean the same each time they are evaluated.
    pure: bool,
    /// The values for the calls in its arguments.
    inner_edits: Edits,
}

/// Fills a call's place with what it came to, or answers the client.
async fn fill_place(
    cx: &mut CallContext<'_>,
    statement: &CallStatement<'_>,
    call: &Call,
    result: CallResult,
    place: CallPlace,
    edits: &mut Edits,
) -> Result<Filled, CloseReason> {
    let CallPlace { source, pure, inner_edits } = place;
    let tables = statement.composite.tables;
    match result {
        // MariaDB goes on with NULL where a wait is ended, until it reaches a row.
        CallResult::Value(None, _)
            if call.function == Function::GetLock && ends_at_a_row(statement.composite, call) =>
        {
            let columns = columns_before(cx, statement, call);
            let_server_say(cx, codes::INTERRUPTED, &columns, false).await?;
            Ok(Filled::Answered)
        }
        CallResult::Fails(value, again) => {
            let again = if pure { again } else { Vec::new() };
            edits.push(edit_for(cx, call, value, &again, tables));
            Ok(Filled::Fails)
        }
        CallResult::Value(value, again) => {
            let again = if pure { again } else { Vec::new() };
            edits.push(edit_for(cx, call, value, &again, tables));
            Ok(Filled::All)
        }
        CallResult::Native if call.arguments.iter().skip(1).any(|part| !part.repeatable) => {
            refuse_midway(cx, "this lock name or timeout")?;
            Ok(Filled::Answered)
        }
        CallResult::Native => {
            let fails = match ask_native(cx, statement, call, &inner_edits).await? {
                Native::TakesNothing => false,
                Native::Fails => true,
                Native::Unclear => {
                    refuse_midway(cx, "this lock name or timeout")?;
                    return Ok(Filled::Answered);
                }
            };
            // The client's own text stays where it can, since an error quotes types.
            let keeps = pure && call.arguments.iter().all(|part| part.calls.is_empty());
            let text = &statement.text[call.span.clone()];
            let last = if keeps { text.to_vec() } else { source.clone() };
            edits.push(Edit { span: call.span.clone(), last, trial: source, keeps });
            Ok(if fails { Filled::Fails } else { Filled::All })
        }
        CallResult::Said(_, reply) => {
            let error = frames(&reply).last().map(|f| f[HEADER..].to_vec());
            cx.forget_skipped();
            say_error(cx, statement, call, &error.unwrap_or_default())?;
            Ok(Filled::Answered)
        }
        CallResult::EndedWait(why) => {
            let columns = columns_before(cx, statement, call);
            let is_do = statement.composite.verb == Verb::Do;
            say_ended_wait(cx, why, &columns, false, is_do).await?;
            Ok(Filled::Answered)
        }
        CallResult::Unsupported => {
            refuse_midway(cx, UNJUDGED)?;
            Ok(Filled::Answered)
        }
        CallResult::Error(error) => {
            cx.refuse(&error)?;
            Ok(Filled::Answered)
        }
    }
}

/// An argument as it is to be judged.
async fn argument_of(
    cx: &mut CallContext<'_>,
    statement: &CallStatement<'_>,
    part: &Part,
    is_name: bool,
    edits: &Edits,
) -> Result<Given, CloseReason> {
    match &part.literal {
        Some(Argument::Parameter) => {
            let nth = statement.composite.params.iter().position(|at| *at == part.span.start);
            let value = nth.and_then(|nth| statement.values.get(nth));
            return Ok(value.cloned().unwrap_or(Given::Unknown));
        }
        Some(literal) => return Ok(Given::from_text(literal, statement.text)),
        None => {}
    }
    let sql = spliced(statement.text, part.span.clone(), edits, Which::Trial);
    // A timeout is evaluated once in any case.
    if part.repeatable || !is_name {
        return Ok(Given::Expression { sql, numeric: false });
    }
    // Evaluated once, and read twice: MySQL's error quotes the bytes of a name that is no text.
    let (open, close, literal): (&[u8], &[u8], &[u8]) = match cx.flavour() {
        Flavour::MySql => (
            b"SELECT HEX(CONVERT(n USING utf8mb4)),HEX(n) FROM (SELECT ",
            b" AS n LIMIT 1) d",
            b"_utf8mb4 x'",
        ),
        Flavour::MariaDb => (b"SELECT HEX(CONCAT(", b")),NULL", b"x'"),
    };
    let row = cx.ask_row(&[open, sql.as_slice(), close].concat()).await?;
    let sql = match row.as_deref() {
        Some([Some(hex), _]) => [literal, hex, b"'"].concat(),
        Some([None, Some(hex)]) => [b"_binary x'", hex.as_slice(), b"'"].concat(),
        Some(_) => return Ok(Given::Null),
        // The error comes again.
        None => sql,
    };
    Ok(Given::Expression { sql, numeric: false })
}

/// Whether MariaDB, which looks for a KILL QUERY at each row, does so after the call and before the
/// statement's end.
fn ends_at_a_row(composite: &Composite, call: &Call) -> bool {
    let rows = composite.tables && call.item.is_none();
    rows || call.derived || composite.union
}

/// Whether an argument comes to the same whatever is set: a literal, a parameter, a user variable.
fn fixed(text: &[u8], part: &Part) -> bool {
    let name = text[part.span.clone()].strip_prefix(b"@");
    let word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.');
    part.literal.is_some() || name.is_some_and(|name| name.iter().all(word))
}
