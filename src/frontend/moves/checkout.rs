//! A session that shares connections gets one, when it needs one.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::Mover;
use super::begin::leave_for_good;
use crate::backend::connection::{Backend, DetachedBackend};
use crate::backend::greeted::GreetError;
use crate::backend::pool::{Lent, PoolTurn, Wish};
use crate::frontend::link::asker::Asker;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::pooling::open::open_as;
use crate::frontend::pooling::restore::Restored;
use crate::frontend::shared::context::Context;

/// The result of a session's wish for a connection.
#[derive(Debug)]
pub(crate) enum Checkout {
    /// The session has a connection, with its state on it.
    Here,
    /// There was none in time.
    TooLate,
    /// None can be opened: why.
    Refused(String),
}

/// Why the session has not gone on.
const UNCOMPARED: &str =
    "the rows of the session's locks were not compared after a restart of the server";
const SILENT: &str = "the server answers on no connection";
/// How often it is looked whether there is a writer.
const LEAST_WAIT: Duration = Duration::from_millis(100);

impl Checkout {
    /// No connection was free in time, or no writer was known.
    fn too_late(context: &Context) -> Self {
        let waited = context.config.writer_wait;
        let no_writer = |why| Self::Refused(GreetError::NoWriter { waited, why }.to_string());
        context.reach.writer().problem().map_or(Self::TooLate, no_writer)
    }
}

impl Mover<'_> {
    /// Gets a connection with the session's state on it.
    pub(super) async fn arrive(&mut self, context: &Context) -> Result<Checkout, CloseReason> {
        if self.link.server().is_there() {
            return Ok(Checkout::Here);
        }
        self.until_let_go(&context.switchover).await?;
        let began = Instant::now();
        let mut until = began + context.config.pooling.wait;
        // Without a writer nobody gets a connection, and more of them would not help.
        let last = until.max(began + context.config.writer_wait);
        loop {
            let Some(lent) = self.turn(context, &mut until, last).await? else {
                return Ok(Checkout::too_late(context));
            };
            let mut backend = match lent {
                Lent::Open(backend) => match self.take_over(*backend) {
                    Some(backend) => backend,
                    // The connection has ended meanwhile.
                    None => continue,
                },
                Lent::New(permit) => {
                    let Some(pooled) = self.pooled() else { return Ok(Checkout::TooLate) };
                    let opening = pooled.opening(last);
                    match open_as(context, &opening, self.link.capabilities(), permit).await {
                        Ok(backend) => backend,
                        Err(why) => return Ok(Checkout::Refused(why)),
                    }
                }
            };
            let Some(pooled) = self.pooled_mut() else { return Ok(Checkout::TooLate) };
            let to = backend.to();
            pooled.place.current().set(backend.id(), backend.run(), Some(to.clone()));
            pooled.place.current().note_mark(backend.tag());
            pooled.arrive();
            if to.is_left() {
                // Nobody will tell that of a connection that is new.
                pooled.leaves_connection();
                continue;
            }
            pooled.take_hold();
            backend.number_statements(pooled.statement_numbers());
            self.link.server_mut().put(backend);
            match self.restore().await {
                Ok(Restored::Done) => match self.until_held(last).await {
                    Ok(true) => return Ok(Checkout::Here),
                    Ok(false) => {
                        self.link.lose_server();
                        let waited = context.config.writer_wait;
                        return Ok(Checkout::Refused(format!(
                            "for {waited:?} (writer_wait) {UNCOMPARED}"
                        )));
                    }
                    Err(CloseReason::ServerGone) => self.link.lose_server(),
                    Err(end) => return Err(end),
                },
                // Names without a schema would be found there.
                Ok(Restored::InAnotherSchema) => leave_for_good(self.link),
                Ok(Restored::Refused(why)) => {
                    self.link.lose_server();
                    return Ok(Checkout::Refused(why));
                }
                Err(CloseReason::ServerGone) => {
                    self.link.lose_server();
                    // The next one may be as silent.
                    if Instant::now() >= last {
                        return Ok(Checkout::Refused(SILENT.to_owned()));
                    }
                }
                Err(end) => return Err(end),
            }
        }
    }

    fn take_over(&self, backend: DetachedBackend) -> Option<Backend> {
        let lives = backend.is_quiet()
            && backend.tag() == self.link.guard().incarnation()
            && !backend.is_left();
        if lives { backend.attach(self.link.capabilities()).ok() } else { None }
    }

    /// A connection, or leave to open one, when it is this session's turn. `None`: not in time, which is `until`, and as long
    /// as no writer is known, `last`.
    async fn turn(
        &mut self,
        context: &Context,
        until: &mut Instant,
        last: Instant,
    ) -> Result<Option<Lent>, CloseReason> {
        let Some(pooled) = self.pooled() else { return Ok(None) };
        // Another login sets a state that is not known.
        let wish = Wish { schemaless: !pooled.state.is_in_schema(), fresh: pooled.doubts.login };
        let mut later = match pooled.place.take_turn(pooled.account.key(), wish, &pooled.state) {
            PoolTurn::Now(lent) => return Ok(Some(lent)),
            PoolTurn::Later(later) => later,
        };
        // Ends by `until`, or by `last`.
        loop {
            if let Ok(lent) =
                Asker::of(self.link).read_ahead_until(timeout_at(*until, &mut later)).await?
            {
                return Ok(lent.ok());
            }
            if *until >= last || context.reach.writer().problem().is_none() {
                return Ok(None);
            }
            *until = last.min(*until + context.config.pooling.wait.max(LEAST_WAIT));
        }
    }

    /// Waits until the session's locks are known to be held in this run of the server: after a restart the proxy
    /// compares them first. Returns whether they are known to be held in time.
    pub(super) async fn until_held(&mut self, deadline: Instant) -> Result<bool, CloseReason> {
        let Some(run) = self.link.server().run() else { return Ok(true) };
        if let Some(pooled) = self.pooled() {
            pooled.place.current().note_run(run);
        }
        let held = timeout_at(deadline, self.link.guard().held_in(run));
        match Asker::of(self.link).read_ahead_until(held).await? {
            Ok(held) => held.map(|()| true),
            Err(_) => Ok(false),
        }
    }
}
