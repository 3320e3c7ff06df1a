//! Sessions that share their connections to the server: what a client says while its session has none, and
//! what it asks of a connection that the session has left.

use std::pin::pin;

use super::Session;
use crate::frontend::dispatch::text::{Answered, run_text};
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::pooled::Arrival;
use crate::frontend::locks::call_context::text_start;
use crate::frontend::locks::owner::{Asked, Locks};
use crate::lock::codes;
use crate::protocol::command::{Command, Shape};
use crate::protocol::frame::HEADER;
use crate::protocol::reply::ErrorReply;
use crate::sql::session::conditions::ConditionsQuestion;

impl Session {
    /// The client of a session without a connection to the server has said something.
    pub(super) async fn hear_without_server(&mut self) -> Result<(), CloseReason> {
        self.link.read_ahead()?;
        self.locks.client_is_there();
        match self.link.next_command() {
            None => return Ok(()),
            Some(Command::QUIT) => {
                self.context.commands[usize::from(Command::QUIT.0)].inc();
                self.link.end_client();
                return Err(CloseReason::ClientQuit);
            }
            Some(_) => {}
        }
        let Self { link, locks, context, .. } = self;
        let arrival = {
            let mut arriving = pin!(link.arrive(context));
            loop {
                tokio::select! {
                    biased;
                    event = locks.next_event() => {
                        if let Asked::Look(question) = locks.hear(event)? {
                            locks.present(question);
                        }
                    }
                    arrival = &mut arriving => break arrival?,
                }
            }
        };
        match arrival {
            Arrival::Here => self.process_inbox(),
            Arrival::TooLate => {
                self.context.metrics.pool_timeouts.inc();
                let wait = self.context.config.pooling.wait;
                self.refuse_command(&codes::no_connection(wait))
            }
            Arrival::Refused(why) => {
                let backend = self.context.config.backend.to_string();
                self.refuse_command(&codes::unreachable(&backend, &why))
            }
        }
    }

    /// Answers a COM_QUERY.
    pub(super) async fn run_query(&mut self, packet: Vec<u8>) -> Result<Answered, CloseReason> {
        let payload = &packet[HEADER..];
        let text = text_start(payload, self.link.capabilities()).map(|at| &payload[at..]);
        let dialect = self.view.dialect(self.link.status());
        let knows = self.link.knows_conditions();
        let question = text
            .filter(|_| knows)
            .and_then(|text| Some((ConditionsQuestion::read(text, dialect)?, text)));
        let Some((question, text)) = question else {
            return run_text(&mut self.cx(), packet).await;
        };
        let mut cx = self.cx();
        cx.count(Command::QUERY);
        cx.settle_skipped().await?;
        self.link.answer_question(question, &packet, text).await?;
        Ok(Answered::Done)
    }

    /// Answers the next command with an error.
    fn refuse_command(&mut self, error: &ErrorReply) -> Result<(), CloseReason> {
        let Some(command) = self.link.drop_command() else {
            return Err(CloseReason::Broken(
                "there is no connection to the server for a long command",
            ));
        };
        if command.response() == Shape::Nothing {
            return Ok(());
        }
        let mut out = Vec::new();
        error.encode(&mut out, 1, false);
        self.link.send_client(&out)
    }
}
