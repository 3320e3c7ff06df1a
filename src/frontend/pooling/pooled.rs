//! Whether a session shares its connections, for those who need not know: what concerns only a session that does is
//! nothing, or no, in another.

use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use tokio::time::Instant;

use super::account::ChangedAccount;
use super::lost::{BegunAnswer, Loss};
use super::pins::Pin;
use super::pooled_session::PooledSession;
use super::statements::Awaited;
use crate::backend::pool::PoolKey;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::Command;
use crate::protocol::cut::Reported;
use crate::protocol::handshake::ChangeUser;
use crate::protocol::response::Ending;
use crate::protocol::status::Status;
use crate::sql::find::first_word::begins_with;
use crate::sql::find::release::ConnectionRelease;
use crate::sql::find::words::{Back, asks_for_counts, names_connection};
use crate::sql::lexer::dialect::Dialect;
use crate::types::Flavour;

/// What a session has for sharing its connections; nothing, in a session with a connection of its own.
#[derive(Default)]
pub(crate) struct Pooled(Option<Box<PooledSession>>);

impl Pooled {
    /// Of a session that shares its connections from here on.
    pub(crate) fn new(session: PooledSession) -> Self {
        Self(Some(Box::new(session)))
    }

    /// Whether the session shares its connections.
    pub(crate) fn is_shared(&self) -> bool {
        self.0.is_some()
    }

    /// The session, if it shares its connections: for its moves.
    pub(crate) fn session(&self) -> Option<&PooledSession> {
        self.0.as_deref()
    }

    /// Like [`Self::session`], to be changed.
    pub(crate) fn session_mut(&mut self) -> Option<&mut PooledSession> {
        self.0.as_deref_mut()
    }

    fn is(&self, of: impl FnOnce(&PooledSession) -> bool) -> bool {
        self.session().is_some_and(of)
    }

    fn with(&mut self, change: impl FnOnce(&mut PooledSession)) {
        if let Some(session) = self.session_mut() {
            change(session);
        }
    }

    /// The family of the session's servers.
    pub(crate) fn flavour(&self) -> Option<Flavour> {
        self.session().map(|session| session.flavour)
    }

    /// Which connections the session may have.
    pub(crate) fn key(&self) -> Option<Arc<PoolKey>> {
        self.session().map(|session| Arc::clone(session.account.key()))
    }

    /// What ties the session to its connection, as metrics call it.
    pub(crate) fn pin_names(&self) -> String {
        let names = self.session().into_iter().flat_map(|session| session.pins.names());
        names.collect::<Vec<_>>().join(" ")
    }
}

/// What the client is about to run.
impl Pooled {
    /// A statement is about to run, or, unless it `runs`, to be prepared. `whole`: the text is all there; `alone`: the server
    /// owes nothing of the client's.
    pub(crate) fn note_text(
        &mut self,
        text: &[u8],
        dialect: Dialect,
        (whole, runs, alone): (bool, bool, bool),
    ) {
        self.with(|session| {
            session.note_begin(alone);
            if whole {
                session.note_text(text, dialect, runs);
            } else {
                session.note_long(text, dialect);
            }
        });
    }

    /// A command is about to run. Texts and executions were judged before.
    pub(crate) fn note_command(&mut self, command: Command, alone: bool) {
        self.with(|session| session.note_command(command, alone));
    }

    /// A prepared statement is about to be executed.
    pub(crate) fn note_execution(&mut self, id: u32, alone: bool) {
        self.with(|session| {
            session.note_begin(alone);
            session.note_execution(id);
        });
    }

    /// One text may hold several statements from here on, or may not.
    pub(crate) fn note_several(&mut self, several: bool) {
        self.with(|session| session.state.several = several);
    }

    /// A part of a text is about to run, which may end the connection.
    pub(crate) fn note_part(&mut self, release: ConnectionRelease) {
        self.with(|session| session.under_way.if_lost.releases = release);
    }

