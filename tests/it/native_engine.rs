//! Engines that claim rows by the server's own locks, beside one another and beside one that keeps rows alone.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use lockstead::config::tls::StoreTls;
use lockstead::config::{HostPort, ServerAddress, StoreUrl};
use lockstead::engine::handle::{
    Acquired, Claim, Engine, EventSender, FindSessions, Grant, Look, SessionEvent, Ticket,
};
use lockstead::engine::io::link::StoreAccess;
use lockstead::engine::setup::Setup;
use lockstead::engine::shared::current_backend::CurrentBackend;
use lockstead::engine::shared::history::History;
use lockstead::engine::shared::keep_names::KeepNames;
use lockstead::engine::shared::late_rows::LateRows;
use lockstead::engine::start::{Threads, start};
use lockstead::lock::name::{Key, Name, plain};
use lockstead::metrics::Metrics;
use lockstead::servers::candidates::Candidates;
use lockstead::servers::writer::Writer;
use lockstead::store::connection::StoreConnection;
use lockstead::types::{BackendId, Flavour as Family, ProxyId};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::fresh_schema;
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{PATIENCE, eventually, on_both};

on_both! {
    a_lock_goes_from_proxy_to_proxy_as_the_server_grants_it
    a_claim_waits_for_a_proxy_that_keeps_rows_alone_and_that_one_for_it
    a_claim_whose_lock_is_gone_ends
    the_end_of_a_session_releases_its_native_locks
    sessions_are_told_of_locks_that_differ_from_their_rows
    a_native_lock_whose_row_was_deleted_is_lost
}

/// A client's session at the server, and the events that its proxy's engine sends it.
struct Client {
    session: Session,
    events: EventSender,
    heard: mpsc::UnboundedReceiver<SessionEvent>,
}

impl Client {
    fn at(server: &Server) -> Self {
        let (events, heard) = mpsc::unbounded_channel();
        Self { session: Session::at(server.port), events, heard }
    }

    fn conn(&self) -> BackendId {
        BackendId(self.session.id())
    }

    fn hears(&mut self, event: SessionEvent) {
        eventually("an event", || self.heard.try_recv().ok().filter(|heard| *heard == event));
    }
}

/// An engine, as in a process of its own.
struct Node {
    runtime: Runtime,
    engine: Engine,
    metrics: Arc<Metrics>,
    threads: Option<Threads>,
}

/// The lock tables.
struct Tables {
    url: StoreUrl,
    server: Server,
}

impl Tables {
    fn new(server: &Server) -> Self {
        let url = StoreUrl {
            host: server.host.clone(),
            port: server.port,
            hosts: vec![HostPort { host: server.host.clone(), port: server.port }],
            user: "root".to_owned(),
            password: "rootpw".to_owned(),
            schema: fresh_schema(),
            tls: StoreTls::default(),
        };
        let runtime = runtime();
        runtime.block_on(async {
            let conn = StoreConnection::open(&url, PATIENCE).await;
            let installed = conn.expect("a connection").install().await;
            installed.expect("lock tables");
        });
        Self { url, server: server.clone() }
    }

    /// Connection id and proxy of a lock's holder.
    fn holder(&self, name: &str) -> String {
        let schema = &self.url.schema;
        let sql = format!(
            "SELECT CONCAT(conn,' ',holder) FROM {schema}.locks WHERE name='{name}' AND holder<>0"
        );
        self.server.root().column(&sql).concat()
    }

