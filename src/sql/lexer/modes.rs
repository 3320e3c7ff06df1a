//! Sets of the modes and character sets in which a text may be read.

use super::dialect::Dialect;
use crate::types::Flavour;

/// A set of combinations of modes and kinds of character sets, with a bit for each. The modes are ANSI_QUOTES,
/// NO_BACKSLASH_ESCAPES and MariaDB's MSSQL. A character set may be one in which the end of a character may look like
/// ASCII, or one with white space or control characters beyond ASCII.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sql) struct Modes(u32);

/// Bit n stands for the combination n of these.
const ANSI_QUOTES: u8 = 1;
const NO_BACKSLASH_ESCAPES: u8 = 2;
const MULTIBYTE: u8 = 4;
const BRACKETS: u8 = 8;
const BLANKS: u8 = 16;

impl Modes {
    /// All combinations that a server has.
    pub(in crate::sql) fn all(flavour: Flavour) -> Self {
        let all = Self(u32::MAX);
        if flavour == Flavour::MariaDb { all } else { all.without(all.brackets()) }
    }

    /// The modes of a dialect. How its characters pair up is then known byte by byte, so the set
    /// says nothing of it.
    pub(in crate::sql) fn of(dialect: Dialect) -> Self {
        let ansi = if dialect.ansi_quotes { ANSI_QUOTES } else { 0 };
        let plain = if dialect.no_backslash_escapes { NO_BACKSLASH_ESCAPES } else { 0 };
        let brackets = if dialect.brackets { BRACKETS } else { 0 };
        Self(1 << (ansi | plain | brackets))
    }

    fn with(self, mode: u8) -> Self {
        Self((0..32).filter(|n| n & mode != 0).fold(0, |set, n| set | 1 << n) & self.0)
    }

    /// Combinations in which a backslash escapes inside these quotes.
    pub(in crate::sql) fn escaping(self, quote: u8) -> Self {
        match quote {
            b'\'' => self.without(self.with(NO_BACKSLASH_ESCAPES)),
            b'"' => self.without(self.with(NO_BACKSLASH_ESCAPES).or(self.with(ANSI_QUOTES))),
            _ => Self(0),
        }
    }

    /// Combinations in which `[` quotes.
    pub(in crate::sql) fn brackets(self) -> Self {
        self.with(BRACKETS)
    }

    /// Combinations with characters of which the end may look like ASCII.
    pub(in crate::sql) fn multibyte(self) -> Self {
        self.with(MULTIBYTE)
    }

    /// Combinations with white space or control characters beyond ASCII.
    pub(in crate::sql) fn blanks(self) -> Self {
        self.with(BLANKS).without(self.multibyte())
    }

    /// Whether what these quotes hold is a string in all of them. A name in some counts as a name.
    pub(in crate::sql) fn make_string(self, quote: u8) -> bool {
        quote == b'\'' || (quote == b'"' && self.with(ANSI_QUOTES).is_empty())
    }

    /// Combinations in either set.
    pub(in crate::sql) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Combinations in both sets.
    pub(in crate::sql) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Combinations in this set and not in the other.
    pub(in crate::sql) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// None.
    pub(in crate::sql) fn is_empty(self) -> bool {
        self.0 == 0
    }
}
