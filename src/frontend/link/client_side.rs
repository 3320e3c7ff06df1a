//! A session's connection to its client: what was read of it, and what it has yet to take.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

use super::close_reason::CloseReason;
use super::input::ClientInput;
use crate::net::leg::Leg;
use crate::net::socket::PEER_TIMEOUT;
use crate::protocol::command::Command;
use crate::protocol::frame::{FrameHeader, HEADER};

/// Client bytes read ahead while the proxy answers, to notice the end after them.
const READ_AHEAD: usize = 64 * 1024;

/// How often the thread of a session is looked for whose client does not read.
const LOOK: Duration = Duration::from_secs(1);

/// As many bytes find room with a client that does not read.
const SMALL: usize = 16 * 1024;

/// The client's connection.
pub(crate) struct ClientSide {
    leg: Leg,
    /// Bytes that are not yet looked at.
    inbox: Vec<u8>,
    input: ClientInput,
    ended: bool,
    /// The connection broke: what is sent to it is dropped.
    lost: bool,
    unheard: Unheard,
}

/// What the client of a session that holds locks was sent and may not have acknowledged.
#[derive(Debug, Default)]
struct Unheard {
    bytes: usize,
    /// The client counts as gone if it acknowledges nothing for long.
    bounded: bool,
    /// Since when the client has not taken what is for it, while the session holds locks.
    stall: Option<Pin<Box<Sleep>>>,
}

impl ClientSide {
    /// After a login.
    pub(super) fn new(leg: Leg) -> Self {
        let (input, unheard) = (ClientInput::Command, Unheard::default());
        Self { leg, inbox: Vec::new(), input, ended: false, lost: false, unheard }
    }

    /// The leg, for a login.
    pub(super) fn leg_mut(&mut self) -> &mut Leg {
        &mut self.leg
    }

    /// Whether the client's bytes are encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.leg.tls().is_some()
    }

    pub(super) fn is_compressed(&self) -> bool {
        self.leg.is_compressed()
    }

    /// Whether the leg may hold bytes of which its socket does not know.
    pub(super) fn has_more(&self) -> bool {
        self.leg.has_more()
    }

    /// Whether something of the client's lies unread in its socket: bytes, or its end.
    pub(crate) fn has_unread(&self) -> bool {
        !self.leg.is_quiet()
    }

    /// Whether the client has taken all that it was sent.
    pub(super) fn is_flushed(&self) -> bool {
        self.leg.is_flushed()
    }

    /// Whether the client has said its last word.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether the connection broke.
    pub(super) fn is_lost(&self) -> bool {
        self.lost
    }

    /// Whether the client is there, and between two commands.
    pub(super) fn is_between_commands(&self) -> bool {
        self.input.is_command() && !self.ended && !self.lost
    }

    /// What the next bytes are.
    pub(super) fn input(&self) -> &ClientInput {
        &self.input
    }

    /// What the next bytes are, to be changed by what is read.
    pub(super) fn input_mut(&mut self) -> &mut ClientInput {
        &mut self.input
    }

    /// Whether the next byte begins a command.
    pub(super) fn is_at_command(&self) -> bool {
        self.input.is_command()
    }
}

/// What was read ahead.
impl ClientSide {
    /// Whether nothing is.
    pub(crate) fn inbox_is_empty(&self) -> bool {
        self.inbox.is_empty()
    }

    /// Whether more may be read ahead.
    pub(super) fn has_room(&self) -> bool {
        self.inbox.len() < READ_AHEAD && !self.ended
    }

    /// All of it.
    pub(super) fn take_inbox(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.inbox)
    }

    /// Takes back what was not looked at.
    pub(super) fn put_back(&mut self, bytes: Vec<u8>) {
        self.inbox = bytes;
    }

    /// The bytes from the next command on.
    pub(crate) fn inbox(&self) -> &[u8] {
        &self.inbox
    }

    /// The next command, as far as it has come: its first byte.
    pub(crate) fn next_command(&self) -> Option<Command> {
        self.inbox.get(HEADER).map(|byte| Command(*byte))
    }

    /// The packet of the command that waits at the front.
    pub(crate) fn take_command(&mut self) -> Option<Vec<u8>> {
        let frame = FrameHeader::peek(&self.inbox)?;
        let rest = self.inbox.split_off((HEADER + frame.len).min(self.inbox.len()));
        Some(std::mem::replace(&mut self.inbox, rest))
    }

    /// Drops the next command, if all of it has come.
    pub(crate) fn drop_command(&mut self) -> Option<Command> {
        let frame = FrameHeader::peek(&self.inbox)?;
        if frame.continued() || self.inbox.len() < HEADER + frame.len {
            return None;
        }
        let packet = self.take_command()?;
        packet.get(HEADER).map(|byte| Command(*byte))
    }

    /// Whether the next command has come as a whole. An error if it is so long that it is not kept.
    pub(crate) fn has_whole_command(&self) -> Result<bool, CloseReason> {
        let Some(frame) = FrameHeader::peek(&self.inbox) else { return Ok(false) };
        if !is_kept(frame) {
            return Err(CloseReason::Broken("a long command after a lost transaction"));
        }
        Ok(self.inbox.len() >= HEADER + frame.len)
    }

    /// The payload of the next command, which has come as a whole.
    pub(crate) fn whole_command(&self) -> &[u8] {
        let len = FrameHeader::peek(&self.inbox).map_or(0, |frame| frame.len);
        self.inbox.get(HEADER..HEADER + len).unwrap_or_default()
    }

    /// Whether a command has not come as a whole.
    pub(crate) fn has_part_of_command(&self) -> bool {
        FrameHeader::peek(&self.inbox).is_none_or(|frame| self.inbox.len() < HEADER + frame.len)
    }

    /// Whether a command has not come as a whole that is read ahead.
    pub(crate) fn has_part_of_small_command(&self) -> bool {
        self.has_part_of_command() && FrameHeader::peek(&self.inbox).is_none_or(is_kept)
    }
}

