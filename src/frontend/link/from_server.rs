//! Bytes from the server: whose they are, and what is said in their place.

use std::io;

use super::Link;
use super::close_reason::CloseReason;
use super::input::ClientInput;
use super::pending::Recipient;
use super::reply::MAX_REPLY;
use super::within::within;
use crate::protocol::command::{Command, Shape};
use crate::protocol::frame::HEADER;
use crate::protocol::response::{Ending, Progress, Tracker};
use crate::sql::find::release::ConnectionRelease;

/// Why bytes that nobody has asked for end the session.
const UNASKED: &str = "an answer that nothing has asked for";

/// Whether these bytes, of which nobody has asked for any, may say why the server closes the connection: an error does.
fn says_goodbye(bytes: &[u8]) -> bool {
    bytes.get(HEADER).is_none_or(|first| *first == 0xff)
}

/// What the server's bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerBytes {
    /// A response that is owed.
    Response,
    /// None is owed: they come before it closes the connection.
    LastWords,
}

impl Link {
    /// Reads from the server and passes on. The bytes that the server sent settle what it owes,
    /// whether or not a client is there to take them.
    pub(crate) fn hear_server(&mut self) -> Result<(), CloseReason> {
        let mut buffer = self.buffers.take();
        if self.survives() {
            let said = self.server.read(&mut buffer, &self.buffers);
            let is_goodbye = says_goodbye(&buffer);
            self.buffers.give(buffer);
            // Nothing was asked: if it says anything, it closes the connection.
            if !is_goodbye {
                return Err(self.bad_response("none", UNASKED));
            }
            if !matches!(said, Ok(None)) {
                self.lose_idle_server();
            }
            return Ok(());
        }
        let result = self.pump(&mut buffer);
        self.buffers.give(buffer);
        result?;
        self.client_listens()
    }

    fn pump(&mut self, buffer: &mut Vec<u8>) -> Result<(), CloseReason> {
        match self.server.read(buffer, &self.buffers) {
            Ok(None) => return Ok(()),
            Ok(Some(0)) => return Err(CloseReason::ServerGone),
            Err(e) => return Err(self.unread(&e, CloseReason::ServerGone)),
            Ok(Some(n)) => self.metrics.bytes_to_client.inc_by(n as u64),
        }
        let mut at = 0;
        let mut shown = 0;
        let read = buffer.len();
        while let Some(rest) = buffer.get_mut(at..).filter(|rest| !rest.is_empty()) {
            let whose = match self.begin_next(rest) {
                Ok(whose) => whose,
                Err(e) => {
                    // The bytes before it are right.
                    self.tell_client(within(buffer, shown..at)?);
                    return Err(e);
                }
            };
            if whose == ServerBytes::LastWords {
                if self.guard.is_certain() {
                    if self.pooled.is_shared() {
                        if self.last_words.len() + read > MAX_REPLY {
                            return Err(CloseReason::Broken("endless bytes that nobody asked for"));
                        }
                        self.last_words.extend_from_slice(rest);
                        buffer.truncate(at);
                    }
                    break;
                }
                // Another proxy has ended the session at the server: the client learns that its locks are lost.
                self.tell_client(within(buffer, shown..at)?);
                return Err(CloseReason::Fenced);
            }
            let (n, progress) = self.server.follow(rest, self.is_pipe());
            if let Progress::Broken(why) = progress {
                self.tell_client(within(buffer, shown..at)?);
                return Err(self.cannot_follow(why));
            }
            if let Some(instead) = self.instead_of(within(rest, ..n)?, progress)? {
                self.tell_client(within(buffer, shown..at)?);
                self.tell_client(&instead);
                shown = at + n;
            }
            at += n;
            if self.server.is_endless() {
                *self.client.input_mut() = ClientInput::Pipe;
            }
            match progress {
                Progress::NextResult if self.client.is_compressed() => {
                    self.tell_client(within(buffer, shown..at)?);
                    shown = at;
                    self.client.result_follows();
                }
                Progress::Continue | Progress::NextResult | Progress::Broken(_) => {}
                Progress::WantsFile => {
                    let seq = self.server.last_seq().wrapping_add(1);
                    *self.client.input_mut() = ClientInput::File { left: 0, seq };
                }
                Progress::Ended(ending) => {
                    if self.ends_amendment() {
                        self.tell_client(within(buffer, shown..at)?);
                        shown = at;
                        self.amendments.end();
                    }
                    self.settle(ending)?;
                }
            }
        }
        self.tell_client(within(buffer, shown..)?);
        Ok(())
    }

    /// Begins to follow the next response, unless one is under way.
    fn begin_next(&mut self, bytes: &mut [u8]) -> Result<ServerBytes, CloseReason> {
        if self.server.is_answering() {
            return Ok(ServerBytes::Response);
        }
        if let Some((shape, seq)) = self.owed.front().map(|next| (next.shape, next.seq)) {
            self.server.begin_response(shape, seq);
            return Ok(ServerBytes::Response);
        }
        if !says_goodbye(bytes) {
            return Err(self.bad_response("none", UNASKED));
        }
        self.server.number_last_words(bytes);
        Ok(ServerBytes::LastWords)
    }

    /// The response under way, or the one that is owed next, cannot be followed.
    pub(super) fn cannot_follow(&self, why: &'static str) -> CloseReason {
        let command = self.owed.front().map_or("none", |next| next.command.label());
        self.bad_response(command, why)
    }

