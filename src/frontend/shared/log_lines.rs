//! Lines of the log that clients can cause at will, most of them before they have logged in.

use super::unfenced::Unfenced;
use crate::seldom::Seldom;

/// One of each kind, for all sessions of a cluster.
#[derive(Debug, Default)]
pub struct Lines {
    /// A connection came without its PROXY header.
    pub unannounced: Seldom,
    /// The server could not be reached for a client.
    pub unreachable: Seldom,
    /// The server's connections are lent to sessions in turn.
    pub lent: Seldom,
    /// A session was closed because the proxy cannot relay it.
    pub broken: Seldom,
    /// A session ends with its shared connection.
    pub lost: Seldom,
    /// The server does not answer what the proxy has asked.
    pub unanswered: Seldom,
    /// A server's answer cannot be followed.
    pub bad_responses: Seldom,
    /// A stored program with a lock call was passed.
    pub definitions: Seldom,
    /// The server refused a question about the rows of held locks.
    pub unasked: Seldom,
    /// The commits of an account cannot be fenced.
    pub unfenced: Unfenced,
}