    fn node(&self, lease: Duration, native: bool, clients: &[&Client]) -> Node {
        let metrics = Arc::new(Metrics::new(None).expect("metrics"));
        let at = self.url.hosts[0].clone();
        let access = Arc::new(StoreAccess {
            url: self.url.clone(),
            connect_timeout: PATIENCE,
            writer: Writer::among(vec![ServerAddress { backend: at.clone(), store: at }]),
            candidates: Candidates::default(),
            pairs: lockstead::servers::pairs::Pairs::default(),
            open: parking_lot::Mutex::default(),
            home: parking_lot::Mutex::default(),
            metrics: Arc::clone(&metrics),
            stuck: Arc::default(),
            history: History::in_memory(100),
            shares: false,
            keep_names: KeepNames::new(|| Duration::ZERO),
            late_rows: Arc::new(LateRows::new(|| Duration::ZERO)),
            fenced: Arc::default(),
        });
        let sessions: HashMap<BackendId, EventSender> =
            clients.iter().map(|client| (client.conn(), client.events.clone())).collect();
        let find = FindSessions::new(move |wanted| {
            let found = sessions.iter().filter(|(conn, _)| wanted.contains(conn));
            found.map(|(conn, events)| (*conn, events.clone())).collect()
        });
        let (engine, _gates, threads) = start(Setup {
            access,
            ttl: lease,
            addr: "here".to_owned(),
            fresh: true,
            collect_after: Duration::from_hours(1),
            native,
            outlives: false,
            reclaims: false,
            sessions: Some(find),
            state: None,
        })
        .expect("an engine");
        eventually("it grants", || engine.lease().is_good().then_some(()));
        Node { runtime: runtime(), engine, metrics, threads: Some(threads) }
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

const LEASE: Duration = Duration::from_secs(30);

impl Node {
    fn ask(&self, name: &str, client: &Client, native: bool) -> Ticket {
        self.engine.acquire(Claim {
            name: named(name),
            conn: client.conn().as_session(),
            backend: CurrentBackend::of(client.conn()),
            owner: Arc::from(&b"app@host"[..]),
            once: false,
            holds: false,
            weight: 0,
            events: client.events.clone(),
            native,
            began: None,
        })
    }

    fn decided(&self, ticket: Ticket) -> Acquired {
        self.runtime.block_on(ticket.outcome).expect("an outcome")
    }

    fn gets(&self, name: &str, client: &Client, native: bool) -> (Vec<(Key, u64)>, ProxyId) {
        granted(name, &self.decided(self.ask(name, client, native)))
    }

    fn settle(&self) {
        self.runtime.block_on(self.engine.settle());
    }

    fn look(&self, name: &str) -> Look {
        self.runtime.block_on(self.engine.look_up(named(name).key))
    }

    /// The server's own locks of a client.
    fn native_locks(&self, client: &Client, asked: &[&str]) -> (Vec<String>, bool) {
        let asked = asked.iter().map(|name| named(name)).collect();
        let locks = self.runtime.block_on(self.engine.native_locks(client.conn(), asked));
        let locks = locks.expect("an answer");
        let mut names: Vec<String> = locks.names.iter().map(|name| name.key.shown()).collect();
        names.sort();
        (names, locks.complete)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(threads) = self.threads.take()
            && !std::thread::panicking()
        {
            self.settle();
            self.runtime.block_on(threads.stop());
        }
    }
}

impl Drop for Tables {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.server.root().run(&format!("DROP DATABASE {}", self.url.schema));
        }
    }
}

fn named(name: &str) -> Name {
    // Small letters and digits are the same to both.
    plain(name.as_bytes(), Family::MySql).expect("a valid name")
}

#[track_caller]
fn granted(name: &str, outcome: &Acquired) -> (Vec<(Key, u64)>, ProxyId) {
    let Acquired::Granted(Grant { token, proxy }) = *outcome else { panic!("{outcome:?}") };
    (vec![(named(name).key, token)], proxy)
}

fn a_lock_goes_from_proxy_to_proxy_as_the_server_grants_it(server: &Server) {
    let k = &*fresh_schema();
    let tables = Tables::new(server);
    let (mut a, mut b) = (Client::at(server), Client::at(server));
    let one = tables.node(LEASE, true, &[&a]);
    let two = tables.node(LEASE, true, &[&b]);
    a.session.lock(k);
    let (first, proxy) = one.gets(k, &a, true);
    assert_eq!(two.look(k), Look::Free, "the server itself is asked about it");
    a.session.unlock(k);
    b.session.lock(k);
    // The first proxy has not said so, and perhaps never will.
    let (second, other) = two.gets(k, &b, true);
    assert!(second[0].1 > first[0].1);
    one.engine.release_later(first, proxy);
    one.settle();
    assert_eq!(tables.holder(k), format!("{} {}", b.session.id(), other.0));
    assert_eq!(one.metrics.lost_rows.get(), 0);
    assert!(a.heard.try_recv().is_err(), "it is told nothing");
    two.engine.release_later(second, other);
    two.settle();
    assert_eq!(tables.holder(k), "");
}

fn a_claim_waits_for_a_proxy_that_keeps_rows_alone_and_that_one_for_it(server: &Server) {
    let k = &*fresh_schema();
    let tables = Tables::new(server);
    let (mut a, d) = (Client::at(server), Client::at(server));
    let one = tables.node(LEASE, true, &[&a]);
    let other = tables.node(LEASE, false, &[&d]);
    eventually("they know each other", || {
        let (peers, theirs) = (one.engine.peers(), other.engine.peers());
        let seen = peers.hold_by_rows() && !peers.hold_natively();
        (seen && !theirs.hold_by_rows() && theirs.hold_natively()).then_some(())
    });
    let (held, proxy) = other.gets(k, &d, false);
    a.session.lock(k);
    assert_eq!(one.look(k), Look::Used(d.conn().as_session()));
    let mut waits = one.ask(k, &a, true);
    let schema = &tables.url.schema;
    let in_row = format!("SELECT COUNT(*) FROM {schema}.locks WHERE want<>0");
    let mut root = server.root();
    eventually("it is in the row", || (root.column(&in_row) == ["1"]).then_some(()));
    assert!(waits.outcome.try_recv().is_err());
    other.runtime.block_on(other.engine.release(held, proxy));
    let (held, proxy) = granted(k, &one.decided(waits));
    assert_eq!(other.look(k), Look::Used(a.conn().as_session()));
    let mut waits = other.ask(k, &d, false);
    eventually("it is in the row", || (root.column(&in_row) == ["1"]).then_some(()));
    assert!(waits.outcome.try_recv().is_err());
    a.session.unlock(k);
    one.engine.release_later(held, proxy);
    let (held, proxy) = granted(k, &other.decided(waits));
    other.runtime.block_on(other.engine.release(held, proxy));
}

