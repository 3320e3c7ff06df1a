//! The end of a session's connection: the reply to its client, and whether its locks are kept.

use std::sync::Arc;

use super::endings::until_it_has_run_a_while;
use super::ground::{Ground, Suited, Tenant, options, pooling, teach};
use crate::link::Link;
use crate::own_server::{OwnServer, flavour_of};
use crate::script::Server;
use crate::session::{Session, until_busy};
use crate::stage::{eventually, on_both};
use crate::wire::response::ErrPacket;
use crate::wire::{End, Response, Shape};

on_both! {
    a_transaction_that_ends_with_its_connection_is_told_at_the_next_statement
    a_rollback_after_the_end_of_the_connection_is_what_the_client_wants
    a_client_hears_what_became_of_what_was_under_way
    a_client_is_answered_when_the_server_has_done_with_its_connection
    a_session_may_end_with_its_connection
    rows_that_a_restart_has_lost_end_their_sessions
}

const LOST: &str = "lockstead_pool_lost_total";

/// Code and state of the error that a response is.
fn error(response: &Response) -> (u16, String) {
    assert_eq!(response.end, End::Complete, "{response:?}");
    let packet = response.packets.last().expect("an answer");
    let error = ErrPacket::parse(&packet.payload);
    (error.code, String::from_utf8_lossy(&error.state).into_owned())
}

fn rolled_back() -> (u16, String) {
    (1213, "40001".to_owned())
}

fn unknown() -> (u16, String) {
    (1105, "HY000".to_owned())
}

/// The session goes on, and has its lock.
fn goes_on(session: &mut Session, lock: &str) {
    let id = Some(session.id().to_string());
    assert_eq!(session.value(&format!("SELECT IS_USED_LOCK('{lock}')")), id);
    session.unlock(lock);
}

/// So many connections were lost, by what happened to their sessions.
fn assert_lost(ground: &Ground, expected: &[(&str, f64)]) {
    for (outcome, count) in expected {
        let lost = ground.proxy.metric(&format!("{LOST}{{outcome=\"{outcome}\"}}"));
        assert!((lost - count).abs() < 0.5, "{outcome}: {lost}");
    }
}

fn a_transaction_that_ends_with_its_connection_is_told_at_the_next_statement(server: &Server) {
    let ground = Ground::new(server, 2, &[]);
    ground.create_table("t (id INT PRIMARY KEY)");
    let mut session = ground.session();
    for sql in ["COMMIT", "SELECT 7", "INSERT INTO t VALUES (2)", "SELECT RELEASE_LOCK('k')"] {
        session.lock("k");
        session.run("BEGIN");
        session.run("INSERT INTO t VALUES (1)");
        ground.kill_connections();
        assert_eq!(error(&session.client.query(sql.as_bytes())), rolled_back(), "{sql}");
        // Once.
        assert_eq!(session.value("SELECT COUNT(*) FROM t").as_deref(), Some("0"), "{sql}");
        goes_on(&mut session, "k");
    }
    assert_lost(&ground, &[("rolled_back", 4.0)]);
}

fn a_rollback_after_the_end_of_the_connection_is_what_the_client_wants(server: &Server) {
    let ground = Ground::new(server, 2, &[]);
    ground.create_table("t (id INT PRIMARY KEY)");
    let mut session = ground.session();
    session.lock("k");
    session.run("BEGIN");
    session.run("INSERT INTO t VALUES (1)");
    ground.kill_connections();
    session.run("ROLLBACK");
    assert_eq!(session.value("SELECT COUNT(*) FROM t").as_deref(), Some("0"));
    goes_on(&mut session, "k");
}

/// Sends a statement, and waits until the server runs it.
fn send_and_wait(ground: &Ground, session: &mut Session, sql: &str) {
    session.send(sql);
    let mut root = ground.server().root();
    let (processes, user) = (root.processes(), &ground.tenant.name);
    let find = format!("SELECT id FROM {processes} WHERE user='{user}' AND info='{sql}'");
    let id = eventually("the server has it", || root.column(&find).pop());
    until_busy(&mut root, id.parse().expect("a number"));
}

