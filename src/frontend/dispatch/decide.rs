//! What to do with a command, by its first bytes: forward it, or keep it to be answered.

use super::elsewhere::decide_elsewhere;
use super::kill::Kill;
use super::prepared_noted::noted_of;
use super::watched::{decide_watched, stream_of};
use crate::frontend::link::Link;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::from_client::{CommandAction, Dispatch};
use crate::frontend::link::input::Dropped;
use crate::frontend::link::pending::Recipient;
use crate::frontend::locks::call_context::text_start;
use crate::frontend::locks::commit_fence::{fences, reads_locks};
use crate::frontend::locks::unsupported::{self, Decision, note_uncovered, runs_uncovered};
use crate::frontend::locks::write_fence::fences_writes;
use crate::frontend::observe::watch::Watch;
use crate::frontend::prepared::too_long::decide_long;
use crate::frontend::shared::context::Context;
use crate::frontend::state::identity::Identity;
use crate::frontend::state::phase::Phase;
use crate::frontend::state::server_view::ServerView;
use crate::frontend::state::statements::{Noted, Statements};
use crate::lock::codes;
use crate::mutants;
use crate::net::buffers::BUFFER;
use crate::protocol::command::{Command, Shape};
use crate::protocol::error_replacement::ErrorReplacement;
use crate::protocol::frame::{FrameHeader, HEADER};
use crate::protocol::status::Status;
use crate::sql::classify::commits::{commit_of, may_commit_later};
use crate::sql::classify::named::may_be_named;
use crate::sql::classify::writes::{Write, write_of};
use crate::sql::find::prefilter::scan;
use crate::sql::find::stream::StreamFound;
use crate::sql::find::words::names_connection;
use crate::sql::lexer::dialect::Dialect;
use crate::types::Flavour;

/// A session's parts, lent while client bytes are looked at.
pub(crate) struct Dispatcher<'a> {
    /// What is known of the server.
    pub view: &'a mut ServerView,
    /// The session's prepared statements.
    pub statements: &'a mut Statements,
    /// Ids, account and peer of the session.
    pub identity: &'a Identity,
    /// What the session is doing.
    pub phase: &'a mut Phase,
    /// What sessions share.
    pub context: &'a Context,
    /// The session's observer, in modes where the server grants the locks.
    pub watch: &'a mut Option<Box<Watch>>,
}

/// A command's bytes, as far as they have come.
struct Head<'a> {
    bytes: &'a [u8],
    command: Command,
    /// Bytes of its first frame, header included.
    size: usize,
}

impl<'a> Head<'a> {
    /// All of the first frame is there.
    fn is_whole(&self) -> bool {
        self.bytes.len() >= self.size
    }

    /// The frame fits into a buffer, so the proxy can hold it back.
    fn fits(&self) -> bool {
        self.size <= BUFFER
    }

    /// What is there of the first frame's payload.
    fn payload(&self) -> &'a [u8] {
        &self.bytes[HEADER..self.size.min(self.bytes.len())]
    }
}

