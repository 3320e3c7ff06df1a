//! Prepared statements of sessions that share connections: they follow the session.

use super::ground::{Ground, until_waiting};
use crate::own_server::flavour_of;
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{Database, on_both};
use crate::wire::response::ErrPacket;
use crate::wire::{Execute, Param, Response, render};

on_both! {
    sessions_share_a_connection_with_their_prepared_statements
    a_statement_keeps_the_schema_and_the_modes_that_it_was_prepared_in
    a_statement_that_cannot_be_prepared_again_gives_the_server_s_error
    a_statement_of_another_schema_is_refused_once_the_session_s_own_is_gone
    types_are_bound_again_on_another_connection
    changes_by_an_execution_are_taken_along
    prepared_lock_calls_follow_their_session
    a_statement_is_closed_without_a_connection
    values_sent_ahead_and_cursors_keep_the_connection
}

fn prepare(session: &mut Session, sql: &str) -> u32 {
    let response = session.client.prepare(sql.as_bytes());
    response.statement_id().unwrap_or_else(|| panic!("{sql}: {}", render::response(&response)))
}

fn execute(session: &mut Session, id: u32, params: Vec<Param>) -> Response {
    session.client.execute(id, &Execute { params, ..Execute::default() })
}

/// What an execution says, in a few words.
fn said(session: &mut Session, id: u32, params: Vec<Param>) -> String {
    render::summary(&execute(session, id, params))
}

fn text(text: &str) -> Param {
    Param::Text(text.as_bytes().to_vec())
}

/// A ground with one connection, which none of these has to itself.
fn ground(server: &Server) -> Ground {
    let ground = Ground::new(server, 1, &[]);
    ground.create_table("t (id INT PRIMARY KEY, v VARCHAR(20))");
    ground
}

/// Statements that the server keeps for the account.
fn kept(ground: &Ground) -> usize {
    let count = format!(
        "SELECT COUNT(*) FROM performance_schema.prepared_statements_instances s JOIN \
         performance_schema.threads t ON t.thread_id = s.owner_thread_id WHERE \
         t.processlist_user = '{}'",
        ground.tenant.name
    );
    ground.server().root().column(&count)[0].parse().expect("a number")
}

fn sessions_share_a_connection_with_their_prepared_statements(server: &Server) {
    const STATEMENTS: usize = 3;
    let ground = ground(server);
    let mut sessions: Vec<(Session, Vec<u32>)> = Vec::new();
    for _ in 0..5 {
        let mut session = ground.session();
        let texts = ["SELECT ?", "INSERT INTO t VALUES (?, ?)", "SELECT v FROM t WHERE id = ?"];
        let ids: Vec<u32> = texts.iter().map(|sql| prepare(&mut session, sql)).collect();
        if flavour_of(ground.server()) == Flavour::MySql {
            assert_eq!(ids, [1, 2, 3], "as on a connection of its own");
        }
        sessions.push((session, ids));
    }
    ground.until_none_is_surplus();
    for round in 0..3 {
        for (n, (session, ids)) in (0..).zip(&mut sessions) {
            let row = round * 10 + n;
            assert_eq!(said(session, ids[0], vec![Param::Long(row)]), row.to_string());
            let value = format!("v{row}");
            let params = vec![Param::Long(row), text(&value)];
            assert_eq!(said(session, ids[1], params), "OK");
            assert_eq!(said(session, ids[2], vec![Param::Long(row)]), value);
            assert!(kept(&ground) <= STATEMENTS, "those of one session");
        }
    }
    assert_eq!(ground.pins(), [""; 0]);
    assert_eq!(ground.tenant.connections().len(), 1);
    if flavour_of(ground.server()) == Flavour::MySql {
        let (session, _) = &mut sessions[0];
        assert_eq!(prepare(session, "SELECT 4"), 4, "those that were prepared again do not count");
    }
}

fn a_statement_keeps_the_schema_and_the_modes_that_it_was_prepared_in(server: &Server) {
    let ground = ground(server);
    let elsewhere = Database::create(ground.server());
    let mut root = ground.server().root();
    root.run(&format!("GRANT ALL ON {}.* TO {}", elsewhere.name, ground.tenant.name));
    root.run(&format!("CREATE TABLE {} (id INT, v VARCHAR(20))", elsewhere.table("t")));
    ground.create_table("u (x INT)");
    root.run(&format!("INSERT INTO {} VALUES (7)", ground.tenant.database.table("u")));
    let (mut session, mut other) = (ground.session(), ground.session());
    ground.until_none_is_surplus();
    session.run("SET sql_mode = 'ANSI_QUOTES', time_zone = '+03:00'");
    session.run("SET NAMES latin1 COLLATE latin1_bin");
    let of_schema = prepare(&mut session, "SELECT \"x\" FROM u");
    let response = session.client.prepare(b"SELECT HEX('\xe9'), COLLATION('a')");
    let of_charset = response.statement_id().expect("prepared");
    // Now the proxy knows the character sets.
    other.run("DO 1");
    session.run("SET NAMES utf8mb4");
    session.run("SET sql_mode = ''");
    session.run(&format!("USE {}", elsewhere.name));
    for _ in 0..2 {
        other.run("DO 1");
        assert_eq!(said(&mut session, of_schema, vec![]), "7");
        assert_eq!(said(&mut session, of_charset, vec![]), "E9 | latin1_bin");
        let today =
            "SELECT CONCAT_WS(' ', DATABASE(), @@sql_mode, @@character_set_client, @@time_zone)";
        let expected = format!("{}  utf8mb4 +03:00", elsewhere.name);
        assert_eq!(session.value(today), Some(expected), "what the session has now");
    }
    assert_eq!(ground.pins(), [""; 0]);
}

