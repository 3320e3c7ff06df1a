//! The end of a session's connection: the reply to its client, and whether its locks are kept.

use std::sync::Arc;
use std::time::Duration;

use super::endings::until_it_has_run_a_while;
use super::ground::{Ground, Suited, Tenant, options, pooling, teach};
use crate::link::{Link, Way};
use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::Proxy;
use crate::script::Server;
use crate::session::{Session, until_busy};
use crate::stage::{eventually, on_both};
use crate::wire::response::ErrPacket;
use crate::wire::{End, Execute, Response, Shape, render};

on_both! {
    a_transaction_that_ends_with_its_connection_is_told_at_the_next_statement
    a_rollback_after_the_end_of_the_connection_is_what_the_client_wants
    a_client_hears_what_became_of_what_was_under_way
    an_execution_hears_the_same_as_its_text
    a_call_that_has_failed_ends_its_session_with_the_connection
    a_client_is_answered_when_the_server_has_done_with_its_connection
    no_call_is_answered_after_a_release
    a_get_lock_that_ends_with_an_error_takes_no_lock
    an_insert_id_does_not_go_back_with_a_lost_connection
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

/// Each row of the table in docs/pooling-reference.md, by one death of the server.
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

/// Prepares a statement of the protocol.
fn prepare(session: &mut Session, sql: &str) -> u32 {
    session.client.prepare(sql.as_bytes()).statement_id().expect("prepared")
}

/// Waits until the server runs so many statements of the account in such a state.
fn until_running(ground: &Ground, state: &str, count: usize) {
    let mut root = ground.server().root();
    let (processes, user) = (root.processes(), &ground.tenant.name);
    let find = format!("SELECT id FROM {processes} WHERE user='{user}' AND state LIKE '{state}'");
    eventually("the server runs it", || (root.column(&find).len() >= count).then_some(()));
}

/// Executions by the id of a statement, and a PREPARE, by one death of the server.
fn an_execution_hears_the_same_as_its_text(server: &Server) {
    const COM_STMT_PREPARE: u8 = 0x16;
    let flavour = flavour_of(server);
    let own = Arc::new(OwnServer::start(flavour, options(flavour)));
    let suited = Suited::alone(&own);
    let ground = Ground::before(suited, 16, &["--idle-keep", "1h", "--pool-wait", "30s"]);
    for table in ["t (id INT PRIMARY KEY)", "locked (id INT)"] {
        ground.create_table(table);
    }
    until_it_has_run_a_while(&own.server);
    let cases = [
        ("SELECT SLEEP(600)", true, rolled_back()),
        ("INSERT INTO t SELECT 7 + SLEEP(600)", true, rolled_back()),
        ("SELECT SLEEP(600), CONNECTION_ID()", true, rolled_back()),
        ("CREATE TABLE u AS SELECT SLEEP(600) AS x", true, unknown()),
        ("SELECT SLEEP(600)", false, unknown()),
    ];
    let mut sessions: Vec<Session> = Vec::new();
    for (n, (sql, transaction, _)) in cases.iter().enumerate() {
        let mut session = ground.session();
        session.lock(&format!("k{n}"));
        let id = prepare(&mut session, sql);
        if *transaction {
            session.run("BEGIN");
            session.run(&format!("INSERT INTO t VALUES ({n})"));
        }
        session.client.send_execute(id, &Execute::default());
        sessions.push(session);
    }
    until_running(&ground, "User sleep", cases.len());
    let mut preparing = ground.session();
    preparing.lock("p");
    let (mut reads, mut alters) = (ground.session(), ground.session());
    reads.run("BEGIN");
    assert_eq!(reads.value("SELECT COUNT(*) FROM locked").as_deref(), Some("0"));
    alters.send("ALTER TABLE locked ADD COLUMN v INT");
    until_running(&ground, "Waiting for table%", 1);
    preparing.client.send(&[&[COM_STMT_PREPARE][..], b"SELECT id FROM locked"].concat());
    until_running(&ground, "Waiting for table%", 2);
    own.kill();
    own.restart();
    for (n, (session, (sql, transaction, expected))) in sessions.iter_mut().zip(cases).enumerate() {
        let response = session.client.read_response(Shape::Execute);
        assert_eq!(error(&response), expected, "{sql} {transaction}");
        // The fourth has committed.
        let left = session.value("SELECT COUNT(*) FROM t WHERE id <> 3");
        assert_eq!(left.as_deref(), Some("0"));
        goes_on(session, &format!("k{n}"));
    }
    // The PREPARE that was lost is not taken for the next one.
    assert_eq!(error(&preparing.client.read_response(Shape::Prepare)), unknown());
    let seven = prepare(&mut preparing, "SELECT 7");
    ground.kill_connections();
    let response = preparing.client.execute(seven, &Execute::default());
    assert_eq!(render::summary(&response), "7");
    goes_on(&mut preparing, "p");
    assert_lost(&ground, &[("rolled_back", 4.0), ("unknown", 4.0)]);
}

/// A CALL may have committed the transaction, though an error says nothing of that.
fn a_call_that_has_failed_ends_its_session_with_the_connection(server: &Server) {
    let ground = Ground::new(server, 2, &[]);
    ground.create_table("t (id INT PRIMARY KEY)");
    let database = &ground.tenant.database.name;
    ground.server().root().run(&format!(
        "CREATE PROCEDURE {database}.commits() BEGIN COMMIT; INSERT INTO t VALUES (2), (2); END"
    ));
    let mut session = ground.session();
    let call = prepare(&mut session, "CALL commits()");
    session.lock("k");
    session.run("BEGIN");
    session.run("INSERT INTO t VALUES (1)");
    assert_eq!(error(&session.client.execute(call, &Execute::default())).0, 1062);
    ground.kill_connections();
    assert_eq!(session.client.query(b"SELECT 7").end, End::Closed);
    let mut other = ground.session();
    assert_eq!(other.value("SELECT COUNT(*) FROM t WHERE id = 1").as_deref(), Some("1"));
    eventually("its lock is free", || other.is_free("k").then_some(()));
    assert_lost(&ground, &[("closed", 1.0)]);
}

/// A proxy that reaches the server by this link, and an account whose password it knows.
fn through(link: &Link, suited: &Suited, size: u32, extra: &[&str]) -> (Proxy, Tenant) {
    let tenant = Tenant::create(suited.server(), "its password");
    let server = Server::parse(&url_through(link, suited)).expect("a server");
    let proxy = pooling(&server, size, extra);
    teach(&proxy, &tenant.account);
    (proxy, tenant)
}

fn url_through(link: &Link, suited: &Suited) -> String {
    let place = |port: u16| format!(":{port}");
    suited.server().url.replace(&place(suited.server().port), &place(link.port()))
}

/// The end of the connection comes later than the OK, and the proxy can answer this call by itself.
fn no_call_is_answered_after_a_release(server: &Server) {
    let suited = Suited::to(server);
    for pooling in ["session", "transaction"] {
        let link = Link::to(suited.server().port);
        let options = ["--pooling", pooling, "--mode", "durable"];
        let proxy = Proxy::start(&url_through(&link, &suited), &options);
        let tenant = Tenant::create(suited.server(), "its password");
        let mut session = Session::of(proxy.port, &tenant.account);
        assert_eq!(session.client.set_option(0).error(), None);
        link.delay(Way::ToClient, Duration::from_millis(100));
        let response = session.client.query(b"COMMIT RELEASE; DO RELEASE_ALL_LOCKS()");
        assert_eq!((response.packets.len(), response.end), (1, End::Closed), "{pooling}");
    }
}

/// The lock would not be released: a client that gets an error does not know that it has one.
fn a_get_lock_that_ends_with_an_error_takes_no_lock(server: &Server) {
    let suited = Suited::to(server);
    let link = Link::to(suited.server().port);
    let (proxy, tenant) = through(&link, &suited, 2, &[]);
    let mut session = Session::of(proxy.port, &tenant.account);
    // In braces: the server is asked for the answer.
    let prepared = prepare(&mut session, "SELECT {fn GET_LOCK('k', 0)}");
    for transaction in [false, true] {
        for executes in [false, true] {
            for held in [false, true] {
                let case = format!("{transaction} {executes} {held}");
                if held {
                    session.lock("k");
                }
                if transaction {
                    session.run("BEGIN");
                }
                // As the answer is worded.
                link.lose_the_reply_to(b"SLEEP(0)");
                let response = if executes {
                    session.client.execute(prepared, &Execute::default())
                } else {
                    session.client.query(b"SELECT {fn GET_LOCK('k', 0)}")
                };
                assert!(link.has_lost_it(), "{case}");
                let expected = if transaction { rolled_back() } else { unknown() };
                assert_eq!(error(&response), expected, "{case}");
                let id = held.then(|| session.id().to_string());
                assert_eq!(session.value("SELECT IS_USED_LOCK('k')"), id, "{case}");
                if held {
                    session.unlock("k");
                }
                assert!(Session::of(proxy.port, &tenant.account).is_free("k"), "{case}");
            }
        }
    }
}

/// The network fails under a statement that waits for a row: the server does not notice.
fn a_client_is_answered_when_the_server_has_done_with_its_connection(server: &Server) {
    let suited = Suited::to(server);
    let link = Link::to(suited.server().port);
    let (proxy, tenant) = through(&link, &suited, 1, &[]);
    let mut root = suited.server().root();
    let table = format!("{}.t", tenant.database.name);
    root.run(&format!("CREATE TABLE {table} (id INT PRIMARY KEY, n INT)"));
    root.run(&format!("INSERT INTO {table} VALUES (1,0)"));
    let [mut session, mut other] = [(); 2].map(|()| Session::of(proxy.port, &tenant.account));
    session.lock("k");
    // The session's next connection tells the run of the server that its id belongs to.
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

/// LAST_INSERT_ID() is no part of the transaction. Nobody asks for it after each statement of a session without locks.
fn an_insert_id_does_not_go_back_with_a_lost_connection(server: &Server) {
    let ground = Ground::new(server, 2, &["--idle-keep", "10ms"]);
    ground.create_table("t (id INT AUTO_INCREMENT PRIMARY KEY)");
    for (first, locks) in [(1, true), (3, false)] {
        let mut session = ground.session();
        session.run("INSERT INTO t VALUES ()");
        ground.until_all_have_left();
        if locks {
            session.lock("k");
        }
        session.run("BEGIN");
        session.run("INSERT INTO t VALUES ()");
        session.run("SELECT 7");
        ground.kill_connections();
        let response = session.client.query(b"SELECT 7");
        if !locks {
            assert_eq!(response.end, End::Closed, "{response:?}");
            continue;
        }
        assert_eq!(error(&response), rolled_back());
        let id = Some((first + 1).to_string());
        assert_eq!(session.value("SELECT LAST_INSERT_ID()"), id);
        goes_on(&mut session, "k");
    }
    assert_lost(&ground, &[("rolled_back", 1.0), ("closed", 1.0)]);
    let in_doubt = "lockstead_sessions_lost_total{reason=\"in_doubt\"}";
    assert!((ground.proxy.metric(in_doubt) - 1.0).abs() < 0.5);
    let line = "a session ends with its connection to the server";
    assert_eq!(ground.proxy.log().matches(line).count(), 1);
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
