//! Mode coexist: the server's own lock first, then the row, then the reply to the client.

use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::{Proxy, fresh_schema};
use crate::script::{Flavour, Server};
use crate::session::{Session, account, until_busy};
use crate::stage::{Database, eventually, join, on_both};
use crate::wire::capability;

on_both! {
    a_lock_has_its_row_before_the_client_gets_the_answer
    a_direct_client_and_one_through_the_proxy_exclude_each_other
    a_lock_of_a_killed_proxy_is_taken_at_once_at_another
    a_proxy_that_may_not_grant_yet_says_that_locks_are_not_free
    locks_that_the_text_does_not_tell_have_rows
    locks_of_functions_are_found_by_the_sweep
    a_proxy_by_rows_alone_is_excluded_too
    a_row_that_cannot_be_written_is_an_error_and_the_lock_is_given_back
    a_row_that_cannot_be_written_is_left_out
    a_client_that_leaves_while_it_waits_frees_its_locks
    a_lock_after_a_long_statement_has_its_row
    a_result_reaches_the_client_while_its_procedure_works
    words_that_look_like_calls_ask_the_server_nothing
    a_waiter_gets_no_lock_from_a_proxy_that_shuts_down
}

/// Rows are written at once: `late_rows` sees the others.
const COEXIST: [&str; 4] = ["--mode", "coexist", "--row-delay", "0s"];
/// A lease that no test outlives: a lock that passes on before its end passes on for another reason.
const ENDLESS: [&str; 6] = ["--mode", "coexist", "--lease", "10m", "--row-delay", "0s"];

/// The connection that the row of a lock names, if it is held.
fn holder(server: &Server, proxy: &Proxy, name: &str) -> Option<u64> {
    let sql = format!("SELECT conn FROM {}.locks WHERE k='L{name}' AND holder<>0", proxy.schema);
    server.root().column(&sql).first().map(|conn| conn.parse().expect("a number"))
}

fn until_free(server: &Server, proxy: &Proxy, name: &str) {
    eventually("the row is free", || holder(server, proxy, name).is_none().then_some(()));
}

fn a_lock_has_its_row_before_the_client_gets_the_answer(server: &Server) {
    let proxy = Proxy::start(&server.url, &COEXIST);
    let mut a = Session::at(proxy.port);
    let token = format!("SELECT tok FROM {}.locks WHERE k='Lcx1'", proxy.schema);
    let mut last = 0;
    for sql in ["SELECT GET_LOCK('cx1',0)", "DO GET_LOCK('cx1',0)", "SELECT GET_LOCK('cx1',0)+0"] {
        a.run(sql);
        assert_eq!(holder(server, &proxy, "cx1"), Some(a.id()), "{sql}");
        let now: u64 = server.root().column(&token)[0].parse().expect("a token");
        assert!(now > last, "{sql}: tokens grow");
        last = now;
        // Taken twice, it is still held after one release.
        a.lock("cx1");
        a.unlock("cx1");
        assert_eq!(holder(server, &proxy, "cx1"), Some(a.id()), "{sql}");
        a.unlock("cx1");
        until_free(server, &proxy, "cx1");
    }
}

/// The procedure selects, and then waits for a lock of another client's.
fn a_result_reaches_the_client_while_its_procedure_works(server: &Server) {
    let db = Database::create(server);
    let routine = db.table("p");
    let body = "BEGIN SELECT 1; DO GET_LOCK('cx10',60); SELECT 2; DO RELEASE_LOCK('cx10'); END";
    server.root().run(&format!("CREATE PROCEDURE {routine}() {body}"));
    for (settings, eof) in [(&COEXIST[..], false), (&COEXIST, true), (&["--mode", "durable"], true)]
    {
        let proxy = Proxy::start(&server.url, settings);
        let mut account = account();
        if eof {
            account.capabilities &= !capability::DEPRECATE_EOF;
        }
        let (mut direct, mut a) = (Session::at(server.port), Session::of(proxy.port, &account));
        direct.lock("cx10");
        a.send(&format!("CALL {routine}()"));
        // Number of columns, column, perhaps an EOF, row, end.
        let packets = if eof { 5 } else { 4 };
        assert_eq!(a.client.read_packets(packets).len(), packets, "{settings:?} {eof}");
        direct.unlock("cx10");
        // The second result, and the end of the CALL.
        assert_eq!(a.client.read_packets(packets + 1).len(), packets + 1, "{settings:?} {eof}");
        assert_eq!(a.value("SELECT 7").as_deref(), Some("7"));
    }
}

