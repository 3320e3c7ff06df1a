//! Which server is the writer now: each connect asks here.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::choice::{Choice, choose};
use super::greetings::{Greetings, RouteMark};
use super::guarantee::Guarantee;
use super::heard::{Heard, ProbeAnswer, ServerState};
use super::membership::has_left;
use crate::config::{HostPort, ServerAddress};
use crate::metrics::GaugeGuard;

/// None of the servers.
const NOBODY: usize = usize::MAX;

/// Which of a cluster's servers is the writer. Copies speak of the same cluster.
#[derive(Debug, Clone)]
pub struct Writer(Arc<WriterInner>);

#[derive(Debug)]
struct WriterInner {
    servers: Vec<ServerAddress>,
    /// Connections that wait for a greeting, by server.
    greetings: Vec<Greetings>,
    board: Mutex<Board>,
    /// The writer's place, for a look without a lock.
    now: AtomicUsize,
    /// The place of the last writer.
    last: AtomicUsize,
    changes: AtomicU64,
    /// Counts changes of anything that is known.
    news: watch::Sender<u64>,
}

#[derive(Debug)]
struct Board {
    heard: Vec<Heard>,
    rivals: Vec<usize>,
    awaited: Option<String>,
}

impl Board {
    fn states(&self) -> Vec<&ServerState> {
        self.heard.iter().map(|heard| &heard.state).collect()
    }
}

/// One of a cluster's servers, as the end of a connection.
#[derive(Debug, Clone)]
pub struct Destination {
    writer: Writer,
    server: usize,
    /// Counts a session that is to be at another server than the writer; `None`: it is to be at the writer.
    at_replica: Option<Arc<GaugeGuard>>,
}

impl Destination {
    /// Addresses of the server.
    pub fn address(&self) -> &ServerAddress {
        &self.writer.0.servers[self.server]
    }

    /// Where sessions of clients connect.
    pub fn backend(&self) -> &HostPort {
        &self.address().backend
    }

    /// Connections that wait for its greeting.
    pub fn greetings(&self) -> &Greetings {
        &self.writer.0.greetings[self.server]
    }

    /// Where connections to the lock tables go.
    pub fn store(&self) -> &HostPort {
        &self.address().store
    }

    /// Whether it is to be another server than the writer.
    pub fn is_replica(&self) -> bool {
        self.at_replica.is_some()
    }

    /// Whether another server is the writer now. While none is known, connections stay. Of one to a replica: whether the
    /// server takes writes now, as the writer or by itself.
    pub fn is_left(&self) -> bool {
        if self.is_replica() {
            return self.writer.shown()[self.server].ends_reading();
        }
        let now = self.writer.0.now.load(Ordering::SeqCst);
        now != NOBODY && now != self.server
    }

    /// Waits until [`Self::is_left`].
    pub async fn left(&self) {
        let mut news = self.writer.0.news.subscribe();
        while !self.is_left() {
            self.writer.heard(&mut news).await;
        }
    }

    /// Waits until it is not known to be the writer.
    pub async fn doubted(&self) {
        let mut news = self.writer.0.news.subscribe();
        while self.writer.0.now.load(Ordering::SeqCst) == self.server {
            self.writer.heard(&mut news).await;
        }
    }
}

/// A server as administrators are shown it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownServer {
    /// Addresses of the server.
    pub address: ServerAddress,
    /// The server is the writer.
    pub writer: bool,
    /// The server is not the writer, and sessions may read there.
    pub replica: bool,
    /// What is known of the server; `None` where nobody asks, since it is the only one.
    pub state: Option<ServerState>,
}

impl ShownServer {
    /// Whether sessions have to leave it that are to be at another server than the writer: they could change something there.
    pub fn ends_reading(&self) -> bool {
        self.writer || self.state.as_ref().is_some_and(ServerState::takes_writes_alone)
    }
}

impl Writer {
    /// Of these servers. A single one is the writer, whatever it says; of several none is known yet.
    pub fn among(servers: Vec<ServerAddress>) -> Self {
        let heard = servers.iter().map(|_| Heard::nothing()).collect();
        let now = if servers.len() == 1 { 0 } else { NOBODY };
        let mark = RouteMark::random();
        Self(Arc::new(WriterInner {
            greetings: servers.iter().map(|_| Greetings::new(mark)).collect(),
            servers,
            board: Mutex::new(Board { heard, rivals: Vec::new(), awaited: None }),
            now: AtomicUsize::new(now),
            last: AtomicUsize::new(now),
            changes: AtomicU64::new(0),
            news: watch::Sender::new(0),
        }))
    }

    /// All servers.
    pub fn servers(&self) -> &[ServerAddress] {
        &self.0.servers
    }

    /// The addresses of all.
    pub fn all(&self) -> String {
        let all: Vec<String> = self.0.servers.iter().map(|s| s.backend.to_string()).collect();
        all.join(", ")
    }