impl Dispatch for Dispatcher<'_> {
    fn command(&mut self, link: &mut Link, bytes: &[u8]) -> Result<CommandAction, CloseReason> {
        let switchover = self.context.switchover.number();
        if switchover != 0
            && !link.status().in_transaction()
            && !quits(bytes)
            && link.held_mut().keep_back(switchover)
        {
            // The command would begin a transaction or a statement.
            return Ok(CommandAction::Incomplete);
        }
        link.held_mut().let_go();
        mutants::fail_at(bytes);
        if let Some(watch) = self.watch {
            return decide_watched(watch, self.view, link, self.context, bytes);
        }
        let Some(frame) = FrameHeader::peek(bytes) else {
            return Ok(CommandAction::Incomplete);
        };
        if frame.len == 0 {
            return Ok(CommandAction::Forward(None));
        }
        let Some(&byte) = bytes.get(HEADER) else {
            return Ok(CommandAction::Incomplete);
        };
        let head = Head { bytes, command: Command(byte), size: HEADER + frame.len };
        link.pooled().mark_busy();
        if link.pooled().is_shared()
            && head.command.is_for_statement()
            && let Some(action) = decide_elsewhere(link, head.bytes, frame.len)
        {
            return Ok(action);
        }
        match head.command {
            Command::QUERY | Command::STMT_PREPARE => Ok(self.text(link, &head)),
            // MariaDB reads the rest of its id from a packet before it: it might be another session's.
            command
                if link.pooled().is_shared()
                    && command.is_cut(frame.len)
                    && link.flavour() == Flavour::MariaDb =>
            {
                Err(CloseReason::Broken("a command without all of a prepared statement's id"))
            }
            Command::CHANGE_USER | Command::RESET_CONNECTION if !head.fits() => {
                Err(CloseReason::Broken("a change of user or a reset longer than a buffer"))
            }
            Command::CHANGE_USER | Command::RESET_CONNECTION => Ok(park(&head)),
            Command::STMT_EXECUTE
            | Command::STMT_SEND_LONG_DATA
            | Command::STMT_CLOSE
            | Command::STMT_RESET
            | Command::STMT_FETCH
            | Command::MARIADB_BULK_EXECUTE
                if !self.statements.none_prepared() =>
            {
                self.prepared(link, &head)
            }
            Command::PROCESS_KILL if link.pooled().is_shared() => Ok(park(&head)),
            Command::QUIT => self.quit(link),
            // The server refuses any other length.
            Command::SET_OPTION if frame.len == 3 => {
                if !head.is_whole() {
                    return Ok(CommandAction::Incomplete);
                }
                self.view.set_option(&head.payload()[1..]);
                link.pooled_mut().note_several(self.view.several());
                Ok(CommandAction::Forward(None))
            }
            _ => Ok(CommandAction::Forward(None)),
        }
    }

    fn forwarded(&mut self, link: &Link, command: Command, shape: Shape) -> Recipient {
        if shape == Shape::Prepare {
            self.statements.another_is_prepared();
        }
        self.context.commands[usize::from(command.0)].inc();
        let alone = link.owed().is_nothing();
        let seen = self.watch.as_mut().and_then(|watch| {
            watch.follow(alone, &self.context.seen.waits, || self.identity.waiter())
        });
        seen.filter(|_| shape != Shape::Nothing).map_or(Recipient::Client, Recipient::Watched)
    }

    fn found(&mut self, link: &Link, found: StreamFound) -> Option<ErrorReplacement> {
        let what = refusal(found);
        if let Some(watch) = self.watch {
            watch.long(what);
            return None;
        }
        let native = runs_uncovered(self.context);
        let decision = if native { Decision::Native } else { Decision::Refused };
        let dialect = self.view.dialect(link.status().flags());
        let (what, error) = unsupported::refusal(self.context, what, codes::unsupported);
        // Most of the text was forwarded and is no longer in memory.
        note_uncovered(self.context, self.identity, dialect, what, b"", decision);
        (!native).then(|| ErrorReplacement::new(error))
    }

    fn waits(&mut self, dropped: Option<Dropped>) {
        *self.phase = dropped.map_or(Phase::Parked, Phase::Refusing);
    }

    fn waits_for(&mut self, statement: u32) {
        *self.phase = Phase::Bringing(statement);
    }
}

/// Whether the next command is COM_QUIT.
fn quits(bytes: &[u8]) -> bool {
    bytes.get(HEADER).is_some_and(|byte| Command(*byte) == Command::QUIT)
}

/// Keeps a command that is there as a whole.
fn park(head: &Head<'_>) -> CommandAction {
    if head.is_whole() { CommandAction::Park } else { CommandAction::Incomplete }
}

