//! A server that answers what the script says.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::super::server::{Server, Task};
use crate::frontend::link::amendments::Amendments;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::errand::{Errand, ErrandKind};
use crate::frontend::link::owed::Owed;
use crate::frontend::link::pending::Recipient;
use crate::frontend::link::question::Whose;
use crate::frontend::link::reply::Keep;
use crate::frontend::link::reply::Reply;
use crate::frontend::link::server_status::ServerStatus;
use crate::frontend::link::wait::{Interest, LinkEvent};
use crate::frontend::moves::checkout::Checkout;
use crate::frontend::pooling::pooled::Pooled;
use crate::frontend::shared::context::Context;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::command::Command;
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::reader::put_lenenc_bytes;
use crate::protocol::reply::ErrorReply;
use crate::protocol::response::Ending;
use crate::protocol::status::Status;
use crate::types::ProxyId;

/// OK without rows.
pub(crate) fn ok() -> Reply {
    let status = Status(Status::AUTOCOMMIT);
    let mut bytes = Vec::new();
    put_frame(&mut bytes, 1, &[0, 0, 0, 2, 0, 0, 0]);
    Reply { bytes, ending: Ending::Ok { status, warnings: 0 } }
}

/// An error.
pub(crate) fn error(code: u16) -> Reply {
    let mut bytes = Vec::new();
    let error = ErrorReply { code, state: "HY000", message: "as scripted".to_owned() };
    error.encode(&mut bytes, 1, false);
    Reply { bytes, ending: Ending::Err { code } }
}

/// One row of text values.
pub(crate) fn row(values: &[Option<&str>]) -> Reply {
    let mut bytes = Vec::new();
    put_frame(&mut bytes, 1, &[u8::try_from(values.len()).expect("few columns")]);
    let mut seq = 2;
    for _ in values {
        let definition = b"\x03def\0\0\0\x01x\0\x0c\x2d\0\x01\0\0\0\x08\x81\0\0\0\0";
        put_frame(&mut bytes, seq, definition);
        seq += 1;
    }
    let mut row = Vec::new();
    for value in values {
        match value {
            Some(value) => put_lenenc_bytes(&mut row, value.as_bytes()),
            None => row.push(0xfb),
        }
    }
    put_frame(&mut bytes, seq, &row);
    put_frame(&mut bytes, seq + 1, &[0xfe, 0, 0, 2, 0, 0, 0]);
    let status = Status(Status::AUTOCOMMIT);
    Reply { bytes, ending: Ending::Ok { status, warnings: 0 } }
}

/// A server whose last response has said these status flags.
pub(super) fn said(flags: u16) -> ServerStatus {
    let mut status = ServerStatus::new();
    status.note(Ending::Ok { status: Status(flags), warnings: 0 });
    status
}

/// Answers what the script says, in its order, and writes down what it was told.
pub(crate) struct ScriptedServer {
    pub(super) script: VecDeque<(String, Reply)>,
    /// Packets in order: the result of each, and its text.
    pub(crate) told: Vec<String>,
    /// What the client was sent.
    pub(crate) client: Vec<u8>,
    pub(crate) capabilities: Capabilities,
    pub(super) status: ServerStatus,
    pub(crate) events: VecDeque<LinkEvent>,
    pub(super) owed: Owed,
    pub(super) amendments: Amendments,
    pub(super) pooled: Pooled,
    pub(crate) known_since: Option<Duration>,
}

impl ScriptedServer {
    /// The server's last response has said these status flags.
    pub(crate) fn say(&mut self, flags: u16) {
        self.status = said(flags);
    }

    /// The script's answer to what was asked last.
    fn answer(&mut self) -> Reply {
        let asked = self.told.last().cloned().unwrap_or_default();
        let (expected, reply) = self
            .script
            .pop_front()
            .unwrap_or_else(|| panic!("the script has no more answers, to {asked}"));
        assert!(asked.contains(&expected), "asked {asked}, the script says {expected}");
        reply
    }

    fn note(&mut self, what: &str, packet: &[u8]) {
        let payload = &packet[HEADER..];
        let text = match payload.first().map(|b| Command(*b)) {
            Some(Command::QUERY) => String::from_utf8_lossy(&payload[1..]).into_owned(),
            Some(Command::STMT_PREPARE) => {
                format!("PREPARE {}", String::from_utf8_lossy(&payload[1..]))
            }
            Some(command) => command.label().to_owned(),
            None => String::new(),
        };
        self.told.push(format!("{what}: {text}"));
    }
}