fn a_statement_that_cannot_be_prepared_again_gives_the_server_s_error(server: &Server) {
    let ground = ground(server);
    let (mut session, mut other) = (ground.session(), ground.session());
    ground.until_none_is_surplus();
    let mut direct = Session::of(ground.server().port, &ground.tenant.account);
    let error = |response: &Response| {
        let packet = response.packets.last().expect("an answer");
        let ErrPacket { code, state, message } = ErrPacket::parse(&packet.payload);
        (code, state, String::from_utf8_lossy(&message).into_owned())
    };
    ground.create_table("u (id INT)");
    let ids = [&mut session, &mut direct].map(|s| prepare(s, "SELECT v FROM t WHERE id = ?"));
    other.run("DROP TABLE t");
    let native = error(&execute(&mut direct, ids[1], vec![Param::Long(1)]));
    for _ in 0..2 {
        other.run("DO 1");
        let own = error(&execute(&mut session, ids[0], vec![Param::Long(1)]));
        assert_eq!(own, native);
        // Nobody can ask for the error any more.
        session.run("SELECT COUNT(*) FROM u");
    }
    session.client.send_long_data(ids[0], 0, b"1");
    assert_eq!(session.client.reset_statement(ids[0]).error(), None);
    session.run("SELECT COUNT(*) FROM u");
    other.run("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20))");
    other.run("INSERT INTO t VALUES (1, 'again')");
    assert_eq!(said(&mut session, ids[0], vec![Param::Long(1)]), "again");
}

/// The connection on which it is prepared again could not be led back.
fn a_statement_of_another_schema_is_refused_once_the_session_s_own_is_gone(server: &Server) {
    let ground = ground(server);
    let own = Database::create(ground.server());
    let mut root = ground.server().root();
    root.run(&format!("GRANT ALL ON {}.* TO {}", own.name, ground.tenant.name));
    let home = &ground.tenant.database;
    root.run(&format!("INSERT INTO {} VALUES (1, 'one')", home.table("t")));
    let (mut session, mut other) = (ground.session(), ground.session());
    ground.until_none_is_surplus();
    let id = prepare(&mut session, "SELECT v FROM t");
    session.run(&format!("USE {}", own.name));
    session.run("SET @x = 5");
    other.run("DO 1");
    root.run(&format!("DROP DATABASE {}", own.name));
    for _ in 0..2 {
        assert_eq!(said(&mut session, id, vec![]), "ERR 1049/42000");
        // Nor is it left in the statement's schema.
        assert!(session.client.query(b"SELECT v FROM t").error().is_some());
        assert_eq!(session.value("SELECT @x").as_deref(), Some("5"));
        other.run("DO 1");
    }
    root.run(&format!("CREATE DATABASE {}", own.name));
    assert_eq!(said(&mut session, id, vec![]), "one");
    assert_eq!(session.value("SELECT DATABASE()").as_deref(), Some(&*own.name));
}

fn types_are_bound_again_on_another_connection(server: &Server) {
    let ground = ground(server);
    let (mut session, mut other) = (ground.session(), ground.session());
    ground.until_none_is_surplus();
    let id = prepare(&mut session, "SELECT CONCAT(?, '/', ?)");
    let mut run = |other: &mut Session, params: Vec<Param>, keep_types: bool| {
        other.run("DO 1");
        let execution = Execute { params, keep_types, ..Execute::default() };
        render::summary(&session.client.execute(id, &execution))
    };
    let first = run(&mut other, vec![Param::Long(-5), text("a")], false);
    assert_eq!(first, "-5/a");
    for n in 1..4 {
        let again = run(&mut other, vec![Param::Long(-n), text("b")], true);
        assert_eq!(again, format!("-{n}/b"));
    }
    let others = run(&mut other, vec![text("x"), Param::LongLong(8)], false);
    assert_eq!(others, "x/8");
    assert_eq!(run(&mut other, vec![text("y"), Param::Null], true), "NULL");
}

