//! Expressions that a statement evaluates one after the other and once each, whatever tables hold. These are what SET
//! assigns, what DO and SELECT list, and the first row that INSERT or REPLACE writes.

use std::collections::HashSet;
use std::ops::Range;

use super::clauses::CLAUSES;
use super::nesting::Tokens;
use super::verb::Verb;
use crate::sql::lexer::scanner::Kind;

/// The expression around a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Place of the expression.
    pub span: Range<usize>,
    /// Nothing before it ends the statement with an error: the server reaches it.
    pub reached: bool,
    /// The expression reads no tables and may be evaluated again, by itself.
    pub repeatable: bool,
}

/// The items of a statement, by their tokens.
pub(in crate::sql) struct Items {
    ranges: Vec<Range<usize>>,
    /// Number of items that are reached, if there are so many.
    reached: usize,
}

impl Items {
    const NONE: Self = Self { ranges: Vec::new(), reached: 0 };

    /// The tokens of the item around one, and whether it is reached.
    pub(in crate::sql) fn around(&self, at: usize) -> Option<(Range<usize>, bool)> {
        let nth = self.ranges.partition_point(|range| range.end <= at);
        let range = self.ranges.get(nth).filter(|range| range.contains(&at))?;
        Some((range.clone(), nth < self.reached))
    }
}

