//! Bytes from the client: forwarded as they come, but for commands that the session keeps.

use super::Link;
use super::bad_response::unread;
use super::close_reason::CloseReason;
use super::input::{ClientInput, Dropped};
use super::pending::{Pending, Recipient};
use super::within::within;
use crate::protocol::command::{Command, Shape, TELLING};
use crate::protocol::error_replacement::ErrorReplacement;
use crate::protocol::frame::{FrameHeader, HEADER};
use crate::sql::find::stream::{Stream, StreamFound};

/// What to do with a command.
pub(crate) enum CommandAction {
    /// Not all there yet.
    Incomplete,
    /// Forward it as it streams in; a long statement is searched on its way.
    Forward(Option<Stream>),
    /// Keep it in the inbox: it is answered when the server owes nothing.
    Park,
    /// Keep it in the inbox: it is looked at again when the server owes nothing and has this prepared statement.
    Bring(u32),
    /// Read it to its end without looking at it: it is for this prepared statement, and answered then.
    Drop(u32),
}

/// Decides what happens to the client's commands.
pub(crate) trait Dispatch {
    /// What to do with the command at the start of `bytes`.
    fn command(&mut self, link: &mut Link, bytes: &[u8]) -> Result<CommandAction, CloseReason>;

    /// A command is forwarded: whom its response is for.
    fn forwarded(&mut self, link: &Link, command: Command, shape: Shape) -> Recipient;

    /// A lock call was found in a statement of which most is at the server. The rest of the statement was spoilt, so
    /// that the server refuses it. Returns what the client hears instead, if the session refuses it.
    fn found(&mut self, link: &Link, found: StreamFound) -> Option<ErrorReplacement>;

    /// A command waits to be answered: in the inbox, or as a packet that was dropped.
    fn waits(&mut self, dropped: Option<Dropped>);

    /// A command waits for a prepared statement.
    fn waits_for(&mut self, statement: u32);
}

/// Whether so much of a command is there that the shape of its response is known.
fn tells_its_response(bytes: &[u8]) -> bool {
    FrameHeader::peek(bytes).is_some_and(|frame| bytes.len() >= TELLING.min(HEADER + frame.len))
}

/// Reads a session's client by its link.
pub(crate) struct ClientReader<'a> {
    link: &'a mut Link,
}

impl<'a> ClientReader<'a> {
    /// Of the session with this link.
    pub(crate) fn of(link: &'a mut Link) -> Self {
        Self { link }
    }

    /// Reads from the client and passes on.
    pub(crate) fn read_and_pass_on(
        &mut self,
        dispatch: &mut impl Dispatch,
    ) -> Result<(), CloseReason> {
        let mut buffer = self.link.buffers.take();
        buffer.append(&mut self.link.client.take_inbox());
        if self.link.owes_client_nothing() {
            self.link.client.note_heard();
        }
        self.link.bound_silence();
        let result = match self.link.client.read(&mut buffer) {
            Ok(Some(0)) if self.awaits_rows() && !buffer.is_empty() => {
                self.link.client.note_end();
                Ok(())
            }
            Ok(Some(0)) => self.client_closed(),
            Err(e) => Err(unread(self.link, &e, CloseReason::ClientGone)),
            Ok(_) => Ok(()),
        };
        let result = result.and_then(|()| self.process(dispatch, &mut buffer));
        self.link.buffers.give(buffer);
        result
    }

    /// Looks at client bytes that were read ahead.
    pub(crate) fn process_inbox(
        &mut self,
        dispatch: &mut impl Dispatch,
    ) -> Result<(), CloseReason> {
        if self.link.client.inbox_is_empty() {
            return Ok(());
        }
        let mut buffer = self.link.client.take_inbox();
        self.process(dispatch, &mut buffer)?;
        let over = self.link.client.has_ended() && self.link.client.inbox_is_empty();
        if over { self.client_closed() } else { Ok(()) }
    }

    /// Forwards what can be forwarded and keeps the rest in the inbox, also if the server has gone: the session may go
    /// on without it.
    fn process(
        &mut self,
        dispatch: &mut impl Dispatch,
        buffer: &mut Vec<u8>,
    ) -> Result<(), CloseReason> {
        let mut at = 0;
        let result = self.forward_all(dispatch, buffer, &mut at);
        if at < buffer.len() {
            self.link.client.put_back(buffer.split_off(at));
        }
        result
    }

