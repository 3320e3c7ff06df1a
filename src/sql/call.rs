//! What a statement that calls a lock function is: one bare call that the proxy can answer, the
//! definition of a stored program, or something else.

use std::ops::Range;

use super::dialect::Dialect;
use super::finder::Finder;
use super::mentions::mention;
use super::scanner::{Kind, Scanner, Token, is_space};
use crate::lock::function::Function;
use crate::lock::name::is_plain;

/// The verdict on a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Statement {
    /// No call: bytes.
    NoCall,
    /// One bare call.
    Bare(BareCall),
    /// A call with a wrong number of arguments, which the server refuses before it locks.
    WrongCount,
    /// CREATE or ALTER of a routine, trigger, event or view: calls run when it does.
    Definition,
    /// A call in any other form.
    Other,
    /// The reading depends on settings that only the server knows.
    Ambiguous,
}

/// `SELECT|DO fn(arguments) [[AS] alias] [FROM DUAL] [LIMIT 1] [;]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BareCall {
    /// DO instead of SELECT: an OK packet instead of rows.
    pub is_do: bool,
    /// The function.
    pub function: Function,
    /// Its arguments.
    pub arguments: Vec<Argument>,
    /// The call's source text, which names its column.
    pub call: Range<usize>,
    /// The alias.
    pub alias: Alias,
    /// An optimizer hint or something behind the semicolon: only the server's own reply will do.
    pub special: bool,
}

/// An argument as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// NULL.
    Null,
    /// A single-quoted string of printable ASCII without escapes: its content.
    Plain(Range<usize>),
    /// A number of digits, sign and point.
    Number(Range<usize>),
    /// A literal only the server can evaluate.
    Literal(Range<usize>),
    /// `?`
    Parameter,
}

/// A column alias.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Alias {
    /// None: the source text is the name.
    None,
    /// A name that needs no conversion. A bare word may be reserved, which only the server knows.
    Simple {
        /// The alias's text.
        text: Range<usize>,
        /// Not quoted.
        bare: bool,
    },
    /// Any other: the server names the column.
    Complex,
}

/// Judges a statement that passed the prefilter.
pub fn classify(text: &[u8], dialect: Dialect, multi_statements: bool) -> Statement {
    let verdict = classify_exactly(text, dialect, multi_statements);
    let differs =
        |d: &Dialect| *d != dialect && classify_exactly(text, *d, multi_statements) != verdict;
    if dialect.readings(text).iter().any(differs) { Statement::Ambiguous } else { verdict }
}

/// Judges a statement whose dialect is certain.
pub fn classify_exactly(text: &[u8], dialect: Dialect, multi_statements: bool) -> Statement {
    let finder = Finder::of(text, dialect);
    let sites = finder.calls();
    let prepares = finder.prepares_behind().is_some_and(|at| mention(&text[at..]).is_some());
    if sites.is_empty() && !prepares {
        return Statement::NoCall;
    }
    let (tokens, whole) = tokens(text, dialect);
    if is_definition(text, &tokens, multi_statements) {
        return Statement::Definition;
    }
    if whole
        && sites.len() == 1
        && let Some(bare) = bare(text, &tokens)
    {
        return bare;
    }
    Statement::Other
}

/// All tokens, and whether the text ends outside strings and comments.
fn tokens(text: &[u8], dialect: Dialect) -> (Vec<Token>, bool) {
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

/// Reads tokens from left to right.
struct Cursor<'a> {
    text: &'a [u8],
    tokens: &'a [Token],
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<Token> {
        self.tokens.first().copied()
    }

    fn next(&mut self) -> Option<Token> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(*first)
    }

    fn word(&mut self, word: &str) -> bool {
        let found = self.peek().is_some_and(|t| {
            t.kind == Kind::Word && self.text[t.start..t.end].eq_ignore_ascii_case(word.as_bytes())
        });
        if found {
            self.next();
        }
        found
    }

    fn punct(&mut self, b: u8) -> Option<Token> {
        self.peek().filter(|t| t.kind == Kind::Punct(b)).and_then(|_| self.next())
    }

    fn bytes(&self, t: Token) -> &'a [u8] {
        &self.text[t.start..t.end]
    }
}

