//! Whether a text runs statements that are not in it, and so perhaps takes locks that it does not name.

use super::effects::Mark;
use super::session_effects;
use crate::sql::find::first_word::first_word;
use crate::sql::lexer::dialect::Dialect;
use crate::sql::lexer::scanner::is_space;

/// First words of statements that run others, or that hold such statements.
const FIRST: [&[u8]; 11] = [
    b"call", b"execute", b"begin", b"set", b"if", b"case", b"loop", b"while", b"repeat", b"for",
    b"declare",
];

/// Whether a text may run statements that are not in it: CALL, EXECUTE, or a block with one of them. Of stored functions and
/// triggers no word tells.
pub fn runs_others(text: &[u8], dialect: Dialect) -> bool {
    may_run_others(text) && {
        let effects = session_effects(text, dialect);
        effects.has(Mark::Call) || effects.has(Mark::Execute)
    }
}

/// The scan that every statement pays. Quotes and comments are not recognized, but for comments at the start.
fn may_run_others(text: &[u8]) -> bool {
    let first = first_word(text);
    let leads = first.is_empty() || FIRST.iter().any(|word| first.eq_ignore_ascii_case(word));
    (leads || memchr::memchr_iter(b';', text).any(|at| may_lead(&text[at + 1..]))) && is_named(text)
}

/// Whether one of the first words may follow a semicolon, or half a comment.
fn may_lead(text: &[u8]) -> bool {
    let Some(start) = text.iter().position(|b| !is_space(*b)) else { return false };
    let text = &text[start..];
    let odd = matches!(text[0], b'/' | b'#' | b'-' | b'*' | b'<') || !text[0].is_ascii();
    odd || FIRST
        .iter()
        .any(|word| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)))
}

/// Whether the letters of CALL or EXECUTE are anywhere.
fn is_named(text: &[u8]) -> bool {
    let is = |start: Option<usize>, word: &[u8]| {
        start
            .and_then(|start| text.get(start..start + word.len()))
            .is_some_and(|found| found.eq_ignore_ascii_case(word))
    };
    memchr::memchr2_iter(b'x', b'X', text).any(|at| is(at.checked_sub(1), b"execute"))
        || memchr::memchr2_iter(b'c', b'C', text).any(|at| is(Some(at), b"call"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::work::{best, many_readings, worked};

    const BOTH: [Dialect; 2] = [Dialect::MYSQL, Dialect::MARIADB];

    #[test]
    fn a_statement_that_runs_others_is_known_by_its_first_word() {
        for sql in [
            "CALL p()",
            " \n call`p`",
            "/* callers */ CALL p()",
            "-- a\nCALL p()",
            "# a\r\nCALL p()",
            "/*!50003 CALL p() */",
            "/*! CALL */ p()",
            "/*+ a */ CALL p()",
            "EXECUTE s USING @a",
            "execute immediate 'SELECT 1'",
            "SELECT 1; CALL p()",
            "SELECT ';' ; /* a */ CALL p(); SELECT 2",
            "DO 1; -- a\nEXECUTE s",
            "DO 1;\u{a0}CALL p()",
            "/*! DO 1; */ CALL p()",
            "BEGIN NOT ATOMIC CALL p(); END",
            "BEGIN NOT ATOMIC DECLARE EXIT HANDLER FOR NOT FOUND CALL p(); DO 1; END",
            "IF 1 THEN CALL p(); END IF",
            "DO 1; REPEAT CALL p(); UNTIL 1 END REPEAT",
            "WHILE a DO EXECUTE s; END WHILE",
            "<<l>> BEGIN CALL p(); END",
            "SET STATEMENT max_statement_time=1 FOR CALL p()",
            "SET STATEMENT a=1e5FOR EXECUTE s",
        ] {
            for dialect in BOTH {
                assert!(runs_others(sql.as_bytes(), dialect), "{sql}");
            }
        }
        assert!(runs_others(b"/*M! CALL p() */", Dialect::MARIADB));
        assert!(runs_others(b"SELECT 'a\\'; CALL p(); -- '", Dialect::MYSQL), "in one mode");
    }

    #[test]
    fn words_that_look_like_calls_run_nothing() {
        for sql in [
            "/* app:callcenter */ SELECT 1",
            "-- executed by cron\nSELECT 1",
            "# CALL p()\nSELECT 1",
            "/* CALL p() */ UPDATE t SET a=1",
            "EXPLAIN SELECT 1 AS callers",
            "EXPLAIN SELECT 'CALL p()'",
            "SET @recall=1",
            "SET @a='CALL p()'",
            "SET @execute=1, @b=2",
            "SET STATEMENT max_statement_time=1 FOR SELECT 'call'",
            "CREATE TABLE calls (execute INT)",
            "CREATE TABLE t (a INT) /* called */; INSERT INTO t VALUES (1)",
            "BEGIN /* call */",
            "SELECT ';CALL p()'",
            "INSERT INTO t VALUES ('a; call b', '&nbsp;executed')",
            "SELECT 1; /* CALL p() */ SELECT 2",
            "SELECT 1; SELECT 2 -- ; EXECUTE s",
            "SELECT 1; SET @recall=1",
            "SELECT `call`, execute FROM t; COMMIT",
            "CALLER",
            "SHOW CREATE PROCEDURE caller",
            "DROP PROCEDURE IF EXISTS execute_all",
            "SELECT 1; SELECT call_id FROM t",
            "",
        ] {
            for dialect in BOTH {
                assert!(!runs_others(sql.as_bytes(), dialect), "{sql}");
            }
        }
        assert!(!runs_others(b"/*M! CALL p() */ SELECT 1", Dialect::MYSQL));
        assert!(!runs_others(b"/*!999999 CALL p() */ SELECT 1", Dialect::MYSQL));
    }

    #[test]
    fn no_text_takes_much_longer_than_a_plain_one() {
        const SIZE: usize = 64 * 1024;
        let took = |text: &[u8]| {
            best(|| {
                let began = worked();
                let _ = runs_others(text, Dialect::MARIADB);
                worked().saturating_sub(began)
            })
        };
        let repeated =
            |item: &str| ["CALL p(1", &item.repeat(SIZE / item.len())].concat().into_bytes();
        let usual = took(&repeated(",1"));
        let texts = [";/*", "; call", ";", "/**/", "--\n", "x", "c"].map(repeated);
        for text in texts.into_iter().chain(many_readings(SIZE)) {
            let took = took(&text);
            let start = text[..48].escape_ascii();
            assert!(took < 20 * usual, "{start}: {took:?}, a plain text {usual:?}");
        }
    }
}
