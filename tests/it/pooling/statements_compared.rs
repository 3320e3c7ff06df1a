//! Prepared statements of a session that moves between two commands, packet by packet as those of a session of its own.

use super::ground::Ground;
use crate::own_server::flavour_of;
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{eventually, on_both};
use crate::wire::{Execute, Param, Response, Shape, capability, command, render};

on_both! {
    bulk_executions_follow_their_session
    the_last_statement_is_meant_by_its_number
    a_client_that_keeps_definitions_of_columns_gets_those_of_another_connection
    an_execution_without_types_is_the_server_s_to_judge
    types_that_do_not_fit_into_a_packet_are_refused
    a_strange_id_means_nobody_s_statement
    a_session_keeps_so_many_statements
}

/// Statements that a session keeps.
const MOST_STATEMENTS: u32 = 1000;

/// A session with shared connections, and one directly at the server. A third one takes the connection of the first.
struct Pair {
    ground: Ground,
    shared: Session,
    direct: Session,
    other: Session,
}

impl Pair {
    fn new(server: &Server, capabilities: u64) -> Self {
        let ground = Ground::new(server, 1, &[]);
        ground.create_table("t (id INT PRIMARY KEY, v VARCHAR(20))");
        ground.create_table("u (id INT PRIMARY KEY, v VARCHAR(20))");
        let mut account = ground.tenant.account.clone();
        account.capabilities |= capabilities;
        let shared = Session::of(ground.proxy.port, &account);
        let direct = Session::of(ground.server().port, &account);
        let other = Session::of(ground.proxy.port, &account);
        ground.until_none_is_surplus();
        Self { ground, shared, direct, other }
    }

    /// Takes the connection from the session, and leaves another one's traces there.
    fn move_on(&mut self) {
        // Nobody can ask for an error any more.
        self.both(|session| session.client.query(b"SELECT COUNT(*) FROM t WHERE id < 0"));
        self.other.run("SET @x = 'a stranger', sql_mode = 'ANSI'");
        self.other.client.prepare(b"SELECT 'a stranger'");
    }

    fn until_nothing_pins(&mut self) {
        self.shared.client.ping();
        let ground = &self.ground;
        eventually("nothing keeps the connection", || ground.pins().is_empty().then_some(()));
    }

    fn until_statements_pin(&self) {
        let pins = || self.ground.pins().iter().any(|pin| pin.contains("prepared")).then_some(());
        eventually("a statement keeps the connection", pins);
    }

    /// Runs a command on both, which answer with equal packets. Returns the answer.
    fn both(&mut self, run: impl Fn(&mut Session) -> Response) -> Response {
        let own = run(&mut self.shared);
        let native = run(&mut self.direct);
        let payloads =
            |of: &Response| of.packets.iter().map(|p| p.payload.clone()).collect::<Vec<_>>();
        assert_eq!(
            payloads(&own),
            payloads(&native),
            "{}\ninstead of\n{}",
            render::response(&own),
            render::response(&native)
        );
        own
    }

    /// A statement that both prepare: the id that each has.
    fn prepare(&mut self, sql: &str) -> [u32; 2] {
        [&mut self.shared, &mut self.direct].map(|session| {
            let response = session.client.prepare(sql.as_bytes());
            response.statement_id().unwrap_or_else(|| panic!("{sql}"))
        })
    }

    /// Executes what both have prepared.
    fn execute(&mut self, ids: [u32; 2], execution: &Execute) -> Response {
        let own = self.shared.client.execute(ids[0], execution);
        let native = self.direct.client.execute(ids[1], execution);
        let payloads =
            |of: &Response| of.packets.iter().map(|p| p.payload.clone()).collect::<Vec<_>>();
        assert_eq!(payloads(&own), payloads(&native), "{}", render::response(&own));
        own
    }
}

fn values(params: Vec<Param>) -> Execute {
    Execute { params, ..Execute::default() }
}

fn is_mysql(pair: &Pair) -> bool {
    flavour_of(pair.ground.server()) == Flavour::MySql
}

fn bulk_executions_follow_their_session(server: &Server) {
    const BULK_EXECUTE: u8 = 0xfa;
    const SENDS_TYPES: u8 = 128;
    let mut pair = Pair::new(server, capability::MARIADB_BULK);
    if is_mysql(&pair) {
        return;
    }
    let ids = [("t", &mut pair.shared), ("u", &mut pair.direct)].map(|(table, session)| {
        let sql = format!("INSERT INTO {table} VALUES (?, ?)");
        session.client.prepare(sql.as_bytes()).statement_id().expect("prepared")
    });
    // Rows of an INT and a string, none of them NULL.
    let rows = |from: u32| {
        let row = |n: u32| [b"\0", &n.to_le_bytes()[..], b"\0\x01v"].concat();
        (from..from + 3).flat_map(row).collect::<Vec<u8>>()
    };
    for round in 0..4 {
        pair.move_on();
        let types: &[u8] = if round == 0 { &[SENDS_TYPES, 0, 3, 0, 253, 0] } else { &[0, 0] };
        let bulk = |session: &mut Session, id: u32| {
            let body = [&id.to_le_bytes()[..], types, &rows(round * 10)].concat();
            session.client.command(BULK_EXECUTE, &body, Shape::One)
        };
        let (own, native) = (bulk(&mut pair.shared, ids[0]), bulk(&mut pair.direct, ids[1]));
        assert_eq!(own.packets[0].payload, native.packets[0].payload, "{}", render::response(&own));
        assert_eq!(own.error(), None, "{}", render::response(&own));
    }
    let count = "SELECT COUNT(*) FROM t JOIN u USING (id, v)";
    assert_eq!(pair.shared.value(count).as_deref(), Some("12"));
}