impl Dispatcher<'_> {
    /// COM_QUERY or COM_STMT_PREPARE.
    fn text(&mut self, link: &mut Link, head: &Head<'_>) -> CommandAction {
        if head.fits() && !head.is_whole() {
            return CommandAction::Incomplete;
        }
        let payload = head.payload();
        let has_named = self.statements.named.any();
        let text_at = text_start(payload, link.capabilities());
        if !head.fits() {
            return self.long_text(link, head, text_at);
        }
        let Some(text_at) = text_at else {
            // Broken attributes: the server says so, unless it can read them.
            let found = scan(payload);
            let matters = found.call || found.setting || has_named;
            return if matters { CommandAction::Park } else { CommandAction::Forward(None) };
        };
        let text = &payload[text_at..];
        let query = head.command == Command::QUERY;
        note_text(link, text, self.view.dialect(link.status().flags()), (true, query));
        let found = scan(text);
        if found.setting {
            self.view.note_setting(text, !query);
        }
        // A text under a statement id is no PREPARE in SQL, but a block in it may have an EXECUTE.
        let names = (query || has_named) && may_be_named(text, has_named);
        let asks = if query {
            link.pooled().must_answer_itself(text)
        } else {
            link.pooled().is_shared() && (names_connection(text) || Kill::read(text).is_some())
        };
        let reads = reads_locks(self.context, text);
        let parks = found.call || names || asks || reads || self.commits(link, text, query);
        if parks { CommandAction::Park } else { CommandAction::Forward(None) }
    }

    /// Decides about a text that is too long to be held back.
    fn long_text(&self, link: &mut Link, head: &Head<'_>, text_at: Option<usize>) -> CommandAction {
        let query = head.command == Command::QUERY;
        let dialect = self.view.dialect(link.status().flags());
        let text = text_at.map_or(&[][..], |at| &head.payload()[at..]);
        note_text(link, text, dialect, (false, query));
        let calls_named = query && self.statements.named.any_but_commits();
        let stream = stream_of(text_at, dialect).with_names(calls_named);
        let native = runs_uncovered(self.context);
        CommandAction::Forward(Some(if native { stream.looking() } else { stream }))
    }

    /// Whether a text may have to be fenced, or, if it is prepared, its executions.
    fn commits(&self, link: &Link, text: &[u8], query: bool) -> bool {
        if !fences(&self.context.config) {
            return false;
        }
        let later = || link.guard().is_armed() && self.view.several() && may_commit_later(text);
        let dialect = self.view.dialect(link.status().flags());
        let first = || commit_of(text, dialect).is_some();
        if !query {
            return noted_of(self.context, text, dialect).is_some();
        }
        may_need_a_fence(link) && first() || later() || self.writes(link, text, true)
    }

    /// Whether a text is a write that is to be fenced. One that is not, since it is no plain one or not here as a `whole`, is
    /// counted.
    fn writes(&self, link: &Link, text: &[u8], whole: bool) -> bool {
        if !fences_writes(&self.context.config) || !may_write_alone(link) {
            return false;
        }
        let write = write_of(text, self.view.several());
        let fenced = whole && write == Some(Write::Plain);
        if write.is_some() && !fenced {
            self.context.metrics.fenced_commits.with_label_values(&["unfenced"]).inc();
        }
        fenced
    }

    /// A command for a prepared statement.
    fn prepared(&mut self, link: &mut Link, head: &Head<'_>) -> Result<CommandAction, CloseReason> {
        // The next packet's bytes are no part of a short one's id.
        let Some(id) = head.payload().get(1..5) else {
            let whole = head.is_whole();
            return Ok(if whole {
                CommandAction::Forward(None)
            } else {
                CommandAction::Incomplete
            });
        };
        let id = u32::from_le_bytes([id[0], id[1], id[2], id[3]]);
        if let Some(noted) = self.statements.noted(id) {
            let parks = match noted {
                Noted::Kills(_) | Noted::Reads => true,
                Noted::Commits(_) => may_need_a_fence(link),
                Noted::Writes => may_write_alone(link),
                Noted::Asks(_) => false,
            };
            if parks && head.command == Command::STMT_EXECUTE && head.fits() {
                return Ok(park(head));
            }
            match (head.command, noted) {
                (Command::STMT_EXECUTE | Command::MARIADB_BULK_EXECUTE, Noted::Writes)
                    if may_write_alone(link) =>
                {
                    self.context.metrics.fenced_commits.with_label_values(&["unfenced"]).inc();
                }
                (Command::STMT_EXECUTE | Command::MARIADB_BULK_EXECUTE, Noted::Asks(columns)) => {
                    if !link.owed().is_nothing() {
                        // Columns are read from the next response, which belongs to this execution only if nothing else
                        // is owed.
                        return Ok(CommandAction::Bring(id));
                    }
                    link.amendments().describe(columns.clone());
                }
                (Command::STMT_CLOSE, _) => self.statements.remove(id),
                _ => {}
            }
            return Ok(CommandAction::Forward(None));
        }
        if !self.statements.contains(id) {
            return Ok(CommandAction::Forward(None));
        }
        if head.fits() {
            return Ok(park(head));
        }
        if self.statements.only_lists(id) {
            self.statements.remove(id);
            return Ok(CommandAction::Forward(None));
        }
        decide_long(self.statements, link.capabilities(), id, head.bytes)
    }

    /// COM_QUIT. Of a session that holds locks it is not forwarded: while nothing runs, no thread's
    /// end is needed as a proof.
    fn quit(&mut self, link: &mut Link) -> Result<CommandAction, CloseReason> {
        let kept = link.guard().is_armed() || link.pooled().is_shared();
        if !kept || !link.owes_client_nothing() {
            return Ok(CommandAction::Forward(None));
        }
        self.context.commands[usize::from(Command::QUIT.0)].inc();
        link.client_mut().end();
        Err(CloseReason::ClientQuit)
    }
}

/// Whether the session holds locks, and may have changes that a commit would make.
fn may_need_a_fence(link: &Link) -> bool {
    link.guard().is_armed() && (link.status().may_have_changes() || !link.owed().is_nothing())
}

/// Whether the session holds locks, and a write may commit by itself.
fn may_write_alone(link: &Link) -> bool {
    let outside = link.status().flags().has(Status::AUTOCOMMIT) && !link.status().in_transaction();
    link.guard().is_armed() && (outside || !link.owed().is_nothing())
}

fn refusal(found: StreamFound) -> &'static str {
    match found {
        StreamFound::Call => "a lock function in a statement longer than 64 KiB",
        StreamFound::PerhapsCall => {
            "text that is a call of a lock function in some SQL modes or character sets, in a \
             statement longer than 64 KiB"
        }
        StreamFound::Prepared => "a lock function in a text to be prepared, longer than 64 KiB",
    }
}

/// A statement is about to run, or, unless it `runs`, to be prepared. `whole`: its text is all there.
fn note_text(link: &mut Link, text: &[u8], dialect: Dialect, (whole, runs): (bool, bool)) {
    let alone = !link.owed().any_for_client();
    link.pooled_mut().note_text(text, dialect, (whole, runs, alone));
}
