//! The end of a shared connection while its session has it: what that means for the session, and what its
//! client is told.

use std::future::poll_fn;
use std::task::Poll;

use tokio::time::{Instant, timeout_at};

use super::close_reason::CloseReason;
use super::input::ClientInput;
use super::pending::{Pending, Recipient};
use super::{Amendment, Link, READ_AHEAD};
use crate::frontend::pooling::capture::Doubts;
use crate::frontend::pooling::lost::{BegunAnswer, Loss, WhyEnds};
use crate::frontend::pooling::pins::Pin;
use crate::frontend::pooling::pooled_session::PooledSession;
use crate::lock::codes;
use crate::protocol::command::Command;
use crate::protocol::frame::{FrameHeader, HEADER};
use crate::protocol::reply::ErrorReply;
use crate::protocol::status::Status;
use crate::servers::writer::Destination;
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
        let packet = self.take_command()?;
        if let Some(pooled) = &mut self.pooled {
            let command = packet.get(HEADER).map(|byte| Command(*byte));
            pooled.loss_tracking.answering =
                command.map(|command| BegunAnswer { command, said: false });
        }
        Some(packet)
    }

    /// The proxy has answered the command, or left that to the server.
    pub(crate) fn end_answer(&mut self) {
        if let Some(pooled) = &mut self.pooled {
            pooled.loss_tracking.answering = None;
        }
    }

    /// Whether the proxy answers a command, or lets the server answer it.
    pub(crate) fn is_answering_command(&self) -> bool {
        self.pooled.as_ref().is_some_and(|pooled| pooled.loss_tracking.answering.is_some())
    }

    /// What the end of the connection means for the session, or why it ends as well.
    pub(crate) fn judge_loss(&mut self) -> Result<LostBackend, WhyEnds> {
        let (Some(pooled), Some(conn)) = (&self.pooled, self.server.backend().map(|b| b.id()))
        else {
            return Err(WhyEnds::Unproved);
        };
        if pooled.is_being_ended() {
            return Err(WhyEnds::Killed);
        }
        let mut owed: Vec<u8> = Vec::new();
        for response in self.pending.iter().filter(|p| p.recipient.is_client()) {
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
        if self.has_begun_a_response() || !self.finished.is_empty() || self.joins_responses() {
            return Err(WhyEnds::Answering);
        }
        if !self.is_between_commands() {
            return Err(WhyEnds::Client);
        }
        let run = pooled.current.run();
        let asked = !owed.is_empty();
        let loss = self.loss_of(asked);
        self.settle_pooled(asked, loss)?;
        Ok(LostBackend { loss, owed, conn, run })
    }

    /// Whether a part of a response is on its way to the client.
    fn has_begun_a_response(&self) -> bool {
        self.server.is_answering() && self.pending.front().is_some_and(|p| p.recipient.is_client())
    }

    /// Whether the client is there, and between two commands.
    fn is_between_commands(&self) -> bool {
        matches!(self.input, ClientInput::Command) && !self.client_ended && !self.client_lost
    }

    /// Whether responses are joined.
    fn joins_responses(&self) -> bool {
        matches!(self.amendment, Some(Amendment { joins: true, .. }))
    }

    fn loss_of(&self, asked: bool) -> Loss {
        let Some(pooled) = &self.pooled else { return Loss::Unknown };
        // Of a text with several statements, an error does not say what those before it have begun.
        let perhaps = !self.status_known && pooled.state.several;
        let inside = self.status.has(Status::IN_TRANS) || perhaps;
        let client = |p: &&Pending| p.recipient.is_client();
        let undone = self.pending.iter().filter(client).all(|p| p.undone);
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

    /// Goes back to what was known of the session before the commands under way. An error: that is not all.
    fn settle_pooled(&mut self, asked: bool, loss: Loss) -> Result<(), WhyEnds> {
        let Some(pooled) = &mut self.pooled else { return Ok(()) };
        if pooled.reports_late {
            return Err(WhyEnds::InDoubt);
        }
        let (mut pins, mut doubts) = match pooled.loss_tracking.before.take().filter(|_| asked) {
            Some(before) => before,
            None => (pooled.pins, pooled.doubts.clone()),
        };
        doubts.found_more = false;
        pins.remove(Pin::Diagnostics);
        if !pins.is_empty() {
            return Err(WhyEnds::Pinned);
        }
        if !(doubts.is_empty() || doubts == Doubts::at_login(pooled.flavour)) {
            return Err(WhyEnds::InDoubt);
        }
        (pooled.pins, pooled.doubts) = (pins, doubts);
        if loss != Loss::Unnoticed {
            pooled.forget_diagnostics();
        }
        if asked {
            pooled.note_failed();
        }
        Ok(())
    }

    /// The server works for the connection no more, and the session has none: its client is told what that means.
    pub(crate) fn go_on_without(&mut self, ended: &LostBackend) -> Result<(), CloseReason> {
        self.pending.clear();
        self.amendment = None;
        self.status =
            Status(self.status.lasting() & !(Status::IN_TRANS | Status::IN_TRANS_READONLY));
        self.status_known = true;
        self.metrics.pool_lost.with_label_values(&[ended.loss.label()]).inc();
        let Some(pooled) = &mut self.pooled else { return Ok(()) };
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

    /// A command has failed. If it is none that is undone with its transaction, it may have committed that before.
    pub(super) fn note_perhaps_committed(&mut self) {
        if let Some(pooled) = &mut self.pooled {
            pooled.loss_tracking.perhaps_committed |= !pooled.loss_tracking.undone;
        }
    }

    /// Something is said to the client.
    pub(super) fn note_said(&mut self) {
        if let Some(answering) =
            self.pooled.as_mut().and_then(|pooled| pooled.loss_tracking.answering.as_mut())
        {
            answering.said = true;
        }
    }

    /// Whether a session whose server has hung up can go on with another connection: it does nothing, and
    /// all of its state is known.
    pub(super) fn survives(&self) -> bool {
        let Some(pooled) = self.pooled.as_ref().filter(|pooled| !pooled.killed) else {
            return false;
        };
        let mut pins = pooled.pins;
        // Of warnings nobody asks who has done nothing since.
        pins.remove(Pin::Diagnostics);
        let outside = self.status_known || !pooled.state.several;
        pins.is_empty() && pooled.is_known() && outside && self.does_nothing()
    }

    /// The connection is gone.
    pub(crate) fn lose_server(&mut self) {
        self.begin_idle(self.server.used());
        self.take_server();
        if let Some(pooled) = &mut self.pooled {
            pooled.leaves_connection();
        }
    }

    /// Whether the connection leads to a server that is not the writer any more.
    pub(crate) fn is_left(&self) -> bool {
        self.server.to().is_some_and(Destination::is_left)
    }

    /// Closes the connection, and keeps in mind what it was.
    pub(crate) fn end_server(&mut self) {
        self.server.end_abruptly();
    }

    /// The connection is gone, with which the session did nothing.
    pub(super) fn lose_idle_server(&mut self) {
        self.metrics.pool_lost.with_label_values(&[Loss::Unnoticed.label()]).inc();
        self.lose_server();
        if let Some(pooled) = &mut self.pooled {
            pooled.pins.remove(Pin::Diagnostics);
        }
    }

    /// Waits until the locks of the session are known to be held in the run of the server that the connection is of:
    /// after a restart the proxy compares them first. Whether that is so in time.
    pub(super) async fn until_held(&mut self, deadline: Instant) -> Result<bool, CloseReason> {
        let Some(run) = self.server.run() else { return Ok(true) };
        if let Some(pooled) = &self.pooled {
            pooled.current.note_run(run);
        }
        let held = timeout_at(deadline, self.guard.held_in(run));
        match self.read_ahead_until(held).await? {
            Ok(held) => held.map(|()| true),
            Err(_) => Ok(false),
        }
    }

    /// Waits until the client has said something, or has left.
    pub(crate) async fn client_speaks(&mut self) {
        let more = self.inbox.len() < READ_AHEAD && !self.client_ended;
        poll_fn(|cx| if more { self.client.poll_readable(cx).map(|_| ()) } else { Poll::Pending })
            .await;
    }

    /// Whether the next command has come as a whole. An error if it is so long that it is not kept.
    pub(crate) fn has_whole_command(&self) -> Result<bool, CloseReason> {
        let Some(frame) = FrameHeader::peek(&self.inbox) else { return Ok(false) };
        if frame.continued() || HEADER + frame.len > READ_AHEAD {
            return Err(CloseReason::Broken("a long command after a lost transaction"));
        }
        Ok(self.inbox.len() >= HEADER + frame.len)
    }

    /// The payload of the next command, which has come as a whole.
    pub(crate) fn whole_command(&self) -> &[u8] {
        let len = FrameHeader::peek(&self.inbox).map_or(0, |frame| frame.len);
        self.inbox.get(HEADER..HEADER + len).unwrap_or_default()
    }

    /// What the next statement is to be told, if its transaction is lost; once.
    pub(crate) fn take_owed_error(&mut self) -> Option<ErrorReply> {
        error_of(self.pooled.as_mut()?.loss_tracking.owes.take()?)
    }

    /// Whether the next statement is to be told that its transaction is lost.
    pub(crate) fn owes_error(&self) -> bool {
        self.pooled.as_ref().is_some_and(|pooled| pooled.loss_tracking.owes.is_some())
    }

    /// What ties the session to its connection, as metrics call it.
    pub(crate) fn pin_names(&self) -> String {
        let names = self.pooled.iter().flat_map(|pooled| pooled.pins.names());
        names.collect::<Vec<_>>().join(" ")
    }

    /// The session ends with its connection: the client hears what the server said last.
    pub(crate) fn end_with_server(&mut self, why: WhyEnds) {
        if self.pooled.is_some() && self.server.is_there() {
            self.metrics.pool_lost.with_label_values(&["closed"]).inc();
            self.metrics.sessions_lost.with_label_values(&[why.label()]).inc();
        }
        let words = std::mem::take(&mut self.last_words);
        if !words.is_empty() && self.server.at_packet_boundary() {
            let _ = self.send_client(&words);
        }
    }
}

impl PooledSession {
    /// A command is about to run; `alone`: after the responses to all others.
    pub(crate) fn note_begin(&mut self, alone: bool) {
        self.loss_tracking.before = alone.then(|| (self.pins, self.doubts.clone()));
        self.ran = true;
    }

    /// Whether the server's connection is ended on account of this session, and not by chance.
    fn is_being_ended(&self) -> bool {
        self.killed || self.current.is_condemned()
    }

    /// Whether all of the state is known, or a login would bring it again.
    pub(crate) fn is_known(&self) -> bool {
        let doubts = Doubts { found_more: false, ..self.doubts.clone() };
        let known = doubts.is_empty() || doubts == Doubts::at_login(self.flavour);
        known && !self.reports_late
    }
}

fn error_of(loss: Loss) -> Option<ErrorReply> {
    match loss {
        Loss::Unnoticed => None,
        Loss::RolledBack => Some(codes::rolled_back()),
        Loss::Unknown => Some(codes::outcome_unknown()),
    }
}
