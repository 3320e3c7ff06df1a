//! Finds calls of the five functions in a statement.
//!
//! A call is the name, bare or backquoted, followed by `(` after white space or comments
//! (interception, 1). A name after a dot, or where a table or routine is named, is none; but
//! MariaDB has schemas of its own functions, by which they may be qualified.

use std::hash::{Hash, Hasher};

use crate::lock::function::Function;
use crate::sql::lexer::dialect::Dialect;
use crate::sql::lexer::scanner::{Kind, Scanner, Token};
use crate::types::Flavour;

/// One call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Site {
    /// Which function.
    pub function: Function,
    /// Where its name starts.
    pub start: usize,
}

/// Looks at one token after the other.
#[derive(Debug, Clone)]
pub struct Finder {
    scanner: Scanner,
    seen: FinderState,
}

#[derive(Debug, Clone, Default, Hash)]
struct FinderState {
    /// The token before rules a call out.
    names_something: bool,
    after: AfterPoint,
    candidate: Option<Site>,
    calls: Vec<Site>,
    /// The position after the parenthesis of the first call.
    first_call: Option<usize>,
    prepares: Prepares,
    /// The position after the first EXECUTE.
    executes: Option<usize>,
}

/// How much of `PREPARE name FROM` or of `EXECUTE IMMEDIATE` has been seen: a string after it is
/// run as a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
enum Prepares {
    #[default]
    No,
    Prepare,
    Name,
    Execute,
    /// The whole of it was seen, up to this position.
    After(usize),
}

/// The meaning of a point, by the token before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
enum AfterPoint {
    #[default]
    Any,
    /// The name of a schema of the server's functions.
    Schema,
    /// Another point: `1..GET_LOCK('k',0)`.
    Point,
    /// Code that was passed over.
    Skimmed,
}

/// More calls than this in one statement are not distinguished.
pub(in crate::sql) const MAX_CALLS: usize = 1024;

impl Finder {
    /// A finder at the start of a statement.
    pub fn new(dialect: Dialect) -> Self {
        Self { scanner: Scanner::new(dialect), seen: FinderState::default() }
    }

    /// A finder for a statement of which the modes are not known.
    pub fn in_any_mode(dialect: Dialect) -> Self {
        Self { scanner: Scanner::in_any_mode(dialect), seen: FinderState::default() }
    }

    /// A finder that has scanned a whole statement.
    pub fn of(text: &[u8], dialect: Dialect) -> Self {
        let mut finder = Self::new(dialect);
        finder.feed(text, 0);
        finder
    }

    /// A finder that has scanned a whole statement, and whether the text ends outside strings and comments. `each` gets
    /// the tokens.
    pub(in crate::sql) fn telling(
        text: &[u8],
        dialect: Dialect,
        mut each: impl FnMut(Token),
    ) -> (Self, bool) {
        let Self { mut scanner, mut seen } = Self::new(dialect);
        let knows = scanner.knows_charset();
        let mut tell = |token: Token, text: &[u8]| {
            each(token);
            seen.token(token, text, dialect.flavour, |name| function(name, dialect, knows));
            false
        };
        scanner.feed(text, 0, &mut tell);
        let whole = scanner.finish(&mut tell);
        (Self { scanner, seen }, whole)
    }

    /// Scans a chunk, of which the first `skim` bytes name none of the functions. Returns the bytes
    /// scanned, all of them unless there is a [`Self::fork`].
    pub fn feed(&mut self, chunk: &[u8], skim: usize) -> usize {
        let seen = &mut self.seen;
        let skim = if seen.expects_more() { 0 } else { skim };
        let (dialect, knows) = (self.scanner.dialect, self.scanner.knows_charset());
        self.scanner.feed(chunk, skim, |token, text| {
            seen.token(token, text, dialect.flavour, |name| function(name, dialect, knows));
            seen.expects_more()
        })
    }

