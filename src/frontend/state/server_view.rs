//! What is known of the server, and of the session's settings there that change how a lock call is answered. These are
//! `sql_select_limit`, which may leave no row, and `character_set_results`, in which the column is named.
//!
//! Nothing tells when they change. A statement that names one may have set it, so the server is
//! asked at the next lock call.

use crate::protocol::status::Status;
use crate::sql::classify::named::may_be_named;
use crate::sql::lexer::dialect::{Dialect, Multibyte};
use crate::types::Flavour;

/// What is known of the two settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum AnswerSettings {
    /// A row comes, and ASCII is ASCII.
    #[default]
    Usual,
    /// Named by a statement since the server was asked.
    Named,
    /// Only the server's own reply will do: `sql_select_limit` is 0, or ASCII is not sent as it is.
    Unusual { limited: bool, wide: bool },
}

/// A server as one session knows it.
#[derive(Debug)]
pub(crate) struct ServerView {
    flavour: Flavour,
    version: u32,
    settings: AnswerSettings,
    /// A prepared statement may change them at any time.
    settings_prepared: bool,
    /// One text may hold several statements, as far as the proxy knows.
    several: bool,
    /// The last alias that the server accepted as one.
    good_alias: Option<Box<[u8]>>,
}

impl ServerView {
    /// The view of a server right after a login.
    pub(crate) fn new(flavour: Flavour, version: u32, several: bool) -> Self {
        Self {
            flavour,
            version,
            settings: AnswerSettings::Usual,
            settings_prepared: false,
            several,
            good_alias: None,
        }
    }

    /// MySQL or MariaDB.
    pub(crate) fn flavour(&self) -> Flavour {
        self.flavour
    }

    /// How it reads this session's statements, as far as the proxy knows.
    pub(crate) fn dialect(&self, status: Status) -> Dialect {
        Dialect {
            flavour: self.flavour,
            version: self.version,
            ansi_quotes: self.flavour == Flavour::MariaDb && status.has(Status::ANSI_QUOTES),
            no_backslash_escapes: status.has(Status::NO_BACKSLASH_ESCAPES),
            brackets: false,
            multibyte: Multibyte::Safe,
        }
    }

    /// What is known of the settings.
    pub(crate) fn settings(&self) -> AnswerSettings {
        self.settings
    }

    /// A statement names one of them; one that is prepared may set it whenever it is executed.
    pub(crate) fn note_setting(&mut self, text: &[u8], prepares: bool) {
        self.settings = AnswerSettings::Named;
        self.settings_prepared |= prepares || may_be_named(text, false);
    }

    /// Whether the server must be asked for them.
    pub(crate) fn asks_for_settings(&self) -> bool {
        self.settings == AnswerSettings::Named || self.settings_prepared
    }

    /// Keeps the settings that the server has told.
    pub(crate) fn learn_settings(&mut self, limited: bool, wide: bool) {
        self.settings = if limited || wide {
            AnswerSettings::Unusual { limited, wide }
        } else {
            AnswerSettings::Usual
        };
    }

    /// Whether one text may hold several statements, as far as the proxy knows.
    pub(crate) fn several(&self) -> bool {
        self.several
    }

    /// COM_SET_OPTION: 0 allows several statements in one text, 1 forbids them; anything else the
    /// server refuses.
    pub(crate) fn set_option(&mut self, option: &[u8]) {
        match option {
            [0, 0] => self.several = true,
            [1, 0] => self.several = false,
            _ => {}
        }
    }

    /// Whether the server has taken this word as an alias, last.
    pub(crate) fn takes_alias(&self, alias: &[u8]) -> bool {
        !alias.is_empty() && self.good_alias.as_deref() == Some(alias)
    }

    /// The server has taken it as an alias.
    pub(crate) fn note_alias(&mut self, alias: &[u8]) {
        self.good_alias = Some(alias.into());
    }

    /// The session starts over.
    pub(crate) fn reset(&mut self) {
        self.settings = AnswerSettings::Usual;
        self.settings_prepared = false;
        self.good_alias = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(flavour: Flavour) -> ServerView {
        ServerView::new(flavour, 80_400, false)
    }

    #[test]
    fn the_server_is_asked_once_after_a_statement_that_names_a_setting() {
        let mut view = view(Flavour::MySql);
        assert!(!view.asks_for_settings());
        view.note_setting(b"SET sql_select_limit=0", false);
        assert!(view.asks_for_settings());
        view.learn_settings(true, false);
        assert_eq!(view.settings(), AnswerSettings::Unusual { limited: true, wide: false });
        assert!(!view.asks_for_settings());
        view.learn_settings(false, false);
        assert_eq!(view.settings(), AnswerSettings::Usual);
    }

    #[test]
    fn a_prepared_statement_may_set_it_again_until_the_session_begins_anew() {
        let mut view = view(Flavour::MySql);
        view.note_setting(b"SET sql_select_limit=?", true);
        view.learn_settings(false, false);
        assert!(view.asks_for_settings());
        view.reset();
        assert!(!view.asks_for_settings());
    }

    #[test]
    fn only_mariadb_reports_double_quotes_by_a_flag() {
        let status = Status(Status::ANSI_QUOTES);
        assert!(view(Flavour::MariaDb).dialect(status).ansi_quotes);
        assert!(!view(Flavour::MySql).dialect(status).ansi_quotes);
        let status = Status(Status::NO_BACKSLASH_ESCAPES);
        assert!(view(Flavour::MySql).dialect(status).no_backslash_escapes);
    }

    #[test]
    fn several_statements_are_allowed_and_forbidden_by_name() {
        let mut view = view(Flavour::MySql);
        view.set_option(&[0, 0]);
        assert!(view.several());
        view.set_option(&[7, 0]);
        assert!(view.several(), "the server refuses it");
        view.set_option(&[1, 0]);
        assert!(!view.several());
    }

    #[test]
    fn an_alias_is_known_until_the_session_begins_anew() {
        let mut view = view(Flavour::MySql);
        assert!(!view.takes_alias(b"") && !view.takes_alias(b"x"));
        view.note_alias(b"x");
        assert!(view.takes_alias(b"x") && !view.takes_alias(b"y"));
        view.note_alias(b"");
        assert!(!view.takes_alias(b""));
        view.reset();
        assert!(!view.takes_alias(b"x"));
    }
}
