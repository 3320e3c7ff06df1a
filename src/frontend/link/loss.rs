//! The end of a shared connection while its session has it: what that means for the session, and what its
//! client is told.

use super::Link;
use super::close_reason::CloseReason;
use super::pending::{Pending, Recipient};
use crate::frontend::pooling::lost::{BegunAnswer, Loss, WhyEnds};
use crate::frontend::pooling::pins::Pin;
use crate::lock::codes;
use crate::protocol::command::Command;
use crate::protocol::frame::HEADER;
use crate::protocol::reply::ErrorReply;
use crate::types::BackendId;

/// A connection that has ended, and what its session's client is to be told.
#[derive(Debug)]
pub(crate) struct LostBackend {
    pub loss: Loss,
    /// Sequence ids of the responses that the client waits for.
    owed: Vec<u8>,
    /// The connection, at the server.
    pub conn: BackendId,
    /// The server's start, if the connection has told it.
    pub run: Option<i64>,
}

impl Link {
    /// The packet of the command that waits at the front of the inbox: the proxy answers it from here on.
    pub(crate) fn answer_command(&mut self) -> Option<Vec<u8>> {
        let packet = self.client.take_command()?;
        self.pooled.begin_answer(packet.get(HEADER).map(|byte| Command(*byte)));
        Some(packet)
    }

    /// What the end of the connection means for the session, or why it ends as well.
    pub(crate) fn judge_loss(&mut self) -> Result<LostBackend, WhyEnds> {
        let (Some(pooled), Some(conn)) = (self.pooled.session(), self.server.id()) else {
            return Err(WhyEnds::Unproved);
        };
        if pooled.place.is_being_ended() {
            return Err(WhyEnds::Killed);
        }
        let mut owed: Vec<u8> = Vec::new();
        for response in self.owed.iter().filter(|p| p.recipient.is_client()) {
            if !matches!(response.recipient, Recipient::Client) {
                return Err(WhyEnds::Answering);
            }
            owed.push(response.seq);
        }
        match pooled.loss_tracking.answering {
            Some(BegunAnswer { said: true, .. }) => return Err(WhyEnds::Answering),
            Some(answer) if !answer.may_fail() => return Err(WhyEnds::Answering),
            Some(_) if owed.is_empty() => owed.push(1),
            // The server was to answer it.
            Some(_) | None => {}
        }
        if self.has_begun_a_response() || self.owed.has_finished() || self.amendments.joins() {
            return Err(WhyEnds::Answering);
        }
        if !self.client.is_between_commands() {
            return Err(WhyEnds::Client);
        }
        let run = pooled.place.current().run();
        let asked = !owed.is_empty();
        let loss = self.loss_of(asked);
        if let Some(pooled) = self.pooled.session_mut() {
            pooled.settle_loss(asked, loss)?;
        }
        Ok(LostBackend { loss, owed, conn, run })
    }

    /// Whether a part of a response is on its way to the client.
    fn has_begun_a_response(&self) -> bool {
        self.server.is_answering() && self.owed.front().is_some_and(|p| p.recipient.is_client())
    }

    fn loss_of(&self, asked: bool) -> Loss {
        let Some(pooled) = self.pooled.session() else { return Loss::Unknown };
        // Of a text with several statements, an error does not say what those before it have begun.
        let perhaps = !self.status.is_known() && pooled.state.several;
        let inside = self.status.in_transaction() || perhaps;
        let client = |p: &&Pending| p.recipient.is_client();
        let undone = self.owed.iter().filter(client).all(|p| p.undone);
        let answered = pooled.loss_tracking.answering.is_none() || pooled.loss_tracking.undone;
        match (inside, asked) {
            (false, false) => Loss::Unnoticed,
            (true, false) if !pooled.loss_tracking.perhaps_committed => Loss::RolledBack,
            (true, true) if undone && answered && !pooled.loss_tracking.perhaps_committed => {
                Loss::RolledBack
            }
            (_, true) | (true, false) => Loss::Unknown,
        }
    }

    /// The server works for the connection no more, and the session has none: its client is told what that means.
    pub(crate) fn go_on_without(&mut self, ended: &LostBackend) -> Result<(), CloseReason> {
        self.owed.clear();
        self.amendments.end();
        self.status.end_transaction();
        self.metrics.pool_lost.with_label_values(&[ended.loss.label()]).inc();
        let Some(pooled) = self.pooled.session_mut() else { return Ok(()) };
        pooled.loss_tracking.answering = None;
        pooled.loss_tracking.perhaps_committed = false;
        if ended.owed.is_empty() {
            pooled.loss_tracking.owes = Some(ended.loss).filter(|loss| *loss != Loss::Unnoticed);
            return Ok(());
        }
        let Some(error) = error_of(ended.loss) else { return Ok(()) };
        for seq in &ended.owed {
            let mut out = Vec::new();
            error.encode(&mut out, *seq, false);
            self.send_client(&out)?;
        }
        Ok(())
    }

    /// Whether a session whose server has hung up can go on with another connection: it does nothing, and
    /// all of its state is known.
    pub(super) fn survives(&self) -> bool {
        let Some(pooled) = self.pooled.session().filter(|pooled| !pooled.place.is_killed()) else {
            return false;
        };
        let mut pins = pooled.pins;
        // Of warnings nobody asks who has done nothing since.
        pins.remove(Pin::Diagnostics);
        let outside = self.status.is_known() || !pooled.state.several;
        pins.is_empty() && pooled.is_known() && outside && self.does_nothing()
    }

    /// Whether the session would end with its connection.
    pub(crate) fn ends_with_server(&self) -> bool {
        self.server.is_there() && !self.survives()
    }

    /// The connection is gone.
    pub(crate) fn lose_server(&mut self) {
        self.pooled.begin_idle(self.server.used());
        self.take_server();
        if let Some(pooled) = self.pooled.session_mut() {
            pooled.leaves_connection();
        }
    }

    /// The connection is gone, with which the session did nothing.
    pub(super) fn lose_idle_server(&mut self) {
        self.metrics.pool_lost.with_label_values(&[Loss::Unnoticed.label()]).inc();
        self.lose_server();
        self.pooled.note_idle_loss();
    }

    /// What the next statement is to be told, if its transaction is lost; once.
    pub(crate) fn take_owed_error(&mut self) -> Option<ErrorReply> {
        error_of(self.pooled.take_owed()?)
    }

    /// The session ends with its connection: the client hears what the server said last.
    pub(crate) fn end_with_server(&mut self, why: WhyEnds) {
        if self.pooled.is_shared() && self.server.is_there() {
            self.metrics.pool_lost.with_label_values(&["closed"]).inc();
            self.metrics.sessions_lost.with_label_values(&[why.label()]).inc();
        }
        let words = std::mem::take(&mut self.last_words);
        if !words.is_empty() && self.server.at_packet_boundary() {
            let _ = self.send_client(&words);
        }
    }
}

fn error_of(loss: Loss) -> Option<ErrorReply> {
    match loss {
        Loss::Unnoticed => None,
        Loss::RolledBack => Some(codes::rolled_back()),
        Loss::Unknown => Some(codes::outcome_unknown()),
    }
}
