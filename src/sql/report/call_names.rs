//! The calls in a statement of any form, with their lock names, for reports of who uses
//! which locks.

use std::ops::Range;

use super::coverage::MOST;
use crate::lock::function::Function;
use crate::sql::expression::argument::{Argument, argument};
use crate::sql::find::finder::Finder;
use crate::sql::find::readings::Readings;
use crate::sql::lexer::dialect::Dialect;
use crate::sql::lexer::scanner::{Kind, Token};
use crate::sql::lexer::tokens::{TokenCursor, code, tokens};

/// A call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// The function.
    pub function: Function,
    /// The lock it names.
    pub name: Written,
    /// GET_LOCK's timeout; other functions have none.
    pub timeout: Written,
}

/// A lock's name as a call gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// A literal: the content of a simple string, else its source text.
    Literal(Vec<u8>),
    /// The content of double quotes, which is a literal unless the server takes it for a name.
    Double(Vec<u8>),
    /// The parameter of this number.
    Parameter(usize),
    /// An expression.
    Computed,
    /// `RELEASE_ALL_LOCKS()` takes none.
    None,
}

/// How the value of a statement's only call is returned, if the statement returns nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alone {
    /// `SELECT call`: by its only row.
    Row,
    /// `DO call`: not at all.
    Untold,
}

/// The calls of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uses {
    /// All calls, in the order of their names in the text.
    pub calls: Vec<Use>,
    /// The statement is one call, whatever its arguments.
    pub alone: Option<Alone>,
    /// Parameters of the statement.
    pub params: usize,
}

/// Reads them. Where it depends on how the server reads the text what is called, or what is a literal,
/// that is left out.
pub fn uses(text: &[u8], dialect: Dialect) -> Uses {
    let mut uses = exactly(text, dialect);
    for (nth, other) in Readings::of(text, dialect).flatten().enumerate().skip(1) {
        let other = exactly(text, other);
        let functions = |u: &Uses| u.calls.iter().map(|c| c.function).collect::<Vec<_>>();
        if nth == MOST || functions(&uses) != functions(&other) {
            return Uses { calls: Vec::new(), alone: None, params: uses.params };
        }
        let names = uses.calls.iter().zip(&other.calls).all(|(a, b)| agree(&a.name, &b.name));
        for (call, other) in uses.calls.iter_mut().zip(&other.calls) {
            if !agree(&call.timeout, &other.timeout) {
                call.timeout = Written::Computed;
            }
        }
        if !names || (uses.alone, uses.params) != (other.alone, other.params) {
            uses.calls.iter_mut().for_each(|call| call.name = Written::Computed);
            uses.alone = None;
        }
    }
    uses
}

/// Whether two readings of a name agree. For double quotes the server decides.
fn agree(a: &Written, b: &Written) -> bool {
    use Written::{Computed, Double};
    a == b || matches!((a, b), (Double(_), Computed) | (Computed, Double(_)))
}

fn exactly(text: &[u8], dialect: Dialect) -> Uses {
    let finder = Finder::of(text, dialect);
    let (all, whole) = tokens(text, dialect);
    let plain = !all.iter().any(|t| t.kind == Kind::Versioned);
    let code = code(&all);
    let params: Vec<usize> =
        code.iter().filter(|t| t.kind == Kind::Punct(b'?')).map(|t| t.start).collect();
    let calls: Vec<Use> = finder
        .calls()
        .iter()
        .map(|site| {
            let at = code.partition_point(|t| t.start < site.start);
            let arguments = code.get(at + 2..).unwrap_or_default();
            let name = match site.function {
                Function::ReleaseAllLocks => Written::None,
                _ => written(text, arguments, &params),
            };
            let timeout = match site.function {
                Function::GetLock => second(text, arguments, &params),
                _ => Written::None,
            };
            Use { function: site.function, name, timeout }
        })
        .collect();
    let alone = alone(text, &code).filter(|_| calls.len() == 1 && plain && whole);
    Uses { calls, alone, params: params.len() }
}

/// The second argument among the tokens after a parenthesis, if the first one is simple.
fn second(text: &[u8], tokens: &[Token], params: &[usize]) -> Written {
    let mut cursor = TokenCursor::new(text, tokens);
    match argument(&mut cursor).and_then(|_| cursor.punct(b',')) {
        Some(_) => written(text, &tokens[tokens.len() - cursor.left()..], params),
        None => Written::Computed,
    }
}

/// The first argument among these tokens.
fn written(text: &[u8], tokens: &[Token], params: &[usize]) -> Written {
    let mut cursor = TokenCursor::new(text, tokens);
    let argument = argument(&mut cursor);
    let ends = cursor.peek().is_some_and(|t| matches!(t.kind, Kind::Punct(b',' | b')')));
    match argument.filter(|_| ends) {
        None => Written::Computed,
        Some(Argument::Null) => Written::Literal(b"NULL".to_vec()),
        Some(Argument::Plain(span) | Argument::Number(span)) => {
            Written::Literal(text[span].to_vec())
        }
        Some(Argument::Literal(span)) => literal(&text[span]),
        Some(Argument::Parameter) => {
            let at = tokens.first().map_or(0, |t| t.start);
            Written::Parameter(params.partition_point(|p| *p < at))
        }
    }
}

fn literal(source: &[u8]) -> Written {
    let simple = |quote: u8| {
        let inner = source.strip_prefix(&[quote])?.strip_suffix(&[quote])?;
        (!inner.contains(&quote) && !inner.contains(&b'\\')).then(|| inner.to_vec())
    };
    if let Some(inner) = simple(b'\'') {
        return Written::Literal(inner);
    }
    simple(b'"').map_or_else(|| Written::Literal(source.to_vec()), Written::Double)
}