fn changes_by_an_execution_are_taken_along(server: &Server) {
    let ground = ground(server);
    let (mut session, mut other) = (ground.session(), ground.session());
    ground.until_none_is_surplus();
    let into = prepare(&mut session, "SELECT ? INTO @x");
    let zone = prepare(&mut session, "SET time_zone = ?");
    for n in 1..4 {
        said(&mut session, into, vec![Param::Long(n)]);
        other.run("SET @x = 'a stranger'");
        assert_eq!(session.value("SELECT @x"), Some(n.to_string()));
        let hours = format!("+0{n}:00");
        said(&mut session, zone, vec![text(&hours)]);
        other.run("DO 1");
        assert_eq!(session.value("SELECT @@time_zone"), Some(hours));
    }
}

fn prepared_lock_calls_follow_their_session(server: &Server) {
    let ground = ground(server);
    let mut sessions: Vec<(Session, u32, u32)> = Vec::new();
    for _ in 0..3 {
        let mut session = ground.session();
        let get = prepare(&mut session, "SELECT GET_LOCK(?, ?)");
        let release = prepare(&mut session, "SELECT RELEASE_LOCK(?)");
        sessions.push((session, get, release));
    }
    ground.until_none_is_surplus();
    for _ in 0..2 {
        for (n, (session, get, _)) in sessions.iter_mut().enumerate() {
            let params = vec![text(&format!("k{n}")), Param::Long(0)];
            assert_eq!(said(session, *get, params), "1");
            let taken = vec![text(&format!("k{}", (n + 1) % 3)), Param::Long(0)];
            let others = said(session, *get, taken.clone());
            assert_eq!(others, if n == 2 { "0" } else { "1" });
            if n < 2 {
                session.run(&format!("DO RELEASE_LOCK('k{}')", n + 1));
            }
        }
        for (n, (session, _, release)) in sessions.iter_mut().enumerate() {
            assert_eq!(said(session, *release, vec![text(&format!("k{n}"))]), "1");
        }
    }
    // One that waits for a lock leaves its connection to the others.
    let [(holder, get, release), (waiter, waiting, _), _] = &mut sessions[..] else { return };
    let params = |timeout| vec![text("k"), Param::Long(timeout)];
    assert_eq!(said(holder, *get, params(0)), "1");
    let execution = Execute { params: params(60), ..Execute::default() };
    waiter.client.send_execute(*waiting, &execution);
    until_waiting(&ground.proxy, 1);
    assert_eq!(said(holder, *release, vec![text("k")]), "1");
    let got = waiter.client.read_response(crate::wire::Shape::Execute);
    assert_eq!(render::summary(&got), "1");
    assert_eq!(ground.pins(), [""; 0]);
}

fn a_statement_is_closed_without_a_connection(server: &Server) {
    let ground = ground(server);
    let (mut session, mut other) = (ground.session(), ground.session());
    ground.until_none_is_surplus();
    let closed = prepare(&mut session, "SELECT 1");
    let open = prepare(&mut session, "SELECT ?");
    let call = prepare(&mut session, "SELECT GET_LOCK(?, 0)");
    other.run("BEGIN");
    other.run("INSERT INTO t VALUES (1, 'x')");
    session.client.close_statement(closed);
    session.client.close_statement(call);
    other.run("COMMIT");
    let refused = execute(&mut session, closed, vec![]);
    let packet = refused.packets.last().expect("an answer");
    let ErrPacket { code, message, .. } = ErrPacket::parse(&packet.payload);
    let message = String::from_utf8_lossy(&message).into_owned();
    assert_eq!(code, 1243, "{message}");
    assert!(message.contains(&format!("({closed})")), "{message}");
    assert_eq!(execute(&mut session, call, vec![text("k")]).error(), Some(1243));
    assert_eq!(said(&mut session, open, vec![text("goes on")]), "goes on");
}

fn values_sent_ahead_and_cursors_keep_the_connection(server: &Server) {
    let ground = ground(server);
    let mut session = ground.session();
    session.run("INSERT INTO t VALUES (1, 'a'), (2, 'b')");
    let long = prepare(&mut session, "SELECT ?");
    let rows = prepare(&mut session, "SELECT v FROM t ORDER BY id");
    let pinned = |ground: &Ground, reason: &str| {
        // The proxy's page shows what was so between two commands.
        ground.pins().iter().any(|pin| pin.contains(reason))
    };
    session.client.send_long_data(long, 0, b"ahead");
    session.client.ping();
    assert!(pinned(&ground, "long_data"), "{:?}", ground.pins());
    let execution = Execute { params: vec![Param::LongData(253)], ..Execute::default() };
    assert_eq!(render::summary(&session.client.execute(long, &execution)), "ahead");
    session.client.ping();
    assert!(!pinned(&ground, "long_data"), "{:?}", ground.pins());
    let cursor = Execute { cursor: 1, ..Execute::default() };
    assert_eq!(session.client.execute(rows, &cursor).error(), None);
    session.client.ping();
    assert!(pinned(&ground, "cursor"), "{:?}", ground.pins());
    let row = session.client.fetch(rows, 1);
    assert!(row.packets[0].payload.ends_with(b"a"), "{}", render::response(&row));
    session.client.fetch(rows, 5);
    session.client.ping();
    assert_eq!(ground.pins(), [""; 0]);
}
