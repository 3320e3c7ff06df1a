//! A session that shares server connections: it gives its own back when it can, and gets one, with its
//! state on it, when it needs one.

use super::Link;
use super::close_reason::CloseReason;
use super::input::ClientInput;
use super::pending::any_for_client;
use crate::backend::left::Left;
use crate::frontend::pooling::pins::Pin;
use crate::frontend::pooling::pooled_session::PooledSession;
use crate::frontend::pooling::restore::{begin_reports, end_reports, left_by_strangers, strangers};
use crate::frontend::shared::context::Context;
use crate::mutants::{self, Mutant};
use crate::protocol::command::Command;
use crate::protocol::cut::Reported;
use crate::protocol::frame::{FrameHeader, HEADER};
use crate::protocol::status::Status;
use crate::sql::find::first_word::begins_with;
use crate::sql::find::release::ConnectionRelease;
use crate::sql::find::words::{Back, asks_for_counts, names_connection};
use crate::sql::lexer::dialect::Dialect;
use crate::types::ProxyId;

impl Link {
    /// From here on the session shares its connections; the one it has becomes the pool's.
    pub(crate) fn share(&mut self, pooled: PooledSession) -> Result<(), CloseReason> {
        let mut pooled = Box::new(pooled);
        pooled.take_hold();
        let reports = begin_reports(None, self.capabilities);
        self.pooled = Some(pooled);
        self.send_hidden(&reports)
    }

    /// The session's place in the pool, if it shares its connections.
    pub(crate) fn pooled(&mut self) -> Option<&mut PooledSession> {
        self.pooled.as_deref_mut()
    }

    /// Whether the session shares its connections.
    pub(crate) fn is_shared(&self) -> bool {
        self.pooled.is_some()
    }

    /// Whether there is a connection to the server.
    pub(crate) fn has_server(&self) -> bool {
        self.server.is_there()
    }

    /// The next command, as far as it has come: its first byte.
    pub(crate) fn next_command(&self) -> Option<Command> {
        self.inbox.get(HEADER).map(|byte| Command(*byte))
    }

    /// Drops the next command, if all of it has come.
    pub(crate) fn drop_command(&mut self) -> Option<Command> {
        let frame = FrameHeader::peek(&self.inbox)?;
        if frame.continued() || self.inbox.len() < HEADER + frame.len {
            return None;
        }
        let packet = self.take_command()?;
        packet.get(HEADER).map(|byte| Command(*byte))
    }

    /// A statement is about to run, or, unless it `runs`, to be prepared.
    pub(crate) fn note_text(&mut self, text: &[u8], dialect: Dialect, whole: bool, runs: bool) {
        let alone = !any_for_client(&self.pending);
        if let Some(pooled) = &mut self.pooled {
            pooled.note_begin(alone);
            if whole {
                pooled.note_text(text, dialect, runs);
            } else {
                pooled.note_long(text, dialect);
            }
        }
    }

    /// One text may hold several statements from here on, or may not.
    pub(crate) fn note_several(&mut self, several: bool) {
        if let Some(pooled) = &mut self.pooled {
            pooled.state.several = several;
        }
    }

    /// A command is about to run. Texts and executions were judged before.
    pub(crate) fn note_command(&mut self, command: Command) {
        let alone = !any_for_client(&self.pending);
        let Some(pooled) = &mut self.pooled else { return };
        let judged = matches!(
            command,
            Command::QUERY
                | Command::STMT_PREPARE
                | Command::STMT_EXECUTE
                | Command::MARIADB_BULK_EXECUTE
        );
        if !judged {
            pooled.rows_may_hide = true;
            pooled.note_begin(alone);
            pooled.loss_tracking.undone = matches!(command, Command::PING | Command::STATISTICS);
            pooled.loss_tracking.releases = ConnectionRelease::No;
        }
        match command {
            Command::BINLOG_DUMP
            | Command::BINLOG_DUMP_GTID
            | Command::TABLE_DUMP
            | Command::CLONE => {
                pooled.pins.add(Pin::Replication);
            }
            _ => {}
        }
    }

    /// Takes in what the server has reported of the session's state.
    pub(super) fn take_in_reports(&mut self) {
        if self.pooled.is_some() {
            let reported = self.server.take_reported();
            self.take_in_reported(&reported);
        }
    }

    pub(super) fn take_in_reported(&mut self, reported: &Reported) {
        if let Some(pooled) = &mut self.pooled {
            pooled.take_in(reported);
            if pooled.state.is_in_schema()
                && let Some(backend) = self.server.backend()
            {
                backend.note_schema();
            }
        }
    }

    /// Whether nothing runs on the connection, and nothing ties the session to it.
    pub(super) fn is_free(&self) -> bool {
        self.pooled.as_ref().is_some_and(|pooled| pooled.pins.is_empty()) && self.does_nothing()
    }

    /// Whether nothing runs on the connection.
    pub(super) fn does_nothing(&self) -> bool {
        self.server.is_there()
            && self.is_settled()
            && self.server.is_flushed()
            && matches!(self.input, ClientInput::Command)
            && !mutants::or(Mutant::FreeInTransaction, self.status.has(Status::IN_TRANS), false)
            && !self.client_ended
    }

