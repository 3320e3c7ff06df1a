//! What carrying out lock calls works with, and the few things that all of it does.

use super::super::link::close_reason::CloseReason;
use super::super::link::pending::{Recipient, Skipped};
use super::super::link::reply::Keep;
use super::super::link::reply::Reply;
use super::super::link::wait::{Interest, LinkEvent};
use super::super::shared::context::Context;
use super::super::state::current_command::CurrentCommand;
use super::super::state::identity::Identity;
use super::super::state::server_view::{AnswerSettings, ServerView};
use super::super::state::statements::Statements;
use super::attend::attend;
use super::owner::{Asked, Locks};
use super::server::Server;
use crate::engine::handle::{Grant, SessionEvent};
use crate::lock::codes;
use crate::lock::name::Key;
use crate::protocol::attributes::text_offset;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::Command;
use crate::protocol::frame::HEADER;
use crate::protocol::packet;
use crate::protocol::reply::ErrorReply;
use crate::protocol::status::Status;
use crate::sql::lexer::dialect::Dialect;
use crate::types::{Flavour, ProxyId};

/// The character sets of results in which ASCII is not sent as it is.
const WIDE: &str = "'ucs2','utf16','utf16le','utf32'";

/// A session's parts, lent for one command.
pub(crate) struct CallContext<'a> {
    /// The session's connections to server and client.
    pub server: &'a mut dyn Server,
    /// The session's locks.
    pub locks: &'a mut dyn Locks,
    /// What is known of the server.
    pub view: &'a mut ServerView,
    /// The session's prepared statements.
    pub statements: &'a mut Statements,
    /// Ids, account and peer of the session.
    pub identity: &'a Identity,
    /// The command that is answered.
    pub command: &'a mut CurrentCommand,
    /// What sessions share.
    pub context: &'a Context,
}

