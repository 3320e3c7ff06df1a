//! The errands of a session on its way from one connection to the next.

use super::Mover;
use super::checkout::Checkout;
use crate::backend::admissions::LoginValues;
use crate::frontend::link::Link;
use crate::frontend::link::errand::{Errand, ErrandKind};
use crate::frontend::shared::context::Context;
use crate::frontend::shared::switchover::Switchover;

/// Takes warnings and errors of the last statement along.
pub(crate) fn read_diagnostics(link: &mut Link) -> Errand<'_, ()> {
    Errand::new(ErrandKind::Question, async { Mover::of(link).keep_diagnostics().await })
}

/// Gets a connection with the session's state on it, unless there is one.
pub(crate) fn check_out<'a>(link: &'a mut Link, context: &'a Context) -> Errand<'a, Checkout> {
    Errand::new(ErrandKind::HandOver, async { Mover::of(link).arrive(context).await })
}

/// Gets what the next command needs of a shared connection. `false`: the prepared statement that it is for is refused.
pub(crate) fn ready_next<'a>(link: &'a mut Link, context: &'a Context) -> Errand<'a, bool> {
    Errand::new(ErrandKind::HandOver, async { Mover::of(link).is_ready_for_next(context).await })
}

/// Gives the connection back, if nothing ties the session to it.
pub(crate) fn check_in(link: &mut Link) -> Errand<'_, ()> {
    Errand::new(ErrandKind::GiveBack, async { Mover::of(link).leave().await })
}

/// Gives the connection back before a statement that waits, as [`check_in`].
pub(crate) fn check_in_before_statement(link: &mut Link) -> Errand<'_, ()> {
    Errand::new(ErrandKind::GiveBack, async { Mover::of(link).leave_before_statement().await })
}

/// The session is between two commands: gives its connection back if it is wanted.
pub(crate) fn check_in_if_wanted(link: &mut Link) -> Errand<'_, ()> {
    Errand::new(ErrandKind::GiveBack, async { Mover::of(link).rest().await })
}

/// Gives the connection back, once, for the switchover of this number.
pub(crate) fn check_in_for_switchover<'a>(
    link: &'a mut Link,
    switchover: &'a Switchover,
    number: u64,
) -> Errand<'a, ()> {
    Errand::new(ErrandKind::GiveBack, async move {
        Mover::of(link).rest_for_switchover(switchover, number).await
    })
}

/// Has the server say whether a transaction is open, if that is not known.
pub(crate) fn ask_whether_inside(link: &mut Link) -> Errand<'_, ()> {
    Errand::new(ErrandKind::Question, async { Mover::of(link).learn_whether_inside().await })
}

/// Prepares a statement on the session's connection, if it is not there.
pub(crate) fn prepare_again(link: &mut Link, id: u32) -> Errand<'_, ()> {
    Errand::new(ErrandKind::Prepare, async move { Mover::of(link).bring(id).await })
}

/// Asks the server for the values that a login gives a session.
pub(crate) fn read_login(link: &mut Link) -> Errand<'_, Option<LoginValues>> {
    Errand::new(ErrandKind::Login, async { Mover::of(link).ask_login().await })
}