    /// Whether a time limit of the server's applies to this text.
    pub(crate) fn limits(&self, text: &[u8]) -> bool {
        self.is(|session| session.state.limits(text, session.flavour))
    }

    /// Whether a text asks for something of the session that its connection has in another way.
    pub(crate) fn must_answer_itself(&self, text: &[u8]) -> bool {
        self.is(|session| {
            begins_with(text, &[b"kill"])
                || names_connection(text)
                || (session.counts.have_moved() && asks_for_counts(text))
                || session.warnings.are_asked_for(text, session.flavour)
        })
    }

    /// What the session must remember of its last results, since its connection does not.
    pub(crate) fn remembered(&self, back: Back) -> Option<i64> {
        let session = self.session()?;
        session.counts.remembered(back).or_else(|| session.warnings.number(back))
    }

    /// The answer to a text that asks for warnings or errors which the session took along.
    pub(crate) fn tell_diagnostics(&mut self, text: &[u8], status: Status) -> Option<Vec<u8>> {
        let session = self.session_mut()?;
        let (answer, is_count) = session.warnings.answer(text, status)?;
        session.counts.tell_rows(is_count.then_some(1));
        Some(answer)
    }
}

/// What the server has said.
impl Pooled {
    /// Takes in what the server has reported of the session's state. Whether the session is in a schema.
    pub(crate) fn note_reports(&mut self, reported: &Reported) -> bool {
        self.with(|session| session.note_reports(reported));
        self.is(|session| session.state.is_in_schema())
    }

    /// A response to the client has ended.
    pub(crate) fn note_ending(&mut self, ending: Ending) {
        self.with(|session| session.note_ending(ending));
    }

    /// A response to a command for a prepared statement has ended.
    pub(crate) fn note_asked(&mut self, asked: Option<(u32, Awaited)>, ending: Ending) {
        self.with(|session| asked.into_iter().for_each(|asked| session.note_asked(asked, ending)));
    }

    /// A text with this at its end has run: the server may end the connection.
    pub(crate) fn note_release(&mut self, release: ConnectionRelease) {
        self.with(|session| {
            if session.releases(release) {
                session.place.kill();
            }
        });
    }

    /// Whether the server may have changes in the session still to report, to a client with these capabilities: without OK
    /// packets at the end of rows, servers report late.
    pub(crate) fn may_report_late(&self, capabilities: Capabilities) -> bool {
        let eof = !capabilities.has(Capabilities::DEPRECATE_EOF);
        self.is(|session| session.under_way.may_be_late(eof))
    }
}

/// The session's place in the pool.
impl Pooled {
    /// The session works with its connection.
    pub(crate) fn mark_busy(&self) {
        if let Some(session) = self.session() {
            session.place.mark_busy();
        }
    }

    /// Another session needs the connection.
    pub(crate) fn ask_back(&mut self) {
        self.with(|session| session.place.ask_back());
    }

    /// Whether other sessions wait for a connection.
    pub(crate) fn is_wanted(&self) -> bool {
        self.is(|session| session.place.is_wanted())
    }

    /// A command is sent, `several` are under way. If others wait for a connection, the next ones wait until all have ended.
    pub(crate) fn note_forwarded(&mut self, several: bool) {
        self.with(|session| session.place.note_forwarded(several));
    }

    /// Whether the client's next commands wait until nothing is owed.
    pub(crate) fn makes_way(&self) -> bool {
        self.is(|session| session.place.makes_way())
    }

    /// Nothing is owed: the session could have given its connection back.
    pub(crate) fn note_made_way(&mut self) {
        self.with(|session| session.place.note_made_way());
    }

    /// The session has no connection any more, and its client has said nothing since then.
    pub(crate) fn begin_idle(&mut self, since: Instant) {
        self.with(|session| {
            session.place.begin_idle(since, session.state.wait_timeout());
        });
    }

    /// Ready when the client has said nothing for `wait_timeout` while the session has no connection.
    pub(crate) fn poll_idle(&mut self, cx: &mut TaskContext<'_>) -> Poll<()> {
        self.session_mut().map_or(Poll::Pending, |session| session.place.poll_idle(cx))
    }

