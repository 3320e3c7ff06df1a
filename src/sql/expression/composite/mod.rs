//! Lock calls in a statement that is more than one bare call. Known of them are their places, their arguments, and
//! whether the server would certainly come to evaluate them.

use std::ops::Range;

use super::argument::{Argument, argument};
use super::items::Item;
use super::listing::Listing;
use super::nesting::Tokens;
use super::settings::{after_settings, calls_in_settings};
pub use super::verb::Verb;
use crate::lock::function::Function;
use crate::sql::find::finder::MAX_CALLS;
pub use crate::sql::find::words::Back;
use crate::sql::lexer::dialect::Dialect;
use crate::sql::lexer::scanner::{Kind, Token, is_space};
use crate::sql::lexer::tokens::{TokenCursor, code, holds, only_statement};

/// Calls within each other's arguments; more are refused.
const MAX_DEPTH: usize = 64;

/// For each call all tokens are looked at: calls times tokens; more are refused.
const MAX_WORK: usize = 1 << 21;

/// A statement with lock calls, or that lists locks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Composite {
    /// What the statement does.
    pub verb: Verb,
    /// The calls that are not arguments of another, in the order in which they are evaluated.
    pub calls: Vec<Call>,
    /// The statement reads or writes tables.
    pub tables: bool,
    /// The statement reads from something, derived tables included, so that names of columns mean something.
    pub reads: bool,
    /// The statement may be run again, with other expressions in the calls' places.
    pub repeatable: bool,
    /// Where its parameters stand.
    pub params: Vec<usize>,
    /// Where it begins after `SET STATEMENT … FOR`; 0 if it has none.
    pub start: usize,
    /// Where it ends, without semicolons.
    pub end: usize,
    /// Which of those parameters LIMIT or OFFSET has, which take numbers only.
    pub limits: Vec<usize>,
    /// The statement has UNION or its like.
    pub union: bool,
    /// INTO and its variables, and how many there are.
    pub into: Option<(Range<usize>, usize)>,
    /// Where it asks for results that the statement before left in the session.
    pub looks_back: Vec<(Range<usize>, Back)>,
    /// A table of the server's that lists locks, and that the statement reads.
    pub lists: Option<Listing>,
}

/// A call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The function.
    pub function: Function,
    /// Place of the call in the text.
    pub span: Range<usize>,
    /// Arguments of the call.
    pub arguments: Vec<Part>,
    /// The server evaluates the call exactly once, if it evaluates the calls before it without an error. In a statement
    /// over tables, this holds if the call has an item.
    pub certain: bool,
    /// The call is in an expression that may leave out its parts.
    pub conditional: bool,
    /// The call is in a condition on rows.
    pub filters: bool,
    /// In SET, DO and what writes a row: the expression around it, which is evaluated by itself.
    pub item: Option<Item>,
    /// The call is in a derived table.
    pub derived: bool,
}

/// An argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Place of the argument in the text.
    pub span: Range<usize>,
    /// The literal that the argument is, if it is one.
    pub literal: Option<Argument>,
    /// Calls in the argument.
    pub calls: Vec<Call>,
    /// The argument may be evaluated more than once.
    pub repeatable: bool,
    /// The argument names a variable that this statement assigns before.
    pub assigned_here: bool,
}

impl Call {
    /// Whether it changes nothing.
    pub fn looks(&self) -> bool {
        matches!(self.function, Function::IsFreeLock | Function::IsUsedLock)
    }

    /// Whether it changes nothing, and nobody notices that its arguments are evaluated though it is
    /// not.
    pub fn only_looks(&self) -> bool {
        self.looks() && self.arguments.iter().all(|part| part.repeatable && part.calls.is_empty())
    }
}

/// Reads a statement; `None` if it is of a kind that is not covered.
pub fn read(text: &[u8], tokens: &[Token], dialect: Dialect) -> Option<Composite> {
    let hint = tokens.iter().any(|t| t.kind == Kind::Hint);
    let marks: Vec<Token> = tokens.iter().filter(|t| t.kind == Kind::Versioned).copied().collect();
    let code = code(tokens);
    let code = only_statement(&code)?;
    let after = after_settings(text, code);
    if calls_in_settings(text, code, after, dialect) {
        return None;
    }
    let mut composite = Tokens::new(text, code.get(after..)?, dialect)?.statement()?;
    composite.start = if after > 0 { code[after].start } else { 0 };
    // A versioned comment that is still open has to be closed.
    let before = marks[..marks.partition_point(|m| m.start < composite.end)].last();
    let closing = marks.iter().find(|m| m.start >= composite.end && !m.opens(text));
    if before.is_some_and(|m| m.opens(text))
        && let Some(close) = closing
    {
        composite.end = close.start + b"*/".len();
    }
    // Cut off before the comment that follows, two dashes would begin one.
    let ends = |b: &u8| *b == b';' || is_space(*b);
    if text[..composite.end].ends_with(b"--") && !text[composite.end..].iter().all(ends) {
        return None;
    }
    // Half a comment cannot be replaced.
    let parted = |span: &Range<usize>| holds(&marks, span);
    let item = |c: &'_ Call| c.item.as_ref().map(|item| item.span.clone());
    let mut parts = composite.calls.iter().flat_map(|c| [Some(c.span.clone()), item(c)]).flatten();
    let settings = 0..composite.start;
    if parts.any(|part| parted(&part))
        || parted(&settings)
        || composite.into.iter().any(|(span, _)| parted(span))
    {
        return None;
    }
    // Half a comment may stand where a listing is.
    composite.lists = composite.lists.filter(|_| marks.is_empty());
    if composite.calls.is_empty() && composite.lists.is_none() && composite.looks_back.is_empty() {
        return None;
    }
    // A hint or a setting may be that of sql_select_limit.
    let unsure = hint || after > 0;
    composite.calls.iter_mut().for_each(|call| call.certain &= !unsure);
    Some(composite)
}

