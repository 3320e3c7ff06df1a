//! Statements under way that change what the proxy knows of the server, not of the session.

use crate::backend::learned::LearnedSecrets;
use crate::frontend::shared::programs::KnownPrograms;
use crate::sql::session::effects::{Mark, SessionEffects};

/// What the statement under way changes, perhaps.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Stored programs.
    programs: bool,
    /// Accounts, their passwords or rights.
    accounts: bool,
}

impl Changes {
    /// A statement is about to run, or to be prepared. A login that is judged meanwhile may be judged by the old account.
    pub(super) fn note(&mut self, effects: &SessionEffects, secrets: &LearnedSecrets) {
        self.programs |= effects.has(Mark::ChangesRoutines);
        if effects.has(Mark::Accounts) {
            self.accounts = true;
            secrets.admissions().clear();
        }
    }

    /// It has ended. Returns whether stored programs have changed.
    pub(super) fn end(&mut self, programs: &KnownPrograms, secrets: &LearnedSecrets) -> bool {
        let Self { programs: changed, accounts } = std::mem::take(self);
        if accounts {
            secrets.admissions().clear();
        }
        if changed {
            programs.are_stale();
        }
        changed
    }
}
