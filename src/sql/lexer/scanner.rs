//! Splits SQL into coarse tokens as the server's lexer would, a chunk at a time.
//!
//! The scanner keeps a few bytes of state, so a statement of any size is scanned as it streams
//! past. Rules: sql_lex.cc of both servers, and native-semantics, section 5a.

use super::dialect::{Dialect, Multibyte};
use super::modes::Modes;
use super::skim::{WORD_MAX, is_word, skim};

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Identifier, keyword or number: letters, digits, `_`, `$`, bytes beyond ASCII.
    Word,
    /// `'…'`, or `"…"` where that is a string.
    String,
    /// `` `…` ``, or `"…"` under ANSI_QUOTES.
    Quoted,
    /// Any other single byte.
    Punct(u8),
    /// `/*+ … */`
    Hint,
    /// Start or end of a versioned comment whose content is executed.
    Versioned,
}

/// A token with its byte range in the statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// Kind.
    pub kind: Kind,
    /// First byte.
    pub start: usize,
    /// The position after the last byte.
    pub end: usize,
}

impl Token {
    /// Of a versioned comment, the start: one in another has no end of its own.
    pub(in crate::sql) fn opens(&self, text: &[u8]) -> bool {
        text.get(self.start) == Some(&b'/')
    }

    /// Whether it is code, and neither a hint nor half a versioned comment.
    pub(in crate::sql) fn is_code(&self) -> bool {
        !matches!(self.kind, Kind::Hint | Kind::Versioned)
    }

    /// The token's bytes in the statement.
    pub fn bytes<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        &text[self.start..self.end]
    }

    /// Whether it is this word, in any letter case.
    pub(in crate::sql) fn is(&self, text: &[u8], word: &str) -> bool {
        self.kind == Kind::Word && self.bytes(text).eq_ignore_ascii_case(word.as_bytes())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sql) enum ScanState {
    Gap,
    Word,
    /// After a byte that in these modes ended the word.
    WordEnded,
    Dash,
    DashDash,
    /// After two dashes that in these modes begin no comment.
    TwoDashes,
    LineComment,
    Slash,
    /// After `/*`.
    Open,
    /// After `/*M`.
    OpenM,
    Version {
        digits: usize,
        value: u32,
        mariadb_only: bool,
    },
    Block {
        star: bool,
        slash: bool,
        depth: u32,
        hint: bool,
    },
    InQuote(u8),
    Escaped(u8),
    /// After a backslash that in these modes escapes nothing.
    MaybeEscaped(u8, Modes),
    MaybeEnd(u8),
    /// `*` inside an executed versioned comment.
    Star,
    Trail(TrailOf),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sql) enum TrailOf {
    Word,
    Quote(u8),
}

/// The scanner.
#[derive(Debug, Clone)]
pub struct Scanner {
    pub(in crate::sql) dialect: Dialect,
    /// The modes in which the text so far reads as `state` says.
    pub(in crate::sql) modes: Modes,
    pub(in crate::sql) state: ScanState,
    pub(in crate::sql) at: usize,
    pub(in crate::sql) start: usize,
    pub(in crate::sql) versioned: bool,
    pub(in crate::sql) text: [u8; WORD_MAX],
    pub(in crate::sql) text_len: usize,
    /// The byte before.
    pub(in crate::sql) before: u8,
    /// An `@`, letters and points are all that came last.
    pub(in crate::sql) variable: bool,
    /// The character set decides whether a quote is one, and is not known.
    pub(in crate::sql) unsure: bool,
    /// No token is needed up to here.
    pub(in crate::sql) skim_until: usize,
    /// In these modes the last byte led to this state instead.
    pub(in crate::sql) fork: Option<(ScanState, Modes)>,
}

