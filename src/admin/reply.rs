//! The outcome of a command, and the errors that several commands share.

use super::table::{AdminTable, Cell};
use crate::engine::io::query_error::QueryError;
use crate::protocol::reply::ErrorReply;

/// The outcome of a command.
#[derive(Debug)]
pub(super) enum AdminReply {
    /// Rows.
    Rows(AdminTable),
    /// One row of values for a client's own query, under the names it asked by.
    Values(Vec<(String, Cell)>),
    /// The warnings of the answer before.
    Notes,
    /// Done.
    Done,
    /// Done, perhaps with rows, and the outcome in words for the audit log.
    Did(Option<AdminTable>, String),
}

/// `ER_UNKNOWN_ERROR`.
pub fn failed(message: String) -> ErrorReply {
    ErrorReply { code: 1105, state: "HY000", message }
}

/// `ER_EMPTY_QUERY`, as at a server.
pub(super) fn empty() -> ErrorReply {
    ErrorReply { code: 1065, state: "42000", message: "Query was empty".to_owned() }
}

impl From<QueryError> for ErrorReply {
    fn from(why: QueryError) -> Self {
        let hint = match &why {
            QueryError::Store(e) if e.is_silence() => {
                ". Is the server in `store` up? SHOW LEASE says how long this proxy's locks remain certain"
            }
            _ => "",
        };
        failed(format!("the lock tables do not answer: {why}{hint}"))
    }
}
