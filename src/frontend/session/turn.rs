//! The loop of a session.

use std::pin::pin;

use super::Session;
use crate::engine::handle::SessionEvent;
use crate::frontend::dispatch::decide::Dispatcher;
use crate::frontend::dispatch::kill::run_process_kill;
use crate::frontend::dispatch::prepared_noted::{execute_noted, prepare_noted};
use crate::frontend::dispatch::text::{Answered, run_text};
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::errands::run_unseen;
use crate::frontend::link::from_client::ClientReader;
use crate::frontend::link::from_server::ServerReader;
use crate::frontend::link::question::Whose;
use crate::frontend::link::wait::LinkEvent;
use crate::frontend::locks::attend::attend;
use crate::frontend::locks::call_context::text_start;
use crate::frontend::locks::owner::{Asked, Locks};
use crate::frontend::moves::errands::{check_in_if_wanted, prepare_again, ready_next};
use crate::frontend::observe::pending_row_update::PendingRowUpdate;
use crate::frontend::prepared::dispatch::prepared_command;
use crate::frontend::prepared::prepare::prepare_statement;
use crate::frontend::prepared::too_long::refuse_dropped;
use crate::frontend::state::current_command::CurrentCommand;
use crate::frontend::state::phase::Phase;
use crate::panics::contained;
use crate::protocol::command::Command;
use crate::protocol::frame::HEADER;
use crate::protocol::packet;
use crate::sql::find::prefilter::scan;
use crate::sql::find::release::ConnectionRelease;

/// What the loop woke up for.
enum Wake {
    Event(SessionEvent),
    Link(LinkEvent),
}

impl Session {
    /// Relays until one side ends, then ends the other and gives the locks back.
    ///
    /// Boxed, since a future keeps room for what it is given and for where it moves that.
    pub async fn run(mut self: Box<Self>) {
        self.log_opened();
        let end = contained(pin!(self.live())).await.unwrap_or_else(CloseReason::Panicked);
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
        if self.phase.takes_commands() {
            let read = self.locks.ledger_mut().is_to_read().then(PendingRowUpdate::unasked);
            let write = self.link.guard().takes_rows_wanted().then(PendingRowUpdate::late);
            if read.is_some() || write.is_some() {
                self.phase = Phase::Settling(read.into_iter().chain(write).collect());
            }
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
            Wake::Event(event) => self.handle_event(event),
            Wake::Link(LinkEvent::Server) => {
                let heard = ServerReader::of(&mut self.link).read_and_pass_on();
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

    /// Takes in an event for the session.
    fn handle_event(&mut self, event: SessionEvent) -> Result<(), CloseReason> {
        let asked = self.locks.handle_event(event)?;
        if asked == Asked::End {
            // If its connection is meant, the server ends that, with its last words.
            let there = self.link.server().is_there();
            if !(there && self.link.pooled_mut().is_killed_at_server()) {
                return Err(CloseReason::Killed);
            }
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
        ClientReader::of(link).read_and_pass_on(&mut dispatcher)?;
        self.locks.client_is_there();
        Ok(())
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
                    // The command is looked at again, and refused.
                    self.phase = Phase::Relaying;
                    return Ok(());
                }
                self.locks.ledger_mut().begin_command();
                let packet = self.link.client_mut().take_command();
                let command = packet.as_ref().and_then(|packet| packet.get(HEADER));
                self.link.pooled_mut().begin_answer(command.map(|byte| Command(*byte)));
                if let Some(packet) = packet
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
            Command::STMT_PREPARE if prepare_noted(&mut self.cx(), &packet).await? => {}
            Command::STMT_PREPARE => prepare_statement(&mut self.cx(), packet).await?,
            Command::RESET_CONNECTION => self.reset(&packet).await?,
            Command::CHANGE_USER => self.change_user(&packet).await?,
            Command::PROCESS_KILL => run_process_kill(&mut self.cx(), &packet).await?,
            _ if execute_noted(&mut self.cx(), &packet).await? => {}
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
            let asked = run_unseen(link, vec![packet::ping()], true, Whose::Proxy);
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
