//! What a session waits for at its server, or on its way to one.

use std::future::Future;
use std::pin::Pin;

use super::Link;
use super::asker::Asker;
use super::close_reason::CloseReason;
use super::question::Whose;
use super::reply::{Keep, Reply};

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

/// Something to be done at the session's server. It ends with that, with the end of the server or of the client, or by
/// its limit (`question`).
///
/// It can be awaited only by [`attend`](crate::frontend::locks::attend), which hears the session's events meanwhile.
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

/// What a session does at the server that it has. How it gets to one, and leaves it: `moves`.
impl Link {
    /// Sends one packet of the client's and reads its whole response. Nothing may be owed before it.
    pub(crate) fn run<'a>(&'a mut self, packet: &'a [u8], keep: Keep) -> Errand<'a, Reply> {
        Errand::new(
            ErrandKind::Statement,
            async move { Asker::of(self).exchange(packet, keep).await },
        )
    }

    /// Runs a COM_STMT_PREPARE of the client's, as [`Self::run`].
    pub(crate) fn run_prepare<'a>(&'a mut self, packet: &'a [u8]) -> Errand<'a, Reply> {
        Errand::new(ErrandKind::Statement, async { Asker::of(self).exchange_prepare(packet).await })
    }

    /// Asks something in which nothing is the client's: the server answers it at once, or not at all.
    pub(crate) fn ask<'a>(&'a mut self, packet: &'a [u8]) -> Errand<'a, Reply> {
        Errand::new(ErrandKind::Question, async { Asker::of(self).question(packet).await })
    }

    /// Sends packets that leave nothing in the session, as [`Asker::exchange_unseen`].
    pub(crate) fn run_unseen(
        &mut self,
        packets: Vec<Vec<u8>>,
        undone: bool,
        whose: Whose,
    ) -> Errand<'_, Reply> {
        Errand::new(ErrandKind::Fence, async move {
            Asker::of(self).exchange_unseen(packets, undone, whose).await
        })
    }

    /// Lets come in what the server owes.
    pub(crate) fn settled(&mut self) -> Errand<'_, ()> {
        Errand::new(ErrandKind::Settle, async { Asker::of(self).let_come_in().await })
    }

    /// Sends and hears all, before a login on the open connection.
    pub(crate) fn drained(&mut self) -> Errand<'_, ()> {
        Errand::new(ErrandKind::ChangeUser, async {
            self.drain_to_server().await?;
            self.drain_to_client().await?;
            self.until_certain().await
        })
    }
}
