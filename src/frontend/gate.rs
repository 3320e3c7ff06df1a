//! A wait as the server sees it: the session's server runs the client's statement, waiting at a gate
//! in the place of the lock. So its process list shows the wait, and KILL QUERY and time limits end it.
//!
//! That the gate opened means nothing: what the engine says decides.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use super::answer::Call;
use super::ask::Reply;
use super::session::{End, Owed, Session, Whose};
use crate::engine::gates::{Gate, Gates};
use crate::engine::handle::Acquired;
use crate::protocol::command::{Command, Shape};
use crate::protocol::frame::{HEADER, put_frame};
use crate::protocol::reply::query;
use crate::protocol::response::Ending;
use crate::types::Flavour;

/// A wait that is shorter is not shown: a lock that changes hands often does not pay for gates.
const DELAY: Duration = Duration::from_millis(50);
/// Bounds of the pause before another attempt.
const PAUSE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(2));
/// The gate's own timeout is longer than the wait by this many seconds.
const MARGIN: u64 = 10;
/// The longest that both servers wait.
const YEAR: u64 = 31_536_000;

/// How a wait ended.
pub(super) enum Waited {
    /// By the engine.
    Decided(Acquired),
    /// By the server, which says NULL.
    Null,
    /// By the server: its error.
    Refused(Vec<u8>),
}

/// The statement to be shown.
pub(super) struct Shown<'a> {
    pub(super) call: &'a Call<'a>,
    /// The column's name, where it is known already.
    pub(super) name: Option<&'a [u8]>,
    /// A prepared statement of which the server has data that are no longer needed.
    pub(super) stale: Option<u32>,
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
pub(super) struct Mirror<'a> {
    shown: &'a Shown<'a>,
    /// Arguments that the server warns about.
    pure: &'a [Vec<u8>],
    name: Option<Vec<u8>>,
    until: Option<Instant>,
    state: State,
    pause: Duration,
}

impl<'a> Mirror<'a> {
    /// Of a wait that begins now and, if not `once`, ends at `until`.
    pub(super) fn new(
        shown: &'a Shown<'a>,
        pure: &'a [Vec<u8>],
        once: bool,
        until: Option<Instant>,
    ) -> Self {
        let state = if once { State::Never } else { State::Later(Instant::now() + DELAY) };
        let name = shown.name.map(<[u8]>::to_vec);
        Self { shown, pure, name, until, state, pause: PAUSE.0 }
    }

    /// Whether the server waits at a gate.
    pub(super) fn is_shown(&self) -> bool {
        matches!(self.state, State::Shown(_))
    }

    /// The next gate to wait at; `None` if there is none to be had.
    pub(super) async fn gate(&mut self, gates: &Gates) -> Option<Gate> {
        loop {
            match &mut self.state {
                State::Later(at) => {
                    sleep_until(*at).await;
                    self.state = State::Asked(gates.close_one());
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

    /// The statement, waiting at `gate`.
    fn statement(&self, gate: &Gate, session: &Session) -> Vec<u8> {
        let seconds = self.until.map_or(YEAR, |until| {
            until.saturating_duration_since(Instant::now()).as_secs().saturating_add(MARGIN)
        });
        let mut expression = format!("GET_LOCK('{}',{}", gate.name(), seconds.min(YEAR)).into_bytes();
        if session.flavour == Flavour::MySql {
            // Their warnings come in front of an error. MariaDB keeps warnings for the answer.
            for pure in self.pure {
                expression.extend_from_slice(b"+0*(");
                expression.extend_from_slice(pure);
                expression.push(b')');
            }
        }
        expression.push(b')');
        if session.flavour == Flavour::MariaDb && self.shown.call.bare.is_do {
            // To a DO that was killed it says OK.
            let text = [b"SELECT ", expression.as_slice(), b" LIMIT 1"].concat();
            return query(&text, session.capabilities);
        }
        self.shown.call.spliced(&expression)
    }
}

impl Session {
    /// Lets the server wait at a gate.
    pub(super) async fn wait_at(
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
        if mirror.name.is_none() && self.flavour == Flavour::MySql {
            // Behind an error the server must not be asked.
            mirror.name = self.source_name(call).await?;
        }
        self.catch_up()?;
        let packet = mirror.statement(&gate, self);
        mirror.state = State::Shown(gate);
        self.owed.push_back(Owed { shape: Shape::Results, whose: Whose::Gate(Vec::new()) });
        self.send_server(&packet)?;
        self.drain_to_server().await
    }

    /// The server's reply to a statement that waits at a gate which nobody has opened. `None` if
    /// the wait goes on.
    pub(super) fn at_gate(
        &mut self,
        reply: &Reply,
        mirror: &mut Mirror<'_>,
    ) -> Result<Option<Waited>, End> {
        if let Ending::Err { .. } = reply.ending {
            return Ok(Some(Waited::Refused(self.refusal(reply, mirror))));
        }
        if reply.row().is_some_and(|row| row == [None]) {
            return Ok(Some(Waited::Null));
        }
        // The gatekeeper has lost its connection.
        self.context.metrics.gate_failures.inc();
        self.release_gate(mirror)?;
        mirror.again();
        Ok(None)
    }

    /// The engine has decided: the server is let through, and gets ready for the client's next
    /// statement meanwhile.
    pub(super) fn leave_gate(&mut self, mut mirror: Mirror<'_>) -> Result<(), End> {
        self.hide_gate();
        self.release_gate(&mut mirror)
    }

    /// Nobody wants the server's reply any more.
    pub(super) fn hide_gate(&mut self) {
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
        let verb = if mirror.shown.call.bare.is_do { "DO" } else { "SELECT" };
        let text = format!("{verb} RELEASE_LOCK('{}')", gate.name());
        drop(gate);
        // A statement runs as long as it waits.
        self.server_used = Instant::now();
        self.send_hidden(&query(text.as_bytes(), self.capabilities))
    }

    /// Sends a command whose response the client does not see.
    pub(super) fn send_hidden(&mut self, packet: &[u8]) -> Result<(), End> {
        self.owed.push_back(Owed { shape: Shape::Results, whose: Whose::Hidden });
        self.send_server(packet)
    }

    /// The server's error as the client gets it.
    fn refusal(&self, reply: &Reply, mirror: &Mirror<'_>) -> Vec<u8> {
        let call = mirror.shown.call;
        if self.flavour == Flavour::MariaDb && call.bare.is_do {
            let mut out = Vec::new();
            if let Some(error) = reply.frames().last() {
                put_frame(&mut out, 1, &error[HEADER..]);
            }
            return out;
        }
        self.patched(call, mirror.name.as_deref(), reply)
    }
}
