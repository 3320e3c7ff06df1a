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
    /// The session has run or prepared a statement that changes accounts, or perhaps.
    ever_accounts: bool,
}

impl Changes {
    /// A statement is about to run, or to be prepared. A login that is judged meanwhile may be judged by the old account.
    pub(super) fn note(
        &mut self,
        effects: &SessionEffects,
        text: &[u8],
        programs: &KnownPrograms,
        secrets: &LearnedSecrets,
    ) {
        self.programs |= effects.has(Mark::ChangesRoutines);
        // A text that EXECUTE runs was looked at in place of it, where it is known.
        let changes = [Mark::Accounts, Mark::Execute].iter().any(|mark| effects.has(*mark));
        let calls = || {
            let names = programs.current_names();
            names.is_none_or(|names| names.change_accounts(text))
        };
        if changes || effects.has(Mark::Call) && calls() {
            self.note_accounts(secrets);
        }
    }

    /// A statement is about to run whose text was looked at when it was prepared, and is not kept.
    pub(super) fn note_forgotten(&mut self, secrets: &LearnedSecrets) {
        if self.ever_accounts {
            self.note_accounts(secrets);
        }
    }

    /// What is about to run may change accounts.
    pub(super) fn note_accounts(&mut self, secrets: &LearnedSecrets) {
        (self.accounts, self.ever_accounts) = (true, true);
        secrets.admissions().clear();
    }

    /// It has ended. Returns whether stored programs have changed.
    pub(super) fn end(&mut self, programs: &KnownPrograms, secrets: &LearnedSecrets) -> bool {
        let changed = std::mem::take(&mut self.programs);
        if std::mem::take(&mut self.accounts) {
            secrets.admissions().clear();
        }
        if changed {
            programs.are_stale();
        }
        changed
    }
}
