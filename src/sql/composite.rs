//! Lock calls in a statement that is more than one bare call: where they stand, what stands in
//! their arguments, and what is known about whether the server would come to evaluate them.

use std::ops::Range;

use super::argument::{Argument, Cursor};
use super::clauses::Tokens;
use super::effects::is_repeatable;
use super::scanner::{Kind, Token};
use crate::lock::function::Function;

/// Calls in one statement, nested ones included; more are refused.
const MAX_CALLS: usize = 64;

/// A statement with lock calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Composite {
    /// What it does.
    pub verb: Verb,
    /// The calls that are not arguments of another, in the order in which they are evaluated.
    pub calls: Vec<Call>,
    /// It reads or writes tables.
    pub tables: bool,
    /// It reads from something, derived tables included, so that names of columns mean something.
    pub reads: bool,
    /// Each of its expressions is evaluated once, whatever tables hold: INSERT with VALUES, CALL.
    pub fixed: bool,
    /// It may be run once more, with other expressions in the calls' places.
    pub repeatable: bool,
    /// Where its parameters stand.
    pub params: Vec<usize>,
    /// Where the statement ends, without semicolons.
    pub end: usize,
    /// INTO and its variables, and how many there are.
    pub into: Option<(Range<usize>, usize)>,
    /// Where it asks for what the statement before has left behind.
    pub looks_back: Vec<(Range<usize>, Back)>,
}

/// What a statement does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Gives rows: SELECT, WITH, VALUES.
    Rows,
    /// DO.
    Do,
    /// SET.
    Set,
    /// EXPLAIN and its synonyms, without running anything.
    Explain,
    /// INSERT, REPLACE, UPDATE, DELETE, CALL.
    Change,
}

/// What a statement leaves behind in its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Back {
    /// ROW_COUNT()
    RowCount,
    /// FOUND_ROWS()
    FoundRows,
    /// @@warning_count
    Warnings,
    /// @@error_count
    Errors,
}

impl Back {
    pub(super) const ALL: [Self; 4] =
        [Self::RowCount, Self::FoundRows, Self::Warnings, Self::Errors];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::RowCount => "ROW_COUNT",
            Self::FoundRows => "FOUND_ROWS",
            Self::Warnings => "warning_count",
            Self::Errors => "error_count",
        }
    }

    /// The question for it.
    pub fn sql(self) -> &'static str {
        match self {
            Self::RowCount => "ROW_COUNT()",
            Self::FoundRows => "FOUND_ROWS()",
            Self::Warnings => "@@warning_count",
            Self::Errors => "@@error_count",
        }
    }
}

/// A call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The function.
    pub function: Function,
    /// Its source text.
    pub span: Range<usize>,
    /// Its arguments.
    pub arguments: Vec<Part>,
    /// The server evaluates it, exactly once, if it evaluates the calls before it without an error.
    pub certain: bool,
    /// It stands in an expression that may leave out its parts.
    pub conditional: bool,
    /// It stands in a condition on rows.
    pub filters: bool,
    /// In SET: the expression that is assigned.
    pub assigned: Option<Range<usize>>,
}

/// An argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its source text.
    pub span: Range<usize>,
    /// The literal that it is, if it is one.
    pub literal: Option<Argument>,
    /// Calls in it.
    pub calls: Vec<Call>,
    /// It may be evaluated more than once.
    pub repeatable: bool,
    /// It names a variable that this statement assigns before.
    pub assigned_here: bool,
}

impl Composite {
    /// Whether a call in a statement over tables can be carried out once, in front of it.
    pub fn once(&self, call: &Call) -> bool {
        !call.conditional && (self.fixed || call.function == Function::GetLock)
    }
}

/// Reads a statement without versioned comments; `None` if it is of a kind that is not covered.
pub fn read(text: &[u8], tokens: &[Token]) -> Option<Composite> {
    if tokens.iter().any(|t| t.kind == Kind::Versioned) {
        return None;
    }
    let hint = tokens.iter().any(|t| t.kind == Kind::Hint);
    let code: Vec<Token> = tokens.iter().copied().filter(|t| t.kind != Kind::Hint).collect();
    let last = code.iter().rposition(|t| !matches!(t.kind, Kind::Punct(b';' | 0)))?;
    let code = &code[..=last];
    if code.iter().any(|t| t.kind == Kind::Punct(b';')) {
        return None;
    }
    let mut composite = Tokens::new(text, code)?.statement()?;
    // A hint may set variables for the statement: sql_select_limit.
    composite.calls.iter_mut().for_each(|call| call.certain &= !hint);
    Some(composite)
}