/// Each row of the table in docs/pooling.md, by one death of the server.
fn a_client_hears_what_became_of_what_was_under_way(server: &Server) {
    let flavour = flavour_of(server);
    let own = Arc::new(OwnServer::start(flavour, options(flavour)));
    let suited = Suited::alone(&own);
    let ground = Ground::before(suited, 16, &["--idle-keep", "1h", "--pool-wait", "30s"]);
    ground.create_table("t (id INT PRIMARY KEY)");
    until_it_has_run_a_while(&own.server);
    let mut sessions: Vec<Session> = (0..7).map(|_| ground.session()).collect();
    for (n, session) in sessions.iter_mut().enumerate() {
        session.lock(&format!("k{n}"));
    }
    let [idle, waiting, running, commits, alone, half, pinned] = &mut sessions[..] else {
        panic!("seven sessions");
    };
    for (n, session) in [&mut *waiting, &mut *running, &mut *commits].into_iter().enumerate() {
        session.run("BEGIN");
        session.run(&format!("INSERT INTO t VALUES ({n})"));
    }
    pinned.run("CREATE TEMPORARY TABLE own (id INT)");
    send_and_wait(&ground, running, "SELECT SLEEP(600)");
    send_and_wait(&ground, alone, "DO SLEEP(601)");
    send_and_wait(&ground, half, "SELECT REPEAT(7, 99999) UNION ALL SELECT SLEEP(602)");
    assert!(half.client.readable_within(crate::stage::PATIENCE), "its first row");
    let mut root = own.server.root();
    root.run("FLUSH TABLES WITH READ LOCK");
    send_and_wait(&ground, commits, "COMMIT");
    own.kill();
    own.restart();
    let heard = |session: &mut Session| error(&session.client.read_response(Shape::Query));
    assert_eq!(heard(running), rolled_back());
    assert_eq!(heard(commits), unknown());
    assert_eq!(heard(alone), unknown());
    assert_eq!(half.client.read_response(Shape::Query).end, End::Closed);
    assert_eq!(error(&waiting.client.query(b"SELECT 7")), rolled_back());
    assert_eq!(pinned.client.query(b"SELECT 7").end, End::Closed);
    for (n, session) in [(0, idle), (1, waiting), (2, running), (3, commits), (4, alone)] {
        goes_on(session, &format!("k{n}"));
    }
    for lock in ["k5", "k6"] {
        eventually("the locks of ended sessions are free", || {
            ground.session().is_free(lock).then_some(())
        });
    }
    assert_lost(&ground, &[("rolled_back", 2.0), ("unknown", 2.0), ("closed", 2.0)]);
}

/// The network fails under a statement that waits for a row: the server does not notice.
fn a_client_is_answered_when_the_server_has_done_with_its_connection(server: &Server) {
    let suited = Suited::to(server);
    let link = Link::to(suited.server().port);
    let place = |port: u16| format!(":{port}");
    let url = suited.server().url.replace(&place(suited.server().port), &place(link.port()));
    let tenant = Tenant::create(suited.server(), "its password");
    let proxy = pooling(&Server::parse(&url).expect("a server"), 1, &[]);
    teach(&proxy, &tenant.account);
    let mut root = suited.server().root();
    let table = format!("{}.t", tenant.database.name);
    root.run(&format!("CREATE TABLE {table} (id INT PRIMARY KEY, n INT)"));
    root.run(&format!("INSERT INTO {table} VALUES (1,0)"));
    let [mut session, mut other] = [(); 2].map(|()| Session::of(proxy.port, &tenant.account));
    session.lock("k");
    // Its next connection tells the run of the server that its id belongs to.
    other.run("DO 0");
    session.run("BEGIN");
    session.run("INSERT INTO t VALUES (2,0)");
    root.run("BEGIN");
    root.run(&format!("UPDATE {table} SET n=1 WHERE id=1"));
    session.send("UPDATE t SET n=2 WHERE id=1");
    let (processes, user) = (root.processes(), &tenant.name);
    let find = format!("SELECT id FROM {processes} WHERE user='{user}' AND info LIKE 'UPDATE%'");
    let id = eventually("it waits for the row", || root.column(&find).pop());
    link.cut();
    let response = session.client.read_response(Shape::Query);
    assert!(!tenant.connections().contains(&id), "the server works for it still");
    assert_eq!(error(&response), rolled_back());
    root.run("ROLLBACK");
    assert_eq!(session.value("SELECT COUNT(*) FROM t").as_deref(), Some("1"));
    goes_on(&mut session, "k");
}

fn a_session_may_end_with_its_connection(server: &Server) {
    let ground = Ground::new(server, 2, &["--on-backend-loss", "disconnect", "--idle-keep", "1h"]);
    let mut session = ground.session();
    session.lock("k");
    ground.kill_connections();
    assert_eq!(session.client.query(b"SELECT 7").end, End::Closed);
    eventually("its lock is free", || ground.session().is_free("k").then_some(()));
}

/// As a server may that does not write each commit to its disk.
fn rows_that_a_restart_has_lost_end_their_sessions(server: &Server) {
    let flavour = flavour_of(server);
    let own = Arc::new(OwnServer::start(flavour, options(flavour)));
    // Rows are compared a third of a lease apart.
    let settings = ["--idle-keep", "10ms", "--lease", "5m"];
    let ground = Ground::before(Suited::alone(&own), 4, &settings);
    until_it_has_run_a_while(&own.server);
    let (mut loser, mut keeper) = (ground.session(), ground.session());
    for (session, lock) in [(&mut loser, "lost"), (&mut keeper, "kept")] {
        session.lock(lock);
    }
    ground.until_all_have_left();
    let schema = &ground.proxy.schema;
    let lose = format!("UPDATE {schema}.locks SET holder=0 WHERE name='lost' AND holder<>0");
    own.server.root().run(&lose);
    own.stop();
    own.restart();
    let words = loser.last_words().expect("an error");
    assert_eq!(words.code, 4031, "{words:?}");
    goes_on(&mut keeper, "kept");
}
