//! What a session does with shared connections on its way from one to the next. The session asks what it leaves behind,
//! gives the connection back, gets another, and puts its state there.
//!
//! All of it is awaited as an [`Errand`](super::link::errand::Errand), so that the session hears its events meanwhile.

mod audit;
pub(super) mod begin;
mod check_in;
pub(super) mod checkout;
mod diagnostics;
pub(super) mod errands;
mod hand_over;
mod learn;
mod login;
mod prepare;
mod switchover;

use super::link::Link;
use super::pooling::pooled_session::PooledSession;

/// Moves a session by its link. With a connection of its own a session stays where it is: nothing is done then.
struct Mover<'a> {
    link: &'a mut Link,
}

impl<'a> Mover<'a> {
    /// Of the session with this link.
    fn of(link: &'a mut Link) -> Self {
        Self { link }
    }

    fn pooled(&self) -> Option<&PooledSession> {
        self.link.pooled().session()
    }

    fn pooled_mut(&mut self) -> Option<&mut PooledSession> {
        self.link.pooled_mut().session_mut()
    }

    /// Whether an earlier incarnation of the proxy opened the connection.
    fn has_outlived(&self) -> bool {
        let link = &*self.link;
        link.pooled().is_shared() && link.server().tag() != link.guard().incarnation()
    }

    /// Whether nothing runs on the connection, and nothing ties the session to it.
    fn is_free(&self) -> bool {
        self.pooled().is_some_and(|pooled| pooled.pins.is_empty()) && self.link.does_nothing()
    }
}
