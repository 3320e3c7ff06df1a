//! System variables that a statement sets, and of which the server will report nothing.

use super::capture::MOST_NAMES;
use super::pins::Pin;
use super::pooled_session::PooledSession;
use crate::backend::session_state::{VariableKind, is_of_names};
use crate::sql::session::effects::SessionEffects;

impl PooledSession {
    /// They are asked for before the session moves.
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
}
