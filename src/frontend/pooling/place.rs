//! A session's place in the pool: the connection that it has, or waits for, and what others want of it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

use super::pins::Pins;
use crate::backend::connection::DetachedBackend;
use crate::backend::pool::{Hold, Pool, PoolKey, PoolTurn, Wish};
use crate::backend::session_state::SessionState;
use crate::engine::shared::current_backend::{CurrentBackend, Reuse};

/// Asks a session for its connection.
pub(crate) type Nudge = Arc<dyn Fn() + Send + Sync>;

/// A session's place in the pool.
pub(crate) struct PoolPlace {
    pool: Pool,
    /// While the session has a connection.
    hold: Option<Hold>,
    /// The connection, shared with code that may have to end it.
    current: CurrentBackend,
    nudge: Nudge,
    /// While the session has no connection: ends it if its client says nothing.
    idle_end: Option<Pin<Box<Sleep>>>,
    /// KILL or a RELEASE has ended the session, and the server is about to end its connection.
    killed: bool,
    /// Somebody wants the connection.
    asked: bool,
    /// The client's next commands wait until nothing is owed: others wait for a connection.
    makes_way: bool,
    /// The server has denied a change of user on the connection: MariaDB denies all after three, so it goes to nobody.
    denied: bool,
    /// For tests: the last stranger on the connection left what only a reset takes away.
    strangers_left_more: bool,
}

impl PoolPlace {
    /// Of a session without a connection.
    pub(super) fn new(pool: Pool, current: CurrentBackend, nudge: Nudge) -> Self {
        Self {
            pool,
            hold: None,
            current,
            nudge,
            idle_end: None,
            killed: false,
            asked: false,
            makes_way: false,
            denied: false,
            strangers_left_more: false,
        }
    }

    /// Whether the next stranger leaves what only a reset takes away: every other one does.
    pub(crate) fn next_stranger_leaves_more(&mut self) -> bool {
        self.strangers_left_more = !self.strangers_left_more;
        self.strangers_left_more
    }

    /// The pool.
    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The connection, shared with code that may have to end it.
    pub(crate) fn current(&self) -> &CurrentBackend {
        &self.current
    }

    /// Whether other sessions wait for a connection.
    pub(crate) fn is_wanted(&self) -> bool {
        self.pool.is_wanted()
    }

    /// A connection, or leave to open one, now or when it is the session's turn.
    pub(crate) fn take_turn(
        &self,
        key: &Arc<PoolKey>,
        wish: Wish,
        state: &SessionState,
    ) -> PoolTurn {
        self.pool.take(key, wish, state)
    }

    /// The pool has a connection again that the session has left.
    pub(crate) fn give(&self, backend: DetachedBackend) {
        self.pool.give(backend);
    }

    /// The session has a connection, and keeps it for these reasons.
    pub(super) fn take_hold(&mut self, key: &Arc<PoolKey>, pins: Pins) {
        let nudge = Arc::clone(&self.nudge);
        let hold = self.pool.hold(key, move || nudge());
        hold.note_reasons(pins.names());
        (self.hold, self.idle_end) = (Some(hold), None);
    }

    /// The session keeps its connection for these reasons.
    pub(super) fn note_reasons(&self, pins: Pins) {
        if let Some(hold) = &self.hold {
            hold.note_reasons(pins.names());
        }
    }

    /// The session works with its connection.
    pub(crate) fn mark_busy(&self) {
        if let Some(hold) = &self.hold {
            hold.mark_busy();
        }
    }

    /// The session does nothing with its connection.
    pub(crate) fn mark_idle(&self) {
        if let Some(hold) = &self.hold {
            hold.mark_idle();
        }
    }

    /// The session was asked for its connection, and cannot give it back.
    pub(crate) fn refuse(&self) {
        if let Some(hold) = &self.hold {
            hold.refuse();
        }
    }

    /// Another session wants the connection.
    pub(super) fn ask_back(&mut self) {
        self.asked = true;
    }

    /// Whether the session should give its connection back: another one wants it, or the account has more than its share.
    pub(crate) fn take_wish(&mut self, key: &PoolKey) -> bool {
        std::mem::take(&mut self.asked) || self.is_wanted() || self.pool.is_over(key.user.bytes())
    }

    /// A command is sent, `several` are under way. If others wait for a connection, the next ones wait until all have ended.
    pub(super) fn note_forwarded(&mut self, several: bool) {
        self.makes_way |= several && self.is_wanted();
    }

    /// Whether the client's next commands wait until nothing is owed.
    pub(super) fn makes_way(&self) -> bool {
        self.makes_way
    }

    /// Nothing is owed: the session could have given its connection back.
    pub(super) fn note_made_way(&mut self) {
        self.makes_way = false;
    }

    /// The session has no connection any more, and its client has said nothing since then. The session ends after this
    /// time.
    pub(super) fn begin_idle(&mut self, since: Instant, limit: Option<Duration>) {
        let end = limit.and_then(|limit| since.checked_add(limit));
        self.idle_end = end.map(|end| Box::pin(sleep_until(end)));
    }

    /// Ready when that time is over.
    pub(super) fn poll_idle(&mut self, cx: &mut TaskContext<'_>) -> Poll<()> {
        self.idle_end.as_mut().map_or(Poll::Pending, |end| end.as_mut().poll(cx))
    }

    /// The server ends the connection, and with it the session.
    pub(super) fn kill(&mut self) {
        self.killed = true;
    }

    /// Whether that is so.
    pub(crate) fn is_killed(&self) -> bool {
        self.killed
    }

    /// Whether the server's connection is ended on account of this session, and not by chance.
    pub(crate) fn is_being_ended(&self) -> bool {
        self.killed || self.current.is_condemned()
    }

    /// The server has denied a change of user, and counts that against the connection.
    pub(super) fn note_denied_change(&mut self) {
        self.denied = true;
    }

    /// The session has no connection any more. Whether another one may have it that it had.
    pub(super) fn leave(&mut self) -> bool {
        (self.hold, self.asked) = (None, false);
        let denied = std::mem::take(&mut self.denied);
        self.current.clear() == Reuse::Allowed && !denied
    }
}
