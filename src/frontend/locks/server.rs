//! The session's own server, and the client that hears its answers, as lock calls need them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::super::link::checkout::Checkout;
use super::super::link::close_reason::CloseReason;
use super::super::link::errand::Errand;
use super::super::link::pending::{Recipient, Skipped};
use super::super::link::question::Whose;
use super::super::link::reply::Keep;
use super::super::link::reply::Reply;
use super::super::link::{Interest, Link, LinkEvent};
use super::super::shared::context::Context;
use crate::backend::pool::PoolKey;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::column::Column;
use crate::protocol::command::Command;
use crate::protocol::status::Status;
use crate::sql::find::words::Back;
use crate::types::ProxyId;

/// Something that is awaited.
pub(crate) type Task<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The session's own server, and the client that hears its answers. See [`Link`] for each.
pub(crate) trait Server: Send {
    /// Sends one packet and reads its whole response. Nothing may be owed before it.
    fn exchange<'a>(&'a mut self, packet: &'a [u8], keep: Keep) -> Errand<'a, Reply>;
    /// The same of something in which nothing is the client's.
    fn question<'a>(&'a mut self, packet: &'a [u8]) -> Errand<'a, Reply>;
    /// Sends packets that leave nothing in the session, and reads all responses: what the server reports with them is
    /// not the session's. The first of them. Nothing may be owed. `undone`: if the connection ends, nothing of the command
    /// that is answered is left.
    fn exchange_unseen(
        &mut self,
        packets: Vec<Vec<u8>>,
        undone: bool,
        whose: Whose,
    ) -> Errand<'_, Reply>;
    /// Takes warnings and errors of the last statement along, if the session can: the next statement clears them.
    fn keep_diagnostics(&mut self) -> Errand<'_, ()>;
    /// The same as [`Self::exchange`] of a COM_STMT_PREPARE of the client's.
    fn exchange_prepare<'a>(&'a mut self, packet: &'a [u8]) -> Errand<'a, Reply>;
    /// Has a prepared statement on the session's connection. Nothing may be owed.
    fn bring(&mut self, id: u32) -> Errand<'_, ()>;
    /// What a command for a prepared statement is answered with that could not be prepared again.
    fn take_refusal(&mut self, id: u32, command: Command) -> Option<Box<[u8]>>;
    /// Waits until something happens on the legs.
    fn next(&mut self, interest: Interest) -> Task<'_, Result<LinkEvent, CloseReason>>;
    /// Reads what the server sent.
    fn hear_server(&mut self) -> Result<(), CloseReason>;
    /// Reads what the client sent, to be looked at later.
    fn read_ahead(&mut self) -> Result<(), CloseReason>;
    /// What client and server speak.
    fn capabilities(&self) -> Capabilities;
    /// The status flags that the server said last.
    fn status(&self) -> Status;
    /// Whether a reply that the proxy makes itself cannot be told from the server's.
    fn status_is_plain(&self) -> bool;
    /// Whether a transaction may be open in which something was changed.
    fn may_have_changes(&self) -> bool;
    /// When the server last heard from this session.
    fn server_used(&self) -> Instant;
    /// The server runs a statement of this session, or has just run one.
    fn note_server_used(&mut self);
    /// Since when the server is known to be the one with the lock tables; `None` while there is no
    /// connection to it.
    fn known_since(&self) -> Option<Duration>;
    /// It was, at this moment.
    fn note_known(&mut self, at: Duration);
    /// Whether the server owes nothing.
    fn owes_nothing(&self) -> bool;
    /// Lets come in what the server owes.
    fn settle(&mut self) -> Errand<'_, ()>;
    /// Whether something of the client's lies unread, and would be read now.
    fn has_unread_command(&self) -> bool;
    /// Sends the client bytes.
    fn send_client(&mut self, bytes: &[u8]) -> Result<(), CloseReason>;
    /// Sends the client a response that may have several results.
    fn send_results(&mut self, bytes: &[u8]) -> Result<(), CloseReason>;
    /// How the columns of the response that is to come are to be described.
    fn describe(&mut self, columns: Vec<Column>);
    /// Sends a command of the client's as it is.
    fn forward(&mut self, packet: &[u8], recipient: Recipient) -> Result<(), CloseReason>;
    /// Sends a command that has no response.
    fn send_unanswered(&mut self, packet: &[u8]) -> Result<(), CloseReason>;
    /// Sends a command whose response nobody sees.
    fn send_hidden(&mut self, packet: &[u8]) -> Result<(), CloseReason>;
    /// Sends the release of a gate, which is repeated if it fails.
    fn send_release(&mut self, packet: Box<[u8]>, again: u8) -> Result<(), CloseReason>;
    /// Sends a statement that waits at a gate.
    fn send_to_gate(&mut self, packet: &[u8]) -> Result<(), CloseReason>;
    /// What the server said to it, once.
    fn take_gate_reply(&mut self) -> Option<Reply>;
    /// Nobody wants that any more.
    fn drop_gate_reply(&mut self);
    /// Statements that the server has not seen.
    fn skipped(&mut self) -> &mut Skipped;
    /// Lets the server run what leaves the same as they would have left.
    fn replay_skipped(&mut self) -> Result<(), CloseReason>;
    /// Whether the session shares its connections to the server.
    fn is_shared(&self) -> bool;
    /// Whether the server may end a statement with this text after a time of its own, if the session shares its
    /// connections.
    fn limits(&self, text: &[u8]) -> bool;
    /// Which connections the session may have, if it shares them.
    fn pool_key(&self) -> Option<Arc<PoolKey>>;
    /// Whether a text asks for something of the session that its connection has in another way.
    fn must_answer_itself(&self, text: &[u8]) -> bool;
    /// What the session remembers of its last results, since its connection does not.
    fn remembered(&self, back: Back) -> Option<i64>;
    /// The answer to a text that asks for warnings or errors which the session took along.
    fn tell_diagnostics(&mut self, text: &[u8]) -> Option<Vec<u8>>;
    /// Whether the connection ends before locks of this incarnation are freed for another proxy.
    fn answers_for(&self, proxy: ProxyId) -> bool;
    /// Another session needs the connection.
    fn is_wanted(&mut self);
    /// Gives the connection back before a statement that waits, if nothing ties the session to it.
    fn check_in(&mut self) -> Errand<'_, ()>;
    /// Gets a connection, unless there is one.
    fn check_out<'a>(&'a mut self, context: &'a Context) -> Errand<'a, Checkout>;
    /// Whether a client that is silent counts as gone depends on what is held, which has changed.
    fn bound_silence(&mut self);
}

