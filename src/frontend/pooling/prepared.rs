//! What a session's statements, and those that it has prepared, mean for its connection.

use std::sync::Arc;

use super::address::{Addressed, statement_of};
use super::lost::is_undone;
use super::pins::Pin;
use super::pooled_session::PooledSession;
use super::statement::Again;
use super::statements::{Awaited, Follows, Preparing, Whereabouts};
use crate::protocol::capabilities::Capabilities;
use crate::protocol::cut::{Preparation, PreparedStatement, Reported};
use crate::protocol::frame::{FrameHeader, HEADER};
use crate::protocol::response::Ending;
use crate::protocol::statement_ids::StatementNumbers;
use crate::sql::find::first_word::begins_with;
use crate::sql::find::release::ConnectionRelease;
use crate::sql::lexer::dialect::{Dialect, Multibyte};
use crate::sql::session::session_effects;

/// Bytes of a text that is kept.
const LONGEST: usize = 64 * 1024;

impl PooledSession {
    /// A statement is about to run, or to be prepared by a command. The text is judged before the results are.
    pub(crate) fn note_text(&mut self, text: &[u8], dialect: Dialect, runs: bool) {
        self.prepared.dialect = dialect;
        self.under_way.if_lost.undone = is_undone(text);
        self.under_way.if_lost.releases =
            if runs { ConnectionRelease::of(text, dialect) } else { ConnectionRelease::No };
        self.audit.note_programs(text, &mut self.pins);
        let effects = session_effects(text, dialect);
        let executed =
            if runs { self.prepared.named.note_statement(text, dialect, &effects) } else { None };
        match executed {
            Some((text, dialect)) => {
                self.under_way.if_lost.undone = false;
                self.under_way.if_lost.releases = ConnectionRelease::of(&text, dialect);
                self.note_variables(&effects);
                self.doubts.insert_id = true;
                self.audit.note_programs(&text, &mut self.pins);
                self.note_effects(&session_effects(&text, dialect), &text);
            }
            None => self.note_effects(&effects, text),
        }
        if runs {
            let alone = self.under_way.if_lost.before.is_some() && effects.variables.is_empty();
            self.audit.note_creation(text, self.state.schema.as_deref(), alone);
            self.pins.set(Pin::SqlPrepare, !self.prepared.named.is_empty());
        }
    }

    /// A statement is too long to be judged as a whole; this is its beginning.
    pub(crate) fn note_long(&mut self, head: &[u8], dialect: Dialect) {
        self.note_text(head, dialect, true);
        self.under_way.rows_may_hide = true;
        if self.state.several || !begins_with(head, &[b"insert", b"replace"]) {
            self.pins.add(Pin::LongStatement);
            self.under_way.changes.note_accounts(self.account.secrets());
        }
    }

    /// The client's COM_STMT_PREPARE is sent, of which this is the beginning.
    pub(crate) fn note_preparing(&mut self, packet: &[u8], capabilities: Capabilities) {
        let whole = FrameHeader::peek(packet)
            .filter(|frame| frame.len <= LONGEST)
            .and_then(|frame| packet.get(HEADER + 1..HEADER + frame.len));
        // A statement is prepared again in another character set (`BoundState::telling_definitions`).
        let caches = capabilities.has(Capabilities::MARIADB_CACHE_METADATA);
        let doubtful = self.doubts.of_bound().charsets;
        let swe7 = doubtful || self.state.variable(b"character_set_client") == Some(b"swe7");
        let set = if swe7 { Multibyte::Swe7 } else { Multibyte::Single };
        let movable = |text: &&[u8]| !self.prepared.stays && (!caches || set.reads_as_ascii(text));
        let text = whole.filter(movable).map(Arc::from);
        self.prepared.statements.prepares(Preparing { text, dialect: self.prepared.dialect });
    }

    /// A statement is about to be executed: its text is judged as that of any other.
    pub(crate) fn note_execution(&mut self, id: u32) {
        // Of a text that is not kept, nothing is known.
        self.under_way.if_lost.undone = false;
        self.under_way.if_lost.releases = ConnectionRelease::No;
        let again = self.prepared.statements.again(self.prepared.statements.meant(id));
        if let Some(Again { text, dialect, .. }) = again.cloned() {
            self.note_text(&text, dialect, false);
            self.under_way.if_lost.releases = ConnectionRelease::of(&text, dialect);
        } else {
            self.under_way.rows_may_hide = true;
            self.counts.note_unknown();
            self.under_way.changes.note_forgotten(self.account.secrets());
        }
    }

