//! Statements about prepared statements that have a name in SQL: PREPARE, EXECUTE, DEALLOCATE.

use std::ops::Range;

use crate::sql::expression::argument::{Argument, argument};
use crate::sql::expression::effects::is_repeatable;
use crate::sql::expression::settings::after_settings;
use crate::sql::lexer::dialect::Dialect;
use crate::sql::lexer::scanner::{Kind, Token, is_space};
use crate::sql::lexer::tokens::{TokenCursor, code, only_statement};
use crate::types::Flavour;

/// One such statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// `PREPARE name FROM source`
    Prepare {
        /// The statement's name.
        name: StatementName,
        /// The expression that gives the statement's text.
        source: TextSource,
    },
    /// `EXECUTE name [USING values]`
    Execute {
        /// The statement's name.
        name: StatementName,
        /// The values for its parameters.
        using: Vec<UsingValue>,
    },
    /// `EXECUTE IMMEDIATE source [USING values]`
    Immediate {
        /// The text.
        source: TextSource,
        /// The values for its parameters.
        using: Vec<UsingValue>,
    },
    /// `DEALLOCATE PREPARE name`, `DROP PREPARE name`
    Deallocate {
        /// The statement's name.
        name: StatementName,
    },
}

/// A name as servers compare it: case and accents do not matter.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StatementName {
    /// The name in lower case.
    pub folded: Vec<u8>,
    /// The name has only letters, digits, `_` and `$`, which fold in one way only.
    pub plain: bool,
    /// The name follows `SET STATEMENT … FOR`.
    pub set: bool,
}

/// An expression that gives a statement's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextSource {
    /// Place of the expression.
    pub span: Range<usize>,
    /// The expression is one string, which says what the text is.
    pub literal: bool,
    /// The expression may be evaluated again.
    pub repeatable: bool,
    /// The expression follows `SET STATEMENT … FOR`.
    pub set: bool,
}

/// An expression after USING.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsingValue {
    /// Place of the expression.
    pub span: Range<usize>,
    /// The literal that the expression is, if it is one.
    pub literal: Option<Argument>,
    /// The expression may be evaluated more than once.
    pub repeatable: bool,
}

/// Whether a text may be such a statement, or hold one: a scan that costs next to nothing for the
/// others. `known`: there are names to be executed.
pub fn may_be_named(text: &[u8], known: bool) -> bool {
    // In latin1 and its like 0xa0 is white space too.
    let space = |b: &u8| is_space(*b) || *b == 0xa0;
    let leads = |at: usize| {
        let start = text[at..].iter().position(|b| !space(b));
        start.is_some_and(|start| {
            matches!(
                text[at + start..],
                // `-`, `#`, `/` and `*`: after a comment, or half a versioned one.
                [b'p' | b'P' | b'e' | b'E' | b'd' | b'D' | b'/' | b'#' | b'-' | b'*', ..]
                    // SET STATEMENT … FOR
                    | [b's' | b'S', b'e' | b'E', b't' | b'T', ..]
            )
        })
    };
    let holds = |word: &[u8]| {
        let [low, up] = [word[0], word[0].to_ascii_uppercase()];
        memchr::memchr2_iter(low, up, text)
            .any(|at| text[at..].get(..word.len()).is_some_and(|w| w.eq_ignore_ascii_case(word)))
    };
    (leads(0) || memchr::memchr_iter(b';', text).any(|at| leads(at + 1)))
        && (holds(b"prepare") || holds(b"immediate") || (known && holds(b"execute")))
}

/// What a string in quotes says, if it says it as it is written.
pub fn plain_literal(string: &[u8]) -> Option<&[u8]> {
    let string = string.trim_ascii();
    let quote = *string.first().filter(|quote| matches!(quote, b'\'' | b'"'))?;
    let inner = string.get(1..string.len() - 1).filter(|_| string.last() == Some(&quote))?;
    let plain = inner.is_ascii() && !inner.contains(&b'\\') && !inner.contains(&quote);
    plain.then_some(inner)
}

/// Whether one of a text's statements begins like one.
pub(in crate::sql) fn stands_in(text: &[u8], tokens: &[Token]) -> bool {
    let mut starts = true;
    tokens.iter().filter(|t| t.is_code()).any(|t| {
        let is = |word: &&str| t.is(text, word);
        let named = starts && ["PREPARE", "EXECUTE", "DEALLOCATE"].iter().any(is);
        starts = t.kind == Kind::Punct(b';');
        named
    })
}

