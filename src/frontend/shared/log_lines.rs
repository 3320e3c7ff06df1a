//! Lines of the log that clients can cause at will, most of them before they have logged in.

use crate::seldom::Seldom;

/// One of each kind, for all sessions of a cluster.
#[derive(Debug, Default)]
pub struct Lines {
    /// A connection came without its PROXY header.
    pub(in crate::frontend) unannounced: Seldom,
    /// The server could not be reached for a client.
    pub(in crate::frontend) unreachable: Seldom,
    /// A session was closed because the proxy cannot relay it.
    pub(in crate::frontend) broken: Seldom,
    /// A stored program with a lock call was passed.
    pub(in crate::frontend) definitions: Seldom,
}