    /// Whether there are several.
    pub fn is_chosen(&self) -> bool {
        self.0.servers.len() > 1
    }

    fn at(&self, server: usize) -> Option<Destination> {
        (server != NOBODY).then(|| Destination { writer: self.clone(), server, at_replica: None })
    }

    /// One of the others, for a session that is counted there.
    pub(super) fn replica(&self, server: usize, session: GaugeGuard) -> Destination {
        Destination { writer: self.clone(), server, at_replica: Some(Arc::new(session)) }
    }

    /// The writer, if one is known.
    pub fn now(&self) -> Option<Destination> {
        self.at(self.0.now.load(Ordering::SeqCst))
    }

    /// The writer, or the server that was it last.
    pub fn last(&self) -> Option<Destination> {
        self.at(self.0.last.load(Ordering::SeqCst))
    }

    /// Waits until a writer is known.
    pub async fn found(&self) -> Destination {
        let mut news = self.0.news.subscribe();
        loop {
            if let Some(now) = self.now() {
                return now;
            }
            self.heard(&mut news).await;
        }
    }

    /// Waits until a writer is known; `None` if a server cannot be judged with the account that asks.
    pub(super) async fn found_or_unfit(&self) -> Option<Destination> {
        let mut news = self.0.news.subscribe();
        loop {
            let board = self.shown();
            if board.iter().any(|s| matches!(s.state, Some(ServerState::Unfit(_)))) {
                return None;
            }
            if let Some(now) = self.now() {
                return Some(now);
            }
            self.heard(&mut news).await;
        }
    }

    /// Waits until each server has said something, or has not answered.
    pub(super) async fn all_heard(&self) {
        let mut news = self.0.news.subscribe();
        let unasked = |server: &ShownServer| server.state == Some(ServerState::Unasked);
        while self.shown().iter().any(unasked) {
            self.heard(&mut news).await;
        }
    }

    /// Waits until something has changed since `news` was looked at last.
    async fn heard(&self, news: &mut watch::Receiver<u64>) {
        // The sender lives as long as this.
        let _ = news.changed().await;
    }

    /// Reports each change of what is known.
    pub fn news(&self) -> watch::Receiver<u64> {
        self.0.news.subscribe()
    }

    /// How often the writer has become another server since the first one was found.
    pub fn changes(&self) -> u64 {
        self.0.changes.load(Ordering::SeqCst)
    }

    /// Servers that take writes beside the writer, though no cluster joins them.
    pub fn rivals(&self) -> usize {
        self.0.board.lock().rivals.len()
    }

    /// All servers and what is known of them.
    pub fn shown(&self) -> Vec<ShownServer> {
        let now = self.0.now.load(Ordering::SeqCst);
        let board = self.0.board.lock();
        let servers = self.0.servers.iter().zip(&board.heard).enumerate();
        let shown = servers.map(|(place, (address, heard))| ShownServer {
            address: address.clone(),
            writer: place == now,
            replica: place != now && heard.state.can_be_replica(),
            state: Some(heard.state.clone()).filter(|_| self.is_chosen()),
        });
        shown.collect()
    }

    /// Why there is no writer, if so.
    pub fn problem(&self) -> Option<String> {
        self.now().is_none().then(|| self.situation())
    }

    /// All servers, and what is known of them.
    pub(super) fn states(&self) -> String {
        let said = |s: ShownServer| {
            let state = s.state.unwrap_or(ServerState::Unasked);
            format!("{} {state}", s.address.backend)
        };
        self.shown().into_iter().map(said).collect::<Vec<_>>().join(", ")
    }

    /// Why there is no writer.
    pub(super) fn situation(&self) -> String {
        let all = self.states();
        let awaited = self.0.board.lock().awaited.clone();
        let awaited = awaited.map_or_else(String::new, |ident| {
            format!("; the lock tables belong to {ident}, which has not left their cluster")
        });
        format!("no server can be the writer: {all}{awaited}")
    }

    /// Whether the server with this identity takes no writes in its cluster any more: it says so itself, or a majority goes on
    /// without it.
    pub fn has_left(&self, ident: &str) -> bool {
        has_left(&self.0.board.lock().states(), ident)
    }

    /// What holds for the server with this identity, as it was heard last. `None`: it is not heard.
    pub fn guarantee_of(&self, ident: &str) -> Option<Guarantee> {
        let board = self.0.board.lock();
        let states = board.states();
        let its = states.iter().find(|state| state.ident() == Some(ident))?;
        Some(Guarantee::of(its, states.len()))
    }