    /// What the server says in answer to a command of this kind cannot be followed. What it says after that may be the
    /// answer to anything, so nobody may have the connection.
    pub(super) fn bad_response(&self, command: &'static str, why: &'static str) -> CloseReason {
        self.metrics.protocol_errors.with_label_values(&[command]).inc();
        CloseReason::BadResponse(command, why)
    }

    /// The same of an answer to a packet of the proxy's own.
    pub(super) fn bad_answer(&self, packet: &[u8], why: &'static str) -> CloseReason {
        let command = Command(packet.get(HEADER).copied().unwrap_or(0));
        self.bad_response(command.label(), why)
    }

    /// What the client gets in place of these bytes of the response; `None`: these bytes.
    fn instead_of(
        &mut self,
        bytes: &[u8],
        progress: Progress,
    ) -> Result<Option<Vec<u8>>, CloseReason> {
        let ends_packet = self.server.at_packet_boundary();
        let Some(next) = self.owed.front_mut() else { return Ok(None) };
        Ok(match &mut next.recipient {
            Recipient::Client | Recipient::Fetch(_) => None,
            Recipient::Watched(seen) => {
                seen.feed(bytes);
                seen.held.as_mut().map(|held| {
                    let mut out = held.feed(bytes);
                    if ends_packet && !matches!(progress, Progress::Ended(_)) {
                        out.append(&mut held.packet_ends(progress == Progress::WantsFile));
                    }
                    out
                })
            }
            Recipient::Nobody | Recipient::Release(..) => Some(Vec::new()),
            Recipient::Gate(reply) => {
                reply.extend_from_slice(bytes);
                if reply.len() > MAX_REPLY {
                    return Err(CloseReason::Broken("an endless reply to a statement at a gate"));
                }
                Some(Vec::new())
            }
            Recipient::Refused(refusal) => Some(refusal.feed(bytes)),
        })
    }

    /// The end of a session whose peer could not be read.
    pub(super) fn unread(&self, error: &io::Error, gone: CloseReason) -> CloseReason {
        match (error.kind(), &gone) {
            (io::ErrorKind::OutOfMemory, _) => {}
            (io::ErrorKind::InvalidData, CloseReason::ServerGone) => {
                return self.cannot_follow("bytes that cannot be read");
            }
            _ => return gone,
        }
        self.metrics.limits.with_label_values(&["unpacking"]).inc();
        CloseReason::Broken("there is no memory left for long compressed packets of all sessions")
    }

    /// Whether the response under way is changed, and ends that.
    fn ends_amendment(&self) -> bool {
        let next = self.owed.front().map(|next| &next.recipient);
        matches!(next, Some(Recipient::Client)) && self.amendments.is_of_one()
    }

    /// A response has ended.
    fn settle(&mut self, ending: Ending) -> Result<(), CloseReason> {
        let mut releases = ConnectionRelease::No;
        if let Some(next) = self.owed.end_front() {
            releases = next.releases;
            self.pooled.note_asked(next.statement, ending);
            if ending.is_error() && !next.undone {
                self.pooled.note_perhaps_committed();
            }
            if let Some((packet, again)) = self.owed.keep(next.recipient, ending) {
                self.send_release(packet, again)?;
            }
        }
        self.note_ending(ending);
        if !ending.is_error() {
            self.pooled.note_release(releases);
        }
        Ok(())
    }

    /// Takes what the end of a response says of the session.
    pub(super) fn note_ending(&mut self, ending: Ending) {
        self.note_status(ending);
        self.take_in_reports();
        self.pooled.note_ending(ending);
        if matches!(self.client.input(), ClientInput::File { .. }) {
            *self.client.input_mut() = ClientInput::Command;
        }
    }

    /// Takes the status flags at the end of a response.
    pub(super) fn note_status(&mut self, ending: Ending) {
        if self.owed.is_nothing() && self.client.is_at_command() {
            self.server.note_all_read();
        }
        if self.status.note(ending) {
            self.pooled.note_not_committed();
        }
    }

    /// Takes the status flags of an OK packet, header included.
    pub(crate) fn learn_status(&mut self, frame: &[u8]) {
        let mut tracker = Tracker::new(self.capabilities);
        tracker.begin(Shape::Results);
        if let (_, Progress::Ended(ending)) = tracker.feed(frame) {
            self.note_ending(ending);
        }
    }

    /// Whether both sides talk freely.
    fn is_pipe(&self) -> bool {
        matches!(self.client.input(), ClientInput::Pipe)
    }

    /// Queues bytes for the client; what its socket takes goes out at once.
    pub(crate) fn send_client(&mut self, bytes: &[u8]) -> Result<(), CloseReason> {
        self.tell_client(bytes);
        self.client_listens()
    }

    /// Sends the client a whole response that may have several results.
    pub(crate) fn send_results(&mut self, bytes: &[u8]) -> Result<(), CloseReason> {
        let mut tracker = Tracker::new(self.capabilities);
        tracker.begin(Shape::Results);
        let mut rest = bytes;
        while let (n, Progress::NextResult) = tracker.feed(rest) {
            self.send_client(within(rest, ..n)?)?;
            self.client.result_follows();
            rest = within(rest, n..)?;
        }
        self.send_client(rest)
    }

    /// Like [`Self::send_client`], of bytes of the server's: it is followed even if the client is gone, which
    /// [`Self::client_listens`] reports later.
    fn tell_client(&mut self, bytes: &[u8]) {
        if bytes.is_empty() || self.client.is_lost() {
            return;
        }
        self.pooled.note_said();
        let amended = self.amendments.feed(bytes);
        let bytes = amended.as_deref().unwrap_or(bytes);
        self.client.send(bytes, self.guard.is_armed());
    }
}
