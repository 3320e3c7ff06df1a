//! A site moves under load, client by client: from the server to mode coexist, to mode durable, and back. A lock never has
//! two holders.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::proxy::{Proxy, fresh_schema};
use crate::script::Server;
use crate::session::Session;
use crate::stage::{Database, eventually, join, on_both};

on_both! {
    a_site_moves_to_rows_and_back_under_load
}

const CLIENTS: usize = 8;

/// What all clients have.
struct Site {
    lock: String,
    table: String,
    /// The port where each client connects next.
    ports: Vec<AtomicUsize>,
    /// Turns that each client has had at its present port.
    turns: Vec<AtomicUsize>,
    inside: AtomicUsize,
    end: AtomicBool,
}

impl Site {
    /// Takes the lock again and again, and adds one to a counter under it; how often.
    fn work(&self, client: usize) -> u64 {
        let mut added = 0;
        while !self.end.load(Ordering::SeqCst) {
            let port = self.ports[client].load(Ordering::SeqCst);
            let mut session = Session::at(u16::try_from(port).expect("a port"));
            while !self.end.load(Ordering::SeqCst)
                && self.ports[client].load(Ordering::SeqCst) == port
            {
                let got = session.value(&format!("SELECT GET_LOCK('{}', 60)", self.lock));
                assert_eq!(got.as_deref(), Some("1"));
                assert_eq!(self.inside.fetch_add(1, Ordering::SeqCst), 0, "two holders");
                let value = session.value(&format!("SELECT v FROM {}", self.table));
                let next = value.and_then(|v| v.parse::<u64>().ok()).expect("a number") + 1;
                session.run(&format!("UPDATE {} SET v={next}", self.table));
                added += 1;
                assert_eq!(self.inside.fetch_sub(1, Ordering::SeqCst), 1, "two holders");
                session.unlock(&self.lock);
                self.turns[client].fetch_add(1, Ordering::SeqCst);
            }
        }
        added
    }

    /// Waits until every client has had some more turns where it is.
    fn let_all_work(&self) {
        for turns in &self.turns {
            let enough = turns.load(Ordering::SeqCst) + 5;
            eventually("the client works on", || {
                assert!(!self.end.load(Ordering::SeqCst), "a client has failed");
                (turns.load(Ordering::SeqCst) >= enough).then_some(())
            });
        }
    }

    /// Moves the clients to a port, one after the other, while all of them work.
    fn move_to(&self, port: u16) {
        for (client, turns) in self.turns.iter().enumerate() {
            self.ports[client].store(port.into(), Ordering::SeqCst);
            turns.store(0, Ordering::SeqCst);
            eventually("the client works on", || {
                assert!(!self.end.load(Ordering::SeqCst), "a client has failed");
                // The first turn may still be at the port before.
                (turns.load(Ordering::SeqCst) > 2).then_some(())
            });
        }
    }
}

/// Ends all clients if one of them fails.
struct EndsAll<'a>(&'a AtomicBool);

impl Drop for EndsAll<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn a_site_moves_to_rows_and_back_under_load(server: &Server) {
    let db = Database::create(server);
    let table = db.table("counter");
    server.root().run(&format!("CREATE TABLE {table} (v BIGINT)"));
    server.root().run(&format!("INSERT INTO {table} VALUES (0)"));
    let coexist = Proxy::start(&server.url, &["--mode", "coexist"]);
    let durable = join(server, &coexist, &["--mode", "durable"]);
    let start = || AtomicUsize::new(server.port.into());
    let site = Arc::new(Site {
        lock: fresh_schema(),
        table: table.clone(),
        ports: (0..CLIENTS).map(|_| start()).collect(),
        turns: (0..CLIENTS).map(|_| AtomicUsize::default()).collect(),
        inside: AtomicUsize::default(),
        end: AtomicBool::default(),
    });
    let added: u64 = std::thread::scope(|scope| {
        let ends = EndsAll(&site.end);
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let site = Arc::clone(&site);
                scope.spawn(move || {
                    let failed = EndsAll(&site.end);
                    let added = site.work(client);
                    std::mem::forget(failed);
                    added
                })
            })
            .collect();
        // Never from the server to rows alone, or back, at once: nothing excludes those two.
        for port in [coexist.port, durable.port, coexist.port, server.port] {
            site.move_to(port);
            site.let_all_work();
        }
        drop(ends);
        clients.into_iter().map(|client| client.join().expect("a client")).sum()
    });
    let counted = server.root().column(&format!("SELECT v FROM {table}"));
    assert_eq!(counted, [added.to_string()]);
}
