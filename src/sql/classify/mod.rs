//! Classifies a statement that calls a lock function: one bare call that the proxy can answer, the
//! definition of a stored program, or something else.

pub mod at_prepare;
mod bare;
pub mod commits;
pub(in crate::sql) mod definition;
pub mod named;
pub mod split;
pub mod writes;

use std::ops::Range;

use super::expression::composite::{self, Composite};
use super::expression::listing;
use super::find::finder::Finder;
use super::find::mentions::mention;
use super::find::readings::Readings;
use super::lexer::dialect::Dialect;
use super::lexer::scanner::Kind;
use super::lexer::tokens::tokens;
use bare::Bare;
pub use bare::{Alias, BareCall};

use crate::sql::classify::definition::{event_body, is_definition, is_table};
use crate::sql::classify::named::Named;

/// Bytes of differing readings that are judged; only a crafted statement has more.
const MAX_JUDGED: usize = 512 * 1024;

/// The verdict on a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Statement {
    /// No call: the bytes pass unchanged.
    NoCall,
    /// No call, but in some readings the statement lists locks.
    PerhapsLists,
    /// One bare call.
    Bare(BareCall),
    /// A call with a wrong number of arguments, which the server refuses before it locks.
    WrongCount,
    /// A call in the definition of a table, where the server refuses it.
    InTable,
    /// CREATE or ALTER of a routine, trigger, event or view: calls run when it does.
    Definition,
    /// Calls in a larger statement, or none in one that lists locks.
    Composite(Composite),
    /// PREPARE, EXECUTE and the like: the calls are in the text that they prepare.
    Named(Named),
    /// An EXECUTE somewhere in a statement that is not taken apart.
    Executes,
    /// Several statements, some of them with calls.
    Several(Vec<Range<usize>>),
    /// A call in any other form.
    Other,
    /// The reading depends on settings that only the server knows.
    Ambiguous,
}

/// Judges a statement that passed the prefilter.
pub fn classify(text: &[u8], dialect: Dialect) -> Statement {
    let mut judging = Judging::of(text, dialect);
    loop {
        if let Some(verdict) = judging.step() {
            return verdict;
        }
    }
}

/// Judges a statement reading by reading.
#[derive(Debug)]
pub struct Judging<'a> {
    text: &'a [u8],
    readings: Readings<'a>,
    /// The verdict on the first reading.
    verdict: Option<Statement>,
    /// Another reading has another verdict, and neither has a call.
    differs: bool,
    /// Bytes that were judged.
    judged: usize,
    /// In no reading does the text name what could be called or read.
    silent: bool,
}

impl<'a> Judging<'a> {
    /// A judgement that begins at the first reading.
    pub fn of(text: &'a [u8], dialect: Dialect) -> Self {
        let readings = Readings::of(text, dialect);
        let silent =
            mention(text).is_none() && !named::may_be_named(text, true) && !listing::may_list(text);
        Self { text, readings, verdict: None, differs: false, judged: 0, silent }
    }

    /// Bytes that all readings come to together.
    pub fn work(&self) -> usize {
        if self.silent { 0 } else { self.readings.work() }
    }

    /// Looks at one more reading; returns the verdict after the last one.
    pub fn step(&mut self) -> Option<Statement> {
        if self.silent {
            return Some(Statement::NoCall);
        }
        let Some(reading) = self.readings.next() else {
            let verdict = self.verdict.take().unwrap_or(Statement::Ambiguous);
            return Some(if self.differs { Statement::PerhapsLists } else { verdict });
        };
        let dialect = reading?;
        self.judged += self.text.len();
        if self.verdict.is_some() && self.judged > MAX_JUDGED {
            return Some(Statement::Ambiguous);
        }
        let verdict = classify_exactly(self.text, dialect);
        let first = self.verdict.get_or_insert_with(|| verdict.clone());
        if *first != verdict {
            if first.calls() || verdict.calls() {
                return Some(Statement::Ambiguous);
            }
            self.differs = true;
        }
        None
    }
}

