//! Lock calls in prepared statements.
//!
//! The server prepares the statement itself, so metadata, errors and ids are its own; only its
//! execution is the proxy's.

use std::sync::Arc;

use super::cursor;
use super::execute_call::{Execution, Length};
use super::execute_statement::{Bound, Values};
use super::store::{Calls, LockStatement};
use crate::frontend::session::{End, Session};
use crate::lock::codes;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::{Command, Shape};
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::params::Execute;
use crate::protocol::reader::Reader;
use crate::protocol::reply::ErrorReply;
use crate::sql::expression::composite::Verb;

/// No server takes a name of more bytes, in whatever character set.
pub(in crate::frontend) const MAX_NAME: u64 = 1024;

pub(in crate::frontend) const LONG_PARAMETERS: &str =
    "parameters of a lock call longer than 64 KiB";

/// The refusal of an execution that is too long to be looked at.
pub(in crate::frontend) fn too_long(command: Command) -> ErrorReply {
    codes::unsupported(if command == Command::MARIADB_BULK_EXECUTE {
        "a lock call in a bulk execution"
    } else {
        LONG_PARAMETERS
    })
}

impl Session {
    /// A prepared lock call.
    pub(in crate::frontend) fn lock_statement(&mut self, id: u32) -> Option<&mut LockStatement> {
        let id = self.meant(id);
        self.statements.get_mut(&id)
    }

    /// Long data that is not kept came for a parameter.
    pub(in crate::frontend) fn long_data_beyond_limit(&mut self, id: u32, index: usize) {
        if let Some(statement) = self.lock_statement(id) {
            statement.keep_long_data(index, &[], 0);
            if index < statement.params && !statement.beyond.contains(&index) {
                statement.beyond.push(index);
            }
        }
    }

    /// Forgets the long data of an execution that the server does not see.
    pub(in crate::frontend) async fn forget_long_data(&mut self, id: u32) -> Result<(), End> {
        if self.lock_statement(id).is_some_and(LockStatement::forget_long_data) {
            self.reset_statement(self.meant(id)).await?;
        }
        Ok(())
    }

    /// Whether a statement id is that of a lock call.
    pub(in crate::frontend) fn is_lock_statement(&self, id: u32) -> bool {
        self.statements.contains_key(&self.meant(id))
    }

    /// The statement an id means: MariaDB's clients execute "the one prepared last" as −1.
    pub(in crate::frontend) fn meant(&self, id: u32) -> u32 {
        self.last_prepared.filter(|_| id == u32::MAX).unwrap_or(id)
    }

    /// EXECUTE, SEND_LONG_DATA, RESET, CLOSE and FETCH of a prepared lock call.
    pub(in crate::frontend) async fn prepared_command(
        &mut self,
        packet: Vec<u8>,
    ) -> Result<(), End> {
        let payload = &packet[HEADER..];
        let mut r = Reader::new(payload);
        let (Some(byte), Some(id)) = (r.u8(), r.u32()) else {
            return self.forward(&packet);
        };
        let id = self.meant(id);
        if matches!(
            Command(byte),
            Command::STMT_CLOSE | Command::STMT_RESET | Command::STMT_EXECUTE
        ) {
            let stand_in = self.statements.get_mut(&id).and_then(|s| s.stand_in.take());
            stand_in.map_or(Ok(()), |id| self.close_statement(id))?;
        }
        match Command(byte) {
            Command::STMT_CLOSE => {
                self.statements.remove(&id);
                self.forward(&packet)
            }
            Command::STMT_RESET => {
                if let Some(statement) = self.statements.get_mut(&id) {
                    statement.forget_long_data();
                    statement.cursor = None;
                }
                self.forward(&packet)
            }
            Command::STMT_SEND_LONG_DATA => {
                let room = self.room();
                if let (Some(statement), Some(index)) = (self.statements.get_mut(&id), r.u16()) {
                    statement.keep_long_data(usize::from(index), r.rest(), room);
                }
                // The server gets it too: a call that turns out to be its own needs it.
                self.forward(&packet)
            }
            Command::STMT_FETCH => {
                if let Some(stand_in) = self.statements.get(&id).and_then(|s| s.stand_in) {
                    let mut packet = packet;
                    packet[HEADER + 1..HEADER + 5].copy_from_slice(&stand_in.to_le_bytes());
                    self.fetching = Some(id);
                    return self.forward(&packet);
                }
                let cursor = self.statements.get(&id).and_then(|s| s.cursor);
                match (cursor, r.u32()) {
                    (Some(cursor), Some(rows)) => self.fetch(id, cursor, rows),
                    _ => self.forward(&packet),
                }
            }
            Command::STMT_EXECUTE => self.execute(id, packet).await,
            Command::MARIADB_BULK_EXECUTE if self.only_lists(id) => self.forward(&packet),
            Command::MARIADB_BULK_EXECUTE => {
                let text = self.statements.get(&id).map(|s| s.text.clone()).unwrap_or_default();
                self.take_in_hand(&packet, &text);
                self.unsupported("a lock call in a bulk execution")
            }
            _ => self.forward(&packet),
        }
    }

