//! The tokens of one statement with their parentheses. All is computed in one pass: texts are hostile.

use super::effects;
use crate::lock::function::Function;
use crate::sql::find::finder::{is_function_schema, names_what_follows};
use crate::sql::lexer::dialect::Dialect;
use crate::sql::lexer::scanner::{Kind, Token};

/// The tokens of one statement, and for each of them where it stands.
pub(in crate::sql) struct Tokens<'a> {
    pub(in crate::sql) text: &'a [u8],
    dialect: Dialect,
    pub(in crate::sql) list: &'a [Token],
    /// For a parenthesis that opens, the one that closes it.
    pub(in crate::sql) closes: Vec<usize>,
    /// For a parenthesis that closes, the one that opens it.
    pub(in crate::sql) opens: Vec<usize>,
    /// Parentheses open around it.
    pub(in crate::sql) depths: Vec<u32>,
    /// A SELECT stands before it in the same parenthesis.
    pub(in crate::sql) in_select: Vec<bool>,
    /// The token is in the list of tables after FROM.
    pub(in crate::sql) in_from: Vec<bool>,
    /// The token is in the arguments of a lock call.
    pub(in crate::sql) in_call: Vec<bool>,
}

/// The properties of an open parenthesis.
#[derive(Clone, Copy, Default)]
struct Level {
    select: bool,
    from: bool,
}

impl<'a> Tokens<'a> {
    /// None if parentheses do not match.
    pub(in crate::sql) fn new(text: &'a [u8], list: &'a [Token], dialect: Dialect) -> Option<Self> {
        let mut tokens = Self {
            text,
            dialect,
            list,
            closes: vec![0; list.len()],
            opens: vec![0; list.len()],
            depths: Vec::with_capacity(list.len()),
            in_select: Vec::with_capacity(list.len()),
            in_from: Vec::with_capacity(list.len()),
            in_call: Vec::with_capacity(list.len()),
        };
        let mut open = Vec::new();
        let mut levels = vec![Level::default()];
        for i in 0..list.len() {
            if tokens.punct(i, b')') {
                let opened = open.pop()?;
                tokens.closes[opened] = i;
                tokens.opens[i] = opened;
                levels.pop();
            }
            let level = levels.last_mut()?;
            tokens.depths.push(u32::try_from(open.len()).ok()?);
            tokens.in_select.push(level.select);
            tokens.in_from.push(level.from);
            if tokens.is(i, "SELECT") {
                *level = Level { select: true, from: false };
            } else if tokens.is(i, "FROM") {
                level.from = true;
            } else {
                let ends = ["WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "WINDOW"];
                level.from &= !ends.iter().any(|word| tokens.is(i, word));
            }
            if tokens.punct(i, b'(') {
                open.push(i);
                levels.push(Level::default());
            }
        }
        if !open.is_empty() {
            return None;
        }
        let mut until = 0;
        for i in 0..list.len() {
            tokens.in_call.push(i < until);
            if tokens.call_at(i).is_some() {
                until = until.max(tokens.closes[i + 1]);
            }
        }
        Some(tokens)
    }

    /// The lock function that is called at a token.
    pub(in crate::sql) fn call_at(&self, i: usize) -> Option<Function> {
        let token = self.list[i];
        let name = match token.kind {
            Kind::Word => token.bytes(self.text),
            Kind::Quoted => self.text.get(token.start + 1..token.end - 1)?,
            _ => return None,
        };
        let function = Function::from_name(name)?;
        let calls = !self.is_named(i) || self.qualified(i) > 0;
        (calls && self.punct(i + 1, b'(')).then_some(function)
    }

    /// Whether the token before has this one name a table, an index or a routine.
    pub(in crate::sql) fn is_named(&self, i: usize) -> bool {
        i.checked_sub(1).is_some_and(|before| {
            let token = self.list[before];
            names_what_follows(token.kind, token.bytes(self.text))
        })
    }

    /// How many tokens before a function's name qualify it by a schema of the server's functions.
    pub(in crate::sql) fn qualified(&self, i: usize) -> usize {
        let schema = i.checked_sub(2).and_then(|at| self.list.get(at)).is_some_and(|token| {
            matches!(token.kind, Kind::Word | Kind::Quoted) && is_function_schema(&self.name(token))
        });
        if schema && self.punct(i - 1, b'.') { 2 } else { 0 }
    }

    /// Whether tokens of this statement may be evaluated again.
    pub(in crate::sql) fn is_repeatable(&self, tokens: &[Token]) -> bool {
        effects::is_repeatable(self.text, tokens, self.dialect)
    }

    /// Whether a word before a parenthesis names a function that ends no statement with an error, or none.
    pub(in crate::sql) fn names_quiet(&self, i: usize) -> bool {
        let gap = self.list.get(i + 1).is_some_and(|next| next.start > self.list[i].end);
        effects::is_quiet(&self.upper(&self.list[i]), gap, self.dialect)
    }

    pub(in crate::sql) fn is(&self, i: usize, word: &str) -> bool {
        self.list.get(i).is_some_and(|t| t.is(self.text, word))
    }

    pub(in crate::sql) fn punct(&self, i: usize, b: u8) -> bool {
        self.list.get(i).is_some_and(|t| t.kind == Kind::Punct(b))
    }

    pub(in crate::sql) fn upper(&self, token: &Token) -> Vec<u8> {
        token.bytes(self.text).to_ascii_uppercase()
    }

    /// A name without its quotes, in one letter case.
    pub(in crate::sql) fn name(&self, token: &Token) -> Vec<u8> {
        let mut name = self.upper(token);
        if token.kind == Kind::Quoted && name.len() >= 2 {
            name.pop();
            name.remove(0);
        }
        name
    }
}
