//! Lock calls in packets that stream through: refused in the middle, and the session lives on.

use crate::own_server::flavour_of;
use crate::proxy::Proxy;
use crate::script::{Flavour, Server};
use crate::session::{Session, account, first_value};
use crate::stage::{Database, on_both};
use crate::wire::capability::QUERY_ATTRIBUTES;
use crate::wire::response::ErrPacket;
use crate::wire::{Account, End, Execute, Param, Response, Shape};

on_both! {
    a_garbled_text_is_refused_in_whatever_state_the_server_reads_it
    a_call_in_a_long_statement_is_refused_and_the_session_lives_on
    a_call_in_a_long_statement_to_prepare_is_refused
    a_call_in_the_second_of_two_frames_is_refused
    statements_in_front_of_a_call_in_a_long_text_are_run
    a_long_text_that_is_a_call_in_one_mode_only_is_refused_in_all
    mentions_in_long_texts_pass
    the_server_s_own_errors_about_long_texts_pass
    long_parameters_of_a_prepared_lock_call_are_refused_and_the_session_lives_on
    executions_after_a_dropped_one_are_answered_in_order
    the_text_after_long_query_attributes_is_read
}

/// Longer than what the proxy holds back.
const LONG: usize = 100_000;
/// The longest payload of a frame.
const FRAME: usize = 0x00ff_ffff;

/// What the proxy puts in place of a call's arguments and of all that follows them.
fn garbled(prefix: &str, length: usize) -> Vec<u8> {
    let mut text = prefix.as_bytes().to_vec();
    text.extend((0..length).map(|n| if n == 1 { b'\n' } else { 1 }));
    text
}

fn prepared_id(response: &Response) -> u32 {
    let id = response.packets[0].payload.get(1..5).expect("an id");
    u32::from_le_bytes(id.try_into().expect("four bytes"))
}

fn execution(params: Vec<Param>) -> Execute {
    Execute { params, ..Execute::default() }
}

fn code(response: &Response) -> u16 {
    response.error().unwrap_or_default()
}

/// A comment of so many bytes.
fn comment(length: usize) -> String {
    format!("/* {} */", "c".repeat(length))
}

/// A session through a proxy of its own, with a lock that is held, so that it can be seen whether
/// the session lives on.
struct Stage {
    proxy: Proxy,
    session: Session,
    database: Database,
    server: Server,
}

impl Stage {
    fn start(server: &Server) -> Self {
        let proxy = Proxy::start(&server.url, &[]);
        let database = Database::create(server);
        let mut session = Session::at(proxy.port);
        session.lock("held");
        Self { proxy, session, database, server: server.clone() }
    }

    fn query(&mut self, sql: &str) -> Response {
        self.session.send(sql);
        self.session.client.read_response(Shape::Query)
    }

    /// The last packet is the proxy's refusal, numbered as the server's was; no lock was taken
    /// from any session, and the next statement is answered.
    fn assert_refused(&mut self, what: &str, response: &Response) {
        assert_eq!(response.end, End::Complete, "{what}");
        let last = response.packets.last().expect("a packet");
        let error = ErrPacket::parse(&last.payload);
        let message = String::from_utf8_lossy(&error.message);
        assert_eq!(error.code, 1235, "{what}: {message}");
        assert!(message.starts_with("Lockstead does not yet support"), "{message}");
        self.assert_alive(what);
    }

    /// Prepares a statement and returns its id.
    fn prepare(&mut self, sql: &str) -> u32 {
        prepared_id(&self.session.client.prepare(sql.as_bytes()))
    }

    fn assert_alive(&mut self, what: &str) {
        assert_eq!(self.session.value("SELECT 'next'").as_deref(), Some("next"), "{what}");
        let mut other = Session::at(self.proxy.port);
        assert!(other.is_free("k"), "{what} took the lock");
        assert!(!other.is_free("held"), "{what} lost a lock");
        let native = self.server.root().column("SELECT IS_FREE_LOCK('k')");
        assert_eq!(native, ["1"], "{what} took the server's lock");
    }
}