impl Tokens<'_> {
    /// The items of the statement.
    pub(in crate::sql) fn items(&self, verb: Verb) -> Items {
        let all = self.list.len();
        match verb {
            Verb::Set => {
                let assigned = |part| self.sets_variable(&part) && self.lets_go_on(part);
                self.assigned_in(1..all, assigned)
            }
            Verb::Do => self.listed_in(1..all, |part| self.lets_go_on(part)),
            Verb::Rows if self.is(0, "SELECT") && self.has_only_a_list(0) => {
                self.listed_in(1..all, |part| self.lets_go_on(part))
            }
            Verb::Change if self.is(0, "INSERT") || self.is(0, "REPLACE") => self.written(),
            // Whether the server reaches the arguments of CALL depends on the procedure.
            Verb::Rows | Verb::Change | Verb::Explain | Verb::Show => Items::NONE,
        }
    }

    /// The properties of an item; `named` are the names of common table expressions.
    pub(in crate::sql) fn item(
        &self,
        part: Range<usize>,
        reached: bool,
        named: &HashSet<Vec<u8>>,
    ) -> Item {
        let tokens = &self.list[part.clone()];
        let span = match (tokens.first(), tokens.last()) {
            (Some(first), Some(last)) => first.start..last.end,
            _ => 0..0,
        };
        let repeatable = self.is_repeatable(tokens) && !self.reads_tables_in(part, named);
        Item { span, reached, repeatable }
    }

    /// The values that INSERT and REPLACE write into their first row.
    fn written(&self) -> Items {
        let words = |i: usize, words: &[&str]| {
            self.depths[i] == 0 && words.iter().any(|word| self.is(i, word))
        };
        let starts = |i: &usize| {
            words(*i, &["SELECT", "SET"])
                || (words(*i, &["VALUES", "VALUE"]) && self.punct(*i + 1, b'('))
        };
        let all = self.list.len();
        let Some(start) = (1..all).find(starts) else { return Items::NONE };
        let ends = |i: &usize| words(*i, &["ON", "AS", "RETURNING"]);
        let end = (start..all).find(ends).unwrap_or(all);
        let simple = |part| self.is_simple(part);
        if self.is(start, "SET") {
            self.assigned_in(start + 1..end, simple)
        } else if !self.is(start, "SELECT") {
            self.listed_in(start + 2..self.closes[start + 1], simple)
        } else if self.has_only_a_list(start) {
            self.listed_in(start + 1..end, simple)
        } else {
            Items::NONE
        }
    }

    /// Whether a SELECT has no clauses, and nothing in it evaluates its list again: it has one row.
    fn has_only_a_list(&self, select: usize) -> bool {
        let dual = |i: usize| self.is(i, "FROM") && self.is(i + 1, "DUAL");
        let clause = |i: usize| self.depths[i] == 0 && CLAUSES.iter().any(|word| self.is(i, word));
        let decides =
            |i: usize| (clause(i) && !dual(i)) || (self.is(i, "SELECT") && !self.in_call[i]);
        !(select + 1..self.list.len()).any(decides)
    }

    /// The parts between commas; `passes` says which parts end no statement with an error.
    fn listed_in(&self, range: Range<usize>, passes: impl Fn(Range<usize>) -> bool) -> Items {
        let mut ranges = Vec::new();
        let mut start = range.start;
        for i in range.clone() {
            if self.punct(i, b',') && self.depths[i] == self.depths[range.start] {
                ranges.push(start..i);
                start = i + 1;
            }
        }
        if start < range.end {
            ranges.push(start..range.end);
        }
        let stops = ranges.iter().position(|part| !passes(part.clone()));
        Items { reached: stops.map_or(ranges.len(), |nth| nth + 1), ranges }
    }

    /// The parts of assignments: the expression after `=` of each.
    fn assigned_in(&self, range: Range<usize>, passes: impl Fn(Range<usize>) -> bool) -> Items {
        let mut items = self.listed_in(range, passes);
        for part in &mut items.ranges {
            part.start = self.equals_in(part).map_or(part.end, |equals| equals + 1);
        }
        items
    }

    /// The first `=` of an assignment; others compare.
    fn equals_in(&self, part: &Range<usize>) -> Option<usize> {
        part.clone().find(|i| self.punct(*i, b'=') && self.depths[*i] == self.depths[part.start])
    }

    /// Whether an assignment is one to a user variable, which takes any value.
    fn sets_variable(&self, part: &Range<usize>) -> bool {
        self.punct(part.start, b'@') && !self.punct(part.start + 1, b'@')
    }

    /// Whether an expression can end no statement with an error.
    fn lets_go_on(&self, part: Range<usize>) -> bool {
        let query = |i: usize| {
            !self.in_call[i] && ["SELECT", "TABLE", "VALUES"].iter().any(|word| self.is(i, word))
        };
        !part.clone().any(query) && self.is_quiet(part)
    }

    /// Whether only its column can refuse a value: a literal, a name or a lock call, alone.
    fn is_simple(&self, part: Range<usize>) -> bool {
        let start = self.equals_in(&part).map_or(part.start, |equals| equals + 1);
        if start >= part.end {
            return false;
        }
        if self.call_at(start).is_some() {
            return self.closes[start + 1] + 1 == part.end;
        }
        let first = start + usize::from(self.punct(start, b'-') || self.punct(start, b'@'));
        let digits = |i: usize| self.text[self.list[i].start].is_ascii_digit();
        match part.end - first {
            1 => !matches!(self.list[first].kind, Kind::Punct(b) if b != b'?'),
            // 1.5
            3 if self.punct(first + 1, b'.') => digits(first) && digits(first + 2),
            // NOW()
            3 => {
                self.punct(first + 1, b'(')
                    && (self.is_quiet(first..part.end) || self.is_clock(first))
            }
            // NOW(3)
            4 => self.punct(first + 1, b'(') && digits(first + 2) && self.is_clock(first),
            _ => false,
        }
    }

    /// Whether a function tells the time, with digits of a second or without: after a gap it may be a stored function.
    fn is_clock(&self, at: usize) -> bool {
        const CLOCKS: [&str; 10] = [
            "NOW",
            "CURRENT_TIMESTAMP",
            "LOCALTIME",
            "LOCALTIMESTAMP",
            "SYSDATE",
            "CURTIME",
            "CURRENT_TIME",
            "UTC_TIMESTAMP",
            "UTC_TIME",
            "UNIX_TIMESTAMP",
        ];
        const DATES: [&str; 3] = ["CURDATE", "CURRENT_DATE", "UTC_DATE"];
        let digits = !self.punct(at + 2, b')');
        // With an argument, it converts a time.
        let converts = digits && self.is(at, "UNIX_TIMESTAMP");
        let adjoins = self.list[at].end == self.list[at + 1].start;
        let named = |names: &[&str]| names.iter().any(|name| self.is(at, name));
        self.list[at].kind == Kind::Word
            && adjoins
            && !converts
            && (named(&CLOCKS) || !digits && named(&DATES))
    }
}
