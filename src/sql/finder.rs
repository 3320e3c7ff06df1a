//! Finds calls of the five functions in a statement.
//!
//! A call is the unqualified name, bare or backquoted, followed by `(` after white space or
//! comments (interception, 1). A name behind a dot, or where a table or routine is named, is none.

use super::dialect::Dialect;
use super::scanner::{Kind, Scanner, Token};
use crate::lock::function::Function;

/// One call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Site {
    /// Which function.
    pub function: Function,
    /// Where its name starts.
    pub start: usize,
}

/// Looks at one token after the other.
#[derive(Debug, Clone)]
pub struct Finder {
    /// Bytes in front of the statement that are still to be passed over.
    skip: usize,
    scanner: Scanner,
    seen: Seen,
}

#[derive(Debug, Clone, Default)]
struct Seen {
    /// The token before rules a call out.
    names_something: bool,
    candidate: Option<Site>,
    calls: Vec<Site>,
}

/// More calls than this in one statement are not told apart.
const MAX_CALLS: usize = 64;

impl Finder {
    /// A finder at the start of a statement.
    pub fn new(dialect: Dialect) -> Self {
        Self::behind(dialect, 0)
    }

    /// A finder for a statement that starts behind `skip` bytes.
    pub fn behind(dialect: Dialect, skip: usize) -> Self {
        Self { skip, scanner: Scanner::new(dialect), seen: Seen::default() }
    }

    /// Scans a chunk. True once a call has been seen.
    pub fn feed(&mut self, chunk: &[u8]) -> bool {
        let seen = &mut self.seen;
        let skipped = self.skip.min(chunk.len());
        self.skip -= skipped;
        self.scanner.feed(&chunk[skipped..], |token, text| seen.token(token, text));
        !seen.calls.is_empty()
    }

    /// All calls of a whole statement.
    pub fn calls(text: &[u8], dialect: Dialect) -> Vec<Site> {
        let mut finder = Self::new(dialect);
        finder.feed(text);
        finder.seen.calls
    }
}

impl Seen {
    fn token(&mut self, token: Token, text: &[u8]) {
        match token.kind {
            Kind::Versioned | Kind::Hint => {}
            Kind::Punct(b'(') => {
                if let Some(site) = self.candidate.take()
                    && self.calls.len() < MAX_CALLS
                {
                    self.calls.push(site);
                }
                self.names_something = false;
            }
            Kind::Word | Kind::Quoted => {
                let function = Function::from_name(text).filter(|_| !self.names_something);
                self.candidate = function.map(|function| Site { function, start: token.start });
                self.names_something = token.kind == Kind::Word && names_an_object(text);
            }
            Kind::Punct(b) => {
                self.candidate = None;
                self.names_something = b == b'.' || b == b'@';
            }
            Kind::String => {
                self.candidate = None;
                self.names_something = false;
            }
        }
    }
}

/// Keywords behind which a name and `(` declare or use a table, an index or a routine.
fn names_an_object(word: &[u8]) -> bool {
    const WORDS: [&[u8]; 12] = [
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
    WORDS.iter().any(|w| w.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::dialect::Multibyte;
    use crate::types::Flavour;

    fn dialect(flavour: Flavour) -> Dialect {
        Dialect {
            flavour,
            version: if flavour == Flavour::MySql { 90_704 } else { 101_119 },
            ansi_quotes: false,
            no_backslash_escapes: false,
            multibyte: Multibyte::Safe,
        }
    }

    fn count(sql: &str) -> usize {
        Finder::calls(sql.as_bytes(), dialect(Flavour::MySql)).len()
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
        ] {
            assert_eq!(count(sql), 0, "{sql}");
        }
        let mariadb = Finder::calls(b"SELECT /*M! GET_LOCK('a',0) */ 1", dialect(Flavour::MariaDb));
        assert_eq!(mariadb.len(), 1);
    }

    #[test]
    fn a_trail_byte_that_looks_like_a_backslash_does_not_escape() {
        let sql = b"SELECT '\x81\\', GET_LOCK('a',0)";
        let gbk = Dialect { multibyte: Multibyte::Gbk, ..dialect(Flavour::MySql) };
        assert_eq!(Finder::calls(sql, gbk).len(), 1);
        assert_eq!(Finder::calls(sql, dialect(Flavour::MySql)).len(), 0);
        assert_eq!(dialect(Flavour::MySql).readings(sql).len(), 6);
    }

    #[test]
    fn chunks_of_any_size_give_the_same_verdict() {
        let sql =
            b"SELECT 'x''\\'y' /*!50000 , GET_LOCK */ -- c\n ('a', 1--1), `IS_FREE_LOCK`('b')";
        for size in 1..sql.len() {
            let mut finder = Finder::new(dialect(Flavour::MySql));
            for chunk in sql.chunks(size) {
                finder.feed(chunk);
            }
            assert_eq!(finder.seen.calls.len(), 2, "chunks of {size}");
        }
    }
}
