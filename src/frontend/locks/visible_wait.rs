//! A wait as the server sees it: the session's server runs the client's statement, waiting at a gate
//! in the place of the lock. So its process list shows the wait, and KILL QUERY and time limits end it.
//!
//! That the gate opened means nothing: what the engine says decides.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use super::reply::{Call, empties_warnings};
use crate::engine::handle::Acquired;
use crate::engine::io::gatekeeper::{Gate, Gates};
use crate::frontend::link::pending::{Owed, Whose};
use crate::frontend::link::server_query::{Reply, frames, is_end};
use crate::frontend::prepared::cursor;
use crate::frontend::session::{End, Session};
use crate::lock::function::Function;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::column::is_definition;
use crate::protocol::command::{Command, Shape};
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::reply::query;
use crate::protocol::response::{Ending, PrepareOk};
use crate::protocol::status::Status;
use crate::types::Flavour;

/// A wait that is shorter is not shown: a lock that changes hands often does not pay for gates.
const DELAY: Duration = Duration::from_millis(50);
/// Bounds of the pause before another attempt.
const PAUSE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(2));
/// The gate's own timeout is longer than the wait by up to this many seconds. It matters when
/// nobody can open the gate.
const MARGIN: u64 = 2;
/// The longest that both servers wait.
const YEAR: u64 = 31_536_000;

/// How a wait ended.
pub(in crate::frontend) enum Waited {
    /// By the engine, and what the client is told, if the server has said it.
    Decided(Acquired, Option<Vec<u8>>),
    /// By the server, which says NULL.
    Null(Option<Vec<u8>>),
    /// By the server: its error.
    Refused(Vec<u8>),
}

/// The statement to be shown.
pub(in crate::frontend) struct Shown<'a> {
    pub(in crate::frontend) call: &'a Call<'a>,
    /// The column's name, where it is known already.
    pub(in crate::frontend) name: Option<&'a [u8]>,
    /// A prepared statement of which the server has data that are no longer needed.
    pub(in crate::frontend) stale: Option<u32>,
    /// It is executed with a cursor, where the server words an error in another way.
    pub(in crate::frontend) cursor: bool,
    /// It is not the client's statement, but stands for it: only an error is for the client.
    pub(in crate::frontend) stand_in: bool,
}

enum State {
    /// A gate is asked for then.
    Later(Instant),
    Asked(oneshot::Receiver<Option<Gate>>),
    /// The server waits there.
    Shown(Gate),
    Never,
}

/// One wait, and what the server knows of it.
pub(in crate::frontend) struct Mirror<'a> {
    shown: &'a Shown<'a>,
    /// Of the lock.
    tag: u64,
    /// Arguments that the server warns about.
    pure: &'a [Vec<u8>],
    name: Option<Vec<u8>>,
    until: Option<Instant>,
    /// The prepared statement that waits, if it is one.
    prepared: Option<u32>,
    state: State,
    pause: Duration,
}

impl<'a> Mirror<'a> {
    /// Of a wait that begins now and, if not `once`, ends at `until`.
    pub(in crate::frontend) fn new(
        shown: &'a Shown<'a>,
        tag: u64,
        pure: &'a [Vec<u8>],
        once: bool,
        until: Option<Instant>,
    ) -> Self {
        let state = if once { State::Never } else { State::Later(Instant::now() + DELAY) };
        let name = shown.name.map(<[u8]>::to_vec);
        Self { shown, tag, pure, name, until, prepared: None, state, pause: PAUSE.0 }
    }

    /// Whether the server waits at a gate.
    pub(in crate::frontend) fn is_shown(&self) -> bool {
        matches!(self.state, State::Shown(_))
    }

    /// The next gate to wait at; `None` if there is none to be had.
    pub(in crate::frontend) async fn gate(&mut self, gates: &Gates) -> Option<Gate> {
        loop {
            match &mut self.state {
                State::Later(at) => {
                    sleep_until(*at).await;
                    self.state = State::Asked(gates.close_one(self.tag));
                }
                State::Asked(gate) => {
                    let gate = gate.await.ok().flatten();
                    self.again();
                    return gate;
                }
                State::Shown(_) | State::Never => std::future::pending().await,
            }
        }
    }

    fn again(&mut self) {
        self.state = State::Later(Instant::now() + self.pause);
        self.pause = (self.pause * 2).min(PAUSE.1);
    }

