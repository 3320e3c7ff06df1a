//! The state that a login leaves a session with, as another login like it has found it.

use super::capture::Doubts;
use super::pins::Pin;
use super::pooled_session::PooledSession;
use crate::types::Flavour;

impl PooledSession {
    /// What the server is asked right after a login. One statement, for its user variables are none.
    pub(crate) fn questions_of_login(&self) -> Vec<Vec<u8>> {
        let doubts = Doubts { run: false, ..self.doubts.clone() };
        doubts.questions(self.account.key().capabilities, self.flavour)
    }

    /// Takes in the answers. False: they cannot be understood, or the server runs statements of its own at a login,
    /// so that every session must log in there.
    pub(crate) fn know_login(&mut self, values: &[Option<Vec<u8>>]) -> bool {
        let doubts = Doubts { run: false, ..self.doubts.clone() };
        let login = (self.flavour, self.account.collation());
        let mut state = self.state.clone();
        let Some(captured) = doubts.answered(values, &[], login, &mut state) else { return false };
        if captured.init_connect {
            self.pins.add(Pin::InitConnect);
            return false;
        }
        self.state = state;
        self.note_login_names();
        true
    }

    /// Character sets and collation are those of the login now.
    pub(crate) fn note_login_names(&mut self) {
        self.account.note_login_names(self.state.names());
    }

    /// After a reset MariaDB goes back to the character sets of the connection's login, which may have been another session's.
    /// The session has those of its own.
    pub(crate) fn go_back_to_login_names(&mut self) {
        if self.flavour == Flavour::MariaDb
            && let Some(names) = self.account.login_names()
        {
            self.state.take_names(names);
            (self.doubts.charsets, self.doubts.handshake) = (false, false);
        }
    }

    /// The session begins without a connection: nothing else is to be found out.
    pub(crate) fn begin_known(&mut self, values: &[Option<Vec<u8>>]) {
        if self.know_login(values) {
            self.doubts = Doubts::default();
        }
    }
}
