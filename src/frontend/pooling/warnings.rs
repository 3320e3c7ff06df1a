//! Warnings and errors of a session's last statement: whether they tie it to its connection.

use super::audit::AUDITED;
use super::diagnostics::{Diagnostics, is_count, question};
use super::pins::{Pin, Pins};
use crate::protocol::status::Status;
use crate::sql::find::first_word::begins_with;
use crate::sql::find::words::Back;
use crate::sql::session::effects::{Mark, SessionEffects};
use crate::types::Flavour;

/// So many are taken along. More might be large.
const MOST: i64 = 64;
/// So many commands of a session may leave something to ask for, one after the other, and its client asks for nothing.
const MOST_RENEWALS: u8 = 2;

/// What uses no table on MariaDB, though its text has such words.
const KEEPS_WARNINGS: [Mark; 4] =
    [Mark::PreparesLiteral, Mark::PreparesComputed, Mark::Deallocates, Mark::UnlocksTables];

/// What uses a table on MariaDB has one of these words.
const USES_TABLES: [&[u8]; 4] = [b"from", b"update", b"table", b"tables"];

/// Of these SHOW makes tables.
const LISTED: [&[u8]; 12] = [
    b"variables",
    b"databases",
    b"schemas",
    b"engines",
    b"collation",
    b"character",
    b"charset",
    b"plugins",
    b"events",
    b"triggers",
    b"procedure",
    b"function",
];

/// What a session has taken along of its warnings and errors.
#[derive(Debug, Default)]
pub(crate) struct KeptWarnings {
    taken: Option<Box<Diagnostics>>,
    /// The next statement finds none of them.
    spent: bool,
    /// Warnings and errors of the last statement cannot be taken along.
    stay: bool,
    /// A question was put off, since the client might ask for its warnings first.
    waited: bool,
    /// A command has run since the session rested last.
    ran: bool,
    /// Commands that have left something to ask for, one after the other, while others waited.
    renewals: u8,
}

impl KeptWarnings {
    /// A statement has left some.
    pub(super) fn note(&mut self, pins: &mut Pins) {
        self.forget(pins);
        pins.add(Pin::Diagnostics);
    }

    /// There are none any more.
    pub(super) fn forget(&mut self, pins: &mut Pins) {
        (self.taken, self.spent, self.stay) = (None, false, false);
        pins.remove(Pin::Diagnostics);
    }

    /// The client reads answers in this character set now. Warnings that were taken along were told in another one.
    pub(super) fn note_charset(&mut self, charset: &[u8], pins: &mut Pins) {
        if self.taken.as_ref().is_some_and(|taken| !taken.reads_in(charset)) {
            self.forget(pins);
        }
    }

    /// A statement is about to run, which may clear them.
    pub(super) fn note_asking(
        &mut self,
        (text, effects): (&[u8], &SessionEffects),
        flavour: Flavour,
        pins: &mut Pins,
    ) {
        if self.spent {
            self.forget(pins);
        }
        let asks = effects.has(Mark::Diagnostics);
        if !asks && clears(text, effects, flavour) {
            self.forget(pins);
        }
        // On MySQL SELECT finds them once.
        let shows = begins_with(text, &[b"show", b"get"]);
        self.spent = self.taken.is_some() && asks && !shows && flavour == Flavour::MySql;
    }

    /// Whether they tie the session to its connection, and can be taken along, as far as is known.
    pub(crate) fn may_be_taken(&self, pins: Pins) -> bool {
        let mut others = pins;
        others.remove(Pin::Diagnostics);
        for pin in AUDITED {
            others.remove(pin);
        }
        pins.has(Pin::Diagnostics) && others.is_empty() && !self.stay
    }

    /// The session takes them along; `None`: they are too many, or too large, and it stays, unless it goes on and on.
    pub(super) fn take(&mut self, diagnostics: Option<Diagnostics>, pins: &mut Pins) {
        if diagnostics.is_none() && self.renewals > MOST_RENEWALS {
            self.forget(pins);
            return;
        }
        self.stay = diagnostics.is_none();
        pins.set(Pin::Diagnostics, diagnostics.is_none());
        self.taken = diagnostics.map(Box::new);
    }

    /// A command is about to run.
    pub(super) fn note_begin(&mut self) {
        self.ran = true;
    }

    /// The session has another connection.
    pub(super) fn forget_renewals(&mut self) {
        self.renewals = 0;
    }

    /// Others wait. Results that the client might ask for tie the session to its connection no more if it does not ask for
    /// them `soon`, or after some commands.
    pub(super) fn loosen(&mut self, soon: bool, pins: &mut Pins) {
        let asks = pins.has(Pin::FoundRows) || pins.has(Pin::Diagnostics);
        if std::mem::take(&mut self.ran) {
            self.renewals = if asks { self.renewals.saturating_add(1) } else { 0 };
        }
        let ends = self.renewals > MOST_RENEWALS;
        if ends || !soon {
            // The number is asked for before the session leaves. Questions for warnings would change it.
            if pins.has(Pin::FoundRows) {
                self.forget(pins);
            }
            pins.remove(Pin::FoundRows);
        }
        if ends && self.stay {
            self.forget(pins);
        }
    }