    /// The command that waits at `gate`.
    fn statement(&self, gate: &Gate, session: &Session) -> Vec<u8> {
        let seconds = self.until.map_or(YEAR, |until| {
            until.saturating_duration_since(Instant::now()).as_secs().saturating_add(MARGIN)
        });
        let mut expression =
            format!("GET_LOCK({},{}", literal(gate), seconds.min(YEAR)).into_bytes();
        if session.flavour == Flavour::MySql {
            // Their warnings come in front of an error. MariaDB keeps warnings for the answer.
            for pure in self.pure {
                expression.extend_from_slice(b"+0*(");
                expression.extend_from_slice(pure);
                expression.push(b')');
            }
        }
        expression.push(b')');
        self.shown.call.spliced(&expression)
    }
}

impl Session {
    /// Lets the server wait at a gate.
    pub(in crate::frontend) async fn wait_at(
        &mut self,
        gate: Gate,
        mirror: &mut Mirror<'_>,
    ) -> Result<(), End> {
        let Shown { call, stale, .. } = mirror.shown;
        if let Some(id) = stale {
            let payload = [&[Command::STMT_RESET.0][..], &id.to_le_bytes()].concat();
            let mut packet = Vec::new();
            put_frame(&mut packet, 0, &payload);
            self.send_hidden(&packet)?;
        }
        if mirror.name.is_none() {
            // Behind an error the server must not be asked.
            mirror.name = self.source_name(call).await?;
        }
        if mirror.shown.cursor {
            return self.wait_with_cursor(gate, mirror).await;
        }
        let packet = mirror.statement(&gate, self);
        self.send_to_gate(gate, &packet, mirror)
    }

    /// Lets the server prepare and execute what is to wait.
    async fn wait_with_cursor(&mut self, gate: Gate, mirror: &mut Mirror<'_>) -> Result<(), End> {
        let query = mirror.statement(&gate, self);
        let text = &query[HEADER + mirror.shown.call.prefix.len()..];
        let mut packet = Vec::new();
        put_frame(&mut packet, 0, &[&[Command::STMT_PREPARE.0], text].concat());
        let reply = self.exchange(&packet, Shape::Prepare).await?;
        let prepared = reply.frames().next().and_then(|f| PrepareOk::parse(&f[HEADER..]));
        let Some(PrepareOk { id, .. }) = prepared else {
            mirror.state = State::Never;
            return Ok(());
        };
        mirror.prepared = Some(id);
        let payload =
            [&[Command::STMT_EXECUTE.0][..], &id.to_le_bytes(), &[cursor::READ_ONLY, 1, 0, 0, 0]];
        let mut packet = Vec::new();
        put_frame(&mut packet, 0, &payload.concat());
        self.send_to_gate(gate, &packet, mirror)
    }

    fn send_to_gate(
        &mut self,
        gate: Gate,
        packet: &[u8],
        mirror: &mut Mirror<'_>,
    ) -> Result<(), End> {
        self.catch_up()?;
        mirror.state = State::Shown(gate);
        self.owed.push_back(Owed::new(Shape::Results, Whose::Gate(Vec::new())));
        self.send_server(packet)
    }

    /// The server's reply to a statement that waits at a gate which nobody has opened. `None` if
    /// the wait goes on.
    pub(in crate::frontend) async fn at_gate(
        &mut self,
        reply: &Reply,
        mirror: &mut Mirror<'_>,
    ) -> Result<Option<Waited>, End> {
        self.server_used = Instant::now();
        if let Some(id) = mirror.prepared.take() {
            self.close_statement(id)?;
        }
        if let Ending::Err { .. } = reply.ending {
            let error = self.patched(mirror.shown.call, mirror.name.as_deref(), reply);
            return Ok(Some(Waited::Refused(error)));
        }
        let unsaid = mirror.shown.call.bare.is_do && self.flavour == Flavour::MariaDb;
        let is_null = match &mirror.state {
            // MariaDB says OK to a DO that it has ended.
            State::Shown(gate) if unsaid => gate.is_closed().await,
            _ => reply.row().is_some_and(|row| row == [None]),
        };
        if is_null {
            return Ok(Some(Waited::Null(self.tracked(reply, None, mirror))));
        }
        // The gatekeeper has lost its connection, or could not open it in time.
        self.context.metrics.gate_failures.inc();
        self.release_gate(mirror)?;
        mirror.again();
        Ok(None)
    }