impl Statement {
    /// Whether anything may be called.
    fn calls(&self) -> bool {
        match self {
            Self::NoCall => false,
            Self::Composite(composite) => !composite.calls.is_empty(),
            _ => true,
        }
    }
}

/// Judges a statement whose dialect is certain.
pub fn classify_exactly(text: &[u8], dialect: Dialect) -> Statement {
    let finder = Finder::of(text, dialect);
    let sites = finder.calls();
    let prepares = finder.prepares_after().is_some_and(|at| mention(&text[at..]).is_some());
    let names = named::may_be_named(text, true);
    if sites.is_empty() && !prepares && !names {
        return lists(text, dialect).map_or(Statement::NoCall, Statement::Composite);
    }
    let (tokens, whole) = tokens(text, dialect);
    if (!sites.is_empty() || prepares) && is_definition(text, &tokens) {
        // The schedule of an event is evaluated when it is defined.
        let body = event_body(text, &tokens);
        let scheduled = sites.iter().any(|site| body.is_some_and(|body| site.start < body));
        return if scheduled { Statement::Other } else { Statement::Definition };
    }
    if whole
        && sites.len() == 1
        && let Some(bare) = bare::read(text, &tokens)
    {
        return match bare {
            Bare::Call(call) => Statement::Bare(call),
            Bare::WrongCount => Statement::WrongCount,
        };
    }
    if sites.is_empty()
        && whole
        && let Some(named) = named::read(text, &tokens, dialect)
    {
        return Statement::Named(named);
    }
    let names = named::stands_in(text, &tokens);
    match split::split(text, &tokens) {
        Some(pieces) if pieces.len() > 1 && (names || prepares || !sites.is_empty()) => {
            return Statement::Several(pieces);
        }
        Some(_) | None => {}
    }
    if prepares || (!whole && !sites.is_empty()) {
        return Statement::Other;
    }
    if !sites.is_empty() && is_table(text, &tokens) {
        return Statement::InTable;
    }
    if sites.is_empty() {
        if named::executes(text, &tokens) {
            return Statement::Executes;
        }
        return lists(text, dialect).map_or(Statement::NoCall, Statement::Composite);
    }
    composite::read(text, &tokens, dialect).map_or(Statement::Other, Statement::Composite)
}

/// Reads a text of one statement as a larger one, also where it is a bare call.
pub fn as_composite(text: &[u8], dialect: Dialect) -> Option<Composite> {
    composite::read(text, &tokens(text, dialect).0, dialect)
}

/// A statement without calls that lists locks.
fn lists(text: &[u8], dialect: Dialect) -> Option<Composite> {
    if !listing::may_list(text) {
        return None;
    }
    let (tokens, whole) = tokens(text, dialect);
    if whole && !is_definition(text, &tokens) {
        composite::read(text, &tokens, dialect).filter(|composite| composite.lists.is_some())
    } else {
        None
    }
}

