//! One administrator's connection after its login: commands one by one.

use std::io;
use std::sync::Arc;

use tokio::time::timeout;

use super::accounts::AdminRole;
use super::command;
use super::connection_slots::ConnectionSlots;
use super::control::{Caller, Control};
use super::limits::{ANSWER, IDLE};
use super::login::{Entered, read, say};
use super::reply::AdminReply;
use super::table::{AdminTable, Cell, ColumnKind, NOTES};
use crate::protocol::command::Command;
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::reply::{ErrorReply, put_ok};
use crate::protocol::serve::put_result_set;
use crate::protocol::status::Status;

/// Serves a connection to its end.
pub(super) async fn serve(
    entered: Entered,
    control: Control,
    slots: Arc<ConnectionSlots>,
) -> io::Result<()> {
    let mut connection = Connection { entered, control, slots, notes: Vec::new() };
    while let Ok(packet) = timeout(IDLE, read(&mut *connection.entered.stream)).await {
        let next = match packet {
            Ok(packet) => connection.answer(&packet).await?,
            Err(e) if e.kind() == io::ErrorKind::InvalidData => connection.too_long().await?,
            Err(e) => return Err(e),
        };
        if next == AfterAnswer::Close {
            break;
        }
    }
    Ok(())
}

/// What follows an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AfterAnswer {
    /// The next command.
    Listen,
    /// The end of the connection.
    Close,
}

struct Connection {
    entered: Entered,
    control: Control,
    slots: Arc<ConnectionSlots>,
    /// The warnings of the answer before, for SHOW WARNINGS.
    notes: Vec<String>,
}

impl Connection {
    /// Answers a command.
    async fn answer(&mut self, frame: &[u8]) -> io::Result<AfterAnswer> {
        let payload = &frame[HEADER..];
        let mut out = Vec::new();
        self.slots.count_command();
        match payload.first().map(|byte| Command(*byte)) {
            Some(Command::QUIT) => return Ok(AfterAnswer::Close),
            Some(Command::PING | Command::INIT_DB | Command::RESET_CONNECTION) => {
                put_ok(&mut out, 1, Status(Status::AUTOCOMMIT));
            }
            Some(Command::STATISTICS) => put_frame(&mut out, 1, self.slots.statistics().as_bytes()),
            Some(Command::QUERY) => match std::str::from_utf8(&payload[1..]) {
                Ok(text) => self.query(text, &mut out).await,
                Err(_) => wrong(&mut out, 1300, "the command is not UTF-8 text"),
            },
            Some(Command::STMT_PREPARE) => {
                wrong(&mut out, 1295, "Lockstead's commands cannot be prepared");
            }
            _ => wrong(&mut out, 1047, "Unknown command"),
        }
        self.say(&out).await?;
        Ok(AfterAnswer::Listen)
    }

    /// ER_NET_PACKET_TOO_LARGE, and the end, as at a server.
    async fn too_long(&mut self) -> io::Result<AfterAnswer> {
        let mut out = Vec::new();
        let message = "Got a packet bigger than 'max_allowed_packet' bytes".to_owned();
        ErrorReply { code: 1153, state: "08S01", message }.encode(&mut out, 1, false);
        self.say(&out).await?;
        Ok(AfterAnswer::Close)
    }

    /// Fails if the client does not take it in time.
    async fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        timeout(ANSWER, say(&mut *self.entered.stream, bytes)).await?
    }

    async fn query(&mut self, text: &str, out: &mut Vec<u8>) {
        let command = match command::parse(text) {
            Ok(command) => command,
            Err(problem) => return wrong(out, 1064, &problem),
        };
        let acts = command.acts();
        let notes = std::mem::take(&mut self.notes);
        let who = &self.entered.who;
        let reply = if acts && who.role != AdminRole::Operator {
            Err(no_operator())
        } else {
            self.control.run(command, &Caller { who, notes: &notes }).await
        };
        if acts {
            let result = match &reply {
                Ok(AdminReply::Did(_, what)) => what,
                Ok(_) => "done",
                Err(e) => &e.message,
            };
            tracing::info!(target: "lockstead::audit", who = who.name, command = text.trim(), result, "administration");
        }
        match reply {
            Ok(AdminReply::Done | AdminReply::Did(None, _)) => {
                put_ok(out, 1, Status(Status::AUTOCOMMIT));
            }
            Ok(AdminReply::Rows(table) | AdminReply::Did(Some(table), _)) => {
                self.notes.extend(table.notes());
                self.put(&table, out);
            }
            Ok(AdminReply::Notes) => {
                self.put(&AdminTable::of(NOTES, told(&notes)), out);
                self.notes = notes;
            }
            Ok(AdminReply::Values(values)) => {
                let kind = |cell: &Cell| match cell {
                    Cell::Number(_) => ColumnKind::Number,
                    _ => ColumnKind::Text,
                };
                let columns: Vec<_> =
                    values.iter().map(|(name, cell)| (name.as_str(), kind(cell))).collect();
                let row: Vec<_> = values.iter().map(|(_, cell)| cell.written()).collect();
                let row = row.iter().map(Option::as_deref).collect();
                put_result_set(out, &columns, std::iter::once(row), self.entered.capabilities, 0);
                self.notes = notes;
            }
            Err(error) => error.encode(out, 1, false),
        }
    }

    fn put(&self, table: &AdminTable, out: &mut Vec<u8>) {
        let written: Vec<Vec<_>> =
            table.rows.iter().map(|row| row.iter().map(Cell::written).collect()).collect();
        let rows = written.iter().map(|row| row.iter().map(Option::as_deref).collect());
        let warnings = u16::from(table.cut) + u16::from(table.old.is_some());
        put_result_set(out, table.columns, rows, self.entered.capabilities, warnings);
    }
}

fn told(notes: &[String]) -> Vec<Vec<Cell>> {
    let note = |note: &String| {
        vec![Cell::Text("Note".to_owned()), Cell::Number(1105), Cell::Text(note.clone())]
    };
    notes.iter().map(note).collect()
}

/// ER_SPECIFIC_ACCESS_DENIED_ERROR.
fn no_operator() -> ErrorReply {
    let message = "Access denied; you need the role operator for this operation".to_owned();
    ErrorReply { code: 1227, state: "42000", message }
}

fn wrong(out: &mut Vec<u8>, code: u16, message: &str) {
    let state = if code == 1064 { "42000" } else { "HY000" };
    ErrorReply { code, state, message: message.to_owned() }.encode(out, 1, false);
}
