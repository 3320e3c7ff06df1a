//! Moving bytes: what the client receives is byte for byte what the server sent, and the other
//! way round. Commands are looked at where they start; a lock call parks the session until the
//! server owes nothing, then `intercept` answers it.

use super::pending::{Owed, Whose};
use super::server_query::{MAX_REPLY, Reply};
use crate::frontend::session::{ClientState, End, Session};
use crate::net::buffers::BUFFER;
use crate::protocol::attributes::text_offset;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::{Command, Shape};
use crate::protocol::frame::{FrameHeader, HEADER};
use crate::protocol::response::{Ending, Progress};
use crate::protocol::status::Status;
use crate::sql::find::prefilter::scan;
use crate::sql::find::stream::Stream;

/// What to do with the command at hand.
pub(in crate::frontend) enum Fate {
    /// Not all there yet.
    Incomplete,
    /// Forward it as it streams in.
    Forward(Option<Stream>),
    /// Answer it when the server owes nothing.
    Park,
    /// Refuse it, an execution of this statement, without looking at it.
    Drop(u32),
}

impl Session {
    /// Reads from the server and passes on. What the server owes is settled by what it sent,
    /// whether or not a client is there to take it.
    pub(in crate::frontend) fn hear_server(&mut self) -> Result<(), End> {
        let mut buffer = self.context.buffers.take();
        let result = self.pump_server(&mut buffer);
        self.context.buffers.give(buffer);
        result?;
        self.client_listens()
    }

    fn pump_server(&mut self, buffer: &mut Vec<u8>) -> Result<(), End> {
        match self.server.read(buffer) {
            Ok(None) => return Ok(()),
            Ok(Some(0)) => return Err(End::ServerGone),
            Err(e) => return Err(self.unread(&e, End::ServerGone)),
            Ok(Some(n)) => self.context.metrics.bytes_to_client.inc_by(n as u64),
        }
        let mut at = 0;
        let mut shown = 0;
        while at < buffer.len() {
            if !self.tracker.active() {
                let Some((shape, seq)) = self.owed.front().map(|owed| (owed.shape, owed.seq))
                else {
                    // Nothing was asked: the server's last words before it hangs up.
                    if let Some(renumber) = &mut self.renumber {
                        renumber.begin(0);
                        renumber.pass(&mut buffer[at..]);
                    }
                    break;
                };
                self.begin_response(shape, seq);
            }
            let (n, progress) = self.follow(&mut buffer[at..]);
            let instead = match self.owed.front_mut().map(|owed| &mut owed.whose) {
                None | Some(Whose::Clients) => None,
                Some(Whose::Watched(seen)) => {
                    seen.feed(&buffer[at..at + n]);
                    None
                }
                Some(Whose::Hidden | Whose::Release(..)) => Some(Vec::new()),
                Some(Whose::Gate(bytes)) => {
                    bytes.extend_from_slice(&buffer[at..at + n]);
                    if bytes.len() > MAX_REPLY {
                        return Err(End::Broken("an endless reply to a statement at a gate"));
                    }
                    Some(Vec::new())
                }
                Some(Whose::Refused(refusal)) => Some(refusal.feed(&buffer[at..at + n])),
            };
            if let Some(instead) = instead {
                self.tell_client(&buffer[shown..at]);
                self.tell_client(&instead);
                shown = at + n;
            }
            at += n;
            match progress {
                Progress::NextResult if self.client.is_compressed() => {
                    self.tell_client(&buffer[shown..at]);
                    shown = at;
                    self.client.result_follows();
                }
                Progress::Continue | Progress::NextResult => {}
                Progress::WantsFile => {
                    let seq = self.tracker.last_seq().wrapping_add(1);
                    self.client_state = ClientState::File { left: 0, seq };
                }
                Progress::Ended(ending) => {
                    let clients =
                        matches!(self.owed.front(), Some(Owed { whose: Whose::Clients, .. }));
                    if clients && self.amend.is_some() && self.chain.is_none() {
                        self.tell_client(&buffer[shown..at]);
                        shown = at;
                        self.amend = None;
                    }
                    match self.owed.pop_front().map(|owed| owed.whose) {
                        Some(Whose::Watched(seen)) => self.watched_end(*seen, ending),
                        Some(Whose::Gate(bytes)) => self.at_gate = Some(Reply { bytes, ending }),
                        Some(Whose::Release(packet, again @ 1..)) if ending.is_error() => {
                            self.send_release(packet, again - 1)?;
                        }
                        _ => {}
                    }
                    self.ended(ending);
                }
            }
        }
        self.tell_client(&buffer[shown..]);
        Ok(())
    }

    pub(in crate::frontend) fn ended(&mut self, ending: Ending) {
        if let Some(id) = self.fetching.take() {
            self.fetched(id, ending);
        }
        match ending {
            Ending::Ok { status, .. } => {
                self.status = status;
                self.status_known = true;
            }
            // An error may have ended a transaction, or left one open: it does not say.
            Ending::Err { .. } => self.status_known = false,
            Ending::Plain => {}
        }
        if matches!(self.client_state, ClientState::File { .. }) {
            self.client_state = ClientState::Command;
        }
    }

