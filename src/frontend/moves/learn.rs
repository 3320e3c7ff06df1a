//! The server is asked for what it has not reported of a session, before the session leaves its connection.

use super::Mover;
use crate::frontend::link::asker::Asker;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::reply::Reply;
use crate::frontend::pooling::pins::Pin;
use crate::frontend::pooling::restore::activating_role;
use crate::protocol::column::{self, LiteralKind};
use crate::protocol::packet;
use crate::types::Flavour;

impl Mover<'_> {
    /// Has the server tell what it does not report, and what it reports late.
    pub(super) async fn learn(&mut self) -> Result<(), CloseReason> {
        self.learn_reports().await?;
        if self.is_free() { self.capture().await } else { Ok(()) }
    }

    /// While the session holds a lock, what a statement leaves in doubt is asked for as soon as its client has the
    /// answer. A client that never pauses never leaves its connection, and would lose the lock with it.
    pub(super) async fn learn_while_locked(&mut self) -> Result<(), CloseReason> {
        if !self.is_in_doubt_with_locks() {
            return Ok(());
        }
        if self.waits_for_warnings() {
            return Ok(());
        }
        if self.pooled().is_some_and(|pooled| pooled.warnings.may_be_taken(pooled.pins)) {
            self.keep_diagnostics().await?;
        }
        self.learn_reports().await?;
        let free = self.pooled().is_some_and(|pooled| pooled.pins.is_empty());
        if free && self.is_in_doubt_with_locks() { self.capture().await } else { Ok(()) }
    }

    /// Whether the session would lose its locks with its connection because a part of its state is not known, and the server
    /// can be asked for it now.
    fn is_in_doubt_with_locks(&self) -> bool {
        let Some(pooled) = self.pooled() else { return false };
        // If it is tied to the connection, it ends in any case, and a question might change what ties it.
        let tied = !pooled.pins.is_empty() && !pooled.warnings.may_be_taken(pooled.pins);
        let in_doubt = self.link.guard().is_armed() && !pooled.is_known() && !tied;
        // A question might use up what the next transaction is to be.
        let waits = pooled.state.characteristics.is_empty() || self.link.status().in_transaction();
        in_doubt
            && waits
            && self.link.server().is_there()
            && self.link.between_commands()
            && !self.link.client().has_ended()
    }

    /// Whether the client may yet ask for the warnings of its last statement, which a question would clear.
    fn waits_for_warnings(&mut self) -> bool {
        let Some(pooled) = self.pooled_mut() else { return false };
        pooled.warnings.put_off_question(pooled.pins)
    }

    /// Has the server tell what it reports late, and what a later question would change.
    async fn learn_reports(&mut self) -> Result<(), CloseReason> {
        // After an error nobody knows whether a transaction is open.
        if !self.link.status().is_known()
            || self.link.pooled().may_report_late(self.link.capabilities())
        {
            let flavour = self.pooled().map(|pooled| pooled.flavour);
            // MariaDB reports late with a statement only.
            let question = match flavour {
                Some(Flavour::MariaDb) => packet::query(b"DO 0", self.link.capabilities()),
                Some(Flavour::MySql) | None => packet::ping(),
            };
            Asker::of(self.link).exchange_all(&[question]).await?;
            // Warnings that the answer counts are those of the session's last statement, which it knows of.
            let mut reported = self.link.server_mut().take_reported();
            (reported.result, reported.warned) = (None, false);
            self.link.take_in_reported(&reported);
        }
        if self.pooled().is_some_and(|pooled| pooled.doubts.asks_for_found_rows()) {
            // Statements that the proxy has answered count, too.
            let texts: Vec<_> = self.link.owed_mut().skipped().take().collect();
            let packet = |text: &&str| packet::query(text.as_bytes(), self.link.capabilities());
            let packets: Vec<_> = texts.iter().map(packet).collect();
            Asker::of(self.link).exchange_all(&packets).await?;
            self.link.take_in_reports();
        }
        if let Some(pooled) = self.pooled_mut() {
            pooled.under_way.note_all_reported();
            // If it stays after all: its connection has heard questions that are not the session's.
            pooled.counts.note_move();
        }
        Ok(())
    }

    /// Asks for the state that is in doubt.
    pub(super) async fn capture(&mut self) -> Result<(), CloseReason> {
        let Some(pooled) = self.pooled() else { return Ok(()) };
        if pooled.doubts.is_empty() {
            return Ok(());
        }
        let doubts = pooled.doubts.clone();
        let questions = doubts.questions(self.link.capabilities(), pooled.flavour);
        let replies = Asker::of(self.link).exchange_cleanly(&questions).await?;
        // Of the proxy's own making.
        self.link.server_mut().take_reported();
        let Some(pooled) = self.pooled_mut() else { return Ok(()) };
        let values = replies.first().and_then(Reply::values);
        let definitions = replies.get(1).into_iter().flat_map(Reply::payloads);
        let kinds: Vec<LiteralKind> = definitions
            .filter(|payload| column::is_definition(payload))
            .filter_map(LiteralKind::of)
            .collect();
        let login = (pooled.flavour, pooled.account.collation());
        let captured =
            values.and_then(|values| doubts.answered(&values, &kinds, login, &mut pooled.state));
        let Some(captured) = captured else {
            // A value cannot be read: the session stays where it is.
            pooled.pins.add(Pin::LargeVariable);
            return Ok(());
        };
        pooled.end_doubts();
        if doubts.login && doubts.handshake {
            pooled.note_login_names();
        }
        if let Some(run) = captured.run {
            pooled.place.current().note_run(run);
        }
        if let Some(rows) = captured.found_rows {
            pooled.counts.note_found(rows);
        }
        pooled.note_captured();
        if captured.large {
            pooled.pins.add(Pin::LargeVariable);
        }
        if captured.init_connect {
            pooled.pins.add(Pin::InitConnect);
        }
        if let Some(run) = captured.run {
            self.link.server_mut().note_run(run);
        }
        self.check_role().await
    }

    /// Has the server say whether the account may set the role that is active.
    async fn check_role(&mut self) -> Result<(), CloseReason> {
        let role = self.pooled().and_then(|pooled| {
            Some(activating_role(&pooled.state, pooled.doubtful_role()?, self.link.capabilities()))
        });
        let Some((packets, nth)) = role else { return Ok(()) };
        let replies = Asker::of(self.link).exchange_cleanly(&packets).await?;
        self.link.server_mut().take_reported();
        let mut refused = replies.iter().enumerate().filter(|(_, reply)| reply.is_error());
        match (refused.next(), self.pooled_mut()) {
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

    /// Has the server say whether a transaction is open, if that is not known after an error. Nothing may be owed. A
    /// session with a connection of its own is not asked: that would change its ROW_COUNT().
    pub(super) async fn learn_whether_inside(&mut self) -> Result<(), CloseReason> {
        if self.link.status().is_known()
            || !self.link.pooled().is_shared()
            || !self.link.server().is_there()
        {
            return Ok(());
        }
        self.learn().await
    }
}
