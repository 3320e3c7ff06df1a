//! A logged-in session: its parts, and the loop that owns them.

mod ask_login;
mod begin;
pub mod change_user;
pub mod close;
mod held;
mod lost;
mod reset;
pub mod shared;
mod watched;

use std::sync::Arc;

use tokio::sync::mpsc;

use self::begin::{Begun, begin};
use super::dispatch::decide::Dispatcher;
use super::dispatch::kill::run_process_kill;
use super::dispatch::prepared_commit::{execute_commit, prepare_commit};
use super::dispatch::prepared_kill::{execute_kill, prepare_kill};
use super::dispatch::text::{Answered, run_text};
use super::link::close_reason::CloseReason;
use super::link::guard::LeaseGuard;
use super::link::question::Whose;
use super::link::{Link, LinkEvent};
use super::locks::attend::attend;
use super::locks::call_context::{CallContext, text_start};
use super::locks::owner::{Asked, LockOwner, Locks};
use super::login::Authenticated;
use super::moves::errands::{check_in_if_wanted, prepare_again, ready_next};
use super::observe::pending_row_update::PendingRowUpdate;
use super::observe::report::SessionReport;
use super::observe::watch::{Purpose, Watch};
use super::prepared::dispatch::prepared_command;
use super::prepared::prepare::prepare_statement;
use super::prepared::too_long::refuse_dropped;
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
use crate::panics::contained;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::Command;
use crate::protocol::frame::HEADER;
use crate::protocol::packet;
use crate::sql::find::prefilter::scan;
use crate::sql::find::release::ConnectionRelease;

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
    /// Its observer, where lock calls are not the proxy's.
    watch: Option<Box<Watch>>,
    /// Its login, if others may be let in by it.
    judged: Option<Box<JudgedLogin>>,
    /// Dropped last: a session is struck off the list when all else of it is over.
    identity: Identity,
}

/// What the loop woke up for.
enum Wake {
    Event(SessionEvent),
    Link(LinkEvent),
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
        let Begun { mut link, judged } = begin(login, &backend, guard, &events_in, &context);
        link.held_mut().say_at(Arc::clone(entry.activity()));
        let cluster = context.cluster.clone();
        let session = Self {
            link,
            locks: LockOwner::new(ledger, engine, gates, connection, backend, events_in, events),
            view: ServerView::new(flavour, version, several),
            statements: Statements::default(),
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

    /// Relays until one side ends, then ends the other and gives the locks back.
    ///
    /// Boxed, since a future keeps room for what it is given and for where it moves that.
    pub async fn run(mut self: Box<Self>) {
        self.log_opened();
        let end = contained(self.live()).await.unwrap_or_else(CloseReason::Panicked);
        Box::pin(self.finish(end)).await;
    }

    async fn live(&mut self) -> CloseReason {
        let mut turn = Box::pin(self.ask_login()).await;
        loop {
            if let Err(end) = self.survive_server_loss(turn).await {
                return end;
            }
            turn = self.turn().await;
        }
    }

    async fn turn(&mut self) -> Result<(), CloseReason> {
        if self.phase.takes_commands() && self.locks.ledger_mut().is_to_read() {
            self.phase = Phase::Settling(vec![PendingRowUpdate::unasked()]);
        }
        if let Phase::Settling(unsettled) = &mut self.phase {
            let unsettled = std::mem::take(unsettled);
            Box::pin(self.settle(unsettled)).await?;
            return self.process_inbox();
        }
        // A command of a suspended session waits until its locks are certain.
        if self.phase.waits() && self.link.is_settled() && !self.link.guard().is_suspended() {
            // Boxed, so that an idle session does not carry the room for it.
            Box::pin(self.answer()).await?;
            return self.process_inbox();
        }
        if self.switchover_pending() {
            // Boxed, since it is seldom.
            Box::pin(self.handle_switchover()).await?;
        }
        if self.locks.is_draining() && self.link.is_idle() && self.phase.takes_commands() {
            return Err(CloseReason::Drained);
        }
        if self.link.pooled().is_shared() && self.phase.takes_commands() {
            let errand = check_in_if_wanted(&mut self.link);
            // Boxed, so that an idle session does not carry the room for it.
            Box::pin(attend(&mut self.locks, &self.context, errand)).await?;
        }
        if self.link.has_more() {
            tokio::task::yield_now().await;
        }
        let interest = self.interest();
        let wake = tokio::select! {
            biased;
            event = self.locks.next_event() => Wake::Event(event),
            event = self.link.next(interest) => Wake::Link(event?),
        };
        match wake {
            Wake::Event(event) => self.hear(event),
            Wake::Link(LinkEvent::Server) => {
                let heard = self.link.hear_server();
                self.take_finished()?;
                heard?;
                // The client may have said more before the server refused a command.
                self.process_inbox()
            }
            Wake::Link(LinkEvent::Client) if !self.link.server().is_there() => {
                Box::pin(self.hear_without_server()).await
            }
            Wake::Link(LinkEvent::Client) => self.hear_client(),
            Wake::Link(LinkEvent::Stalled) => {
                self.locks.ask_whether_served();
                Ok(())
            }
            Wake::Link(LinkEvent::Settled) => Ok(()),
        }
    }

    /// Lends the session's parts to what carries out lock calls.
    fn cx(&mut self) -> CallContext<'_> {
        let Self { link, locks, view, statements, identity, command, context, .. } = self;
        CallContext { server: link, locks, view, statements, identity, command, context }
    }

