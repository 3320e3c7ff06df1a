//! A session that is observed: its commands are forwarded as they are, and those with lock calls are
//! shown to its observer.

use std::sync::Arc;

use crate::frontend::link::Link;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::from_client::CommandAction;
use crate::frontend::locks::call_context::text_start;
use crate::frontend::locks::commit_fence::names_locks;
use crate::frontend::observe::statement::{TooManyReadings, WatchedText, runs_unknown};
use crate::frontend::observe::watch::Watch;
use crate::frontend::shared::context::Context;
use crate::frontend::state::server_view::ServerView;
use crate::net::buffers::BUFFER;
use crate::net::peer::Peer;
use crate::observe::event::{StatementUser, shown};
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::Command;
use crate::protocol::frame::{FrameHeader, HEADER};
use crate::protocol::handshake::{ChangeUser, Login};
use crate::sql::find::first_word::after_comments;
use crate::sql::find::prefilter::scan;
use crate::sql::find::stream::Stream;
use crate::sql::lexer::dialect::Dialect;
use crate::sql::lexer::scanner::is_space;
use crate::sql::report::coverage::{By, Coverage};
use crate::sql::session::runs_others::runs_others;

/// The attributes in which clients say what they are, the best first.
const PROGRAM: [&[u8]; 2] = [b"program_name", b"_client_name"];

/// How texts are shown that are not read.
const AMBIGUOUS: &str = "<text that reads differently in many SQL modes>";
const UNREAD: &str = "<text after long query attributes>";

/// The user of a login, for the observer.
pub(crate) fn user_of_login(login: &Login<'_>, peer: Peer) -> StatementUser {
    who(login.user, login.database, peer, |key| login.attribute(key))
}

fn who<'a>(
    user: &[u8],
    database: &[u8],
    peer: Peer,
    attribute: impl Fn(&[u8]) -> Option<&'a [u8]>,
) -> StatementUser {
    let program = PROGRAM.iter().find_map(|key| attribute(key)).unwrap_or_default();
    StatementUser {
        user: shown(user),
        host: peer.host().into(),
        program: shown(program),
        schema: shown(database),
    }
}

/// Shows the command at the start of `bytes` to the observer.
pub(crate) fn decide_watched(
    watch: &mut Watch,
    view: &mut ServerView,
    link: &Link,
    context: &Context,
    bytes: &[u8],
) -> Result<CommandAction, CloseReason> {
    let pass = Ok(CommandAction::Forward(None));
    let Some(frame) = FrameHeader::peek(bytes) else {
        return Ok(CommandAction::Incomplete);
    };
    if frame.len == 0 {
        return pass;
    }
    let Some(&byte) = bytes.get(HEADER) else {
        return Ok(CommandAction::Incomplete);
    };
    let size = HEADER + frame.len;
    let fits = size <= BUFFER;
    let waits = fits && bytes.len() < size;
    let payload = &bytes[HEADER..size.min(bytes.len())];
    match Command(byte) {
        Command::QUERY | Command::STMT_PREPARE => {
            if waits {
                return Ok(CommandAction::Incomplete);
            }
            let text_at = text_start(payload, link.capabilities());
            if !fits && link.guard().wants_rows() {
                return Ok(CommandAction::Incomplete);
            }
            if !fits {
                watch.begin_long(Command(byte) == Command::STMT_PREPARE);
                let stream = stream_of(text_at, view.dialect(link.status().flags()));
                return Ok(CommandAction::Forward(Some(stream.looking())));
            }
            let text = text_at.map(|at| &payload[at..]);
            let prepares = Command(byte) == Command::STMT_PREPARE && watch.keeps_rows();
            // Other texts are not searched again: only a session with such a lock pays for it.
            if prepares || link.guard().is_late() {
                let names = text.is_none_or(|text| names_locks(context, text));
                watch.note_reading(names && prepares);
                let runs = |text| runs_others(text, view.dialect(link.status().flags()));
                if (names || text.is_some_and(runs)) && link.guard().wants_rows() {
                    // The command is looked at again when the rows are written.
                    return Ok(CommandAction::Incomplete);
                }
            }
            watch_text(watch, view, link, Command(byte), text);
        }
        Command::INIT_DB | Command::SET_OPTION if waits => return Ok(CommandAction::Incomplete),
        Command::INIT_DB => watch.schema(&payload[1..]),
        Command::RESET_CONNECTION => watch.reset(),
        Command::CHANGE_USER if !fits => {
            return Err(CloseReason::Broken("a change of user longer than a buffer"));
        }
        Command::CHANGE_USER if waits => return Ok(CommandAction::Incomplete),
        Command::CHANGE_USER => return Ok(CommandAction::Park),
        Command::STMT_EXECUTE
        | Command::STMT_SEND_LONG_DATA
        | Command::STMT_CLOSE
        | Command::STMT_RESET
        | Command::MARIADB_BULK_EXECUTE => {
            // Up to the number of a parameter.
            let head = frame.len.min(7);
            if payload.len() < head {
                return Ok(CommandAction::Incomplete);
            }
            if watch.may_read() && link.guard().wants_rows() {
                return Ok(CommandAction::Incomplete);
            }
            return Ok(watch_prepared(watch, link, payload, waits, fits));
        }
        Command::SET_OPTION => view.set_option(&payload[1..]),
        _ => {}
    }
    pass
}

