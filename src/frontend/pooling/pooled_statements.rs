//! Prepared statements of a session that may share its connections; in another, each is where it was prepared.

use std::borrow::Cow;

use super::address::{Addressed, statement_of};
use super::pooled::Pooled;
use super::pooled_session::PooledSession;
use super::statements::Whereabouts;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::Command;
use crate::protocol::frame::HEADER;
use crate::protocol::statement_ids::StatementNumbers;

impl Pooled {
    /// The connection is the session's no more; its statements were numbered like this.
    pub(crate) fn note_left(&mut self, numbers: Option<StatementNumbers>) {
        if let Some(session) = self.session_mut() {
            session.note_left(numbers);
        }
    }

    /// A COM_STMT_PREPARE of the client's is sent, of which this is the beginning.
    pub(crate) fn note_preparing(&mut self, packet: &[u8], capabilities: Capabilities) {
        if let Some(session) = self.session_mut() {
            session.note_preparing(packet, capabilities);
        }
    }

    /// Writes the connection's number of a statement into the command that begins at `at`.
    pub(crate) fn address(
        &mut self,
        bytes: &mut Vec<u8>,
        at: usize,
        capabilities: Capabilities,
    ) -> Option<Addressed> {
        let session = self.session_mut()?;
        if let Some(packet) = bytes.get(at..)
            && packet.get(HEADER).map(|byte| Command(*byte)) == Some(Command::STMT_PREPARE)
        {
            session.note_preparing(packet, capabilities);
        }
        session.address(bytes, at, capabilities)
    }

    /// A packet as the session's connection must hear it.
    pub(crate) fn addressed<'a>(
        &mut self,
        packet: &'a [u8],
        capabilities: Capabilities,
    ) -> (Cow<'a, [u8]>, Option<Addressed>) {
        let session = self.session_mut().filter(|_| statement_of(packet).is_some());
        let Some(session) = session else { return (Cow::Borrowed(packet), None) };
        let mut bytes = packet.to_vec();
        let about = session.address(&mut bytes, 0, capabilities);
        (Cow::Owned(bytes), about)
    }

    /// Where a prepared statement is. In a session that does not share its connections: here.
    pub(crate) fn whereabouts(&self, id: u32) -> Whereabouts {
        self.session().map_or(Whereabouts::Here, |session| session.whereabouts(id))
    }

    /// Whether the server has not yet answered a PREPARE of the client's.
    pub(crate) fn is_preparing(&self) -> bool {
        self.session().is_some_and(PooledSession::is_preparing)
    }

    /// Whether an execution, of which at least the beginning is there, is too long for the session's connection.
    pub(crate) fn lacks_room(&self, packet: &[u8], capabilities: Capabilities) -> bool {
        self.session().is_some_and(|session| session.lacks_room(packet, capabilities))
    }

    /// What a command for a prepared statement is answered with that could not be prepared again.
    pub(crate) fn take_refusal(&mut self, id: u32, command: Command) -> Option<Box<[u8]>> {
        // Values that the server has not got are missing at the execution.
        let keeps = command.is_unanswered();
        self.session_mut()?.take_refusal(id, keeps)
    }

    /// A statement was closed that no server knows of.
    pub(crate) fn note_closed(&mut self, id: u32) -> Option<()> {
        self.session_mut()?.note_closed(id);
        Some(())
    }
}