impl CallContext<'_> {
    /// The server's family.
    pub(crate) fn flavour(&self) -> Flavour {
        self.view.flavour()
    }

    /// What client and server speak.
    pub(crate) fn capabilities(&self) -> Capabilities {
        self.server.capabilities()
    }

    /// How the server reads this session's statements, as far as the proxy knows.
    pub(crate) fn dialect(&self) -> Dialect {
        self.view.dialect(self.server.status().flags())
    }

    /// The status flags of a reply that the proxy makes.
    pub(crate) fn lasting_status(&self) -> Status {
        Status(self.server.status().flags().lasting())
    }

    /// Where the SQL text starts in a COM_QUERY or COM_STMT_PREPARE payload.
    pub(crate) fn text_start(&self, payload: &[u8]) -> Option<usize> {
        text_start(payload, self.capabilities())
    }

    /// What is known of the two settings that change how a lock call is answered. The server is asked
    /// if a statement has named one of them.
    pub(crate) async fn settings(&mut self) -> Result<AnswerSettings, CloseReason> {
        if self.view.asks_for_settings() {
            let question = format!(
                "SELECT @@sql_select_limit=0,COALESCE(@@character_set_results,'') IN ({WIDE})"
            );
            let row = self.question_row(question.as_bytes()).await?.unwrap_or_default();
            let [limited, wide] = [0, 1].map(|i| row.get(i) != Some(&Some(b"0".to_vec())));
            self.view.learn_settings(limited, wide);
        }
        Ok(self.view.settings())
    }

    /// Counts the command that is answered, once.
    pub(crate) fn count(&mut self, command: Command) {
        self.command.count(&self.context.commands, command);
    }

    /// Lets come in what the server owes for signs of life and gates.
    pub(crate) async fn settle(&mut self) -> Result<(), CloseReason> {
        if self.server.owed().is_nothing() {
            return Ok(());
        }
        attend(self.locks, self.context, self.server.settle()).await
    }

    /// Takes in an event for the session.
    pub(crate) fn handle_event(&mut self, event: SessionEvent) -> Result<(), CloseReason> {
        match self.locks.handle_event(event)? {
            Asked::Nothing => {}
            Asked::GiveBack => self.server.pooled_mut().ask_back(),
            Asked::End => return Err(CloseReason::Killed),
            Asked::Look(question) => self.look_at_client(question),
        }
        Ok(())
    }

    fn look_at_client(&mut self, question: u64) {
        // The client's end may lie unread in its socket.
        if !self.command.is_part() && self.server.has_unread_command() {
            self.locks.answer_when_heard(question);
        } else {
            self.locks.present(question);
        }
    }

    /// Must pass before anything is sent or answered under held locks. Waits while the session is suspended.
    pub(crate) async fn check_lease(&mut self) -> Result<(), CloseReason> {
        let ledger = self.locks.ledger();
        match ledger.granted_by().filter(|proxy| ledger.depends_on(*proxy)) {
            Some(proxy) => self.check_lease_of(proxy).await,
            None => Ok(()),
        }
    }

    /// The check of [`Self::check_lease`] for locks that were granted to this incarnation.
    pub(crate) async fn check_lease_of(&mut self, proxy: ProxyId) -> Result<(), CloseReason> {
        if self.locks.vouches_for(proxy) {
            return Ok(());
        }
        let mut certain = self.locks.certain(proxy);
        loop {
            tokio::select! {
                biased;
                certain = &mut certain => {
                    return if certain { Ok(()) } else { Err(CloseReason::Fenced) };
                }
                event = self.locks.next_event() => self.handle_event(event)?,
                // Another proxy may end the session at the server.
                event = self.server.next(Interest::Server) => {
                    if event? == LinkEvent::Server {
                        self.server.hear_server()?;
                    }
                }
            }
        }
    }

    /// Enters a grant into the ledger.
    pub(crate) fn enter_grant(&mut self, key: Key, grant: Grant) -> Result<(), CloseReason> {
        if self.locks.ledger_mut().enter(key.clone(), grant).is_err() {
            self.locks.release_when_gone(vec![(key, grant.token)], grant.proxy);
            return Err(CloseReason::Fenced);
        }
        self.server.bound_silence();
        if !self.server.answers_for(grant.proxy) {
            return Err(CloseReason::Broken(
                "the lease changed while a lock was taken on an older connection",
            ));
        }
        Ok(())
    }

    /// Bytes that the session's prepared lock calls may still take.
    pub(crate) fn room(&self) -> usize {
        self.statements.room(self.context.config.max_session_memory)
    }

    /// Refuses a prepared lock call that does not fit.
    pub(crate) fn refuse_no_room(&mut self) -> Result<(), CloseReason> {
        let most = self.context.config.max_session_memory as u64;
        let refusal = self.limit_met("max_session_memory", most);
        self.refuse(&refusal)
    }

    /// The refusal of what would be more than one session may take of the proxy; it is counted.
    pub(crate) fn limit_met(&self, key: &str, value: u64) -> ErrorReply {
        self.context.metrics.limits.with_label_values(&[key]).inc();
        codes::limit_met(self.identity.owner(), key, value)
    }

    /// Sends one packet and reads its whole response, after those that are owed.
    pub(crate) async fn exchange(&mut self, packet: &[u8]) -> Result<Reply, CloseReason> {
        self.settle().await?;
        attend(self.locks, self.context, self.server.exchange(packet, Keep::All)).await
    }

    /// Has the server prepare a statement for the client, after what is owed.
    pub(crate) async fn exchange_prepare(&mut self, packet: &[u8]) -> Result<Reply, CloseReason> {
        self.settle().await?;
        attend(self.locks, self.context, self.server.exchange_prepare(packet)).await
    }

    /// Has a prepared statement of the client's where the session is, after what is owed. If the server refuses: the
    /// payload of its error packet.
    pub(crate) async fn bring(&mut self, id: u32) -> Result<Option<Box<[u8]>>, CloseReason> {
        self.settle().await?;
        attend(self.locks, self.context, self.server.bring(id)).await?;
        Ok(self.server.pooled_mut().take_refusal(id, Command::STMT_EXECUTE))
    }

    /// Runs a text and reads its whole response.
    pub(crate) async fn ask(&mut self, text: &[u8]) -> Result<Reply, CloseReason> {
        let packet = packet::query(text, self.capabilities());
        self.exchange(&packet).await
    }

    /// Runs a text of which only the end of the response matters: of a long one, the first packets
    /// are not kept.
    pub(crate) async fn ask_for_the_end(&mut self, text: &[u8]) -> Result<Reply, CloseReason> {
        let packet = packet::query(text, self.capabilities());
        self.settle().await?;
        attend(self.locks, self.context, self.server.exchange(&packet, Keep::End)).await
    }

    /// Runs a text of one row and returns its values, which must be ASCII; `None` when the server
    /// refuses it.
    pub(crate) async fn ask_row(
        &mut self,
        text: &[u8],
    ) -> Result<Option<Vec<Option<Vec<u8>>>>, CloseReason> {
        // LIMIT overrides sql_select_limit.
        let reply = self.ask(&[text, b" LIMIT 1"].concat()).await?;
        Ok(if reply.is_error() { None } else { reply.values() })
    }

    /// As [`Self::ask`], of a text in which nothing is the client's: the server answers it at once, or not at all.
    pub(crate) async fn question(&mut self, text: &[u8]) -> Result<Reply, CloseReason> {
        let packet = packet::query(text, self.capabilities());
        self.settle().await?;
        attend(self.locks, self.context, self.server.question(&packet)).await
    }

    /// Does [`Self::ask_row`] for a text in which nothing is the client's.
    pub(crate) async fn question_row(
        &mut self,
        text: &[u8],
    ) -> Result<Option<Vec<Option<Vec<u8>>>>, CloseReason> {
        let reply = self.question(&[text, b" LIMIT 1"].concat()).await?;
        Ok(if reply.is_error() { None } else { reply.values() })
    }

    /// What the server says to a text that it is to prepare; it does not run it.
    pub(crate) async fn prepare_and_close(&mut self, text: &[u8]) -> Result<Reply, CloseReason> {
        let packet = packet::prepare(text);
        let reply = self.exchange(&packet).await?;
        if let Some(ok) = reply.prepared() {
            self.close_statement(ok.id)?;
        }
        Ok(reply)
    }

    /// Closes a statement that the client does not know of.
    pub(crate) fn close_statement(&mut self, id: u32) -> Result<(), CloseReason> {
        self.server.send_unanswered(&packet::close_statement(id))
    }

    /// The server keeps long data, and its cursor, until an execution that never comes.
    pub(crate) async fn reset_statement(&mut self, id: u32) -> Result<(), CloseReason> {
        self.settle().await?;
        attend(self.locks, self.context, self.server.question(&packet::reset_statement(id)))
            .await
            .map(|_| ())
    }

    /// Forwards the packet of the command that is answered as it is.
    pub(crate) fn forward(&mut self, packet: &[u8]) -> Result<(), CloseReason> {
        self.forward_for(packet, Recipient::Client)
    }

    /// Forwards the packet of the command that is answered as it is; the response is for `recipient`.
    pub(crate) fn forward_for(
        &mut self,
        packet: &[u8],
        recipient: Recipient,
    ) -> Result<(), CloseReason> {
        let command = Command(packet.get(HEADER).copied().unwrap_or(0));
        if command == Command::STMT_PREPARE {
            self.statements.another_is_prepared();
        }
        self.count(command);
        self.server.forward(packet, recipient)
    }

    /// Sends a text in place of the command that is answered. `prefix`: command byte and query
    /// attributes.
    pub(crate) fn forward_text(&mut self, prefix: &[u8], text: &[u8]) -> Result<(), CloseReason> {
        self.forward(&packet::command(&[prefix, text]))
    }

    /// Sends the client bytes.
    pub(crate) fn send_client(&mut self, bytes: &[u8]) -> Result<(), CloseReason> {
        self.server.send_client(bytes)
    }

    /// Sends an error as the whole response.
    pub(crate) fn refuse(&mut self, error: &ErrorReply) -> Result<(), CloseReason> {
        let mut out = Vec::new();
        error.encode(&mut out, 1, false);
        self.send_client(&out)
    }

    /// The statement that comes next leaves nothing of those that the server has not seen.
    pub(crate) fn forget_skipped(&mut self) {
        *self.server.owed_mut().skipped() = Skipped::default();
    }

    /// Makes up for them before a question whose reply the client sees.
    pub(crate) async fn settle_skipped(&mut self) -> Result<(), CloseReason> {
        self.server.replay_skipped()?;
        self.settle().await
    }
}

/// Where the SQL text starts in a COM_QUERY or COM_STMT_PREPARE payload.
pub(crate) fn text_start(payload: &[u8], capabilities: Capabilities) -> Option<usize> {
    let attributes = capabilities.has(Capabilities::QUERY_ATTRIBUTES);
    if attributes && payload.first() == Some(&Command::QUERY.0) {
        text_offset(payload)
    } else {
        Some(1)
    }
}
