//! A logged-in session: its parts.

mod ask_login;
mod begin;
pub mod change_user;
pub mod close;
mod held;
mod lost;
mod reset;
pub mod shared;
mod turn;
mod watched;

use std::sync::Arc;

use tokio::sync::mpsc;

use self::begin::{Begun, join_legs};
use super::dispatch::decide::Dispatcher;
use super::link::Link;
use super::link::close_reason::CloseReason;
use super::link::from_client::ClientReader;
use super::link::guard::LeaseGuard;
use super::locks::call_context::CallContext;
use super::locks::lock_owner::LockOwner;
use super::login::Authenticated;
use super::observe::report::SessionReport;
use super::observe::watch::{Purpose, Watch};
use super::shared::context::Context;
use super::shared::registry::Entry;
use super::shared::waits::WaitingSession;
use super::state::current_command::CurrentCommand;
use super::state::identity::{Identity, SessionIds};
use super::state::ledger::Ledger;
use super::state::phase::Phase;
use super::state::server_view::ServerView;
use super::state::statements::Statements;
use crate::backend::admissions::JudgedLogin;
use crate::config::Mode;
use crate::engine::handle::{EventSender, SessionEvent};
use crate::engine::shared::current_backend::CurrentBackend;
use crate::protocol::capabilities::Capabilities;

/// A session.
pub struct Session {
    link: Link,
    locks: LockOwner,
    view: ServerView,
    statements: Statements,
    phase: Phase,
    /// The command that is answered.
    command: CurrentCommand,
    context: Context,
    /// The session's observer, in modes where the server grants the locks.
    watch: Option<Box<Watch>>,
    /// The session's login, if others may be let in by it.
    judged: Option<Box<JudgedLogin>>,
    /// Dropped last: a session is struck off the list when all else of it is over.
    identity: Identity,
}

impl Session {
    /// A session right after its login.
    pub fn new(
        login: Authenticated,
        context: Context,
        events_in: EventSender,
        events: mpsc::UnboundedReceiver<SessionEvent>,
        entry: Entry,
    ) -> Self {
        let Authenticated { peer, opened, capabilities, connection, .. } = login;
        let (flavour, version) = (login.greeting.flavour, login.greeting.version_number());
        let owner = (Arc::clone(&login.owner), login.account.user.clone());
        let method = login.method.clone();
        let purpose = match (context.config.mode, context.observer.clone().zip(login.who.clone())) {
            // At a replica there is no lock to be followed.
            _ if context.replicas.is_some() => None,
            (Mode::Coexist, _) => Some(Purpose::Rows(context.engine.peers())),
            (_, reported) => reported.map(|(observer, who)| {
                let holder =
                    WaitingSession { conn: connection, backend: None, owner: owner.0.clone() };
                let seen = context.seen.holds.clone();
                Purpose::Report(SessionReport::new(observer, who, seen, holder))
            }),
        };
        let watch = purpose.map(|purpose| Box::new(Watch::new(flavour, purpose)));
        let guard = Arc::new(LeaseGuard::new(context.engine.lease_handle()));
        let ledger = Ledger::new(Arc::clone(&guard));
        let (engine, gates) = (context.engine.clone(), context.gates.clone());
        let backend = CurrentBackend::default();
        let ids = SessionIds { connection, backend: backend.clone() };
        let several = capabilities.has(Capabilities::MULTI_STATEMENTS);
        let Begun { mut link, judged } = join_legs(login, &backend, guard, &events_in, &context);
        link.held_mut().say_at(Arc::clone(entry.activity()));
        let cluster = context.cluster.clone();
        let session = Self {
            link,
            locks: LockOwner::new(
                ledger,
                (engine, gates),
                (connection, backend, Arc::clone(&owner.0)),
                (events_in, events),
            ),
            view: ServerView::new(flavour, version, several),
            statements: Statements::new(flavour),
            identity: Identity::new(peer, method, opened, ids, owner, cluster, entry),
            phase: Phase::Relaying,
            command: CurrentCommand::default(),
            context,
            watch,
            judged,
        };
        session.identity.show(session.link.client().is_encrypted());
        session
    }

    /// Lends the session's parts to what carries out lock calls.
    fn cx(&mut self) -> CallContext<'_> {
        let Self { link, locks, view, statements, identity, command, context, .. } = self;
        CallContext { server: link, locks, view, statements, identity, command, context }
    }

    /// Looks at client bytes that were read ahead.
    fn process_inbox(&mut self) -> Result<(), CloseReason> {
        if !self.phase.takes_commands() {
            return Ok(());
        }
        let Self { link, view, statements, identity, phase, context, watch, .. } = self;
        let mut dispatcher = Dispatcher { view, statements, identity, phase, context, watch };
        ClientReader::of(link).process_inbox(&mut dispatcher)
    }
}

#[cfg(test)]
mod scripted;
#[cfg(test)]
mod tests;