/// Beginnings of statements, each of which leaves the server's lexer in another state.
const PREFIXES: [&str; 76] = [
    "SELECT GET_LOCK(",
    "SELECT 1+GET_LOCK(",
    "DO GET_LOCK(",
    "SET @a=GET_LOCK(",
    "SELECT `GET_LOCK`",
    "SELECT GET_LOCK /* */ ",
    "SELECT GET_LOCK -- x\n",
    "SELECT @a:=GET_LOCK(",
    "SELECT {fn GET_LOCK(",
    "SELECT (SELECT (GET_LOCK(",
    "SELECT * FROM (SELECT GET_LOCK(",
    "VALUES (GET_LOCK(",
    "INSERT INTO mysql.nothing VALUES (GET_LOCK(",
    "EXPLAIN SELECT GET_LOCK(",
    "CREATE PROCEDURE p() BEGIN DO GET_LOCK(",
    "SELECT 1; SELECT GET_LOCK(",
    "SELECT 1;",
    "SELECT /*!50000 GET_LOCK(",
    "SELECT /*! GET_LOCK(",
    "SELECT /*!50000 GET_LOCK*/",
    "SELECT /*!50000 1, GET_LOCK */ ",
    "SELECT /*+ SET_VAR(sql_mode='') */ GET_LOCK(",
    "/*!SELECT GET_LOCK(",
    "/*!99999 SELECT GET_LOCK(",
    "/*M!SELECT GET_LOCK(",
    "/*M!100000 SELECT GET_LOCK(",
    "/*!100100 SELECT GET_LOCK(",
    "SELECT 1 -- ",
    "SELECT 1 --",
    "SELECT 1 # ",
    "SELECT 1 /* ",
    "SELECT 1 /* *",
    "SELECT /*+ ",
    "SELECT /*+ SET_VAR(sql_mode='') ",
    "SELECT 1 /*",
    "SELECT 1 /*!",
    "SELECT 1 /*!99999 /* */ ",
    "SELECT 1 /",
    "SELECT '",
    "SELECT 'x\\",
    "SELECT 'x'",
    "SELECT \"",
    "SELECT \"x\\",
    "SELECT `",
    "SELECT [",
    "SELECT x'",
    "SELECT b'0",
    "SELECT N'",
    "SELECT _utf8mb4'",
    "SELECT @",
    "SELECT @'",
    "SELECT @`",
    "SELECT @@",
    "SELECT 0x",
    "SELECT 0b",
    "SELECT 1",
    "SELECT 1.",
    "SELECT 1e",
    "SELECT 1e+",
    "SELECT .",
    "SELECT :",
    "SELECT <",
    "SELECT &",
    "SELECT \\",
    "SELECT \\N",
    "SELECT mysql.",
    "SELECT 1 \0",
    "SELECT 1;\0",
    "SELECT é",
    "SELECT $$ x",
    "SELECT $a$ x",
    "PREPARE s FROM 'SELECT GET_LOCK(",
    "PREPARE s FROM \"SELECT GET_LOCK(",
    "EXECUTE IMMEDIATE 'SELECT GET_LOCK(",
    "BEGIN NOT ATOMIC DO GET_LOCK(",
    "",
];

fn a_garbled_text_is_refused_in_whatever_state_the_server_reads_it(server: &Server) {
    let mut session = Session::at(server.port);
    session.run("USE mysql");
    let mariadb = flavour_of(server) == Flavour::MariaDb;
    let modes = ["", "ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", if mariadb { "MSSQL" } else { "" }];
    for prefix in PREFIXES {
        for mode in modes {
            for charset in ["utf8mb4", "gbk", "sjis"] {
                session.run(&format!("SET sql_mode='{mode}', NAMES {charset}"));
                assert_garbled_is_refused(
                    &mut session,
                    prefix,
                    &format!("in mode '{mode}' and {charset}"),
                );
            }
        }
    }
}

