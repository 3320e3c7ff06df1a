//! What a session waits for at its server, or on its way to one.

use std::future::Future;
use std::pin::Pin;

use super::close_reason::CloseReason;

/// What it is about, as the metric of those that were cut has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrandKind {
    /// The server runs something of the client's for the proxy: arguments, a statement with calls, a PREPARE.
    Statement,
    /// The proxy asks for something of its own.
    Question,
    /// The check, inside the client's transaction, that its locks are still held.
    Fence,
    /// What was sent before is to be answered first: signs of life, gates.
    Settle,
    /// A login on the open connection.
    ChangeUser,
    /// The session needs a connection, with its state on it.
    HandOver,
    /// The session gives its connection away: what the server does not report is read.
    GiveBack,
    /// A prepared statement is prepared again on another connection.
    Prepare,
    /// What the login has given the session is read.
    Login,
}

impl ErrandKind {
    /// The metric's label.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Statement => "statement",
            Self::Question => "question",
            Self::Fence => "fence",
            Self::Settle => "settle",
            Self::ChangeUser => "change_user",
            Self::HandOver => "hand_over",
            Self::GiveBack => "give_back",
            Self::Prepare => "prepare",
            Self::Login => "login",
        }
    }
}

/// Something to be done at the session's server. An errand ends when it is done, with the end of the server or of the
/// client, or by its limit (`question`).
///
/// An errand can be awaited only by [`attend`](crate::frontend::locks::attend), which hears the session's events
/// meanwhile.
#[must_use = "it does nothing until it is attended"]
pub(crate) struct Errand<'a, T> {
    kind: ErrandKind,
    work: Pin<Box<dyn Future<Output = Result<T, CloseReason>> + Send + 'a>>,
}

impl<'a, T> Errand<'a, T> {
    /// Not begun yet.
    pub(crate) fn new(
        kind: ErrandKind,
        work: impl Future<Output = Result<T, CloseReason>> + Send + 'a,
    ) -> Self {
        Self { kind, work: Box::pin(work) }
    }

    /// What it is about.
    pub(crate) fn kind(&self) -> ErrandKind {
        self.kind
    }

    /// The work itself.
    pub(crate) async fn work(&mut self) -> Result<T, CloseReason> {
        self.work.as_mut().await
    }
}