    /// A finder for the modes in which the last byte read otherwise.
    pub fn fork(&mut self) -> Option<Self> {
        let scanner = self.scanner.fork()?;
        Some(Self { scanner, seen: self.seen.clone() })
    }

    /// Takes over the modes of another finder that will go on like this one.
    pub fn merge(&mut self, other: &Self) -> bool {
        let key = |s: &FinderState| {
            let candidate = s.candidate.map(|site| site.function);
            (s.names_something, s.after, candidate, s.first_call, s.prepares, s.executes)
        };
        key(&self.seen) == key(&other.seen) && self.scanner.merge(&other.scanner)
    }

    /// All calls.
    pub fn calls(&self) -> &[Site] {
        &self.seen.calls
    }

    /// Where the first call's arguments start.
    pub fn first_call(&self) -> Option<usize> {
        self.seen.first_call
    }

    /// That, or where something may be executed by its name, if there are `names`.
    pub fn first(&self, names: bool) -> Option<usize> {
        let executes = self.seen.executes.filter(|_| names);
        self.seen.first_call.into_iter().chain(executes).min()
    }

    /// Whether a parenthesis would be a call's.
    pub(in crate::sql) fn expects_call(&self) -> bool {
        self.seen.candidate.is_some()
    }

    /// Whether the character set, which is not known, decides what is a quote.
    pub(in crate::sql) fn is_unsure(&self) -> bool {
        self.scanner.unsure
    }

    /// Where the text stands that the statement prepares.
    pub fn prepares_after(&self) -> Option<usize> {
        match self.seen.prepares {
            Prepares::After(at) => Some(at),
            Prepares::No | Prepares::Prepare | Prepares::Name | Prepares::Execute => None,
        }
    }
}

/// The findings so far.
impl Hash for Finder {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.seen.hash(state);
    }
}

impl Prepares {
    fn next(self, token: Token, text: &[u8]) -> Self {
        let is =
            |word: &str| token.kind == Kind::Word && text.eq_ignore_ascii_case(word.as_bytes());
        match self {
            Self::After(_) => self,
            Self::Prepare if matches!(token.kind, Kind::Word | Kind::Quoted) => Self::Name,
            Self::Name if is("FROM") => Self::After(token.end),
            Self::Execute if is("IMMEDIATE") => Self::After(token.end),
            _ if is("PREPARE") => Self::Prepare,
            _ if is("EXECUTE") => Self::Execute,
            Self::No | Self::Prepare | Self::Name | Self::Execute => Self::No,
        }
    }
}

impl FinderState {
    /// The meaning of the last tokens depends on the next.
    fn expects_more(&self) -> bool {
        self.candidate.is_some()
            || matches!(self.after, AfterPoint::Schema | AfterPoint::Point)
            || !matches!(self.prepares, Prepares::No | Prepares::After(_))
    }

    fn token(
        &mut self,
        token: Token,
        text: &[u8],
        flavour: Flavour,
        function: impl Fn(&[u8]) -> Option<Function>,
    ) {
        if !matches!(token.kind, Kind::Versioned | Kind::Hint) {
            self.prepares = self.prepares.next(token, text);
            if self.prepares == Prepares::Execute {
                self.executes.get_or_insert(token.end);
            }
        }
        match token.kind {
            Kind::Versioned | Kind::Hint => {}
            Kind::Punct(b'(') => {
                if let Some(site) = self.candidate.take() {
                    self.first_call.get_or_insert(token.end);
                    if self.calls.len() < MAX_CALLS {
                        self.calls.push(site);
                    }
                }
                self.names_something = false;
            }
            Kind::Word | Kind::Quoted => {
                let function = function(text).filter(|_| !self.names_something);
                self.candidate = function.map(|function| Site { function, start: token.start });
                self.names_something = names_what_follows(token.kind, text);
            }
            Kind::Punct(_) | Kind::String => {
                self.candidate = None;
                self.names_something = names_what_follows(token.kind, text)
                    && (token.kind != Kind::Punct(b'.') || self.after == AfterPoint::Any);
            }
        }
        self.after = match token.kind {
            Kind::Versioned | Kind::Hint => self.after,
            Kind::Punct(b'.') => AfterPoint::Point,
            _ if flavour == Flavour::MySql => AfterPoint::Any,
            Kind::Word | Kind::Quoted if is_function_schema(text) => AfterPoint::Schema,
            Kind::Punct(b' ') => AfterPoint::Skimmed,
            _ => AfterPoint::Any,
        };
    }
}

