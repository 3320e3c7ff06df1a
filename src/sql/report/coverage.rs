//! What Lockstead would do with a statement with lock calls, judged by its text alone.

use crate::lock::function::Function;
use crate::sql::classify::named::Named;
use crate::sql::classify::{Statement, classify, classify_exactly};
use crate::sql::expression::composite::{Call, Composite, Verb};
use crate::sql::expression::items::Item;
use crate::sql::find::readings::Readings;
use crate::sql::find::words::{may_change_modes, mentions};
use crate::sql::lexer::dialect::Dialect;

/// Why a call is refused that the server may leave out.
const UNREACHED: &str = "a lock call if only the server knows whether it is evaluated";

/// What Lockstead would do with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coverage {
    /// The call runs as it does without Lockstead; what the server refuses, the server refuses.
    Covered,
    /// The statement defines a stored program or view, which passes: its calls stay the server's own.
    Passed,
    /// Something that only the server knows decides whether the statement is refused; the text says why it would be.
    Perhaps(&'static str),
    /// The statement is refused with error 1235; the text says why.
    Refused(&'static str),
}

/// Readings that are distinguished.
pub(in crate::sql) const MOST: usize = 8;

/// How a text reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// COM_QUERY, in a session that may send several statements in one text, or not.
    Query {
        /// Whether a text may have several statements.
        several: bool,
    },
    /// COM_STMT_PREPARE.
    Prepare,
}

/// Judges a text that passed the prefilter; `None` without a call.
pub fn coverage(text: &[u8], dialect: Dialect, by: By) -> Option<Coverage> {
    let statement = classify(text, dialect);
    if statement != Statement::Ambiguous {
        return of(&statement, text, dialect, by);
    }
    if by == (By::Query { several: true }) && may_change_modes(text) {
        return Some(Coverage::Refused(
            "several statements in one text that may change how the text reads",
        ));
    }
    // The server would be asked for its modes.
    let mut all = Vec::new();
    for dialect in Readings::of(text, dialect).flatten() {
        if all.len() == MOST {
            return Some(Coverage::Perhaps(
                "a lock call in a text that reads differently in many SQL modes and character sets",
            ));
        }
        all.push(of(&classify_exactly(text, dialect), text, dialect, by));
    }
    let worst = all.iter().flatten().max().copied()?;
    let refusal = match worst {
        Coverage::Refused(why) if all.iter().any(|c| *c != Some(worst)) => Coverage::Perhaps(why),
        other => other,
    };
    Some(refusal)
}

fn of(statement: &Statement, text: &[u8], dialect: Dialect, by: By) -> Option<Coverage> {
    Some(match statement {
        Statement::Composite(composite) if composite.calls.is_empty() => return None,
        Statement::NoCall
        | Statement::PerhapsLists
        | Statement::Executes
        | Statement::Named(Named::Execute { .. } | Named::Deallocate { .. }) => return None,
        // No server prepares such a statement.
        Statement::Named(_) if by == By::Prepare => return None,
        Statement::Named(Named::Prepare { source, .. } | Named::Immediate { source, .. }) => {
            return prepared(&text[source.span.clone()], dialect);
        }
        Statement::Bare(_) | Statement::WrongCount | Statement::InTable => Coverage::Covered,
        Statement::Definition => Coverage::Passed,
        // Parameters without PREPARE are a syntax error.
        Statement::Composite(composite) if by != By::Prepare && !composite.params.is_empty() => {
            Coverage::Covered
        }
        // Nothing of it is evaluated.
        Statement::Composite(composite) if composite.verb == Verb::Explain => {
            composite.explains_uncovered().map_or(Coverage::Covered, Coverage::Refused)
        }
        Statement::Composite(composite) => {
            composite.calls.iter().map(|call| composite.coverage(call)).max()?
        }
        // The server refuses them all.
        Statement::Several(_) if by != (By::Query { several: true }) => Coverage::Covered,
        Statement::Several(pieces) => pieces
            .iter()
            .filter_map(|piece| {
                let piece = &text[piece.clone()];
                match classify_exactly(piece, dialect) {
                    Statement::Several(_) => {
                        Some(Coverage::Refused("a lock call in these statements"))
                    }
                    statement => of(&statement, piece, dialect, by),
                }
            })
            .max()?,
        Statement::Other | Statement::Ambiguous => {
            Coverage::Refused("a lock function in this kind of statement")
        }
    })
}

/// Of what a statement prepares: a string, or an expression of which the text is not known.
fn prepared(source: &[u8], dialect: Dialect) -> Option<Coverage> {
    let (quote, inner) = source.split_first()?;
    let inner = inner.strip_suffix(&[*quote]).filter(|_| matches!(quote, b'\'' | b'"'));
    match inner.filter(|inner| !inner.contains(&b'\\')) {
        Some(inner) => {
            let text = String::from_utf8_lossy(inner);
            let quote = char::from(*quote).to_string();
            coverage(text.replace(&quote.repeat(2), &quote).as_bytes(), dialect, By::Prepare)
        }
        None if mentions(source) => Some(Coverage::Perhaps("a lock call in a computed text")),
        None => None,
    }
}

