//! A session that shares its connections: what its link does for that. How it moves: `moves`.

use super::Link;
use crate::backend::connection::Backend;
use crate::frontend::pooling::address::statement_of;
use crate::mutants::{self, Mutant};
use crate::protocol::command::Command;
use crate::protocol::cut::Reported;

impl Link {
    /// Takes in what the server has reported of the session's state.
    pub(crate) fn take_in_reports(&mut self) {
        if self.pooled.is_shared() {
            let reported = self.server.take_reported();
            self.take_in_reported(&reported);
        }
    }

    pub(crate) fn take_in_reported(&mut self, reported: &Reported) {
        if self.pooled.note_reports(reported) {
            self.server.note_schema();
        }
    }

    /// Whether nothing runs on the connection.
    pub(crate) fn does_nothing(&self) -> bool {
        let inside = mutants::or(Mutant::FreeInTransaction, self.status.in_transaction(), false);
        self.server.is_there() && self.between_commands() && !inside && !self.client.has_ended()
    }

    /// The connection, which the session has no more: its statements must be prepared again on another.
    pub(crate) fn take_server(&mut self) -> Option<Box<Backend>> {
        self.unanswered.end();
        let backend = self.server.take()?;
        self.pooled.note_left(backend.statement_numbers());
        Some(backend)
    }

    /// The connection is gone.
    pub(crate) fn lose_server(&mut self) {
        self.pooled.begin_idle(self.server.used());
        self.take_server();
        if let Some(pooled) = self.pooled.session_mut() {
            pooled.leaves_connection();
        }
    }

    /// Closes the statement that the next command closes, if all of that is there and the session has no connection: no
    /// server knows of the statement then. Returns its id.
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
