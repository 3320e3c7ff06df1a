//! How the scanner keeps bytes and emits tokens.

use super::scanner::{Kind, ScanState, Scanner, Token};
use super::skim::WORD_MAX;

impl Scanner {
    pub(in crate::sql) fn keep(&mut self, b: u8) {
        if self.text_len < WORD_MAX {
            self.text[self.text_len] = b;
            self.text_len += 1;
        }
    }

    pub(in crate::sql) fn end_quote(&mut self, q: u8, emit: &mut impl FnMut(Token, &[u8]) -> bool) {
        self.end_text(if self.modes.make_string(q) { Kind::String } else { Kind::Quoted }, emit);
    }

    pub(in crate::sql) fn emit_at(
        &mut self,
        kind: Kind,
        emit: &mut impl FnMut(Token, &[u8]) -> bool,
    ) {
        if emit(Token { kind, start: self.start, end: self.start + 1 }, &[]) {
            self.skim_until = 0;
        }
    }

    pub(in crate::sql) fn end_text(
        &mut self,
        kind: Kind,
        emit: &mut impl FnMut(Token, &[u8]) -> bool,
    ) {
        let token = Token { kind, start: self.start, end: self.at };
        if emit(token, &self.text[..self.text_len]) {
            self.skim_until = 0;
        }
    }

    pub(in crate::sql) fn end_word(&mut self, emit: &mut impl FnMut(Token, &[u8]) -> bool) {
        self.end_text(Kind::Word, emit);
        self.state = ScanState::Gap;
    }
}
