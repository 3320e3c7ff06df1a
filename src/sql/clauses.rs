//! Tokens of a statement with their parentheses, and what stands around a lock call.

use std::ops::Range;

use super::composite::Verb;
use super::effects::is_quiet;
use super::scanner::{Kind, Token};
use crate::lock::function::Function;

/// The tokens of one statement.
pub(super) struct Tokens<'a> {
    pub(super) text: &'a [u8],
    pub(super) tokens: &'a [Token],
    /// Of a parenthesis that opens, the one that closes it.
    pub(super) closes: Vec<usize>,
    /// Parentheses open around a token.
    pub(super) depths: Vec<u32>,
}

impl<'a> Tokens<'a> {
    /// None if parentheses do not match.
    pub(super) fn new(text: &'a [u8], tokens: &'a [Token]) -> Option<Self> {
        let mut closes = vec![0; tokens.len()];
        let mut depths = Vec::with_capacity(tokens.len());
        let mut open = Vec::new();
        for (i, token) in tokens.iter().enumerate() {
            if token.kind == Kind::Punct(b')') {
                closes[open.pop()?] = i;
            }
            depths.push(u32::try_from(open.len()).ok()?);
            if token.kind == Kind::Punct(b'(') {
                open.push(i);
            }
        }
        open.is_empty().then_some(Self { text, tokens, closes, depths })
    }

    /// The lock function that is called at a token.
    pub(super) fn call_at(&self, i: usize) -> Option<Function> {
        let token = self.tokens[i];
        let name = match token.kind {
            Kind::Word => &self.text[token.start..token.end],
            Kind::Quoted => self.text.get(token.start + 1..token.end - 1)?,
            _ => return None,
        };
        let function = Function::from_name(name)?;
        let qualified = i > 0 && self.punct(i - 1, b'.');
        (!qualified && self.punct(i + 1, b'(')).then_some(function)
    }

    /// Whether a table is named.
    pub(super) fn reads_tables(&self) -> bool {
        let named: Vec<Vec<u8>> = self.with_names();
        let table_behind = |i: usize| {
            let Some(next) = self.tokens.get(i + 1) else { return false };
            let known = self.is(i + 1, "DUAL") || named.contains(&self.name(next));
            matches!(next.kind, Kind::Word | Kind::Quoted) && !known
        };
        (0..self.tokens.len()).any(|i| {
            // EXTRACT(x FROM y), TRIM(x FROM y)
            let clause = self.select_around(i);
            (self.is(i, "FROM") && clause && table_behind(i))
                || ((self.is(i, "JOIN") || self.is(i, "STRAIGHT_JOIN")) && table_behind(i))
                || (self.is(i, "TABLE") && table_behind(i))
                || (self.punct(i, b',') && self.behind_from(i) && table_behind(i))
        })
    }

    /// Whether nothing but the statement's list decides what is evaluated.
    pub(super) fn is_plain(&self) -> bool {
        const CLAUSES: [&str; 11] = [
            "FROM",
            "WHERE",
            "HAVING",
            "LIMIT",
            "UNION",
            "INTERSECT",
            "EXCEPT",
            "GROUP",
            "ORDER",
            "WITH",
            "VALUES",
        ];
        let dual = |i: usize| self.is(i, "FROM") && self.is(i + 1, "DUAL");
        !(0..self.tokens.len())
            .any(|i| self.depths[i] == 0 && !dual(i) && CLAUSES.iter().any(|c| self.is(i, c)))
            && self.depths[0] == 0
            && !self.punct(0, b'(')
    }

    /// Whether a call is what an item of the statement's list evaluates first.
    pub(super) fn is_first(&self, at: usize, verb: Verb) -> bool {
        const OPENING: [&str; 8] =
            ["NOT", "BINARY", "CASE", "WHEN", "IF", "IFNULL", "COALESCE", "NULLIF"];
        const BEHIND_VERB: [&str; 3] = ["DISTINCT", "ALL", "SQL_NO_CACHE"];
        let mut i = at;
        while let Some(before) = i.checked_sub(1) {
            if self.depths[before] == 0 && (before == 0 || self.punct(before, b',')) {
                return before > 0 || verb != Verb::Set;
            }
            if verb == Verb::Set && self.depths[before] == 0 && self.punct(before, b'=') {
                return true;
            }
            let assigns = self.punct(before, b'=')
                && before >= 3
                && self.punct(before - 1, b':')
                && self.punct(before - 3, b'@');
            if assigns {
                i = before - 3;
                continue;
            }
            let opens = matches!(
                self.tokens[before].kind,
                Kind::Punct(b'(' | b'!' | b'-' | b'+' | b'~' | b'{')
            );
            let word = OPENING.iter().any(|w| self.is(before, w))
                || self.is(before, "fn")
                || (self.depths[before] == 0 && BEHIND_VERB.iter().any(|w| self.is(before, w)))
                || (self.punct(before + 1, b'(') && is_quiet(&self.upper(&self.tokens[before])));
            if !opens && !word {
                return false;
            }
            i = before;
        }
        false
    }

