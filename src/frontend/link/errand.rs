//! What a session waits for at its server, or on its way to one.

use std::future::Future;
use std::pin::Pin;

use super::Link;
use super::checkout::Checkout;
use super::close_reason::CloseReason;
use super::question::Whose;
use super::reply::{Keep, Reply};
use crate::backend::admissions::LoginValues;
use crate::frontend::shared::context::Context;
use crate::frontend::shared::switchover::Switchover;

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

/// All that a session does at its server, or to get there.
impl Link {
    /// Sends one packet of the client's and reads its whole response. Nothing may be owed before it.
    pub(crate) fn run<'a>(&'a mut self, packet: &'a [u8], keep: Keep) -> Errand<'a, Reply> {
        Errand::new(ErrandKind::Statement, self.exchange(packet, keep))
    }

    /// The same of a COM_STMT_PREPARE of the client's.
    pub(crate) fn run_prepare<'a>(&'a mut self, packet: &'a [u8]) -> Errand<'a, Reply> {
        Errand::new(ErrandKind::Statement, self.exchange_prepare(packet))
    }

    /// Asks something in which nothing is the client's: the server answers it at once, or not at all.
    pub(crate) fn ask<'a>(&'a mut self, packet: &'a [u8]) -> Errand<'a, Reply> {
        Errand::new(ErrandKind::Question, self.question(packet))
    }

    /// Sends packets that leave nothing in the session, as [`Self::exchange_unseen`].
    pub(crate) fn run_unseen(
        &mut self,
        packets: Vec<Vec<u8>>,
        undone: bool,
        whose: Whose,
    ) -> Errand<'_, Reply> {
        Errand::new(ErrandKind::Fence, self.exchange_unseen(packets, undone, whose))
    }

    /// Takes warnings and errors of the last statement along.
    pub(crate) fn read_diagnostics(&mut self) -> Errand<'_, ()> {
        Errand::new(ErrandKind::Question, self.keep_diagnostics())
    }

    /// Lets come in what the server owes.
    pub(crate) fn settled(&mut self) -> Errand<'_, ()> {
        Errand::new(ErrandKind::Settle, self.let_come_in())
    }

    /// Gets a connection with the session's state on it, unless there is one.
    pub(crate) fn check_out<'a>(&'a mut self, context: &'a Context) -> Errand<'a, Checkout> {
        Errand::new(ErrandKind::HandOver, self.arrive(context))
    }

    /// Gets what the next command needs of a shared connection. `false`: the prepared statement that it is for is refused.
    pub(crate) fn ready_next<'a>(&'a mut self, context: &'a Context) -> Errand<'a, bool> {
        Errand::new(ErrandKind::HandOver, self.is_ready_for_next(context))
    }

    /// Gives the connection back, if nothing ties the session to it.
    pub(crate) fn check_in(&mut self) -> Errand<'_, ()> {
        Errand::new(ErrandKind::GiveBack, self.leave())
    }

    /// The same before a statement that waits.
    pub(crate) fn check_in_before_statement(&mut self) -> Errand<'_, ()> {
        Errand::new(ErrandKind::GiveBack, self.leave_before_statement())
    }

    /// The session is between two commands: gives its connection back if it is wanted.
    pub(crate) fn check_in_if_wanted(&mut self) -> Errand<'_, ()> {
        Errand::new(ErrandKind::GiveBack, self.rest())
    }

    /// Gives the connection back, once, for the switchover of this number.
    pub(crate) fn check_in_for_switchover<'a>(
        &'a mut self,
        switchover: &'a Switchover,
        number: u64,
    ) -> Errand<'a, ()> {
        Errand::new(ErrandKind::GiveBack, self.rest_for_switchover(switchover, number))
    }

    /// Has the server say whether a transaction is open, if that is not known.
    pub(crate) fn ask_whether_inside(&mut self) -> Errand<'_, ()> {
        Errand::new(ErrandKind::Question, self.learn_whether_inside())
    }

    /// Prepares a statement on the session's connection, if it is not there.
    pub(crate) fn prepare_again(&mut self, id: u32) -> Errand<'_, ()> {
        Errand::new(ErrandKind::Prepare, self.bring(id))
    }

    /// Asks the server for the values that a login gives a session.
    pub(crate) fn read_login(&mut self) -> Errand<'_, Option<LoginValues>> {
        Errand::new(ErrandKind::Login, self.ask_login())
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