impl Tokens<'_> {
    fn statement(&self) -> Option<Composite> {
        let verb = self.verb()?;
        let all = 0..self.list.len();
        // Counted first: calls are read as deep as they are nested.
        let count = all.clone().filter(|i| self.call_at(*i).is_some()).count();
        if !(1..=MAX_CALLS).contains(&count) {
            return None;
        }
        let mut calls = self.calls(all)?;
        let tables = verb == Verb::Change || self.reads_tables();
        let plain = !tables && self.is_plain();
        for call in &mut calls {
            let at = self.list.iter().position(|t| t.start >= call.span.start)?;
            call.certain = plain && self.is_first(at, verb) && self.quiet_before(at);
            call.conditional = self.is_conditional(at);
            call.filters = self.filters(at);
            if verb == Verb::Set {
                call.assigned = self.assigned(at);
            }
        }
        Some(Composite {
            verb,
            calls,
            tables,
            reads: tables || self.selects_from(),
            fixed: verb == Verb::Change && self.is_fixed(),
            repeatable: is_repeatable(self.text, self.list),
            params: (0..self.list.len())
                .filter(|i| self.punct(*i, b'?'))
                .map(|i| self.list[i].start)
                .collect(),
            end: self.list.last()?.end,
            into: if verb == Verb::Rows { self.into()? } else { None },
            looks_back: self.looks_back(),
        })
    }

    fn verb(&self) -> Option<Verb> {
        let first = self.list.iter().find(|t| t.kind != Kind::Punct(b'('))?;
        let word = self.upper(first);
        Some(match word.as_slice() {
            b"WITH" if self.changes() => Verb::Change,
            b"SELECT" | b"WITH" | b"VALUES" => Verb::Rows,
            b"DO" => Verb::Do,
            // Of SET STATEMENT … FOR only the statement behind would be the one to look at.
            b"SET" if !self.is(1, "STATEMENT") => Verb::Set,
            b"INSERT" | b"REPLACE" | b"UPDATE" | b"DELETE" | b"CALL" => Verb::Change,
            b"EXPLAIN" | b"DESC" | b"DESCRIBE" if !self.is(1, "ANALYZE") => Verb::Explain,
            _ => return None,
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
            let mut span = self.list[i].start..self.list[close].end;
            // {fn GET_LOCK(…) + 1} holds more than the call.
            let braced = i >= 2 && self.is(i - 1, "fn") && self.punct(i - 2, b'{');
            if braced && self.punct(close + 1, b'}') {
                span = self.list[i - 2].start..self.list[close + 1].end;
            }
            calls.push(Call {
                function,
                span,
                arguments: self.arguments(i + 2..close)?,
                certain: false,
                conditional: false,
                filters: false,
                assigned: None,
            });
            i = close + 1;
        }
        Some(calls)
    }

    fn arguments(&self, range: Range<usize>) -> Option<Vec<Part>> {
        let mut parts = Vec::new();
        let Some(first) = self.list.get(range.start).filter(|_| !range.is_empty()) else {
            return Some(parts);
        };
        let depth = self.depths[range.start] - u32::from(first.kind == Kind::Punct(b')'));
        let mut start = range.start;
        for i in range.clone() {
            if self.punct(i, b',') && self.depths[i] == depth {
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
        let mut cursor = Cursor::new(self.text, tokens);
        let literal = cursor.argument().filter(|_| cursor.left() == 0);
        Some(Part {
            span,
            literal,
            calls,
            repeatable: is_repeatable(self.text, tokens),
            assigned_here: range.clone().any(|i| self.punct(i, b'@')) && self.assigns(range.start),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::call::{Statement, classify_exactly};
    use super::super::dialect::{Dialect, Multibyte};
    use super::*;
    use crate::types::Flavour;

    const MYSQL: Dialect = Dialect {
        flavour: Flavour::MySql,
        version: 90_704,
        ansi_quotes: false,
        no_backslash_escapes: false,
        brackets: false,
        multibyte: Multibyte::Safe,
    };

    fn composite(sql: &str) -> Composite {
        match classify_exactly(sql.as_bytes(), MYSQL) {
            Statement::Composite(composite) => composite,
            other => panic!("{sql}: {other:?}"),
        }
    }

    #[test]
    fn a_call_is_certain_where_nothing_decides_about_it() {
        // A bar behind each certain call.
        for sql in [
            "SELECT GET_LOCK('a',0)|, IS_FREE_LOCK('b')| AS x, 1",
            "SELECT COALESCE(GET_LOCK('a',0), GET_LOCK('b',0))",
            "SELECT COALESCE(GET_LOCK('a',0)|, 0), NULLIF(GET_LOCK('b',0), 1)",
            "SELECT CAST(GET_LOCK('a',0) AS SIGNED) + GET_LOCK('b',0), RELEASE_LOCK('a')",
            "SELECT CAST(GET_LOCK('a',0)| AS SIGNED)",
            "SELECT GET_LOCK('a',0)| = 1, GET_LOCK('a',0) ^ NULL, NULL = GET_LOCK('a',0)",
            "SELECT RELEASE_ALL_LOCKS()|, RELEASE_ALL_LOCKS() IS NULL",
            "SELECT IF(GET_LOCK('a',0), RELEASE_LOCK('a'), 0) FROM DUAL",
            "SELECT GET_LOCK('a',0) AS x, (SELECT x) + 1",
            "SELECT NOT RELEASE_LOCK('a')|, 1 + GET_LOCK('a',0)",
            "SELECT CASE WHEN GET_LOCK('a',0) THEN RELEASE_LOCK('a') END",
            "SELECT EXISTS(SELECT GET_LOCK('a',0)), (SELECT GET_LOCK('b',0))",
            "SELECT 1, SLEEP(1), GET_LOCK('a',0)",
            "SELECT EXP(1000), GET_LOCK('a',0)",
            "SELECT GET_LOCK('a',0) LIMIT 0",
            "SELECT GET_LOCK('a',0), 1 FETCH FIRST 0 ROWS ONLY",
            "SELECT GET_LOCK('a',0), 1 OFFSET 1 ROWS",
            "SELECT /*+ SET_VAR(sql_select_limit=0) */ GET_LOCK('a',0), 1",
            "SELECT 9223372036854775807+1, GET_LOCK('a',0)",
            "SELECT GET_LOCK('a',0)|, 9223372036854775807+1",
            "SELECT GET_LOCK('a',0) UNION SELECT 1",
            "SELECT GET_LOCK('a',0) WHERE 1=0",
            "(SELECT GET_LOCK('a',0))",
            "SELECT @x := GET_LOCK('a',0)|",
            "SELECT GET_LOCK('a',0)|, 2 INTO @x, @y",
            "SET @x = GET_LOCK('a',0)|, @y := 1 + GET_LOCK('b',0)",
            "SET @x = 0 AND 1 = GET_LOCK('a',0), @y = @z := GET_LOCK('b',0)|",
            "DO GET_LOCK('a',0)|, 0 AND GET_LOCK('b',0)",
            "SELECT {fn GET_LOCK('a',0)}|, 1",
            "SELECT {fn GET_LOCK('a',0)+1}, 1",
        ] {
            let plain = sql.replace('|', "");
            let mut marked = plain.clone();
            for call in composite(&plain).calls.iter().rev().filter(|c| c.certain) {
                marked.insert(call.span.end, '|');
            }
            assert_eq!(marked, sql);
        }
    }

    #[test]
    fn tables_are_told_from_what_only_looks_like_them() {
        for (sql, tables) in [
            ("SELECT GET_LOCK('a',0) FROM t", true),
            ("SELECT 1 FROM DUAL WHERE GET_LOCK('a',0)", false),
            ("SELECT g FROM (SELECT GET_LOCK('a',0) g) d", false),
            ("SELECT g FROM (SELECT GET_LOCK('a',0) g) d, t", true),
            ("SELECT g FROM (SELECT GET_LOCK('a',0) g) d JOIN t", true),
            ("SELECT g, (SELECT MAX(x) FROM t) FROM (SELECT GET_LOCK('a',0) g) d", true),
            ("SELECT GET_LOCK(TRIM('x' FROM y),0), 1", false),
            ("WITH c AS (SELECT GET_LOCK('a',0)) SELECT * FROM c", false),
            ("WITH c (x) AS (SELECT GET_LOCK('a',0)) SELECT * FROM c JOIN `c` d", false),
            ("WITH c AS (SELECT GET_LOCK('a',0)) SELECT * FROM t", true),
            ("SELECT GET_LOCK('a',0), (TABLE t)", true),
            ("UPDATE t SET a=1 WHERE IS_USED_LOCK('a')=1", true),
            ("WITH c AS (SELECT GET_LOCK('a',0) g) UPDATE t JOIN c SET t.n=t.n+1", true),
            ("WITH c AS (SELECT GET_LOCK('a',0) g) UPDATE c, t SET t.n=t.n+1", true),
            ("WITH c AS (SELECT GET_LOCK('a',0) g) DELETE FROM t WHERE n IN (TABLE c)", true),
            ("WITH c AS (SELECT GET_LOCK('a',0) g) SELECT * FROM c FOR UPDATE", false),
            ("SELECT GET_LOCK('a',0) FROM (t)", true),
            ("SELECT GET_LOCK('a',0) FROM ((t, u))", true),
            ("SELECT GET_LOCK('a',0) FROM {oj t}", true),
            ("SELECT g FROM ((SELECT GET_LOCK('a',0) g) d)", false),
        ] {
            assert_eq!(composite(sql).tables, tables, "{sql}");
        }
    }

    #[test]
    fn what_has_effects_is_not_run_once_more() {
        for (sql, repeatable) in [
            ("SELECT IF(1,GET_LOCK('a',0),`GET_LOCK`('b',0))", true),
            ("SELECT 1 IN (2,3), GET_LOCK('a',0)", true),
            ("SELECT UUID(), GET_LOCK('a',0)", false),
            ("SELECT f(1), GET_LOCK('a',0)", false),
            ("SELECT `ABS`(1), GET_LOCK('a',0)", false),
            ("SELECT d.ABS(1), GET_LOCK('a',0)", false),
            ("SELECT @x := 1, GET_LOCK('a',0)", false),
            ("SELECT NEXT VALUE FOR s, GET_LOCK('a',0)", false),
        ] {
            assert_eq!(composite(sql).repeatable, repeatable, "{sql}");
        }
    }

    #[test]
    fn calls_nested_deeply_are_refused_before_they_are_read() {
        let nested = |n| format!("SELECT 1,{}1{}", "GET_LOCK(".repeat(n), ",0)".repeat(n));
        assert_eq!(composite(&nested(64)).calls.len(), 1);
        for n in [65, 5000] {
            assert_eq!(classify_exactly(nested(n).as_bytes(), MYSQL), Statement::Other, "{n}");
        }
    }

    #[test]
    fn parts_are_where_they_stand() {
        let sql =
            "SET @a = 1, @b = IFNULL(NULL, GET_LOCK(CONCAT('x', @a), RELEASE_LOCK('y'))), @c = 2;";
        let read = composite(sql);
        let [call] = read.calls.as_slice() else { panic!("{read:?}") };
        assert_eq!(
            &sql[call.assigned.clone().expect("assigned")],
            "IFNULL(NULL, GET_LOCK(CONCAT('x', @a), RELEASE_LOCK('y')))"
        );
        let [name, timeout] = call.arguments.as_slice() else { panic!("{call:?}") };
        assert_eq!(&sql[name.span.clone()], "CONCAT('x', @a)");
        assert!(name.assigned_here && !timeout.assigned_here && call.conditional);
        assert_eq!(timeout.calls.len(), 1);
        assert_eq!(&sql[..read.end], sql.trim_end_matches(';'));
        let sql = "SELECT GET_LOCK('a',0), 2 INTO @x , @`y` FROM DUAL";
        let (span, variables) = composite(sql).into.expect("INTO");
        assert_eq!((&sql[span], variables), ("INTO @x , @`y`", 2));
        for sql in ["SELECT GET_LOCK('a',0) INTO @a.b", "SELECT GET_LOCK('a',0)+1 INTO @.b"] {
            assert_eq!(classify_exactly(sql.as_bytes(), MYSQL), Statement::Other, "{sql}");
        }
    }
}