/// The server refuses this prefix with garbage of several lengths, as a text and to prepare.
fn assert_garbled_is_refused(session: &mut Session, prefix: &str, setting: &str) {
    let line_comment = ["-- ", "--", "# "].iter().any(|c| prefix.ends_with(c));
    for length in [1, 2, 3, 4, 9] {
        let text = garbled(prefix, length);
        let what = format!("{prefix:?} and {length} {setting}");
        session.client.send_query(&text, &[]);
        let got = code(&session.client.read_response(Shape::Query));
        // Two bytes fit into a comment up to the end of the line: nothing is lost.
        let expected = if line_comment && length < 3 { 0 } else { 1064 };
        assert_eq!(got, expected, "{what}");
        let got = code(&session.client.prepare(&text));
        // Both servers prepare only the text before this.
        let expected = if prefix.ends_with(";\0") { 0 } else { expected };
        assert_eq!(got, expected, "{what}, prepared");
    }
}

fn a_call_in_a_long_statement_is_refused_and_the_session_lives_on(server: &Server) {
    let mut stage = Stage::start(server);
    let before = comment(LONG);
    let after = comment(LONG);
    let table = stage.database.table("t");
    stage.session.run(&format!("CREATE TABLE {table} (n INT)"));
    for sql in [
        format!("SELECT {before} GET_LOCK('k', 0)"),
        format!("SELECT GET_LOCK('k', 0) {after}"),
        format!("SELECT GET_LOCK {before} ('k', 0)"),
        format!("SELECT {before} RELEASE_ALL_LOCKS()"),
        format!("SELECT '{}', GET_LOCK('k', 0)", "x".repeat(LONG)),
        format!("SELECT {before} /*!50000 GET_LOCK*/('k', 0)"),
        format!("SELECT {before} /*!50000 GET_LOCK('k', 0) */"),
        format!("SELECT {before} (SELECT `GET_LOCK`('k', 0))"),
        format!("INSERT INTO {table} {before} VALUES (1), (GET_LOCK('k', 0))"),
        format!("CREATE VIEW {table}v AS SELECT {before} GET_LOCK('k', 0)"),
        format!("SELECT {before} GET_LOCK("),
        format!("PREPARE s FROM 'SELECT {before} GET_LOCK(\\'k\\', 0)'"),
        format!("SELECT 1; PREPARE s FROM 'SELECT {before} GET_LOCK(\\'k\\', 0)'"),
    ] {
        let response = stage.query(&sql);
        let what = [&sql[..20], &sql[sql.len() - 30..]].concat();
        stage.assert_refused(&what, &response);
    }
    assert_eq!(stage.session.value(&format!("SELECT COUNT(*) FROM {table}")).as_deref(), Some("0"));
    assert!(
        stage.proxy.metric("lockstead_lock_statements_unsupported_total{decision=\"refused\"}")
            >= 12.0
    );
}

fn a_call_in_a_long_statement_to_prepare_is_refused(server: &Server) {
    let mut stage = Stage::start(server);
    for sql in
        ["SELECT $ GET_LOCK('k', 0)", "SELECT GET_LOCK(?, 0) $", "DO /*! $ GET_LOCK*/('k', ?)"]
    {
        let sql = sql.replace('$', &comment(LONG));
        let response = stage.session.client.prepare(sql.as_bytes());
        stage.assert_refused(&sql[..20], &response);
    }
}

fn a_call_in_the_second_of_two_frames_is_refused(server: &Server) {
    server.root().raise("max_allowed_packet", 67_108_864);
    let mut stage = Stage::start(server);
    // The parenthesis is the last byte of a frame, the first of the next, or comes much later.
    for at in [FRAME - 2, FRAME - 1, FRAME, FRAME + 1, FRAME + 100_000, 2 * FRAME - 1] {
        let call = "GET_LOCK('k', 0)";
        let fill = at - "SELECT /*  */ GET_LOCK".len();
        let sql = format!("SELECT {} {call}", comment(fill));
        assert_eq!(sql.as_bytes()[at], b'(');
        let response = stage.query(&sql);
        stage.assert_refused(&format!("a call at {at}"), &response);
        // Numbered after the last frame of the statement.
        let frames = (1 + sql.len()) / FRAME + 1;
        assert_eq!(usize::from(response.packets[0].sequence()), frames);
    }
}

