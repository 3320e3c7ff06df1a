//! The session's own server, and the client that hears its answers, as lock calls need them.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::Instant;

use super::super::link::Link;
use super::super::link::amendments::Amendments;
use super::super::link::close_reason::CloseReason;
use super::super::link::errand::Errand;
use super::super::link::errands::{ask, run, run_prepare, run_unseen, settled};
use super::super::link::from_server::ServerReader;
use super::super::link::owed::Owed;
use super::super::link::pending::Recipient;
use super::super::link::question::Whose;
use super::super::link::reply::Keep;
use super::super::link::reply::Reply;
use super::super::link::server_status::ServerStatus;
use super::super::link::wait::{Interest, LinkEvent};
use super::super::moves::checkout::Checkout;
use super::super::moves::errands::{
    check_in_before_statement, check_out, prepare_again, read_diagnostics,
};
use super::super::pooling::pooled::Pooled;
use super::super::shared::context::Context;
use crate::protocol::capabilities::Capabilities;
use crate::types::ProxyId;

/// Something that is awaited.
pub(crate) type Task<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The session's own server, and the client that hears its answers. See [`Link`] for each.
pub(crate) trait Server: Send {
    /// Sends one packet and reads its whole response. Nothing may be owed before it.
    fn exchange<'a>(&'a mut self, packet: &'a [u8], keep: Keep) -> Errand<'a, Reply>;
    /// Sends a packet of the proxy's own, in which nothing is the client's, and reads its whole response.
    fn question<'a>(&'a mut self, packet: &'a [u8]) -> Errand<'a, Reply>;
    /// Sends packets that leave nothing in the session, and reads all responses. Returns the first of them. What the
    /// server reports with them is not the session's. Nothing may be owed. `undone`: if the connection ends, nothing of
    /// the command that is answered is left.
    fn exchange_unseen(
        &mut self,
        packets: Vec<Vec<u8>>,
        undone: bool,
        whose: Whose,
    ) -> Errand<'_, Reply>;
    /// Takes warnings and errors of the last statement along, if the session can: the next statement clears them.
    fn keep_diagnostics(&mut self) -> Errand<'_, ()>;
    /// Does [`Self::exchange`] for a COM_STMT_PREPARE of the client's.
    fn exchange_prepare<'a>(&'a mut self, packet: &'a [u8]) -> Errand<'a, Reply>;
    /// Has a prepared statement on the session's connection. Nothing may be owed.
    fn bring(&mut self, id: u32) -> Errand<'_, ()>;
    /// Waits until something happens on the legs.
    fn next(&mut self, interest: Interest) -> Task<'_, Result<LinkEvent, CloseReason>>;
    /// Reads what the server sent.
    fn hear_server(&mut self) -> Result<(), CloseReason>;
    /// Reads what the client sent, to be looked at later.
    fn read_ahead(&mut self) -> Result<(), CloseReason>;
    /// What client and server speak.
    fn capabilities(&self) -> Capabilities;
    /// The status flags that the server said last.
    fn status(&self) -> ServerStatus;
    /// When the server last heard from this session.
    fn server_used(&self) -> Instant;
    /// The server runs a statement of this session, or has just run one.
    fn note_server_used(&mut self);
    /// Since when the server is known to be the one with the lock tables; `None` while there is no
    /// connection to it.
    fn known_since(&self) -> Option<Duration>;
    /// Notes that the server was the one with the lock tables at this moment.
    fn note_known(&mut self, at: Duration);
    /// Lets come in what the server owes.
    fn settle(&mut self) -> Errand<'_, ()>;
    /// Whether something of the client's lies unread, and would be read now.
    fn has_unread_command(&self) -> bool;
    /// Sends the client bytes.
    fn send_client(&mut self, bytes: &[u8]) -> Result<(), CloseReason>;
    /// Sends the client a response that may have several results.
    fn send_results(&mut self, bytes: &[u8]) -> Result<(), CloseReason>;
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
    /// Lets the server run what leaves the same as they would have left.
    fn replay_skipped(&mut self) -> Result<(), CloseReason>;
    /// What is owed.
    fn owed(&self) -> &Owed;
    /// Like [`Self::owed`], to be changed.
    fn owed_mut(&mut self) -> &mut Owed;
    /// How responses are changed on their way to the client.
    fn amendments(&mut self) -> &mut Amendments;
    /// What the session has for sharing its connections.
    fn pooled(&self) -> &Pooled;
    /// What the session has for sharing its connections, to be changed.
    fn pooled_mut(&mut self) -> &mut Pooled;
    /// The answer to a text that asks for warnings or errors which the session took along.
    fn tell_diagnostics(&mut self, text: &[u8]) -> Option<Vec<u8>>;
    /// Whether the connection ends before locks of this incarnation are freed for another proxy.
    fn answers_for(&self, proxy: ProxyId) -> bool;
    /// Gives the connection back before a statement that waits, if nothing ties the session to it.
    fn check_in(&mut self) -> Errand<'_, ()>;
    /// Gets a connection, unless there is one.
    fn check_out<'a>(&'a mut self, context: &'a Context) -> Errand<'a, Checkout>;
    /// Whether a client that is silent counts as gone depends on what is held, which has changed.
    fn bound_silence(&mut self);
}

