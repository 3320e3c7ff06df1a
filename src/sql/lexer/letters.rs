//! Which bytes the scanner takes for letters and white space, as modes and character sets decide.

use super::dialect::Multibyte;
use super::scanner::{ScanState, Scanner, is_space};

impl Scanner {
    /// Whether a character of two bytes may begin in code.
    pub(in crate::sql) fn leads(&mut self, b: u8) -> bool {
        let multibyte = self.dialect.multibyte;
        let leads = multibyte.leads(b) && !(self.variable && multibyte.splits(b));
        self.variable &= !leads;
        leads
    }

    /// Whether a byte that is elsewhere punctuation is a letter of the word here.
    pub(in crate::sql) fn joins(&self, b: u8) -> bool {
        let named = self.variable && self.before != b'@';
        self.dialect.multibyte.is_letter(b, named)
    }

    /// A word that began with bytes just passed, whatever they seemed to be.
    pub(in crate::sql) fn begin_word(&mut self, bytes: &[u8]) {
        self.start = self.at - bytes.len();
        self.text_len = 0;
        for byte in bytes {
            self.keep(*byte);
        }
    }

    /// Whether a byte is white space; the modes in which it is, if there are others, go on in a
    /// state of their own.
    pub(in crate::sql) fn is_blank(&mut self, b: u8, state: ScanState) -> bool {
        let blanks = self.modes.blanks();
        if b.is_ascii() || !Multibyte::may_be_blank(b) || blanks.is_empty() {
            return is_space(b) || self.dialect.multibyte.is_blank(b);
        }
        let others = self.modes.without(blanks);
        if !others.is_empty() {
            self.fork = Some((state, blanks));
            self.modes = others;
        }
        others.is_empty()
    }

    /// Whether characters read as the dialect says.
    pub(in crate::sql) fn knows_charset(&self) -> bool {
        self.modes.multibyte().is_empty()
    }
}
