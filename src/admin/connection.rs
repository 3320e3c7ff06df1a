//! One administrator's connection, behind its login: commands one by one.

use std::io;

use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use super::accounts::Role;
use super::command;
use super::control::{Control, Reply};
use super::login::{Door, Entered, Stream, enter, read};
use super::table::{Cell, Kind, Table};
use super::{IDLE, LOGIN};
use crate::protocol::command::Command as Byte;
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::reply::{ErrorReply, put_ok};
use crate::protocol::serve::put_result_set;
use crate::protocol::status::Status;

/// Serves a connection to its end.
pub(super) async fn serve(stream: Box<dyn Stream>, door: Door, control: Control) -> io::Result<()> {
    let entered = timeout(LOGIN, enter(stream, door)).await??;
    let mut connection = Connection { entered, control };
    while let Ok(packet) = timeout(IDLE, read(&mut *connection.entered.stream)).await {
        if !connection.answer(&packet?).await? {
            break;
        }
    }
    Ok(())
}

/// Only tells why it is refused, in the place of a greeting.
pub(super) async fn refuse(mut stream: impl Stream, refusal: &ErrorReply) -> io::Result<()> {
    let mut out = Vec::new();
    refusal.encode(&mut out, 0, true);
    stream.write_all(&out).await
}

struct Connection {
    entered: Entered,
    control: Control,
}

impl Connection {
    /// Answers a command. False when it was the last.
    async fn answer(&mut self, frame: &[u8]) -> io::Result<bool> {
        let payload = &frame[HEADER..];
        let mut out = Vec::new();
        match payload.first().map(|byte| Byte(*byte)) {
            Some(Byte::QUIT) => return Ok(false),
            Some(Byte::PING | Byte::INIT_DB | Byte::RESET_CONNECTION) => {
                put_ok(&mut out, 1, Status(Status::AUTOCOMMIT));
            }
            Some(Byte::STATISTICS) => put_frame(&mut out, 1, b"Lockstead"),
            Some(Byte::QUERY) => match std::str::from_utf8(&payload[1..]) {
                Ok(text) => self.query(text, &mut out).await,
                Err(_) => wrong(&mut out, 1300, "the command is no text in UTF-8"),
            },
            Some(Byte::STMT_PREPARE) => {
                wrong(&mut out, 1295, "commands of Lockstead's cannot be prepared");
            }
            _ => wrong(&mut out, 1047, "Unknown command"),
        }
        self.entered.stream.write_all(&out).await?;
        Ok(true)
    }

    async fn query(&mut self, text: &str, out: &mut Vec<u8>) {
        let command = match command::parse(text) {
            Ok(command) => command,
            Err(problem) => return wrong(out, 1064, &problem),
        };
        let acts = command.acts();
        let who = &self.entered.who;
        let reply = if acts && who.role != Role::Operator {
            Err(no_operator())
        } else {
            self.control.run(command, &who.name).await
        };
        if acts {
            let result = reply.as_ref().map_or_else(|e| e.message.clone(), |_| "done".to_owned());
            tracing::info!(target: "lockstead::audit", who = who.name, command = text.trim(), result, "administration");
        }
        match reply {
            Ok(Reply::Done) => put_ok(out, 1, Status(Status::AUTOCOMMIT)),
            Ok(Reply::Rows(table)) => self.put(&table, out),
            Ok(Reply::Values(values)) => {
                let kind = |cell: &Cell| match cell {
                    Cell::Number(_) => Kind::Number,
                    _ => Kind::Text,
                };
                let columns: Vec<_> =
                    values.iter().map(|(name, cell)| (name.as_str(), kind(cell))).collect();
                let row: Vec<_> = values.iter().map(|(_, cell)| cell.written()).collect();
                let row = row.iter().map(Option::as_deref).collect();
                put_result_set(out, &columns, std::iter::once(row), self.entered.capabilities);
            }
            Err(error) => error.encode(out, 1, false),
        }
    }

    fn put(&self, table: &Table, out: &mut Vec<u8>) {
        let written: Vec<Vec<_>> =
            table.rows.iter().map(|row| row.iter().map(Cell::written).collect()).collect();
        let rows = written.iter().map(|row| row.iter().map(Option::as_deref).collect());
        put_result_set(out, table.columns, rows, self.entered.capabilities);
    }
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
