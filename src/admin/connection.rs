//! One administrator's connection, behind its login: commands one by one.

use std::io;
use std::sync::Arc;

use tokio::time::timeout;

use super::accounts::Role;
use super::command;
use super::connection_slots::Desk;
use super::control::{Asker, Control, Reply};
use super::login::{Entered, read, say};
use super::table::{Cell, Kind, NOTES, Table};
use super::{ANSWER, IDLE};
use crate::protocol::command::Command as Byte;
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::reply::{ErrorReply, put_ok};
use crate::protocol::serve::put_result_set;
use crate::protocol::status::Status;

/// Serves a connection to its end.
pub(super) async fn serve(entered: Entered, control: Control, desk: Arc<Desk>) -> io::Result<()> {
    let mut connection = Connection { entered, control, desk, notes: Vec::new() };
    while let Ok(packet) = timeout(IDLE, read(&mut *connection.entered.stream)).await {
        let goes_on = match packet {
            Ok(packet) => connection.answer(&packet).await?,
            Err(e) if e.kind() == io::ErrorKind::InvalidData => connection.too_long().await?,
            Err(e) => return Err(e),
        };
        if !goes_on {
            break;
        }
    }
    Ok(())
}

struct Connection {
    entered: Entered,
    control: Control,
    desk: Arc<Desk>,
    /// What SHOW WARNINGS tells of the answer before.
    notes: Vec<String>,
}

impl Connection {
    /// Answers a command. False when it was the last.
    async fn answer(&mut self, frame: &[u8]) -> io::Result<bool> {
        let payload = &frame[HEADER..];
        let mut out = Vec::new();
        self.desk.asked();
        match payload.first().map(|byte| Byte(*byte)) {
            Some(Byte::QUIT) => return Ok(false),
            Some(Byte::PING | Byte::INIT_DB | Byte::RESET_CONNECTION) => {
                put_ok(&mut out, 1, Status(Status::AUTOCOMMIT));
            }
            Some(Byte::STATISTICS) => put_frame(&mut out, 1, self.desk.statistics().as_bytes()),
            Some(Byte::QUERY) => match std::str::from_utf8(&payload[1..]) {
                Ok(text) => self.query(text, &mut out).await,
                Err(_) => wrong(&mut out, 1300, "the command is no text in UTF-8"),
            },
            Some(Byte::STMT_PREPARE) => {
                wrong(&mut out, 1295, "commands of Lockstead's cannot be prepared");
            }
            _ => wrong(&mut out, 1047, "Unknown command"),
        }
        self.say(&out).await?;
        Ok(true)
    }

    /// ER_NET_PACKET_TOO_LARGE, and the end, as at a server.
    async fn too_long(&mut self) -> io::Result<bool> {
        let mut out = Vec::new();
        let message = "Got a packet bigger than 'max_allowed_packet' bytes".to_owned();
        ErrorReply { code: 1153, state: "08S01", message }.encode(&mut out, 1, false);
        self.say(&out).await?;
        Ok(false)
    }

    /// To a client that listens.
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
        let reply = if acts && who.role != Role::Operator {
            Err(no_operator())
        } else {
            self.control.run(command, &Asker { who, notes: &notes }).await
        };
        if acts {
            let result = match &reply {
                Ok(Reply::Did(_, what)) => what,
                Ok(_) => "done",
                Err(e) => &e.message,
            };
            tracing::info!(target: "lockstead::audit", who = who.name, command = text.trim(), result, "administration");
        }
        match reply {
            Ok(Reply::Done | Reply::Did(None, _)) => put_ok(out, 1, Status(Status::AUTOCOMMIT)),
            Ok(Reply::Rows(table) | Reply::Did(Some(table), _)) => {
                self.notes.extend(table.notes());
                self.put(&table, out);
            }
            Ok(Reply::Notes) => {
                self.put(&Table { columns: NOTES, cut: false, old: None, rows: told(&notes) }, out);
                self.notes = notes;
            }
            Ok(Reply::Values(values)) => {
                let kind = |cell: &Cell| match cell {
                    Cell::Number(_) => Kind::Number,
                    _ => Kind::Text,
                };
                let columns: Vec<_> =
                    values.iter().map(|(name, cell)| (name.as_str(), kind(cell))).collect();
                let row: Vec<_> = values.iter().map(|(_, cell)| cell.written()).collect();
                let row = row.iter().map(Option::as_deref).collect();
                put_result_set(out, &columns, std::iter::once(row), (self.entered.capabilities, 0));
                self.notes = notes;
            }
            Err(error) => error.encode(out, 1, false),
        }
    }

    fn put(&self, table: &Table, out: &mut Vec<u8>) {
        let written: Vec<Vec<_>> =
            table.rows.iter().map(|row| row.iter().map(Cell::written).collect()).collect();
        let rows = written.iter().map(|row| row.iter().map(Option::as_deref).collect());
        let warnings = u16::from(table.cut) + u16::from(table.old.is_some());
        put_result_set(out, table.columns, rows, (self.entered.capabilities, warnings));
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