/// Whether one COM_STMT_PREPARE can hold the text: only then does the server's verdict on it say
/// something about the statement.
pub fn is_single(text: &[u8], dialect: Dialect) -> bool {
    let (tokens, _) = tokens(text, dialect);
    let end = tokens.iter().rposition(|t| t.kind != Kind::Punct(b';')).map_or(0, |i| i + 1);
    tokens[..end].iter().all(|t| t.kind != Kind::Punct(b';'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::lexer::dialect::Multibyte;
    const MYSQL: Dialect = Dialect::MYSQL;

    fn judge(sql: &str) -> Statement {
        classify(sql.as_bytes(), MYSQL)
    }

    fn exact(sql: &str) -> Statement {
        classify_exactly(sql.as_bytes(), MYSQL)
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
            ("SELECT /*!50000 GET_LOCK('k',0) */", "GET_LOCK('k',0)", 2),
            ("SELECT /*!50000GET_LOCK*/('k',0)", "GET_LOCK*/('k',0)", 2),
            ("SELECT {fn GET_LOCK('k',0)} AS x", "{fn GET_LOCK('k',0)}", 2),
        ] {
            // In swe7 a brace is a letter.
            let judge = if sql.contains('{') { exact } else { judge };
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
            "SELECT GET_LOCK('k',0) FROM t",
            "SELECT GET_LOCK('k',0) INTO @x",
            "SELECT GET_LOCK('k',0) LIMIT 0",
            "SELECT (GET_LOCK('k',0))",
            "SELECT GET_LOCK('k',(0))",
            "SELECT GET_LOCK('k',1 2)",
            "SELECT {d GET_LOCK('k',0)}",
            "SELECT {fn GET_LOCK('k',0)",
            "SET @x = GET_LOCK('k',0)",
            "SELECT GET_LOCK('k',0) FOR UPDATE",
            "SHOW TABLES WHERE GET_LOCK('k',0)",
            "HANDLER t READ FIRST WHERE GET_LOCK('k',0)",
            "SET STATEMENT max_statement_time=1 FOR SELECT GET_LOCK('k',0)",
            "SELECT /*!50000 SQL_NO_CACHE */ GET_LOCK('k',0) + 1",
        ] {
            let judge = if sql.contains('{') { exact } else { judge };
            assert!(matches!(judge(sql), Statement::Composite(_)), "{sql}: {:?}", judge(sql));
        }
        for sql in [
            "EXECUTE IMMEDIATE 'DO RELEASE_ALL_LOCKS()'",
            "SELECT GET_LOCK('k' /*! 'x', */ 0)",
            "SELECT GET_LOCK('k',0)) + (1",
            "CREATE TABLE t AS SELECT GET_LOCK('k',0)",
            "SELECT 1 + GET_LOCK('k' /*!50000 ,0) */",
            "SET STATEMENT max_statement_time=GET_LOCK('k',0) FOR SELECT 1",
            "SELECT GET_LOCK('k',0) INTO OUTFILE 'x'",
        ] {
            assert_eq!(judge(sql), Statement::Other, "{sql}");
        }
        for sql in [
            "SELECT 1; SELECT GET_LOCK('k',0)",
            "SELECT 1; PREPARE `s` FROM CONCAT('SELECT GET_LOCK', '(1,0)')",
            "DO 1; EXECUTE s",
            "DO 1; EXECUTE IMMEDIATE 'DO RELEASE_ALL_LOCKS()'",
        ] {
            assert!(matches!(judge(sql), Statement::Several(_)), "{sql}: {:?}", judge(sql));
        }
    }

    #[test]
    fn definitions_pass_and_nothing_hides_after_them() {
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
        for table in [
            "CREATE TABLE t AS SELECT GET_LOCK('k',0) AS event",
            "CREATE TEMPORARY TABLE event (event INT) AS SELECT GET_LOCK('k',0)",
        ] {
            assert_eq!(judge(table), Statement::Other);
        }
    }

    #[test]
    fn a_name_that_ends_in_half_a_backslash_is_a_literal() {
        let gbk = Dialect { multibyte: Multibyte::Gbk, ..MYSQL };
        let sql = b"SELECT GET_LOCK('g\x81\\',0)";
        assert_eq!(classify(sql, MYSQL), Statement::Ambiguous);
        assert!(matches!(classify_exactly(sql, gbk), Statement::Bare(_)));
    }

    #[test]
    fn a_text_that_depends_on_unknown_modes_is_ambiguous() {
        assert_eq!(judge("SELECT \"it\\\"s GET_LOCK('k',0)\""), Statement::Ambiguous);
        assert_eq!(judge("SELECT 'a\\' , GET_LOCK('k',0) , '"), Statement::Ambiguous);
        assert_eq!(judge("SELECT GET_LOCK(\"k\",0)"), Statement::Ambiguous);
    }
}