fn statements_in_front_of_a_call_in_a_long_text_are_run(server: &Server) {
    let mut stage = Stage::start(server);
    let table = stage.database.table("t");
    stage.session.run(&format!("CREATE TABLE {table} (n INT PRIMARY KEY)"));
    let text = format!(
        "INSERT INTO {table} VALUES (1); SELECT 'first', '{}'; SELECT GET_LOCK('k', 0); \
         INSERT INTO {table} VALUES (2)",
        "x".repeat(LONG)
    );
    let response = stage.query(&text);
    assert_eq!(first_value("the text", &response).as_deref(), Some("first"));
    let error = ErrPacket::parse(&response.packets.last().expect("a packet").payload);
    assert_eq!(error.code, 1235);
    stage.assert_alive("several statements");
    let rows = stage.session.value(&format!("SELECT GROUP_CONCAT(n) FROM {table}"));
    assert_eq!(rows.as_deref(), Some("1"));
    // The server's own error ends the text before the call is reached.
    assert_eq!(code(&stage.query(&text)), 1062);
    stage.assert_alive("an error in front of a call");
}

fn a_long_text_that_is_a_call_in_one_mode_only_is_refused_in_all(server: &Server) {
    let mut stage = Stage::start(server);
    let fill = comment(LONG);
    for (mode, sql) in [
        ("", format!("SELECT {fill} 'a\\', GET_LOCK('k', 0)")),
        ("NO_BACKSLASH_ESCAPES", format!("SELECT {fill} 'a\\', GET_LOCK('k', 0)")),
        ("", format!("SELECT {fill} 'a\\'', GET_LOCK(', 0) #'")),
        ("ANSI_QUOTES", format!("SELECT {fill} \"GET_LOCK\"('k', 0)")),
        ("ANSI_QUOTES", format!("SELECT {fill} 1 AS \"\\\", GET_LOCK('k', 0)")),
    ] {
        stage.session.run(&format!("SET sql_mode='{mode}'"));
        let response = stage.query(&sql);
        stage.assert_refused(&sql[sql.len() - 40..], &response);
    }
    if flavour_of(server) == Flavour::MariaDb {
        stage.session.run("SET sql_mode='MSSQL'");
        for sql in ["[GET_LOCK]('k', 0)", "1 AS [it's], GET_LOCK('k', 0)"] {
            let response = stage.query(&format!("SELECT {fill} {sql}"));
            stage.assert_refused(sql, &response);
        }
    }
    for charset in ["utf8mb4", "gbk", "sjis"] {
        stage.session.run(&format!("SET sql_mode='', NAMES {charset}"));
        let sql = [b"SELECT ", fill.as_bytes(), b"'\x81\\', GET_LOCK('k', 0) -- '"].concat();
        stage.session.client.send_query(&sql, &[]);
        let response = stage.session.client.read_response(Shape::Query);
        stage.assert_refused(charset, &response);
    }
}

fn mentions_in_long_texts_pass(server: &Server) {
    let mut stage = Stage::start(server);
    let fill = "x".repeat(LONG);
    for (sql, value) in [
        (format!("SELECT 'GET_LOCK(1) {fill} it''s GET_LOCK(2)' IS NULL"), "0"),
        (format!("SELECT 'get_lock\\n\\\\ {fill} \\\" GET_LOCK(2)' IS NULL"), "0"),
        (format!("SELECT 1 /* {fill} GET_LOCK(1) */ -- GET_LOCK(2)\n"), "1"),
        (format!("SELECT '{fill}' = 'it\\'s', get_lock FROM (SELECT 1 get_lock) t"), "0"),
    ] {
        assert_eq!(first_value(&sql[..20], &stage.query(&sql)).as_deref(), Some(value));
    }
    stage.assert_alive("mentions");
}

fn the_server_s_own_errors_about_long_texts_pass(server: &Server) {
    let mut stage = Stage::start(server);
    let limit = server.root().column("SELECT @@GLOBAL.max_allowed_packet");
    let limit: usize = limit[0].parse().expect("a number");
    let fill = comment(LONG);
    assert_eq!(code(&stage.query(&format!("SELECT nothing {fill}"))), 1054);
    assert_eq!(code(&stage.query(&format!("SELECT FROM {fill}"))), 1064);
    stage.assert_alive("errors");
    stage.session.send(&format!("SELECT {} GET_LOCK('k', 0)", comment(limit)));
    let error = stage.session.last_words().expect("the server's last words");
    assert_eq!(error.code, 1153);
}

