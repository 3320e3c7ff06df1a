//! A COMMIT of a session that holds locks: the server is asked first whether their rows are still the session's.

use std::time::Duration;

use tokio::time::timeout;

use super::attend::attend;
use super::call_context::CallContext;
use crate::config::{Config, FencedCommit};
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::errand::{Errand, ErrandKind};
use crate::frontend::link::question::Whose;
use crate::frontend::shared::context::Context;
use crate::lock::name::Key;
use crate::protocol::packet;
use crate::protocol::response::Ending;
use crate::protocol::status::Status;
use crate::seldom::Turn;
use crate::sql::classify::commits::{Commit, commit_of};
use crate::sql::find::words::has_any;
use crate::store::fence::{LOST, ROWS, fence_sql};
use crate::store::schema::VIEW;
use crate::types::{Flavour, ProxyId};

/// Errors by which the server says that the account may not read the rows.
const DENIED: [u16; 4] = [1044, 1142, 1143, 1227];
/// Errors that are no verdict: the client gets them for its COMMIT, which was not sent. After the second the transaction is rolled
/// back; otherwise it is open.
const INTERRUPTED: [u16; 4] = [1205, 1213, 1317, 1969];

/// Errors of sessions that may ask for nothing else at this moment: under LOCK TABLES, and in an XA transaction.
const NO_QUESTION: [u16; 2] = [1100, 1399];

/// What the server said.
enum Fence {
    /// All rows are the session's.
    Own,
    /// A row is not the session's.
    Lost,
    /// The account may not ask.
    Denied,
    /// The server could not be asked, for another reason.
    Failed(u16),
    /// The client gets this in place of its answer.
    Interrupted(Vec<u8>),
}

/// Whether commits are fenced at all.
pub(crate) fn fences(config: &Config) -> bool {
    config.fenced_commit != FencedCommit::Off
}

/// Asks, if the first statement of a text is to be fenced: what the client gets in place of its answer, if it is not to be
/// sent.
pub(crate) async fn fence_text(
    cx: &mut CallContext<'_>,
    text: &[u8],
) -> Result<Option<Vec<u8>>, CloseReason> {
    if !fences(&cx.context.config) || cx.locks.ledger().held().is_empty() {
        return Ok(None);
    }
    match commit_of(text, cx.dialect()) {
        Some(commit) => fence(cx, commit).await,
        None => Ok(None),
    }
}

/// Asks, if a statement that commits like this is to be fenced: what the client gets in place of its answer, if it is
/// not to be sent.
pub(crate) async fn fence(
    cx: &mut CallContext<'_>,
    commit: Commit,
) -> Result<Option<Vec<u8>>, CloseReason> {
    if !fences(&cx.context.config) || cx.locks.ledger().held().is_empty() {
        return Ok(None);
    }
    cx.settle().await?;
    let without_effect =
        commit == Commit::BySwitch && cx.server.status().flags().has(Status::AUTOCOMMIT);
    if without_effect || !cx.server.status().may_have_changes() {
        return Ok(None);
    }
    put_question(cx).await
}

/// Counts a commit of a session that holds locks.
pub(super) fn count(cx: &CallContext<'_>, result: &str) {
    cx.context.metrics.fenced_commits.with_label_values(&[result]).inc();
}

/// Asks in an open transaction: what the client gets in place of the answer to its COMMIT, if that is not to be sent.
pub(super) async fn put_question(cx: &mut CallContext<'_>) -> Result<Option<Vec<u8>>, CloseReason> {
    let (ledger, store) = (cx.locks.ledger(), &cx.context.config.store);
    let (Some(proxy), Some(store)) = (ledger.granted_by(), store) else { return Ok(None) };
    let (grants, schema) = (ledger.held().grants(), store.schema.clone());
    if cx.context.lines.unfenced.has(cx.identity.certain_owner()) {
        count(cx, "denied");
        return Ok(None);
    }
    write_now(cx, WhichRows::Own).await?;
    match ask(cx, &schema, proxy, grants).await? {
        Fence::Own => {
            count(cx, "fenced");
            cx.context.lines.unfenced.forget(cx.identity.certain_owner());
            Ok(None)
        }
        Fence::Denied => {
            count(cx, "denied");
            hide_refusal(cx).await?;
            if cx.context.lines.unfenced.note(cx.identity.certain_owner()) {
                tracing::warn!(
                    owner = %cx.identity.owner_text(),
                    "COMMITs of this account are not fenced, since it may not read the rows of its locks: \
                     GRANT SELECT (k,tok,holder) on the table `locks` of the lock schema to it, or set fenced_commit = \"off\""
                );
            }
            Ok(None)
        }
        Fence::Failed(code) => {
            count(cx, "failed");
            hide_refusal(cx).await?;
            if !NO_QUESTION.contains(&code)
                && let Some(Turn { left_out }) = cx.context.lines.unasked.turn()
            {
                tracing::warn!(
                    owner = %cx.identity.owner_text(), code, left_out,
                    "a COMMIT is not fenced, since the server refuses the question for the rows of the session's locks"
                );
            }
            Ok(None)
        }
        Fence::Interrupted(error) => {
            count(cx, "interrupted");
            Ok(Some(error))
        }
        Fence::Lost => {
            count(cx, "lost");
            tracing::error!(
                connection = %cx.identity.connection(),
                owner = %cx.identity.owner_text(),
                "a COMMIT was not sent, and its session is closed, because the row of one of its locks is not the session's any more"
            );
            Err(CloseReason::Lost(None))
        }
    }
}