/// The search of a statement that does not fit into a buffer. `text_at` is `None` if not all query attributes have
/// come.
pub(super) fn stream_of(text_at: Option<usize>, dialect: Dialect) -> Stream {
    match text_at {
        Some(at) => Stream::after(dialect, at),
        None => Stream::after_attributes(dialect),
    }
}

fn watch_text(
    watch: &mut Watch,
    view: &ServerView,
    link: &Link,
    command: Command,
    text: Option<&[u8]>,
) {
    let prepares = command == Command::STMT_PREPARE;
    let by = if prepares { By::Prepare } else { By::Query { several: view.several() } };
    let found = text.filter(|text| scan(text).call);
    let read =
        found.map_or(Ok(None), |text| watch.read(text, view.dialect(link.status().flags()), by));
    let read = read.unwrap_or_else(|TooManyReadings| {
        let why = Coverage::Perhaps(
            "a lock call in a text that reads differently in many SQL modes and character sets",
        );
        watch.unread(AMBIGUOUS, why);
        watch.keeps_rows().then(|| Arc::new(WatchedText::unknown(AMBIGUOUS.to_owned())))
    });
    let dialect = view.dialect(link.status().flags());
    let others = watch.keeps_rows() && text.is_none_or(|text| runs_others(text, dialect));
    let unknown = || match text {
        Some(text) => runs_unknown(text, view.dialect(link.status().flags())),
        None => WatchedText::unknown(UNREAD.to_owned()),
    };
    let read = read.or_else(|| others.then(|| Arc::new(unknown())));
    if prepares {
        watch.prepare(read);
        return;
    }
    if let Some(text) = read {
        watch.query(text);
    } else if let Some(schema) = text.and_then(schema_used) {
        watch.schema(schema);
    }
    if view.several() && text.is_some_and(may_use_another) {
        watch.forget_schema();
    }
}

fn watch_prepared(
    watch: &mut Watch,
    link: &Link,
    payload: &[u8],
    waits: bool,
    fits: bool,
) -> CommandAction {
    let Some(id) = payload.get(1..5).and_then(|id| id.try_into().ok()) else {
        return CommandAction::Forward(None);
    };
    let id = u32::from_le_bytes(id);
    match Command(payload[0]) {
        Command::STMT_EXECUTE => {
            if waits && watch.reads_executions_of(id) {
                return CommandAction::Incomplete;
            }
            let attributes = link.capabilities().has(Capabilities::QUERY_ATTRIBUTES);
            watch.execute(id, Some(payload).filter(|_| fits && !waits), attributes);
        }
        Command::STMT_SEND_LONG_DATA => {
            if let Some(&[low, high]) = payload.get(5..7) {
                watch.long_data(id, u16::from_le_bytes([low, high]));
            }
        }
        Command::STMT_CLOSE => watch.close_statement(id),
        Command::STMT_RESET => watch.reset_statement(id),
        Command::MARIADB_BULK_EXECUTE => watch.bulk(id),
        _ => {}
    }
    CommandAction::Forward(None)
}

/// Begins again after a change of user, whether it was let in or not.
pub(crate) fn watch_changed_user(watch: &mut Watch, change: Option<&ChangeUser<'_>>, peer: Peer) {
    watch.anew(change.map(|c| who(c.user, c.database, peer, |k| c.attribute(k))));
}

/// The name in `USE name`.
fn schema_used(text: &[u8]) -> Option<&[u8]> {
    let text = &text[after_comments(text)..];
    let (word, rest) = text.split_at_checked(3)?;
    if !word.eq_ignore_ascii_case(b"USE")
        || !rest.first().is_some_and(|b| is_space(*b) || *b == b'`')
    {
        return None;
    }
    let name = rest.trim_ascii_start();
    let name = name.trim_ascii_end();
    let name = name.strip_suffix(b";").unwrap_or(name).trim_ascii_end();
    let quoted = name.strip_prefix(b"`").and_then(|n| n.strip_suffix(b"`"));
    Some(quoted.unwrap_or(name))
}

/// Whether a statement after the first of a text may change the default schema.
fn may_use_another(text: &[u8]) -> bool {
    let is_use = |word: &[u8]| word.eq_ignore_ascii_case(b"USE");
    let leads = |at: usize| {
        let next = text[at + 1..].trim_ascii_start();
        let odd = next.first().is_some_and(|b| matches!(b, b'/' | b'#' | b'-' | b'*'));
        odd || next.get(..3).is_some_and(is_use)
    };
    text.windows(3).any(is_use) && memchr::memchr_iter(b';', text).any(leads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_that_a_statement_changes_to_is_read() {
        for (sql, schema) in [
            ("USE shop", Some("shop")),
            ("  use\t`my shop` ; ", Some("my shop")),
            ("USE`shop`", Some("shop")),
            ("/* a */ USE shop", Some("shop")),
            ("USER x", None),
            ("SELECT 1", None),
            ("US", None),
        ] {
            assert_eq!(schema_used(sql.as_bytes()), schema.map(str::as_bytes), "{sql}");
        }
        for sql in ["SELECT 1; USE x", "DO 1; /* a */ use x", "DO 1;-- a\nUSE x"] {
            assert!(may_use_another(sql.as_bytes()), "{sql}");
        }
        for sql in ["USE x;", "DO 1; DO 2", "SELECT ';', 'use it'", "DO 1; SELECT 'because'"] {
            assert!(!may_use_another(sql.as_bytes()), "{sql}");
        }
    }
}
