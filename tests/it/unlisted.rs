//! Sessions that MySQL's lists leave out while it still works for them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::Proxy;
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{Database, eventually, join, on_both};

on_both! {
    a_session_without_room_in_the_performance_schema_is_seen_to_its_end
    a_takeover_waits_for_sessions_without_room_in_the_performance_schema
    transactions_shown_from_a_cache_prove_nothing
}

const ROOM: [&str; 2] = ["--performance-schema=ON", "--performance-schema-max-thread-instances=60"];

/// A session at `port` for which there is no room, which FLUSH STATUS hides. Those that come later
/// have it.
fn unlisted(server: &Server, port: u16) -> Session {
    let mut root = server.root();
    let mut crowd = Vec::new();
    let session = loop {
        let session = Session::at(port);
        let rows = format!(
            "SELECT COUNT(*) FROM performance_schema.threads WHERE PROCESSLIST_ID={}",
            session.id()
        );
        if flavour_of(server) == Flavour::MariaDb || root.column(&rows) == ["0"] {
            break session;
        }
        crowd.push(Session::at(server.port));
    };
    root.run("FLUSH STATUS");
    session
}

/// A table whose change takes long to be undone.
fn many_rows(server: &Server, database: &Database) -> String {
    let table = database.table("many");
    let mut root = server.root();
    root.run(&format!("CREATE TABLE {table} (id INT AUTO_INCREMENT PRIMARY KEY, v CHAR(60))"));
    root.run(&format!("INSERT INTO {table} (v) VALUES ('before')"));
    for _ in 0..17 {
        root.run(&format!("INSERT INTO {table} (v) SELECT v FROM {table}"));
    }
    table
}

/// No transaction has locked the rows.
fn assert_untouched(session: &mut Session, table: &str) {
    session.run("BEGIN");
    let sql = format!("SELECT v FROM {table} WHERE id=1 FOR UPDATE NOWAIT");
    assert_eq!(session.value(&sql).as_deref(), Some("before"));
    session.run("ROLLBACK");
}

/// Kills a session that holds no more than a lock, so that the proxy has looked for one that ends.
fn let_it_look(server: &Server, proxy: &Proxy) {
    let mut first = Session::at(proxy.port);
    first.lock("first");
    server.root().run(&format!("KILL {}", first.id()));
    let mut next = Session::at(proxy.port);
    next.ask_for("first");
    next.gets_it();
}

fn a_session_without_room_in_the_performance_schema_is_seen_to_its_end(server: &Server) {
    let own = OwnServer::start(flavour_of(server), &ROOM);
    let server = &own.server;
    let proxy = Proxy::start(&server.url, &[]);
    let database = Database::create(server);
    let table = many_rows(server, &database);
    let_it_look(server, &proxy);
    let mut holder = unlisted(server, proxy.port);
    let mut waiter = Session::at(proxy.port);
    holder.lock("k");
    waiter.ask_for("k");
    holder.run(&format!("BEGIN; UPDATE {table} SET v='changed'"));
    server.root().run(&format!("KILL {}", holder.id()));
    waiter.gets_it();
    assert_untouched(&mut waiter, &table);
}

fn a_takeover_waits_for_sessions_without_room_in_the_performance_schema(server: &Server) {
    let own = OwnServer::start(flavour_of(server), &ROOM);
    let server = &own.server;
    let lease = ["--lease", "3s"];
    let mut dying = Proxy::start(&server.url, &lease);
    let other = join(server, &dying, &lease);
    let database = Database::create(server);
    let table = many_rows(server, &database);
    let mut holder = unlisted(server, dying.port);
    let mut waiter = Session::at(other.port);
    holder.lock("k");
    waiter.ask_for("k");
    holder.run(&format!("BEGIN; UPDATE {table} SET v='changed'"));
    holder.send("SELECT SLEEP(600)");
    let busy = format!(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE id={} AND info LIKE '%SLEEP%'",
        holder.id()
    );
    eventually("it is busy", || (server.root().column(&busy) == ["1"]).then_some(()));
    dying.signal("KILL");
    dying.wait();
    waiter.gets_it();
    assert_untouched(&mut waiter, &table);
}

/// Readers in quick succession keep MySQL's list of transactions from changing.
fn transactions_shown_from_a_cache_prove_nothing(server: &Server) {
    let own = OwnServer::start(flavour_of(server), &["--performance-schema=OFF"]);
    let server = &own.server;
    let proxy = Proxy::start(&server.url, &[]);
    let database = Database::create(server);
    let table = many_rows(server, &database);
    let_it_look(server, &proxy);
    let mut holder = Session::at(proxy.port);
    let mut waiter = Session::at(proxy.port);
    holder.lock("k");
    waiter.ask_for("k");
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        // Several, so that one always comes in time.
        for _ in 0..4 {
            let mut reader = Session::at(server.port);
            let read = "SELECT COUNT(*) FROM information_schema.innodb_trx";
            reader.run(read);
            let over = &over;
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    reader.run(read);
                }
            });
        }
        holder.run(&format!("BEGIN; UPDATE {table} SET v='changed'"));
        server.root().run(&format!("KILL {}", holder.id()));
        let sql = format!("SELECT v FROM {table} WHERE id=1 FOR UPDATE NOWAIT");
        let mut beside = Session::at(server.port);
        let early = eventually("it is rolled back", || {
            let granted = waiter.client.readable_within(Duration::from_millis(1));
            let free = beside.client.query(sql.as_bytes()).error().is_none();
            (free || granted).then_some(!free)
        });
        over.store(true, Ordering::Relaxed);
        assert!(!early, "granted too early");
    });
    waiter.gets_it();
    assert_untouched(&mut waiter, &table);
}
