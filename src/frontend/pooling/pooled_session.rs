//! A pooled session: what it takes along, what ties it to its connection, and which
//! connections it may have.

use std::sync::Arc;

use super::audit_notes::AuditNotes;
use super::bound::reads_variables;
use super::capture::Doubts;
use super::changes::Changes;
use super::diagnostics::Diagnostics;
use super::finding::RowsFound;
use super::lost::{IfLost, is_single, only_reads_variables};
use super::named::NamedTexts;
use super::pins::{Pin, Pins};
use super::results::LastResults;
use super::statements::CarriedStatements;
use crate::backend::learned::LearnedSecrets;
use crate::backend::pool::{Hold, Pool, PoolKey};
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

/// Ends a session that is idle for too long.
pub(crate) type IdleEnd = std::pin::Pin<Box<tokio::time::Sleep>>;

/// Names of user variables that are asked for at once.
pub(super) const MOST_NAMES: usize = 50;

/// What uses no table on MariaDB, though its text has such words.
const KEEPS_WARNINGS: [Mark; 4] =
    [Mark::PreparesLiteral, Mark::PreparesComputed, Mark::Deallocates, Mark::UnlocksTables];

/// A transaction that begins unlocks tables.
const UNLOCKING: [&[u8]; 2] = [b"begin", b"start"];

/// A session that shares its connections.
pub(crate) struct PooledSession {
    pub pool: Pool,
    pub key: Arc<PoolKey>,
    pub flavour: Flavour,
    /// How another connection gets the state.
    pub handover: Handover,
    /// The state, as far as it is known.
    pub state: SessionState,
    /// What is not known of it.
    pub doubts: Doubts,
    pub pins: Pins,
    /// The first collation of its login.
    pub collation: u8,
    /// What is known of its account.
    pub secrets: Arc<LearnedSecrets>,
    pub(super) programs: KnownPrograms,
    pub(super) audits: Audits,
    /// What is known of the connection, for an audit.
    pub(super) audit: AuditNotes,
    /// While it has a connection.
    pub hold: Option<Hold>,
    /// The same, as everyone knows it who may have to end it.
    pub current: CurrentBackend,
    /// Asks the session for its connection.
    pub nudge: Arc<dyn Fn() + Send + Sync>,
    /// While it has none: ends the session if its client says nothing.
    pub idle_end: Option<IdleEnd>,
    /// KILL or a RELEASE has ended the session, and the server is about to end its connection.
    pub killed: bool,
    /// Somebody wants the connection.
    pub asked: bool,
    /// A statement's text tells why the server reports that something has changed.
    explained: bool,
    /// The client hears what the server reports.
    pub tracks: bool,
    /// The statement may be a SET NAMES with a collation.
    collates: bool,
    /// The character sets and the collation of its login, as SET NAMES takes them, once they are known.
    pub(super) login_names: Option<Box<[u8]>>,
    /// The last statement may have unlocked tables.
    unlocks: bool,
    /// What the statement under way does to FOUND_ROWS().
    pub(super) finding: RowsFound,
    /// What the statement under way changes beside the session.
    pub(super) changes: Changes,
    /// The client is about to change what the server reports.
    pub leaves_reports: bool,
    /// The server may report what the last statement changed with a later reply only.
    pub reports_late: bool,
    /// A client that hears EOF packets has had rows since the server was last asked, and they may come from what has
    /// changed the session: only the next OK tells.
    pub rows_may_hide: bool,
    /// Warnings and errors of its last statement, if it took them along.
    pub(super) diagnostics: Option<Box<Diagnostics>>,
    /// The next statement finds none of them.
    pub(super) diagnostics_spent: bool,
    /// They cannot be taken along.
    pub(super) diagnostics_stay: bool,
    /// A question was put off, since the client might ask for its warnings first.
    pub waits_for_warnings: bool,
    /// A command has run since the session rested last.
    pub ran: bool,
    /// The client's next commands wait until nothing is owed: others wait for a connection.
    pub makes_way: bool,
    /// Commands that have left something to ask for, one after the other, while others waited.
    pub(super) renewals: u8,
    /// Its last results.
    pub(super) results: LastResults,
    /// Its connection was another account's before: it may have kept something of that one, and goes to nobody.
    pub(super) foreign: bool,
    /// The server has denied a change of user on its connection: MariaDB denies all after three, so it goes to nobody.
    pub denied: bool,
    /// It has a role of that account, which no other connection could be given.
    pub(super) borrows_role: bool,
    /// What is known for the case that its connection ends.
    pub loss_tracking: IfLost,
    /// Those that were prepared by a command.
    pub(super) statements: CarriedStatements,
    /// The log has told that it has too many of these.
    pub(super) told_of_many: bool,
    /// Those that were prepared in SQL.
    pub(super) named: NamedTexts,
    /// How the last text was read.
    pub(super) dialect: Dialect,
    /// Prepared again, it would not be the same: it asks for something of the statement before it, or the types of
    /// variables that it reads are bound to it.
    pub(super) stays: bool,
    /// Shown in the metric of pinned sessions.
    pub(super) shown: Pins,
    /// Shown in the metric of statements.
    pub(super) shown_statements: i64,
    pub(super) metrics: Arc<Metrics>,
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
    pub nudge: Arc<dyn Fn() + Send + Sync>,
    pub handover: Handover,
    pub metrics: Arc<Metrics>,
}

