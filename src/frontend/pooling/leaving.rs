//! The state that a session leaves on its connection, and the one that a reset of it leaves to the session.

use super::capture::Doubts;
use super::pooled_session::PooledSession;
use crate::backend::left::{Left, LeftState};
use crate::clock;
use crate::protocol::capabilities::Capabilities;

impl PooledSession {
    /// What the session is about to leave on its connection.
    pub(crate) fn left(&self) -> Left {
        if !self.doubts.is_empty() {
            return Left::Unknown;
        }
        let mut state = self.state.clone();
        if std::mem::take(&mut state.schema_gone) {
            state.schema = None;
        }
        // Of effects that no server tells, a session knows only by what was read of stored programs.
        let told = self.audit.programs().are_read();
        // A reset adds to the mode what such a client has asked for, and SET takes it away.
        let adds = self.account.key().capabilities.has(Capabilities::IGNORE_SPACE);
        let alone = told
            && !adds
            && !self.audit.was_audited()
            && !self.under_way.setting_may_be_left
            && self.prepared.named.is_empty()
            && !self.prepared.statements.are_here();
        Left::Known(Box::new(LeftState { state, alone, since: clock::now() }))
    }

    /// The session has another connection.
    pub(crate) fn arrive(&mut self) {
        self.under_way.setting_may_be_left = false;
    }

    /// The session has reset its connection.
    pub(crate) fn reset(&mut self) {
        self.under_way.setting_may_be_left = false;
        self.state.reset();
        let Doubts { schema, found_rows, found_more, .. } = self.doubts;
        let doubts = Doubts::after_reset(self.flavour).of_client(self.account.key().capabilities);
        self.doubts = Doubts { schema, found_rows, found_more, ..doubts };
        self.pins.reset();
        self.warnings.forget(&mut self.pins);
        self.audit.forget();
        self.prepared.clear(self.state.schema.is_some());
        self.show_statements();
    }
}