    /// Whether nothing before a call can end the statement with an error, or takes time.
    pub(super) fn quiet_before(&self, at: usize) -> bool {
        (0..at).filter(|i| self.punct(i + 1, b'(')).all(|i| match self.tokens[i].kind {
            Kind::Word => is_quiet(&self.upper(&self.tokens[i])) || self.call_at(i).is_some(),
            Kind::Quoted => self.call_at(i).is_some(),
            _ => true,
        })
    }

    /// Whether a call stands in IF, CASE or the like.
    pub(super) fn is_conditional(&self, at: usize) -> bool {
        const CONDITIONS: [&str; 5] = ["IF", "IFNULL", "NULLIF", "COALESCE", "ELT"];
        let around = (0..at).filter(|i| self.punct(*i, b'(') && self.closes[*i] > at);
        let mut functions = around.filter_map(|i| i.checked_sub(1));
        let open_case = |word: &str| (0..at).filter(|i| self.is(*i, word)).count();
        functions.any(|i| CONDITIONS.iter().any(|c| self.is(i, c)))
            || open_case("CASE") > open_case("END")
    }

    /// Whether a user variable may be assigned before a token: by `:=`, or by an earlier item of SET.
    pub(super) fn assigns(&self, before: usize) -> bool {
        let set = self.is(0, "SET");
        (0..before).any(|i| {
            (self.punct(i, b':') && self.punct(i + 1, b'=') && !set)
                || (set && self.punct(i, b',') && self.depths[i] == 0)
        })
    }

    /// In SET, what is assigned by the item around a token.
    pub(super) fn assigned(&self, at: usize) -> Option<Range<usize>> {
        let top = |i: &usize| self.depths[*i] == 0;
        let equals = (0..at).rev().filter(top).find(|i| self.punct(*i, b'='))?;
        let end = (at..self.tokens.len()).filter(top).find(|i| self.punct(*i, b','));
        let last = end.unwrap_or(self.tokens.len()) - 1;
        Some(self.tokens[equals + 1].start..self.tokens[last].end)
    }

    /// INTO with its variables; `None` if it names anything else.
    #[expect(clippy::option_option, reason = "no INTO, or one that is not covered")]
    pub(super) fn into(&self) -> Option<Option<Range<usize>>> {
        let Some(at) = (0..self.tokens.len()).find(|i| self.is(*i, "INTO")) else {
            return Some(None);
        };
        if self.depths[at] != 0 {
            return None;
        }
        let mut i = at;
        loop {
            if !self.punct(i + 1, b'@') {
                return None;
            }
            i += 2;
            self.tokens.get(i)?;
            if !self.punct(i + 1, b',') {
                return Some(Some(self.tokens[at].start..self.tokens[i].end));
            }
            i += 1;
        }
    }

    pub(super) fn looks_back(&self) -> bool {
        const STATE: [&str; 5] =
            ["ROW_COUNT", "FOUND_ROWS", "warning_count", "error_count", "DIAGNOSTICS"];
        (0..self.tokens.len()).any(|i| STATE.iter().any(|s| self.is(i, s)))
    }

    pub(super) fn is(&self, i: usize, word: &str) -> bool {
        self.tokens.get(i).is_some_and(|t| {
            t.kind == Kind::Word && self.text[t.start..t.end].eq_ignore_ascii_case(word.as_bytes())
        })
    }

    pub(super) fn punct(&self, i: usize, b: u8) -> bool {
        self.tokens.get(i).is_some_and(|t| t.kind == Kind::Punct(b))
    }

    /// Whether the nearest parenthesis around a token, or none, holds a SELECT.
    fn select_around(&self, i: usize) -> bool {
        let depth = self.depths[i];
        let mut back = (0..i).rev().take_while(|j| self.depths[*j] >= depth);
        back.any(|j| self.depths[j] == depth && self.is(j, "SELECT"))
    }

    /// Whether a comma stands in a list of tables.
    fn behind_from(&self, i: usize) -> bool {
        let depth = self.depths[i];
        let clauses = ["WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "SELECT", "UNION", "WINDOW"];
        let back = (0..i).rev().take_while(|j| self.depths[*j] >= depth);
        back.filter(|j| self.depths[*j] == depth)
            .find(|j| self.is(*j, "FROM") || clauses.iter().any(|c| self.is(*j, c)))
            .is_some_and(|j| self.is(j, "FROM"))
    }

    /// Names of common table expressions.
    fn with_names(&self) -> Vec<Vec<u8>> {
        if !(0..self.tokens.len()).any(|i| self.is(i, "WITH")) {
            return Vec::new();
        }
        let as_query = |i: usize| self.is(i, "AS") && self.punct(i + 1, b'(');
        let named = (1..self.tokens.len()).filter(|i| as_query(*i)).filter_map(|i| {
            let mut at = i - 1;
            if self.punct(at, b')') {
                at = self.closes.iter().position(|c| *c == at)?.checked_sub(1)?;
            }
            Some(self.name(&self.tokens[at]))
        });
        named.collect()
    }

    pub(super) fn upper(&self, token: &Token) -> Vec<u8> {
        self.text[token.start..token.end].to_ascii_uppercase()
    }

    /// A name without its quotes, in one letter case.
    fn name(&self, token: &Token) -> Vec<u8> {
        let mut name = self.upper(token);
        if token.kind == Kind::Quoted && name.len() >= 2 {
            name.pop();
            name.remove(0);
        }
        name
    }
}
