//! A pooled session: what it takes along, what ties it to its connection, and which
//! connections it may have.

use std::sync::Arc;

use super::audit::AuditNotes;
use super::capture::Doubts;
use super::diagnostics::Diagnostics;
use super::found_rows::ResultCounts;
use super::own_statements::OwnStatements;
use super::pins::{Pin, Pins};
use super::place::{Nudge, PoolPlace};
use super::pooled_account::PooledAccount;
use super::shown::Shown;
use super::under_way::UnderWay;
use super::warnings::{KeptWarnings, are_few};
use crate::backend::learned::LearnedSecrets;
use crate::backend::pool::{Pool, PoolKey};
use crate::backend::session_state::SessionState;
use crate::engine::shared::current_backend::CurrentBackend;
use crate::frontend::shared::audits::Audits;
use crate::frontend::shared::programs::KnownPrograms;
use crate::metrics::Metrics;
use crate::sql::lexer::dialect::Dialect;
use crate::types::Flavour;

/// A session that shares its connections.
pub(crate) struct PooledSession {
    pub(crate) place: PoolPlace,
    pub(crate) account: PooledAccount,
    pub(crate) flavour: Flavour,
    /// The state, as far as it is known.
    pub(crate) state: SessionState,
    /// What is not known of it.
    pub(crate) doubts: Doubts,
    /// What ties the session to its connection.
    pub(crate) pins: Pins,
    pub(crate) under_way: UnderWay,
    pub(crate) warnings: KeptWarnings,
    pub(crate) counts: ResultCounts,
    pub(super) prepared: OwnStatements,
    pub(crate) audit: AuditNotes,
    pub(super) shown: Shown,
}

/// What a session has to share its connections with.
pub(crate) struct PooledSessionOf {
    pub pool: Pool,
    pub key: Arc<PoolKey>,
    pub flavour: Flavour,
    /// How its texts are read at first.
    pub dialect: Dialect,
    /// The first collation of its login.
    pub collation: u8,
    /// The client hears what the server reports.
    pub tracks: bool,
    pub secrets: Arc<LearnedSecrets>,
    pub programs: KnownPrograms,
    pub audits: Audits,
    pub state: SessionState,
    pub current: CurrentBackend,
    /// Asks the session for its connection.
    pub nudge: Nudge,
    pub metrics: Arc<Metrics>,
}

impl PooledSession {
    /// Of a session right after its login.
    pub(crate) fn new(of: PooledSessionOf) -> Self {
        let PooledSessionOf { pool, key, flavour, dialect, collation, tracks, .. } = of;
        let PooledSessionOf { secrets, programs, audits, state, current, nudge, metrics, .. } = of;
        let account = PooledAccount::new(key, secrets, collation);
        let mut pins = Pins::default();
        if !account.opens() {
            pins.add(Pin::Auth);
        }
        let doubts = Doubts::at_login(flavour).of_client(account.key().capabilities);
        let doubts = doubts.in_schema(state.schema.as_deref());
        let prepared = OwnStatements::new(flavour, dialect, state.schema.is_some());
        Self {
            place: PoolPlace::new(pool, current, nudge),
            account,
            flavour,
            state,
            doubts,
            pins,
            under_way: UnderWay::new(tracks),
            warnings: KeptWarnings::default(),
            counts: ResultCounts::default(),
            prepared,
            audit: AuditNotes::new(audits, programs),
            shown: Shown::new(metrics),
        }
    }
}

/// For the session's moves.
impl PooledSession {
    /// Shows what ties the session to its connection.
    pub(crate) fn show_pins(&mut self) {
        if self.shown.show_pins(self.pins) {
            self.place.note_reasons(self.pins);
        }
    }

    /// Whether so many warnings and errors can be taken along. If not, the session stays.
    pub(crate) fn note_numbers(&mut self, numbers: &[i64]) -> bool {
        let few = are_few(numbers);
        if !few {
            self.take_diagnostics(None);
        }
        few
    }

    /// The session takes warnings and errors along; `None`: they are too large.
    pub(crate) fn take_diagnostics(&mut self, diagnostics: Option<Diagnostics>) {
        // The connection has them still: only a reset makes it forget them.
        self.audit.note_clear();
        self.warnings.take(diagnostics, &mut self.pins);
    }

    /// Others wait: results that the client might ask for tie the session to its connection for a short time only.
    pub(crate) fn loosen(&mut self, soon: bool) {
        self.warnings.loosen(soon, &mut self.pins);
    }

    /// The connection has heard something that is not the session's. A question `ahead` of a COMMIT leaves FOUND_ROWS() as
    /// it was on MySQL, and the COMMIT sets ROW_COUNT(). Where the client hears all reports, nothing was remembered.
    pub(crate) fn note_unseen(&mut self, ahead: bool) {
        let leaves = ahead && self.flavour == Flavour::MySql;
        if !(leaves || self.under_way.tracks() && self.pins.has(Pin::Tracking)) {
            self.counts.note_move();
        }
    }

    /// Whether the state that was asked for is known: it is these doubts' no more.
    pub(crate) fn end_doubts(&mut self) -> Doubts {
        self.warnings.end_putting_off();
        std::mem::take(&mut self.doubts)
    }
}