    /// KILL has ended the session. Whether its connection is meant, which the server ends with its last words.
    pub(crate) fn is_killed_at_server(&mut self) -> bool {
        let condemned = self.is(|session| session.place.current().is_condemned());
        if condemned {
            self.with(|session| session.place.kill());
        }
        condemned
    }

    /// The session is this account's from here on, and so is the connection that it has. Whether it is in a schema.
    pub(crate) fn change_user(&mut self, change: &ChangeUser<'_>) -> bool {
        let schema = Some(change.database).filter(|name| !name.is_empty());
        self.with(|session| {
            session.change_user(ChangedAccount {
                user: change.user_name(session.flavour),
                collation: change.collation_of_login(),
                schema: schema.map(Into::into),
            });
        });
        self.is_shared() && schema.is_some()
    }

    /// The server has denied a change of user, and counts that against the connection that the session has.
    pub(crate) fn note_denied_change(&mut self) {
        self.with(|session| session.place.note_denied_change());
    }

    /// Character sets go back to those of the login, after a reset of the connection.
    pub(crate) fn go_back_to_login_names(&mut self) {
        self.with(PooledSession::go_back_to_login_names);
    }

    /// The session has reset its connection.
    pub(crate) fn reset(&mut self) {
        self.with(PooledSession::reset);
    }
}

/// What holds if the connection is lost.
impl Pooled {
    /// The proxy answers this command from here on.
    pub(crate) fn begin_answer(&mut self, command: Option<Command>) {
        self.with(|session| {
            session.under_way.if_lost.answering =
                command.map(|command| BegunAnswer { command, said: false });
        });
    }

    /// The proxy has answered the command, or left that to the server.
    pub(crate) fn end_answer(&mut self) {
        self.with(|session| session.under_way.if_lost.answering = None);
    }

    /// Whether the proxy answers a command, or lets the server answer it.
    pub(crate) fn is_answering(&self) -> bool {
        self.is(|session| session.under_way.if_lost.answering.is_some())
    }

    /// Something is said to the client.
    pub(crate) fn note_said(&mut self) {
        let answering = self.session_mut().and_then(|s| s.under_way.if_lost.answering.as_mut());
        if let Some(answering) = answering {
            answering.said = true;
        }
    }

    /// A command has failed. If it is none that is undone with its transaction, it may have committed that before.
    pub(crate) fn note_perhaps_committed(&mut self) {
        self.with(|session| {
            session.under_way.if_lost.perhaps_committed |= !session.under_way.if_lost.undone;
        });
    }

    /// The server has said whether a transaction is open.
    pub(crate) fn note_not_committed(&mut self) {
        self.with(|session| session.under_way.if_lost.perhaps_committed = false);
    }

    /// Sets whether what is about to run is undone with its transaction; returns how it was.
    pub(crate) fn replace_undone(&mut self, undone: bool) -> bool {
        let session = self.session_mut();
        session.is_some_and(|s| std::mem::replace(&mut s.under_way.if_lost.undone, undone))
    }

    /// What is about to run is undone with its transaction, and how it may end the connection.
    pub(crate) fn under_way(&self) -> (bool, ConnectionRelease) {
        let tracking = self.session().map(|session| &session.under_way.if_lost);
        tracking.map_or((false, ConnectionRelease::No), |t| (t.undone, t.releases))
    }

    /// What the next statement is to be told, if its transaction is lost; once.
    pub(crate) fn take_owed(&mut self) -> Option<Loss> {
        self.session_mut()?.under_way.if_lost.owes.take()
    }

    /// Whether the next statement is to be told that its transaction is lost.
    pub(crate) fn owes_error(&self) -> bool {
        self.is(|session| session.under_way.if_lost.owes.is_some())
    }

    /// The connection is gone, with which the session did nothing.
    pub(crate) fn note_idle_loss(&mut self) {
        self.with(|session| session.pins.remove(Pin::Diagnostics));
    }
}