impl Scanner {
    /// A scanner at the start of a statement.
    pub fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            modes: Modes::of(dialect),
            state: ScanState::Gap,
            at: 0,
            start: 0,
            versioned: false,
            text: [0; WORD_MAX],
            text_len: 0,
            before: 0,
            variable: false,
            unsure: false,
            skim_until: 0,
            fork: None,
        }
    }

    /// A scanner for a text whose modes and character set are not known.
    pub fn in_any_mode(dialect: Dialect) -> Self {
        let dialect = Dialect { multibyte: Multibyte::Safe, ..dialect };
        Self { modes: Modes::all(dialect.flavour), ..Self::new(dialect) }
    }

    /// A scanner for the modes in which the last byte read otherwise; [`Self::feed`] stops there.
    pub fn fork(&mut self) -> Option<Self> {
        let (state, modes) = self.fork.take()?;
        Some(Self { modes, state, ..self.clone() })
    }

    /// Whether another scanner at the same place will read on alike; then this one stands for its
    /// modes too.
    pub fn merge(&mut self, other: &Self) -> bool {
        let text = |s: &Self| (s.text_len, s.text);
        let keeps = match self.state {
            ScanState::Word | ScanState::WordEnded | ScanState::Trail(_) => true,
            ScanState::InQuote(q)
            | ScanState::Escaped(q)
            | ScanState::MaybeEscaped(q, _)
            | ScanState::MaybeEnd(q) => q != b'\'',
            _ => false,
        };
        let alike = self.state == other.state
            && self.versioned == other.versioned
            && (!keeps || text(self) == text(other));
        if alike {
            self.modes = self.modes.or(other.modes);
            self.unsure |= other.unsure;
        }
        alike
    }

    /// Scans a chunk; `emit` gets each token that ended in it, with the text of words and quoted
    /// identifiers (cut to a few bytes more than any function name). Returns the bytes scanned:
    /// all of them, unless there is a [`Self::fork`].
    ///
    /// No token is needed that ends in the first `skim` bytes, until `emit` says that the next are.
    pub fn feed(
        &mut self,
        chunk: &[u8],
        skim: usize,
        mut emit: impl FnMut(Token, &[u8]) -> bool,
    ) -> usize {
        self.skim_until = self.at + skim.min(chunk.len());
        let mut i = 0;
        while i < chunk.len() {
            let n = self.skip(chunk, i);
            if n > 0 {
                i += n;
                self.at += n;
                self.before = chunk[i - 1];
                if self.state == ScanState::Gap {
                    let passed = &chunk[i - n..i];
                    self.variable &= passed.iter().all(|b| *b == b'.' || is_word(*b));
                    self.start = self.at - 1;
                    self.emit_at(Kind::Punct(b' '), &mut emit);
                }
                continue;
            }
            if self.step(chunk[i], &mut emit) {
                self.before = chunk[i];
                i += 1;
                self.at += 1;
            }
            if self.fork.is_some() {
                break;
            }
        }
        i
    }

    /// How many bytes change nothing: long strings and comments are skipped at memchr's speed.
    fn skip(&self, chunk: &[u8], from: usize) -> usize {
        let rest = &chunk[from..];
        let skims = self.skim_until.saturating_sub(self.at);
        match self.state {
            ScanState::InQuote(q) if !self.dialect.multibyte.pairs() => match (q, self.text_len) {
                (b'\'', _) | (_, WORD_MAX) => self.skip_quoted(q, rest),
                (_, 0) => self.skip_quoted(q, &rest[..skims]),
                _ => 0,
            },
            ScanState::LineComment => memchr::memchr(b'\n', rest).unwrap_or(rest.len()),
            ScanState::Block { star: false, slash: false, .. } => {
                memchr::memchr2(b'*', b'/', rest).unwrap_or(rest.len())
            }
            ScanState::Gap if skims > 0 => skim(rest, skims),
            ScanState::Word if self.text_len == WORD_MAX && !self.dialect.multibyte.pairs() => {
                let ends = |b: &u8| !is_word(*b) || Multibyte::may_be_blank(*b);
                rest.iter().position(ends).unwrap_or(rest.len())
            }
            _ => 0,
        }
    }

    /// Ends the statement. False when it ends inside a string or a comment.
    pub fn finish(&mut self, mut emit: impl FnMut(Token, &[u8]) -> bool) -> bool {
        let whole = match self.state {
            ScanState::Word | ScanState::WordEnded | ScanState::Trail(TrailOf::Word) => {
                self.end_text(Kind::Word, &mut emit);
                true
            }
            ScanState::Dash => self.emit_last(b'-', &mut emit),
            ScanState::Slash => self.emit_last(b'/', &mut emit),
            ScanState::Star => self.emit_last(b'*', &mut emit),
            ScanState::MaybeEnd(q) => {
                self.end_quote(q, &mut emit);
                true
            }
            // `--` at the very end is a comment.
            ScanState::Gap
            | ScanState::LineComment
            | ScanState::DashDash
            | ScanState::TwoDashes => true,
            ScanState::Open
            | ScanState::OpenM
            | ScanState::Version { .. }
            | ScanState::Block { .. }
            | ScanState::InQuote(_)
            | ScanState::Escaped(_)
            | ScanState::MaybeEscaped(..)
            | ScanState::Trail(TrailOf::Quote(_)) => false,
        };
        self.state = ScanState::Gap;
        whole && !self.versioned
    }

    fn emit_last(&mut self, b: u8, emit: &mut impl FnMut(Token, &[u8]) -> bool) -> bool {
        self.emit_at(Kind::Punct(b), emit);
        true
    }

    /// Handles one byte; false when the byte must be looked at again in the new state.
    fn step(&mut self, b: u8, emit: &mut impl FnMut(Token, &[u8]) -> bool) -> bool {
        match self.state {
            ScanState::Gap => self.gap(b, emit),
            ScanState::Word => {
                if self.joins(b) {
                    self.keep(b);
                } else if self.leads(b) {
                    self.keep(b);
                    self.state = ScanState::Trail(TrailOf::Word);
                } else if !is_word(b) || self.is_blank(b, ScanState::WordEnded) {
                    self.end_word(emit);
                    return false;
                } else {
                    self.keep(b);
                }
                true
            }
            ScanState::WordEnded => {
                // The byte that ended it was kept.
                self.text_len = self.text_len.saturating_sub(1);
                self.end_word(emit);
                false
            }
            ScanState::Trail(of) => {
                self.state = match of {
                    TrailOf::Word => ScanState::Word,
                    TrailOf::Quote(q) => ScanState::InQuote(q),
                };
                // A lead byte before anything else stands alone.
                if !Multibyte::trails(b) {
                    return false;
                }
                self.keep(b);
                true
            }
            ScanState::InQuote(_)
            | ScanState::Escaped(_)
            | ScanState::MaybeEscaped(..)
            | ScanState::MaybeEnd(_) => self.quote(b, emit),
            ScanState::Dash
            | ScanState::DashDash
            | ScanState::TwoDashes
            | ScanState::LineComment
            | ScanState::Slash
            | ScanState::Star => self.mark(b, emit),
            ScanState::Open | ScanState::OpenM | ScanState::Version { .. } => self.open(b, emit),
            ScanState::Block { .. } => {
                self.block(b, emit);
                true
            }
        }
    }

    fn gap(&mut self, b: u8, emit: &mut impl FnMut(Token, &[u8]) -> bool) -> bool {
        self.start = self.at;
        self.text_len = 0;
        if self.joins(b) {
            self.keep(b);
            self.state = ScanState::Word;
            return true;
        }
        let named = self.variable && self.before != b'@';
        self.unsure |= b == b'`' && named && !self.knows_charset();
        // `@@` begins no user variable.
        self.variable =
            (b == b'@' && self.before != b'@') || (self.variable && (b == b'.' || is_word(b)));
        self.state = match b {
            b'-' => ScanState::Dash,
            b'#' => ScanState::LineComment,
            b'/' => ScanState::Slash,
            b'*' if self.versioned => ScanState::Star,
            b'\'' | b'"' => ScanState::InQuote(b),
            b'`' => {
                // Bytes beyond ASCII are words: only after one can this be the end of a character.
                self.fork_trail(ScanState::Word);
                ScanState::InQuote(b)
            }
            b'[' => self.bracket(emit),
            _ if self.leads(b) => {
                self.keep(b);
                ScanState::Trail(TrailOf::Word)
            }
            _ if self.is_blank(b, ScanState::Gap) => ScanState::Gap,
            _ if is_word(b) => {
                self.keep(b);
                ScanState::Word
            }
            _ => {
                self.emit_at(Kind::Punct(b), emit);
                ScanState::Gap
            }
        };
        true
    }
}

/// White space of the server's lexer, which counts vertical tab.
pub fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t'..=b'\r')
}