/// Which rows are to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhichRows {
    /// Those of the session's locks.
    Own,
    /// Those of all sessions here.
    All,
}

/// Who only looks waits no longer for rows that cannot be written.
const LOOKS: Duration = Duration::from_secs(2);

/// Has the rows of locks written, where they may be older than the locks. A session that holds locks finds its own.
pub(crate) async fn write_now(cx: &mut CallContext<'_>, all: WhichRows) -> Result<(), CloseReason> {
    let engine = &cx.context.engine;
    if !engine.writes_behind() {
        return Ok(());
    }
    let own: Vec<Key> = cx.locks.ledger().held().grants().into_iter().map(|(key, _)| key).collect();
    let written = async {
        if !own.is_empty() {
            engine.write_now(own).await;
        }
        if all == WhichRows::All {
            let _ = timeout(LOOKS, engine.write_now(Vec::new())).await;
        }
        Ok(())
    };
    attend(cx.locks, cx.context, Errand::new(ErrandKind::Fence, written)).await
}

/// Whether a text may read the lock tables now, whose rows may be older than the locks.
pub(crate) fn reads_locks(context: &Context, text: &[u8]) -> bool {
    context.engine.writes_behind() && names_locks(context, text)
}

/// Whether a text may read the lock tables.
pub(crate) fn names_locks(context: &Context, text: &[u8]) -> bool {
    let schema = context.config.store.as_ref().map(|store| store.schema.as_bytes());
    schema.is_some_and(|schema| has_any(text, &[schema, VIEW.as_bytes()]))
}

/// On MariaDB a COMMIT leaves the error of the question where SHOW WARNINGS finds it: another statement on a table
/// clears that.
async fn hide_refusal(cx: &mut CallContext<'_>) -> Result<(), CloseReason> {
    if cx.flavour() == Flavour::MariaDb {
        let packet = packet::clear_diagnostics(cx.capabilities());
        attend(cx.locks, cx.context, cx.server.exchange_unseen(vec![packet], true, Whose::Proxy))
            .await?;
    }
    Ok(())
}

/// Puts the question for all locks, in the order of their rows, which is that of all batches: so none waits for another.
async fn ask(
    cx: &mut CallContext<'_>,
    schema: &str,
    proxy: ProxyId,
    mut grants: Vec<(Key, u64)>,
) -> Result<Fence, CloseReason> {
    grants.sort_unstable();
    let (flavour, version) = (cx.flavour(), cx.dialect().version);
    for some in grants.chunks(ROWS) {
        let statements = fence_sql(schema, proxy, some, flavour, version);
        let packet = |text: &String| packet::query(text.as_bytes(), cx.capabilities());
        let packets = statements.iter().map(packet).collect();
        let reply =
            attend(cx.locks, cx.context, cx.server.exchange_unseen(packets, true, Whose::Proxy))
                .await?;
        match reply.ending {
            Ending::Err { code: LOST } => return Ok(Fence::Lost),
            Ending::Err { code } if DENIED.contains(&code) => return Ok(Fence::Denied),
            Ending::Err { code } if INTERRUPTED.contains(&code) => {
                return Ok(Fence::Interrupted(reply.bytes));
            }
            Ending::Err { code } => return Ok(Fence::Failed(code)),
            _ => {}
        }
    }
    Ok(Fence::Own)
}