fn the_last_statement_is_meant_by_its_number(server: &Server) {
    const LAST: u32 = u32::MAX;
    let mut pair = Pair::new(server, 0);
    // MySQL knows no such number.
    let execute = |session: &mut Session, text: &str| {
        let execution = values(vec![Param::Text(text.as_bytes().to_vec())]);
        session.client.send_execute(LAST, &execution);
        session.client.read_response(Shape::Execute)
    };
    let pipelined = |session: &mut Session, sql: &[u8], text: &str| {
        session.client.send(&[&[command::STMT_PREPARE], sql].concat());
        let execution = values(vec![Param::Text(text.as_bytes().to_vec())]);
        session.client.send_execute(LAST, &execution);
        let prepared = session.client.read_response(Shape::Prepare);
        let executed = session.client.read_response(Shape::Execute);
        (prepared, executed)
    };
    for n in 0..3 {
        pair.move_on();
        pair.both(|session| pipelined(session, b"SELECT ?, 'last'", &format!("pipelined {n}")).1);
        pair.move_on();
        pair.both(|session| execute(session, "moved"));
        pair.both(|session| execute(session, "not moved"));
    }
    // One that cannot be prepared.
    pair.move_on();
    pair.both(|session| pipelined(session, b"SELECT ? FROM nosuch", "x").0);
    pair.both(|session| execute(session, "after an error"));
    pair.move_on();
    pair.both(|session| execute(session, "after an error and a move"));
    // One that is closed.
    let ids = pair.prepare("SELECT ?, 'closed'");
    pair.shared.client.close_statement(ids[0]);
    pair.direct.client.close_statement(ids[1]);
    pair.both(|session| execute(session, "after a close"));
    pair.both(|session| session.client.ping());
}

fn a_client_that_keeps_definitions_of_columns_gets_those_of_another_connection(server: &Server) {
    let mut pair = Pair::new(server, capability::MARIADB_CACHE_METADATA);
    if is_mysql(&pair) {
        return;
    }
    pair.direct.run("INSERT INTO t VALUES (1, 'one')");
    let ids = pair.prepare("SELECT v FROM t WHERE id = ?");
    let execution = values(vec![Param::Long(1)]);
    for (change, others) in [
        ("DO 0", false),
        ("ALTER TABLE t MODIFY v VARBINARY(30)", true),
        ("DO 0", false),
        ("SET NAMES latin1", true),
        ("SET NAMES ascii", true),
        ("DO 0", false),
    ] {
        pair.move_on();
        if change.starts_with("ALTER") {
            pair.direct.run(change);
        } else {
            pair.both(|session| session.client.query(change.as_bytes()));
        }
        let own = pair.shared.client.execute(ids[0], &execution);
        let native = pair.direct.client.execute(ids[1], &execution);
        assert_eq!(render::summary(&own), render::summary(&native));
        // A number of columns, one definition, a row, an OK.
        let definition =
            |of: &Response| (of.packets.len() == 4).then(|| of.packets[1].payload.clone());
        assert!(definition(&own).is_some(), "{}", render::response(&own));
        assert_eq!(definition(&native).is_some(), others, "{}", render::response(&native));
        if others {
            assert_eq!(definition(&own), definition(&native), "{change}");
        }
        // The session does not move.
        pair.execute(ids, &execution);
    }
    // How this text reads depends on the character set of the PREPARE.
    let ids = pair.prepare("SELECT 'é', ?");
    pair.until_statements_pin();
    pair.execute(ids, &execution);
    pair.shared.client.close_statement(ids[0]);
    pair.until_nothing_pins();
}

