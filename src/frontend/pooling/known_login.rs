//! The state that a login leaves a session with, as another login like it has found it.

use super::capture::Doubts;
use super::pins::Pin;
use super::seat::Seat;

impl Seat {
    /// What the server is asked right after a login. One statement, for its user variables are none.
    pub(crate) fn questions_of_login(&self) -> Vec<Vec<u8>> {
        let doubts = Doubts { run: false, ..self.doubts.clone() };
        doubts.questions(self.key.capabilities, self.flavour)
    }

    /// Takes in the answers. False: they cannot be understood, or the server runs statements of its own at a login,
    /// so that every session must log in there.
    pub(crate) fn know_login(&mut self, values: &[Option<Vec<u8>>]) -> bool {
        let doubts = Doubts { run: false, ..self.doubts.clone() };
        let login = (self.flavour, self.collation);
        let mut state = self.state.clone();
        let Some(captured) = doubts.answered(values, &[], login, &mut state) else { return false };
        if captured.init_connect {
            self.pins.add(Pin::InitConnect);
            return false;
        }
        self.state = state;
        true
    }

    /// The session begins without a connection: nothing else is to be found out.
    pub(crate) fn begin_known(&mut self, values: &[Option<Vec<u8>>]) {
        if self.know_login(values) {
            self.doubts = Doubts::default();
        }
    }
}