fn bare(text: &[u8], tokens: &[Token]) -> Option<Statement> {
    let hint = tokens.iter().any(|t| t.kind == Kind::Hint);
    if tokens.iter().any(|t| t.kind == Kind::Versioned) {
        return None;
    }
    let tokens: Vec<Token> = tokens.iter().copied().filter(|t| t.kind != Kind::Hint).collect();
    let mut c = Cursor { text, tokens: &tokens };
    let is_do = c.word("DO");
    if !is_do && !c.word("SELECT") {
        return None;
    }
    let name = c.next()?;
    let unquoted = match name.kind {
        Kind::Quoted => text.get(name.start + 1..name.end - 1)?,
        _ => c.bytes(name),
    };
    let function = Function::from_name(unquoted)?;
    c.punct(b'(')?;
    let mut arguments = Vec::new();
    let close = loop {
        if let Some(close) = c.punct(b')') {
            break close;
        }
        if !arguments.is_empty() {
            c.punct(b',')?;
        }
        arguments.push(argument(&mut c)?);
    };
    // A skipped versioned comment is left out of the column's name.
    let source = &text[name.start..close.end];
    if [&b"/*!"[..], b"/*M!"].iter().any(|c| memchr::memmem::find(source, c).is_some()) {
        return None;
    }
    let alias = if is_do { Alias::None } else { alias(&mut c)? };
    if !is_do && c.word("FROM") && !c.word("DUAL") {
        return None;
    }
    if !is_do && c.word("LIMIT") && !c.word("1") {
        return None;
    }
    // What stands behind a semicolon may be an empty statement with a result of its own.
    let tail = c.peek().map_or(text.len(), |t| t.end);
    let more = !text[tail..].iter().all(|b| is_space(*b));
    while c.punct(b';').is_some() || c.punct(0).is_some() {}
    if c.peek().is_some() {
        return None;
    }
    if arguments.len() != function.arity() {
        return Some(Statement::WrongCount);
    }
    let call = name.start..close.end;
    Some(Statement::Bare(BareCall {
        is_do,
        function,
        arguments,
        call,
        alias,
        special: hint || more,
    }))
}

fn argument(c: &mut Cursor<'_>) -> Option<Argument> {
    if c.punct(b'?').is_some() {
        return Some(Argument::Parameter);
    }
    let first = c.peek()?;
    let mut signed = false;
    while c.punct(b'-').is_some() || c.punct(b'+').is_some() {
        if signed {
            return None;
        }
        signed = true;
    }
    let start = c.next()?;
    let mut end = start.end;
    match start.kind {
        Kind::String => {
            // Adjacent strings are one.
            let mut pieces = 1;
            while c.peek().is_some_and(|t| t.kind == Kind::String) {
                end = c.next()?.end;
                pieces += 1;
            }
            let inner = start.start + 1..start.end - 1;
            let plain = pieces == 1 && !signed && c.text[start.start] == b'\'' && {
                let content = &c.text[inner.clone()];
                is_plain(content) && !content.contains(&b'\\') && !content.contains(&b'\'')
            };
            let collated = collation(c, &mut end)?;
            return Some(if plain && !collated {
                Argument::Plain(inner)
            } else {
                Argument::Literal(first.start..end)
            });
        }
        Kind::Word => {
            let word = c.bytes(start);
            // _charset'…', _charset x'…', N'…', x'…', b'…'
            let introducer = word[0] == b'_';
            if introducer {
                let _ = c.word("x") || c.word("b");
            }
            if introducer || matches!(word, b"n" | b"N" | b"x" | b"X" | b"b" | b"B") {
                let mut end = c.next().filter(|t| t.kind == Kind::String)?.end;
                collation(c, &mut end)?;
                return Some(Argument::Literal(first.start..end));
            }
            if word.eq_ignore_ascii_case(b"NULL") && !signed {
                return Some(Argument::Null);
            }
            let known = word.eq_ignore_ascii_case(b"TRUE") || word.eq_ignore_ascii_case(b"FALSE");
            if !known && !word[0].is_ascii_digit() {
                return None;
            }
        }
        Kind::Punct(b'.') => {}
        _ => return None,
    }
    // The rest of a number: points, digits, an exponent with its sign, all without gaps.
    while let Some(t) = c.peek() {
        let exponent = c.text[..t.start].ends_with(b"e") || c.text[..t.start].ends_with(b"E");
        let part = match t.kind {
            Kind::Word | Kind::Punct(b'.') => true,
            Kind::Punct(b'-' | b'+') => exponent,
            _ => false,
        };
        if !part || t.start != end {
            break;
        }
        end = c.next()?.end;
    }
    let span = first.start..end;
    let decimal = c.text[span.clone()]
        .iter()
        .enumerate()
        .all(|(i, b)| b.is_ascii_digit() || *b == b'.' || (i == 0 && matches!(b, b'-' | b'+')));
    Some(if decimal { Argument::Number(span) } else { Argument::Literal(span) })
}

