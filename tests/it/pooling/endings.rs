//! Ends in the middle of something: of a client, of the server.

use std::sync::Arc;

use super::ground::{Ground, Suited, WAYS, options, until_waiting};
use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::Proxy;
use crate::script::{Flavour, Server};
use crate::session::{Session, until_busy};
use crate::stage::{eventually, on_both};
use crate::wire::{End, Execute, Response, Shape};

on_both! {
    a_client_that_vanishes_from_a_transaction_leaves_no_row_lock_and_then_no_lock
    a_client_that_vanishes_from_a_statement_leaves_room
    a_release_ends_the_session_as_on_the_server
    a_release_among_several_statements_is_as_on_the_server
    sessions_without_a_connection_outlive_a_restart_of_the_server
    sessions_that_hold_locks_outlive_a_restart_of_the_server
    sessions_that_speak_right_after_a_restart_go_on
}

fn a_client_that_vanishes_from_a_transaction_leaves_no_row_lock_and_then_no_lock(server: &Server) {
    let ground = Ground::new(server, 1, &[]);
    ground.create_table("t (id INT PRIMARY KEY)");
    for (way, leave) in WAYS {
        let (mut leaver, mut waiter) = (ground.session(), ground.session());
        waiter.run("SET innodb_lock_wait_timeout = 1");
        leaver.lock("k");
        waiter.ask_for("k");
        until_waiting(&ground.proxy, 1);
        leaver.run("BEGIN");
        leaver.run("INSERT INTO t VALUES (1)");
        leave(leaver);
        println!("left by {way}");
        waiter.gets_it();
        // Waits for nobody.
        waiter.run("INSERT INTO t VALUES (1)");
        waiter.run("DELETE FROM t");
        waiter.unlock("k");
        assert_eq!(ground.session().value("SELECT 7").as_deref(), Some("7"));
        ground.tenant.only_connection();
    }
}

fn a_release_ends_the_session_as_on_the_server(server: &Server) {
    let ground = Ground::new(server, 2, &["--idle-keep", "50ms"]);
    for port in [ground.server().port, ground.proxy.port] {
        let session = || Session::of(port, &ground.tenant.account);
        let (mut leaver, mut waiter) = (session(), session());
        leaver.run("SET completion_type = 'RELEASE'");
        leaver.run("COMMIT NO RELEASE");
        leaver.lock("k");
        leaver.run("COMMIT");
        let end = leaver.client.read_until_closed();
        assert_eq!((end.error(), end.end), (None, End::Closed));
        waiter.ask_for("k");
        waiter.gets_it();
        for text in ["COMMIT RELEASE", "ROLLBACK WORK AND NO CHAIN RELEASE"] {
            for prepared in [false, true] {
                let mut leaver = session();
                leaver.lock(text);
                leaver.run("BEGIN");
                let response = if prepared {
                    let release = leaver.client.prepare(text.as_bytes());
                    let release = release.statement_id().expect("prepared");
                    leaver.client.execute(release, &Execute::default())
                } else {
                    leaver.client.query(text.as_bytes())
                };
                assert_eq!(response.error(), None, "{text} {prepared}");
                let end = leaver.client.read_until_closed();
                assert_eq!((end.error(), end.end), (None, End::Closed), "{text} {prepared}");
                waiter.ask_for(text);
                waiter.gets_it();
                waiter.unlock(text);
            }
        }
    }
}

/// What the client gets: packets, and how its session ends.
fn ending(mut session: Session, text: &str) -> Vec<String> {
    let response = session.client.query(text.as_bytes());
    let shown = |response: &Response| {
        let packets = response
            .packets
            .iter()
            .map(|packet| format!("{:?} {:02x?}", packet.kind, packet.payload));
        let end = format!("{:?}", response.end);
        packets.chain([end]).collect::<Vec<_>>()
    };
    let mut said = shown(&response);
    if response.end == End::Complete {
        session.client.send_query(b"SELECT 7", &[]);
        said.extend(shown(&session.client.read_response(Shape::Query)));
    }
    said
}

