//! The scanner inside comments, versioned ones among them.

use super::scanner::{Kind, ScanState, Scanner, Token, is_space};
use crate::types::Flavour;

impl Scanner {
    /// After bytes that may begin or end a comment, and in a comment up to the end of the line.
    pub(in crate::sql) fn mark(
        &mut self,
        b: u8,
        emit: &mut impl FnMut(Token, &[u8]) -> bool,
    ) -> bool {
        match (self.state, b) {
            (ScanState::Dash, b'-') => self.state = ScanState::DashDash,
            (ScanState::Slash, b'*') => self.state = ScanState::Open,
            (ScanState::LineComment, b'\n') => self.state = ScanState::Gap,
            (ScanState::LineComment, _) => {}
            (ScanState::Star, b'/') => {
                self.versioned = false;
                self.emit_at(Kind::Versioned, emit);
                self.state = ScanState::Gap;
            }
            (ScanState::DashDash, _) => {
                self.state = self.after_dashes(b);
                return false;
            }
            (state, _) => {
                let punct = match state {
                    ScanState::Slash => b'/',
                    ScanState::Star => b'*',
                    _ => b'-',
                };
                self.emit_at(Kind::Punct(punct), emit);
                if state == ScanState::TwoDashes {
                    self.start += 1;
                    self.emit_at(Kind::Punct(punct), emit);
                }
                self.state = ScanState::Gap;
                return false;
            }
        }
        true
    }

    /// `--` is a comment only before white space or a control character.
    fn after_dashes(&mut self, b: u8) -> ScanState {
        let blanks = self.modes.blanks();
        if is_space(b) || self.dialect.multibyte.ends_dashes(b) {
            return ScanState::LineComment;
        }
        if !b.is_ascii() && !blanks.is_empty() {
            self.fork = Some((ScanState::LineComment, blanks));
        }
        ScanState::TwoDashes
    }

    pub(in crate::sql) fn open(
        &mut self,
        b: u8,
        emit: &mut impl FnMut(Token, &[u8]) -> bool,
    ) -> bool {
        let block = |hint| ScanState::Block { star: false, slash: false, depth: 0, hint };
        match (self.state, b) {
            (ScanState::Open, b'!') => {
                self.state = ScanState::Version { digits: 0, value: 0, mariadb_only: false };
            }
            (ScanState::Open, b'M') if self.dialect.flavour == Flavour::MariaDb => {
                self.state = ScanState::OpenM;
            }
            (ScanState::OpenM, b'!') => {
                self.state = ScanState::Version { digits: 0, value: 0, mariadb_only: true };
            }
            (ScanState::Open, b'+') => self.state = block(true),
            (ScanState::Open | ScanState::OpenM, _) => {
                self.state = block(false);
                return false;
            }
            (ScanState::Version { digits, value, mariadb_only }, b'0'..=b'9')
                if digits < self.dialect.version_digits().0 =>
            {
                let value = value * 10 + u32::from(b - b'0');
                self.state = ScanState::Version { digits: digits + 1, value, mariadb_only };
            }
            (ScanState::Version { digits, value, mariadb_only }, _) => {
                self.state = self.versioned(digits, value, mariadb_only, b, emit);
                return false;
            }
            _ => {}
        }
        true
    }

    /// After `/*!` and all digits that may be a version. Other digits begin the code.
    fn versioned(
        &mut self,
        digits: usize,
        value: u32,
        mariadb_only: bool,
        b: u8,
        emit: &mut impl FnMut(Token, &[u8]) -> bool,
    ) -> ScanState {
        let spaced = is_space(b) || self.dialect.multibyte.is_blank(b);
        let (version, code) = match digits {
            0..=4 => (None, digits),
            6 if self.dialect.version_digits().1 && !spaced => (Some(value / 10), 1),
            _ => (Some(value), 0),
        };
        if !self.dialect.executes(version, mariadb_only) {
            // Plain comments may stand inside a skipped one.
            return ScanState::Block { star: false, slash: false, depth: 1, hint: false };
        }
        self.versioned = true;
        self.emit_at(Kind::Versioned, emit);
        if code == 0 {
            return ScanState::Gap;
        }
        let text = format!("{value:0digits$}");
        self.begin_word(&text.as_bytes()[digits - code..]);
        ScanState::Word
    }

    pub(in crate::sql) fn block(&mut self, b: u8, emit: &mut impl FnMut(Token, &[u8]) -> bool) {
        let ScanState::Block { star, slash, depth, hint } = self.state else {
            return;
        };
        self.state = if star && b == b'/' {
            if depth > 1 {
                ScanState::Block { star: false, slash: false, depth: depth - 1, hint }
            } else {
                if hint {
                    let (start, end) = (self.start, self.at + 1);
                    let _ = emit(Token { kind: Kind::Hint, start, end }, &[]);
                }
                ScanState::Gap
            }
        } else if depth == 1 && slash && b == b'*' {
            ScanState::Block { star: false, slash: false, depth: 2, hint }
        } else {
            ScanState::Block { star: b == b'*', slash: b == b'/', depth, hint }
        };
    }
}
