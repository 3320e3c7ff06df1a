//! Prepared statements of a session that shares its connections: commands for them, and how one is prepared again on
//! another connection.

use std::borrow::Cow;

use super::Link;
use super::close_reason::CloseReason;
use super::pending::{Pending, any_for_client};
use super::question::Whose;
use super::reply::Reply;
use super::within::within;
use crate::backend::connection::Backend;
use crate::frontend::pooling::address::{Addressed, statement_of};
use crate::frontend::pooling::bound::{BindingDoubt, BoundState};
use crate::frontend::pooling::statement::Again;
use crate::frontend::pooling::statements::Whereabouts;
use crate::frontend::shared::context::Context;
use crate::protocol::command::Command;
use crate::protocol::frame::HEADER;
use crate::protocol::packet;

impl Link {
    /// The connection, which the session has no more: its statements must be prepared again on another.
    pub(super) fn take_server(&mut self) -> Option<Box<Backend>> {
        self.end_question();
        let backend = self.server.take()?;
        if let Some(pooled) = &mut self.pooled {
            pooled.note_left(backend.statement_numbers());
        }
        Some(backend)
    }

    /// A COM_STMT_PREPARE of the client's is sent, of which this is the beginning.
    pub(super) fn note_preparing(&mut self, packet: &[u8]) {
        if let Some(pooled) = &mut self.pooled {
            pooled.note_preparing(packet, self.capabilities);
        }
    }

    /// A command of the client's that begins at `at` is sent.
    pub(super) fn address(&mut self, bytes: &mut Vec<u8>, at: usize) -> Option<Addressed> {
        let pooled = self.pooled.as_mut()?;
        if let Some(packet) = bytes.get(at..)
            && packet.get(HEADER).map(|byte| Command(*byte)) == Some(Command::STMT_PREPARE)
        {
            pooled.note_preparing(packet, self.capabilities);
        }
        pooled.address(bytes, at, self.capabilities)
    }

    /// A packet as the session's connection must hear it.
    pub(super) fn addressed<'a>(&mut self, packet: &'a [u8]) -> (Cow<'a, [u8]>, Option<Addressed>) {
        let Some(pooled) = self.pooled.as_mut().filter(|_| statement_of(packet).is_some()) else {
            return (Cow::Borrowed(packet), None);
        };
        let mut bytes = packet.to_vec();
        let about = pooled.address(&mut bytes, 0, self.capabilities);
        (Cow::Owned(bytes), about)
    }

    /// A response will come to a command that may be for a prepared statement.
    pub(super) fn owe_about(&mut self, pending: Pending, about: Option<Addressed>) {
        let Some(Addressed { told, statement }) = about else { return self.owe(pending) };
        self.owe_told(Pending { statement, ..pending }, told);
    }

    /// Where a prepared statement is. In a session that does not share its connections: here.
    pub(crate) fn whereabouts(&self, id: u32) -> Whereabouts {
        self.pooled.as_ref().map_or(Whereabouts::Here, |pooled| pooled.whereabouts(id))
    }

    /// Whether the server has not yet answered a PREPARE of the client's.
    pub(crate) fn is_preparing(&self) -> bool {
        self.pooled.as_ref().is_some_and(|pooled| pooled.is_preparing())
    }

    /// Whether an execution, of which at least the beginning is there, is too long for the session's connection.
    pub(crate) fn lacks_room(&self, packet: &[u8]) -> bool {
        self.pooled.as_ref().is_some_and(|pooled| pooled.lacks_room(packet, self.capabilities))
    }

    /// A prepared statement is about to be executed.
    pub(crate) fn note_execution(&mut self, id: u32) {
        let alone = !any_for_client(&self.pending);
        if let Some(pooled) = &mut self.pooled {
            pooled.note_begin(alone);
            pooled.note_execution(id);
        }
    }

    /// What a command for a prepared statement is answered with that could not be prepared again.
    pub(crate) fn take_refusal(&mut self, id: u32, command: Command) -> Option<Box<[u8]>> {
        // Values that the server has not got are missing at the execution.
        let keeps = command.is_unanswered();
        self.pooled.as_mut()?.take_refusal(id, keeps)
    }

    /// Closes the statement that the next command closes, if all of that is there and the session has no connection:
    /// no server knows of the statement then. Its id.
    pub(crate) fn close_without_server(&mut self) -> Option<u32> {
        let (command, id) = statement_of(&self.inbox)?;
        if command != Command::STMT_CLOSE || self.server.is_there() {
            return None;
        }
        self.drop_command()?;
        self.pooled.as_mut()?.note_closed(id);
        Some(id)
    }

    /// Gets what the next command needs of a shared connection. `false`: the prepared statement that it is for is refused.
    pub(super) async fn is_ready_for_next(
        &mut self,
        context: &Context,
    ) -> Result<bool, CloseReason> {
        self.renew(context).await?;
        let Some((command, id)) = statement_of(&self.inbox) else { return Ok(true) };
        if matches!(command, Command::STMT_CLOSE | Command::STMT_RESET) {
            return Ok(true);
        }
        self.bring(id).await?;
        Ok(self.whereabouts(id) != Whereabouts::Refused)
    }

    /// Prepares a statement on the session's connection, if it is not there. Nothing may be owed. If the server refuses,
    /// so are the statement's next execution and what belongs to it.
    pub(super) async fn bring(&mut self, id: u32) -> Result<(), CloseReason> {
        let Some(pooled) = &self.pooled else { return Ok(()) };
        let Some((id, again)) = pooled.away(id) else { return Ok(()) };
        if pooled.doubts.of_bound() != BindingDoubt::default() {
            // The state that is set back afterwards must be known.
            self.capture().await?;
        }
        let Some(pooled) = &self.pooled else { return Ok(()) };
        let Again { text, bound, .. } = again;
        let today = BoundState::of(&pooled.state, BindingDoubt::default());
        let tells = today.telling_definitions(self.capabilities);
        let mut before =
            if *bound == today { Vec::new() } else { bound.setting(self.capabilities) };
        before.extend(tells);
        let after = if before.is_empty() { Vec::new() } else { today.setting(self.capabilities) };
        let nth = before.len();
        let packets = [before, vec![packet::prepare(&text)], after].concat();
        // The server may wait for a table of the statement's.
        let replies = self.exchange_cleanly_for(&packets, Whose::Client).await?;
        // Of the proxy's own making.
        let reported = self.server.take_reported();
        let prepared = reported.prepared.first().and_then(|preparation| preparation.statement);
        let Some((until, after)) = replies.split_at_checked(nth + 1) else {
            return Err(CloseReason::Broken("fewer answers than there were questions"));
        };
        if after.iter().any(Reply::is_error) {
            return Err(CloseReason::Broken("a session's state could not be set back"));
        }
        let refusal = until.iter().find(|reply| reply.is_error());
        let outcome = match (refusal, prepared) {
            (None, Some(statement)) => Ok(statement),
            (Some(refusal), prepared) => {
                // It was prepared in another state than its own.
                if let Some(statement) = prepared {
                    self.send_server(&packet::close_statement(statement.server))?;
                }
                Err(within(&refusal.bytes, HEADER..)?.into())
            }
            (None, None) => {
                return Err(CloseReason::Broken("an answer to a PREPARE without an id"));
            }
        };
        if let Some(pooled) = &mut self.pooled {
            pooled.note_move();
            pooled.note_brought(id, outcome);
        }
        Ok(())
    }
}