    async fn execute(&mut self, id: u32, packet: Vec<u8>) -> Result<(), End> {
        let attributes = self.capabilities.has(Capabilities::QUERY_ATTRIBUTES);
        let Some(statement) = self.statements.get_mut(&id) else {
            return self.forward(&packet);
        };
        if std::mem::take(&mut statement.refused_data) {
            return self.forward(&packet);
        }
        if statement.no_room {
            self.count(Command::STMT_EXECUTE);
            self.forget_long_data(id).await?;
            return self.refuse(&self.no_room());
        }
        if Execute::has_too_few(&packet[HEADER..], statement.params, attributes) {
            return self.forward(&packet);
        }
        // Servers forgive other mistakes than the proxy, so this is not theirs to judge: it could
        // take a lock there.
        let Some(execute) = Execute::parse(
            &packet[HEADER..],
            statement.params,
            &statement.types,
            &statement.long_data,
            attributes,
        ) else {
            self.count(Command::STMT_EXECUTE);
            self.forget_long_data(id).await?;
            return self.refuse(&codes::unreadable(self.flavour));
        };
        let as_it_stands = as_it_stands(&execute, &packet, attributes);
        let name_beyond = statement.first_is_the_name() && statement.beyond.contains(&0);
        let beyond = !statement.beyond.is_empty();
        let long = statement.forget_long_data();
        statement.cursor = None;
        let stale = std::mem::replace(&mut statement.server_cursor, false);
        statement.types.clone_from(&execute.types);
        let text = statement.text.clone();
        let stale = (long || stale).then_some(id);
        match &statement.calls {
            Calls::Bare(bare) => {
                let (bare, name) = (bare.clone(), statement.name.clone());
                let execution = Execution { id, text, name, bare, stale, as_it_stands };
                let length = match (beyond, name_beyond) {
                    (_, true) => Length::LongName,
                    (true, false) => Length::Long,
                    (false, false) => Length::Known,
                };
                self.execute_bare(execution, &execute, length).await
            }
            Calls::Composite(composite, columns) => {
                let (composite, columns) = (Arc::clone(composite), Arc::clone(columns));
                let surroundings = statement.surroundings.clone();
                self.take_in_hand(&as_it_stands, &text);
                // Of a DO, MySQL would show what is run in its place.
                let cursor = cursor::wanted(execute.flags) && composite.verb != Verb::Do;
                let values = Values { payload: &packet[HEADER..], execute: &execute, cursor };
                let bound = Bound {
                    id,
                    text: &text,
                    composite: &composite,
                    columns: &columns,
                    surroundings,
                    stale,
                };
                if self.passes(&bound, beyond).await? {
                    if let Some(statement) = self.statements.get_mut(&id) {
                        statement.server_cursor = cursor::wanted(execute.flags);
                    }
                    return self.forward(&as_it_stands);
                }
                Box::pin(self.composite_bound(&bound, &values, beyond)).await
            }
        }
    }

    /// The server keeps long data, and its cursor, until an execution that never comes.
    pub(in crate::frontend) async fn reset_statement(&mut self, id: u32) -> Result<(), End> {
        let mut packet = Vec::new();
        let payload = [&[Command::STMT_RESET.0][..], &id.to_le_bytes()].concat();
        put_frame(&mut packet, 0, &payload);
        self.exchange(&packet, Shape::Results).await.map(|_| ())
    }

    /// Catches up before a question whose reply the client sees.
    pub(in crate::frontend) async fn settle_behind(&mut self) -> Result<(), End> {
        self.catch_up()?;
        self.settle_owed().await
    }
}

/// The packet of an execution for a server that has not seen the one that bound the types.
fn as_it_stands(execute: &Execute, packet: &[u8], attributes: bool) -> Vec<u8> {
    let Some(payload) = execute.with_types(&packet[HEADER..], attributes) else {
        return packet.to_vec();
    };
    let mut packet = Vec::with_capacity(payload.len() + HEADER);
    put_frame(&mut packet, 0, &payload);
    packet
}