fn a_release_among_several_statements_is_as_on_the_server(server: &Server) {
    let ground = Ground::new(server, 2, &["--idle-keep", "50ms"]);
    let own = Proxy::start(&ground.server().url, &["--mode", "durable"]);
    let schema = &ground.tenant.database.name;
    ground.server().root().run(&format!("CREATE PROCEDURE {schema}.p() COMMIT RELEASE"));
    let mut texts = vec![
        "COMMIT RELEASE; SELECT 1",
        "SELECT 1; COMMIT RELEASE",
        "SELECT 1; SELECT 2; ROLLBACK AND NO CHAIN RELEASE; ",
        "SET completion_type = 'RELEASE'; COMMIT",
        "SET completion_type = 'RELEASE'; COMMIT; SELECT 1",
        "SET completion_type = 'RELEASE'; COMMIT NO RELEASE; SELECT 1",
        "SELECT 1; COMMIT",
        "COMMIT RELEASE; nonsense",
        "nonsense; COMMIT RELEASE",
        "COMMIT -- a comment\n RELEASE",
        "COMMIT /*! RELEASE */",
        "DO GET_LOCK('k', 0); COMMIT RELEASE",
        "DO GET_LOCK('k', 0); COMMIT RELEASE; SELECT 1",
        "COMMIT RELEASE; DO GET_LOCK('k', 0)",
        "SELECT 1; DO RELEASE_LOCK('k'); SELECT 2; ROLLBACK RELEASE",
        "PREPARE s FROM 'COMMIT RELEASE'; EXECUTE s",
        "PREPARE s FROM 'COMMIT RELEASE'; EXECUTE s; SELECT 1",
        "CALL p()",
        "CALL p(); SELECT 1",
        "SELECT 1; CALL p()",
    ];
    if flavour_of(server) == Flavour::MariaDb {
        texts.extend([
            "EXECUTE IMMEDIATE 'ROLLBACK RELEASE'",
            "BEGIN NOT ATOMIC COMMIT RELEASE; END",
        ]);
    }
    for text in texts {
        let begun = |port: u16| {
            let mut session = Session::of(port, &ground.tenant.account);
            assert_eq!(session.client.set_option(0).error(), None);
            session.run("BEGIN");
            session
        };
        let direct = ending(begun(ground.server().port), text);
        for (pooling, proxy) in [("transaction", &ground.proxy), ("session", &own)] {
            assert_eq!(ending(begun(proxy.port), text), direct, "{pooling}: {text}");
        }
        // Nothing of it stays.
        let mut other = ground.session();
        other.ask_for("k");
        other.gets_it();
        other.unlock("k");
    }
    // By itself, prepared in SQL before.
    for port in [ground.server().port, ground.proxy.port] {
        for text in ["EXECUTE s", "SELECT 1; EXECUTE s"] {
            let mut session = Session::of(port, &ground.tenant.account);
            assert_eq!(session.client.set_option(0).error(), None);
            session.run("PREPARE s FROM 'ROLLBACK RELEASE'");
            session.run("BEGIN");
            assert_eq!(session.client.query(text.as_bytes()).error(), None, "{text}");
            let end = session.client.read_until_closed();
            assert_eq!((end.error(), end.end), (None, End::Closed), "{text}");
        }
    }
}

fn a_client_that_vanishes_from_a_statement_leaves_room(server: &Server) {
    let ground = Ground::new(server, 1, &["--pool-wait", "20s"]);
    ground.create_table("t (id INT PRIMARY KEY)");
    for (way, leave) in &WAYS[1..] {
        let (mut leaver, mut waiter) = (ground.session(), ground.session());
        waiter.run("SET innodb_lock_wait_timeout = 1");
        leaver.lock("k");
        waiter.ask_for("k");
        until_waiting(&ground.proxy, 1);
        leaver.run("BEGIN");
        leaver.run("INSERT INTO t VALUES (1)");
        leaver.send("DO SLEEP(600)");
        let connection = ground.tenant.only_connection().parse().expect("a number");
        until_busy(&mut ground.server().root(), connection);
        leave(leaver);
        println!("left by {way}");
        waiter.gets_it();
        waiter.run("INSERT INTO t VALUES (1)");
        waiter.run("DELETE FROM t");
        waiter.unlock("k");
        assert_eq!(ground.session().value("SELECT 7").as_deref(), Some("7"));
        ground.tenant.only_connection();
    }
}