    /// The session is between two commands: gives its connection back if it is wanted.
    pub(super) async fn rest(&mut self) -> Result<(), CloseReason> {
        let wanted = self.pooled.as_ref().is_some_and(|pooled| pooled.pool.is_wanted());
        if wanted {
            self.loosen();
        }
        self.note_made_way();
        let between = self.inbox.is_empty() || wanted && self.has_part_of_command();
        let free =
            between && (self.is_free() || self.may_be_audited() || self.has_only_diagnostics());
        let Some(pooled) = &mut self.pooled else { return Ok(()) };
        pooled.look_at_secrets();
        pooled.show_pins();
        if !free {
            return self.learn_while_locked().await;
        }
        if let Some(hold) = &pooled.hold {
            hold.mark_idle();
        }
        let outlived = self.server.tag() != self.guard.incarnation();
        let asked = std::mem::take(&mut pooled.asked) || mutants::shuffles() || outlived;
        if asked || wanted || pooled.pool.is_over(pooled.key.user.bytes()) {
            self.leave().await?;
            // Warnings tie it for a short time only.
            let tied = self.server.is_there() && !self.has_only_diagnostics();
            if let Some(hold) = self.pooled.as_ref().and_then(|s| s.hold.as_ref()).filter(|_| tied)
            {
                hold.refuse();
            }
        }
        self.learn_while_locked().await
    }

    /// Gives the connection back, if nothing ties the session to it, after the server has told what it
    /// does not report.
    pub(super) async fn leave(&mut self) -> Result<(), CloseReason> {
        self.take_diagnostics_along().await?;
        if !(self.is_free() || self.may_be_audited() && self.audit().await?) {
            return Ok(());
        }
        if self.pooled.as_ref().is_some_and(|pooled| pooled.killed) {
            return Err(CloseReason::Killed);
        }
        self.mark_busy();
        self.learn().await?;
        if !self.is_free() {
            return Ok(());
        }
        // Before the session forgets which of its statements the connection has.
        let mut left = self.pooled.as_ref().map(|pooled| pooled.left()).unwrap_or_default();
        if mutants::shuffles()
            && let Some(pooled) = &self.pooled
        {
            let (handover, has_schema) = (pooled.handover, pooled.state.is_in_schema());
            self.exchange_all(&strangers(handover, self.capabilities, has_schema)).await?;
            left = left_by_strangers(left, handover, &self.server.take_reported());
        }
        self.begin_idle(self.server.used());
        let (Some(backend), Some(pooled)) = (self.take_server(), &mut self.pooled) else {
            return Ok(());
        };
        if pooled.leaves_connection()
            && backend.tag() == self.guard.incarnation()
            && let Ok(backend) = backend.detach(left)
        {
            pooled.pool.give(backend);
        }
        Ok(())
    }

    /// Has the server report again, after a reset of the connection.
    pub(crate) fn report_again(&mut self) -> Result<(), CloseReason> {
        let Some(pooled) = &self.pooled else { return Ok(()) };
        if let Some(backend) = self.server.backend() {
            backend.note_reset();
        }
        let reports = begin_reports(pooled.state.names(), self.capabilities);
        self.send_hidden(&reports)
    }

    /// Leaves the server's reports to the client, if it is about to change them.
    pub(super) fn leave_reports(&mut self) -> Result<(), CloseReason> {
        if self.pooled.as_mut().is_some_and(|pooled| std::mem::take(&mut pooled.leaves_reports)) {
            self.send_hidden(&end_reports(self.capabilities))?;
            // Another client asks for the values only: it gets no reports.
            if let Some(pooled) = self.pooled.as_mut().filter(|pooled| pooled.tracks) {
                pooled.note_reports_left();
                if let Some(backend) = self.server.backend() {
                    backend.pass_all(true);
                }
            }
        }
        Ok(())
    }

    /// Gives the connection back without a look at the state on it.
    pub(crate) fn leave_for_good(&mut self) {
        let backend = self.take_server();
        let Some(pooled) = &mut self.pooled else { return };
        if let Some(backend) = backend
            && pooled.leaves_connection()
            && let Ok(backend) = backend.detach(Left::Unknown)
        {
            pooled.pool.give(backend);
        }
    }

    /// Whether a lock that this incarnation has granted is freed only after the connection has ended, if the proxy
    /// dies: the others find it by its tag.
    pub(crate) fn answers_for(&self, proxy: ProxyId) -> bool {
        !self.server.is_there() || self.pooled.is_none() || self.server.tag() == Some(proxy)
    }

    /// A connection that an earlier incarnation of the proxy opened is given away for another one, before a lock is
    /// taken on it.
    pub(super) async fn renew(&mut self, context: &Context) -> Result<(), CloseReason> {
        let outlived = self.pooled.is_some() && self.server.tag() != self.guard.incarnation();
        if outlived && self.server.is_there() && self.is_free() {
            self.leave().await?;
            // Without one the command meets the end of the session, which it would have met anyhow.
            self.arrive(context).await?;
        }
        Ok(())
    }

    /// What the session must remember of its last results, since its connection does not.
    pub(crate) fn remembered(&self, back: Back) -> Option<i64> {
        self.pooled.as_ref()?.remembered(back)
    }

    /// Whether a text asks for something of the session that its connection has in another way.
    pub(crate) fn must_answer_itself(&self, text: &[u8]) -> bool {
        let Some(pooled) = &self.pooled else { return false };
        begins_with(text, &[b"kill"])
            || names_connection(text)
            || (pooled.has_moved() && asks_for_counts(text))
            || pooled.asks_for_diagnostics(text)
    }

    /// Whether the server may end a statement with this text after a time of its own.
    pub(crate) fn limits(&self, text: &[u8]) -> bool {
        self.pooled.as_ref().is_some_and(|pooled| pooled.state.limits(text, pooled.flavour))
    }

    /// The session works with its connection.
    pub(crate) fn mark_busy(&self) {
        if let Some(hold) = self.pooled.as_ref().and_then(|pooled| pooled.hold.as_ref()) {
            hold.mark_busy();
        }
    }
}