impl Server for Link {
    fn exchange<'a>(&'a mut self, packet: &'a [u8], keep: Keep) -> Errand<'a, Reply> {
        self.run(packet, keep)
    }

    fn question<'a>(&'a mut self, packet: &'a [u8]) -> Errand<'a, Reply> {
        self.ask(packet)
    }

    fn exchange_unseen(
        &mut self,
        packets: Vec<Vec<u8>>,
        undone: bool,
        whose: Whose,
    ) -> Errand<'_, Reply> {
        self.run_unseen(packets, undone, whose)
    }

    fn keep_diagnostics(&mut self) -> Errand<'_, ()> {
        self.read_diagnostics()
    }

    fn exchange_prepare<'a>(&'a mut self, packet: &'a [u8]) -> Errand<'a, Reply> {
        self.run_prepare(packet)
    }

    fn bring(&mut self, id: u32) -> Errand<'_, ()> {
        self.prepare_again(id)
    }

    fn take_refusal(&mut self, id: u32, command: Command) -> Option<Box<[u8]>> {
        self.take_refusal(id, command)
    }

    fn next(&mut self, interest: Interest) -> Task<'_, Result<LinkEvent, CloseReason>> {
        Box::pin(self.next(interest))
    }

    fn hear_server(&mut self) -> Result<(), CloseReason> {
        self.hear_server()
    }

    fn read_ahead(&mut self) -> Result<(), CloseReason> {
        self.read_ahead()
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities()
    }

    fn status(&self) -> Status {
        self.status()
    }

    fn status_is_plain(&self) -> bool {
        self.status_is_plain()
    }

    fn may_have_changes(&self) -> bool {
        self.may_have_changes()
    }

    fn server_used(&self) -> Instant {
        self.server_used()
    }

    fn note_server_used(&mut self) {
        self.note_server_used();
    }

    fn known_since(&self) -> Option<Duration> {
        self.known_since()
    }

    fn note_known(&mut self, at: Duration) {
        self.note_known(at);
    }

    fn owes_nothing(&self) -> bool {
        self.owes_nothing()
    }

    fn settle(&mut self) -> Errand<'_, ()> {
        self.settled()
    }

    fn has_unread_command(&self) -> bool {
        self.hears_commands() && self.has_unread_client()
    }

    fn send_client(&mut self, bytes: &[u8]) -> Result<(), CloseReason> {
        self.send_client(bytes)
    }

    fn send_results(&mut self, bytes: &[u8]) -> Result<(), CloseReason> {
        self.send_results(bytes)
    }

    fn describe(&mut self, columns: Vec<Column>) {
        self.describe(columns);
    }

    fn forward(&mut self, packet: &[u8], recipient: Recipient) -> Result<(), CloseReason> {
        self.forward(packet, recipient)
    }

    fn send_unanswered(&mut self, packet: &[u8]) -> Result<(), CloseReason> {
        self.send_unanswered(packet)
    }

    fn send_hidden(&mut self, packet: &[u8]) -> Result<(), CloseReason> {
        self.send_hidden(packet)
    }

    fn send_release(&mut self, packet: Box<[u8]>, again: u8) -> Result<(), CloseReason> {
        self.send_release(packet, again)
    }

    fn send_to_gate(&mut self, packet: &[u8]) -> Result<(), CloseReason> {
        self.send_to_gate(packet)
    }

    fn take_gate_reply(&mut self) -> Option<Reply> {
        self.take_gate_reply()
    }

    fn drop_gate_reply(&mut self) {
        self.drop_gate_reply();
    }

    fn skipped(&mut self) -> &mut Skipped {
        self.skipped()
    }

    fn replay_skipped(&mut self) -> Result<(), CloseReason> {
        self.replay_skipped()
    }

    fn is_shared(&self) -> bool {
        self.is_shared()
    }

    fn limits(&self, text: &[u8]) -> bool {
        self.limits(text)
    }

    fn pool_key(&self) -> Option<Arc<PoolKey>> {
        self.pool_key()
    }

    fn must_answer_itself(&self, text: &[u8]) -> bool {
        self.must_answer_itself(text)
    }

    fn remembered(&self, back: Back) -> Option<i64> {
        self.remembered(back)
    }

    fn tell_diagnostics(&mut self, text: &[u8]) -> Option<Vec<u8>> {
        self.tell_diagnostics(text)
    }

    fn answers_for(&self, proxy: ProxyId) -> bool {
        self.answers_for(proxy)
    }

    fn is_wanted(&mut self) {
        self.is_wanted();
    }

    fn check_in(&mut self) -> Errand<'_, ()> {
        self.check_in_before_statement()
    }

    fn check_out<'a>(&'a mut self, context: &'a Context) -> Errand<'a, Checkout> {
        self.check_out(context)
    }

    fn bound_silence(&mut self) {
        self.bound_silence();
    }
}
