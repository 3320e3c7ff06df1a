//! Statements with lock calls that are not covered: refused or left to the server, counted, and
//! logged once for each shape.

use crate::own_server::flavour_of;
use crate::proxy::{Proxy, fresh_schema};
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{eventually, on_both};
use crate::wire::{Execute, Param, Shape};

on_both! {
    a_shape_is_refused_and_logged_once
    native_statements_run_with_the_server_s_own_locks
    a_half_done_statement_is_refused_nevertheless
    a_command_is_counted_once
}

fn error(session: &mut Session, sql: &str) -> Option<u16> {
    session.send(sql);
    session.client.read_response(Shape::Query).error()
}

fn counted(proxy: &Proxy, decision: &str) -> String {
    let name = "lockstead_lock_statements_unsupported_total";
    proxy.metric(&format!("{name}{{decision=\"{decision}\"}}")).to_string()
}

fn a_shape_is_refused_and_logged_once(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut session = Session::at(proxy.port);
    let said = "a statement with a lock call is not covered";
    for n in 0..3 {
        let sql = format!("SELECT IF(RAND(), GET_LOCK('secret{n}', {n}), 0)");
        assert_eq!(error(&mut session, &sql), Some(1235));
    }
    eventually("it is logged", || proxy.log().contains(said).then_some(()));
    assert_eq!(error(&mut session, "SELECT RAND() + GET_LOCK('secret', 0)"), Some(1235));
    eventually("the other is logged", || proxy.log().contains("SELECT RAND() + ").then_some(()));
    let log = proxy.log();
    assert_eq!(log.matches(said).count(), 2, "{log}");
    assert!(!log.contains("secret"), "{log}");
    assert_eq!((counted(&proxy, "refused"), counted(&proxy, "native")), ("4".into(), "0".into()));
}

fn native_statements_run_with_the_server_s_own_locks(server: &Server) {
    let proxy = Proxy::start(&server.url, &["--unsupported", "native"]);
    let (mut session, mut other) = (Session::at(proxy.port), Session::at(proxy.port));
    let (name, mut root) = (fresh_schema(), server.root());
    root.run(&format!("CREATE DATABASE {name}"));
    let mut taken = |what: &str, session: &mut Session| {
        let holder = root.column(&format!("SELECT IS_USED_LOCK('{name}')"));
        assert_eq!(holder, [session.id().to_string()], "{what}");
        // The server's own, of which such a statement tells, and no other.
        let sql = format!("SELECT RAND() < 2 AND RELEASE_LOCK('{name}')");
        assert_eq!(session.value(&sql).as_deref(), Some("1"), "{what}");
    };
    session.run(&format!("CREATE TABLE {name}.t SELECT GET_LOCK('{name}',0) AS v"));
    assert!(other.is_free(&name));
    taken("a text", &mut session);
    session.run(&format!("SELECT RAND() + GET_LOCK('{name}',0)"));
    taken("beside an effect", &mut session);
    let long = format!("SELECT '{}', GET_LOCK('{name}',0)", "x".repeat(70_000));
    session.run(&long);
    taken("a long text", &mut session);
    let prepared = session.client.prepare(b"SELECT RAND() + GET_LOCK(?,0)");
    let id = u32::from_le_bytes(prepared.packets[0].payload[1..5].try_into().expect("an id"));
    for keep_types in [false, true] {
        let params = vec![Param::Text(name.clone().into_bytes())];
        let execute = Execute { params, keep_types, ..Execute::default() };
        assert_eq!(session.client.execute(id, &execute).error(), None);
        taken("prepared", &mut session);
    }
    // Calls that are covered are not left to the server.
    session.lock(&name);
    assert!(!other.is_free(&name));
    assert_eq!(root.column(&format!("SELECT IS_FREE_LOCK('{name}')")), ["1"]);
    assert_eq!(counted(&proxy, "refused"), "0");
    assert_eq!(counted(&proxy, "native"), "10");
    root.run(&format!("DROP DATABASE {name}"));
}

fn a_half_done_statement_is_refused_nevertheless(server: &Server) {
    let proxy = Proxy::start(&server.url, &["--unsupported", "native"]);
    let (mut session, mut other) = (Session::at(proxy.port), Session::at(proxy.port));
    session.lock("k");
    let often = "SELECT NULLIF(RELEASE_LOCK('k'), 5), GET_LOCK('l', 0)";
    assert_eq!(error(&mut session, often), Some(1235));
    assert!(!other.is_free("k") && other.is_free("l"));
    assert_eq!((counted(&proxy, "refused"), counted(&proxy, "native")), ("1".into(), "0".into()));
}

fn a_command_is_counted_once(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut session = Session::at(proxy.port);
    let queries = |proxy: &Proxy| proxy.metric("lockstead_commands_total{command=\"query\"}");
    // A session begins without one.
    let mut before = queries(&proxy);
    let own = if flavour_of(server) == Flavour::MySql { "''" } else { "5" };
    for sql in [
        "SELECT GET_LOCK('k', 0)".to_owned(),
        format!("SELECT GET_LOCK({own}, 0)"),
        "SELECT GET_LOCK('k', 0) + 1, IS_FREE_LOCK('l')".to_owned(),
        "SELECT IF(GET_LOCK('k', 0), 5, 6)".to_owned(),
        "PREPARE s FROM 'SELECT GET_LOCK(?, 0), ?'".to_owned(),
        "SELECT RAND() + GET_LOCK('k', 0)".to_owned(),
        "SELECT GET_LOCK('k', 0), nosuch".to_owned(),
        "KILL QUERY GET_LOCK('k', 0)".to_owned(),
        "SELECT 'GET_LOCK(1, 0)'".to_owned(),
    ] {
        error(&mut session, &sql);
        let now = queries(&proxy);
        assert_eq!((now - before).to_string(), "1", "{sql}");
        before = now;
    }
}
