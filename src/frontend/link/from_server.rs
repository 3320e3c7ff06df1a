//! Bytes from the server: whose they are, and what is said in their place.

use super::Link;
use super::bad_response::{bad_response, cannot_follow, unread};
use super::close_reason::CloseReason;
use super::input::ClientInput;
use super::loss::{lose_idle_server, survives};
use super::pending::Recipient;
use super::reply::MAX_REPLY;
use super::within::within;
use crate::protocol::frame::HEADER;
use crate::protocol::response::{Ending, Progress};
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

/// Reads a session's server by its link.
pub(crate) struct ServerReader<'a> {
    link: &'a mut Link,
}

impl<'a> ServerReader<'a> {
    /// Of the session with this link.
    pub(crate) fn of(link: &'a mut Link) -> Self {
        Self { link }
    }

    /// Reads from the server and passes on. The bytes that the server sent settle what it owes,
    /// whether or not a client is there to take them.
    pub(crate) fn read_and_pass_on(&mut self) -> Result<(), CloseReason> {
        let mut buffer = self.link.buffers.take();
        if survives(self.link) {
            let said = self.link.server.read(&mut buffer, &self.link.buffers);
            let is_goodbye = says_goodbye(&buffer);
            self.link.buffers.give(buffer);
            // Nothing was asked: if it says anything, it closes the connection.
            if !is_goodbye {
                return Err(bad_response(self.link, "none", UNASKED));
            }
            if !matches!(said, Ok(None)) {
                lose_idle_server(self.link);
            }
            return Ok(());
        }
        let result = self.pump(&mut buffer);
        self.link.buffers.give(buffer);
        result?;
        self.link.client_listens()
    }

    fn pump(&mut self, buffer: &mut Vec<u8>) -> Result<(), CloseReason> {
        match self.link.server.read(buffer, &self.link.buffers) {
            Ok(None) => return Ok(()),
            Ok(Some(0)) => return Err(CloseReason::ServerGone),
            Err(e) => return Err(unread(self.link, &e, CloseReason::ServerGone)),
            Ok(Some(n)) => self.link.metrics.bytes_to_client.inc_by(n as u64),
        }
        let mut at = 0;
        let mut shown = 0;
        let read = buffer.len();
        while let Some(rest) = buffer.get_mut(at..).filter(|rest| !rest.is_empty()) {
            let whose = match self.begin_next(rest) {
                Ok(whose) => whose,
                Err(e) => {
                    // The bytes before it are right.
                    self.link.tell_client(within(buffer, shown..at)?);
                    return Err(e);
                }
            };
            if whose == ServerBytes::LastWords {
                if self.link.guard().is_certain() {
                    if self.link.pooled.is_shared() {
                        if self.link.last_words.len() + read > MAX_REPLY {
                            return Err(CloseReason::Broken("endless bytes that nobody asked for"));
                        }
                        self.link.last_words.extend_from_slice(rest);
                        buffer.truncate(at);
                    }
                    break;
                }
                // Another proxy has ended the session at the server: the client learns that its locks are lost.
                self.link.tell_client(within(buffer, shown..at)?);
                return Err(CloseReason::Fenced);
            }
            let (n, progress) = self.link.server.follow(rest, self.is_pipe());
            if let Progress::Broken(why) = progress {
                self.link.tell_client(within(buffer, shown..at)?);
                return Err(cannot_follow(self.link, why));
            }
            if let Some(instead) = self.instead_of(within(rest, ..n)?, progress)? {
                self.link.tell_client(within(buffer, shown..at)?);
                self.link.tell_client(&instead);
                shown = at + n;
            }
            at += n;
            if self.link.server.is_endless() {
                *self.link.client.input_mut() = ClientInput::Pipe;
            }
            match progress {
                Progress::NextResult if self.link.client.is_compressed() => {
                    self.link.tell_client(within(buffer, shown..at)?);
                    shown = at;
                    self.link.client.result_follows();
                }
                Progress::Continue | Progress::NextResult | Progress::Broken(_) => {}
                Progress::WantsFile => {
                    let seq = self.link.server.last_seq().wrapping_add(1);
                    *self.link.client.input_mut() = ClientInput::File { left: 0, seq };
                }
                Progress::Ended(ending) => {
                    if self.ends_amendment() {
                        self.link.tell_client(within(buffer, shown..at)?);
                        shown = at;
                        self.link.amendments.end();
                    }
                    self.settle(ending)?;
                }
            }
        }
        self.link.tell_client(within(buffer, shown..)?);
        Ok(())
    }

    /// Begins to follow the next response, unless one is under way.
    fn begin_next(&mut self, bytes: &mut [u8]) -> Result<ServerBytes, CloseReason> {
        if self.link.server.is_answering() {
            return Ok(ServerBytes::Response);
        }
        if let Some((shape, seq)) = self.link.owed.front().map(|next| (next.shape, next.seq)) {
            self.link.server.begin_response(shape, seq);
            return Ok(ServerBytes::Response);
        }
        if !says_goodbye(bytes) {
            return Err(bad_response(self.link, "none", UNASKED));
        }
        self.link.server.number_last_words(bytes);
        Ok(ServerBytes::LastWords)
    }

    /// What the client gets in place of these bytes of the response; `None`: these bytes.
    fn instead_of(
        &mut self,
        bytes: &[u8],
        progress: Progress,
    ) -> Result<Option<Vec<u8>>, CloseReason> {
        let ends_packet = self.link.server.at_packet_boundary();
        let Some(next) = self.link.owed.front_mut() else { return Ok(None) };
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

    /// Whether the response under way is changed, and ends that.
    fn ends_amendment(&self) -> bool {
        let next = self.link.owed.front().map(|next| &next.recipient);
        matches!(next, Some(Recipient::Client)) && self.link.amendments.is_of_one()
    }

    /// A response has ended.
    fn settle(&mut self, ending: Ending) -> Result<(), CloseReason> {
        let mut releases = ConnectionRelease::No;
        if let Some(next) = self.link.owed.end_front() {
            releases = next.releases;
            self.link.pooled.note_asked(next.statement, ending);
            if ending.is_error() && !next.undone {
                self.link.pooled.note_perhaps_committed();
            }
            if let Some((packet, again)) = self.link.owed.keep(next.recipient, ending) {
                self.link.send_release(packet, again)?;
            }
        }
        self.link.note_ending(ending);
        if !ending.is_error() {
            self.link.pooled.note_release(releases);
        }
        Ok(())
    }

    /// Whether both sides talk freely.
    fn is_pipe(&self) -> bool {
        matches!(self.link.client.input(), ClientInput::Pipe)
    }
}
