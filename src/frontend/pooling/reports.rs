//! What the server reports of a session, and how its responses end.

use super::pins::Pin;
use super::pooled_session::PooledSession;
use crate::backend::session_state::VariableKind;
use crate::protocol::cut::Reported;
use crate::protocol::response::Ending;
use crate::protocol::session_track::SessionChange;

impl PooledSession {
    /// Takes in what the server has reported.
    pub(crate) fn note_reports(&mut self, reported: &Reported) {
        self.doubts.insert_id |= reported.insert_id;
        if reported.warned {
            self.warnings.note(&mut self.pins);
        }
        self.counts.note_result(reported.result, &mut self.doubts);
        let named = |change: &SessionChange| {
            matches!(change, SessionChange::Variable { .. } | SessionChange::Schema(_))
        };
        let explained = self.under_way.explained || reported.changes.iter().any(named);
        for (nth, change) in reported.changes.iter().enumerate() {
            self.take_in_prepared(reported, nth);
            self.state.apply(change);
            match change {
                SessionChange::Variable { name, value } => {
                    if **name == *b"character_set_results" {
                        self.warnings.note_charset(value, &mut self.pins);
                    }
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

    /// A response to the client has ended.
    pub(crate) fn note_ending(&mut self, ending: Ending) {
        let well = !ending.is_error();
        let Self { under_way, audit, account, place, .. } = self;
        if under_way.changes.end(well, audit.programs(), (account.secrets(), place.pool())) {
            audit.note_programs_changed(&mut self.pins);
        }
        self.audit.note_created(well);
        if std::mem::take(&mut self.under_way.uses_up_setting) && well {
            self.state.characteristics = Box::default();
            self.under_way.setting_may_be_left = true;
        }
        match ending {
            Ending::Ok { warnings: 1.., .. } | Ending::Err { .. } => {
                self.warnings.note(&mut self.pins);
            }
            Ending::Ok { .. } | Ending::Plain => {}
        }
    }
}
