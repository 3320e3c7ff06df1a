//! Commands that the proxy sends, and its last words.

use super::Link;
use super::close_reason::CloseReason;
use super::pending::{Pending, Recipient};
use super::within::within;
use crate::frontend::pooling::restore::{begin_reports, end_reports};
use crate::protocol::command::Shape;
use crate::protocol::packet;
use crate::protocol::reply::ErrorReply;
use crate::protocol::response::{Progress, Tracker};

impl Link {
    /// Lets the server run what the proxy answered in its place, so that row count, found rows and warnings are those
    /// of the last statement. These texts go out before the next command, without a round trip of their own.
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
        self.unanswered.begin_owed();
        self.send_server(&packet)
    }

    /// Sends the release of a gate, which is repeated up to `again` times if it fails.
    pub(crate) fn send_release(&mut self, packet: Box<[u8]>, again: u8) -> Result<(), CloseReason> {
        self.send_server(&packet)?;
        let owed = Pending::to(&packet, Recipient::Nobody);
        self.owe(Pending { recipient: Recipient::Release(packet, again), ..owed });
        self.unanswered.begin_owed();
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

    /// Queues bytes for the server, unless the session's locks are lost.
    pub(crate) fn send_server(&mut self, bytes: &[u8]) -> Result<(), CloseReason> {
        self.server.send_guarded(bytes)?;
        self.metrics.bytes_to_server.inc_by(bytes.len() as u64);
        Ok(())
    }

    /// Queues bytes for the client; what its socket takes goes out at once.
    pub(crate) fn send_client(&mut self, bytes: &[u8]) -> Result<(), CloseReason> {
        self.tell_client(bytes);
        self.client_listens()
    }

    /// Sends the client a whole response that may have several results.
    pub(crate) fn send_results(&mut self, bytes: &[u8]) -> Result<(), CloseReason> {
        let mut tracker = Tracker::new(self.capabilities);
        tracker.start_response(Shape::Results);
        let mut rest = bytes;
        while let (n, Progress::NextResult) = tracker.feed(rest) {
            self.send_client(within(rest, ..n)?)?;
            self.client.result_follows();
            rest = within(rest, n..)?;
        }
        self.send_client(rest)
    }

    /// Like [`Self::send_client`], of bytes of the server's: it is followed even if the client is gone, which
    /// [`Self::client_listens`] reports later.
    pub(super) fn tell_client(&mut self, bytes: &[u8]) {
        if bytes.is_empty() || self.client.is_lost() {
            return;
        }
        self.pooled.note_said();
        let amended = self.amendments.feed(bytes);
        let bytes = amended.as_deref().unwrap_or(bytes);
        self.client.send(bytes, self.guard().is_armed());
    }

    /// Has the server report again, after a reset of the connection.
    pub(crate) fn report_again(&mut self) -> Result<(), CloseReason> {
        let Some(pooled) = self.pooled.session() else { return Ok(()) };
        let reports = begin_reports(pooled.state.names(), self.capabilities);
        self.server.note_reset();
        self.send_hidden(&reports)
    }

    /// Leaves the server's reports to the client, if it is about to change them.
    fn leave_reports(&mut self) -> Result<(), CloseReason> {
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
}
