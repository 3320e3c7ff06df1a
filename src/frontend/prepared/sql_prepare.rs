//! Lock calls in statements that are prepared under a name in SQL.
//!
//! The client's PREPARE goes to the server unchanged, which refuses what it refuses. An EXECUTE carries out the calls
//! in the text that was prepared. Then the server runs that text with their values in it, and with the client's own
//! values for the parameters that are left.

use std::sync::Arc;

use super::prepare_context::context_of;
use super::sql_execute::{execute_text, refuse_or_pass};
use super::sql_text::{PreparedText, Request, SET, say_ended, text_of_source};
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::locks::call_context::CallContext;
use crate::frontend::locks::commit_fence::{fence, fences};
use crate::frontend::locks::reading::classify_text;
use crate::frontend::locks::unsupported::{
    Decision, note_unsupported, refuse_unsupported, runs_uncovered,
};
use crate::frontend::state::named_statements::{NameMeaning, NamedStatement};
use crate::frontend::statements::rewrite::id_edits;
use crate::frontend::statements::uncovered::{note_definition, try_prepare};
use crate::protocol::command::Command;
use crate::sql::classify;
use crate::sql::classify::commits::{Commit, commit_of};
use crate::sql::classify::named::{Named, StatementName, TextSource, UsingValue};
use crate::sql::expression::composite::Composite;
use crate::sql::find::words::names_connection;

