//! Many clients change counters under locks by reading and writing, while the engine's own
//! connections are killed: no change may get lost.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use lockstead_support::patience::within;

use crate::proxy::Proxy;
use crate::script::Server;
use crate::session::{Session, first_value};
use crate::stage::{Database, PATIENCE, eventually, on_both};
use crate::wire::{Shape, render};

on_both! {
    no_change_is_lost_while_engine_connections_are_killed
}

const NAMES: usize = 4;
const CLIENTS: usize = 8;
/// Grants of each name, and kills, that make a run.
const GRANTS: usize = 60;
const KILLS: usize = 100;

/// What was done under the lock of each name: the token of each grant, in order.
type Grants = Arc<[Mutex<Vec<u64>>; NAMES]>;

fn no_change_is_lost_while_engine_connections_are_killed(server: &Server) {
    // The list of connections is as new as the last renewal, of which there are fifteen a lease.
    // Rows are collected meanwhile, though names are as a rule not left alone for so long.
    let lease = ["--lease", "6s", "--collect-after", "1s"];
    let a = Proxy::start(&server.url, &lease);
    let b = Proxy::start_on(&server.url, &a.schema, &lease);
    let database = Database::create(server);
    let table = database.table("counters");
    let mut root = server.root();
    root.run(&format!("CREATE TABLE {table} (name INT PRIMARY KEY, v BIGINT NOT NULL)"));
    root.run(&format!("INSERT INTO {table} VALUES (0,0),(1,0),(2,0),(3,0)"));
    let grants = Grants::default();
    let end = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..2 * CLIENTS)
        .map(|n| {
            let worker = Worker {
                session: Session::at(if n % 2 == 0 { a.port } else { b.port }),
                table: table.clone(),
                schema: a.schema.clone(),
                grants: Arc::clone(&grants),
            };
            let end = Arc::clone(&end);
            std::thread::spawn(move || worker.work(&end))
        })
        .collect();
    let killed = kill_until_enough(server, &a.schema, &grants);
    end.store(true, Ordering::SeqCst);
    let refused: usize = clients.into_iter().map(|c| c.join().expect("a client's thread")).sum();
    let done: Vec<usize> = grants.iter().map(|g| g.lock().expect("grants").len()).collect();
    println!("{done:?} grants, {refused} refused, {killed} connections killed");
    assert!(done.iter().all(|n| *n >= GRANTS), "hardly any grants: {done:?}");
    assert!(killed >= KILLS, "hardly any connections were killed");
    let values = root.column(&format!("SELECT v FROM {table} ORDER BY name"));
    let expected: Vec<String> = done.iter().map(usize::to_string).collect();
    assert_eq!(values, expected, "changes got lost");
    for tokens in &*grants {
        let tokens = tokens.lock().expect("grants");
        assert!(tokens.is_sorted_by(|a, b| a < b), "tokens do not grow: {tokens:?}");
    }
    eventually("nothing is held any more", || {
        let held = root.column(&format!("SELECT name FROM {}.held_locks", a.schema));
        held.is_empty().then_some(())
    });
}

/// Kills store connections, at random and one at a time, until every lock was granted often enough; how many.
fn kill_until_enough(server: &Server, schema: &str, grants: &Grants) -> usize {
    let mut session = Session::at(server.port);
    let mut root = server.root();
    let mut killed = 0;
    // `within` pauses after each kill, or no batch would ever succeed.
    within(PATIENCE, || {
        let rows = root.column(&format!("SELECT conns FROM {schema}.proxies"));
        let ids: Vec<&str> = rows.iter().flat_map(|r| r.split(',')).collect();
        if let Some(id) = ids.get(rand::random_range(0..ids.len().max(1))) {
            // The connection may have gone in this moment.
            killed += usize::from(
                session.client.query(format!("KILL {id}").as_bytes()).error().is_none(),
            );
        }
        let granted = |n: &Mutex<Vec<u64>>| n.lock().expect("grants").len() >= GRANTS;
        (killed >= KILLS && grants.iter().all(granted)).then_some(())
    });
    killed
}

struct Worker {
    session: Session,
    table: String,
    schema: String,
    grants: Grants,
}

impl Worker {
    /// Adds to counters until told to end; how often a lock was refused.
    fn work(mut self, end: &AtomicBool) -> usize {
        let mut refused = 0;
        while !end.load(Ordering::SeqCst) {
            let name = rand::random_range(0..NAMES);
            if self.take(name) {
                self.add(name);
                self.session.run(&format!("SELECT RELEASE_LOCK('counter {name}')"));
            } else {
                refused += 1;
            }
        }
        refused
    }

    /// True when the lock is held. That the store failed is an answer too: error 1105.
    fn take(&mut self, name: usize) -> bool {
        let patience = PATIENCE.as_secs();
        self.session.send(&format!("SELECT GET_LOCK('counter {name}', {patience})"));
        let response = self.session.client.read_response(Shape::Query);
        match response.error() {
            None => {
                assert_eq!(first_value("GET_LOCK", &response).as_deref(), Some("1"));
                true
            }
            Some(code) => {
                assert_eq!(code, 1105, "{}", render::response(&response));
                false
            }
        }
    }

    fn add(&mut self, name: usize) {
        let Self { session, table, schema, grants } = self;
        let read = session.value(&format!("SELECT v FROM {table} WHERE name={name}"));
        let read: u64 = read.and_then(|v| v.parse().ok()).expect("a number");
        let token = session.value(&format!(
            "SELECT token FROM {schema}.held_locks \
             WHERE name='counter {name}' AND connection_id=CONNECTION_ID()"
        ));
        let token = token.and_then(|t| t.parse().ok()).expect("a token");
        session.run(&format!("UPDATE {table} SET v={} WHERE name={name}", read + 1));
        grants[name].lock().expect("grants").push(token);
    }
}
