//! The clauses around a lock call in its statement.

use std::collections::HashSet;
use std::ops::Range;

use super::nesting::Tokens;
use crate::lock::function::Function;
use crate::sql::find::words::Back;
use crate::sql::lexer::scanner::Kind;

/// Clauses that decide about the rows of a query.
pub(in crate::sql) const CLAUSES: [&str; 13] = [
    "FROM",
    "WHERE",
    "HAVING",
    "LIMIT",
    "OFFSET",
    "FETCH",
    "UNION",
    "INTERSECT",
    "EXCEPT",
    "GROUP",
    "ORDER",
    "WITH",
    "VALUES",
];

impl Tokens<'_> {
    /// Whether a table is named among some tokens, where common table expressions are `named` so.
    pub(in crate::sql) fn reads_tables_in(
        &self,
        range: Range<usize>,
        named: &HashSet<Vec<u8>>,
    ) -> bool {
        let table_after = |i: usize| {
            let open =
                |at: &usize| self.punct(*at, b'(') || self.punct(*at, b'{') || self.is(*at, "oj");
            let Some(at) = (i + 1..self.list.len()).find(|at| !open(at)) else { return false };
            let next = &self.list[at];
            let known = ["DUAL", "SELECT", "WITH", "VALUES"].iter().any(|w| self.is(at, w))
                || named.contains(&self.name(next));
            matches!(next.kind, Kind::Word | Kind::Quoted) && !known
        };
        let mut range = range;
        range.any(|i| {
            // EXTRACT(x FROM y), TRIM(x FROM y)
            (self.is(i, "FROM") && self.in_select[i] && table_after(i))
                || ((self.is(i, "JOIN") || self.is(i, "STRAIGHT_JOIN")) && table_after(i))
                || (self.is(i, "TABLE") && table_after(i))
                || (self.punct(i, b',') && self.in_from[i] && table_after(i))
        })
    }

    /// Whether a statement that begins with WITH changes tables.
    pub(in crate::sql) fn changes(&self) -> bool {
        let locks = |i: usize| i > 0 && self.is(i - 1, "FOR");
        (0..self.list.len()).any(|i| {
            self.depths[i] == 0 && (self.is(i, "DELETE") || (self.is(i, "UPDATE") && !locks(i)))
        })
    }

    /// Whether an EXPLAIN looks for rows: the server may evaluate conditions and what it reads from.
    pub(in crate::sql) fn plans_rows(&self) -> bool {
        let dual = |i: usize| self.is(i, "FROM") && self.is(i + 1, "DUAL");
        let decides = |word: &&&str| **word != "VALUES";
        let words = CLAUSES.iter().filter(decides).chain(&["UPDATE", "DELETE", "TABLE"]);
        (1..self.list.len()).any(|i| !dual(i) && words.clone().any(|word| self.is(i, word)))
    }

    /// Whether a call is what an item of the statement evaluates, first and once.
    pub(in crate::sql) fn is_first(&self, at: usize, item: &Range<usize>) -> bool {
        const OPENING: [&str; 5] = ["NOT", "IF", "IFNULL", "COALESCE", "CAST"];
        const BEHIND_VERB: [&str; 3] = ["DISTINCT", "ALL", "SQL_NO_CACHE"];
        let mut i = at;
        let mut alone = true;
        while i > item.start {
            let before = i - 1;
            if self.is_assignment(before)
                && before >= item.start + 3
                && self.punct(before - 3, b'@')
            {
                i = before - 3;
                continue;
            }
            let brace = self.punct(before, b'{') || self.is(before, "fn");
            let opens = self.punct(before, b'(')
                || self.punct(before, b'!')
                || OPENING.iter().any(|w| self.is(before, w));
            let after_verb = before == item.start && BEHIND_VERB.iter().any(|w| self.is(before, w));
            if !opens && !brace && !after_verb {
                return false;
            }
            alone &= brace || after_verb;
            i = before;
        }
        self.lets_be(at, item.end, alone)
    }

    /// `:=`
    fn is_assignment(&self, equals: usize) -> bool {
        equals > 0 && self.punct(equals, b'=') && self.punct(equals - 1, b':')
    }

    /// Whether what follows a call does not decide about it, and calls nothing else in its item.
    fn lets_be(&self, at: usize, item_end: usize, alone: bool) -> bool {
        let at = if self.punct(at, b'{') { at + 2 } else { at };
        let at = if self.call_at(at).is_none() { at + 2 } else { at };
        let Some(function) = self.list.get(at).and_then(|_| self.call_at(at)) else { return false };
        let close = self.closes[at + 1];
        let braced = usize::from(self.punct(close + 1, b'}'));
        let next = close + 1 + braced;
        if (next..item_end).any(|i| self.call_at(i).is_some()) {
            return false;
        }
        let ends = next >= item_end || ["AS", "INTO", "FROM"].iter().any(|w| self.is(next, w));
        if ends && alone {
            return true;
        }
        // The server knows that it is never NULL.
        if function == Function::ReleaseAllLocks {
            return false;
        }
        let compares = self.punct(next, b'=')
            && self.list.get(next + 1).is_some_and(|t| self.text[t.start].is_ascii_digit());
        let goes_on = self.punct(next, b')') || self.punct(next, b',') || self.is(next, "IS");
        ends || compares || goes_on
    }

    /// Whether nothing of a part of the statement, but lock calls, can end it with an error or takes time.
    pub(in crate::sql) fn is_quiet(&self, part: Range<usize>) -> bool {
        let overflows = |i: usize| {
            b"+-*/%~".iter().any(|b| self.punct(i, *b))
                || ["DIV", "MOD", "REGEXP", "RLIKE"].iter().any(|w| self.is(i, w))
        };
        // Character sets that do not mix: MariaDB finds out when it runs the statement.
        let introduces = |i: usize| {
            let word = &self.text[self.list[i].start..self.list[i].end];
            self.list[i].kind == Kind::Word
                && (word[0] == b'_' || word.eq_ignore_ascii_case(b"n"))
                && self.list.get(i + 1).is_some_and(|t| t.kind == Kind::String)
        };
        if part.clone().any(|i| !self.in_call[i] && (overflows(i) || introduces(i))) {
            return false;
        }
        let end = part.end;
        let mut functions = part.filter(|i| self.punct(i + 1, b'(') && !self.in_call[*i]);
        functions.all(|i| match self.list[i].kind {
            // A conversion may fail, unless it is one of what follows.
            Kind::Word if self.is(i, "CAST") || self.is(i, "CONVERT") => self.closes[i + 1] > end,
            Kind::Word => self.names_quiet(i) || self.call_at(i).is_some(),
            Kind::Quoted => self.call_at(i).is_some(),
            _ => true,
        })
    }

    /// Whether a call is in IF, CASE or the like, or after ON DUPLICATE KEY.
    pub(in crate::sql) fn is_conditional(&self, at: usize) -> bool {
        const CONDITIONS: [&str; 5] = ["IF", "IFNULL", "NULLIF", "COALESCE", "ELT"];
        // The first part is always evaluated.
        let around = (0..at).filter(|i| {
            self.punct(*i, b'(') && self.closes[*i] > at && (i + 1 < at || self.is(i - 1, "NULLIF"))
        });
        let mut functions = around.filter_map(|i| i.checked_sub(1));
        let open_case = |word: &str| (0..at).filter(|i| self.is(*i, word)).count();
        let duplicate = (0..at).any(|i| self.is(i, "DUPLICATE"));
        duplicate
            || functions.any(|i| CONDITIONS.iter().any(|c| self.is(i, c)))
            || open_case("CASE") > open_case("END")
    }

    /// Whether a user variable may be assigned before a token: by `:=`, or by an earlier item of SET.
    pub(in crate::sql) fn assigns(&self, before: usize) -> bool {
        let set = self.is(0, "SET");
        // Assignments in the arguments of calls are made when the call is carried out.
        (0..before).any(|i| {
            (self.is_assignment(i + 1) && !set && !self.in_call[i])
                || (set && self.punct(i, b',') && self.depths[i] == 0)
        })
    }

    /// INTO with its variables; `None` if it names anything else.
    #[expect(clippy::option_option, reason = "no INTO, or one that is not covered")]
    pub(in crate::sql) fn into(&self) -> Option<Option<(Range<usize>, usize)>> {
        let Some(at) = (0..self.list.len()).find(|i| self.is(*i, "INTO")) else {
            return Some(None);
        };
        if self.depths[at] != 0 {
            return None;
        }
        let mut i = at;
        let mut variables = 1;
        loop {
            if !self.punct(i + 1, b'@') {
                return None;
            }
            i += 2;
            let name = self.list.get(i)?;
            // A bare name may hold dots, and continues after them.
            if matches!(name.kind, Kind::Punct(_)) || self.punct(i + 1, b'.') {
                return None;
            }
            if !self.punct(i + 1, b',') {
                return Some(Some((self.list[at].start..self.list[i].end, variables)));
            }
            variables += 1;
            i += 1;
        }
    }

    /// Where the statement asks for results that the statement before it left in the session.
    pub(in crate::sql) fn looks_back(&self) -> Vec<(Range<usize>, Back)> {
        let spans = (0..self.list.len()).filter_map(|i| {
            let (back, variable) = Back::ALL.into_iter().find_map(|back| {
                let variable = back.is_variable();
                let called = || self.punct(i + 1, b'(') && !self.is_named(i);
                let asked = self.is(i, back.word()) && (variable || called());
                (asked && !(variable && self.is_set(i))).then_some((back, variable))
            })?;
            let start = if variable { self.variable_start(i)? } else { i };
            let end = if variable { i } else { self.closes[i + 1] };
            Some((self.list[start].start..self.list[end].end, back))
        });
        spans.collect()
    }

    /// Whether SET gives a variable a value.
    fn is_set(&self, name: usize) -> bool {
        self.is(0, "SET") && [b'=', b':'].iter().any(|sign| self.punct(name + 1, *sign))
    }

    /// Where `@@name` or `@@session.name` begins.
    fn variable_start(&self, name: usize) -> Option<usize> {
        let mut at = name;
        if at >= 2 && self.punct(at - 1, b'.') {
            at -= 2;
        }
        at = at.checked_sub(2)?;
        (self.punct(at, b'@') && self.punct(at + 1, b'@')).then_some(at)
    }

    /// Whether a call is in a condition on rows.
    pub(in crate::sql) fn filters(&self, at: usize) -> bool {
        let mut depth = self.depths[at];
        for i in (0..at).rev() {
            if self.depths[i] > depth {
                continue;
            }
            depth = self.depths[i];
            if ["WHERE", "HAVING", "ON"].iter().any(|w| self.is(i, w)) {
                return true;
            }
            if self.is(i, "SELECT") {
                return false;
            }
        }
        false
    }

    /// Whether anything but DUAL is read.
    pub(in crate::sql) fn selects_from(&self) -> bool {
        let from = |i: usize| self.is(i, "FROM") && !self.is(i + 1, "DUAL");
        (0..self.list.len()).any(|i| from(i) && self.in_select[i])
    }

    /// Whether a token is a parameter of LIMIT or OFFSET.
    pub(in crate::sql) fn limits(&self, at: usize) -> bool {
        const BEFORE: [&str; 5] = ["LIMIT", "OFFSET", "EXAMINED", "FIRST", "NEXT"];
        let after = |i: usize| i > 0 && BEFORE.iter().any(|w| self.is(i - 1, w));
        // LIMIT 0,?
        let second = at > 1 && self.punct(at - 1, b',') && after(at - 2);
        self.punct(at, b'?') && (after(at) || second)
    }

    /// Whether there is UNION or its like.
    pub(in crate::sql) fn has_union(&self) -> bool {
        (0..self.list.len()).any(|i| ["UNION", "INTERSECT", "EXCEPT"].iter().any(|w| self.is(i, w)))
    }

    /// Whether a token is in a derived table, or in a common table expression.
    pub(in crate::sql) fn is_derived(&self, at: usize) -> bool {
        (0..at).any(|i| {
            let query = ["SELECT", "WITH", "VALUES"].iter().any(|w| self.is(i + 1, w));
            let named = i > 0 && self.is(i - 1, "AS");
            self.punct(i, b'(') && self.closes[i] > at && query && (self.in_from[i] || named)
        })
    }

    /// Names of common table expressions.
    pub(in crate::sql) fn with_names(&self) -> HashSet<Vec<u8>> {
        if !(0..self.list.len()).any(|i| self.is(i, "WITH")) {
            return HashSet::new();
        }
        let as_query = |i: usize| self.is(i, "AS") && self.punct(i + 1, b'(');
        let named = (1..self.list.len()).filter(|i| as_query(*i)).filter_map(|i| {
            let mut at = i - 1;
            if self.punct(at, b')') {
                at = self.opens[at].checked_sub(1)?;
            }
            Some(self.name(&self.list[at]))
        });
        named.collect()
    }
}
