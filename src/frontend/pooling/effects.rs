//! What a statement about to run does to its session, as its text tells.

use super::bound::reads_variables;
use super::capture::MOST_NAMES;

use super::lost::{is_single, only_reads_variables};
use super::pins::Pin;
use super::pooled_session::PooledSession;
use super::warnings::uses_table;
use crate::backend::session_state::{COUPLED, VariableKind, is_of_names};
use crate::mutants::{self, Mutant};
use crate::sql::find::first_word::begins_with;
use crate::sql::session::effects::{Mark, SessionEffects};
use crate::types::Flavour;

/// A limit for queries that have none.
const SELECT_LIMIT: &[u8] = b"sql_select_limit";

/// A transaction that begins unlocks tables.
const UNLOCKING: [&[u8]; 2] = [b"begin", b"start"];

impl PooledSession {
    pub(super) fn note_effects(&mut self, effects: &SessionEffects, text: &[u8]) {
        let has = |mark| effects.has(mark);
        // A one-shot setting may be used up. A text that calls nothing changes nothing unseen.
        self.under_way.rows_may_hide |=
            !effects.is_empty() || text.contains(&b'(') || !self.state.characteristics.is_empty();
        self.prepared.stays =
            looks_back(effects) || self.flavour == Flavour::MySql && reads_variables(text, effects);
        self.under_way.uses_up_setting = self.flavour == Flavour::MariaDb
            && self.state.has_characteristics()
            && is_single(text)
            && uses_table(text, effects)
            // These use no table of an engine with transactions.
            && !begins_with(text, &[b"show", b"desc", b"describe"]);
        self.warnings.note_asking((text, effects), self.flavour, &mut self.pins);
        // A SET may set system variables, of which some servers report no name.
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

    pub(super) fn note_variable(&mut self, name: &[u8]) {
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

    /// Notes the system variables that a text sets; they are asked for before the session moves.
    pub(super) fn note_settings(&mut self, effects: &SessionEffects) {
        for name in &effects.settings {
            self.note_variable(name);
            let of_names = is_of_names(name) || **name == *b"collation_connection";
            if VariableKind::of(name) == VariableKind::Carried && !of_names {
                self.doubts.variables.insert(name.clone());
            }
            self.doubts.login = false;
        }
        if self.doubts.variables.len() > MOST_NAMES {
            self.pins.add(Pin::LargeVariable);
        }
    }

    /// A statement is about to run. The one after SQL_CALC_FOUND_ROWS may ask for the number in a way in which the
    /// connection alone can answer; after that the session takes the number along.
    fn note_finding(&mut self, text: &[u8], effects: &SessionEffects) {
        self.pins.remove(Pin::FoundRows);
        let alone = self.under_way.if_lost.before.is_some();
        let limited = self.state.variable(SELECT_LIMIT).is_some();
        self.counts.note(text, effects, (alone, limited), self.flavour);
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
