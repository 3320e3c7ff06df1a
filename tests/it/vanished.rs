//! Clients that leave while the server works for them, or talks to them.

use crate::own_server::flavour_of;
use crate::proxy::Proxy;
use crate::script::{Flavour, Server};
use crate::session::{Session, account};
use crate::stage::{Database, eventually, is_at_server, join, on_both};
use crate::wire::login::Account;
use crate::wire::wrap::Wrap;

on_both! {
    a_client_that_vanishes_from_an_amended_result_leaves_no_lock
    a_dead_clients_statement_is_ended_as_by_the_server_itself
    a_dead_clients_statement_is_ended_over_tls
    a_statement_that_the_proxy_asks_for_is_ended_too
    statements_sent_before_the_end_still_run
    a_half_closed_holder_hears_its_answers
    a_lock_is_free_after_a_quit
    a_lock_is_free_after_a_quit_at_another_proxy
    a_client_that_does_not_read_loses_its_lock_with_its_server_connection
}

fn until_waiting(proxy: &Proxy, sessions: f64) {
    eventually("sessions wait", || {
        (proxy.metric("lockstead_locks_waiting") >= sessions).then_some(())
    });
}

/// The server works for it.
fn until_running(server: &Server, session: &Session) {
    // MySQL's process list in information_schema fails while any session runs a text that is not UTF-8.
    let sql = match flavour_of(server) {
        Flavour::MySql => format!(
            "SELECT COUNT(*) FROM performance_schema.threads \
             WHERE processlist_id={} AND processlist_command<>'Sleep'",
            session.id()
        ),
        Flavour::MariaDb => format!(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE id={} AND command<>'Sleep'",
            session.id()
        ),
    };
    let mut root = server.root();
    eventually("the statement runs", || (root.column(&sql) == ["1"]).then_some(()));
}

/// A session that holds a lock, and one that waits for it.
fn pair(proxy: &Proxy) -> (Session, Session) {
    let (mut holder, mut waiter) = (Session::at(proxy.port), Session::at(proxy.port));
    holder.lock("k");
    waiter.ask_for("k");
    until_waiting(proxy, 1.0);
    (holder, waiter)
}

fn a_client_that_vanishes_from_an_amended_result_leaves_no_lock(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let many = "information_schema.columns a, information_schema.columns b";
    let mut texts = vec![
        "SELECT SLEEP(5), IS_USED_LOCK('k')".to_owned(),
        "SELECT SLEEP(5), IS_FREE_LOCK('other')".to_owned(),
        "SELECT SLEEP(5); SELECT IS_USED_LOCK('k'), SLEEP(5)".to_owned(),
        format!("SELECT IS_USED_LOCK('k'), REPEAT('x', 1000) FROM {many} LIMIT 100000"),
    ];
    // MariaDB has the like in a plugin.
    if flavour_of(server) == Flavour::MySql {
        texts.push("SELECT SLEEP(5), COUNT(*) FROM performance_schema.metadata_locks".to_owned());
    }
    for text in &texts {
        let (mut holder, mut waiter) = pair(&proxy);
        holder.send(text);
        until_running(server, &holder);
        holder.client.reset_tcp();
        waiter.gets_it();
    }
}

const WAYS: [fn(Session); 2] = [|s| s.client.hang_up(), |s| s.client.reset_tcp()];

fn a_dead_clients_statement_is_ended_as_by_the_server_itself(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let database = Database::create(server);
    let table = database.table("t");
    server.root().run(&format!("CREATE TABLE {table} (id INT)"));
    let many = "information_schema.columns a, information_schema.columns b";
    let sleeps = "DO SLEEP(86400)".to_owned();
    let streams = format!("SELECT REPEAT('x', 100000) FROM {many}");
    let mut texts = vec![sleeps, streams];
    let mut blocker = Session::at(server.port);
    if flavour_of(server) == Flavour::MariaDb {
        blocker.run(&format!("BEGIN; SELECT * FROM {table}"));
        texts.push(format!("SET lock_wait_timeout=86400; ALTER TABLE {table} ADD c INT"));
    }
    for text in &texts {
        for leave in WAYS {
            let (mut holder, mut waiter) = pair(&proxy);
            holder.send(text);
            until_running(server, &holder);
            leave(holder);
            waiter.gets_it();
        }
    }
    blocker.run("ROLLBACK");
}

/// The proxy has the server prepare a statement before it runs. MySQL looks for no client's end while
/// it waits for a table.
/// MySQL takes any unread byte for a sign that the client is there, so TLS must not say goodbye to it.
fn a_dead_clients_statement_is_ended_over_tls(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let wrap = Wrap { tls: true, ..Wrap::default() };
    let mut session = Session::of(proxy.port, &Account { wrap, ..account() });
    session.send("DO SLEEP(600)");
    until_running(server, &session);
    let id = session.id();
    drop(session);
    let (mut root, flavour) = (server.root(), flavour_of(server));
    eventually("the server ends it", || (!is_at_server(&mut root, flavour, id)).then_some(()));
}