/// What a statement's text holds.
enum Content {
    /// No call.
    Nothing,
    Calls(Composite),
    /// None, but it commits.
    Commits(Commit),
    /// What cannot be carried out.
    Unsupported(&'static str),
}

/// PREPARE, EXECUTE and DEALLOCATE.
pub(crate) async fn run_named(
    cx: &mut CallContext<'_>,
    request: &Request<'_>,
    named: &Named,
) -> Result<(), CloseReason> {
    if names_oddly(named) {
        cx.statements.named.forget_without_calls();
    }
    if names_oddly(named) && cx.statements.named.any() {
        cx.command.drop_packet();
        return refuse_unsupported(
            cx,
            "such a statement name while a statement with a lock call is prepared",
        );
    }
    match named {
        Named::Deallocate { name } => {
            cx.statements.named.remove(&name.folded);
            cx.forward(request.packet)
        }
        Named::Prepare { name, source } => prepare_named(cx, request, name, source).await,
        Named::Execute { name, using } => match cx.statements.named.get(&name.folded) {
            Some(NameMeaning::Calls(statement)) if name.set => {
                let statement = Arc::clone(statement);
                refuse_or_pass(cx, request, &statement.composite, SET)
            }
            Some(NameMeaning::Calls(statement)) => {
                let statement = Arc::clone(statement);
                execute_text(cx, request, &statement, using).await
            }
            Some(NameMeaning::Doubtful) => {
                cx.statements.named.remove(&name.folded);
                let name = String::from_utf8_lossy(&name.folded).into_owned();
                cx.question(format!("DEALLOCATE PREPARE `{name}`").as_bytes()).await?;
                cx.forward(request.packet)
            }
            Some(NameMeaning::Commits(commit)) => {
                let commit = *commit;
                pass_commit(cx, request, commit).await
            }
            None => cx.forward(request.packet),
        },
        Named::Immediate { source, using } => execute_immediate(cx, request, source, using).await,
    }
}

/// EXECUTE IMMEDIATE.
async fn execute_immediate(
    cx: &mut CallContext<'_>,
    request: &Request<'_>,
    source: &TextSource,
    using: &[UsingValue],
) -> Result<(), CloseReason> {
    let text = match text_of_source(cx, request.text, source).await? {
        PreparedText::Known(text) => text,
        PreparedText::Refused | PreparedText::Hidden => return cx.forward(request.packet),
        PreparedText::Uncovered(why) => return refuse_unsupported(cx, why),
        PreparedText::Ended(reply) => return say_ended(cx, &reply),
    };
    match content_of(cx, &text).await? {
        Content::Nothing => cx.forward(request.packet),
        Content::Commits(commit) => pass_commit(cx, request, commit).await,
        Content::Unsupported(what) => refuse_unsupported(cx, what),
        Content::Calls(composite) => {
            let statement = NamedStatement { text, composite, context: None };
            execute_text(cx, request, &statement, using).await
        }
    }
}

/// EXECUTE of a statement that commits.
async fn pass_commit(
    cx: &mut CallContext<'_>,
    request: &Request<'_>,
    commit: Commit,
) -> Result<(), CloseReason> {
    match fence(cx, commit).await? {
        Some(error) => say_ended(cx, &error),
        None => cx.forward(request.packet),
    }
}

/// PREPARE. A refusal leaves the name as it was.
async fn prepare_named(
    cx: &mut CallContext<'_>,
    request: &Request<'_>,
    name: &StatementName,
    source: &TextSource,
) -> Result<(), CloseReason> {
    let text = match text_of_source(cx, request.text, source).await? {
        PreparedText::Known(text) => text,
        PreparedText::Hidden => Vec::new(),
        PreparedText::Refused => return pass_prepare(cx, request, name, None).await,
        PreparedText::Uncovered(why) => return uncovered_prepare(cx, request, name, why).await,
        PreparedText::Ended(reply) => return say_ended(cx, &reply),
    };
    cx.command.set_text(&text);
    let composite = match content_of(cx, &text).await? {
        Content::Nothing => return pass_prepare(cx, request, name, None).await,
        Content::Commits(commit) => {
            let known = name.plain && name.folded.len() <= cx.room();
            let meaning = known.then_some(NameMeaning::Commits(commit));
            return pass_prepare(cx, request, name, meaning).await;
        }
        Content::Unsupported(why) => return uncovered_prepare(cx, request, name, why).await,
        Content::Calls(composite) => composite,
    };
    if !name.plain && composite.calls.is_empty() {
        return pass_prepare(cx, request, name, None).await;
    }
    if !name.plain {
        let why = "a lock call in a prepared statement with such a name";
        return uncovered_prepare(cx, request, name, why).await;
    }
    let context = context_of(cx, &text, &composite).await?;
    let statement = NamedStatement { text, composite, context };
    if statement.size() + name.folded.len() > cx.room() {
        if statement.composite.calls.is_empty() {
            return pass_prepare(cx, request, name, None).await;
        }
        return cx.refuse_no_room();
    }
    pass_prepare(cx, request, name, Some(NameMeaning::Calls(Arc::new(statement)))).await
}

/// PREPARE of what is not covered: where the server prepares it, the name means that from then on.
async fn uncovered_prepare(
    cx: &mut CallContext<'_>,
    request: &Request<'_>,
    name: &StatementName,
    why: &str,
) -> Result<(), CloseReason> {
    if !runs_uncovered(cx.context) {
        return refuse_unsupported(cx, why);
    }
    note_unsupported(cx, why, request.text, Decision::Native);
    pass_prepare(cx, request, name, None).await
}

/// Whether a name may be one that is known, in other letters: servers do not tell all apart.
fn names_oddly(named: &Named) -> bool {
    match named {
        Named::Prepare { name, .. } | Named::Execute { name, .. } | Named::Deallocate { name } => {
            !name.plain
        }
        Named::Immediate { .. } => false,
    }
}

/// Passes a PREPARE, and keeps in mind what the name means then.
async fn pass_prepare(
    cx: &mut CallContext<'_>,
    request: &Request<'_>,
    name: &StatementName,
    meaning: Option<NameMeaning>,
) -> Result<(), CloseReason> {
    let was_known = cx.statements.named.get(&name.folded).is_some();
    if !was_known && meaning.is_none() {
        return cx.forward(request.packet);
    }
    cx.count(Command::QUERY);
    cx.forget_skipped();
    let reply = cx.exchange(request.packet).await?;
    match meaning {
        _ if reply.is_error() && was_known => {
            cx.statements.named.insert(name.folded.clone(), NameMeaning::Doubtful);
        }
        Some(meaning) if !reply.is_error() => {
            cx.statements.named.insert(name.folded.clone(), meaning);
        }
        Some(_) | None => {
            cx.statements.named.remove(&name.folded);
        }
    }
    cx.send_client(&reply.bytes)
}

/// A statement that asks for its connection's id, which is the session's to say where connections are shared.
fn asking_for_id(cx: &CallContext<'_>, text: &[u8]) -> Option<Composite> {
    let asks = cx.server.pooled().is_shared() && names_connection(text);
    classify::as_composite(text, cx.dialect()).filter(|_| asks)
}

/// What calls a text has that is prepared.
async fn content_of(cx: &mut CallContext<'_>, text: &[u8]) -> Result<Content, CloseReason> {
    use crate::sql::classify::Statement;
    let mut statement = classify_text(cx, text).await?;
    if matches!(statement, Statement::NoCall | Statement::PerhapsLists)
        && let Some(asking) = asking_for_id(cx, text)
    {
        statement = Statement::Composite(asking);
    }
    Ok(match statement {
        Statement::NoCall if fences(&cx.context.config) => {
            commit_of(text, cx.dialect()).map_or(Content::Nothing, Content::Commits)
        }
        // Of several statements the server prepares none, and none that prepares.
        Statement::NoCall
        | Statement::Executes
        | Statement::PerhapsLists
        | Statement::WrongCount
        | Statement::InTable
        | Statement::Several(_)
        | Statement::Named(_) => Content::Nothing,
        Statement::Definition => {
            note_definition(cx);
            Content::Nothing
        }
        Statement::Composite(composite)
            if composite.calls.is_empty() && id_edits(cx, &composite).is_empty() =>
        {
            Content::Nothing
        }
        Statement::Composite(composite) => Content::Calls(composite),
        Statement::Bare(_) => match classify::as_composite(text, cx.dialect()) {
            Some(composite) => Content::Calls(composite),
            None => Content::Unsupported("a lock call written like this in a named statement"),
        },
        Statement::Other | Statement::Ambiguous => {
            if try_prepare(cx, text).await?.is_some() {
                Content::Nothing
            } else {
                Content::Unsupported("a lock function in this kind of statement")
            }
        }
    })
}
