//! One administrator's connection.
//!
//! A login first, of which only the form matters, then commands one by one.

use std::io;

use rand::RngExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::command;
use super::control::{Control, Reply};
use super::table::{Cell, Kind, Table};
use super::{IDLE, LOGIN, MAX_COMMAND, VERSION};
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::Command as Byte;
use crate::protocol::frame::{FrameHeader, HEADER, put_frame};
use crate::protocol::handshake::Login;
use crate::protocol::reply::{ErrorReply, put_ok};
use crate::protocol::serve::{OFFERED, PLUGIN, greeting, put_result_set};
use crate::protocol::status::Status;

/// ER_ACCESS_DENIED_ERROR for a user of the operating system.
pub(super) fn not_allowed(uid: u32) -> ErrorReply {
    let message = format!(
        "Access denied: user id {uid} of this machine is neither root nor the one that Lockstead runs as"
    );
    ErrorReply { code: 1045, state: "28000", message }
}

/// Serves a connection to its end; only tells the reason if it is refused.
pub(super) async fn serve(
    stream: UnixStream,
    uid: u32,
    control: Control,
    refusal: Option<ErrorReply>,
) -> io::Result<()> {
    let mut connection = Connection { stream, uid, control, capabilities: Capabilities::default() };
    if let Some(refusal) = refusal {
        let mut out = Vec::new();
        refusal.encode(&mut out, 0, true);
        return connection.stream.write_all(&out).await;
    }
    timeout(LOGIN, connection.log_in()).await??;
    while let Ok(packet) = timeout(IDLE, connection.read()).await {
        if !connection.answer(&packet?).await? {
            break;
        }
    }
    Ok(())
}

struct Connection {
    stream: UnixStream,
    uid: u32,
    control: Control,
    capabilities: Capabilities,
}

impl Connection {
    async fn log_in(&mut self) -> io::Result<()> {
        let nonce = std::array::from_fn(|_| rand::rng().random_range(1..=127));
        let id = rand::rng().random_range(1..=u32::MAX >> 1);
        let mut out = Vec::new();
        put_frame(&mut out, 0, &greeting(VERSION, id, &nonce));
        self.stream.write_all(&out).await?;
        let frame = self.read().await?;
        let login = Login::parse(&frame[HEADER..]).ok_or(io::ErrorKind::InvalidData)?;
        self.capabilities = login.capabilities.both(OFFERED);
        let mut seq = frame[HEADER - 1].wrapping_add(1);
        let mut out = Vec::new();
        // Who proves a password waits for the word that the proof is good. A zero byte is none.
        if login.plugin == PLUGIN.as_bytes() && !matches!(login.proof, [] | [0]) {
            put_frame(&mut out, seq, &[1, 3]);
            seq = seq.wrapping_add(1);
        }
        put_ok(&mut out, seq, Status(Status::AUTOCOMMIT));
        self.stream.write_all(&out).await
    }

    /// The next packet, header included.
    async fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut frame = vec![0; HEADER];
        self.stream.read_exact(&mut frame).await?;
        let header = FrameHeader::peek(&frame).ok_or(io::ErrorKind::InvalidData)?;
        if header.len > MAX_COMMAND {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a command that is too long"));
        }
        frame.resize(HEADER + header.len, 0);
        self.stream.read_exact(&mut frame[HEADER..]).await?;
        Ok(frame)
    }

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
                Err(_) => refuse(&mut out, 1300, "the command is no text in UTF-8"),
            },
            Some(Byte::STMT_PREPARE) => {
                refuse(&mut out, 1295, "commands of Lockstead's cannot be prepared");
            }
            _ => refuse(&mut out, 1047, "Unknown command"),
        }
        self.stream.write_all(&out).await?;
        Ok(true)
    }

    async fn query(&mut self, text: &str, out: &mut Vec<u8>) {
        let command = match command::parse(text) {
            Ok(command) => command,
            Err(problem) => return refuse(out, 1064, &problem),
        };
        let acts = command.acts();
        let reply = self.control.run(command, &format!("uid {}", self.uid)).await;
        if acts {
            let result = reply.as_ref().map_or_else(|e| e.message.clone(), |_| "done".to_owned());
            tracing::info!(target: "lockstead::audit", uid = self.uid, command = text.trim(), result, "administration");
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
                put_result_set(out, &columns, std::iter::once(row), self.capabilities);
            }
            Err(error) => error.encode(out, 1, false),
        }
    }

    fn put(&self, table: &Table, out: &mut Vec<u8>) {
        let written: Vec<Vec<_>> =
            table.rows.iter().map(|row| row.iter().map(Cell::written).collect()).collect();
        let rows = written.iter().map(|row| row.iter().map(Option::as_deref).collect());
        put_result_set(out, table.columns, rows, self.capabilities);
    }
}

fn refuse(out: &mut Vec<u8>, code: u16, message: &str) {
    let state = if code == 1064 { "42000" } else { "HY000" };
    ErrorReply { code, state, message: message.to_owned() }.encode(out, 1, false);
}