/// Whether a command that begins like this is read ahead as a whole.
fn is_kept(frame: FrameHeader) -> bool {
    !frame.continued() && HEADER + frame.len <= READ_AHEAD
}

/// Reading.
impl ClientSide {
    pub(super) fn poll_readable(&self, cx: &mut TaskContext<'_>) -> Poll<()> {
        self.leg.poll_readable(cx).map(|_| ())
    }

    /// Reads what is there.
    pub(super) fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<Option<usize>> {
        self.leg.read(buffer)
    }

    /// Reads what is there, to be looked at later.
    pub(super) fn read_ahead(&mut self) -> io::Result<Option<usize>> {
        let read = self.leg.read(&mut self.inbox);
        if let Ok(Some(1..)) = read {
            self.inbox.reserve(4096);
        }
        read
    }

    /// Waits until the client has said something, or has left.
    pub(crate) async fn speaks(&mut self) {
        let more = self.has_room();
        poll_fn(|cx| if more { self.poll_readable(cx) } else { Poll::Pending }).await;
    }

    /// The client has said something after all that it was sent, or nothing is on its way to it.
    pub(super) fn note_heard(&mut self) {
        self.unheard.bytes = 0;
    }

    /// The client has said its last word.
    pub(super) fn note_end(&mut self) {
        self.ended = true;
    }
}

/// Writing.
impl ClientSide {
    /// Writes what its socket takes now.
    pub(super) fn poll_flush(&mut self, cx: &mut TaskContext<'_>) -> io::Result<()> {
        while !self.leg.is_flushed() && self.leg.poll_writable(cx).is_ready() {
            self.leg.flush()?;
        }
        Ok(())
    }

    /// Writes everything that was queued.
    pub(crate) async fn drain(&mut self) -> Result<(), CloseReason> {
        poll_fn(|cx| {
            self.poll_flush(cx).map_err(|_| CloseReason::ClientGone)?;
            if self.is_flushed() { Poll::Ready(Ok(())) } else { Poll::Pending }
        })
        .await
    }

    /// Queues bytes; what the socket takes goes out at once. `holds_locks`: the session does.
    pub(super) fn send(&mut self, bytes: &[u8], holds_locks: bool) {
        let sent = self.leg.send(bytes);
        self.unheard.bytes = self.unheard.bytes.saturating_add(bytes.len());
        self.bound_silence(holds_locks);
        if sent.is_err() {
            self.lose();
        }
    }

    /// The last words. A client that does not read them is only closed.
    pub(super) fn send_last(&mut self, bytes: &[u8]) {
        let _ = self.leg.send(bytes);
    }

    /// In a compressed response, another result follows.
    pub(crate) fn result_follows(&mut self) {
        self.leg.result_follows();
    }

    /// A vanished client shall not keep its locks for as long as the kernel sends again. One that
    /// is slow to read a large result has not vanished: there the server's own limit holds.
    pub(super) fn bound_silence(&mut self, holds_locks: bool) {
        let small = self.unheard.bytes <= SMALL;
        let bounded = small && (self.unheard.bounded || holds_locks);
        if std::mem::replace(&mut self.unheard.bounded, bounded) != bounded {
            self.leg.socket().bound_silence(bounded.then_some(PEER_TIMEOUT));
        }
    }

    /// While the client does not take what the server sent, the server is not read. Then the server's end is not seen,
    /// which may even come after bytes for which there is no room. So the server's thread is looked for.
    pub(super) fn poll_stalled(&mut self, cx: &mut TaskContext<'_>, holds_locks: bool) -> Poll<()> {
        if self.leg.is_flushed() || !holds_locks {
            self.unheard.stall = None;
            return Poll::Pending;
        }
        let stall = self.unheard.stall.get_or_insert_with(|| Box::pin(sleep(LOOK)));
        if stall.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        stall.as_mut().reset(Instant::now() + LOOK);
        Poll::Ready(())
    }

    /// Nobody takes what is sent to the client any more.
    pub(crate) fn lose(&mut self) {
        self.lost = true;
        self.leg.discard();
    }

    /// The client has said its last command: nothing more is read or sent.
    pub(crate) fn end(&mut self) {
        self.ended = true;
        self.leg.end();
    }
}
