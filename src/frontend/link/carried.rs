//! The state of a session that shares its connections: read from the one that it leaves, put on the next.

use std::borrow::Cow;

use super::Link;
use super::close_reason::CloseReason;
use super::exchange::Questions;
use super::question::Whose;
use super::reply::{Keep, Reply};
use crate::backend::connection::Backend;
use crate::frontend::pooling::capture::{Doubts, started, to_start};
use crate::frontend::pooling::pins::Pin;
use crate::frontend::pooling::restore::{
    Restoration, Restored, activating_role, is_without_schema, restoring,
};
use crate::protocol::capabilities::Capabilities;
use crate::protocol::column::{self, LiteralKind};
use crate::protocol::frame::HEADER;
use crate::protocol::packet;
use crate::protocol::statement_ids::Naming;
use crate::protocol::status::Status;
use crate::types::Flavour;

impl Link {
    /// Puts the session's state on its connection.
    pub(super) async fn restore(&mut self) -> Result<Restored, CloseReason> {
        let left = self.server.backend().map(Backend::take_left).unwrap_or_default();
        let Some(pooled) = &self.pooled else { return Ok(Restored::Done) };
        let Restoration { mut packets, sent, resets } =
            restoring(&pooled.state, &left, pooled.handover, self.capabilities);
        self.metrics.pool_moves.with_label_values(&[sent]).inc();
        let asks = self.server.run().is_none();
        // After a reset, and before the session's own state is set.
        let question = usize::from(resets);
        if asks {
            let question_of_run = [b"SELECT ", started(pooled.flavour), b" LIMIT 1"].concat();
            packets.insert(question, packet::query(&question_of_run, self.capabilities));
        }
        let replies = self.exchange_cleanly(&packets).await?;
        if asks {
            let values = replies.get(question).and_then(Reply::values).unwrap_or_default();
            let Some(run) = to_start(values.first().and_then(|value| value.as_deref())) else {
                let why = "the server does not report its uptime".to_owned();
                return Ok(Restored::Refused(why));
            };
            self.server.note_run(run);
        }
        let mut errors = packets.iter().zip(&replies).filter(|(_, reply)| reply.is_error());
        let gone = errors.clone().any(|(packet, reply)| is_without_schema(packet, reply.ending));
        if let Some(pooled) = &mut self.pooled {
            pooled.state.schema_gone = gone;
            pooled.note_move();
        }
        // Of the proxy's own making.
        self.server.take_reported();
        self.take_in_reports();
        let refusal = errors.find(|(packet, reply)| !is_without_schema(packet, reply.ending));
        if let Some((_, reply)) = refusal {
            let text = reply.bytes.get(HEADER + 9..).unwrap_or_default();
            return Ok(Restored::Refused(String::from_utf8_lossy(text).into_owned()));
        }
        let schemaless = self.server.backend().is_some_and(|backend| backend.is_schemaless());
        Ok(if gone && !schemaless { Restored::InAnotherSchema } else { Restored::Done })
    }

    /// Gives the connection back, as [`Self::leave`], before a statement that waits. What it may change is in doubt
    /// again when it has run.
    pub(super) async fn leave_before_statement(&mut self) -> Result<(), CloseReason> {
        let ahead = self.pooled.as_ref().map(|pooled| pooled.doubts.clone());
        self.leave().await?;
        if let (Some(pooled), Some(ahead)) = (&mut self.pooled, ahead) {
            pooled.doubts.add_effects(ahead);
        }
        Ok(())
    }

    /// Whether the server may have changes in the session still to report: without OK packets at the end of rows, servers
    /// report late.
    pub(super) fn may_report_late(&self) -> bool {
        let eof = !self.capabilities.has(Capabilities::DEPRECATE_EOF);
        self.pooled
            .as_ref()
            .is_some_and(|pooled| pooled.reports_late || eof && pooled.rows_may_hide)
    }

