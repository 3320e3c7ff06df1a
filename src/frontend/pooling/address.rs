//! Commands for a session's prepared statements, as its connection to the server must hear them.

use super::statement::Carried;
use super::statements::{Awaited, CarriedStatements, LATEST};
use crate::protocol::command::Command;
use crate::protocol::frame::{FrameHeader, HEADER, MAX_PAYLOAD};
use crate::protocol::packet;
use crate::protocol::params::{TypesBound, wants_cursor};
use crate::protocol::statement_ids::Naming;

/// An id that no server gives.
const NONE: u32 = u32::MAX - 1;
/// Where the id begins and ends in a packet.
const ID: std::ops::Range<usize> = HEADER + 1..HEADER + 5;

/// What the response to a command is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Addressed {
    /// How it calls its statement.
    pub told: Naming,
    /// The statement, if the response may end its cursor.
    pub statement: Option<(u32, Awaited)>,
}

/// The command and the id of a packet for a prepared statement, if both are there.
pub(crate) fn statement_of(packet: &[u8]) -> Option<(Command, u32)> {
    let command = Command(*packet.get(HEADER)?);
    let whole = FrameHeader::peek(packet)?.len >= ID.end - HEADER;
    let id = packet.get(ID).filter(|_| whole && command.is_for_statement())?;
    Some((command, u32::from_le_bytes([id[0], id[1], id[2], id[3]])))
}

/// Bytes that an execution must get inserted, since it binds no types and the connection does not know them: where,
/// which, and the flag that says so.
fn missing_types(
    carried: &Carried,
    payload: &[u8],
    attributes: bool,
) -> Option<(usize, Vec<u8>, (usize, u8))> {
    let types = carried.types.as_ref().filter(|types| !types.is_empty() && !carried.types_here)?;
    let bound = types_bound(payload, carried.params, attributes)?;
    match bound {
        TypesBound::Here(_) => None,
        // Attributes that are not bound: the server refuses them.
        TypesBound::Before { count, .. } if count > types.len() => None,
        TypesBound::Before { flag, at, .. } => Some((at, bound.encode(types, attributes), flag)),
    }
}

fn types_bound(payload: &[u8], params: usize, attributes: bool) -> Option<TypesBound> {
    if Command(*payload.first()?) == Command::MARIADB_BULK_EXECUTE {
        TypesBound::of_bulk(payload, params)
    } else {
        TypesBound::of_execution(payload, params, attributes)
    }
}

impl CarriedStatements {
    /// Whether an execution, of which at least the beginning is there, is too long to get the types inserted that it
    /// does not bind.
    pub(super) fn lacks_room_for_types(&self, packet: &[u8], attributes: bool) -> bool {
        let Some((_, id)) = statement_of(packet) else { return false };
        let carried = self.get(self.meant(id));
        let missing = carried.and_then(|c| missing_types(c, &packet[HEADER..], attributes));
        let len = FrameHeader::peek(packet).map_or(0, |frame| frame.len);
        missing.is_some_and(|(_, types, _)| len + types.len() >= MAX_PAYLOAD)
    }

    /// Changes a command for a prepared statement into one for the session's connection, and notes what it does to the
    /// statement. The packet begins at `at`; at least its head is there. `None`: it is another command.
    pub(super) fn address(
        &mut self,
        bytes: &mut Vec<u8>,
        at: usize,
        attributes: bool,
    ) -> Option<Addressed> {
        let (command, said) = statement_of(&bytes[at..])?;
        let id = self.meant(said);
        let here = self.get(id).and_then(|carried| carried.here);
        let alone = FrameHeader::peek(&bytes[at..]).is_some_and(|f| HEADER + f.len == ID.end);
        if command == Command::STMT_RESET && alone && here.is_none() && self.get(id).is_some() {
            // There is nothing to be reset, but an answer is due.
            self.take_refusal(id, false);
            bytes.splice(at..at + ID.end, packet::ping());
            return Some(Addressed { told: Naming::Session, statement: None });
        }
        let known = self.get(id).is_some() || command == Command::STMT_CLOSE;
        let sent = match here {
            Some(server) => server,
            // The connection's last one is another one's.
            None if known || said == LATEST || self.is_taken(said) => NONE,
            None => said,
        };
        bytes[at + ID.start..at + ID.end].copy_from_slice(&sent.to_le_bytes());
        let executes = matches!(command, Command::STMT_EXECUTE | Command::MARIADB_BULK_EXECUTE);
        let changed = executes && self.tells_change(id);
        let about = |asked: Option<Awaited>| Addressed {
            told: if sent == said && !changed {
                Naming::Session
            } else {
                Naming::Renamed { sent, said, changed }
            },
            statement: asked.map(|asked| (id, asked)),
        };
        Some(match command {
            Command::STMT_CLOSE => {
                self.remove(id);
                about(None)
            }
            Command::STMT_RESET => {
                self.change(id, |carried| (carried.long_data, carried.cursor) = (false, false));
                about(None)
            }
            Command::STMT_SEND_LONG_DATA => {
                self.change(id, |carried| carried.long_data = true);
                about(None)
            }
            Command::STMT_FETCH => about(Some(Awaited::Rows)),
            _ => {
                self.change(id, |carried| execution(carried, bytes, at, attributes));
                about(Some(Awaited::Execution))
            }
        })
    }
}

/// An execution: binds the types that the connection does not know.
fn execution(carried: &mut Carried, bytes: &mut Vec<u8>, at: usize, attributes: bool) {
    let payload = &bytes[at + HEADER..];
    let single = Command(payload[0]) == Command::STMT_EXECUTE;
    carried.long_data = false;
    carried.cursor = single && payload.get(5).is_some_and(|flags| wants_cursor(*flags));
    if carried.params == 0 {
        return;
    }
    match types_bound(payload, carried.params, attributes) {
        Some(TypesBound::Here(mut types)) => {
            types.truncate(carried.params);
            (carried.types, carried.types_here) = (Some(types.into()), true);
        }
        Some(TypesBound::Before { .. }) => {
            if let Some((place, types, (flag, value))) = missing_types(carried, payload, attributes)
            {
                let place = at + HEADER + place;
                bytes[at + HEADER + flag] = value;
                bytes.splice(place..place, types.iter().copied());
                let len = FrameHeader::peek(&bytes[at..]).map_or(0, |frame| frame.len);
                let [a, b, c, ..] = (len + types.len()).to_le_bytes();
                bytes[at..at + 3].copy_from_slice(&[a, b, c]);
                carried.types_here = true;
            }
        }
        // Broken, or longer than what is looked at.
        None => (carried.types, carried.types_here) = (None, true),
    }
}
