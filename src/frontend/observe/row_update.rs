//! What a response means for the rows of its session's locks, in mode coexist.

use crate::lock::function::Function;
use crate::lock::name::Name;
use crate::lock::timeout::Timeout;
use crate::observe::event::Outcome;
use crate::sql::report::call_names::{Alone, Uses};

/// What has to be done about rows after a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RowUpdate {
    /// The server granted this lock, or may have: the claim of the row finds out.
    Claim(Name, Timeout),
    /// The server released this lock once, if the session held it.
    Release(Name),
    /// The server released all locks.
    ReleaseAll,
    /// The rows may name a holder of this lock that the server does not know. The session that has the server's
    /// lock may be waiting for it.
    Look(Function, Name),
    /// The response does not tell which locks are held now. Locks of these names may be among them.
    Read(Vec<Name>),
    /// The next command may read rows: those that are not written yet are.
    WriteLate,
    /// The response does not tell which locks are held now, and the statement may have nothing to do with locks.
    Unknown,
}

/// A statement that may have taken a lock whose name only the server knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UntoldStatement {
    /// The statement without its literals.
    pub text: String,
    /// Whether GET_LOCK is called in its text; otherwise in what it runs, or not at all.
    pub calls: bool,
}

/// A statement that may have taken a lock whose name only the server knows, if it is one.
pub(crate) type UnknownLocks = Option<UntoldStatement>;

/// What the response to a run of a statement means. `names`: the locks that its calls name, as far as the
/// text and the values tell; `timeout`: how long the first of them was ready to wait.
pub(crate) fn need(
    uses: &Uses,
    names: Vec<Option<Name>>,
    timeout: Timeout,
    outcome: Outcome,
) -> Option<RowUpdate> {
    let changes = |f: Function| !matches!(f, Function::IsFreeLock | Function::IsUsedLock);
    let read =
        |names: Vec<Option<Name>>| Some(RowUpdate::Read(names.into_iter().flatten().collect()));
    if uses.calls.is_empty() {
        return Some(RowUpdate::Unknown);
    }
    let unchanged = !uses.calls.iter().any(|call| changes(call.function));
    let (Some(alone), [call]) = (uses.alone, uses.calls.as_slice()) else {
        return if unchanged { None } else { read(names) };
    };
    if unchanged {
        let asks = match call.function {
            Function::IsFreeLock => outcome == Outcome::One,
            _ => outcome != Outcome::Error && alone == Alone::Row,
        };
        let name = names.into_iter().next()?;
        return name.filter(|_| asks).map(|name| RowUpdate::Look(call.function, name));
    }
    match (call.function, outcome) {
        // The statement may have failed after the call.
        (_, Outcome::Error) => read(names),
        (Function::GetLock | Function::ReleaseLock, Outcome::Zero | Outcome::Null) => None,
        (Function::ReleaseAllLocks, _) => Some(RowUpdate::ReleaseAll),
        (function, _) if outcome == Outcome::One || alone == Alone::Untold => {
            match names.into_iter().next()? {
                Some(name) if function == Function::GetLock => {
                    Some(RowUpdate::Claim(name, timeout))
                }
                Some(name) => Some(RowUpdate::Release(name)),
                None => Some(RowUpdate::Read(Vec::new())),
            }
        }
        _ => read(names),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::name::plain;
    use crate::sql::lexer::dialect::Dialect;
    use crate::sql::report::call_names::uses;
    use crate::types::Flavour;

    #[test]
    fn a_response_that_shows_the_value_is_followed_and_any_other_makes_the_locks_be_read() {
        let a = || plain(b"a", Flavour::MySql);
        let read = || Some(RowUpdate::Read(a().into_iter().collect()));
        let claim = || a().map(|name| RowUpdate::Claim(name, Timeout::Once));
        for (sql, outcome, needed) in [
            ("SELECT GET_LOCK('a', 1)", Outcome::One, claim()),
            ("SELECT GET_LOCK('a', 1)", Outcome::Zero, None),
            ("SELECT GET_LOCK('a', 1)", Outcome::Null, None),
            ("SELECT GET_LOCK('a', 1)", Outcome::Error, read()),
            ("SELECT GET_LOCK('a', 1)", Outcome::Untold, read()),
            ("DO GET_LOCK('a', 1)", Outcome::Untold, claim()),
            ("SELECT RELEASE_LOCK('a')", Outcome::One, a().map(RowUpdate::Release)),
            ("SELECT RELEASE_LOCK('a')", Outcome::Zero, None),
            ("DO RELEASE_LOCK('a')", Outcome::Untold, a().map(RowUpdate::Release)),
            ("DO RELEASE_LOCK('a')", Outcome::Error, read()),
            ("SELECT RELEASE_ALL_LOCKS()", Outcome::One, Some(RowUpdate::ReleaseAll)),
            ("SELECT RELEASE_ALL_LOCKS()", Outcome::Zero, Some(RowUpdate::ReleaseAll)),
            ("DO RELEASE_ALL_LOCKS()", Outcome::Untold, Some(RowUpdate::ReleaseAll)),
            (
                "SELECT IS_FREE_LOCK('a')",
                Outcome::One,
                a().map(|a| RowUpdate::Look(Function::IsFreeLock, a)),
            ),
            ("SELECT IS_FREE_LOCK('a')", Outcome::Zero, None),
            (
                "SELECT IS_USED_LOCK('a')",
                Outcome::Null,
                a().map(|a| RowUpdate::Look(Function::IsUsedLock, a)),
            ),
            (
                "SELECT IS_USED_LOCK('a')",
                Outcome::Untold,
                a().map(|a| RowUpdate::Look(Function::IsUsedLock, a)),
            ),
            ("SELECT IS_USED_LOCK('a')", Outcome::Error, None),
            ("SELECT 1, IS_USED_LOCK('a')", Outcome::Untold, None),
            ("SELECT GET_LOCK('a', 1), 2", Outcome::Untold, read()),
            ("CALL p()", Outcome::Untold, Some(RowUpdate::Unknown)),
        ] {
            let uses = uses(sql.as_bytes(), Dialect::of(Flavour::MySql));
            let names = uses.calls.iter().map(|_| a()).collect();
            assert_eq!(need(&uses, names, Timeout::Once, outcome), needed, "{sql} {outcome:?}");
        }
    }

    #[test]
    fn a_name_that_the_text_does_not_show_makes_the_locks_be_read() {
        for sql in ["SELECT GET_LOCK(CONCAT('a'), 1)", "SELECT RELEASE_LOCK(@a)"] {
            let uses = uses(sql.as_bytes(), Dialect::of(Flavour::MySql));
            let needed = need(&uses, vec![None], Timeout::Once, Outcome::One);
            assert_eq!(needed, Some(RowUpdate::Read(Vec::new())));
        }
    }
}
