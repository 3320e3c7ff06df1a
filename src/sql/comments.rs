//! The scanner inside comments, versioned ones among them.

use super::scanner::{Kind, Scanner, State, Token};

impl Scanner {
    pub(super) fn open(&mut self, b: u8, emit: &mut impl FnMut(Token, &[u8]) -> bool) -> bool {
        let block = |hint| State::Block { star: false, slash: false, depth: 0, hint };
        match (self.state, b) {
            (State::Open, b'!') => {
                self.state = State::Version { digits: 0, value: 0, mariadb_only: false };
            }
            (State::Open, b'M') => self.state = State::OpenM,
            (State::OpenM, b'!') => {
                self.state = State::Version { digits: 0, value: 0, mariadb_only: true };
            }
            (State::Open, b'+') => self.state = block(true),
            (State::Open | State::OpenM, _) => {
                self.state = block(false);
                return false;
            }
            (State::Version { digits, value, mariadb_only }, b'0'..=b'9') if digits < 6 => {
                let value = value * 10 + u32::from(b - b'0');
                self.state = State::Version { digits: digits + 1, value, mariadb_only };
            }
            (State::Version { digits, value, mariadb_only }, _) => {
                let version = (digits >= 5).then_some(value);
                if self.dialect.executes(version, mariadb_only) {
                    self.versioned = true;
                    self.emit_at(Kind::Versioned, emit);
                    self.state = State::Gap;
                } else {
                    // Plain comments may stand inside a skipped one.
                    self.state = State::Block { star: false, slash: false, depth: 1, hint: false };
                }
                return false;
            }
            _ => {}
        }
        true
    }

    pub(super) fn block(&mut self, b: u8, emit: &mut impl FnMut(Token, &[u8]) -> bool) {
        let State::Block { star, slash, depth, hint } = self.state else {
            return;
        };
        self.state = if star && b == b'/' {
            if depth > 1 {
                State::Block { star: false, slash: false, depth: depth - 1, hint }
            } else {
                if hint {
                    let (start, end) = (self.start, self.at + 1);
                    let _ = emit(Token { kind: Kind::Hint, start, end }, &[]);
                }
                State::Gap
            }
        } else if depth == 1 && slash && b == b'*' {
            State::Block { star: false, slash: false, depth: 2, hint }
        } else {
            State::Block { star: b == b'*', slash: b == b'/', depth, hint }
        };
    }
}