    /// Takes the status flags of an OK packet, header included.
    pub(in crate::frontend) fn learn_status(&mut self, frame: &[u8]) {
        let mut tracker = crate::protocol::response::Tracker::new(self.capabilities);
        tracker.begin(Shape::Results);
        if let (_, Progress::Ended(ending)) = tracker.feed(frame) {
            self.ended(ending);
        }
    }

    /// Queues bytes for the client; what its socket takes goes out at once.
    pub(in crate::frontend) fn send_client(&mut self, bytes: &[u8]) -> Result<(), End> {
        self.tell_client(bytes);
        self.client_listens()
    }

    /// The same where the bytes are the server's. A client that does not take them is no reason to
    /// stop following: that it is gone is told afterwards, by [`Self::client_listens`].
    fn tell_client(&mut self, bytes: &[u8]) {
        if bytes.is_empty() || self.client_lost {
            return;
        }
        let amended = self.amend.as_mut().map(|amend| amend.feed(bytes));
        let bytes = amended.as_deref().unwrap_or(bytes);
        let sent = self.client.send(bytes);
        self.unheard.sent(bytes.len());
        self.bound_silence();
        if sent.is_err() {
            self.lose_client();
        }
    }

    /// Queues bytes for the server. The lease is checked immediately before the write.
    pub(in crate::frontend) fn send_server(&mut self, bytes: &[u8]) -> Result<(), End> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.check_lease()?;
        self.context.metrics.bytes_to_server.inc_by(bytes.len() as u64);
        self.server.send(bytes).map_err(|_| End::ServerGone)
    }

    /// Reads from the client and passes on.
    pub(in crate::frontend) fn hear_client(&mut self) -> Result<(), End> {
        let mut buffer = self.context.buffers.take();
        buffer.append(&mut self.inbox);
        self.inbox = Vec::new();
        self.heard_of_client();
        let result = match self.client.read(&mut buffer) {
            Ok(Some(0)) => self.client_closed(),
            Err(e) => Err(self.unread(&e, End::ClientGone)),
            Ok(_) => Ok(()),
        };
        let result = result.and_then(|()| self.process(&mut buffer));
        self.context.buffers.give(buffer);
        result?;
        self.client_is_there();
        Ok(())
    }

    /// Looks at client bytes that were read ahead.
    pub(in crate::frontend) fn process_inbox(&mut self) -> Result<(), End> {
        if self.inbox.is_empty() || self.parked || self.chain.is_some() {
            return Ok(());
        }
        let mut buffer = std::mem::take(&mut self.inbox);
        self.process(&mut buffer)
    }

    /// Forwards what can be forwarded and keeps the rest in the inbox.
    fn process(&mut self, buffer: &mut Vec<u8>) -> Result<(), End> {
        let mut at = 0;
        let mut from = 0;
        while at < buffer.len() && !self.parked {
            match &mut self.client_state {
                ClientState::Pipe => at = buffer.len(),
                ClientState::Body { .. } => match self.body(&mut buffer[at..]) {
                    0 => break,
                    n => at += n,
                },
                ClientState::Dropped(_) => match self.drop_body(&buffer[at..]) {
                    0 => break,
                    n => {
                        at += n;
                        from = at;
                    }
                },
                ClientState::File { .. } => match self.file(&mut buffer[at..]) {
                    0 => break,
                    n => at += n,
                },
                ClientState::Command => match self.command(&buffer[at..])? {
                    Fate::Incomplete => break,
                    Fate::Park => self.parked = true,
                    Fate::Drop(id) => {
                        self.send_server(&buffer[from..at])?;
                        at += self.start_dropping(id, &buffer[at..]);
                        from = at;
                    }
                    Fate::Forward(stream) => {
                        self.send_server(&buffer[from..at])?;
                        from = at;
                        at += self.start_forwarding(&buffer[at..], stream)?;
                    }
                },
            }
        }
        self.send_server(&buffer[from..at])?;
        if at < buffer.len() {
            self.inbox = buffer.split_off(at);
        }
        Ok(())
    }

    /// Decides about the command at the start of `bytes`.
    fn command(&mut self, bytes: &[u8]) -> Result<Fate, End> {
        if let Some(mut watch) = self.watch.take() {
            let fate = self.watched(&mut watch, bytes);
            self.watch = Some(watch);
            return fate;
        }
        let Some(frame) = FrameHeader::peek(bytes) else {
            return Ok(Fate::Incomplete);
        };
        if frame.len == 0 {
            return Ok(Fate::Forward(None));
        }
        let Some(&byte) = bytes.get(HEADER) else {
            return Ok(if frame.len == 0 { Fate::Forward(None) } else { Fate::Incomplete });
        };
        let size = HEADER + frame.len;
        let whole = bytes.len() >= size;
        let fits = size <= BUFFER;
        match Command(byte) {
            Command::QUERY | Command::STMT_PREPARE => {
                if fits && !whole {
                    return Ok(Fate::Incomplete);
                }
                let payload = &bytes[HEADER..size.min(bytes.len())];
                let Some(text_at) = self.text_start(payload) else {
                    if fits {
                        // Broken attributes: the server says so, unless it can read them.
                        let found = scan(payload);
                        let matters = found.call || found.setting || self.has_named();
                        return Ok(if matters { Fate::Park } else { Fate::Forward(None) });
                    }
                    return Err(End::Broken("query attributes longer than a buffer"));
                };
                let text = &payload[text_at..];
                if !fits {
                    let named = Command(byte) == Command::QUERY && self.has_named();
                    let stream = Stream::behind(self.dialect(), text_at).with_names(named);
                    let stream = if self.runs_uncovered() { stream.looking() } else { stream };
                    return Ok(Fate::Forward(Some(stream)));
                }
                let found = scan(text);
                if found.setting {
                    self.note_setting(text, Command(byte) == Command::STMT_PREPARE);
                }
                // What is bound to a statement id prepares nothing, but a block in it executes.
                let query = Command(byte) == Command::QUERY;
                let names = (query || self.has_named()) && self.may_be_named(text);
                Ok(if found.call || names { Fate::Park } else { Fate::Forward(None) })
            }
            // Some servers answer these, others do not.
            Command::STMT_CLOSE if frame.len < 5 => Err(End::Broken("a COM_STMT_CLOSE of nothing")),
            Command::STMT_SEND_LONG_DATA if frame.len < 7 => {
                Err(End::Broken("a COM_STMT_SEND_LONG_DATA for nothing"))
            }
            Command::CHANGE_USER | Command::RESET_CONNECTION if !fits => {
                Err(End::Broken("a change of user or a reset longer than a buffer"))
            }
            Command::CHANGE_USER | Command::RESET_CONNECTION => {
                Ok(if whole { Fate::Park } else { Fate::Incomplete })
            }
            Command::STMT_EXECUTE
            | Command::STMT_SEND_LONG_DATA
            | Command::STMT_CLOSE
            | Command::STMT_RESET
            | Command::STMT_FETCH
            | Command::MARIADB_BULK_EXECUTE
                if !self.statements.is_empty() =>
            {
                // The next packet's bytes are no part of a short one's id.
                let payload = &bytes[HEADER..size.min(bytes.len())];
                let Some(id) = payload.get(1..5) else {
                    return Ok(if whole { Fate::Forward(None) } else { Fate::Incomplete });
                };
                let id = u32::from_le_bytes([id[0], id[1], id[2], id[3]]);
                if !self.is_lock_statement(id) {
                    return Ok(Fate::Forward(None));
                }
                if !fits && self.only_lists(id) {
                    self.forget_statement(id);
                    return Ok(Fate::Forward(None));
                }
                if !fits {
                    return self.oversized(id, bytes);
                }
                Ok(if whole { Fate::Park } else { Fate::Incomplete })
            }
            Command::QUIT => self.quits(),
            // The server refuses any other length.
            Command::SET_OPTION if frame.len == 3 => {
                if !whole {
                    return Ok(Fate::Incomplete);
                }
                // 0 allows several statements in one text, 1 forbids them; else the server refuses.
                match bytes[HEADER + 1..size] {
                    [0, 0] => self.several = true,
                    [1, 0] => self.several = false,
                    _ => {}
                }
                Ok(Fate::Forward(None))
            }
            _ => Ok(Fate::Forward(None)),
        }
    }

    /// Where the SQL text starts in a COM_QUERY or COM_STMT_PREPARE payload.
    pub(in crate::frontend) fn text_start(&self, payload: &[u8]) -> Option<usize> {
        let attributes = self.capabilities.has(Capabilities::QUERY_ATTRIBUTES);
        if attributes && payload.first() == Some(&Command::QUERY.0) {
            text_offset(payload)
        } else {
            Some(1)
        }
    }

    /// Enters a command into what the server owes. Returns the bytes of its head.
    fn start_forwarding(&mut self, bytes: &[u8], stream: Option<Stream>) -> Result<usize, End> {
        let Some(frame) = FrameHeader::peek(bytes) else {
            return Ok(0);
        };
        let first = if frame.len == 0 { None } else { bytes.get(HEADER).copied() };
        let command = Command(first.unwrap_or(0));
        let shape = command.response();
        if shape != Shape::Nothing {
            self.catch_up()?;
        }
        self.owe(command, shape);
        self.client_state = if shape == Shape::Endless {
            ClientState::Pipe
        } else if frame.len == 0 {
            ClientState::Command
        } else {
            ClientState::Body {
                left: frame.len,
                continued: frame.continued(),
                seq: frame.seq.wrapping_add(1),
                stream: stream.map(Box::new),
            }
        };
        Ok(HEADER)
    }

    /// Whether a reply that the proxy makes itself can be told from the server's: not while
    /// state trackers hang flags and blocks on the next reply, nor behind an error.
    pub(in crate::frontend) fn status_is_plain(&self) -> bool {
        self.status_known && !self.status.has(Status::SESSION_STATE_CHANGED)
    }
}
