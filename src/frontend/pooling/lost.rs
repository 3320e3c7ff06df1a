//! What is certain of statements whose connection to the server has ended.

use super::capture::Doubts;
use super::pins::Pins;
use crate::protocol::command::Command;
use crate::sql::find::first_word::begins_with;
use crate::sql::find::release::ConnectionRelease;

/// What the end of a connection means for the session that had it, and goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// Nothing was under way.
    Unnoticed,
    /// A transaction, which the server has rolled back.
    RolledBack,
    /// A statement that may have taken effect.
    Unknown,
}

impl Loss {
    /// The label in the metric of lost connections.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Unnoticed => "unnoticed",
            Self::RolledBack => "rolled_back",
            Self::Unknown => "unknown",
        }
    }
}

/// Why a session ends with its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhyEnds {
    /// Somebody has ended the connection to end the session.
    Killed,
    /// The client has a part of an answer, or may not be told an error in place of one.
    Answering,
    /// The client has left, or has sent a part of a command.
    Client,
    /// Something tied the session to the connection.
    Pinned,
    /// The server had yet to tell a part of the state.
    InDoubt,
    /// The server may still work for the connection.
    Unproved,
}

impl WhyEnds {
    /// The label in the metric of lost sessions.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::Answering => "answering",
            Self::Client => "client",
            Self::Pinned => "pinned",
            Self::InDoubt => "in_doubt",
            Self::Unproved => "unproved",
        }
    }
}

/// A command that the proxy answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BegunAnswer {
    pub command: Command,
    /// The client has heard something of the answer.
    pub said: bool,
}

impl BegunAnswer {
    /// Whether an error may answer it, after which the session is as before.
    pub(crate) fn may_fail(self) -> bool {
        matches!(self.command, Command::QUERY | Command::STMT_PREPARE | Command::STMT_EXECUTE)
    }
}

/// What is known of a session for the case that its connection ends.
#[derive(Debug, Default)]
pub(crate) struct IfLost {
    /// Pins and doubts before the command under way, if it is the only one.
    pub before: Option<(Pins, Doubts)>,
    /// The command under way is undone with its transaction.
    pub undone: bool,
    /// Whether the server ends the connection after the command under way, if that succeeds.
    pub releases: ConnectionRelease,
    /// A statement has failed that may have committed the transaction.
    pub perhaps_committed: bool,
    /// The transaction has ended with its connection, and the client has yet to be told.
    pub owes: Option<Loss>,
    /// The command that the proxy answers.
    pub answering: Option<BegunAnswer>,
}

/// Statements that neither commit a transaction nor survive its rollback.
const UNDONE: [&[u8]; 15] = [
    b"select",
    b"insert",
    b"update",
    b"delete",
    b"replace",
    b"with",
    b"values",
    b"table",
    b"do",
    b"savepoint",
    b"release",
    b"rollback",
    b"show",
    b"explain",
    b"describe",
];

/// Statements that assign user variables by `:=` and INTO alone.
const READERS: [&[u8]; 7] =
    [b"select", b"with", b"values", b"insert", b"update", b"delete", b"replace"];

/// Whether a statement that runs in a transaction is undone with it, and does not end it but by a rollback.
pub(crate) fn is_undone(text: &[u8]) -> bool {
    is_single(text) && begins_with(text, &UNDONE)
}

/// Whether a statement that names user variables changes none of them.
pub(crate) fn only_reads_variables(text: &[u8]) -> bool {
    let has = |what: &[u8]| memchr::memmem::find(text, what).is_some();
    if !is_single(text) || !begins_with(text, &READERS) || has(b":=") {
        return false;
    }
    // INSERT INTO says INTO of a table.
    let stores = [&b"insert"[..], b"replace", b"update", b"delete"];
    begins_with(text, &stores)
        || memchr::memmem::find(&text.to_ascii_lowercase(), b"into").is_none()
}

/// Whether a statement is a rollback of the whole transaction.
pub(crate) fn is_rollback(text: &[u8]) -> bool {
    let text = text.trim_ascii().strip_suffix(b";").unwrap_or(text).trim_ascii();
    text.eq_ignore_ascii_case(b"rollback") || text.eq_ignore_ascii_case(b"rollback work")
}

/// Whether a text cannot hold a second statement.
pub(super) fn is_single(text: &[u8]) -> bool {
    let end = text.iter().rposition(|b| *b != b';' && !b.is_ascii_whitespace());
    !text[..end.map_or(0, |end| end + 1)].contains(&b';')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_may_commit_are_not_undone() {
        for text in [
            "SELECT 1",
            " update t SET a=1 ; ",
            "/* app */ (SELECT 1)",
            "ROLLBACK",
            "with a as (select 1) delete from t",
        ] {
            assert!(is_undone(text.as_bytes()), "{text}");
        }
        for text in [
            "COMMIT",
            "BEGIN",
            "CREATE TABLE t (a INT)",
            "SET autocommit=1",
            "",
            "/*!50000 COMMIT */",
            "SELECT 1; COMMIT",
            "/* a */",
            "/* a",
            "CALL p()",
            "SELECT_",
            "select\u{e9}",
        ] {
            assert!(!is_undone(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn variables_change_by_assignments_only() {
        for text in ["SELECT @a", "INSERT INTO t VALUES (@a)", "UPDATE t SET b=@a WHERE c=@d"] {
            assert!(only_reads_variables(text.as_bytes()), "{text}");
        }
        for text in [
            "SET @a=1",
            "SELECT @a:=1",
            "SELECT 1 INTO @a",
            "INSERT INTO t VALUES (@a := 1)",
            "SELECT @a; SET @a=2",
            "CALL p(@a)",
            "LOAD DATA INFILE 'f' INTO TABLE t (@a)",
            "GET DIAGNOSTICS @a=NUMBER",
            "WITH c AS (SELECT 1) SELECT * FROM c into @a",
        ] {
            assert!(!only_reads_variables(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn a_rollback_is_told_from_one_to_a_savepoint() {
        assert!(is_rollback(b" rollback ; ") && is_rollback(b"ROLLBACK WORK"));
        assert!(!is_rollback(b"ROLLBACK TO a") && !is_rollback(b"ROLLBACK AND CHAIN"));
    }
}