    /// Forwards what can be forwarded, up to `at`.
    fn forward_all(
        &mut self,
        dispatch: &mut impl Dispatch,
        buffer: &mut Vec<u8>,
        at: &mut usize,
    ) -> Result<(), CloseReason> {
        let mut from = 0;
        while let Some(rest) = buffer.get_mut(*at..).filter(|rest| !rest.is_empty()) {
            let n = match self.link.client.input() {
                ClientInput::Pipe => rest.len(),
                ClientInput::Body { .. } => self.body(dispatch, rest),
                ClientInput::File { .. } => self.file(rest),
                ClientInput::Dropped(_) => {
                    let (n, whole) = self.link.client.input_mut().drop_body(rest);
                    *at += n;
                    from = *at;
                    if whole.is_some() {
                        dispatch.waits(whole);
                        break;
                    }
                    if n == 0 {
                        break;
                    }
                    continue;
                }
                ClientInput::Command if self.link.awaits_last() => break,
                ClientInput::Command if !tells_its_response(rest) => break,
                ClientInput::Command => match dispatch.command(self.link, rest)? {
                    CommandAction::Incomplete => break,
                    CommandAction::Park => {
                        dispatch.waits(None);
                        break;
                    }
                    CommandAction::Bring(id) => {
                        dispatch.waits_for(id);
                        break;
                    }
                    CommandAction::Drop(id) => {
                        self.link.send_server(within(buffer, from..*at)?)?;
                        let dropping = ClientInput::dropping(id, within(buffer, *at..)?);
                        let Some(dropping) = dropping else { break };
                        *self.link.client.input_mut() = dropping;
                        *at += HEADER;
                        from = *at;
                        continue;
                    }
                    CommandAction::Forward(stream) => {
                        self.link.send_server(within(buffer, from..*at)?)?;
                        from = *at;
                        self.start_forwarding(dispatch, buffer, *at, stream)?
                    }
                },
            };
            if n == 0 {
                break;
            }
            *at += n;
        }
        self.link.send_server(within(buffer, from..*at)?)
    }

    /// Enters a command into what the server owes. Returns the bytes of its head.
    fn start_forwarding(
        &mut self,
        dispatch: &mut impl Dispatch,
        buffer: &mut Vec<u8>,
        at: usize,
        stream: Option<Stream>,
    ) -> Result<usize, CloseReason> {
        let packet = within(buffer, at..)?;
        let Some(frame) = FrameHeader::peek(packet) else {
            return Ok(0);
        };
        let first = if frame.len == 0 { None } else { packet.get(HEADER).copied() };
        let command = Command(first.unwrap_or(0));
        self.link.pooled.note_command(command, !self.link.owed.any_for_client());
        let shape = Shape::of_clients(packet, self.link.flavour());
        if shape != Shape::Nothing {
            self.link.replay_skipped()?;
        }
        let recipient = dispatch.forwarded(self.link, command, shape);
        let about = self.link.pooled.address(buffer, at, self.link.capabilities);
        let packet = within(buffer, at..)?;
        if shape != Shape::Nothing {
            self.link.owe_about(Pending::to(packet, recipient), about);
            self.link.pooled.note_forwarded(self.link.owed.len() > 1);
        }
        let frame = FrameHeader::peek(packet).unwrap_or(frame);
        self.link.server.note_used();
        *self.link.client.input_mut() = if frame.len == 0 {
            ClientInput::Command
        } else {
            ClientInput::Body {
                left: frame.len,
                continued: frame.continued(),
                seq: frame.seq.wrapping_add(1),
                stream: stream.map(Box::new),
            }
        };
        Ok(HEADER)
    }

    /// Looks at the body of a packet. Returns the bytes to be forwarded; none when a frame's header
    /// is not all there.
    fn body(&mut self, dispatch: &mut impl Dispatch, bytes: &mut [u8]) -> usize {
        let compressed = self.link.client.is_compressed();
        let part = self.link.client.input_mut().body(bytes, compressed);
        if let Some(found) = part.found
            && let Some(refusal) = dispatch.found(self.link, found)
            // The last response owed is this statement's, unless the server has given up on it.
            && let Some(response) = self.link.owed.back_mut()
        {
            response.recipient = Recipient::Refused(Box::new(refusal));
        }
        if let (Some(seq), Some(response)) = (part.frame, self.link.owed.back_mut()) {
            // The answer is counted on from the command's last frame.
            response.seq = seq.wrapping_add(1);
        }
        part.bytes
    }

    /// Looks at a file that the client sends. Returns the bytes to be forwarded; none when a frame's
    /// header is not all there.
    fn file(&mut self, bytes: &mut [u8]) -> usize {
        let compressed = self.link.client.is_compressed();
        let (n, answer) = self.link.client.input_mut().file(bytes, compressed);
        if let Some(seq) = answer {
            // The answer to the file continues the same response.
            self.link.client.result_follows();
            let shape = self.link.owed.front().map_or(Shape::Results, |response| response.shape);
            self.link.server.begin_response(shape, seq);
        }
        n
    }

    /// The client has closed its connection. What it sent before is still run and answered, as at the server, which
    /// reads the end only when it is done, or looks for it while it waits.
    fn client_closed(&mut self) -> Result<(), CloseReason> {
        self.link.client.note_end();
        if !self.link.client.is_at_command() || self.link.owes_client_nothing() {
            return Err(CloseReason::ClientGone);
        }
        // Half a close for half a close; the server answers and closes.
        self.link.server.end_abruptly();
        Ok(())
    }

    /// Whether the next command waits until what a response reports of locks is settled.
    fn awaits_rows(&self) -> bool {
        let held_back = self.link.owed.back().is_some_and(Pending::is_held_back);
        self.link.client.is_at_command() && held_back
    }
}
