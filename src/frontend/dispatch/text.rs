//! COM_QUERY with a text that may call.

use std::ops::Range;

use super::kill::{Kill, run_kill};
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::arguments::Given;
use crate::frontend::locks::bare_call::{CallInPacket, check_alias, gives_no_row};
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::locks::commit_fence::{WhichRows, fence_text, fences, reads_locks, write_now};
use crate::frontend::locks::ended_wait::answer_ended_wait;
use crate::frontend::locks::operations::{CallResult, make_call};
use crate::frontend::locks::reading::{classify_text, pieces_of};
use crate::frontend::locks::reply::answer_call;
use crate::frontend::locks::unsupported::{UNJUDGED, refuse_unsupported};
use crate::frontend::locks::visible_wait::WaitStatement;
use crate::frontend::locks::write_fence::fence_write;
use crate::frontend::prepared::sql_prepare::run_named;
use crate::frontend::prepared::sql_text::Request;
use crate::frontend::state::several::Several;
use crate::frontend::statements::composite::run_composite;
use crate::frontend::statements::uncovered::pass_or_refuse;
use crate::lock::codes;
use crate::protocol::command::Command;
use crate::protocol::frame::HEADER;
use crate::sql::classify::commits::{commit_of, may_commit_later};
use crate::sql::classify::writes::{Write, write_of};
use crate::sql::classify::{BareCall, Statement, as_composite};
use crate::sql::expression::argument::Argument;

/// The result of a text.
pub(crate) enum Answered {
    /// The client has its answer, or will have it from the server.
    Done,
    /// The text has several statements, which are to be run one after the other.
    Several(Box<Several>),
}

/// Answers a COM_QUERY, or has the server answer it.
pub(crate) async fn run_text(
    cx: &mut CallContext<'_>,
    packet: Vec<u8>,
) -> Result<Answered, CloseReason> {
    let payload = &packet[HEADER..];
    let Some(at) = cx.text_start(payload) else {
        cx.count(Command::QUERY);
        cx.refuse(&codes::unreadable(cx.flavour()))?;
        return Ok(Answered::Done);
    };
    let text = &payload[at..];
    if cx.server.pooled().is_shared()
        && let Some(kill) = Kill::read(text)
    {
        run_kill(cx, &packet, at, &kill).await?;
        return Ok(Answered::Done);
    }
    if reads_locks(cx.context, text) {
        write_now(cx, WhichRows::All).await?;
    }
    if let Some(pieces) = pieces_to_fence(cx, text).await? {
        return Ok(several(cx, &payload[..at], text, &pieces));
    }
    if let Some(error) = fence_text(cx, text).await? {
        cx.count(Command::QUERY);
        return cx.send_client(&error).map(|()| Answered::Done);
    }
    if let Some(answer) = cx.server.tell_diagnostics(text) {
        cx.count(Command::QUERY);
        cx.send_client(&answer)?;
        return Ok(Answered::Done);
    }
    let mut statement = classify_text(cx, text).await?;
    if matches!(statement, Statement::NoCall | Statement::PerhapsLists)
        && cx.server.pooled().must_answer_itself(text)
        && let Some(own) = as_composite(text, cx.dialect())
    {
        statement = Statement::Composite(own);
    }
    // A bare call pays no copy.
    if !matches!(statement, Statement::NoCall | Statement::Bare(_)) {
        cx.command.keep(&packet, text);
    }
    match statement {
        // A parameter without PREPARE is a syntax error, which takes nothing.
        Statement::Bare(bare) if bare.arguments.contains(&Argument::Parameter) => {
            cx.forward(&packet)?;
        }
        Statement::Bare(bare) => run_bare(cx, &packet, at, bare).await?,
        Statement::Composite(composite) => {
            run_composite(cx, &payload[..at], text, &composite).await?;
        }
        Statement::Named(named) => {
            let request = Request { packet: &packet, prefix: &payload[..at], text };
            run_named(cx, &request, &named).await?;
        }
        // The server refuses several statements in this session.
        Statement::Several(_) if !cx.view.several() => cx.forward(&packet)?,
        // A part of one is a single statement.
        Statement::Several(_) if cx.command.is_part() => {
            refuse_unsupported(cx, "a lock call in these statements")?;
        }
        Statement::Several(pieces) => {
            return Ok(several(cx, &payload[..at], text, &pieces));
        }
        Statement::NoCall | Statement::PerhapsLists
            if write_of(text, cx.view.several()) == Some(Write::Plain)
                && !cx.command.is_part()
                && fence_write(cx, &packet).await? => {}
        statement => pass_or_refuse(cx, &packet, text, &statement).await?,
    }
    Ok(Answered::Done)
}

/// The statements of a text: those with calls are run one by one, and so are those that are fenced.
fn several(cx: &CallContext<'_>, prefix: &[u8], text: &[u8], pieces: &[Range<usize>]) -> Answered {
    let (fences, dialect) = (fences(&cx.context.config), cx.dialect());
    // The first may have nothing to commit, which is known.
    let inside = cx.server.status().may_have_changes();
    let alone =
        |nth, piece: &[u8]| fences && (nth > 0 || inside) && commit_of(piece, dialect).is_some();
    Answered::Several(Box::new(Several::of_text(prefix, text, pieces, alone)))
}

/// The statements of a text, if one after the first is to be fenced.
async fn pieces_to_fence(
    cx: &mut CallContext<'_>,
    text: &[u8],
) -> Result<Option<Vec<Range<usize>>>, CloseReason> {
    let holds = fences(&cx.context.config) && !cx.locks.ledger().held().is_empty();
    if !holds || cx.command.is_part() || !cx.view.several() || !may_commit_later(text) {
        return Ok(None);
    }
    pieces_of(cx, text).await
}

/// Runs a statement that is one call; its text begins `at` that byte of the payload.
async fn run_bare(
    cx: &mut CallContext<'_>,
    packet: &[u8],
    at: usize,
    bare: BareCall,
) -> Result<(), CloseReason> {
    let (prefix, text) = packet[HEADER..].split_at(at);
    cx.count(Command::QUERY);
    let given = bare.arguments.iter().map(|a| Given::from_text(a, text)).collect();
    let call = CallInPacket { prefix, text, bare };
    if let Some(refusal) = check_alias(cx, &call).await? {
        return cx.send_client(&refusal);
    }
    let outcome = if gives_no_row(cx, &call).await? {
        CallResult::Native
    } else {
        let shown =
            WaitStatement { call: &call, name: None, stale: None, cursor: false, stand_in: false };
        make_call(cx, &shown, given).await?
    };
    match outcome {
        CallResult::Value(value, pure) | CallResult::Fails(value, pure) => {
            answer_call(cx, &call, value, &pure).await
        }
        CallResult::Native => cx.forward(packet),
        CallResult::Said(_, reply) => cx.send_client(&reply),
        CallResult::EndedWait(why) => answer_ended_wait(cx, &call, why).await,
        CallResult::Unsupported => {
            cx.command.keep(packet, text);
            refuse_unsupported(cx, UNJUDGED)
        }
        CallResult::Error(error) => cx.refuse(&error),
    }
}
