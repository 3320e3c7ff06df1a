//! Why a session ends.

/// Why a session ended.
#[derive(Debug)]
pub(crate) enum CloseReason {
    /// The client closed its side, or its connection broke.
    ClientGone,
    /// The client said COM_QUIT, which the server has not heard.
    ClientQuit,
    /// The server closed its side, or its connection broke.
    ServerGone,
    /// The server is not the writer any more.
    Left,
    /// The locks are lost.
    Fenced,
    /// The proxy shuts down.
    Drained,
    /// KILL has ended it.
    Killed,
    /// The session had no connection, and its client said nothing for `wait_timeout`.
    Inactive,
    /// The lock tables may be on another server than this session.
    Moved,
    /// An administrator has taken this lock away.
    Revoked(String),
    /// The row of a lock, of this name if it is known, is not the session's any more.
    Lost(Option<String>),
    /// The client said something that cannot be relayed.
    Broken(&'static str),
    /// The program has a fault: what the panic said.
    Panicked(String),
    /// The server's answer to a command of this kind cannot be followed, for this reason.
    BadResponse(&'static str, &'static str),
}

impl CloseReason {
    /// One word for counters and the log.
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Self::ClientGone | Self::ClientQuit => "client",
            Self::ServerGone => "server",
            Self::Left => "writer",
            Self::Fenced => "fenced",
            Self::Drained => "drained",
            Self::Killed => "killed",
            Self::Inactive => "inactive",
            Self::Moved => "moved",
            Self::Revoked(_) => "revoked",
            Self::Lost(_) => "lost",
            Self::Broken(_) => "broken",
            Self::Panicked(_) => "panicked",
            Self::BadResponse(..) => "response",
        }
    }
}
