//! A wait as the server sees it: the session's server runs the client's statement, waiting at a gate
//! in place of the lock. So its process list shows the wait, and KILL QUERY and time limits end it.
//!
//! An open gate means nothing by itself: what the engine says decides.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use super::bare_call::CallInPacket;
use super::call_context::CallContext;
use super::reply::{empties_warnings, patch_reply, source_name};
use crate::engine::handle::Acquired;
use crate::engine::io::gatekeeper::Gate;
use crate::frontend::link::close_reason::CloseReason;
use crate::frontend::link::reply::{Reply, frames, is_end};
use crate::lock::function::Function;
use crate::protocol::capabilities::Capabilities;
use crate::protocol::column::is_definition;
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::packet;
use crate::protocol::params::READ_ONLY;
use crate::protocol::response::{Ending, PrepareOk};
use crate::protocol::status::Status;
use crate::types::Flavour;

/// A wait that is shorter is not shown: a lock that changes hands often does not pay for gates.
const DELAY: Duration = Duration::from_millis(50);
/// The pause before another attempt is longer each time.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// The gate's own timeout is longer than the wait by up to this many seconds. The timeout ends the wait only if nobody
/// can open the gate.
const MARGIN: u64 = 2;
/// The longest that both servers wait.
const YEAR: u64 = 31_536_000;

/// How a wait ended.
pub(crate) enum Waited {
    /// By the engine, and what the client is told, if the server has said it.
    Decided(Acquired, Option<Vec<u8>>),
    /// By the server, which says NULL.
    Null(Option<Vec<u8>>),
    /// By the server: its error.
    Refused(Vec<u8>),
    /// By KILL QUERY, which MySQL would answer with an error.
    Interrupted,
}

/// The statement to be shown.
pub(crate) struct WaitStatement<'a> {
    pub call: &'a CallInPacket<'a>,
    /// The column's name, where it is known already.
    pub name: Option<&'a [u8]>,
    /// A prepared statement of which the server has data that are no longer needed.
    pub stale: Option<u32>,
    /// The statement is executed with a cursor, where the server words an error in another way.
    pub cursor: bool,
    /// A statement that stands for the client's: only an error is for the client.
    pub stand_in: bool,
}

enum State {
    /// A gate is asked for then.
    Later(Instant),
    Asked(oneshot::Receiver<Option<Gate>>),
    /// The server waits there.
    Shown(Gate),
    Never,
}

/// What comes next of a wait's gate.
pub(crate) enum GateStep {
    /// Asks for a gate now.
    Due,
    /// A gate is closed for this wait; `None` if none is free.
    Closed(Option<Gate>),
}

/// One wait, and what the server knows of it.
pub(crate) struct VisibleWait<'a> {
    shown: &'a WaitStatement<'a>,
    /// Tag of the lock.
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

impl<'a> VisibleWait<'a> {
    /// A wait that begins now and, if not `once`, ends at `until`.
    pub(crate) fn new(
        shown: &'a WaitStatement<'a>,
        tag: u64,
        pure: &'a [Vec<u8>],
        once: bool,
        until: Option<Instant>,
    ) -> Self {
        let state = if once { State::Never } else { State::Later(Instant::now() + DELAY) };
        let name = shown.name.map(<[u8]>::to_vec);
        Self { shown, tag, pure, name, until, prepared: None, state, pause: FIRST_PAUSE }
    }

    /// Whether the server waits at a gate.
    pub(crate) fn is_shown(&self) -> bool {
        matches!(self.state, State::Shown(_))
    }

    /// What comes next of the wait's gate.
    pub(crate) async fn next_step(&mut self) -> GateStep {
        match &mut self.state {
            State::Later(at) => {
                sleep_until(*at).await;
                GateStep::Due
            }
            State::Asked(gate) => {
                let gate = gate.await.ok().flatten();
                self.again();
                GateStep::Closed(gate)
            }
            State::Shown(_) | State::Never => std::future::pending().await,
        }
    }

    /// The server is not to see the wait.
    pub(crate) fn never_shown(&mut self) {
        self.state = State::Never;
    }

    /// The statement that waits.
    pub(crate) fn text(&self) -> &[u8] {
        self.shown.call.text
    }

