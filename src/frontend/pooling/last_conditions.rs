//! What is known of the conditions of a session's last statement.

use super::conditions::KeptConditions;
use crate::sql::session::conditions::ConditionsQuestion;
use crate::types::Flavour;

/// Whether there may be some, and those that are not on the session's connection.
#[derive(Debug, Default)]
pub(crate) struct LastConditions {
    /// The connection may have some.
    listed: bool,
    /// They were taken along, and others stand in for them.
    kept: Option<KeptConditions>,
    /// What the statement under way asks of them.
    question: Option<ConditionsQuestion>,
}

impl LastConditions {
    /// A statement is about to run. `question`: it asks for conditions, and for nothing else; `asks`: it may ask for them.
    pub(crate) fn note_text(
        &mut self,
        text: &[u8],
        asks: bool,
        question: Option<ConditionsQuestion>,
        flavour: Flavour,
    ) {
        if !asks && clears(text, flavour) {
            self.listed = false;
            self.kept = None;
        }
        self.question = question;
    }

    /// The last statement has left some.
    pub(crate) fn are_listed(&mut self) {
        self.listed = true;
    }

    /// Whether there may be some, so that the server must be asked.
    pub(crate) fn may_be_any(&self) -> bool {
        self.listed || self.kept.is_some()
    }

    /// These are all that there are.
    pub(crate) fn keep(&mut self, kept: KeptConditions) {
        self.listed = false;
        self.kept = Some(kept).filter(|kept| kept.len() > 0);
    }

    /// Those that were taken along.
    pub(crate) fn kept(&self) -> Option<&KeptConditions> {
        self.kept.as_ref()
    }

    /// The same, which are not known any more: the connection has others, perhaps.
    pub(crate) fn take(&mut self) -> Option<KeptConditions> {
        self.listed |= self.kept.is_some();
        self.kept.take()
    }

    /// What the statement that is about to run asks of them.
    pub(crate) fn asks(&mut self, question: ConditionsQuestion) {
        self.question = Some(question);
    }

    /// The same, once.
    pub(crate) fn take_question(&mut self) -> Option<ConditionsQuestion> {
        self.question.take()
    }

    /// What the statement under way asks of them.
    pub(crate) fn question(&self) -> Option<&ConditionsQuestion> {
        self.question.as_ref()
    }
}

/// Whether a statement that does not ask for conditions empties their list: each one in MySQL, those that use tables in
/// MariaDB. There, of others the server is asked what is left.
fn clears(text: &[u8], flavour: Flavour) -> bool {
    const WRITES: [&[u8]; 4] = [b"insert", b"update", b"delete", b"replace"];
    let lead = text.trim_ascii_start();
    let begins = |word: &[u8]| {
        let (found, rest) = lead.split_at(word.len().min(lead.len()));
        found.eq_ignore_ascii_case(word) && rest.first().is_some_and(u8::is_ascii_whitespace)
    };
    flavour == Flavour::MySql || WRITES.iter().any(|word| begins(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_that_may_leave_the_list_does_not_count_as_its_end() {
        for (text, on_mariadb) in [
            ("INSERT INTO t VALUES (1)", true),
            (" update t SET a = 1", true),
            ("SELECT 1 AS `from`", false),
            ("INSERTS", false),
            ("DO 1", false),
            ("", false),
        ] {
            assert!(clears(text.as_bytes(), Flavour::MySql), "{text}");
            assert_eq!(clears(text.as_bytes(), Flavour::MariaDb), on_mariadb, "{text}");
        }
        let mut last = LastConditions::default();
        last.are_listed();
        last.note_text(b"SHOW WARNINGS", true, None, Flavour::MySql);
        assert!(last.may_be_any());
        last.note_text(b"SELECT 1", false, None, Flavour::MySql);
        assert!(!last.may_be_any());
    }
}