/// Reads COLLATE and its name, if they stand there.
fn collation(c: &mut Cursor<'_>, end: &mut usize) -> Option<bool> {
    if !c.word("COLLATE") {
        return Some(false);
    }
    *end = c.next().filter(|t| t.kind == Kind::Word)?.end;
    Some(true)
}

fn alias(c: &mut Cursor<'_>) -> Option<Alias> {
    let with_as = c.word("AS");
    let Some(t) = c.peek() else {
        return (!with_as).then_some(Alias::None);
    };
    let word = c.bytes(t);
    match t.kind {
        Kind::Word => {
            let keyword = ["FROM", "LIMIT"].iter().any(|k| k.as_bytes().eq_ignore_ascii_case(word));
            if !with_as && keyword {
                return Some(Alias::None);
            }
            c.next();
            let text = t.start..t.end;
            let simple = word.iter().all(u8::is_ascii) && word.len() <= 64;
            Some(if simple { Alias::Simple { text, bare: true } } else { Alias::Complex })
        }
        Kind::Quoted | Kind::String => {
            c.next();
            let text = t.start + 1..t.end - 1;
            let inner = &c.text[text.clone()];
            let simple = (1..=64).contains(&inner.len())
                && inner.iter().all(|b| b.is_ascii_alphanumeric() || b"_$-.:".contains(b));
            Some(if simple { Alias::Simple { text, bare: false } } else { Alias::Complex })
        }
        _ if with_as => None,
        _ => Some(Alias::None),
    }
}

/// Whether one COM_STMT_PREPARE can hold the text: only then does the server's verdict on it say
/// something about the statement.
pub fn is_single(text: &[u8], dialect: Dialect) -> bool {
    let (tokens, _) = tokens(text, dialect);
    let end = tokens.iter().rposition(|t| t.kind != Kind::Punct(b';')).map_or(0, |i| i + 1);
    tokens[..end].iter().all(|t| t.kind != Kind::Punct(b';'))
}

