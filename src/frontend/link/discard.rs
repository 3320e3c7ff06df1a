//! Packets of prepared lock calls that are too long to be held back.
//!
//! A name of that length is refused by every server, so the packet may go there as it is. Anything
//! else is not looked at: the client hears that it is too long.

use super::relay::Fate;
use crate::frontend::prepared::dispatch::{MAX_NAME, too_long};
use crate::frontend::session::{ClientState, End, Session};
use crate::net::buffers::BUFFER;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::Command;
use crate::protocol::frame::{FrameHeader, HEADER};
use crate::protocol::params::first_value;

/// The types of all parameters stand within this many bytes, or are not looked for.
const HEAD: usize = 4096;

/// A packet that is read to its end and not forwarded.
#[derive(Debug, Clone, Copy)]
pub(in crate::frontend) struct Dropped {
    /// The prepared statement.
    id: u32,
    command: Command,
    left: usize,
    continued: bool,
    /// Sequence id of the last frame.
    seq: u8,
}

impl Session {
    /// Decides about a long packet for a prepared lock call.
    pub(in crate::frontend) fn oversized(&mut self, id: u32, bytes: &[u8]) -> Result<Fate, End> {
        if bytes.len() < HEAD.min(BUFFER) {
            return Ok(Fate::Incomplete);
        }
        let payload = &bytes[HEADER..];
        match Command(payload[0]) {
            Command::STMT_SEND_LONG_DATA => {
                let index = usize::from(u16::from_le_bytes([payload[5], payload[6]]));
                self.long_data_beyond_limit(id, index);
                Ok(Fate::Forward(None))
            }
            Command::STMT_EXECUTE if self.has_too_long_a_name(id, payload) => {
                Ok(Fate::Forward(None))
            }
            Command::STMT_EXECUTE | Command::MARIADB_BULK_EXECUTE => Ok(Fate::Drop(id)),
            _ => Err(End::Broken("a long packet for a prepared statement")),
        }
    }

    fn has_too_long_a_name(&mut self, id: u32, payload: &[u8]) -> bool {
        let attributes = self.capabilities.has(Capabilities::QUERY_ATTRIBUTES);
        let Some(statement) = self.lock_statement(id) else {
            return false;
        };
        if !statement.name_is_sent_with_execution() {
            return false;
        }
        match first_value(payload, statement.params(), attributes) {
            Some((types, length)) if length > MAX_NAME => {
                statement.run_by_server(types);
                true
            }
            _ => false,
        }
    }

    /// Starts to drop the packet at the start of `bytes`. Returns the bytes of its head.
    pub(in crate::frontend) fn start_dropping(&mut self, id: u32, bytes: &[u8]) -> usize {
        let Some(frame) = FrameHeader::peek(bytes) else {
            return 0;
        };
        let command = Command(bytes.get(HEADER).copied().unwrap_or(0));
        let (left, continued, seq) = (frame.len, frame.continued(), frame.seq);
        self.client_state = ClientState::Dropped(Dropped { id, command, left, continued, seq });
        HEADER
    }

    /// Drops bytes; none when a frame's header is not all there.
    pub(in crate::frontend) fn drop_body(&mut self, bytes: &[u8]) -> usize {
        let ClientState::Dropped(dropped) = &mut self.client_state else {
            return 0;
        };
        let mut n = dropped.left.min(bytes.len());
        dropped.left -= n;
        if dropped.left == 0 && dropped.continued {
            let Some(frame) = FrameHeader::peek(&bytes[n..]) else {
                return n;
            };
            n += HEADER;
            (dropped.left, dropped.continued, dropped.seq) =
                (frame.len, frame.continued(), frame.seq);
        }
        if dropped.left == 0 && !dropped.continued {
            // Answered in its turn.
            self.refused = Some(*dropped);
            self.parked = true;
            self.client_state = ClientState::Command;
        }
        n
    }

    /// Answers what was dropped.
    pub(in crate::frontend) async fn refuse_dropped(
        &mut self,
        dropped: Dropped,
    ) -> Result<(), End> {
        self.context.commands[usize::from(dropped.command.0)].inc();
        let text = self.statements.get(&dropped.id).map(|s| s.text.clone()).unwrap_or_default();
        self.note_unsupported("a long packet for a prepared lock call", &text, false);
        self.forget_long_data(dropped.id).await?;
        let mut out = Vec::new();
        too_long(dropped.command).encode(&mut out, dropped.seq.wrapping_add(1), false);
        self.send_client(&out)
    }
}