fn a_direct_client_and_one_through_the_proxy_exclude_each_other(server: &Server) {
    let proxy = Proxy::start(&server.url, &COEXIST);
    let (mut direct, mut a) = (Session::at(server.port), Session::at(proxy.port));
    direct.lock("cx2");
    assert_eq!(a.value("SELECT GET_LOCK('cx2',0)").as_deref(), Some("0"));
    a.ask_for("cx2");
    until_busy(&mut server.root(), a.id());
    assert_eq!(holder(server, &proxy, "cx2"), None);
    direct.unlock("cx2");
    a.gets_it();
    assert_eq!(holder(server, &proxy, "cx2"), Some(a.id()));
    assert_eq!(direct.value("SELECT GET_LOCK('cx2',0)").as_deref(), Some("0"));
    assert_eq!(direct.value("SELECT IS_USED_LOCK('cx2')"), Some(a.id().to_string()));
    a.unlock("cx2");
    direct.lock("cx2");
}

fn a_lock_of_a_killed_proxy_is_taken_at_once_at_another(server: &Server) {
    let mut first = Proxy::start(&server.url, &ENDLESS);
    let second = join(server, &first, &ENDLESS);
    let (mut a, mut b) = (Session::at(first.port), Session::at(second.port));
    a.lock("cx3");
    b.ask_for("cx3");
    until_busy(&mut server.root(), b.id());
    first.kill();
    b.gets_it();
    assert_eq!(holder(server, &second, "cx3"), Some(b.id()));
}

fn a_proxy_that_may_not_grant_yet_says_that_locks_are_not_free(server: &Server) {
    let mut dead = Proxy::start(&server.url, &ENDLESS);
    Session::at(dead.port).lock("cx0");
    dead.signal("KILL");
    dead.wait();
    let waiting = Proxy::start_on(&server.url, &dead.schema, &COEXIST);
    let mut a = Session::at(waiting.port);
    assert_eq!(a.value("SELECT GET_LOCK('cx0',0)").as_deref(), Some("0"));
    let mut direct = Session::at(server.port);
    assert_eq!(direct.value("SELECT IS_FREE_LOCK('cx0')").as_deref(), Some("1"), "given back");
}

fn locks_that_the_text_does_not_tell_have_rows(server: &Server) {
    let listed = flavour_of(server) == Flavour::MySql;
    let proxy = Proxy::start(&server.url, &COEXIST);
    let db = Database::create(server);
    let (routine, table) = (db.table("p"), db.table("t"));
    let mut root = server.root();
    root.run(&format!("CREATE PROCEDURE {routine}() BEGIN DO GET_LOCK('cx4',0); END"));
    root.run(&format!("CREATE TABLE {table} (n VARCHAR(9))"));
    root.run(&format!("INSERT INTO {table} VALUES ('cx5'),('cx6')"));
    let mut a = Session::at(proxy.port);
    a.run(&format!("CALL {routine}()"));
    a.run(&format!("SELECT GET_LOCK(n,0) FROM {table}"));
    a.run("SELECT GET_LOCK('cx7',0), GET_LOCK('cx8',0)");
    // MariaDB has a list only with a plugin; names in the text are looked at in any case.
    let names: &[&str] =
        if listed { &["cx4", "cx5", "cx6", "cx7", "cx8"] } else { &["cx7", "cx8"] };
    for name in names {
        assert_eq!(holder(server, &proxy, name), Some(a.id()), "{name}");
    }
    a.run("DO RELEASE_ALL_LOCKS()");
    for name in names {
        until_free(server, &proxy, name);
    }
}

