//! Statements under way that change what the proxy knows of the server, not of the session.

use super::lost::is_single;
use crate::backend::learned::LearnedSecrets;
use crate::backend::pool::Pool;
use crate::frontend::shared::programs::KnownPrograms;
use crate::sql::session::effects::{Mark, SessionEffects};

/// What the statement under way changes, perhaps.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Stored programs.
    programs: bool,
    /// What logins get.
    accounts: bool,
    /// Accounts or their privileges, which connections keep from their login.
    privileges: bool,
    /// Nothing but one statement is under way: its error says that nothing has changed.
    single: bool,
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
        let names = if effects.has(Mark::Call) { programs.current_names() } else { None };
        let by_routine = names.as_ref().is_some_and(|names| names.name_account_changes(text));
        if effects.has(Mark::Privileges) || by_routine {
            // A routine may have changed them before its error.
            self.single = !self.privileges && !by_routine && is_single(text);
            self.privileges = true;
        }
        // A text that EXECUTE runs was looked at in place of it, where it is known.
        let calls =
            effects.has(Mark::Call) && names.is_none_or(|names| names.change_accounts(text));
        let changes = [Mark::Accounts, Mark::Execute].iter().any(|mark| effects.has(*mark));
        if self.privileges || changes || calls {
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

    /// The statement has ended, well or with an error. Returns whether stored programs have changed.
    pub(super) fn end(
        &mut self,
        well: bool,
        programs: &KnownPrograms,
        (secrets, pool): (&LearnedSecrets, &Pool),
    ) -> bool {
        let Self { programs: changed, accounts, privileges, single, .. } = *self;
        *self = Self { ever_accounts: self.ever_accounts, ..Self::default() };
        if accounts {
            secrets.admissions().clear();
        }
        if privileges && (well || !single) {
            // A client without any privilege can send several statements, of which one fails.
            pool.accounts_changed(well);
        }
        if changed {
            programs.are_stale();
        }
        changed
    }
}