    /// Whether the client may yet ask for the warnings of its last statement, which a question would clear. Once: the next
    /// question is not put off.
    pub(crate) fn put_off_question(&mut self, pins: Pins) -> bool {
        self.may_be_taken(pins) && !std::mem::replace(&mut self.waited, true)
    }

    /// The state was asked for.
    pub(super) fn end_putting_off(&mut self) {
        self.waited = false;
    }

    /// Whether a text asks for what the session took along.
    pub(super) fn are_asked_for(&self, text: &[u8], flavour: Flavour) -> bool {
        // MySQL prepares no statement that names these variables, so none could be rewritten.
        let variables = flavour == Flavour::MariaDb;
        let names = |back: &Back| variables && back.is_in(text);
        self.taken.is_some()
            && (question(text).is_some() || [Back::Warnings, Back::Errors].iter().any(names))
    }

    /// The answer to a text that is one of the questions, from what the session took along, and whether it counts as a query
    /// of one row. `status`: as it is now.
    pub(super) fn answer(&self, text: &[u8], status: Status) -> Option<(Vec<u8>, bool)> {
        let nth = question(text)?;
        Some((self.taken.as_ref()?.answer(nth, status)?, is_count(nth)))
    }

    /// How many the session took along, if that is asked.
    pub(super) fn number(&self, back: Back) -> Option<i64> {
        self.taken.as_ref()?.number(back)
    }
}

/// Whether so many can be taken along.
pub(super) fn are_few(numbers: &[i64]) -> bool {
    numbers.len() == 2 && numbers.iter().all(|number| *number <= MOST)
}

/// Whether a statement empties the list of warnings. MariaDB keeps it where no table is used.
fn clears(text: &[u8], effects: &SessionEffects, flavour: Flavour) -> bool {
    flavour == Flavour::MySql || uses_table(text, effects)
}

/// Whether a statement uses a table on MariaDB, as far as its text tells.
pub(super) fn uses_table(text: &[u8], effects: &SessionEffects) -> bool {
    if KEEPS_WARNINGS.iter().any(|mark| effects.has(*mark)) {
        return false;
    }
    // INTO of a SELECT may be one into variables.
    let writes = begins_with(text, &[b"insert", b"replace", b"load"]);
    // Most procedures use a table; what this one uses is not known.
    let writes = writes || effects.has(Mark::Call);
    let has = |word: &&[u8]| has_word(text, word);
    let lists = begins_with(text, &[b"show"]) && LISTED.iter().any(has);
    writes || lists || USES_TABLES.iter().any(has) || begins_with(text, &[b"desc", b"describe"])
}

/// Whether a text has this word, by itself: a level of isolation is REPEATABLE, and a variable `sql_safe_updates`.
fn has_word(text: &[u8], word: &[u8]) -> bool {
    let is_word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | 0x80..);
    let text = text.to_ascii_lowercase();
    let is_apart = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| text.get(at)).copied();
        let after = text.get(at + word.len()).copied();
        // A number may stand right before it.
        !before.is_some_and(|b| is_word(b) && !b.is_ascii_digit() || b == b'@')
            && !after.is_some_and(is_word)
    };
    memchr::memmem::find_iter(&text, word).any(is_apart)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_that_cannot_be_taken_along_keep_the_session_for_some_commands() {
        let (mut warnings, mut pins) = (KeptWarnings::default(), Pins::default());
        for _ in 0..=MOST_RENEWALS {
            warnings.note_begin();
            warnings.note(&mut pins);
            warnings.loosen(true, &mut pins);
            assert!(warnings.may_be_taken(pins));
            warnings.take(None, &mut pins);
        }
        assert!(!pins.has(Pin::Diagnostics), "others have waited long enough");
    }

    #[test]
    fn a_number_of_rows_is_worth_more_than_warnings() {
        let (mut warnings, mut pins) = (KeptWarnings::default(), Pins::default());
        warnings.note(&mut pins);
        pins.add(Pin::FoundRows);
        warnings.loosen(true, &mut pins);
        assert!(pins.has(Pin::Diagnostics) && pins.has(Pin::FoundRows), "the client may ask soon");
        warnings.loosen(false, &mut pins);
        assert!(pins.is_empty());
    }

    #[test]
    fn a_question_is_put_off_once() {
        let (mut warnings, mut pins) = (KeptWarnings::default(), Pins::default());
        assert!(!warnings.put_off_question(pins), "there are none");
        warnings.note(&mut pins);
        assert!(warnings.put_off_question(pins) && !warnings.put_off_question(pins));
    }

    #[test]
    fn words_stand_by_themselves() {
        for (text, word, has) in [
            ("SELECT 1 FROM t", "from", true),
            ("SELECT 1FROM`t`", "from", true),
            ("from", "from", true),
            ("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "table", false),
            ("SET sql_safe_updates=1", "update", false),
            ("SET @from=1", "from", false),
            ("SELECT a.from_x, x_from, fromage FROM t", "from", true),
            ("SELECT a.from_x, x_from, fromage", "from", false),
        ] {
            assert_eq!(has_word(text.as_bytes(), word.as_bytes()), has, "{text}");
        }
    }
}
