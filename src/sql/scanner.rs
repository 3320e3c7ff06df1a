//! Splits SQL into coarse tokens as the server's lexer would, a chunk at a time.
//!
//! The scanner keeps a few bytes of state, so a statement of any size is scanned as it streams
//! past. Rules: sql_lex.cc of both servers, and native-semantics, section 5a.

use super::dialect::{Dialect, Multibyte};

/// Longest word whose text is kept: more than the longest function name.
const WORD_MAX: usize = 24;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// Behind the last byte.
    pub end: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Gap,
    Word,
    Dash,
    DashDash,
    LineComment,
    Slash,
    /// Behind `/*`.
    Open,
    /// Behind `/*M`.
    OpenM,
    Version {
        digits: u32,
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
    MaybeEnd(u8),
    /// `*` inside an executed versioned comment.
    Star,
    Trail(TrailOf),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrailOf {
    Word,
    Quote(u8),
}

/// The scanner.
#[derive(Debug, Clone)]
pub struct Scanner {
    dialect: Dialect,
    state: State,
    at: usize,
    start: usize,
    versioned: bool,
    text: [u8; WORD_MAX],
    text_len: usize,
}

impl Scanner {
    /// A scanner at the start of a statement.
    pub fn new(dialect: Dialect) -> Self {
        let text = [0; WORD_MAX];
        Self { dialect, state: State::Gap, at: 0, start: 0, versioned: false, text, text_len: 0 }
    }

    /// Scans a chunk; `emit` gets each token that ended in it, with the text of words and quoted
    /// identifiers (cut to a few bytes more than any function name).
    pub fn feed(&mut self, chunk: &[u8], mut emit: impl FnMut(Token, &[u8])) {
        let mut i = 0;
        while i < chunk.len() {
            // Long strings and comments are skipped at memchr's speed.
            if let State::InQuote(q) = self.state
                && self.text_len == WORD_MAX
                && self.dialect.multibyte == Multibyte::Safe
            {
                let n = memchr::memchr2(q, b'\\', &chunk[i..]).unwrap_or(chunk.len() - i);
                i += n;
                self.at += n;
                if i == chunk.len() {
                    break;
                }
            }
            if self.step(chunk[i], &mut emit) {
                i += 1;
                self.at += 1;
            }
        }
    }

    /// Ends the statement. False when it ends inside a string or a comment.
    pub fn finish(&mut self, mut emit: impl FnMut(Token, &[u8])) -> bool {
        let whole = match self.state {
            State::Word | State::Trail(TrailOf::Word) => {
                self.end_text(Kind::Word, &mut emit);
                true
            }
            State::Dash => self.emit_last(b'-', &mut emit),
            State::Slash => self.emit_last(b'/', &mut emit),
            State::Star => self.emit_last(b'*', &mut emit),
            State::MaybeEnd(q) => {
                self.end_quote(q, &mut emit);
                true
            }
            // `--` at the very end is a comment.
            State::Gap | State::LineComment | State::DashDash => true,
            State::Open
            | State::OpenM
            | State::Version { .. }
            | State::Block { .. }
            | State::InQuote(_)
            | State::Escaped(_)
            | State::Trail(TrailOf::Quote(_)) => false,
        };
        self.state = State::Gap;
        whole && !self.versioned
    }

    fn emit_last(&mut self, b: u8, emit: &mut impl FnMut(Token, &[u8])) -> bool {
        self.emit_at(Kind::Punct(b), emit);
        true
    }

    /// Handles one byte; false when the byte must be looked at again in the new state.
    fn step(&mut self, b: u8, emit: &mut impl FnMut(Token, &[u8])) -> bool {
        match self.state {
            State::Gap => self.gap(b, emit),
            State::Word => {
                if self.dialect.multibyte.leads(b) {
                    self.keep(b);
                    self.state = State::Trail(TrailOf::Word);
                } else if is_word(b) {
                    self.keep(b);
                } else {
                    self.end_text(Kind::Word, emit);
                    self.state = State::Gap;
                    return false;
                }
                true
            }
            State::Trail(of) => {
                self.state = match of {
                    TrailOf::Word => State::Word,
                    TrailOf::Quote(q) => State::InQuote(q),
                };
                // A lead byte before anything else stands alone.
                if !Multibyte::trails(b) {
                    return false;
                }
                self.keep(b);
                true
            }
            State::InQuote(_) | State::Escaped(_) | State::MaybeEnd(_) => self.quote(b, emit),
            State::Dash => {
                if b == b'-' {
                    self.state = State::DashDash;
                    return true;
                }
                self.emit_at(Kind::Punct(b'-'), emit);
                self.state = State::Gap;
                false
            }
            State::DashDash => {
                // `--` is a comment only before white space or a control character.
                if is_space(b) || b.is_ascii_control() {
                    self.state = State::LineComment;
                } else {
                    self.emit_at(Kind::Punct(b'-'), emit);
                    self.start += 1;
                    self.emit_at(Kind::Punct(b'-'), emit);
                    self.state = State::Gap;
                }
                false
            }
            State::LineComment => {
                if b == b'\n' {
                    self.state = State::Gap;
                }
                true
            }
            State::Slash => {
                if b == b'*' {
                    self.state = State::Open;
                    return true;
                }
                self.emit_at(Kind::Punct(b'/'), emit);
                self.state = State::Gap;
                false
            }
            State::Star => {
                if b == b'/' {
                    self.versioned = false;
                    self.emit_at(Kind::Versioned, emit);
                    self.state = State::Gap;
                    return true;
                }
                self.emit_at(Kind::Punct(b'*'), emit);
                self.state = State::Gap;
                false
            }
            State::Open | State::OpenM | State::Version { .. } => self.open(b, emit),
            State::Block { .. } => {
                self.block(b, emit);
                true
            }
        }
    }

    fn gap(&mut self, b: u8, emit: &mut impl FnMut(Token, &[u8])) -> bool {
        self.start = self.at;
        self.text_len = 0;
        self.state = match b {
            b'-' => State::Dash,
            b'#' => State::LineComment,
            b'/' => State::Slash,
            b'*' if self.versioned => State::Star,
            b'\'' | b'"' | b'`' => State::InQuote(b),
            _ if is_word(b) || self.dialect.multibyte.leads(b) => {
                self.state = State::Word;
                return false;
            }
            _ if is_space(b) => State::Gap,
            _ => {
                self.emit_at(Kind::Punct(b), emit);
                State::Gap
            }
        };
        true
    }

    fn quote(&mut self, b: u8, emit: &mut impl FnMut(Token, &[u8])) -> bool {
        match self.state {
            State::MaybeEnd(q) if b == q => {
                self.keep(b);
                self.state = State::InQuote(q);
                true
            }
            State::MaybeEnd(q) => {
                self.end_quote(q, emit);
                self.state = State::Gap;
                false
            }
            State::Escaped(q) if self.dialect.multibyte.leads(b) => {
                self.state = State::Trail(TrailOf::Quote(q));
                true
            }
            State::Escaped(q) => {
                self.keep(b);
                self.state = State::InQuote(q);
                true
            }
            State::InQuote(q) => {
                if self.dialect.multibyte.leads(b) {
                    self.keep(b);
                    self.state = State::Trail(TrailOf::Quote(q));
                } else if b == q {
                    self.state = State::MaybeEnd(q);
                } else if b == b'\\' && self.escapes(q) {
                    self.keep(b);
                    self.state = State::Escaped(q);
                } else {
                    self.keep(b);
                }
                true
            }
            _ => true,
        }
    }

    fn open(&mut self, b: u8, emit: &mut impl FnMut(Token, &[u8])) -> bool {
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

    fn block(&mut self, b: u8, emit: &mut impl FnMut(Token, &[u8])) {
        let State::Block { star, slash, depth, hint } = self.state else {
            return;
        };
        self.state = if star && b == b'/' {
            if depth > 1 {
                State::Block { star: false, slash: false, depth: depth - 1, hint }
            } else {
                if hint {
                    let (start, end) = (self.start, self.at + 1);
                    emit(Token { kind: Kind::Hint, start, end }, &[]);
                }
                State::Gap
            }
        } else if depth == 1 && slash && b == b'*' {
            State::Block { star: false, slash: false, depth: 2, hint }
        } else {
            State::Block { star: b == b'*', slash: b == b'/', depth, hint }
        };
    }

    fn escapes(&self, q: u8) -> bool {
        !self.dialect.no_backslash_escapes && self.is_string(q)
    }

    fn is_string(&self, q: u8) -> bool {
        q == b'\'' || (q == b'"' && !self.dialect.ansi_quotes)
    }

    fn keep(&mut self, b: u8) {
        if self.text_len < WORD_MAX {
            self.text[self.text_len] = b;
            self.text_len += 1;
        }
    }

    fn end_text(&mut self, kind: Kind, emit: &mut impl FnMut(Token, &[u8])) {
        emit(Token { kind, start: self.start, end: self.at }, &self.text[..self.text_len]);
    }

    fn end_quote(&mut self, q: u8, emit: &mut impl FnMut(Token, &[u8])) {
        self.end_text(if self.is_string(q) { Kind::String } else { Kind::Quoted }, emit);
    }

    fn emit_at(&mut self, kind: Kind, emit: &mut impl FnMut(Token, &[u8])) {
        emit(Token { kind, start: self.start, end: self.start + 1 }, &[]);
    }
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || b >= 0x80
}

/// White space of the server's lexer, which counts vertical tab.
pub fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t'..=b'\r')
}