fn locks_of_functions_are_found_by_the_sweep(server: &Server) {
    let proxy = Proxy::start(&server.url, &COEXIST);
    let db = Database::create(server);
    let function = db.table("f");
    let mut root = server.root();
    root.run(&format!("CREATE FUNCTION {function}(n VARCHAR(9), t INT) RETURNS INT NO SQL RETURN IF(t, GET_LOCK(n,0), RELEASE_LOCK(n))"));
    let mut a = Session::at(proxy.port);
    a.run(&format!("SELECT {function}('cx9',1)"));
    // Without a list the lock is the server's alone. It excludes others nevertheless.
    let mut b = Session::at(proxy.port);
    assert_eq!(b.value("SELECT GET_LOCK('cx9',0)").as_deref(), Some("0"));
    if flavour_of(server) == Flavour::MySql {
        eventually("the sweep finds it", || holder(server, &proxy, "cx9").filter(|c| *c == a.id()));
    }
    a.run(&format!("SELECT {function}('cx9',0)"));
    until_free(server, &proxy, "cx9");
}

fn a_proxy_by_rows_alone_is_excluded_too(server: &Server) {
    let native = Proxy::start(&server.url, &COEXIST);
    let rows = join(server, &native, &["--mode", "durable"]);
    let (mut a, mut b) = (Session::at(native.port), Session::at(rows.port));
    a.lock("cxa");
    assert_eq!(b.value("SELECT GET_LOCK('cxa',0)").as_deref(), Some("0"));
    b.ask_for("cxa");
    eventually("it waits", || (rows.metric("lockstead_locks_waiting") >= 1.0).then_some(()));
    a.unlock("cxa");
    b.gets_it();
    // The server has it free; the row does not.
    assert!(!a.is_free("cxa"));
    assert_eq!(a.value("SELECT IS_USED_LOCK('cxa')"), Some(b.id().to_string()));
    assert_eq!(a.value("SELECT GET_LOCK('cxa',1)").as_deref(), Some("0"));
    assert_eq!(server.root().column("SELECT IS_FREE_LOCK('cxa')"), ["1"], "given back");
    assert!(native.metric("lockstead_claims_total{result=\"not_free\"}") >= 1.0);
    a.ask_for("cxa");
    let used = || server.root().column("SELECT IS_USED_LOCK('cxa')").concat();
    eventually("the server grants it", || (used() == a.id().to_string()).then_some(()));
    b.unlock("cxa");
    a.gets_it();
    assert_eq!(holder(server, &native, "cxa"), Some(a.id()));
}

/// A proxy before a server of its own that becomes read-only for ordinary accounts.
fn read_only(server: &Server, extra: &[&str]) -> (OwnServer, Proxy) {
    let own = OwnServer::start(flavour_of(server), &[]);
    let mut root = own.server.root();
    let schema = fresh_schema();
    let grant = format!(
        "GRANT SELECT,INSERT,UPDATE,DELETE,CREATE,CREATE VIEW,ALTER ON {schema}.* TO keeper@'%'"
    );
    root.run("CREATE USER keeper@'%' IDENTIFIED BY 'keeper'");
    root.run(&grant);
    own.server.warm_up("keeper", "keeper");
    let url = own.server.url.replace("root:rootpw@", "keeper:keeper@");
    let proxy = Proxy::start_on(&url, &schema, &[&COEXIST[..], extra].concat());
    eventually("it grants", || (proxy.metric("lockstead_lease_good") >= 1.0).then_some(()));
    // Then it knows the others.
    let renewed = || proxy.metric("lockstead_lease_renewal_seconds_count") >= 1.0;
    eventually("it has renewed its lease", || renewed().then_some(()));
    (own, proxy)
}

fn a_row_that_cannot_be_written_is_an_error_and_the_lock_is_given_back(server: &Server) {
    let (own, proxy) = read_only(server, &["--on-store-error", "error"]);
    let mut a = Session::at(proxy.port);
    a.lock("cxb");
    own.server.root().run("SET GLOBAL read_only=1");
    let refused = a.client.query(b"SELECT GET_LOCK('cxc',0)");
    assert_eq!(refused.error(), Some(1105));
    assert_eq!(own.server.root().column("SELECT IS_FREE_LOCK('cxc')"), ["1"]);
    own.server.root().run("SET GLOBAL read_only=0");
    a.lock("cxc");
    assert_eq!(holder(&own.server, &proxy, "cxc"), Some(a.id()));
}

