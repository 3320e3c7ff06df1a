//! A session's connection to the server, and what holds while it has none.
//!
//! Without one the server is as silent as one to which nothing was said: nothing comes from it, nothing is
//! left to be sent, no response is followed. Bytes for it cannot be taken: a caller with a command for the
//! server gets a connection first.

use std::io;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use tokio::time::Instant;

use super::guard::{Certainty, LeaseGuard};
use crate::backend::connection::Backend;
use crate::backend::left::Left;
use crate::net::buffers::Buffers;
use crate::net::leg::Leg;
use crate::net::socket::SERVER_TIMEOUT;
use crate::protocol::command::Shape;
use crate::protocol::cut::Reported;
use crate::protocol::response::{Progress, Tracker};
use crate::protocol::statement_ids::Naming;
use crate::servers::writer::Destination;
use crate::types::{BackendId, Flavour, ProxyId};

/// As many bytes find room in the socket of a server that reads nothing.
const SURE_ROOM: usize = 16 * 1024;

/// The connection, while there is one.
pub(crate) struct ServerSide {
    backend: Option<Box<Backend>>,
    /// Bytes that the server may not have read.
    unread: usize,
    /// There are more of them than surely find room.
    crowded: bool,
    /// The check before bytes of a session that holds locks.
    guard: Arc<LeaseGuard>,
    /// While the session is suspended.
    certainty: Option<Certainty>,
}

impl ServerSide {
    /// Of a session that has this connection, or none yet.
    pub(super) fn of(backend: Option<Backend>, guard: Arc<LeaseGuard>) -> Self {
        let backend = backend.map(Box::new);
        Self { backend, unread: 0, crowded: false, guard, certainty: None }
    }

    /// The check before bytes of a session that holds locks.
    pub(super) fn guard(&self) -> &LeaseGuard {
        &self.guard
    }

    /// Ends when the locks of a suspended session are certain, or lost.
    pub(super) fn certainty(&mut self) -> &mut Certainty {
        let guard = &self.guard;
        self.certainty.get_or_insert_with(|| guard.certainty())
    }

    /// The locks are certain again.
    pub(super) fn end_certainty(&mut self) {
        self.certainty = None;
    }

    /// Whether there is one.
    pub(crate) fn is_there(&self) -> bool {
        self.backend.is_some()
    }

    fn leg(&self) -> Option<&Leg> {
        self.backend.as_ref().map(|backend| backend.leg())
    }

    /// The socket to the server and its layers.
    pub(super) fn leg_mut(&mut self) -> Option<&mut Leg> {
        self.backend.as_mut().map(|backend| backend.leg_mut())
    }

    /// The server's family. Not connected: not known.
    pub(crate) fn flavour(&self) -> Option<Flavour> {
        self.backend.as_ref().map(|backend| backend.flavour())
    }

    fn tracker(&self) -> Option<&Tracker> {
        self.backend.as_ref().map(|backend| backend.tracker())
    }

