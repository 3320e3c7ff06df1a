//! Gates: locks of the server's own that one connection, the gatekeeper, holds. While a client
//! waits, its server session waits at a gate, so that the server shows the wait and can end it.
//!
//! A gate says nothing about the lock that the client waits for: that is for its row to say. If
//! the gatekeeper's connection is lost, the server opens all gates; the waits go on.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::link::{StoreAccess, StoreLink};
use crate::lock::name::Key;
use crate::store::connection::StoreError;
use crate::store::identity::Thread;

/// How the names of gates begin. The last sixteen letters are the lock's tag.
pub const PREFIX: &str = "lockstead_gate_";
/// Gates that may be closed at once; further waits go on without.
const MOST: usize = 4096;
/// Gates that one statement closes and opens.
const AT_ONCE: usize = 256;
/// Pause before another attempt to end a gatekeeper that does not answer.
const RETRY: Duration = Duration::from_secs(1);

/// Requests to the gatekeeper.
#[derive(Debug)]
enum GateRequest {
    Close(u64, oneshot::Sender<Option<Gate>>),
    Open(Box<str>),
    Check(Box<str>, oneshot::Sender<bool>),
}

/// A handle to the gatekeeper, cheap to clone.
#[derive(Debug, Clone)]
pub struct Gates {
    requests: mpsc::UnboundedSender<GateRequest>,
    schema: Arc<str>,
}

/// A closed gate, which opens when it is dropped.
#[derive(Debug)]
pub struct Gate {
    name: Box<str>,
    gates: Gates,
}

impl Gates {
    /// The tag of a lock's gates.
    pub fn tag(&self, key: &Key) -> u64 {
        key.tag(&self.schema)
    }

    /// Asks for a closed gate with a lock's tag; none comes if there cannot be one now.
    pub fn close_one(&self, tag: u64) -> oneshot::Receiver<Option<Gate>> {
        let (reply, gate) = oneshot::channel();
        // A dropped request drops its reply.
        let _ = self.requests.send(GateRequest::Close(tag, reply));
        gate
    }
}

impl Gate {
    /// Whether it is closed still.
    pub async fn is_closed(&self) -> bool {
        let (reply, closed) = oneshot::channel();
        let _ = self.gates.requests.send(GateRequest::Check(self.name.clone(), reply));
        closed.await.unwrap_or(false)
    }

    /// The lock's name at the server: a plain word.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let _ = self.gates.requests.send(GateRequest::Open(std::mem::take(&mut self.name)));
    }
}

/// Without a gatekeeper: no gate is ever given.
pub(in crate::engine) fn none() -> Gates {
    Gates { requests: mpsc::unbounded_channel().0, schema: "".into() }
}

/// Starts the gatekeeper on this thread's runtime.
pub(in crate::engine) fn start(access: Arc<StoreAccess>) -> Gates {
    let (requests, inbox) = mpsc::unbounded_channel();
    let gates = Gates { requests, schema: access.url.schema.as_str().into() };
    let link = StoreLink::new(Arc::clone(&access));
    let keeper = Gatekeeper {
        link,
        access,
        gates: gates.clone(),
        closed: HashSet::new(),
        lost: None,
        complained: false,
    };
    tokio::spawn(keeper.run(inbox));
    gates
}

/// Requests for the next statement.
#[derive(Default)]
struct GateWork {
    close: Vec<(u64, oneshot::Sender<Option<Gate>>)>,
    check: Vec<(Box<str>, oneshot::Sender<bool>)>,
    open: Vec<Box<str>>,
}

impl GateWork {
    fn len(&self) -> usize {
        self.close.len() + self.check.len() + self.open.len()
    }
}

struct Gatekeeper {
    link: StoreLink,
    access: Arc<StoreAccess>,
    gates: Gates,
    closed: HashSet<Box<str>>,
    /// A connection that failed, as id and run of the server: it may hold gates still.
    lost: Option<Thread>,
    /// The server's refusal was logged.
    complained: bool,
}