impl Composite {
    /// Why a call of this statement is not covered, judged by the text alone.
    pub fn uncovered(&self, call: &Call) -> Option<&'static str> {
        let looks_only = self.calls.iter().all(Call::only_looks);
        // If the text does not show that it is evaluated, the server must be asked.
        let asked = match &call.item {
            Some(item) => item.repeatable,
            None => self.repeatable && !self.tables,
        };
        let reached = match &call.item {
            Some(item) => item.reached,
            None => !self.tables,
        };
        let effects = call
            .arguments
            .iter()
            .any(|part| part.calls.iter().any(|c| !c.certain) && !part.repeatable);
        // To look in vain changes nothing.
        let told = looks_only || (self.tables && call.only_looks());
        if !reached && !call.only_looks() {
            Some(UNREACHED)
        } else if effects || !(asked || call.certain || told) {
            Some("a lock call beside functions with effects")
        } else if call.arguments.iter().any(|part| part.assigned_here) {
            Some("a name from a variable that the statement assigns")
        } else {
            None
        }
    }

    /// The item in which the server is asked about a call, where the rest of the statement has to do with
    /// tables: it must make sense without them.
    pub fn asks_beside_tables<'a>(&self, call: &'a Call) -> Option<&'a Item> {
        let looks_only = self.calls.iter().all(Call::only_looks);
        let asks = self.tables && !call.certain && !looks_only;
        call.item.as_ref().filter(|item| asks && item.repeatable)
    }

    /// Why not all of an EXPLAIN's calls are covered: in a subquery that it reads from, or a condition
    /// that it looks for rows by, the server evaluates them.
    pub fn explains_uncovered(&self) -> Option<&'static str> {
        let changes = self.tables && !self.calls.iter().all(Call::only_looks);
        (self.verb == Verb::Explain && changes).then_some(UNREACHED)
    }

    fn coverage(&self, call: &Call) -> Coverage {
        if let Some(why) = self.uncovered(call) {
            return Coverage::Refused(why);
        }
        let from_rows = call
            .arguments
            .iter()
            .any(|part| part.literal.is_none() && (self.reads || !part.repeatable));
        if from_rows && !call.only_looks() {
            return Coverage::Perhaps("a lock's name or timeout, if it is from a column");
        }
        // How often it is evaluated turns out when it is run.
        let counted = !self.tables && !call.certain && self.reads;
        let changes = !matches!(call.function, Function::IsFreeLock | Function::IsUsedLock);
        if counted && changes {
            return Coverage::Perhaps("a lock call, if one statement evaluates it several times");
        }
        Coverage::Covered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    const MYSQL: Dialect = Dialect::MYSQL;

    fn judge(sql: &str) -> Option<Coverage> {
        coverage(sql.as_bytes(), MYSQL, By::Query { several: true })
    }

    #[test]
    fn statements_are_judged_by_what_would_happen_to_them() {
        assert_eq!(judge("SELECT 'GET_LOCK(1,0)'"), None);
        for sql in [
            "SELECT GET_LOCK('k', 1)",
            "SELECT GET_LOCK(\"k\", 1)",
            "SELECT GET_LOCK('k')",
            "SELECT GET_LOCK(CONCAT('a', @b), 1) = 1",
            "DO GET_LOCK('a', 0); SELECT RELEASE_LOCK('a')",
            "INSERT INTO t VALUES (GET_LOCK('a', 0))",
            "EXPLAIN SELECT GET_LOCK(@a, RAND())",
            "PREPARE s FROM 'SELECT GET_LOCK(''k'',0)'",
            "SHOW TABLES WHERE IS_FREE_LOCK('k')",
        ] {
            assert_eq!(judge(sql), Some(Coverage::Covered), "{sql}");
        }
        for sql in [
            "PREPARE s FROM 'SELECT RAND(), GET_LOCK(''k'',RAND()) + 1'",
            "CREATE TABLE t SELECT GET_LOCK('k',0)",
            "UPDATE t SET a=1 WHERE RELEASE_LOCK('k')",
            "SELECT GET_LOCK('k',0) FROM t",
            "SELECT GET_LOCK(name, 0) FROM t",
            "CALL p(GET_LOCK('k',0))",
            "EXPLAIN SELECT GET_LOCK('k',0) FROM t",
            "SELECT IF(RAND(), GET_LOCK('k', 0), 1)",
            "DO 1; KILL GET_LOCK('k',0)",
        ] {
            assert!(matches!(judge(sql), Some(Coverage::Refused(_))), "{sql}: {:?}", judge(sql));
        }
        let sql = "SELECT GET_LOCK(name, 0) FROM (SELECT 'k' AS name) d";
        assert!(matches!(judge(sql), Some(Coverage::Perhaps(_))), "{:?}", judge(sql));
        let sql = "CREATE PROCEDURE p() SELECT GET_LOCK('k', 0)";
        assert_eq!(judge(sql), Some(Coverage::Passed));
    }

    #[test]
    fn a_statement_that_one_mode_alone_refuses_is_perhaps_refused() {
        let sql = r"SELECT 'a\' , GET_LOCK('k',0) , RAND() , IF(RAND(), GET_LOCK('k',0), '";
        assert!(matches!(judge(sql), Some(Coverage::Perhaps(_))), "{:?}", judge(sql));
    }

    #[test]
    fn several_statements_are_the_server_s_to_refuse_where_it_does() {
        let sql = b"DO 1; KILL GET_LOCK('k',0)";
        for by in [By::Prepare, By::Query { several: false }] {
            assert_eq!(coverage(sql, MYSQL, by), Some(Coverage::Covered));
        }
    }
}