    /// Has the server tell what it does not report, and what it reports late.
    pub(super) async fn learn(&mut self) -> Result<(), CloseReason> {
        self.learn_reports().await?;
        if self.is_free() { self.capture().await } else { Ok(()) }
    }

    /// While the session holds a lock, what a statement leaves in doubt is asked for as soon as its client has the answer: a
    /// client that never pauses never leaves its connection, and would lose the lock with it.
    pub(super) async fn learn_while_locked(&mut self) -> Result<(), CloseReason> {
        if !self.is_in_doubt_with_locks() {
            return Ok(());
        }
        if self.waits_for_warnings() {
            return Ok(());
        }
        if self.pooled.as_ref().is_some_and(|pooled| pooled.may_take_diagnostics()) {
            self.keep_diagnostics().await?;
        }
        self.learn_reports().await?;
        let free = self.pooled.as_ref().is_some_and(|pooled| pooled.pins.is_empty());
        if free && self.is_in_doubt_with_locks() { self.capture().await } else { Ok(()) }
    }

    /// Whether the session would lose its locks with its connection because a part of its state is not known, and the server
    /// can be asked for it now.
    fn is_in_doubt_with_locks(&self) -> bool {
        let Some(pooled) = &self.pooled else { return false };
        // If it is tied to the connection, it ends in any case, and a question might change what ties it.
        let tied = !pooled.pins.is_empty() && !pooled.may_take_diagnostics();
        let in_doubt = self.guard.is_armed() && !pooled.is_known() && !tied;
        // A question might use up what the next transaction is to be.
        let waits = pooled.state.characteristics.is_empty() || self.status.has(Status::IN_TRANS);
        in_doubt && waits && self.server.is_there() && self.between_commands() && !self.client_ended
    }

    /// Whether the client may yet ask for the warnings of its last statement, which a question would clear.
    fn waits_for_warnings(&mut self) -> bool {
        let Some(pooled) = &mut self.pooled else { return false };
        pooled.may_take_diagnostics() && !std::mem::replace(&mut pooled.waits_for_warnings, true)
    }

    /// Has the server tell what it reports late, and what a later question would change.
    async fn learn_reports(&mut self) -> Result<(), CloseReason> {
        // After an error nobody knows whether a transaction is open.
        if !self.status_known || self.may_report_late() {
            let flavour = self.pooled.as_ref().map(|pooled| pooled.flavour);
            // MariaDB reports late with a statement only.
            let question = match flavour {
                Some(Flavour::MariaDb) => packet::query(b"DO 0", self.capabilities),
                Some(Flavour::MySql) | None => packet::ping(),
            };
            self.exchange_all(&[question]).await?;
            let mut reported = self.server.take_reported();
            reported.result = None;
            self.take_in_reported(&reported);
        }
        if self.pooled.as_ref().is_some_and(|pooled| pooled.doubts.asks_for_found_rows()) {
            // Statements that the proxy has answered count, too.
            let texts: Vec<_> = self.skipped.take().collect();
            let packet = |text: &&str| packet::query(text.as_bytes(), self.capabilities);
            let packets: Vec<_> = texts.iter().map(packet).collect();
            self.exchange_all(&packets).await?;
            self.take_in_reports();
        }
        if let Some(pooled) = &mut self.pooled {
            (pooled.reports_late, pooled.rows_may_hide) = (false, false);
            // If it stays after all: its connection has heard questions that are not the session's.
            pooled.note_move();
        }
        Ok(())
    }

