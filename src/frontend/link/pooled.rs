//! A session that shares its connections: what its link does for that. How it moves: `moves`.

use super::Link;
use super::close_reason::CloseReason;
use super::pending::Pending;
use crate::backend::admissions::LoginValues;
use crate::backend::connection::Backend;
use crate::backend::left::Left;
use crate::frontend::pooling::address::{Addressed, statement_of};
use crate::frontend::pooling::pooled::Pooled;
use crate::frontend::pooling::pooled_session::PooledSession;
use crate::frontend::pooling::restore::{begin_reports, end_reports};
use crate::mutants::{self, Mutant};
use crate::protocol::command::Command;
use crate::protocol::cut::Reported;
use crate::protocol::handshake::ChangeUser;
use crate::sql::lexer::dialect::Dialect;
use crate::types::ProxyId;

use tokio::time::Instant;

impl Link {
    /// From here on the session shares its connections; the one it has becomes the pool's.
    pub(crate) fn share(&mut self, mut pooled: PooledSession) -> Result<(), CloseReason> {
        pooled.take_hold();
        let reports = begin_reports(None, self.capabilities);
        self.pooled = Pooled::new(pooled);
        self.send_hidden(&reports)
    }

    /// The session shares its connections, and begins without one, with these values of its login.
    pub(crate) fn begin_known(&mut self, mut pooled: PooledSession, values: &LoginValues) {
        pooled.begin_known(values);
        self.pooled = Pooled::new(pooled);
        self.pooled.begin_idle(Instant::now());
    }

    /// A statement is about to run, or, unless it `runs`, to be prepared. `whole`: its text is all there.
    pub(crate) fn note_text(&mut self, text: &[u8], dialect: Dialect, whole: bool, runs: bool) {
        let alone = !self.owed.any_for_client();
        self.pooled.note_text(text, dialect, (whole, runs, alone));
    }

    /// A prepared statement is about to be executed.
    pub(crate) fn note_execution(&mut self, id: u32) {
        let alone = !self.owed.any_for_client();
        self.pooled.note_execution(id, alone);
    }

    /// Takes in what the server has reported of the session's state.
    pub(crate) fn take_in_reports(&mut self) {
        if self.pooled.is_shared() {
            let reported = self.server.take_reported();
            self.take_in_reported(&reported);
        }
    }

    pub(crate) fn take_in_reported(&mut self, reported: &Reported) {
        if self.pooled.take_in(reported) {
            self.server.note_schema();
        }
    }

    /// Whether nothing runs on the connection.
    pub(crate) fn does_nothing(&self) -> bool {
        let inside = mutants::or(Mutant::FreeInTransaction, self.status.in_transaction(), false);
        self.server.is_there() && self.between_commands() && !inside && !self.client.has_ended()
    }

    /// Has the server report again, after a reset of the connection.
    pub(crate) fn report_again(&mut self) -> Result<(), CloseReason> {
        let Some(pooled) = self.pooled.session() else { return Ok(()) };
        let reports = begin_reports(pooled.state.names(), self.capabilities);
        self.server.note_reset();
        self.send_hidden(&reports)
    }

    /// Leaves the server's reports to the client, if it is about to change them.
    pub(super) fn leave_reports(&mut self) -> Result<(), CloseReason> {
        let leaves = self.pooled.session_mut().map(|pooled| pooled.under_way.take_leaves_reports());
        if leaves == Some(true) {
            self.send_hidden(&end_reports(self.capabilities))?;
            // Another client asks for the values only: it gets no reports.
            if let Some(pooled) =
                self.pooled.session_mut().filter(|pooled| pooled.under_way.tracks())
            {
                pooled.counts.note_reports_left();
                self.server.pass_all();
            }
        }
        Ok(())
    }

    /// Gives the connection back without a look at the state on it.
    pub(crate) fn leave_for_good(&mut self) {
        let backend = self.take_server();
        let Some(pooled) = self.pooled.session_mut() else { return };
        if let Some(backend) = backend
            && pooled.leaves_connection()
            && let Ok(backend) = backend.detach(Left::Unknown)
        {
            pooled.place.give(backend);
        }
    }

    /// The connection, which the session has no more: its statements must be prepared again on another.
    pub(crate) fn take_server(&mut self) -> Option<Box<Backend>> {
        self.end_question();
        let backend = self.server.take()?;
        self.pooled.note_left(backend.statement_numbers());
        Some(backend)
    }

    /// From here on the session has this connection, on which none of its state is yet.
    pub(crate) fn put_server(&mut self, mut backend: Backend) {
        if let Some(pooled) = self.pooled.session_mut() {
            pooled.take_hold();
            backend.number_statements(pooled.statement_numbers());
        }
        self.server.put(backend);
    }

    /// Whether a lock that this incarnation has granted is freed only after the connection has ended, if the proxy
    /// dies: the others find it by its tag.
    pub(crate) fn answers_for(&self, proxy: ProxyId) -> bool {
        !self.server.is_there() || !self.pooled.is_shared() || self.server.tag() == Some(proxy)
    }

    /// Whether an earlier incarnation of the proxy opened the connection.
    pub(crate) fn has_outlived(&self) -> bool {
        self.pooled.is_shared() && self.server.tag() != self.guard.incarnation()
    }

    /// The answer to a text that asks for warnings or errors which the session took along.
    pub(crate) fn tell_diagnostics(&mut self, text: &[u8]) -> Option<Vec<u8>> {
        self.pooled.tell_diagnostics(text, self.status.flags())
    }

    /// The session is this account's from here on, and so is the connection that it has.
    pub(crate) fn change_user(&mut self, change: &ChangeUser<'_>) {
        if self.pooled.change_user(change) {
            self.server.note_schema();
        }
    }

    /// KILL has ended the session. If its connection is meant, the server ends that, with its last words.
    pub(crate) fn end_killed(&mut self) -> Result<(), CloseReason> {
        let at_server = self.server.is_there() && self.pooled.is_killed_at_server();
        if at_server { Ok(()) } else { Err(CloseReason::Killed) }
    }
}

/// Prepared statements.
impl Link {
    /// A response will come to a command that may be for a prepared statement.
    pub(super) fn owe_about(&mut self, pending: Pending, about: Option<Addressed>) {
        let Some(Addressed { told, statement }) = about else { return self.owe(pending) };
        self.owe_told(Pending { statement, ..pending }, told);
    }

    /// Closes the statement that the next command closes, if all of that is there and the session has no connection:
    /// no server knows of the statement then. Its id.
    pub(crate) fn close_without_server(&mut self) -> Option<u32> {
        let (command, id) = statement_of(self.client.inbox())?;
        if command != Command::STMT_CLOSE || self.server.is_there() {
            return None;
        }
        self.client.drop_command()?;
        self.pooled.note_closed(id)?;
        Some(id)
    }
}
