//! Commands that the proxy sends, and its last words.

use super::Link;
use super::close_reason::CloseReason;
use super::pending::{Pending, Recipient};
use crate::protocol::command::Shape;
use crate::protocol::packet;
use crate::protocol::reply::ErrorReply;

impl Link {
    /// Lets the server run what the proxy answered in its place, so that row count, found rows
    /// and warnings are those of the last statement. It goes out before the next command,
    /// without a round trip of its own.
    pub(crate) fn replay_skipped(&mut self) -> Result<(), CloseReason> {
        self.leave_reports()?;
        for text in self.owed.skipped().take() {
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
            self.pooled.note_preparing(packet, self.capabilities);
        }
        let (packet, about) = self.pooled.addressed(packet, self.capabilities);
        if shape != Shape::Nothing {
            self.owe_about(Pending::to(&packet, recipient), about);
        }
        self.server.note_used();
        self.send_server(&packet)
    }

    /// Sends a command that has no response.
    pub(crate) fn send_unanswered(&mut self, packet: &[u8]) -> Result<(), CloseReason> {
        let (packet, _) = self.pooled.addressed(packet, self.capabilities);
        self.send_server(&packet)
    }

    /// Sends a command whose response nobody sees.
    pub(crate) fn send_hidden(&mut self, packet: &[u8]) -> Result<(), CloseReason> {
        let (packet, _) = self.pooled.addressed(packet, self.capabilities);
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
        let (packet, about) = self.pooled.addressed(packet, self.capabilities);
        self.owe_about(Pending::to(&packet, Recipient::Gate(Vec::new())), about);
        self.send_server(&packet)
    }

    /// The last words to the client, if it can tell them from what it was sent: `answers` a command.
    /// A client that does not read is only closed.
    pub(crate) fn send_last_word(&mut self, error: &ErrorReply, answers: bool) {
        if self.client.is_flushed() && self.server.at_packet_boundary() {
            let mut out = Vec::new();
            let seq = u8::from(answers || !self.owed.is_nothing());
            error.encode(&mut out, seq, false);
            // After the responses to other statements of the same text, it is numbered like one more.
            if self.amendments.joins() {
                out = self.amendments.feed(&out).unwrap_or(out);
            }
            self.client.send_last(&out);
        }
    }

    /// Passes on a COM_QUIT to a server that has not heard it. It is closed in any case.
    pub(crate) fn quit_server(&mut self, packet: &[u8]) {
        let _ = self.server.send(packet);
    }
}