/// Whether the text defines a stored program or view. With several statements in one text, the
/// definition must be the last: its own body may contain semicolons, so anything behind an END
/// cannot be told from it by a scan, and is not taken for one.
fn is_definition(text: &[u8], tokens: &[Token], multi_statements: bool) -> bool {
    let words = |t: &Token| text[t.start..t.end].to_ascii_uppercase();
    let plain: Vec<&Token> =
        tokens.iter().filter(|t| !matches!(t.kind, Kind::Hint | Kind::Versioned)).collect();
    let Some(first) = plain.first() else {
        return false;
    };
    if !matches!(words(first).as_slice(), b"CREATE" | b"ALTER") {
        return false;
    }
    let defines = plain.iter().take(24).any(|t| {
        t.kind == Kind::Word
            && matches!(
                words(t).as_slice(),
                b"PROCEDURE" | b"FUNCTION" | b"TRIGGER" | b"EVENT" | b"VIEW" | b"PACKAGE"
            )
    });
    if !defines {
        return false;
    }
    let body = plain.iter().rposition(|t| t.kind != Kind::Punct(b';')).map_or(0, |i| i + 1);
    let several = plain[..body].iter().any(|t| t.kind == Kind::Punct(b';'));
    let ends = plain[..body].iter().rev().take(2).any(|t| words(t) == b"END");
    let compound = plain.iter().any(|t| words(t) == b"BEGIN");
    !multi_statements || !several || (compound && ends)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::dialect::Multibyte;
    use crate::types::Flavour;

    const MYSQL: Dialect = Dialect {
        flavour: Flavour::MySql,
        version: 90_704,
        ansi_quotes: false,
        no_backslash_escapes: false,
        brackets: false,
        multibyte: Multibyte::Safe,
    };

    fn judge(sql: &str) -> Statement {
        classify(sql.as_bytes(), MYSQL, true)
    }

    #[test]
    fn bare_calls_are_recognised_with_their_parts() {
        for (sql, name, arguments) in [
            ("SELECT GET_LOCK('k',0)", "GET_LOCK('k',0)", 2),
            ("  select\tget_lock ( 'k' , 1.5 ) ; ", "get_lock ( 'k' , 1.5 )", 2),
            ("SELECT `GET_LOCK`('k',-1) AS locked FROM DUAL LIMIT 1;", "`GET_LOCK`('k',-1)", 2),
            ("DO RELEASE_LOCK(?)", "RELEASE_LOCK(?)", 1),
            ("SELECT RELEASE_ALL_LOCKS( /* all */ ) -- bye", "RELEASE_ALL_LOCKS( /* all */ )", 0),
            ("SELECT GET_LOCK(_latin1 x'e9', 1e-3) x", "GET_LOCK(_latin1 x'e9', 1e-3)", 2),
            ("SELECT GET_LOCK('k',.5)", "GET_LOCK('k',.5)", 2),
            ("SELECT GET_LOCK('a' 'b',TRUE)", "GET_LOCK('a' 'b',TRUE)", 2),
        ] {
            let Statement::Bare(bare) = judge(sql) else { panic!("{sql}: {:?}", judge(sql)) };
            assert_eq!(&sql[bare.call.clone()], name, "{sql}");
            assert_eq!(bare.arguments.len(), arguments, "{sql}");
        }
    }

    #[test]
    fn other_forms_are_never_taken_for_a_bare_call() {
        for sql in [
            "SELECT GET_LOCK('k',0)+1",
            "SELECT GET_LOCK('k',0), 1",
            "SELECT GET_LOCK(@x,0)",
            "SELECT GET_LOCK(CONCAT('a'),0)",
            "SELECT 1; SELECT GET_LOCK('k',0)",
            "SELECT GET_LOCK('k',0) FROM t",
            "SELECT GET_LOCK('k',0) INTO @x",
            "SELECT GET_LOCK('k',0) LIMIT 0",
            "PREPARE s FROM 'SELECT GET_LOCK(1,0)'",
            "/*! PREPARE s FROM 'SELECT GET_LOCK(1,0)' */",
            "SELECT 1; PREPARE `s` FROM CONCAT('SELECT GET_LOCK', '(1,0)')",
            "DO 1; EXECUTE IMMEDIATE 'DO RELEASE_ALL_LOCKS()'",
            "SELECT (GET_LOCK('k',0))",
            "SELECT GET_LOCK('k',(0))",
            "SELECT GET_LOCK('k',1 2)",
            "SELECT /*!50000 GET_LOCK('k',0) */",
            "SET @x = GET_LOCK('k',0)",
            "SELECT GET_LOCK('k',0) FOR UPDATE",
        ] {
            assert_eq!(judge(sql), Statement::Other, "{sql}");
        }
    }

    #[test]
    fn definitions_pass_and_nothing_hides_behind_them() {
        let body = "BEGIN SELECT GET_LOCK('k',0); END";
        assert_eq!(judge(&format!("CREATE PROCEDURE p() {body}")), Statement::Definition);
        assert_eq!(
            judge(&format!("CREATE DEFINER=`a`@`%` FUNCTION p() {body};")),
            Statement::Definition
        );
        for hidden in ["SELECT GET_LOCK('k',0)", "SELECT GET_LOCK('k',0) AS end"] {
            let text = format!("CREATE VIEW v AS SELECT 1; {hidden}");
            assert_eq!(judge(&text), Statement::Other);
        }
    }

    #[test]
    fn a_name_that_ends_in_half_a_backslash_is_a_literal() {
        let gbk = Dialect { multibyte: Multibyte::Gbk, ..MYSQL };
        let sql = b"SELECT GET_LOCK('g\x81\\',0)";
        assert_eq!(classify(sql, MYSQL, true), Statement::Ambiguous);
        assert!(matches!(classify_exactly(sql, gbk, true), Statement::Bare(_)));
    }

    #[test]
    fn what_depends_on_unknown_modes_is_ambiguous() {
        assert_eq!(judge("SELECT \"it\\\"s GET_LOCK('k',0)\""), Statement::Ambiguous);
        assert_eq!(judge("SELECT 'a\\' , GET_LOCK('k',0) , '"), Statement::Ambiguous);
        assert_eq!(judge("SELECT GET_LOCK(\"k\",0)"), Statement::Ambiguous);
    }
}