fn a_row_that_cannot_be_written_is_left_out(server: &Server) {
    let (own, proxy) = read_only(server, &[]);
    let mut a = Session::at(proxy.port);
    own.server.root().run("SET GLOBAL read_only=1");
    eventually("it is known that no other proxy is there", || {
        (a.client.query(b"SELECT GET_LOCK('cxd',0)").error().is_none()).then_some(())
    });
    assert_eq!(own.server.root().column("SELECT IS_USED_LOCK('cxd')"), [a.id().to_string()]);
    assert!(proxy.metric("lockstead_claims_total{result=\"native\"}") >= 1.0);
    a.unlock("cxd");
}

fn a_client_that_leaves_while_it_waits_frees_its_locks(server: &Server) {
    let proxy = Proxy::start(&server.url, &ENDLESS);
    let (mut direct, mut next) = (Session::at(server.port), Session::at(proxy.port));
    let mut a = Session::at(proxy.port);
    direct.lock("cxe");
    a.lock("cxf");
    a.ask_for("cxe");
    until_busy(&mut server.root(), a.id());
    next.ask_for("cxf");
    until_busy(&mut server.root(), next.id());
    drop(a);
    next.gets_it();
    assert_eq!(holder(server, &proxy, "cxf"), Some(next.id()));
}

fn a_lock_after_a_long_statement_has_its_row(server: &Server) {
    let proxy = Proxy::start(&server.url, &COEXIST);
    let mut a = Session::at(proxy.port);
    let long = format!("SELECT GET_LOCK('cxg',0) /* {} */", "x".repeat(100_000));
    a.run(&long);
    if flavour_of(server) == Flavour::MySql {
        assert_eq!(holder(server, &proxy, "cxg"), Some(a.id()));
    }
    a.unlock("cxg");
}

fn a_waiter_gets_no_lock_from_a_proxy_that_shuts_down(server: &Server) {
    let leaving = Proxy::start(&server.url, &ENDLESS);
    let stays = join(server, &leaving, &ENDLESS);
    let (mut holder, mut waiter) = (Session::at(leaving.port), Session::at(leaving.port));
    let mut next = Session::at(stays.port);
    holder.lock("cxh");
    waiter.ask_for("cxh");
    until_busy(&mut server.root(), waiter.id());
    next.ask_for("cxh");
    until_busy(&mut server.root(), next.id());
    leaving.signal("TERM");
    assert_eq!(holder.last_words().map(|error| error.code), Some(1053));
    let response = waiter.client.read_until_closed();
    assert_eq!(response.packets.len(), 1, "it gets the lock, or nothing: {:?}", response.packets);
    assert_eq!(response.error(), Some(1053));
    next.gets_it();
}

fn words_that_look_like_calls_ask_the_server_nothing(server: &Server) {
    let proxy = Proxy::start(&server.url, &COEXIST);
    let db = Database::create(server);
    let (routine, recaller) = (db.table("p"), db.table("recaller"));
    let mut root = server.root();
    root.run(&format!("CREATE PROCEDURE {routine}() BEGIN DO 1; END"));
    let reads = || proxy.metric("lockstead_native_reads_total");
    let is = |now: f64, expected: f64| (now - expected).abs() < f64::EPSILON;
    let mut a = Session::at(proxy.port);
    for sql in [
        "/* app:callcenter */ SELECT 1",
        "-- executed by cron\nSELECT 1",
        "# CALL p()\nSELECT 1",
        "EXPLAIN SELECT 1 AS callers",
        "SET @recall=1, @b='CALL p()'",
        "SELECT ';CALL p()'",
        &format!("CREATE PROCEDURE {recaller}() BEGIN DO GET_LOCK('cx10',0); END"),
        &format!("DROP PROCEDURE {recaller}"),
    ] {
        a.run(sql);
        assert!(is(reads(), 0.0), "{sql}");
    }
    let calls = [format!("-- a\nCALL {routine}()"), format!("/*! CALL */ {routine}()")];
    for (times, sql) in [1.0, 2.0].into_iter().zip(&calls) {
        a.run(sql);
        assert!(is(reads(), times), "{sql}");
    }
}