impl Server for Link {
    fn exchange<'a>(&'a mut self, packet: &'a [u8], keep: Keep) -> Errand<'a, Reply> {
        run(self, packet, keep)
    }

    fn question<'a>(&'a mut self, packet: &'a [u8]) -> Errand<'a, Reply> {
        ask(self, packet)
    }

    fn exchange_unseen(
        &mut self,
        packets: Vec<Vec<u8>>,
        undone: bool,
        whose: Whose,
    ) -> Errand<'_, Reply> {
        run_unseen(self, packets, undone, whose)
    }

    fn keep_diagnostics(&mut self) -> Errand<'_, ()> {
        read_diagnostics(self)
    }

    fn exchange_prepare<'a>(&'a mut self, packet: &'a [u8]) -> Errand<'a, Reply> {
        run_prepare(self, packet)
    }

    fn bring(&mut self, id: u32) -> Errand<'_, ()> {
        prepare_again(self, id)
    }

    fn next(&mut self, interest: Interest) -> Task<'_, Result<LinkEvent, CloseReason>> {
        Box::pin(self.next(interest))
    }

    fn hear_server(&mut self) -> Result<(), CloseReason> {
        ServerReader::of(self).read_and_pass_on()
    }

    fn read_ahead(&mut self) -> Result<(), CloseReason> {
        self.read_ahead()
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities()
    }

    fn status(&self) -> ServerStatus {
        self.status()
    }

    fn server_used(&self) -> Instant {
        self.server().used()
    }

    fn note_server_used(&mut self) {
        self.server_mut().note_used();
    }

    fn known_since(&self) -> Option<Duration> {
        self.server().known_since()
    }

    fn note_known(&mut self, at: Duration) {
        self.server_mut().note_known(at);
    }

    fn settle(&mut self) -> Errand<'_, ()> {
        settled(self)
    }

    fn has_unread_command(&self) -> bool {
        self.hears_commands() && self.client().has_unread()
    }

    fn send_client(&mut self, bytes: &[u8]) -> Result<(), CloseReason> {
        self.send_client(bytes)
    }

    fn send_results(&mut self, bytes: &[u8]) -> Result<(), CloseReason> {
        self.send_results(bytes)
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

    fn replay_skipped(&mut self) -> Result<(), CloseReason> {
        self.replay_skipped()
    }

    fn owed(&self) -> &Owed {
        self.owed()
    }

    fn owed_mut(&mut self) -> &mut Owed {
        self.owed_mut()
    }

    fn amendments(&mut self) -> &mut Amendments {
        self.amendments()
    }

    fn pooled(&self) -> &Pooled {
        self.pooled()
    }

    fn pooled_mut(&mut self) -> &mut Pooled {
        self.pooled_mut()
    }

    fn tell_diagnostics(&mut self, text: &[u8]) -> Option<Vec<u8>> {
        let status = self.status().flags();
        self.pooled_mut().tell_diagnostics(text, status)
    }

    fn answers_for(&self, proxy: ProxyId) -> bool {
        let server = self.server();
        !server.is_there() || !self.pooled().is_shared() || server.tag() == Some(proxy)
    }

    fn check_in(&mut self) -> Errand<'_, ()> {
        check_in_before_statement(self)
    }

    fn check_out<'a>(&'a mut self, context: &'a Context) -> Errand<'a, Checkout> {
        check_out(self, context)
    }

    fn bound_silence(&mut self) {
        self.bound_silence();
    }
}