    /// Takes in what a server was heard to say at `at`, on the boot clock.
    pub(super) fn note_answer(&self, server: usize, answer: ProbeAnswer, at: Duration) {
        let mut board = self.0.board.lock();
        let Some(heard) = board.heard.get_mut(server) else { return };
        let old = heard.state.clone();
        heard.note_answer(answer, at);
        if heard.state == old {
            return;
        }
        if heard.state.answers() != old.answers()
            || heard.state.takes_writes() != old.takes_writes()
            || heard.state.can_be_replica() != old.can_be_replica()
        {
            tracing::info!(server = %self.0.servers[server].backend, state = %heard.state, "a server");
        }
        let last = Some(self.0.last.load(Ordering::SeqCst)).filter(|last| *last != NOBODY);
        let Choice { writer, rivals, awaited } = choose(last, &board.states());
        if rivals.len() > board.rivals.len() {
            self.warn_of(&rivals);
        }
        (board.rivals, board.awaited) = (rivals, awaited);
        let silent = self.settle(writer);
        drop(board);
        self.0.news.send_modify(|count| *count += 1);
        if let Some(()) = silent {
            let why = self.situation();
            tracing::warn!("{why}; sessions stay where they are, new ones wait");
        }
    }

    /// Puts the choice in force. `Some` if no writer is known any more.
    fn settle(&self, writer: Option<usize>) -> Option<()> {
        let new = writer.unwrap_or(NOBODY);
        if self.0.now.swap(new, Ordering::SeqCst) == new {
            return None;
        }
        let Some(writer) = writer else { return Some(()) };
        let last = self.0.last.swap(writer, Ordering::SeqCst);
        let server = &self.0.servers[writer].backend;
        if last == NOBODY || last == writer {
            tracing::info!(%server, "the writer is known");
        } else {
            self.0.changes.fetch_add(1, Ordering::SeqCst);
            let was = &self.0.servers[last].backend;
            tracing::warn!(%server, %was, "another server is the writer");
        }
        None
    }

    fn warn_of(&self, rivals: &[usize]) {
        let rivals: Vec<String> =
            rivals.iter().map(|at| self.0.servers[*at].backend.to_string()).collect();
        tracing::error!(
            writer = %self,
            rivals = rivals.join(", "),
            "several servers take writes, and no cluster joins them: make all but one read-only"
        );
    }
}

impl fmt::Display for Writer {
    /// The writer's address; if none is known, all addresses.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(now) = self.now() {
            return now.backend().fmt(f);
        }
        f.write_str(&self.all())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(count: u16) -> Vec<ServerAddress> {
        let at = |port| HostPort { host: "db".to_owned(), port };
        (1..=count).map(|n| ServerAddress { backend: at(n), store: at(100 + n) }).collect()
    }

    fn writable(ident: &str) -> ProbeAnswer {
        ProbeAnswer::Said(ServerState::Writable { ident: ident.to_owned(), seat: None, copies: 0 })
    }

    fn closed() -> ProbeAnswer {
        ProbeAnswer::Said(ServerState::Closed {
            why: "is read-only".to_owned(),
            member: None,
            follows: true,
        })
    }

    #[test]
    fn a_single_server_is_the_writer_and_is_never_left() {
        let writer = Writer::among(servers(1));
        let to = writer.now().expect("known");
        assert_eq!((to.backend().port, to.store().port), (1, 101));
        assert!(!to.is_left() && writer.problem().is_none() && !writer.is_chosen());
        assert_eq!(writer.shown()[0].state, None);
    }

    #[test]
    fn connections_are_left_when_another_server_is_the_writer_and_not_before() {
        let writer = Writer::among(servers(2));
        assert_eq!(writer.to_string(), "db:1, db:2");
        let hear = |server, answer| writer.note_answer(server, answer, Duration::ZERO);
        hear(0, writable("a"));
        hear(1, closed());
        let first = writer.now().expect("known");
        assert_eq!((writer.to_string().as_str(), writer.changes()), ("db:1", 0));
        hear(0, closed());
        assert!(writer.now().is_none() && !first.is_left());
        let why = writer.problem().expect("no writer");
        assert!(why.contains("db:1 is read-only, db:2 is read-only"), "{why}");
        assert_eq!(writer.last().map(|to| to.backend().port), Some(1));
        hear(1, writable("b"));
        assert!(first.is_left() && writer.problem().is_none());
        assert_eq!((writer.to_string().as_str(), writer.changes()), ("db:2", 1));
        assert_eq!(writer.rivals(), 0);
        hear(0, writable("a"));
        assert_eq!((writer.to_string().as_str(), writer.rivals()), ("db:2", 1));
    }

    #[tokio::test]
    async fn a_client_that_waits_for_the_writer_learns_of_it() {
        let writer = Writer::among(servers(2));
        let found = tokio::spawn({
            let writer = writer.clone();
            async move { writer.found().await }
        });
        writer.note_answer(0, closed(), Duration::ZERO);
        writer.note_answer(1, writable("b"), Duration::ZERO);
        let to = found.await.expect("found");
        assert_eq!(to.backend().port, 2);
        let (left, doubted) = (to.clone(), to.clone());
        let left = tokio::spawn(async move { left.left().await });
        writer.note_answer(1, closed(), Duration::ZERO);
        doubted.doubted().await;
        writer.note_answer(0, writable("a"), Duration::ZERO);
        left.await.expect("left");
    }
}