/// Whether a name in MariaDB is that of a schema of the server's own functions. Whether case
/// matters there, only the server knows.
pub(in crate::sql) fn is_function_schema(name: &[u8]) -> bool {
    ["mariadb_schema", "oracle_schema", "maxdb_schema"]
        .iter()
        .any(|known| known.as_bytes().eq_ignore_ascii_case(name))
}

/// The function of a name, of which MySQL drops half a character at the end.
fn function(name: &[u8], dialect: Dialect, knows_charset: bool) -> Option<Function> {
    let half = name.iter().position(|b| !b.is_ascii()).filter(|at| {
        let tail = &name[*at..];
        dialect.flavour == Flavour::MySql
            && (dialect.multibyte.drops(tail)
                || (!knows_charset && tail.len() < 4 && std::str::from_utf8(tail).is_err()))
    });
    Function::from_name(&name[..half.unwrap_or(name.len())])
}

/// Whether a name and `(` after a token declare or use a table, an index or a routine.
pub(in crate::sql) fn names_what_follows(kind: Kind, text: &[u8]) -> bool {
    const WORDS: [&[u8]; 18] = [
        b"AS",
        b"WITH",
        b"RECURSIVE",
        b"UNIQUE",
        b"FULLTEXT",
        b"SPATIAL",
        b"INTO",
        b"TABLE",
        b"EXISTS",
        b"REFERENCES",
        b"KEY",
        b"INDEX",
        b"CALL",
        b"PROCEDURE",
        b"FUNCTION",
        b"INSERT",
        b"REPLACE",
        b"PARTITION",
    ];
    match kind {
        Kind::Word => WORDS.iter().any(|w| w.eq_ignore_ascii_case(text)),
        // After a parenthesis, a derived table gets a name, and names for its columns.
        Kind::Punct(b) => matches!(b, b'.' | b')'),
        Kind::Quoted | Kind::String | Kind::Hint | Kind::Versioned => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::lexer::dialect::Multibyte;

    fn dialect(flavour: Flavour) -> Dialect {
        Dialect::of(flavour)
    }

    fn count(sql: &str) -> usize {
        Finder::of(sql.as_bytes(), dialect(Flavour::MySql)).calls().len()
    }

    #[test]
    fn calls_are_found_wherever_the_lexer_sees_one() {
        for sql in [
            "SELECT GET_LOCK('a',0)",
            "select get_lock ('a',0)",
            "SELECT `GET_LOCK`('a',0)",
            "SELECT GET_LOCK/**/\n-- x\n# y\n('a',0)",
            "SELECT /*!50000 GET_LOCK('a',0) */",
            "SELECT /*!50000GET_LOCK*/('a',0)",
            "SELECT 1--GET_LOCK('a',0)",
            "SELECT /* /* */ GET_LOCK('a',0)",
            "SELECT {fn GET_LOCK('a',0)}",
            "SELECT 'it''s', \"x\\\"\", GET_LOCK('a',0)",
            "UPDATE t SET a=1 WHERE IS_FREE_LOCK('a')",
            "SELECT @x:=GET_LOCK('a',0)",
        ] {
            assert_eq!(count(sql), 1, "{sql}");
        }
        assert_eq!(count("SELECT GET_LOCK('a',GET_LOCK('b',0)), RELEASE_ALL_LOCKS()"), 3);
    }

    #[test]
    fn mentions_are_no_calls() {
        for sql in [
            "INSERT INTO log VALUES ('GET_LOCK(1) failed')",
            "SELECT get_lock FROM t",
            "SELECT mysql.GET_LOCK('a',0)",
            "SELECT mysql . `GET_LOCK`('a',0)",
            "SELECT 1 -- GET_LOCK('a',0)",
            "SELECT 1 # GET_LOCK('a',0)",
            "SELECT /* GET_LOCK('a',0) */ 1",
            "SELECT /*!99999 GET_LOCK('a',0) */ 1",
            "SELECT /*M! GET_LOCK('a',0) */ 1",
            "SELECT /*!99999 /* x */ GET_LOCK('a',0) */ 1",
            "SELECT 'a\\', GET_LOCK(' , 1",
            "SELECT `GET_LOCK(` FROM t",
            "INSERT INTO get_lock (a) VALUES (1)",
            "CREATE TABLE IF NOT EXISTS release_lock (a INT)",
            "SELECT GET_LOCKS('a')",
            "WITH get_lock (a) AS (SELECT 1) SELECT a FROM get_lock",
            "SELECT a FROM (SELECT 1) AS get_lock (a)",
            "SELECT a FROM (SELECT 1) get_lock (a)",
            "CREATE TABLE t (a INT, UNIQUE get_lock (a))",
            "SELECT /*M! /* */ 1 -- GET_LOCK('a',0)",
            "SELECT 1+/*!1234GET_LOCK('a',0)*/",
        ] {
            assert_eq!(count(sql), 0, "{sql}");
        }
        let mariadb = Finder::of(b"SELECT /*M! GET_LOCK('a',0) */ 1", dialect(Flavour::MariaDb));
        assert_eq!(mariadb.calls().len(), 1);
    }

    #[test]
    fn a_trail_byte_that_looks_like_a_backslash_does_not_escape() {
        let sql = b"SELECT '\x81\\', GET_LOCK('a',0)";
        let gbk = Dialect { multibyte: Multibyte::Gbk, ..dialect(Flavour::MySql) };
        assert_eq!(Finder::of(sql, gbk).calls().len(), 1);
        assert_eq!(Finder::of(sql, dialect(Flavour::MySql)).calls().len(), 0);
        assert_eq!(dialect(Flavour::MySql).readings(sql).len(), 12);
    }

    #[test]
    fn bytes_beyond_ascii_read_as_the_character_set_says() {
        use Multibyte::{Big5, Cp1250, Dos, Gb18030, Gbk, Latin, Safe, Sjis};
        for (sql, multibyte, calls) in [
            (&b"SELECT\xa0GET_LOCK\xa0('a',0)"[..], Latin, 1),
            (b"SELECT\xa0GET_LOCK\xa0('a',0)", Safe, 0),
            (b"SELECT\xa0GET_LOCK\xa0('a',0)", Dos, 0),
            (b"SELECT GET_LOCK\xff('a',0)", Dos, 1),
            (b"SELECT 1 --\xa0, GET_LOCK('a',0)", Latin, 0),
            (b"SELECT 1 --\xa0, GET_LOCK('a',0)", Safe, 1),
            (b"SELECT 1 --\x7f, GET_LOCK('a',0)", Safe, 0),
            (b"SELECT 1 --\x7f, GET_LOCK('a',0)", Dos, 1),
            (b"SELECT 1 --\x98 ' \n, GET_LOCK('a',0) -- '", Cp1250, 1),
            // After a backslash one byte is skipped, though a character may begin with it.
            (b"SELECT '\\\x81\\\\', GET_LOCK('a',0) -- '", Gbk, 1),
            (b"SELECT '\\\x81\\', GET_LOCK('a',0) -- '", Gbk, 0),
            (b"SELECT '\x81\\\\', GET_LOCK('a',0) -- '", Big5, 1),
            (b"SELECT '\xa1\\', GET_LOCK('a',0) -- '", Big5, 1),
            // A variable's name takes single bytes.
            (b"SELECT @\x81`a`, GET_LOCK('a',0) -- `", Gb18030, 1),
            (b"SELECT @\x81`a`, GET_LOCK('a',0) -- `", Gbk, 0),
            (b"SELECT @a.\xa1`a`, GET_LOCK('a',0) -- `", Gbk, 1),
            (b"SELECT @a.\xa1`a`, GET_LOCK('a',0) -- `", Big5, 1),
            // Half a character at the end of a name is dropped.
            (b"SELECT GET_LOCK\xc3('a',0)", Safe, 1),
            (b"SELECT GET_LOCK\xf0\x9f\x98('a',0)", Safe, 1),
            (b"SELECT GET_LOCK\xc3\xa9('a',0)", Safe, 0),
            (b"SELECT `GET_LOCK\xff`('a',0)", Gbk, 1),
            (b"SELECT GET_LOCK\x810\x81('a',0)", Gb18030, 1),
            (b"SELECT GET_LOCK\xc3('a',0)", Latin, 0),
            (b"SELECT GET_LOCK\xb1('a',0)", Sjis, 0),
        ] {
            let dialect = Dialect { multibyte, ..dialect(Flavour::MySql) };
            let found = Finder::of(sql, dialect).calls().len();
            assert_eq!(found, calls, "{multibyte:?}: {}", sql.escape_ascii());
            // A reading that may be right has the call.
            let asked = Dialect { multibyte: Safe, ..dialect };
            let same = |d: &Dialect| Finder::of(sql, *d).calls().len() == calls;
            assert!(asked.readings(sql).iter().any(same), "{}", sql.escape_ascii());
        }
    }

    #[test]
    fn digits_that_are_no_version_are_code() {
        let mysql = dialect(Flavour::MySql);
        let mysql_8_0 = Dialect { version: 80_046, ..mysql };
        let mariadb = dialect(Flavour::MariaDb);
        for (sql, dialect, calls) in [
            ("SELECT 1+/*!1234GET_LOCK('a',0)*/", mysql, 0),
            ("SELECT 1 /*!1234,GET_LOCK('a',0)*/", mysql, 1),
            ("SELECT /*!090704 GET_LOCK('a',0)*/", mysql, 1),
            ("SELECT /*!090705 GET_LOCK('a',0)*/", mysql, 0),
            ("SELECT /*!500000+GET_LOCK('a',0)*/", mysql, 1),
            ("SELECT /*!500001GET_LOCK('a',0)*/", mysql, 0),
            ("SELECT /*!500000 +GET_LOCK('a',0)*/", mysql, 0),
            ("SELECT /*!500000 +GET_LOCK('a',0)*/", mysql_8_0, 1),
            ("SELECT /*!500000+GET_LOCK('a',0)*/", mariadb, 0),
            ("SELECT /*!101119GET_LOCK('a',0)*/", mariadb, 1),
            ("SELECT /*!1011190+GET_LOCK('a',0)*/", mariadb, 1),
        ] {
            let found = Finder::of(sql.as_bytes(), dialect).calls().len();
            assert_eq!(found, calls, "{sql} at {}", dialect.version);
        }
    }

    #[test]
    fn chunks_of_any_size_give_the_same_verdict() {
        let sql =
            b"SELECT 'x''\\'y' /*!50000 , GET_LOCK */ -- c\n ('a', 1--1), `IS_FREE_LOCK`('b')";
        for size in 1..sql.len() {
            let mut finder = Finder::new(dialect(Flavour::MySql));
            for chunk in sql.chunks(size) {
                finder.feed(chunk, 0);
            }
            assert_eq!(finder.seen.calls.len(), 2, "chunks of {size}");
        }
    }
}
