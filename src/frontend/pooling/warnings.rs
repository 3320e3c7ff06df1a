//! Warnings and errors of a session's last statement: whether they tie it to its connection.

use super::audit::AUDITED;
use super::diagnostics::{Diagnostics, is_count, question};
use super::pins::Pin;
use super::pooled_session::PooledSession;
use crate::protocol::status::Status;
use crate::sql::find::first_word::begins_with;
use crate::sql::find::words::Back;
use crate::sql::session::effects::{Mark, SessionEffects};
use crate::types::Flavour;

/// So many are taken along. More might be large.
const MOST: i64 = 64;
/// So many commands of a session may leave something to ask for, one after the other, and its client asks for nothing.
const MOST_RENEWALS: u8 = 2;

impl PooledSession {
    /// A statement has left some.
    pub(super) fn note_diagnostics(&mut self) {
        self.forget_diagnostics();
        self.pins.add(Pin::Diagnostics);
    }

    /// There are none any more.
    pub(crate) fn forget_diagnostics(&mut self) {
        (self.diagnostics, self.diagnostics_spent, self.diagnostics_stay) = (None, false, false);
        self.pins.remove(Pin::Diagnostics);
    }

    /// A statement is about to run, which may clear them.
    pub(super) fn note_asking(&mut self, text: &[u8], effects: &SessionEffects) {
        if self.diagnostics_spent {
            self.forget_diagnostics();
        }
        let asks = effects.has(Mark::Diagnostics);
        if !asks && self.clears(text, effects) {
            self.forget_diagnostics();
        }
        // On MySQL SELECT finds them once.
        let shows = begins_with(text, &[b"show", b"get"]);
        self.diagnostics_spent =
            self.diagnostics.is_some() && asks && !shows && self.flavour == Flavour::MySql;
    }

    /// Whether they tie the session to its connection, and can be taken along, as far as is known.
    pub(crate) fn may_take_diagnostics(&self) -> bool {
        let mut others = self.pins;
        others.remove(Pin::Diagnostics);
        for pin in AUDITED {
            others.remove(pin);
        }
        self.pins.has(Pin::Diagnostics) && others.is_empty() && !self.diagnostics_stay
    }

    /// Whether so many can be taken along. If not, the session stays.
    pub(crate) fn note_numbers(&mut self, numbers: &[i64]) -> bool {
        let few = numbers.len() == 2 && numbers.iter().all(|number| *number <= MOST);
        if !few {
            self.take_diagnostics(None);
        }
        few
    }

    /// The session takes them along; `None`: they are too large, and it stays, unless it goes on and on.
    pub(crate) fn take_diagnostics(&mut self, diagnostics: Option<Diagnostics>) {
        // The connection has them still: only a reset makes it forget them.
        self.note_clear();
        if diagnostics.is_none() && self.renewals > MOST_RENEWALS {
            self.forget_diagnostics();
            return;
        }
        self.diagnostics_stay = diagnostics.is_none();
        self.pins.set(Pin::Diagnostics, diagnostics.is_none());
        self.diagnostics = diagnostics.map(Box::new);
    }

    /// Others wait. Results that the client might ask for tie the session to its connection no more if it does not ask for
    /// them `soon`, or after some commands.
    pub(crate) fn loosen(&mut self, soon: bool) {
        let asks = self.pins.has(Pin::FoundRows) || self.pins.has(Pin::Diagnostics);
        if std::mem::take(&mut self.ran) {
            self.renewals = if asks { self.renewals.saturating_add(1) } else { 0 };
        }
        let ends = self.renewals > MOST_RENEWALS;
        if ends || !soon {
            // It is asked for before the session leaves.
            self.pins.remove(Pin::FoundRows);
        }
        if ends && self.diagnostics_stay {
            self.forget_diagnostics();
        }
    }

    /// Whether a text asks for what the session took along.
    pub(crate) fn asks_for_diagnostics(&self, text: &[u8]) -> bool {
        // MySQL prepares no statement that names these variables, so none could be rewritten.
        let variables = self.flavour == Flavour::MariaDb;
        let names = |back: &Back| variables && back.is_in(text);
        self.diagnostics.is_some()
            && (question(text).is_some() || [Back::Warnings, Back::Errors].iter().any(names))
    }

    /// The answer to a text that is one of the questions, from what the session took along. `status`: as it is now.
    pub(crate) fn tell_diagnostics(&mut self, text: &[u8], status: Status) -> Option<Vec<u8>> {
        let nth = question(text)?;
        let answer = self.diagnostics.as_ref()?.answer(nth, status)?;
        self.results.tell_rows(is_count(nth).then_some(1));
        Some(answer)
    }
}