impl Server for ScriptedServer {
    fn owed(&self) -> &Owed {
        &self.owed
    }

    fn owed_mut(&mut self) -> &mut Owed {
        &mut self.owed
    }

    fn amendments(&mut self) -> &mut Amendments {
        &mut self.amendments
    }

    fn pooled(&self) -> &Pooled {
        &self.pooled
    }

    fn pooled_mut(&mut self) -> &mut Pooled {
        &mut self.pooled
    }

    fn tell_diagnostics(&mut self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn answers_for(&self, _: ProxyId) -> bool {
        true
    }

    fn check_in(&mut self) -> Errand<'_, ()> {
        Errand::new(ErrandKind::GiveBack, async { Ok(()) })
    }

    fn check_out<'a>(&'a mut self, _: &'a Context) -> Errand<'a, Checkout> {
        Errand::new(ErrandKind::HandOver, async { Ok(Checkout::Here) })
    }

    fn exchange<'a>(&'a mut self, packet: &'a [u8], _: Keep) -> Errand<'a, Reply> {
        self.note("ask", packet);
        let reply = self.answer();
        Errand::new(ErrandKind::Statement, async move { Ok(reply) })
    }

    fn question<'a>(&'a mut self, packet: &'a [u8]) -> Errand<'a, Reply> {
        self.exchange(packet, Keep::All)
    }

    fn exchange_unseen(&mut self, packets: Vec<Vec<u8>>, _: bool, _: Whose) -> Errand<'_, Reply> {
        for packet in &packets {
            self.note("unseen", packet);
        }
        let reply = self.answer();
        Errand::new(ErrandKind::Fence, async move { Ok(reply) })
    }

    fn keep_diagnostics(&mut self) -> Errand<'_, ()> {
        Errand::new(ErrandKind::Question, async { Ok(()) })
    }

    fn exchange_prepare<'a>(&'a mut self, packet: &'a [u8]) -> Errand<'a, Reply> {
        self.exchange(packet, Keep::All)
    }

    fn bring(&mut self, _: u32) -> Errand<'_, ()> {
        Errand::new(ErrandKind::Prepare, async { Ok(()) })
    }

    fn next(&mut self, _: Interest) -> Task<'_, Result<LinkEvent, CloseReason>> {
        match self.events.pop_front() {
            Some(event) => Box::pin(async move { Ok(event) }),
            None => Box::pin(std::future::pending()),
        }
    }

    fn hear_server(&mut self) -> Result<(), CloseReason> {
        Ok(())
    }

    fn read_ahead(&mut self) -> Result<(), CloseReason> {
        Err(CloseReason::ClientGone)
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn status(&self) -> ServerStatus {
        self.status
    }

    fn server_used(&self) -> Instant {
        Instant::now()
    }

    fn note_server_used(&mut self) {}

    fn known_since(&self) -> Option<Duration> {
        self.known_since
    }

    fn note_known(&mut self, at: Duration) {
        self.known_since = Some(at);
    }

    fn settle(&mut self) -> Errand<'_, ()> {
        Errand::new(ErrandKind::Settle, async { Ok(()) })
    }

    fn has_unread_command(&self) -> bool {
        false
    }

    fn send_client(&mut self, bytes: &[u8]) -> Result<(), CloseReason> {
        self.client.extend_from_slice(bytes);
        Ok(())
    }

    fn send_results(&mut self, bytes: &[u8]) -> Result<(), CloseReason> {
        self.send_client(bytes)
    }

    fn forward(&mut self, packet: &[u8], _: Recipient) -> Result<(), CloseReason> {
        self.note("forward", packet);
        Ok(())
    }

    fn send_unanswered(&mut self, packet: &[u8]) -> Result<(), CloseReason> {
        self.note("send", packet);
        Ok(())
    }

    fn send_hidden(&mut self, packet: &[u8]) -> Result<(), CloseReason> {
        self.note("hidden", packet);
        Ok(())
    }

    fn send_release(&mut self, packet: Box<[u8]>, _: u8) -> Result<(), CloseReason> {
        self.note("release", &packet);
        Ok(())
    }

    fn send_to_gate(&mut self, packet: &[u8]) -> Result<(), CloseReason> {
        self.note("gate", packet);
        Ok(())
    }

    fn replay_skipped(&mut self) -> Result<(), CloseReason> {
        for text in self.owed.skipped().take() {
            self.told.push(format!("replay: {text}"));
        }
        Ok(())
    }

    fn bound_silence(&mut self) {}
}