impl Tokens<'_> {
    fn statement(&self) -> Option<Composite> {
        let verb = self.verb()?;
        let all = 0..self.list.len();
        // Counted first: calls are read as deep as they are nested.
        let count = all.clone().filter(|i| self.call_at(*i).is_some()).count();
        let lists = self.listing(verb);
        let work = count.saturating_mul(self.list.len());
        if count > MAX_CALLS
            || work > MAX_WORK
            || self.nests_deeper_than(MAX_DEPTH)
            || (count == 0 && lists.is_none() && self.looks_back().is_empty())
        {
            return None;
        }
        let mut calls = self.calls(all.clone())?;
        let named = self.with_names();
        let tables = matches!(verb, Verb::Change | Verb::Show)
            || (verb == Verb::Explain && self.plans_rows())
            || self.reads_tables_in(all, &named);
        let items = self.items(verb);
        let mut last: Option<(Range<usize>, Item)> = None;
        for call in &mut calls {
            let at = self.list.partition_point(|t| t.start < call.span.start);
            call.conditional = self.is_conditional(at);
            call.filters = self.filters(at);
            call.derived = self.is_derived(at);
            let Some((part, reached)) = items.around(at) else { continue };
            call.certain = reached && self.is_first(at, &part) && self.is_quiet(part.start..at);
            if last.as_ref().is_none_or(|(before, _)| *before != part) {
                last = Some((part.clone(), self.item(part, reached, &named)));
            }
            // Without tables the whole of other statements can be run again.
            if verb == Verb::Set || (tables && verb != Verb::Rows) {
                call.item = last.as_ref().map(|(_, item)| item.clone());
            }
        }
        Some(Composite {
            verb,
            calls,
            tables,
            reads: tables || self.selects_from(),
            repeatable: self.is_repeatable(self.list),
            params: (0..self.list.len())
                .filter(|i| self.punct(*i, b'?'))
                .map(|i| self.list[i].start)
                .collect(),
            limits: (0..self.list.len())
                .filter(|i| self.limits(*i))
                .map(|i| self.list[i].start)
                .collect(),
            union: self.has_union(),
            start: 0,
            end: self.list.last()?.end,
            into: if verb == Verb::Rows { self.into()? } else { None },
            looks_back: self.looks_back(),
            lists,
        })
    }

    /// Whether calls are in each other's arguments in more levels than these.
    fn nests_deeper_than(&self, levels: usize) -> bool {
        let mut open = Vec::new();
        (0..self.list.len()).filter(|i| self.call_at(*i).is_some()).any(|i| {
            while open.pop_if(|close| *close < i).is_some() {}
            open.push(self.closes[i + 1]);
            open.len() > levels
        })
    }

    /// The outermost calls among some tokens.
    fn calls(&self, range: Range<usize>) -> Option<Vec<Call>> {
        let mut calls = Vec::new();
        let mut i = range.start;
        while i < range.end {
            let Some(function) = self.call_at(i) else {
                i += 1;
                continue;
            };
            let close = self.closes[i + 1];
            let first = i - self.qualified(i);
            let mut span = self.list[first].start..self.list[close].end;
            // {fn GET_LOCK(…) + 1} holds more than the call.
            let braced = first >= 2 && self.is(first - 1, "fn") && self.punct(first - 2, b'{');
            if braced && self.punct(close + 1, b'}') {
                span = self.list[first - 2].start..self.list[close + 1].end;
            }
            calls.push(Call {
                function,
                span,
                arguments: self.arguments(i + 2..close)?,
                certain: false,
                conditional: false,
                filters: false,
                derived: false,
                item: None,
            });
            i = close + 1;
        }
        Some(calls)
    }

    fn arguments(&self, range: Range<usize>) -> Option<Vec<Part>> {
        /// More arguments than any of the functions has: the server says so.
        const MOST: usize = 8;
        let mut parts = Vec::new();
        let Some(first) = self.list.get(range.start).filter(|_| !range.is_empty()) else {
            return Some(parts);
        };
        let depth = self.depths[range.start] - u32::from(first.kind == Kind::Punct(b')'));
        let mut start = range.start;
        for i in range.clone() {
            if self.punct(i, b',') && self.depths[i] == depth {
                if parts.len() == MOST {
                    return None;
                }
                parts.push(self.part(start..i)?);
                start = i + 1;
            }
        }
        parts.push(self.part(start..range.end)?);
        Some(parts)
    }

    fn part(&self, range: Range<usize>) -> Option<Part> {
        let tokens = &self.list[range.clone()];
        let span = tokens.first()?.start..tokens.last()?.end;
        let mut calls = self.calls(range.clone())?;
        for call in &mut calls {
            call.certain = call.span == span;
        }
        let mut cursor = TokenCursor::new(self.text, tokens);
        let literal = argument(&mut cursor).filter(|_| cursor.left() == 0);
        Some(Part {
            span,
            literal,
            // Calls are looked for by evaluating it again.
            repeatable: self.is_repeatable(tokens)
                && (calls.is_empty() || !self.reads_tables_in(range.clone(), &self.with_names())),
            calls,
            assigned_here: range.clone().any(|i| self.punct(i, b'@')) && self.assigns(range.start),
        })
    }
}

#[cfg(test)]
mod tests;