/// Whether something may be executed by its name anywhere in a text.
pub(in crate::sql) fn executes(text: &[u8], tokens: &[Token]) -> bool {
    let is_name = |t: &Token| matches!(t.kind, Kind::Word | Kind::Quoted);
    tokens.iter().enumerate().any(|(i, t)| {
        let of_a_name = i.checked_sub(1).and_then(|before| tokens.get(before));
        t.is(text, "EXECUTE")
            && tokens.get(i + 1).is_some_and(is_name)
            && of_a_name.is_none_or(|t| !matches!(t.kind, Kind::Punct(b'@' | b'.')))
    })
}

/// Reads such a statement; `None` for any other.
pub(in crate::sql) fn read(text: &[u8], tokens: &[Token], dialect: Dialect) -> Option<Named> {
    let flavour = dialect.flavour;
    let code = code(tokens);
    let code = only_statement(&code)?;
    let after = if flavour == Flavour::MariaDb { after_settings(text, code) } else { 0 };
    let set = after > 0;
    let mut c = TokenCursor::new(text, code.get(after..)?);
    if c.word("PREPARE") {
        let name = name(&mut c, set)?;
        c.word("FROM").then_some(())?;
        let source = source(text, &mut c, dialect, set)?;
        return c.peek().is_none().then_some(Named::Prepare { name, source });
    }
    if c.word("DEALLOCATE") || c.word("DROP") {
        c.word("PREPARE").then_some(())?;
        let name = name(&mut c, set)?;
        return c.peek().is_none().then_some(Named::Deallocate { name });
    }
    c.word("EXECUTE").then_some(())?;
    if flavour == Flavour::MariaDb && c.word("IMMEDIATE") {
        let source = source(text, &mut c, dialect, set)?;
        return Some(Named::Immediate { source, using: using(text, c, dialect)? });
    }
    let name = name(&mut c, set)?;
    Some(Named::Execute { name, using: using(text, c, dialect)? })
}

fn name(c: &mut TokenCursor<'_>, set: bool) -> Option<StatementName> {
    let token = c.next()?;
    let bytes = c.bytes(token);
    let bytes = match token.kind {
        Kind::Word => bytes,
        Kind::Quoted => bytes.get(1..bytes.len() - 1)?,
        _ => return None,
    };
    let plain = bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$'));
    Some(StatementName { folded: bytes.to_ascii_lowercase(), plain, set })
}

/// MySQL takes a string or a user variable, MariaDB any expression.
fn source(text: &[u8], c: &mut TokenCursor<'_>, dialect: Dialect, set: bool) -> Option<TextSource> {
    let mut taken = Vec::new();
    let mut depth = 0;
    while let Some(token) = c.peek() {
        if depth == 0 && token.is(text, "USING") {
            break;
        }
        depth = deeper(depth, token);
        taken.push(token);
        c.next();
    }
    let literal = match taken.as_slice() {
        // In quotes of either kind: ANSI_QUOTES make the server say what is wrong.
        [one] => one.kind == Kind::String || (one.kind == Kind::Quoted && text[one.start] == b'"'),
        _ => false,
    };
    let simple = literal || is_variable(&taken);
    let span = taken.first()?.start..taken.last()?.end;
    let repeatable = simple || is_repeatable(text, &taken, dialect);
    (simple || dialect.flavour == Flavour::MariaDb).then_some(TextSource {
        span,
        literal,
        repeatable,
        set,
    })
}

/// A user variable: its name may have dots where it is not quoted, but no gaps.
fn is_variable(tokens: &[Token]) -> bool {
    let [at, name @ ..] = tokens else { return false };
    let part =
        |t: &Token| matches!(t.kind, Kind::Word | Kind::Quoted | Kind::String | Kind::Punct(b'.'));
    at.kind == Kind::Punct(b'@')
        && !name.is_empty()
        && name.iter().all(part)
        && tokens.windows(2).all(|two| two[0].end == two[1].start)
}

fn using(text: &[u8], mut c: TokenCursor<'_>, dialect: Dialect) -> Option<Vec<UsingValue>> {
    if c.peek().is_none() {
        return Some(Vec::new());
    }
    c.word("USING").then_some(())?;
    let mut values = Vec::new();
    let mut item: Vec<Token> = Vec::new();
    let mut depth = 0;
    loop {
        let token = c.next();
        match token {
            Some(token) if depth > 0 || token.kind != Kind::Punct(b',') => {
                depth = deeper(depth, token);
                item.push(token);
            }
            Some(_) | None => {
                if dialect.flavour == Flavour::MySql && !is_variable(&item) {
                    return None;
                }
                let span = item.first()?.start..item.last()?.end;
                let mut cursor = TokenCursor::new(text, &item);
                let literal = argument(&mut cursor).filter(|_| cursor.left() == 0);
                values.push(UsingValue {
                    span,
                    literal,
                    repeatable: is_repeatable(text, &item, dialect),
                });
                item.clear();
            }
        }
        if token.is_none() {
            return Some(values);
        }
    }
}