    /// The engine has decided: the server is let through, and gets ready for the client's next
    /// statement meanwhile. Where it tells of tracked state, its reply is the client's.
    pub(in crate::frontend) async fn leave_gate(
        &mut self,
        mut mirror: Mirror<'_>,
        acquired: &Acquired,
    ) -> Result<Option<Vec<u8>>, End> {
        let value = match acquired {
            Acquired::Granted(_) => Some(1),
            Acquired::NotFree => Some(0),
            Acquired::Failed(_) | Acquired::Deadlock => None,
        };
        if !mirror.is_shown() || value.is_none() || !self.may_track(mirror.shown) {
            self.hide_gate();
            self.release_gate(&mut mirror)?;
            return Ok(None);
        }
        self.release_gate(&mut mirror)?;
        self.settle_owed().await?;
        let reply = self.at_gate.take();
        let said = reply.and_then(|reply| self.tracked(&reply, value, &mirror));
        if said.is_some() && empties_warnings(Function::GetLock, self.flavour, value) {
            let expression = Function::GetLock.value_expression(self.flavour, value, &[]);
            let verb: &[u8] = if mirror.shown.call.bare.is_do { b"DO " } else { b"SELECT " };
            let text = [verb, expression.as_slice()].concat();
            self.send_hidden(&query(&text, self.capabilities))?;
        }
        Ok(said)
    }

    /// Whether the server may have something to tell of the session's state.
    fn may_track(&self, shown: &Shown<'_>) -> bool {
        let late = shown.call.bare.is_do && !self.capabilities.has(Capabilities::DEPRECATE_EOF);
        !shown.stand_in
            && self.capabilities.has(Capabilities::SESSION_TRACK)
            && (late || !self.status_is_plain())
    }

    /// The server's reply as the client's, if it tells of tracked state: it tells it only once.
    fn tracked(&self, reply: &Reply, value: Option<u64>, mirror: &Mirror<'_>) -> Option<Vec<u8>> {
        let Ending::Ok { status, .. } = reply.ending else { return None };
        let Shown { call, name, cursor, stand_in, .. } = *mirror.shown;
        if stand_in
            || !status.has(Status::SESSION_STATE_CHANGED)
            || cursor
            || !mirror.pure.is_empty()
        {
            return None;
        }
        let patched = self.patched(call, mirror.name.as_deref(), reply);
        if call.bare.is_do {
            return Some(patched);
        }
        // It may have been killed in the moment of the grant.
        if value.is_some() == reply.row().is_some_and(|row| row == [None]) {
            return None;
        }
        let mut out = Vec::with_capacity(patched.len() + 8);
        for (nth, frame) in frames(&patched).enumerate() {
            let mut payload = frame[HEADER..].to_vec();
            if nth > 0 && !is_definition(&payload) && !is_end(frame) {
                if name.is_some() {
                    payload = Function::GetLock.column(self.flavour).binary_row(value);
                } else if value == Some(0) {
                    // Whatever the character set, it opened with 1.
                    payload.iter_mut().filter(|b| **b == b'1').for_each(|b| *b = b'0');
                }
            }
            put_frame(&mut out, frame[HEADER - 1], &payload);
        }
        Some(out)
    }

    /// Nobody wants the server's reply any more.
    pub(in crate::frontend) fn hide_gate(&mut self) {
        self.at_gate = None;
        for owed in &mut self.owed {
            if matches!(owed.whose, Whose::Gate(_)) {
                owed.whose = Whose::Hidden;
            }
        }
    }

    /// Opens the gate, and releases it where the server took it. What a statement of the client's
    /// kind leaves behind in the session is then as behind a lock call.
    fn release_gate(&mut self, mirror: &mut Mirror<'_>) -> Result<(), End> {
        let State::Shown(gate) = std::mem::replace(&mut mirror.state, State::Never) else {
            return Ok(());
        };
        // Whatever sql_select_limit says.
        let (verb, one) =
            if mirror.shown.call.bare.is_do { ("DO", "") } else { ("SELECT", " LIMIT 1") };
        let text = format!("{verb} RELEASE_LOCK({}){one}", literal(&gate));
        drop(gate);
        if let Some(id) = mirror.prepared.take() {
            self.close_statement(id)?;
        }
        // A statement runs as long as it waits.
        self.server_used = Instant::now();
        self.send_release(query(text.as_bytes(), self.capabilities).into(), 3)
    }

    /// Sends the release of a gate, which is repeated if it fails.
    pub(in crate::frontend) fn send_release(
        &mut self,
        packet: Box<[u8]>,
        again: u8,
    ) -> Result<(), End> {
        self.send_server(&packet)?;
        let whose = Whose::Release(packet, again);
        self.owed.push_back(Owed::new(Shape::Results, whose));
        Ok(())
    }

    /// Sends a command whose response the client does not see.
    pub(in crate::frontend) fn send_hidden(&mut self, packet: &[u8]) -> Result<(), End> {
        self.owed.push_back(Owed::new(Shape::Results, Whose::Hidden));
        self.send_server(packet)
    }
}

/// A gate's name in a statement, the same under every `collation_connection`.
fn literal(gate: &Gate) -> String {
    format!("_utf8mb4'{}'", gate.name())
}