    /// Statements that were prepared after so many of the reported changes, and before the next.
    pub(super) fn take_in_prepared(&mut self, reported: &Reported, changes: usize) {
        for preparation in reported.prepared.iter().filter(|p| p.changes == changes) {
            let Preparation { statement, hidden, .. } = *preparation;
            if hidden {
                if let Some(statement) = &statement {
                    self.prepared.statements.hid(statement);
                }
                continue;
            }
            let doubt = self.doubts.of_bound();
            let follows = self.prepared.statements.answered(statement, &self.state, doubt);
            self.note_tied(follows);
            if statement.is_some_and(|statement| statement.warns) {
                self.warnings.note(&mut self.pins);
            }
        }
        self.pin_statements();
    }

    fn note_tied(&mut self, follows: Follows) {
        if follows == Follows::Yes {
            return;
        }
        self.shown.metrics().pool_statements_tied.inc();
        if follows == Follows::TooMany && self.prepared.is_first_of_many() {
            tracing::warn!(
                user = %String::from_utf8_lossy(self.account.key().user.bytes()),
                "a session keeps its connection: it has more prepared statements than can follow it; its client \
                 should close them"
            );
        }
    }

    /// What was captured tells the character sets, or it could not be captured.
    pub(crate) fn note_captured(&mut self) {
        if self.doubts.is_empty() {
            self.prepared.statements.doubt_ends(&self.state);
            self.pin_statements();
        }
    }

    /// Where a statement is.
    pub(crate) fn whereabouts(&self, id: u32) -> Whereabouts {
        self.prepared.statements.whereabouts(id)
    }

    /// Whether the server has not yet answered a PREPARE of the client's.
    pub(crate) fn is_preparing(&self) -> bool {
        self.prepared.statements.is_preparing()
    }

    /// Changes a command for a prepared statement, at `at` in `bytes`, into one for the session's connection. `None`: it
    /// is another command.
    pub(crate) fn address(
        &mut self,
        bytes: &mut Vec<u8>,
        at: usize,
        capabilities: Capabilities,
    ) -> Option<Addressed> {
        statement_of(&bytes[at..])?;
        let attributes = capabilities.has(Capabilities::QUERY_ATTRIBUTES);
        let about = self.prepared.statements.address(bytes, at, attributes);
        self.pin_statements();
        about
    }

    /// Whether an execution cannot be made one for the session's connection.
    pub(crate) fn lacks_room(&self, packet: &[u8], capabilities: Capabilities) -> bool {
        let attributes = capabilities.has(Capabilities::QUERY_ATTRIBUTES);
        self.prepared.statements.lacks_room_for_types(packet, attributes)
    }

    /// A statement is closed while the session has no connection.
    pub(crate) fn note_closed(&mut self, id: u32) {
        self.prepared.statements.remove(self.prepared.statements.meant(id));
        self.pin_statements();
    }

    /// The response to a command for a statement has ended.
    pub(crate) fn note_asked(&mut self, (id, asked): (u32, Awaited), ending: Ending) {
        self.prepared.statements.ended(id, asked, ending);
        self.pin_statements();
    }

    /// What it takes to prepare a statement again, if it must be.
    pub(crate) fn away(&self, id: u32) -> Option<(u32, Again)> {
        let id = self.prepared.statements.meant(id);
        let away = self.prepared.statements.whereabouts(id) == Whereabouts::Away;
        self.prepared.statements.again(id).filter(|_| away).map(|again| (id, again.clone()))
    }

    /// A statement was prepared again, or refused by an error packet with this payload.
    pub(crate) fn note_brought(&mut self, id: u32, outcome: Result<PreparedStatement, Box<[u8]>>) {
        let counter = match outcome {
            Ok(_) => &self.shown.metrics().pool_statements_again,
            Err(_) => &self.shown.metrics().pool_statements_refused,
        };
        counter.inc();
        if outcome.is_err() {
            self.counts.note_failed();
            self.warnings.note(&mut self.pins);
        }
        self.prepared.statements.brought(id, outcome);
        self.pin_statements();
    }

    /// The session has no connection any more, on which statements were numbered like this.
    pub(crate) fn note_left(&mut self, numbers: Option<StatementNumbers>) {
        self.prepared.statements.leave(numbers);
        self.pin_statements();
    }

    /// How statements are numbered on the next connection.
    pub(crate) fn statement_numbers(&self) -> StatementNumbers {
        self.prepared.statements.numbers()
    }

    /// What a command for a statement is answered with that could not be prepared again. `keeps`: so is the next.
    pub(crate) fn take_refusal(&mut self, id: u32, keeps: bool) -> Option<Box<[u8]>> {
        self.prepared.statements.take_refusal(id, keeps)
    }

    pub(super) fn pin_statements(&mut self) {
        self.pins.set(Pin::Prepared, self.prepared.statements.is_tied());
        self.pins.set(Pin::LongData, self.prepared.statements.has_long_data());
        self.pins.set(Pin::Cursor, self.prepared.statements.has_cursor());
        self.show_statements();
    }

    /// Shows in the metrics how many statements it keeps.
    pub(super) fn show_statements(&mut self) {
        self.shown.show_statements(self.prepared.statements.kept());
    }
}