    /// The tag of the lock's gates.
    pub(crate) fn tag(&self) -> u64 {
        self.tag
    }

    /// A gate was asked for.
    pub(crate) fn asked(&mut self, gate: oneshot::Receiver<Option<Gate>>) {
        self.state = State::Asked(gate);
    }

    fn again(&mut self) {
        self.state = State::Later(Instant::now() + self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    /// The command that waits at `gate`.
    fn statement(&self, gate: &Gate, flavour: Flavour) -> Vec<u8> {
        let seconds = self.until.map_or(YEAR, |until| {
            until.saturating_duration_since(Instant::now()).as_secs().saturating_add(MARGIN)
        });
        let mut expression =
            format!("GET_LOCK({},{}", literal(gate), seconds.min(YEAR)).into_bytes();
        if flavour == Flavour::MySql {
            // MySQL sends the arguments' warnings before an error. MariaDB keeps them for the answer.
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

/// Lets the server wait at a gate.
pub(crate) async fn wait_at(
    cx: &mut CallContext<'_>,
    gate: Gate,
    wait: &mut VisibleWait<'_>,
) -> Result<(), CloseReason> {
    let WaitStatement { call, stale, .. } = wait.shown;
    if let Some(id) = stale {
        cx.server.send_hidden(&packet::reset_statement(*id))?;
    }
    if wait.name.is_none() {
        // The name is asked for first: after an error the server must not be asked.
        wait.name = source_name(cx, call).await?;
    }
    if wait.shown.cursor {
        return wait_with_cursor(cx, gate, wait).await;
    }
    let packet = wait.statement(&gate, cx.flavour());
    send_to_gate(cx, gate, &packet, wait)
}

/// Lets the server prepare and execute what is to wait.
async fn wait_with_cursor(
    cx: &mut CallContext<'_>,
    gate: Gate,
    wait: &mut VisibleWait<'_>,
) -> Result<(), CloseReason> {
    let query = wait.statement(&gate, cx.flavour());
    let text = &query[HEADER + wait.shown.call.prefix.len()..];
    let reply = cx.exchange(&packet::prepare(text)).await?;
    let Some(PrepareOk { id, .. }) = reply.prepared() else {
        wait.state = State::Never;
        return Ok(());
    };
    wait.prepared = Some(id);
    send_to_gate(cx, gate, &packet::execute(id, READ_ONLY), wait)
}

fn send_to_gate(
    cx: &mut CallContext<'_>,
    gate: Gate,
    packet: &[u8],
    wait: &mut VisibleWait<'_>,
) -> Result<(), CloseReason> {
    wait.state = State::Shown(gate);
    cx.server.send_to_gate(packet)
}

/// The server's reply to a statement that waits at a gate which nobody has opened. `None` if
/// the wait goes on.
pub(crate) async fn hear_gate(
    cx: &mut CallContext<'_>,
    reply: &Reply,
    wait: &mut VisibleWait<'_>,
) -> Result<Option<Waited>, CloseReason> {
    cx.server.note_server_used();
    if let Some(id) = wait.prepared.take() {
        cx.close_statement(id)?;
    }
    if let Ending::Err { .. } = reply.ending {
        let error = patch_reply(cx, wait.shown.call, wait.name.as_deref(), reply);
        return Ok(Some(Waited::Refused(error)));
    }
    let unsaid = wait.shown.call.bare.is_do && cx.flavour() == Flavour::MariaDb;
    let is_null = match &wait.state {
        // MariaDB says OK to a DO that it has ended.
        State::Shown(gate) if unsaid => gate.is_closed().await,
        _ => reply.row().is_some_and(|row| row == [None]),
    };
    if is_null {
        return Ok(Some(Waited::Null(tracked(cx, reply, None, wait))));
    }
    // The gatekeeper has lost its connection, or could not open it in time.
    cx.context.metrics.gate_failures.inc();
    release_gate(cx, wait)?;
    wait.again();
    Ok(None)
}

/// The engine has decided: the server is let through, and gets ready for the client's next
/// statement meanwhile. Where it reports tracked state, its reply is the client's.
pub(crate) async fn leave_gate(
    cx: &mut CallContext<'_>,
    mut wait: VisibleWait<'_>,
    acquired: &Acquired,
) -> Result<Option<Vec<u8>>, CloseReason> {
    let value = match acquired {
        Acquired::Granted(_) => Some(1),
        Acquired::NotFree | Acquired::Unproven => Some(0),
        Acquired::Failed(_) | Acquired::Deadlock => None,
    };
    if !wait.is_shown() || value.is_none() || !may_track(cx, wait.shown) {
        cx.server.owed_mut().drop_gate_reply();
        release_gate(cx, &mut wait)?;
        return Ok(None);
    }
    release_gate(cx, &mut wait)?;
    cx.settle().await?;
    let reply = cx.server.owed_mut().take_gate_reply();
    let said = reply.and_then(|reply| tracked(cx, &reply, value, &wait));
    if said.is_some() && empties_warnings(Function::GetLock, cx.flavour(), value) {
        let expression = Function::GetLock.value_expression(cx.flavour(), value, &[]);
        let verb: &[u8] = if wait.shown.call.bare.is_do { b"DO " } else { b"SELECT " };
        let text = [verb, expression.as_slice()].concat();
        cx.server.send_hidden(&packet::query(&text, cx.capabilities()))?;
    }
    Ok(said)
}

/// Whether the server may have something to report of the session's state.
fn may_track(cx: &CallContext<'_>, shown: &WaitStatement<'_>) -> bool {
    let late = shown.call.bare.is_do && !cx.capabilities().has(Capabilities::DEPRECATE_EOF);
    !shown.stand_in
        && cx.capabilities().has(Capabilities::SESSION_TRACK)
        && (late || !cx.server.status().is_plain())
}

/// The server's reply as the client's, if it reports tracked state: it reports it only once.
fn tracked(
    cx: &CallContext<'_>,
    reply: &Reply,
    value: Option<u64>,
    wait: &VisibleWait<'_>,
) -> Option<Vec<u8>> {
    let Ending::Ok { status, .. } = reply.ending else { return None };
    let WaitStatement { call, name, cursor, stand_in, .. } = *wait.shown;
    if stand_in || !status.has(Status::SESSION_STATE_CHANGED) || cursor || !wait.pure.is_empty() {
        return None;
    }
    let patched = patch_reply(cx, call, wait.name.as_deref(), reply);
    if call.bare.is_do {
        return Some(patched);
    }
    // KILL QUERY may have ended the statement in the moment of the grant.
    if value.is_some() == reply.row().is_some_and(|row| row == [None]) {
        return None;
    }
    let mut out = Vec::with_capacity(patched.len() + 8);
    for (nth, frame) in frames(&patched).enumerate() {
        let mut payload = frame[HEADER..].to_vec();
        if nth > 0 && !is_definition(&payload) && !is_end(frame) {
            if name.is_some() {
                payload = Function::GetLock.column(cx.flavour()).binary_row(value);
            } else if value == Some(0) {
                // Every character set writes 1 with this byte.
                payload.iter_mut().filter(|b| **b == b'1').for_each(|b| *b = b'0');
            }
        }
        put_frame(&mut out, frame[HEADER - 1], &payload);
    }
    Some(out)
}

/// Opens the gate, and releases it where the server took it. The session is then left as
/// a lock call of the client's kind leaves it.
fn release_gate(cx: &mut CallContext<'_>, wait: &mut VisibleWait<'_>) -> Result<(), CloseReason> {
    let State::Shown(gate) = std::mem::replace(&mut wait.state, State::Never) else {
        return Ok(());
    };
    // LIMIT overrides sql_select_limit.
    let (verb, one) = if wait.shown.call.bare.is_do { ("DO", "") } else { ("SELECT", " LIMIT 1") };
    let text = format!("{verb} RELEASE_LOCK({}){one}", literal(&gate));
    drop(gate);
    if let Some(id) = wait.prepared.take() {
        cx.close_statement(id)?;
    }
    // A statement runs as long as it waits.
    cx.server.note_server_used();
    cx.server.send_release(packet::query(text.as_bytes(), cx.capabilities()).into(), 3)
}

/// A gate's name in a statement, the same under every `collation_connection`.
fn literal(gate: &Gate) -> String {
    format!("_utf8mb4'{}'", gate.name())
}