/// Two starts of a server within two seconds cannot be told apart.
pub(super) fn until_it_has_run_a_while(server: &Server) {
    let schema = match flavour_of(server) {
        Flavour::MySql => "performance_schema",
        Flavour::MariaDb => "information_schema",
    };
    let uptime = format!(
        "SELECT VARIABLE_VALUE > 3 FROM {schema}.global_status WHERE VARIABLE_NAME='Uptime'"
    );
    eventually("the server has run a while", || {
        (server.root().column(&uptime) == ["1"]).then_some(())
    });
}

/// A pool before a server of its own, with sessions that have left their connections.
fn before_a_restart(server: &Server) -> (Arc<OwnServer>, Ground, Vec<Session>) {
    let flavour = flavour_of(server);
    let own = Arc::new(OwnServer::start(flavour, options(flavour)));
    let ground = Ground::before(Suited::alone(&own), 2, &["--idle-keep", "100ms"]);
    let sessions = (0..4).map(|_| ground.session()).collect();
    until_it_has_run_a_while(&own.server);
    (own, ground, sessions)
}

/// Restarts the server, and waits until the proxy has noticed it.
fn restart(own: &OwnServer, ground: &Ground) {
    restart_and(own, ground, || {});
}

/// Restarts the server, and does `meanwhile` again and again until the proxy has noticed.
fn restart_and(own: &OwnServer, ground: &Ground, mut meanwhile: impl FnMut()) {
    let noticed = || ground.proxy.log().matches("the server was restarted").count();
    let before = noticed();
    own.stop();
    own.restart();
    eventually("the proxy notices", || {
        meanwhile();
        (noticed() > before).then_some(())
    });
}

fn sessions_without_a_connection_outlive_a_restart_of_the_server(server: &Server) {
    let (own, ground, mut sessions) = before_a_restart(server);
    for (n, session) in sessions.iter_mut().enumerate() {
        session.run(&format!("SET @x = {n}"));
    }
    ground.until_all_have_left();
    restart(&own, &ground);
    for (n, session) in sessions.iter_mut().enumerate() {
        assert_eq!(session.value("SELECT @x"), Some(n.to_string()));
        session.ask_for(&format!("k{n}"));
        session.gets_it();
    }
    for (n, session) in sessions.iter_mut().enumerate() {
        session.unlock(&format!("k{n}"));
    }
}

/// The sessions' locks are rows, and nothing of theirs ran at the server.
fn sessions_that_hold_locks_outlive_a_restart_of_the_server(server: &Server) {
    let (own, ground, mut sessions) = before_a_restart(server);
    for (n, session) in sessions.iter_mut().enumerate() {
        session.lock(&format!("k{n}"));
    }
    ground.until_all_have_left();
    restart(&own, &ground);
    for (n, session) in sessions.iter_mut().enumerate() {
        let id = Some(session.id().to_string());
        assert_eq!(session.value(&format!("SELECT IS_USED_LOCK('k{n}')")), id);
        session.unlock(&format!("k{n}"));
    }
}

/// On connections that the proxy opens before it has noticed the restart.
fn sessions_that_speak_right_after_a_restart_go_on(server: &Server) {
    let (own, ground, mut sessions) = before_a_restart(server);
    for (n, session) in sessions.iter_mut().enumerate() {
        session.run(&format!("SET @x = {n}"));
    }
    ground.until_all_have_left();
    restart_and(&own, &ground, || {
        for (n, session) in sessions.iter_mut().enumerate() {
            assert_eq!(session.value("SELECT @x"), Some(n.to_string()));
        }
    });
    for (n, session) in sessions.iter_mut().enumerate() {
        assert_eq!(session.value("SELECT @x"), Some(n.to_string()));
        session.ask_for(&format!("k{n}"));
        session.gets_it();
    }
}