impl Gatekeeper {
    async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<GateRequest>) {
        loop {
            // Sessions may wait at gates of a lost connection, which no request can open.
            let patience = if self.lost.is_some() { RETRY } else { Duration::MAX };
            let Ok(first) = timeout(patience, inbox.recv()).await else {
                let _ = self.connect().await;
                continue;
            };
            let Some(first) = first else { return };
            let mut work = GateWork::default();
            self.sort(first, &mut work);
            // Requests that came meanwhile go into the same statement.
            while work.len() < AT_ONCE
                && let Ok(next) = inbox.try_recv()
            {
                self.sort(next, &mut work);
            }
            self.carry_out(work).await;
            #[expect(clippy::cast_possible_wrap, reason = "at most MOST")]
            self.access.metrics.gates.set(self.closed.len() as i64);
        }
    }

    fn sort(&self, request: GateRequest, work: &mut GateWork) {
        match request {
            GateRequest::Close(_, reply) if reply.is_closed() => {}
            GateRequest::Close(_, reply) if self.closed.len() + work.close.len() >= MOST => {
                let _ = reply.send(None);
            }
            GateRequest::Close(tag, reply) => work.close.push((tag, reply)),
            GateRequest::Open(gate) if self.closed.contains(&gate) => work.open.push(gate),
            GateRequest::Check(gate, reply) if self.closed.contains(&gate) => {
                work.check.push((gate, reply));
            }
            // Gates of a lost connection are open; a dropped reply says so.
            GateRequest::Open(_) | GateRequest::Check(..) => {}
        }
    }

    async fn carry_out(&mut self, mut work: GateWork) {
        if work.len() == 0 {
            return;
        }
        let names: Vec<Box<str>> = work.close.iter().map(|(tag, _)| fresh_name(*tag)).collect();
        let mut result = self.turn(&names, &work).await;
        if self.lost.is_some() && result.is_err() {
            // An idle connection is seen to be dead only by using it.
            work.open.clear();
            work.check.clear();
            result = self.turn(&names, &work).await;
        }
        for gate in &work.open {
            self.closed.remove(gate);
        }
        let mut held = result.unwrap_or_default().into_iter().chain(std::iter::repeat(false));
        for (((_, reply), name), held) in work.close.into_iter().zip(names).zip(&mut held) {
            // If its session has stopped waiting, it is dropped here, and opens.
            let gate = held.then(|| {
                self.closed.insert(name.clone());
                Gate { name, gates: self.gates.clone() }
            });
            let _ = reply.send(gate);
        }
        for ((_, reply), held) in work.check.into_iter().zip(held) {
            let _ = reply.send(held);
        }
    }

    /// Runs one statement. When its connection breaks, all gates are open, or soon will be.
    async fn turn(&mut self, close: &[Box<str>], work: &GateWork) -> Result<Vec<bool>, StoreError> {
        self.connect().await?;
        if work.len() == 0 {
            return Ok(Vec::new());
        }
        let conn = self.link.get().await?;
        let this = conn.thread();
        let close: Vec<&str> = close.iter().map(|gate| &**gate).collect();
        let check: Vec<&str> = work.check.iter().map(|(gate, _)| &**gate).collect();
        let open: Vec<&str> = work.open.iter().map(|gate| &**gate).collect();
        let result = conn.turn_gates(&close, &check, &open).await;
        self.link.note_result(&result);
        if let Err(e) = &result {
            if !std::mem::replace(&mut self.complained, true) {
                let gates = self.closed.len();
                tracing::warn!(error = %e, gates, "waits are not shown to the server at the moment");
            }
            // The gates that it holds go with it.
            self.link.drop_connection();
            self.lost = Some(this);
            self.closed.clear();
        } else {
            self.complained = false;
        }
        result
    }

    /// Connects; the connection before this one is ended, in case the server still has it.
    async fn connect(&mut self) -> Result<(), StoreError> {
        let conn = self.link.get().await?;
        let Some(lost) = &self.lost else { return Ok(()) };
        if lost.is_beside(&conn.thread()) {
            let killed = conn.kill(lost.id).await;
            self.link.note_result(&killed);
            killed?;
        }
        self.lost = None;
        Ok(())
    }
}

/// A unique name, as long as names may be. The digits at the end are the tag of the lock that is waited for.
fn fresh_name(tag: u64) -> Box<str> {
    format!("{PREFIX}{:032x}_{tag:016x}", rand::random::<u128>()).into()
}
