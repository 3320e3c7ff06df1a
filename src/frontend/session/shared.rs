//! Sessions that share their connections to the server: what a client says while its session has none.

use tokio::time::Instant;

use super::Session;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::loss::error_of;
use crate::frontend::locks::attend::attend_or_interrupt;
use crate::frontend::locks::call_context::text_start;
use crate::frontend::locks::owner::Locks;
use crate::frontend::moves::checkout::Checkout;
use crate::frontend::moves::errands::check_out;
use crate::frontend::pooling::lost::is_rollback;
use crate::lock::codes;
use crate::protocol::command::Command;
use crate::protocol::reply::ErrorReply;

impl Session {
    /// The client of a session without a connection to the server has said something.
    pub(super) async fn hear_without_server(&mut self) -> Result<(), CloseReason> {
        self.link.read_ahead()?;
        self.locks.client_is_there();
        self.run_without_server().await
    }

    /// Gets a connection for the commands that are there, if there are any.
    pub(super) async fn run_without_server(&mut self) -> Result<(), CloseReason> {
        while !self.link.server().is_there() {
            while let Some(id) = self.link.close_without_server() {
                self.context.commands[usize::from(Command::STMT_CLOSE.0)].inc();
                self.statements.remove(id);
            }
            match self.link.client().next_command() {
                None => return Ok(()),
                Some(Command::QUIT) => {
                    self.context.commands[usize::from(Command::QUIT.0)].inc();
                    self.link.client_mut().end();
                    return Err(CloseReason::ClientQuit);
                }
                Some(command) if self.link.pooled().owes_error() => {
                    if !self.link.client().has_whole_command()? {
                        return Ok(());
                    }
                    self.tell_loss(command)?;
                }
                // A client that is slow to say it holds up nobody.
                Some(_) if self.link.client().has_part_of_small_command() => return Ok(()),
                Some(_) => self.get_server().await?,
            }
        }
        self.process_inbox()
    }

    /// Tells the client that its transaction is lost, unless it ends it with this command.
    fn tell_loss(&mut self, command: Command) -> Result<(), CloseReason> {
        let ends = match command {
            Command::RESET_CONNECTION | Command::CHANGE_USER => true,
            Command::QUERY => {
                let payload = self.link.client().whole_command();
                let at = text_start(payload, self.link.capabilities());
                at.and_then(|at| payload.get(at..)).is_some_and(is_rollback)
            }
            _ => false,
        };
        if !ends && command.is_unanswered() {
            // The object of the command is gone with the connection.
            self.link.client_mut().drop_command();
            return Ok(());
        }
        match self.link.pooled_mut().take_owed().and_then(error_of) {
            Some(error) if !ends => self.refuse_command(&error),
            Some(_) | None => Ok(()),
        }
    }

    async fn get_server(&mut self) -> Result<(), CloseReason> {
        match self.arrival().await? {
            None => self.refuse_command(&codes::interrupted()),
            Some(Checkout::Here) => Ok(()),
            Some(Checkout::TooLate) => {
                self.context.metrics.pool_timeouts.inc();
                let wait = self.context.config.pooling.wait;
                self.refuse_command(&codes::no_connection(wait))
            }
            Some(Checkout::Refused(why)) => {
                let backend = self.context.reach.writer().to_string();
                self.refuse_command(&codes::unreachable(&backend, &why))
            }
        }
    }

    /// Gets a connection; `None`: the session was interrupted while it had none. On its way onto a connection it arrives there,
    /// or the server ends it.
    async fn arrival(&mut self) -> Result<Option<Checkout>, CloseReason> {
        let Self { link, locks, context, .. } = self;
        let current = link.pooled().session().map(|pooled| pooled.place.current().clone());
        let has_none = || current.as_ref().is_none_or(|current| current.id().is_none());
        attend_or_interrupt(locks, context, check_out(link, context), has_none).await
    }

    /// Answers the next command with an error.
    fn refuse_command(&mut self, error: &ErrorReply) -> Result<(), CloseReason> {
        self.link.pooled_mut().begin_idle(Instant::now());
        let Some(command) = self.link.client_mut().drop_command() else {
            return Err(CloseReason::Broken(
                "there is no connection to the server for a long command",
            ));
        };
        if command.is_unanswered() {
            return Ok(());
        }
        let mut out = Vec::new();
        error.encode(&mut out, 1, false);
        self.link.send_client(&out)
    }
}
