//! What a session keeps, and what it must give up, when its connection ends.

use super::capture::Doubts;
use super::lost::{Loss, WhyEnds};
use super::pins::Pin;
use super::pooled_session::PooledSession;
use crate::protocol::command::Command;
use crate::sql::find::release::ConnectionRelease;

impl PooledSession {
    /// A command is about to run; `alone`: after the responses to all others.
    pub(super) fn note_begin(&mut self, alone: bool) {
        self.under_way.if_lost.before = alone.then(|| (self.pins, self.doubts.clone()));
        self.warnings.note_begin();
    }

    /// A command is about to run. Texts and executions were judged before.
    pub(super) fn note_command(&mut self, command: Command, alone: bool) {
        let judged = matches!(
            command,
            Command::QUERY
                | Command::STMT_PREPARE
                | Command::STMT_EXECUTE
                | Command::MARIADB_BULK_EXECUTE
        );
        if !judged {
            self.under_way.rows_may_hide = true;
            self.note_begin(alone);
            self.under_way.if_lost.undone = matches!(command, Command::PING | Command::STATISTICS);
            self.under_way.if_lost.releases = ConnectionRelease::No;
        }
        match command {
            Command::BINLOG_DUMP
            | Command::BINLOG_DUMP_GTID
            | Command::TABLE_DUMP
            | Command::CLONE => self.pins.add(Pin::Replication),
            _ => {}
        }
    }

    /// Whether all of the state is known, or a login would bring it again.
    pub(crate) fn is_known(&self) -> bool {
        let doubts = Doubts { found_more: false, ..self.doubts.clone() };
        let known = doubts.is_empty() || doubts == Doubts::at_login(self.flavour);
        known && !self.under_way.reports_late
    }

    /// Goes back to what was known of the session before the commands under way. An error: that is not all. `asked`: the
    /// client waits for an answer.
    pub(crate) fn settle_loss(&mut self, asked: bool, loss: Loss) -> Result<(), WhyEnds> {
        if self.under_way.reports_late {
            return Err(WhyEnds::InDoubt);
        }
        let (mut pins, mut doubts) = match self.under_way.if_lost.before.take().filter(|_| asked) {
            Some(before) => before,
            None => (self.pins, self.doubts.clone()),
        };
        doubts.found_more = false;
        pins.remove(Pin::Diagnostics);
        if !pins.is_empty() {
            return Err(WhyEnds::Pinned);
        }
        if !(doubts.is_empty() || doubts == Doubts::at_login(self.flavour)) {
            return Err(WhyEnds::InDoubt);
        }
        (self.pins, self.doubts) = (pins, doubts);
        if loss != Loss::Unnoticed {
            self.warnings.forget(&mut self.pins);
        }
        if asked {
            self.counts.note_failed();
        }
        Ok(())
    }
}