fn long_parameters_of_a_prepared_lock_call_are_refused_and_the_session_lives_on(server: &Server) {
    server.root().raise("max_allowed_packet", 67_108_864);
    let mut stage = Stage::start(server);
    let id = stage.prepare("SELECT GET_LOCK(?, ?)");
    let name = || Param::Text(b"k".to_vec());
    for length in [70_000, FRAME - 40, FRAME, 2 * FRAME + 5] {
        let timeout = Param::Text([vec![b'0'; length], b".5".to_vec()].concat());
        let response = stage.session.client.execute(id, &execution(vec![name(), timeout]));
        stage.assert_refused(&format!("a timeout of {length} bytes"), &response);
        assert_eq!(usize::from(response.packets[0].sequence()), length / FRAME + 1);
    }
    // The timeout as long data, in pieces of which none is too long, and in one that is.
    for piece in [40_000, 100_000] {
        for _ in 0..2 {
            stage.session.client.send_long_data(id, 1, &vec![b'0'; piece]);
        }
        let long = execution(vec![name(), Param::LongData(253)]);
        let response = stage.session.client.execute(id, &long);
        stage.assert_refused(&format!("long data in pieces of {piece}"), &response);
        // Proxy and server have forgotten the long data.
        let plain = execution(vec![name(), Param::Long(0)]);
        assert_eq!(code(&stage.session.client.execute(id, &plain)), 0);
        stage.session.unlock("k");
    }
    let response = stage.session.client.execute(
        id,
        &Execute {
            keep_types: true,
            ..execution(vec![Param::Text(vec![b'x'; 100_000]), Param::Long(0)])
        },
    );
    stage.assert_refused("a name without its type", &response);
}

fn executions_after_a_dropped_one_are_answered_in_order(server: &Server) {
    let mut stage = Stage::start(server);
    let id = stage.prepare("SELECT GET_LOCK('k', ?)");
    let client = &mut stage.session.client;
    client.send_query(b"SELECT SLEEP(0.2), 'first'", &[]);
    client.send_execute(id, &execution(vec![Param::Text(vec![b'0'; 300_000])]));
    client.send_query(b"SELECT 'third'", &[]);
    let response = client.read_response(Shape::Query);
    assert_eq!(first_value("the first", &response).as_deref(), Some("0"));
    assert_eq!(code(&client.read_response(Shape::Execute)), 1235);
    let response = client.read_response(Shape::Query);
    assert_eq!(first_value("the third", &response).as_deref(), Some("third"));
    stage.assert_alive("an execution between statements");
}

fn the_text_after_long_query_attributes_is_read(server: &Server) {
    let mut stage = Stage::start(server);
    let with = Account { capabilities: account().capabilities | QUERY_ATTRIBUTES, ..account() };
    let mut session = Session::of(stage.proxy.port, &with);
    if session.client.capabilities() & QUERY_ATTRIBUTES == 0 {
        return;
    }
    let attributes = |length| {
        let named = |(nth, value)| (format!("get_lock({nth}"), value);
        let long = Param::Text(vec![b'x'; length]);
        let values = vec![long.clone(), Param::Null, Param::Long(7), long];
        values.into_iter().enumerate().map(named).collect::<Vec<_>>()
    };
    let response = session.client.query_with(b"SELECT GET_LOCK('k', 0)", &attributes(20_000));
    assert_eq!(first_value("short ones", &response).as_deref(), Some("1"));
    session.unlock("k");
    for length in [65_000, 100_000, 300_000] {
        let response = session.client.query_with(b"SELECT 'GET_LOCK(1, 0)'", &attributes(length));
        let said = first_value("long ones", &response);
        assert_eq!(said.as_deref(), Some("GET_LOCK(1, 0)"), "{length}");
        let response = session.client.query_with(b"SELECT GET_LOCK('k', 0)", &attributes(length));
        stage.assert_refused(&format!("a call after {length} bytes"), &response);
    }
}