fn a_statement_that_the_proxy_asks_for_is_ended_too(server: &Server) {
    if flavour_of(server) == Flavour::MySql {
        return;
    }
    let proxy = Proxy::start(&server.url, &[]);
    let database = Database::create(server);
    let table = database.table("t");
    server.root().run(&format!("CREATE TABLE {table} (id INT)"));
    let mut blocker = Session::at(server.port);
    blocker.run(&format!("LOCK TABLES {table} WRITE"));
    for leave in WAYS {
        let (mut holder, mut waiter) = pair(&proxy);
        holder.send(&format!("SELECT IS_USED_LOCK('other'), id FROM {table}"));
        until_running(server, &holder);
        leave(holder);
        waiter.gets_it();
    }
    blocker.run("UNLOCK TABLES");
}

fn statements_sent_before_the_end_still_run(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let database = Database::create(server);
    let table = database.table("t");
    server.root().run(&format!("CREATE TABLE {table} (v INT)"));
    let count = format!("SELECT COUNT(*) FROM {table}");
    let insert = format!("INSERT INTO {table} VALUES (1)");
    let mut rows = 0;
    for leave in [(|s| drop(s)) as fn(Session), |s| s.client.hang_up()] {
        let direct = Session::at(server.port);
        let (proxied, mut waiter) = pair(&proxy);
        for mut session in [direct, proxied] {
            session.send("DO SLEEP(3)");
            session.send(&insert);
            until_running(server, &session);
            leave(session);
        }
        waiter.gets_it();
        rows += 2;
        eventually("both inserted", || {
            (server.root().column(&count) == [rows.to_string()]).then_some(())
        });
        assert_eq!(waiter.value(&count), Some(rows.to_string()));
    }
}

fn a_half_closed_holder_hears_its_answers(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let (mut holder, mut waiter) = pair(&proxy);
    holder.send("SELECT SLEEP(1) + 7");
    holder.client.end_sending();
    assert_eq!(holder.reply().as_deref(), Some("7"));
    waiter.gets_it();
}

/// How often each of the ways to leave is tried.
const TIMES: usize = 25;

/// Quits as most clients do, without waiting for anything.
fn quit(session: Session) {
    session.client.say_quit();
}

fn a_lock_is_free_after_a_quit(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut other = Session::at(proxy.port);
    let (mut right, mut all) = (0, 0);
    for leave in [quit, WAYS[0], WAYS[1]] {
        for _ in 0..TIMES {
            for (look, found) in [
                ("SELECT GET_LOCK('k', 0)", Some("1")),
                ("SELECT IS_FREE_LOCK('k')", Some("1")),
                ("SELECT IS_USED_LOCK('k')", None),
            ] {
                let mut holder = Session::at(proxy.port);
                holder.lock("k");
                leave(holder);
                right += usize::from(other.value(look).as_deref() == found);
                all += 1;
                other.run("DO RELEASE_LOCK('k')");
                eventually("it is free", || other.is_free("k").then_some(()));
            }
        }
    }
    // The wait for the end is bounded, and a busy machine may be slower.
    assert!(right * 10 >= all * 9, "{right} of {all}");
}

fn a_lock_is_free_after_a_quit_at_another_proxy(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let second = join(server, &proxy, &[]);
    let mut other = Session::at(second.port);
    let mut free = 0;
    for _ in 0..TIMES {
        let mut holder = Session::at(proxy.port);
        holder.lock("k");
        quit(holder);
        free += usize::from(other.value("SELECT GET_LOCK('k', 0)").as_deref() == Some("1"));
        other.run("DO RELEASE_LOCK('k')");
        eventually("it is free", || other.is_free("k").then_some(()));
    }
    // A slow machine may need longer than the second look allows.
    assert!(free > TIMES / 2, "{free} of {TIMES}");
}

fn a_client_that_does_not_read_loses_its_lock_with_its_server_connection(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let ends: [fn(&Server, u64); 2] = [
        // The server gives up by itself.
        |_, _| {},
        |server, id| drop(server.root().run(&format!("KILL {id}"))),
    ];
    for (timeout, end) in [1, 3600].into_iter().zip(ends) {
        let (mut holder, mut waiter) = pair(&proxy);
        holder.run(&format!("SET SESSION net_write_timeout={timeout}"));
        let many = "information_schema.columns a, information_schema.columns b";
        holder.send(&format!("SELECT REPEAT('x', 100000) FROM {many} LIMIT 5000"));
        until_running(server, &holder);
        until_stuck(&proxy);
        end(server, holder.id());
        waiter.gets_it();
        drop(holder);
    }
}

/// Nothing more comes from the server.
fn until_stuck(proxy: &Proxy) {
    let mut last = (0.0, 0);
    eventually("nobody reads the result", || {
        let now = proxy.metric("lockstead_relayed_to_client_bytes_total");
        last = if now > last.0 { (now, 0) } else { (now, last.1 + 1) };
        (last.1 > 20).then_some(())
    });
}