fn an_execution_without_types_is_the_server_s_to_judge(server: &Server) {
    let mut pair = Pair::new(server, 0);
    let ids = pair.prepare("SELECT CONCAT(?, 'x')");
    let untyped = |text: &str| Execute {
        keep_types: true,
        ..values(vec![Param::Text(text.as_bytes().to_vec())])
    };
    pair.execute(ids, &untyped("before any"));
    pair.move_on();
    pair.execute(ids, &untyped("after a move"));
    pair.move_on();
    pair.execute(ids, &values(vec![Param::Text(b"typed".to_vec())]));
    pair.move_on();
    let last = pair.execute(ids, &untyped("typed before"));
    assert_eq!(render::summary(&last), "typed beforex");
    // Packets that end too soon.
    for length in 0..6 {
        for (session, id) in [(&mut pair.shared, ids[0]), (&mut pair.direct, ids[1])] {
            let body = [&id.to_le_bytes()[..], &[0, 1, 0, 0, 0, 0, 1]].concat();
            let response =
                session.client.command(command::STMT_EXECUTE, &body[..4 + length], Shape::Execute);
            assert!(response.error().is_some(), "{}", render::response(&response));
        }
    }
}

fn types_that_do_not_fit_into_a_packet_are_refused(server: &Server) {
    /// Bytes of the longest packet of one frame, and of an execution without its value.
    const FRAME: usize = 0xff_ffff;
    let mut pair = Pair::new(server, 0);
    let [id, _] = pair.prepare("SELECT LENGTH(?)");
    let execute = |session: &mut Session, value: usize, keep_types: bool| {
        let params = vec![Param::Text(vec![b'x'; value])];
        let execution = Execute { params, keep_types, ..Execute::default() };
        session.client.execute(id, &execution)
    };
    assert_eq!(render::summary(&execute(&mut pair.shared, 5, false)), "5");
    pair.move_on();
    let refused = execute(&mut pair.shared, FRAME - 16, true);
    assert_eq!(refused.error(), Some(1235), "{}", render::response(&refused));
    pair.move_on();
    assert_eq!(render::summary(&execute(&mut pair.shared, 7, true)), "7");
    // Nothing is left of what was sent ahead of an execution that is refused.
    let [id, _] = pair.prepare("SELECT ?, LENGTH(?)");
    let ahead = |session: &mut Session, value: usize, keep_types: bool| {
        session.client.send_long_data(id, 0, b"ahead");
        let params = vec![Param::LongData(253), Param::Text(vec![b'x'; value])];
        let execution = Execute { params, keep_types, ..Execute::default() };
        session.client.execute(id, &execution)
    };
    assert_eq!(render::summary(&ahead(&mut pair.shared, 5, false)), "ahead | 5");
    pair.move_on();
    let refused = ahead(&mut pair.shared, FRAME - 16, true);
    assert_eq!(refused.error(), Some(1235), "{}", render::response(&refused));
    assert_eq!(render::summary(&ahead(&mut pair.shared, 6, false)), "ahead | 6");
}

fn a_strange_id_means_nobody_s_statement(server: &Server) {
    let mut pair = Pair::new(server, 0);
    let own = pair.prepare("SELECT 1");
    let ids = [0, 2, 3, 7, 1 << 31, u32::MAX - 1];
    // MariaDB does not begin with 1 where others have prepared before.
    for id in ids.into_iter().filter(|id| !own.contains(id)) {
        pair.move_on();
        pair.both(|session| session.client.execute(id, &Execute::default()));
        pair.both(|session| session.client.fetch(id, 1));
        pair.both(|session| session.client.reset_statement(id));
        pair.both(|session| {
            session.client.close_statement(id);
            session.client.send_long_data(id, 0, b"x");
            session.client.ping()
        });
    }
}

fn a_session_keeps_so_many_statements(server: &Server) {
    let mut pair = Pair::new(server, 0);
    let kept = |pair: &Pair| pair.ground.proxy.metric("lockstead_pool_statements");
    let prepare = |session: &mut Session| {
        session.client.prepare(b"SELECT ?").statement_id().expect("prepared")
    };
    let first = prepare(&mut pair.shared);
    for _ in 1..MOST_STATEMENTS {
        prepare(&mut pair.shared);
    }
    assert!(kept(&pair) > f64::from(MOST_STATEMENTS) - 0.5);
    assert_eq!(pair.ground.pins(), [""; 0]);
    let again = pair.ground.proxy.metric("lockstead_pool_statements_again_total");
    pair.move_on();
    pair.shared.client.execute(first, &values(vec![Param::Long(1)]));
    assert!(pair.ground.proxy.metric("lockstead_pool_statements_again_total") > again + 0.5);
    let last = prepare(&mut pair.shared);
    pair.until_statements_pin();
    let another = prepare(&mut pair.shared);
    let tied = pair.ground.proxy.metric("lockstead_pool_statements_tied_total");
    assert!((tied - 2.0).abs() < 0.5, "{tied}");
    let log = pair.ground.proxy.log();
    assert_eq!(log.matches("more prepared statements than can follow it").count(), 1, "{log}");
    pair.shared.client.close_statement(another);
    pair.shared.client.close_statement(last);
    pair.until_nothing_pins();
    pair.shared.client.reset_connection();
    // The other session's one.
    assert!(kept(&pair) < 1.5);
}