/// `SELECT|DO call [[AS] alias] [FROM DUAL] [;]`
fn alone(text: &[u8], tokens: &[Token]) -> Option<Alone> {
    let mut c = TokenCursor::new(text, tokens);
    let untold = c.word("DO");
    if !untold && !c.word("SELECT") {
        return None;
    }
    c.next().filter(|t| matches!(t.kind, Kind::Word | Kind::Quoted))?;
    c.punct(b'(')?;
    close(&mut c)?;
    if !untold {
        let named = c.word("AS");
        let alias = |t: &Token, text: Range<usize>, all: &[u8]| {
            t.kind != Kind::Word || named || !all[text].eq_ignore_ascii_case(b"FROM")
        };
        let alias = c.peek().filter(|t| {
            matches!(t.kind, Kind::Word | Kind::Quoted | Kind::String)
                && alias(t, t.start..t.end, text)
        });
        if alias.is_some() {
            c.next();
        }
        if c.word("FROM") && !c.word("DUAL") {
            return None;
        }
    }
    while c.punct(b';').is_some() {}
    c.peek().is_none().then_some(if untold { Alone::Untold } else { Alone::Row })
}

/// Moves past the closing parenthesis.
fn close(c: &mut TokenCursor<'_>) -> Option<()> {
    let mut depth = 1;
    while depth > 0 {
        match c.next()?.kind {
            Kind::Punct(b'(') => depth += 1,
            Kind::Punct(b')') => depth -= 1,
            Kind::Punct(b';') => return None,
            _ => {}
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    const MYSQL: Dialect = Dialect::MYSQL;

    fn of(sql: &str) -> Uses {
        uses(sql.as_bytes(), MYSQL)
    }

    #[test]
    fn names_are_read_from_calls_anywhere() {
        let text = |s: &str| Written::Literal(s.as_bytes().to_vec());
        for (sql, names) in [
            ("SELECT GET_LOCK('a', 1)", vec![text("a")]),
            ("SELECT 1 + GET_LOCK ( 'ü', 1)", vec![text("ü")]),
            ("SELECT GET_LOCK(\"a\", 1)", vec![Written::Double(b"a".to_vec())]),
            ("SELECT GET_LOCK('it''s', 1)", vec![text("'it''s'")]),
            ("SELECT GET_LOCK(5, 1), RELEASE_LOCK(NULL)", vec![text("5"), text("NULL")]),
            ("SELECT GET_LOCK(CONCAT('a', b), 1)", vec![Written::Computed]),
            ("SELECT GET_LOCK('a' + 1, 1)", vec![Written::Computed]),
            ("SELECT GET_LOCK()", vec![Written::Computed]),
            (
                "UPDATE t SET a = ? WHERE GET_LOCK(?, ?) AND RELEASE_ALL_LOCKS() AND IS_FREE_LOCK(?)",
                vec![Written::Parameter(1), Written::None, Written::Parameter(3)],
            ),
            (
                "SELECT GET_LOCK('a', GET_LOCK('b', 0)); DO RELEASE_LOCK('c')",
                vec![text("a"), text("b"), text("c")],
            ),
        ] {
            let uses = of(sql);
            let read: Vec<Written> = uses.calls.into_iter().map(|c| c.name).collect();
            assert_eq!(read, names, "{sql}");
            assert_eq!(uses.params, sql.matches('?').count(), "{sql}");
        }
    }

    #[test]
    fn a_literal_of_one_mode_only_is_no_name() {
        for sql in [
            r"SELECT '\', GET_LOCK('secret', 0), '",
            r"SELECT GET_LOCK('a\'', 0), IS_FREE_LOCK('\\'), '",
            r"SELECT GET_LOCK('\', 0), 'secret', 0) -- ', '",
        ] {
            for call in of(sql).calls {
                assert!(matches!(call.name, Written::Computed), "{sql}: {call:?}");
            }
        }
    }

    #[test]
    fn a_statement_that_is_one_call_shows_its_value() {
        for (sql, alone) in [
            ("SELECT GET_LOCK('a', 1)", Some(Alone::Row)),
            ("select `get_lock` (CONCAT('a', (?)), 1) AS `from` FROM DUAL;", Some(Alone::Row)),
            ("SELECT GET_LOCK('a', 1) locked", Some(Alone::Row)),
            ("SELECT GET_LOCK('a', 1) AS 'l' -- bye", Some(Alone::Row)),
            ("DO RELEASE_ALL_LOCKS()", Some(Alone::Untold)),
            ("SELECT GET_LOCK('a', GET_LOCK('b', 0))", None),
            ("SELECT GET_LOCK('a', 1), 1", None),
            ("SELECT GET_LOCK('a', 1) FROM t", None),
            ("SELECT GET_LOCK('a', 1) + 1", None),
            ("SELECT GET_LOCK('a', 1) LIMIT 0", None),
            ("SELECT (GET_LOCK('a', 1))", None),
            ("SELECT /*! GET_LOCK('a', 1) */", None),
            ("SELECT GET_LOCK('a', 1); SELECT 1", None),
            ("SET @a = GET_LOCK('a', 1)", None),
            ("SELECT GET_LOCK('a", None),
        ] {
            assert_eq!(of(sql).alone, alone, "{sql}");
        }
    }
}
