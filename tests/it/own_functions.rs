//! Which functions are the server's own: a statement is run again only if nothing in it can be a
//! function that somebody has stored.

use std::sync::Arc;

use lockstead::sql::classify::{Statement, classify_exactly};
use lockstead::sql::expression::effects::{KEYWORDS, PURE};
use lockstead::sql::lexer::dialect::{Dialect, Multibyte};
use lockstead::types;

use crate::own_server::{OwnServer, SharedServers, flavour_of};
use crate::proxy::Proxy;
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{Database, on_both};
use crate::wire::Shape;

on_both! {
    what_is_run_once_more_names_no_stored_function
    a_stored_function_runs_as_often_as_at_the_server
    a_sequence_moves_as_often_as_at_the_server
}

/// What may stand between a name and its parenthesis.
const GAPS: [&str; 3] = ["", " ", "/**/"];

/// Functions that others have, or that were the server's own in other versions.
const OTHERS: [&str; 5] = ["REGEXP_INSTR", "SYSDATE", "PASSWORD", "NEXTVAL", "UUID"];

/// A server for these tests: what has the name of a stored function that changes the session keeps a session of
/// other tests on its connection.
fn own_server(server: &Server) -> Arc<OwnServer> {
    static RUNNING: SharedServers = SharedServers::none();
    RUNNING.get(flavour_of(server), &[])
}

/// A database with a stored function under each name, which counts its calls in `@calls`.
fn functions(server: &Server) -> (Database, Vec<&'static str>) {
    let database = Database::create(server);
    let names: Vec<&str> = PURE.iter().chain(KEYWORDS).chain(&OTHERS).copied().collect();
    let mut root = server.root();
    for name in &names {
        root.run(&format!(
            "CREATE FUNCTION {}.`{name}`(a INT) RETURNS INT NO SQL \
             BEGIN SET @calls = @calls + 1; RETURN 1; END",
            database.name
        ));
    }
    (database, names)
}

fn dialect(server: &Server) -> Dialect {
    let version = server.root().column("SELECT VERSION()").concat();
    let numbers: Vec<u32> =
        version.split(['.', '-']).take(3).map(|n| n.parse().unwrap_or(0)).collect();
    let flavour = match flavour_of(server) {
        Flavour::MySql => types::Flavour::MySql,
        Flavour::MariaDb => types::Flavour::MariaDb,
    };
    Dialect {
        flavour,
        version: numbers[0] * 10_000 + numbers[1] * 100 + numbers[2],
        ansi_quotes: false,
        no_backslash_escapes: false,
        brackets: false,
        multibyte: Multibyte::Safe,
    }
}

/// Runs what may fail, and tells how often a stored function ran.
fn calls(session: &mut Session, sql: &str) -> (Option<u16>, String) {
    session.run("SET @calls = 0");
    session.send(sql);
    let error = session.client.read_response(Shape::Query).error();
    (error, session.value("SELECT @calls").unwrap_or_default())
}

fn what_is_run_once_more_names_no_stored_function(server: &Server) {
    let own = own_server(server);
    let server = &own.server;
    let (database, names) = functions(server);
    let dialect = dialect(server);
    let mut session = Session::at(server.port);
    session.run(&format!("USE {}", database.name));
    let (mut wrong, mut stored, mut pure) = (Vec::new(), 0, 0);
    for mode in ["", "IGNORE_SPACE"] {
        session.run(&format!("SET sql_mode = '{mode}'"));
        for (name, gap) in names.iter().flat_map(|name| GAPS.map(|gap| (name, gap))) {
            let sql = format!("SELECT {name}{gap}(1)");
            let runs = calls(&mut session, &sql).1 != "0";
            let text = format!("{sql}, 1 + GET_LOCK('k', 0)");
            let judged = classify_exactly(text.as_bytes(), dialect);
            let repeatable = matches!(judged, Statement::Composite(c) if c.repeatable);
            stored += usize::from(runs);
            pure += usize::from(repeatable);
            if runs && repeatable {
                wrong.push(format!("{sql} in mode '{mode}'"));
            }
        }
    }
    assert!(wrong.is_empty(), "stored functions: {wrong:?}");
    assert!(stored > 50 && pure > 500, "{stored} stored, {pure} pure");
}

fn a_stored_function_runs_as_often_as_at_the_server(server: &Server) {
    let own = own_server(server);
    let server = &own.server;
    let (database, names) = functions(server);
    let proxy = Proxy::start(&server.url, &[]);
    let (mut direct, mut proxied) = (Session::at(server.port), Session::at(proxy.port));
    for session in [&mut direct, &mut proxied] {
        session.run(&format!("USE {}", database.name));
        session.run("SET @one = 1");
    }
    let mut refused = 0;
    for (name, gap) in names.iter().flat_map(|name| ["", " "].map(|gap| (name, gap))) {
        let call = format!("{name}{gap}(1)");
        if calls(&mut direct, &format!("SELECT {call}")).1 == "0" {
            continue;
        }
        for sql in [
            format!("SELECT IF(@one, {call}, 2) + GET_LOCK('{}', 0)", database.name),
            format!("SELECT GET_LOCK('{}', 0), {call}", database.name),
            format!("SELECT {call}, GET_LOCK('{}', 0)", database.name),
            format!("SET @x = {call} AND GET_LOCK('{}', 0)", database.name),
            format!("SELECT GET_LOCK(CONCAT('{}', {call}), 0)", database.name),
            format!("SELECT GET_LOCK('{}', 0 * {call}) + 1", database.name),
        ] {
            let native = calls(&mut direct, &sql);
            let through = calls(&mut proxied, &sql);
            let loud = through == (Some(1235), "0".to_owned());
            refused += usize::from(loud);
            assert!(loud || native == through, "{sql}: {native:?}, through {through:?}");
            for session in [&mut direct, &mut proxied] {
                session.run("DO RELEASE_ALL_LOCKS()");
            }
        }
    }
    assert!(refused > 50, "{refused}");
}

fn a_sequence_moves_as_often_as_at_the_server(server: &Server) {
    if flavour_of(server) == Flavour::MySql {
        return;
    }
    let database = Database::create(server);
    server.root().run(&format!("CREATE SEQUENCE {}.s1", database.name));
    let proxy = Proxy::start(&server.url, &[]);
    let mut session = Session::at(proxy.port);
    session.run(&format!("USE {}", database.name));
    session.run("SET sql_mode = ORACLE");
    for next in ["s1.nextval", "`s1` . `NextVal`", "NEXT VALUE FOR s1", "nextval(s1)"] {
        session.send(&format!("SELECT {next} + GET_LOCK('{}', 0)", database.name));
        assert_eq!(session.client.read_response(Shape::Query).error(), Some(1235), "{next}");
    }
    assert_eq!(session.value("SELECT s1.nextval").as_deref(), Some("1"));
}
