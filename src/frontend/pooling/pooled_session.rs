//! A pooled session: what it takes along, what ties it to its connection, and which
//! connections it may have.

use std::sync::Arc;

use super::audit::AuditNotes;
use super::bound::reads_variables;
use super::capture::{Doubts, MOST_NAMES};
use super::diagnostics::Diagnostics;
use super::found_rows::{ResultCounts, StatementPlace};
use super::lost::{IfLost, is_single, only_reads_variables};
use super::own_statements::OwnStatements;
use super::pins::{Pin, Pins};
use super::place::{Nudge, PoolPlace};
use super::pooled_account::PooledAccount;
use super::shown::Shown;
use super::under_way::UnderWay;
use super::warnings::{KeptWarnings, are_few};
use crate::backend::learned::LearnedSecrets;
use crate::backend::pool::{Pool, PoolKey};
use crate::backend::session_state::{COUPLED, SessionState, VariableKind, is_of_names};
use crate::config::Handover;
use crate::engine::shared::current_backend::CurrentBackend;
use crate::frontend::shared::audits::Audits;
use crate::frontend::shared::programs::KnownPrograms;
use crate::metrics::Metrics;
use crate::mutants::{self, Mutant};
use crate::protocol::cut::Reported;
use crate::protocol::response::Ending;
use crate::protocol::session_track::SessionChange;
use crate::sql::find::first_word::begins_with;
use crate::sql::lexer::dialect::Dialect;
use crate::sql::session::effects::{Mark, SessionEffects};
use crate::types::Flavour;

/// What uses no table on MariaDB, though its text has such words.
const KEEPS_WARNINGS: [Mark; 4] =
    [Mark::PreparesLiteral, Mark::PreparesComputed, Mark::Deallocates, Mark::UnlocksTables];

/// A transaction that begins unlocks tables.
const UNLOCKING: [&[u8]; 2] = [b"begin", b"start"];

/// A limit for queries that have none.
const SELECT_LIMIT: &[u8] = b"sql_select_limit";

/// A session that shares its connections.
pub(crate) struct PooledSession {
    pub(crate) place: PoolPlace,
    pub(crate) account: PooledAccount,
    pub(crate) flavour: Flavour,
    /// How another connection gets the state.
    pub(crate) handover: Handover,
    /// The state, as far as it is known.
    pub(crate) state: SessionState,
    /// What is not known of it.
    pub(crate) doubts: Doubts,
    /// What ties the session to its connection.
    pub(crate) pins: Pins,
    pub(crate) under_way: UnderWay,
    pub(crate) warnings: KeptWarnings,
    pub(crate) counts: ResultCounts,
    /// What is known for the case that the connection ends.
    pub(crate) loss_tracking: IfLost,
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
    pub handover: Handover,
    pub metrics: Arc<Metrics>,
}

