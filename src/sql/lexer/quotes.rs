//! The scanner inside quotes, where modes and character sets decide what a byte means.

use super::scanner::{Kind, ScanState, Scanner, Token, TrailOf};

/// The first byte that may start a character of two.
const FIRST_LEAD: u8 = 0x81;

impl Scanner {
    pub(in crate::sql) fn quote(
        &mut self,
        b: u8,
        emit: &mut impl FnMut(Token, &[u8]) -> bool,
    ) -> bool {
        match self.state {
            ScanState::MaybeEnd(q) if b == q => {
                self.keep(b);
                self.state = ScanState::InQuote(q);
                true
            }
            ScanState::MaybeEnd(q) => {
                self.end_quote(q, emit);
                self.state = ScanState::Gap;
                false
            }
            // One byte, also of a character of two.
            ScanState::Escaped(q) => {
                self.keep(b);
                self.state = ScanState::InQuote(q);
                true
            }
            ScanState::MaybeEscaped(q, plain) => {
                let escaping = self.modes.escaping(q);
                if b == q {
                    self.fork = Some((ScanState::MaybeEnd(q), plain));
                    self.modes = escaping;
                } else if b == b'\\' {
                    // Where the first was the end of a character, this one begins an escape.
                    let late = plain.and(escaping);
                    self.fork = (!late.is_empty()).then_some((ScanState::Escaped(q), late));
                }
                self.keep(b);
                self.state = ScanState::InQuote(q);
                true
            }
            ScanState::InQuote(q) => {
                if self.dialect.multibyte.leads(b) {
                    self.keep(b);
                    self.state = ScanState::Trail(TrailOf::Quote(q));
                } else if b == q {
                    self.state = ScanState::MaybeEnd(q);
                    if matches!(q, b'`' | b']') {
                        self.fork_trail(ScanState::InQuote(q));
                    }
                } else if b == b'\\' {
                    self.keep(b);
                    self.state = self.after_backslash(q);
                } else {
                    self.keep(b);
                }
                true
            }
            _ => true,
        }
    }

    /// How many bytes end neither the quote nor what is known of the modes.
    pub(in crate::sql) fn skip_quoted(&self, quote: u8, text: &[u8]) -> usize {
        let mut at = 0;
        while let Some(n) = memchr::memchr2(quote, b'\\', &text[at..]) {
            at += n;
            let before = at.checked_sub(1).map_or(self.before, |i| text[i]);
            let pair = match text.get(at + 1) {
                _ if text[at] == quote => false,
                None => false,
                // A backslash and this are two bytes of the string in all modes.
                Some(b) if *b != quote && *b != b'\\' && *b < FIRST_LEAD => true,
                Some(b'\\') => before < FIRST_LEAD,
                Some(b) => {
                    let plain = self.modes.without(self.modes.escaping(quote));
                    *b == quote && before < FIRST_LEAD && plain.is_empty()
                }
            };
            if !pair {
                return at;
            }
            at += 2;
        }
        text.len()
    }

    /// A bracket where no quote is open.
    pub(in crate::sql) fn bracket(
        &mut self,
        emit: &mut impl FnMut(Token, &[u8]) -> bool,
    ) -> ScanState {
        let quoting = self.modes.brackets();
        let mut plain = self.modes.without(quoting);
        if self.before >= FIRST_LEAD {
            plain = plain.or(self.modes.multibyte());
        }
        if plain.is_empty() {
            return ScanState::InQuote(b']');
        }
        self.emit_at(Kind::Punct(b'['), emit);
        if !quoting.is_empty() {
            self.fork = Some((ScanState::InQuote(b']'), quoting));
            self.modes = plain;
        }
        ScanState::Gap
    }

    fn after_backslash(&self, q: u8) -> ScanState {
        let escaping = self.modes.escaping(q);
        let mut plain = self.modes.without(escaping);
        if self.before >= FIRST_LEAD {
            plain = plain.or(self.modes.multibyte());
        }
        match (escaping.is_empty(), plain.is_empty()) {
            (true, _) => ScanState::InQuote(q),
            (false, true) => ScanState::Escaped(q),
            (false, false) => ScanState::MaybeEscaped(q, plain),
        }
    }

    /// The byte at hand may be the end of a character, which leaves the state as it was.
    pub(in crate::sql) fn fork_trail(&mut self, state: ScanState) {
        let multibyte = self.modes.multibyte();
        if self.before >= FIRST_LEAD && !multibyte.is_empty() {
            self.fork = Some((state, multibyte));
        }
    }
}