impl PooledSession {
    /// Of a session right after its login.
    pub(crate) fn new(of: PooledSessionOf) -> Self {
        let PooledSessionOf { pool, key, flavour, dialect, collation, tracks, .. } = of;
        let PooledSessionOf { secrets, programs, audits, state, current, nudge, .. } = of;
        let PooledSessionOf { handover, metrics, .. } = of;
        let mut pins = Pins::default();
        if !secrets.opens_for(&key.user) {
            pins.add(Pin::Auth);
        }
        let doubts = Doubts::at_login(flavour).of_client(key.capabilities);
        let doubts = doubts.in_schema(state.schema.as_deref());
        let statements = CarriedStatements::new(flavour, state.schema.is_some());
        Self {
            pool,
            key,
            flavour,
            handover,
            collation,
            secrets,
            programs,
            audits,
            audit: AuditNotes::new(),
            state,
            doubts,
            pins,
            hold: None,
            current,
            nudge,
            idle_end: None,
            killed: false,
            asked: false,
            explained: false,
            tracks,
            collates: false,
            login_names: None,
            unlocks: false,
            finding: RowsFound::default(),
            changes: Changes::default(),
            leaves_reports: false,
            reports_late: false,
            rows_may_hide: true,
            diagnostics: None,
            diagnostics_spent: false,
            diagnostics_stay: false,
            waits_for_warnings: false,
            ran: false,
            renewals: 0,
            makes_way: false,
            results: LastResults::default(),
            loss_tracking: IfLost::default(),
            foreign: false,
            denied: false,
            borrows_role: false,
            statements,
            told_of_many: false,
            named: NamedTexts::default(),
            dialect,
            stays: false,
            shown: Pins::default(),
            shown_statements: 0,
            metrics,
        }
    }

    pub(super) fn note_effects(&mut self, effects: &SessionEffects, text: &[u8]) {
        let has = |mark| effects.has(mark);
        // A one-shot setting may be used up. A text that calls nothing changes nothing unseen.
        self.rows_may_hide |=
            !effects.is_empty() || text.contains(&b'(') || !self.state.characteristics.is_empty();
        self.stays =
            looks_back(effects) || self.flavour == Flavour::MySql && reads_variables(text, effects);
        self.note_asking(text, effects);
        // It may set system variables, of which some servers report no name.
        let sets = begins_with(text, &[b"set"]);
        self.explained = !effects.is_empty() || sets;
        self.collates = sets && names_collation(text);
        self.unlocks =
            is_single(text) && (has(Mark::UnlocksTables) || begins_with(text, &UNLOCKING));
        self.note_finding(text, effects);
        self.note_use(text);
        if effects.is_empty() {
            return;
        }
        self.leaves_reports |= has(Mark::TrackSetting) && !self.pins.has(Pin::Tracking);
        self.pins.take_marks(effects.marks);
        // From here on it may be another account's.
        self.foreign |= has(Mark::SessionUser);
        self.borrows_role |= has(Mark::SessionUser);
        self.note_for_audit(text, effects);
        self.changes.note(effects, text, &self.programs, &self.secrets);
        self.doubts.role |= has(Mark::Role);
        self.doubts.login &= !has(Mark::Role);
        let told =
            [Mark::LastInsertId, Mark::Call, Mark::Execute, Mark::Block].map(has).contains(&true);
        self.doubts.insert_id |= mutants::or(Mutant::InsertIdByReplies, told, false);
        self.reports_late |= has(Mark::SetStatement);
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
            self.note_diagnostics();
        }
        self.take_in_result(reported.result);
        let named = |change: &SessionChange| {
            matches!(change, SessionChange::Variable { .. } | SessionChange::Schema(_))
        };
        let explained = self.explained || reported.changes.iter().any(named);
        for (nth, change) in reported.changes.iter().enumerate() {
            self.take_in_prepared(reported, nth);
            self.state.take_in(change);
            match change {
                SessionChange::Variable { name, .. } => {
                    self.note_variable(name);
                    if self.reports_late && VariableKind::of(name) == VariableKind::Carried {
                        self.doubts.variables.insert(name.clone());
                    }
                }
                SessionChange::Something if !explained => self.pins.add(Pin::Routine),
                SessionChange::Transaction(state) if state[7] == b'L' => {
                    self.pins.add(Pin::TableLocks);
                }
                // After ALTER TABLE MySQL reports none, though the table is still locked.
                SessionChange::Transaction(_) if self.unlocks => self.pins.remove(Pin::TableLocks),
                SessionChange::Schema(_) => {
                    if std::mem::take(&mut self.doubts.schema) {
                        self.statements.doubt_stays();
                    }
                    self.statements.note_schema(self.state.schema.is_some());
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
        if name == b"character_set_results" && self.diagnostics.is_some() {
            self.forget_diagnostics();
        }
        match VariableKind::of(name) {
            VariableKind::Carried => {
                let coupled = COUPLED.iter().find(|(first, _)| *first == name);
                self.doubts.variables.extend(coupled.map(|(_, second)| Box::from(*second)));
                if is_of_names(name) || name == b"collation_connection" {
                    self.statements.doubt_stays();
                    self.doubts.charsets = true;
                    self.doubts.login = false;
                    self.doubts.handshake = self.collates;
                    self.doubts.collated = self.collates;
                }
            }
            VariableKind::Nothing | VariableKind::Tracking => {}
            VariableKind::OneShot => self.note_one_shot(name),
            VariableKind::Replication => self.pins.add(Pin::ReplicationVar),
            VariableKind::Profiling => self.pins.add(Pin::Profiling),
        }
    }

    /// A response to the client has ended.
    pub(crate) fn note_ending(&mut self, ending: Ending) {
        let well = !ending.is_error();
        if self.changes.end(well, &self.programs, (&self.secrets, &self.pool)) {
            self.note_programs_changed();
        }
        self.note_created(well);
        match ending {
            Ending::Ok { warnings: 1.., .. } | Ending::Err { .. } => {
                self.note_diagnostics();
            }
            Ending::Ok { .. } | Ending::Plain => {}
        }
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
