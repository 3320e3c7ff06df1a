//! Commands that the proxy sends, and how responses are changed on their way to the client.

use super::close_reason::CloseReason;
use super::pending::{Pending, Recipient, Skipped};
use super::reply::Reply;
use super::{Amendment, Link};
use crate::protocol::amend::Amend;
use crate::protocol::column::Column;
use crate::protocol::command::Shape;
use crate::protocol::packet;
use crate::protocol::reply::ErrorReply;

impl Link {
    /// Statements that the server has not seen.
    pub(crate) fn skipped(&mut self) -> &mut Skipped {
        &mut self.skipped
    }

    /// Forgets them: what comes next leaves nothing of theirs.
    pub(crate) fn forget_skipped(&mut self) {
        self.skipped = Skipped::default();
    }

    /// Lets the server run what the proxy answered in its place, so that row count, found rows
    /// and warnings are those of the last statement. It goes out before the next command,
    /// without a round trip of its own.
    pub(crate) fn replay_skipped(&mut self) -> Result<(), CloseReason> {
        self.leave_reports()?;
        for text in self.skipped.take() {
            self.send_hidden(&packet::query(text.as_bytes(), self.capabilities))?;
        }
        Ok(())
    }

    /// Sends a whole command of the client's as it is; the response is for `recipient`.
    pub(crate) fn forward(
        &mut self,
        packet: &[u8],
        recipient: Recipient,
    ) -> Result<(), CloseReason> {
        let shape = Shape::of_clients(packet, self.flavour());
        if shape != Shape::Nothing {
            self.replay_skipped()?;
        }
        if shape == Shape::Prepare {
            self.note_preparing(packet);
        }
        let (packet, about) = self.addressed(packet);
        if shape != Shape::Nothing {
            self.owe_about(Pending::to(&packet, recipient), about);
        }
        self.note_server_used();
        self.send_server(&packet)
    }

    /// Sends a command that has no response.
    pub(crate) fn send_unanswered(&mut self, packet: &[u8]) -> Result<(), CloseReason> {
        let (packet, _) = self.addressed(packet);
        self.send_server(&packet)
    }

    /// Sends a command whose response nobody sees.
    pub(crate) fn send_hidden(&mut self, packet: &[u8]) -> Result<(), CloseReason> {
        let (packet, _) = self.addressed(packet);
        self.owe(Pending::to(&packet, Recipient::Nobody));
        self.begin_owed_question();
        self.send_server(&packet)
    }

    /// Sends the release of a gate, which is repeated up to `again` times if it fails.
    pub(crate) fn send_release(&mut self, packet: Box<[u8]>, again: u8) -> Result<(), CloseReason> {
        self.send_server(&packet)?;
        let owed = Pending::to(&packet, Recipient::Nobody);
        self.owe(Pending { recipient: Recipient::Release(packet, again), ..owed });
        self.begin_owed_question();
        Ok(())
    }

    /// Sends a statement that waits at a gate.
    pub(crate) fn send_to_gate(&mut self, packet: &[u8]) -> Result<(), CloseReason> {
        self.replay_skipped()?;
        let (packet, about) = self.addressed(packet);
        self.owe_about(Pending::to(&packet, Recipient::Gate(Vec::new())), about);
        self.send_server(&packet)
    }

    /// What the server said to a statement that waited at a gate, once.
    pub(crate) fn take_gate_reply(&mut self) -> Option<Reply> {
        self.gate_reply.take()
    }

    /// Nobody wants the server's reply to a statement at a gate any more.
    pub(crate) fn drop_gate_reply(&mut self) {
        self.gate_reply = None;
        for response in &mut self.pending {
            if matches!(response.recipient, Recipient::Gate(_)) {
                response.recipient = Recipient::Nobody;
            }
        }
    }

    /// The responses to the statements of one text go to the client as one.
    pub(crate) fn join_responses(&mut self) {
        let amend = Box::new(Amend::new(self.capabilities));
        self.amendment = Some(Amendment { amend, joins: true });
    }

    /// The next response to be joined; another follows it if `more`.
    pub(crate) fn join_next(&mut self, more: bool) {
        if let Some(amendment) = &mut self.amendment {
            amendment.amend.next(more);
        }
    }

    /// Whether one of the joined responses was an error.
    pub(crate) fn joined_error(&self) -> bool {
        self.amendment.as_ref().is_some_and(|amendment| amendment.amend.failed())
    }

    /// All statements of the text have their response.
    pub(crate) fn end_joining(&mut self) {
        self.amendment = None;
    }

    /// How the columns of the response that is to come are to be described.
    pub(crate) fn describe(&mut self, columns: Vec<Column>) {
        if !columns.is_empty() {
            let capabilities = self.capabilities;
            let new = || Amendment { amend: Box::new(Amend::new(capabilities)), joins: false };
            self.amendment.get_or_insert_with(new).amend.describe(columns);
        }
    }

    /// In a compressed response to the client, another result follows.
    pub(crate) fn result_follows(&mut self) {
        self.client.result_follows();
    }

    /// The last words to the client, if it can tell them from what it was sent: `answers` a command.
    /// A client that does not read is only closed.
    pub(crate) fn send_last_word(&mut self, error: &ErrorReply, answers: bool) {
        if self.client.is_flushed() && self.server.at_packet_boundary() {
            let mut out = Vec::new();
            let seq = u8::from(answers || !self.pending.is_empty());
            error.encode(&mut out, seq, false);
            // After the responses to other statements of the same text, it is numbered like one more.
            if let Some(Amendment { amend, joins: true }) = &mut self.amendment {
                out = amend.feed(&out);
            }
            let _ = self.client.send(&out);
        }
    }

    /// Passes on a COM_QUIT to a server that has not heard it. It is closed in any case.
    pub(crate) fn quit_server(&mut self, packet: &[u8]) {
        let _ = self.server.send(packet);
    }
}