impl PooledSession {
    /// Of a session right after its login.
    pub(crate) fn new(of: PooledSessionOf) -> Self {
        let PooledSessionOf { pool, key, flavour, dialect, collation, tracks, .. } = of;
        let PooledSessionOf { secrets, programs, audits, state, current, nudge, .. } = of;
        let PooledSessionOf { handover, metrics, .. } = of;
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
            handover,
            state,
            doubts,
            pins,
            under_way: UnderWay::new(tracks),
            warnings: KeptWarnings::default(),
            counts: ResultCounts::default(),
            loss_tracking: IfLost::default(),
            prepared,
            audit: AuditNotes::new(audits, programs),
            shown: Shown::new(metrics),
        }
    }

    pub(super) fn note_effects(&mut self, effects: &SessionEffects, text: &[u8]) {
        let has = |mark| effects.has(mark);
        // A one-shot setting may be used up. A text that calls nothing changes nothing unseen.
        self.under_way.rows_may_hide |=
            !effects.is_empty() || text.contains(&b'(') || !self.state.characteristics.is_empty();
        self.prepared.stays =
            looks_back(effects) || self.flavour == Flavour::MySql && reads_variables(text, effects);
        let clears = self.clears(text, effects);
        self.warnings.note_asking((text, effects), (clears, self.flavour), &mut self.pins);
        // It may set system variables, of which some servers report no name.
        let sets = begins_with(text, &[b"set"]);
        self.under_way.explained = !effects.is_empty() || sets;
        self.under_way.collates = sets && names_collation(text);
        self.under_way.unlocks =
            is_single(text) && (has(Mark::UnlocksTables) || begins_with(text, &UNLOCKING));
        self.note_finding(text, effects);
        self.audit.note_use(text, self.pins);
        if effects.is_empty() {
            return;
        }
        self.under_way.leaves_reports |= has(Mark::TrackSetting) && !self.pins.has(Pin::Tracking);
        self.pins.take_marks(effects.marks);
        // From here on it may be another account's.
        if has(Mark::SessionUser) {
            self.account.note_session_user();
        }
        self.audit.note_effects(text, effects, self.flavour);
        let Self { under_way, audit, account, .. } = self;
        under_way.changes.note(effects, text, audit.programs(), account.secrets());
        self.doubts.role |= has(Mark::Role);
        self.doubts.login &= !has(Mark::Role);
        let told =
            [Mark::LastInsertId, Mark::Call, Mark::Execute, Mark::Block].map(has).contains(&true);
        self.doubts.insert_id |= mutants::or(Mutant::InsertIdByReplies, told, false);
        self.under_way.reports_late |= has(Mark::SetStatement);
        if !only_reads_variables(text) {
            self.note_variables(effects);
        }
        self.note_settings(effects);
    }

    /// A statement may change the user variables that it names.
    pub(super) fn note_variables(&mut self, effects: &SessionEffects) {
        for name in &effects.variables {
            self.doubts.names.insert(name.clone());
        }
        if effects.more_variables || self.doubts.names.len() > MOST_NAMES {
            self.pins.add(Pin::LargeVariable);
        }
    }

    /// Whether a statement empties the list of warnings. MariaDB keeps it where no table is used.
    pub(super) fn clears(&self, text: &[u8], effects: &SessionEffects) -> bool {
        if self.flavour == Flavour::MySql {
            return true;
        }
        if KEEPS_WARNINGS.iter().any(|mark| effects.has(*mark)) {
            return false;
        }
        // INTO of a SELECT may be one into variables.
        let writes = begins_with(text, &[b"insert", b"replace", b"load"]);
        // Most procedures use a table; what this one uses is not known.
        let writes = writes || effects.has(Mark::Call);
        let text = text.to_ascii_lowercase();
        let has = |word: &&[u8]| memchr::memmem::find(&text, word).is_some();
        writes || [&b"from"[..], b"update", b"table"].iter().any(has)
    }

    /// Takes in what the server has reported.
    pub(crate) fn take_in(&mut self, reported: &Reported) {
        self.doubts.insert_id |= reported.insert_id;
        if reported.warned {
            self.warnings.note(&mut self.pins);
        }
        self.counts.take_in(reported.result, &mut self.doubts);
        let named = |change: &SessionChange| {
            matches!(change, SessionChange::Variable { .. } | SessionChange::Schema(_))
        };
        let explained = self.under_way.explained || reported.changes.iter().any(named);
        for (nth, change) in reported.changes.iter().enumerate() {
            self.take_in_prepared(reported, nth);
            self.state.take_in(change);
            match change {
                SessionChange::Variable { name, .. } => {
                    self.note_variable(name);
                    if self.under_way.reports_late
                        && VariableKind::of(name) == VariableKind::Carried
                    {
                        self.doubts.variables.insert(name.clone());
                    }
                }
                SessionChange::Something if !explained => self.pins.add(Pin::Routine),
                SessionChange::Transaction(state) if state[7] == b'L' => {
                    self.pins.add(Pin::TableLocks);
                }
                // After ALTER TABLE MySQL reports none, though the table is still locked.
                SessionChange::Transaction(_) if self.under_way.unlocks => {
                    self.pins.remove(Pin::TableLocks);
                }
                SessionChange::Schema(_) => {
                    if std::mem::take(&mut self.doubts.schema) {
                        self.prepared.statements.doubt_stays();
                    }
                    self.prepared.statements.note_schema(self.state.schema.is_some());
                }
                SessionChange::Something
                | SessionChange::Transaction(_)
                | SessionChange::Characteristics(_) => {}
            }
        }
        self.take_in_prepared(reported, reported.changes.len());
    }

    pub(super) fn note_variable(&mut self, name: &[u8]) {
        // They were told in another character set.
        if name == b"character_set_results" && self.warnings.are_taken() {
            self.warnings.forget(&mut self.pins);
        }
        match VariableKind::of(name) {
            VariableKind::Carried => {
                let coupled = COUPLED.iter().find(|(first, _)| *first == name);
                self.doubts.variables.extend(coupled.map(|(_, second)| Box::from(*second)));
                if is_of_names(name) || name == b"collation_connection" {
                    self.prepared.statements.doubt_stays();
                    self.doubts.charsets = true;
                    self.doubts.login = false;
                    self.doubts.handshake = self.under_way.collates;
                    self.doubts.collated = self.under_way.collates;
                }
            }
            VariableKind::Nothing | VariableKind::Tracking => {}
            VariableKind::OneShot => self.audit.note_one_shot(name, &mut self.pins),
            VariableKind::Replication => self.pins.add(Pin::ReplicationVar),
            VariableKind::Profiling => self.pins.add(Pin::Profiling),
        }
    }

    /// A statement is about to run. The one after SQL_CALC_FOUND_ROWS may ask for the number in a way in which the
    /// connection alone can answer; after that the session takes the number along.
    fn note_finding(&mut self, text: &[u8], effects: &SessionEffects) {
        self.pins.remove(Pin::FoundRows);
        let alone = self.loss_tracking.before.is_some();
        let limited = self.state.variable(SELECT_LIMIT).is_some();
        let place = StatementPlace { alone, limited, flavour: self.flavour };
        self.counts.note(text, effects, place);
    }

    /// A response to the client has ended.
    pub(crate) fn note_ending(&mut self, ending: Ending) {
        let well = !ending.is_error();
        let Self { under_way, audit, account, place, .. } = self;
        if under_way.changes.end(well, audit.programs(), (account.secrets(), place.pool())) {
            audit.note_programs_changed(&mut self.pins);
        }
        self.audit.note_created(well);
        match ending {
            Ending::Ok { warnings: 1.., .. } | Ending::Err { .. } => {
                self.warnings.note(&mut self.pins);
            }
            Ending::Ok { .. } | Ending::Plain => {}
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

/// Whether a SET NAMES may name a collation.
fn names_collation(text: &[u8]) -> bool {
    let text = text.to_ascii_lowercase();
    [&b"names"[..], b"collate"].iter().all(|word| memchr::memmem::find(&text, word).is_some())
}

/// Whether a statement asks about the one before it, of which nothing is left when it has been prepared again.
fn looks_back(effects: &SessionEffects) -> bool {
    [Mark::Diagnostics, Mark::RowCount, Mark::FoundRows].iter().any(|mark| effects.has(*mark))
}