fn a_claim_whose_lock_is_gone_ends(server: &Server) {
    let k = &*fresh_schema();
    let tables = Tables::new(server);
    let (mut a, d) = (Client::at(server), Client::at(server));
    let one = tables.node(LEASE, true, &[&a]);
    let other = tables.node(LEASE, false, &[&d]);
    assert_eq!(one.decided(one.ask(k, &a, true)), Acquired::Unproven);
    let (held, proxy) = other.gets(k, &d, false);
    // Though the row is taken, it need not wait to hear that its claim is vain.
    assert_eq!(one.decided(one.ask(k, &a, true)), Acquired::Unproven);
    a.session.lock(k);
    let waits = one.ask(k, &a, true);
    let schema = &tables.url.schema;
    let in_row = format!("SELECT COUNT(*) FROM {schema}.locks WHERE want<>0");
    let mut root = server.root();
    eventually("it is in the row", || (root.column(&in_row) == ["1"]).then_some(()));
    a.session.unlock(k);
    other.runtime.block_on(other.engine.release(held, proxy));
    assert_eq!(one.decided(waits), Acquired::Unproven);
    assert_eq!(one.metrics.unproven.get(), 3);
}

fn the_end_of_a_session_releases_its_native_locks(server: &Server) {
    let tables = Tables::new(server);
    let (mut a, mut b) = (Client::at(server), Client::at(server));
    let one = tables.node(LEASE, true, &[&a, &b]);
    let names = [fresh_schema(), fresh_schema()];
    let (name, other) = (&*names[0], &*names[1]);
    a.session.lock(name);
    a.session.lock(other);
    let (taken, proxy) = one.gets(name, &a, true);
    let (left, _) = one.gets(other, &a, true);
    let conn = a.conn();
    one.engine.release_when_gone(Some(conn), [taken, left].concat(), proxy, "client");
    drop(a);
    b.session.ask_for(name);
    b.session.gets_it();
    let (_, proxy) = one.gets(name, &b, true);
    one.settle();
    assert_eq!(tables.holder(name), format!("{} {}", b.session.id(), proxy.0));
    assert_eq!(tables.holder(other), "");
}

fn sessions_are_told_of_locks_that_differ_from_their_rows(server: &Server) {
    let flavour = flavour_of(server);
    let own = (flavour == Flavour::MariaDb)
        .then(|| OwnServer::start(flavour, &["--plugin-load-add=metadata_lock_info"]));
    for (server, lists) in
        own.iter().map(|own| (&own.server, true)).chain([(server, flavour == Flavour::MySql)])
    {
        let tables = Tables::new(server);
        let (mut a, mut direct) = (Client::at(server), Client::at(server));
        let one = tables.node(LEASE, true, &[&a]);
        // As a routine would, of which the session knows nothing.
        let names = [fresh_schema(), fresh_schema()];
        let (inside, outside) = (&*names[0], &*names[1]);
        a.session.lock(inside);
        direct.session.lock(outside);
        if lists {
            a.hears(SessionEvent::ReadLocks);
            let directs = || one.engine.direct_locks().list();
            let is_there = |conn, name: &str| {
                directs().iter().any(|lock| lock.conn == conn && lock.name.key == named(name).key)
            };
            eventually("it is listed", || is_there(direct.conn(), outside).then_some(()));
        }
        let asked = [inside, "another"];
        assert_eq!(one.native_locks(&a, &asked), (vec![inside.to_owned()], lists));
        assert_eq!(one.native_locks(&a, &[]).0.len(), usize::from(lists));
        one.gets(inside, &a, true);
        a.session.unlock(inside);
        while a.heard.try_recv().is_ok() {}
        a.hears(SessionEvent::ReadLocks);
        assert_eq!(one.native_locks(&a, &asked), (vec![], lists));
        assert!(one.metrics.differences.get() > 0);
        assert_eq!(one.metrics.lost_rows.get(), 0);
        let held = one.runtime.block_on(one.engine.snapshot()).held;
        let held = held.into_iter().map(|hold| (hold.key, hold.token)).collect();
        let proxy = one.engine.lease().proxy().expect("an incarnation");
        one.engine.release_later(held, proxy);
    }
}

/// Another session may have been granted it by its row.
fn a_native_lock_whose_row_was_deleted_is_lost(server: &Server) {
    let k = &*fresh_schema();
    let tables = Tables::new(server);
    let (mut a, mut b) = (Client::at(server), Client::at(server));
    let one = tables.node(Duration::from_secs(3), true, &[&a, &b]);
    a.session.lock(k);
    let let_go = &*fresh_schema();
    b.session.lock(let_go);
    let (held, proxy) = one.gets(k, &a, true);
    one.gets(let_go, &b, true);
    b.session.unlock(let_go);
    server.root().run(&format!("DELETE FROM {}.locks", tables.url.schema));
    a.hears(SessionEvent::Lost(held[0].1));
    while let Ok(event) = b.heard.try_recv() {
        assert_eq!(event, SessionEvent::ReadLocks);
    }
    assert_eq!(one.metrics.lost_rows.get(), 1);
    one.engine.release_later(held, proxy);
}