fn deeper(depth: usize, token: Token) -> usize {
    match token.kind {
        Kind::Punct(b'(') => depth + 1,
        Kind::Punct(b')') => depth.saturating_sub(1),
        _ => depth,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Statement, classify_exactly};
    use super::*;

    fn judge(flavour: Flavour, sql: &str) -> Statement {
        classify_exactly(sql.as_bytes(), Dialect::of(flavour))
    }

    fn parts(flavour: Flavour, sql: &str) -> Option<Vec<String>> {
        let Statement::Named(named) = judge(flavour, sql) else { return None };
        let text = |span: &Range<usize>| sql[span.clone()].to_owned();
        let name = |name: &StatementName| String::from_utf8_lossy(&name.folded).into_owned();
        Some(match &named {
            Named::Prepare { name: n, source } => vec![name(n), text(&source.span)],
            Named::Deallocate { name: n } => vec![name(n)],
            Named::Execute { name: n, using } => {
                [vec![name(n)], using.iter().map(|v| text(&v.span)).collect()].concat()
            }
            Named::Immediate { source, using } => {
                [vec![text(&source.span)], using.iter().map(|v| text(&v.span)).collect()].concat()
            }
        })
    }

    #[test]
    fn they_are_read_in_their_parts() {
        for (sql, mysql, mariadb) in [
            ("PREPARE S FROM 'SELECT 1';", Some(vec!["s", "'SELECT 1'"]), None),
            ("/* x */ prepare `a b` from @x -- y", Some(vec!["a b", "@x"]), None),
            ("/*!50000 PREPARE s FROM @'x' */", Some(vec!["s", "@'x'"]), None),
            ("EXECUTE s USING @a, @`b`", Some(vec!["s", "@a", "@`b`"]), None),
            ("EXECUTE s", Some(vec!["s"]), None),
            ("DEALLOCATE PREPARE s", Some(vec!["s"]), None),
            ("drop prepare `S`", Some(vec!["s"]), None),
            ("DROP TABLE s", None, None),
            ("PREPARE s FROM CONCAT('a,',@b)", None, Some(vec!["s", "CONCAT('a,',@b)"])),
            ("EXECUTE s USING f(1,2), DEFAULT", None, Some(vec!["s", "f(1,2)", "DEFAULT"])),
            ("EXECUTE IMMEDIATE @x USING 'k'", None, Some(vec!["@x", "'k'"])),
            ("SET STATEMENT a=1 FOR EXECUTE s USING 1", None, Some(vec!["s", "1"])),
            ("PREPARE s FROM 'a' 'b'", None, Some(vec!["s", "'a' 'b'"])),
            ("PREPARE s FROM @a.b", Some(vec!["s", "@a.b"]), None),
            ("EXECUTE s USING @a.b", Some(vec!["s", "@a.b"]), None),
            ("EXECUTE s USING @a+1", None, Some(vec!["s", "@a+1"])),
            ("EXECUTE s USING @@a", None, Some(vec!["s", "@@a"])),
            ("EXECUTE s USING", None, None),
            ("EXECUTE s USING @a; DO 1", None, None),
            ("EXECUTE s t", None, None),
            ("PREPARE s FROM", None, None),
        ] {
            let mariadb = mariadb.or_else(|| mysql.clone());
            for (flavour, wanted) in [(Flavour::MySql, mysql), (Flavour::MariaDb, mariadb)] {
                let wanted = wanted.map(|w| w.into_iter().map(str::to_owned).collect());
                assert_eq!(parts(flavour, sql), wanted, "{sql}");
            }
        }
    }

    #[test]
    fn a_possible_one_is_found_before_it_is_read() {
        for (sql, fresh, known) in [
            ("PREPARE s FROM @x", true, true),
            (" \n/* x */ prepare s from @x", true, true),
            ("EXECUTE s", false, true),
            ("execute immediate @x", true, true),
            ("SELECT 1; PREPARE s FROM @x", true, true),
            ("/*! SELECT 1; */ PREPARE s FROM @x", true, true),
            ("SELECT 'a;b', 'prepare'; ", false, false),
            ("SELECT 1;EXECUTE s", false, true),
            ("DEALLOCATE PREPARE s", true, true),
            ("\u{b}PREPARE s FROM @x", true, true),
            ("\u{b}EXECUTE s", false, true),
            ("set statement a=1 for prepare s FROM @x", true, true),
            ("SELECT 'PREPARE'", false, false),
            ("DELETE FROM t WHERE a = 1", false, false),
            ("", false, false),
        ] {
            assert_eq!(may_be_named(sql.as_bytes(), false), fresh, "{sql}");
            assert_eq!(may_be_named(sql.as_bytes(), true), known, "{sql}");
        }
    }
}