    /// Takes in an event for the session.
    fn hear(&mut self, event: SessionEvent) -> Result<(), CloseReason> {
        let asked = self.locks.hear(event)?;
        if asked == Asked::End {
            self.link.end_killed()?;
        }
        if asked == Asked::GiveBack {
            self.link.pooled_mut().ask_back();
        }
        if let Asked::Look(question) = asked {
            let reads = self.phase.takes_commands() && self.link.hears_commands();
            // The client's end may lie unread in its socket.
            if reads && self.link.client().has_unread() {
                self.locks.answer_when_heard(question);
            } else {
                self.locks.present(question);
            }
        }
        Ok(())
    }

    fn hear_client(&mut self) -> Result<(), CloseReason> {
        let Self { link, view, statements, identity, phase, context, watch, .. } = self;
        let mut dispatcher = Dispatcher { view, statements, identity, phase, context, watch };
        link.hear_client(&mut dispatcher)?;
        self.locks.client_is_there();
        Ok(())
    }

    /// Looks at client bytes that were read ahead.
    fn process_inbox(&mut self) -> Result<(), CloseReason> {
        if !self.phase.takes_commands() {
            return Ok(());
        }
        let Self { link, view, statements, identity, phase, context, watch, .. } = self;
        let mut dispatcher = Dispatcher { view, statements, identity, phase, context, watch };
        link.process_inbox(&mut dispatcher)
    }

    /// Answers what waits. The phase says so while that is under way, and if it ends the session.
    async fn answer(&mut self) -> Result<(), CloseReason> {
        match std::mem::replace(&mut self.phase, Phase::Answering) {
            Phase::Several(several) => {
                self.phase = Phase::Several(several);
                return self.run_next().await;
            }
            Phase::Refusing(dropped) => {
                self.command = CurrentCommand::default();
                refuse_dropped(&mut self.cx(), dropped).await?;
            }
            Phase::Parked => {
                self.command = CurrentCommand::default();
                let Self { link, locks, context, .. } = self;
                if link.pooled().is_shared()
                    && !attend(locks, context, ready_next(link, context)).await?
                {
                    // It is looked at again, and refused.
                    self.phase = Phase::Relaying;
                    return Ok(());
                }
                self.locks.ledger_mut().begin_command();
                if let Some(packet) = self.link.answer_command()
                    && let Answered::Several(several) = self.run_command(packet).await?
                {
                    self.link.amendments().join();
                    self.command.become_part();
                    self.phase = Phase::Several(several);
                    return self.run_next().await;
                }
            }
            Phase::Bringing(id) => {
                attend(&mut self.locks, &self.context, prepare_again(&mut self.link, id)).await?;
            }
            Phase::Relaying | Phase::Answering | Phase::Settling(_) => {}
        }
        self.link.pooled_mut().end_answer();
        self.phase = Phase::Relaying;
        Ok(())
    }

    /// Answers a command.
    async fn run_command(&mut self, packet: Vec<u8>) -> Result<Answered, CloseReason> {
        match packet.get(HEADER).map_or(Command(0), |b| Command(*b)) {
            Command::QUERY => return run_text(&mut self.cx(), packet).await,
            Command::STMT_PREPARE if prepare_kill(&mut self.cx(), &packet).await? => {}
            Command::STMT_PREPARE if prepare_commit(&mut self.cx(), &packet).await? => {}
            Command::STMT_PREPARE => prepare_statement(&mut self.cx(), packet).await?,
            Command::RESET_CONNECTION => self.reset(&packet).await?,
            Command::CHANGE_USER => self.change_user(&packet).await?,
            Command::PROCESS_KILL => run_process_kill(&mut self.cx(), &packet).await?,
            _ if execute_kill(&mut self.cx(), &packet).await? => {}
            _ if execute_commit(&mut self.cx(), &packet).await? => {}
            _ => prepared_command(&mut self.cx(), packet).await?,
        }
        Ok(Answered::Done)
    }

    /// Runs the next statement of a text, unless the last one has failed.
    async fn run_next(&mut self) -> Result<(), CloseReason> {
        let dialect = self.cx().dialect();
        let Phase::Several(several) = &mut self.phase else { return Ok(()) };
        let failed = self.link.amendments().has_failed();
        if several.has_begun() {
            self.link.client_mut().result_follows();
        }
        let Some(part) = several.next().filter(|_| !failed) else {
            self.phase = Phase::Relaying;
            self.link.amendments().end();
            return Ok(());
        };
        let text = text_start(&part.packet[HEADER..], self.link.capabilities());
        let text = text.map_or(&[][..], |at| &part.packet[HEADER + at..]);
        let release = ConnectionRelease::of(text, dialect);
        if several.release(release) != ConnectionRelease::No && part.alone {
            // The server runs nothing more on a connection that it ends, so the proxy must not either.
            let Self { link, locks, context, .. } = self;
            let asked = link.run_unseen(vec![packet::ping()], true, Whose::Proxy);
            attend(locks, context, asked).await?;
        }
        self.link.amendments().join_next(part.more);
        if scan(&part.packet).setting {
            self.view.note_setting(&part.packet, false);
        }
        self.link.pooled_mut().note_part(release);
        if part.alone {
            run_text(&mut self.cx(), part.packet).await.map(|_| ())
        } else {
            self.cx().forward(&part.packet)
        }
    }
}
