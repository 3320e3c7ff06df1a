//! All tokens of a text, and reading them from left to right.

use std::ops::Range;

use super::dialect::Dialect;
use super::scanner::{Kind, Scanner, Token};

/// All tokens, and whether the text ends outside strings and comments.
pub(in crate::sql) fn tokens(text: &[u8], dialect: Dialect) -> (Vec<Token>, bool) {
    let mut tokens = Vec::new();
    let mut keep = |token, _: &[u8]| {
        tokens.push(token);
        false
    };
    let mut scanner = Scanner::new(dialect);
    scanner.feed(text, 0, &mut keep);
    let whole = scanner.finish(&mut keep);
    (tokens, whole)
}

/// Whether half a versioned comment is in a part of the text.
pub(in crate::sql) fn holds(marks: &[Token], span: &Range<usize>) -> bool {
    let next = marks.partition_point(|m| m.start < span.start);
    marks.get(next).is_some_and(|m| m.start < span.end)
}

/// Those that are code.
pub(in crate::sql) fn code(tokens: &[Token]) -> Vec<Token> {
    tokens.iter().copied().filter(Token::is_code).collect()
}

/// Those of the only statement, without semicolons after it; `None` if there are several or none.
pub(in crate::sql) fn only_statement(code: &[Token]) -> Option<&[Token]> {
    let last = code.iter().rposition(|t| !matches!(t.kind, Kind::Punct(b';' | 0)))?;
    let statement = &code[..=last];
    statement.iter().all(|t| t.kind != Kind::Punct(b';')).then_some(statement)
}

/// Reads tokens from left to right.
pub(in crate::sql) struct TokenCursor<'a> {
    text: &'a [u8],
    tokens: &'a [Token],
}

impl<'a> TokenCursor<'a> {
    /// A cursor at the first token.
    pub(in crate::sql) fn new(text: &'a [u8], tokens: &'a [Token]) -> Self {
        Self { text, tokens }
    }

    /// Tokens that are not read yet.
    pub(in crate::sql) fn left(&self) -> usize {
        self.tokens.len()
    }

    pub(in crate::sql) fn peek(&self) -> Option<Token> {
        self.tokens.first().copied()
    }

    pub(in crate::sql) fn next(&mut self) -> Option<Token> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(*first)
    }

    pub(in crate::sql) fn word(&mut self, word: &str) -> bool {
        let found = self.peek().is_some_and(|t| t.is(self.text, word));
        if found {
            self.next();
        }
        found
    }

    pub(in crate::sql) fn punct(&mut self, b: u8) -> Option<Token> {
        self.peek().filter(|t| t.kind == Kind::Punct(b)).and_then(|_| self.next())
    }

    pub(in crate::sql) fn bytes(&self, t: Token) -> &'a [u8] {
        t.bytes(self.text)
    }

    pub(in crate::sql) fn text(&self) -> &'a [u8] {
        self.text
    }
}