    /// Sends bytes. Not connected: an error.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.for_bytes(bytes)?.send(bytes)
    }

    /// Keeps bytes until the next flush. Not connected: an error.
    pub(super) fn keep(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.for_bytes(bytes)?.keep(bytes)
    }

    /// The socket to the server, for these bytes. Not connected: an error.
    fn for_bytes(&mut self, bytes: &[u8]) -> io::Result<&mut Leg> {
        self.unread = self.unread.saturating_add(bytes.len());
        if self.unread > SURE_ROOM {
            self.crowd(true);
        }
        self.leg_mut().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// The server has read all that was sent.
    pub(super) fn note_all_read(&mut self) {
        self.unread = 0;
        self.crowd(false);
    }

    /// A server that does not read what it was sent, while it waits for something, is not gone.
    fn crowd(&mut self, crowded: bool) {
        if std::mem::replace(&mut self.crowded, crowded) != crowded
            && let Some(leg) = self.leg()
        {
            leg.socket().bound_silence((!crowded).then_some(SERVER_TIMEOUT));
        }
    }

    /// Writes what the socket takes now.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.leg_mut().map_or(Ok(()), Leg::flush)
    }

    /// Whether the socket has taken all that was sent. Not connected: yes.
    pub(super) fn is_flushed(&self) -> bool {
        self.leg().is_none_or(Leg::is_flushed)
    }

    /// Reads what is there. Not connected: nothing is there yet.
    pub(super) fn read(
        &mut self,
        buffer: &mut Vec<u8>,
        buffers: &Buffers,
    ) -> io::Result<Option<usize>> {
        self.backend.as_mut().map_or(Ok(None), |backend| backend.read(buffer, buffers))
    }

    /// Whether a read may find something. Not connected: not until the session gets a connection, which
    /// its own task does.
    pub(super) fn poll_readable(&self, cx: &mut TaskContext<'_>) -> Poll<()> {
        self.leg().map_or(Poll::Pending, |leg| leg.poll_readable(cx).map(|_| ()))
    }

    /// Whether a write may be taken.
    pub(super) fn poll_writable(&self, cx: &mut TaskContext<'_>) -> Poll<()> {
        self.leg().map_or(Poll::Pending, |leg| leg.poll_writable(cx).map(|_| ()))
    }

    /// Whether the leg may hold bytes of which its socket does not know.
    pub(super) fn has_more(&self) -> bool {
        self.leg().is_some_and(Leg::has_more)
    }

    /// Ends this side as the end of a process does.
    pub(crate) fn end_abruptly(&mut self) {
        if let Some(leg) = self.leg_mut() {
            leg.end_abruptly();
        }
    }

    /// A response will come.
    pub(super) fn expect(&mut self, shape: Shape, told: Naming) {
        if let Some(backend) = &mut self.backend {
            backend.expect(shape, told);
        }
    }

    /// What the server has reported of the session's state since this was asked last.
    pub(crate) fn take_reported(&mut self) -> Reported {
        self.backend.as_mut().map(|backend| backend.take_reported()).unwrap_or_default()
    }

    /// The incarnation of the proxy that it was tagged with.
    pub(crate) fn tag(&self) -> Option<ProxyId> {
        self.backend.as_ref().and_then(|backend| backend.tag())
    }

    /// Where it leads.
    pub(crate) fn to(&self) -> Option<&Destination> {
        self.backend.as_ref().map(|backend| backend.to())
    }

    /// The server's start, if the connection has told it.
    pub(crate) fn run(&self) -> Option<i64> {
        self.backend.as_ref().and_then(|backend| backend.run())
    }

    /// The connection has told the server's start.
    pub(crate) fn note_run(&mut self, run: i64) {
        if let Some(backend) = &mut self.backend {
            backend.note_run(run);
        }
    }

    /// The connection, which the session has no more.
    pub(super) fn take(&mut self) -> Option<Box<Backend>> {
        self.note_all_read();
        self.backend.take()
    }

    /// From here on the session has this connection.
    pub(crate) fn put(&mut self, backend: Backend) {
        self.backend = Some(Box::new(backend));
    }

    /// The connection, at the server.
    pub(super) fn id(&self) -> Option<BackendId> {
        self.backend.as_ref().map(|backend| backend.id())
    }

    /// The state that another session has left on the connection; once.
    pub(crate) fn take_left(&mut self) -> Left {
        self.backend.as_mut().map(|backend| backend.take_left()).unwrap_or_default()
    }

    /// Whether the connection has never been in a schema.
    pub(crate) fn is_schemaless(&self) -> bool {
        self.backend.as_ref().is_some_and(|backend| backend.is_schemaless())
    }

    /// The connection is in a schema from here on.
    pub(crate) fn note_schema(&mut self) {
        if let Some(backend) = &mut self.backend {
            backend.note_schema();
        }
    }

    /// The connection was reset.
    pub(super) fn note_reset(&mut self) {
        if let Some(backend) = &mut self.backend {
            backend.note_reset();
        }
    }

    /// The client hears all that the server reports from here on.
    pub(super) fn pass_all(&mut self) {
        if let Some(backend) = &mut self.backend {
            backend.pass_all(true);
        }
    }

    /// Whether the connection leads to a server that is not the writer any more.
    pub(crate) fn is_left(&self) -> bool {
        self.to().is_some_and(Destination::is_left)
    }

    /// Begins to follow a response.
    pub(super) fn begin_response(&mut self, shape: Shape, seq: u8) {
        if let Some(backend) = &mut self.backend {
            backend.begin_response(shape, seq);
        }
    }

    /// Follows a response through these bytes. Not connected: there are none.
    pub(super) fn follow(&mut self, bytes: &mut [u8], pipe: bool) -> (usize, Progress) {
        match &mut self.backend {
            Some(backend) => backend.follow(bytes, pipe),
            None => (bytes.len(), Progress::Continue),
        }
    }

    /// Counts the packets that come before the server closes the connection.
    pub(super) fn number_last_words(&mut self, bytes: &mut [u8]) {
        if let Some(backend) = &mut self.backend {
            backend.number_last_words(bytes);
        }
    }

    /// Whether a response is under way.
    pub(super) fn is_answering(&self) -> bool {
        self.tracker().is_some_and(Tracker::active)
    }

    /// Whether the last byte ended a packet. Not connected: nothing was begun.
    pub(super) fn at_packet_boundary(&self) -> bool {
        self.tracker().is_none_or(Tracker::at_packet_boundary)
    }

    /// Whether the response under way has no end that could be seen.
    pub(crate) fn is_endless(&self) -> bool {
        self.tracker().is_some_and(Tracker::is_endless)
    }

    /// The sequence id of the last frame.
    pub(super) fn last_seq(&self) -> u8 {
        self.tracker().map_or(0, Tracker::last_seq)
    }

    /// When the server last heard from the session. Not connected: now, since no idle time of the server's
    /// runs.
    pub(crate) fn used(&self) -> Instant {
        self.backend.as_ref().map_or_else(Instant::now, |backend| backend.used())
    }

    /// The server runs a statement, or has just run one.
    pub(crate) fn note_used(&mut self) {
        if let Some(backend) = &mut self.backend {
            backend.note_used();
        }
    }

    /// Since when the server is known to be the one with the lock tables. Not connected: the next
    /// connection must tell.
    pub(crate) fn known_since(&self) -> Option<Duration> {
        self.backend.as_ref().map(|backend| backend.known_since())
    }

    /// Notes that the server was the one with the lock tables at this moment.
    pub(crate) fn note_known(&mut self, at: Duration) {
        if let Some(backend) = &mut self.backend {
            backend.note_known(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    #[tokio::test]
    async fn without_a_connection_nothing_comes_and_nothing_can_be_sent() {
        let mut server = ServerSide::of(None, Arc::new(LeaseGuard::new(Arc::default())));
        assert!(!server.is_there() && server.is_flushed() && !server.has_more());
        let refused =
            |sent: io::Result<()>| sent.is_err_and(|e| e.kind() == io::ErrorKind::NotConnected);
        assert!(refused(server.send(b"x")) && refused(server.keep(b"x")));
        assert!(
            server.flush().is_ok()
                && matches!(server.read(&mut Vec::new(), &Buffers::default()), Ok(None))
        );
        poll_fn(|cx| {
            assert!(server.poll_readable(cx).is_pending() && server.poll_writable(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        server.begin_response(Shape::Results, 1);
        assert!(!server.is_answering() && !server.is_endless() && server.at_packet_boundary());
        assert_eq!(server.known_since(), None, "another connection may lead elsewhere");
    }
}