    /// Asks for the state that is in doubt.
    pub(super) async fn capture(&mut self) -> Result<(), CloseReason> {
        let Some(pooled) = &mut self.pooled else { return Ok(()) };
        if pooled.doubts.is_empty() {
            return Ok(());
        }
        let doubts = pooled.doubts.clone();
        let questions = doubts.questions(self.capabilities, pooled.flavour);
        let replies = self.exchange_cleanly(&questions).await?;
        let Some(pooled) = &mut self.pooled else { return Ok(()) };
        let values = replies.first().and_then(Reply::values);
        let definitions = replies.get(1).into_iter().flat_map(Reply::payloads);
        let kinds: Vec<LiteralKind> = definitions
            .filter(|payload| column::is_definition(payload))
            .filter_map(LiteralKind::of)
            .collect();
        let login = (pooled.flavour, pooled.collation);
        let captured =
            values.and_then(|values| doubts.answered(&values, &kinds, login, &mut pooled.state));
        self.server.take_reported();
        let Some(captured) = captured else {
            // It cannot be read: the session stays where it is.
            pooled.pins.add(Pin::LargeVariable);
            return Ok(());
        };
        (pooled.doubts, pooled.waits_for_warnings) = (Doubts::default(), false);
        if doubts.login && doubts.handshake {
            pooled.note_login_names();
        }
        if let Some(run) = captured.run {
            pooled.current.note_run(run);
            self.server.note_run(run);
        }
        if let Some(rows) = captured.found_rows {
            pooled.note_found_rows(rows);
        }
        pooled.note_captured();
        if captured.large {
            pooled.pins.add(Pin::LargeVariable);
        }
        if captured.init_connect {
            pooled.pins.add(Pin::InitConnect);
        }
        self.check_role().await
    }

    /// Has the server say whether the account may set the role that is active.
    async fn check_role(&mut self) -> Result<(), CloseReason> {
        let role = self.pooled.as_ref().and_then(|pooled| {
            Some(activating_role(&pooled.state, pooled.doubtful_role()?, self.capabilities))
        });
        let Some((packets, nth)) = role else { return Ok(()) };
        let replies = self.exchange_cleanly(&packets).await?;
        self.server.take_reported();
        let mut refused = replies.iter().enumerate().filter(|(_, reply)| reply.is_error());
        match (refused.next(), &mut self.pooled) {
            (Some((n, _)), Some(pooled)) if n == nth => pooled.note_borrowed_role(),
            (Some(_), _) => {
                return Err(CloseReason::Broken(
                    "a session's character sets could not be set back",
                ));
            }
            (None, _) => {}
        }
        Ok(())
    }

    /// As [`Self::exchange_all`], of what the session does not know of: it finds no warnings and errors of these packets.
    pub(super) async fn exchange_cleanly(
        &mut self,
        packets: &[Vec<u8>],
    ) -> Result<Vec<Reply>, CloseReason> {
        self.exchange_cleanly_for(packets, Whose::Proxy).await
    }

    /// The same; `whose` the packets are.
    pub(super) async fn exchange_cleanly_for(
        &mut self,
        packets: &[Vec<u8>],
        whose: Whose,
    ) -> Result<Vec<Reply>, CloseReason> {
        let replies = self.exchange_all_for(packets, whose).await?;
        // Its own are left alone.
        let own = self.pooled.as_ref().is_some_and(|pooled| pooled.pins.has(Pin::Diagnostics));
        if !own && replies.iter().any(Reply::leaves_diagnostics) {
            self.exchange_all(&[packet::clear_diagnostics(self.capabilities)]).await?;
        }
        Ok(replies)
    }

    /// Sends packets at once and reads the whole responses to all of them.
    pub(super) async fn exchange_all(
        &mut self,
        packets: &[Vec<u8>],
    ) -> Result<Vec<Reply>, CloseReason> {
        self.exchange_all_for(packets, Whose::Proxy).await
    }

    /// The same; `whose` they are.
    pub(super) async fn exchange_all_for(
        &mut self,
        packets: &[Vec<u8>],
        whose: Whose,
    ) -> Result<Vec<Reply>, CloseReason> {
        let packets: Vec<_> = packets.iter().map(|packet| Cow::Borrowed(&**packet)).collect();
        let (naming, keep) = (Naming::Hidden, Keep::All);
        let questions = Questions { packets: &packets, naming, keep, seen: false };
        self.exchange_in_order(&questions, whose).await
    }
}
