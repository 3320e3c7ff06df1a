//! Rows of mode coexist that are written after the client has its answer (`row_delay`): others find what is so, and a proxy
//! that grants by rows alone waits for them.

use crate::admin::Folder;
use crate::own_server::flavour_of;
use crate::owned_names::suited;
use crate::proxy::Proxy;
use crate::script::Server;
use crate::session::{Session, until_busy};
use crate::stage::{eventually, is_at_server, join, on_both};

on_both! {
    a_lock_that_is_soon_released_has_no_row
    a_lock_that_is_held_gets_its_row
    a_session_finds_its_token_though_its_row_is_late
    a_lock_that_is_taken_twice_without_a_row_is_held_until_the_second_release
    a_new_connection_is_asked_about_and_then_late_at_once
    a_proxy_by_rows_alone_waits_for_rows_that_are_late
    a_proxy_by_rows_alone_waits_for_the_sessions_of_a_stopped_proxy
    a_proxy_by_rows_alone_waits_for_the_sessions_of_the_process_before_it
    a_stopped_proxy_keeps_no_lock_from_another_one_of_its_mode
    a_session_that_ends_leaves_no_lock
    a_delay_of_zero_holds_from_the_next_lock_on
}

const LATE: [&str; 6] = ["--mode", "coexist", "--lease", "3s", "--row-delay", "25ms"];
/// No row is written before a test has looked.
const LATEST: [&str; 6] = ["--mode", "coexist", "--lease", "10m", "--row-delay", "1s"];
/// No row is written for a second.
const SLOW: [&str; 6] = ["--mode", "coexist", "--lease", "3s", "--row-delay", "1s"];
const BY_ROWS: [&str; 4] = ["--mode", "durable", "--lease", "3s"];

/// Locks whose rows were late.
fn late(proxy: &Proxy) -> f64 {
    proxy.metric("lockstead_claims_total{result=\"later\"}")
}

/// Waits until rows are late.
fn until_late(proxy: &Proxy, session: &mut Session) {
    let (before, name) = (late(proxy), format!("late{}", session.id()));
    eventually("rows are late", || {
        session.lock(&name);
        session.unlock(&name);
        (late(proxy) > before).then_some(())
    });
}

/// The connection that the row of a lock names, if there is one and it is held.
fn holder(server: &Server, proxy: &Proxy, name: &str) -> Option<u64> {
    let sql = format!("SELECT conn FROM {}.locks WHERE k='L{name}' AND holder<>0", proxy.schema);
    server.root().column(&sql).first().map(|conn| conn.parse().expect("a number"))
}

fn tries(session: &mut Session, name: &str) -> Option<String> {
    session.value(&format!("SELECT GET_LOCK('{name}', 0)"))
}

fn a_lock_that_is_soon_released_has_no_row(server: &Server) {
    let own = suited(server);
    let proxy = Proxy::start(&own.server.url, &LATEST);
    let mut one = Session::at(proxy.port);
    until_late(&proxy, &mut one);
    let rows = format!("SELECT COUNT(*) FROM {}.locks WHERE k LIKE 'Lsoon%'", proxy.schema);
    let before = late(&proxy);
    for n in 0..50 {
        one.lock(&format!("soon{n}"));
        one.unlock(&format!("soon{n}"));
    }
    // A busy machine may renew the lease late: then a lock has its row at once.
    assert!(late(&proxy) >= before + 25.0);
    let rows: u64 = own.server.root().column(&rows)[0].parse().expect("a number");
    assert!(rows <= 25, "{rows}");
}

fn a_lock_that_is_held_gets_its_row(server: &Server) {
    let own = suited(server);
    let proxy = Proxy::start(&own.server.url, &LATE);
    let (mut one, mut two) = (Session::at(proxy.port), Session::at(proxy.port));
    until_late(&proxy, &mut one);
    let mut last: u64 = 0;
    for _ in 0..5 {
        for session in [&mut one, &mut two] {
            session.lock("held");
            eventually("the row is written", || holder(&own.server, &proxy, "held"));
            assert_eq!(holder(&own.server, &proxy, "held"), Some(session.id()));
            let sql = format!("SELECT tok FROM {}.locks WHERE k='Lheld'", proxy.schema);
            let token: u64 = own.server.root().column(&sql)[0].parse().expect("a token");
            assert!(token > last, "{token} after {last}");
            last = token;
            session.unlock("held");
            eventually("the row is free", || {
                holder(&own.server, &proxy, "held").is_none().then_some(())
            });
        }
    }
    // While a statement runs, too.
    one.lock("held");
    one.send("SELECT SLEEP(600)");
    eventually("the row is written", || holder(&own.server, &proxy, "held"));
}

fn a_session_finds_its_token_though_its_row_is_late(server: &Server) {
    let own = suited(server);
    let proxy = Proxy::start(&own.server.url, &LATEST);
    let (mut one, mut two) = (Session::at(proxy.port), Session::at(proxy.port));
    until_late(&proxy, &mut one);
    let sql = format!("SELECT token FROM {}.held_locks WHERE name='k'", proxy.schema);
    let mut last = 0;
    for _ in 0..10 {
        for session in [&mut one, &mut two] {
            session.lock("k");
            let token: u64 =
                session.value(&sql).expect("the session's own lock").parse().expect("a token");
            assert!(token > last, "{token} after {last}");
            assert_eq!(session.value(&sql), Some(token.to_string()));
            last = token;
            session.unlock("k");
        }
    }
    // By statements that were prepared before, and in other texts.
    let token = |session: &mut Session, sql: &str| {
        session.lock("k");
        let token: u64 = session.value(sql).expect("its own lock").parse().expect("a token");
        session.unlock("k");
        token
    };
    one.run(&format!("PREPARE s FROM 'SELECT token FROM {}.held_locks'", proxy.schema));
    for sql in [
        "EXECUTE s",
        &format!("SELECT token FROM {}.held_locks /* {} */", proxy.schema, "x".repeat(70_000)),
    ] {
        let now = token(&mut one, sql);
        assert!(now > last, "{now} after {last}");
        last = now;
    }
}

fn a_lock_that_is_taken_twice_without_a_row_is_held_until_the_second_release(server: &Server) {
    let own = suited(server);
    let proxy = Proxy::start(&own.server.url, &LATE);
    let mut one = Session::at(proxy.port);
    until_late(&proxy, &mut one);
    for waits in [false, true] {
        one.lock("twice");
        one.lock("twice");
        if waits {
            eventually("the row is written", || holder(&own.server, &proxy, "twice"));
        }
        one.unlock("twice");
        eventually("the row is written", || holder(&own.server, &proxy, "twice"));
        one.unlock("twice");
        eventually("the row is free", || {
            holder(&own.server, &proxy, "twice").is_none().then_some(())
        });
    }
}

fn a_new_connection_is_asked_about_and_then_late_at_once(server: &Server) {
    let own = suited(server);
    let proxy = Proxy::start(&own.server.url, &LATEST);
    until_late(&proxy, &mut Session::at(proxy.port));
    let before = late(&proxy);
    for _ in 0..20 {
        let mut session = Session::at(proxy.port);
        session.lock("new");
        session.unlock("new");
    }
    assert!(late(&proxy) >= before + 10.0);
}

fn a_proxy_by_rows_alone_waits_for_rows_that_are_late(server: &Server) {
    let own = suited(server);
    let first = Proxy::start(&own.server.url, &SLOW);
    let mut one = Session::at(first.port);
    until_late(&first, &mut one);
    for name in ["r1", "r2", "r3"] {
        one.lock(name);
        let second = Proxy::start_on(&own.server.url, &first.schema, &BY_ROWS);
        let mut two = Session::at(second.port);
        for _ in 0..3 {
            assert_eq!(tries(&mut two, name).as_deref(), Some("0"), "{name}");
        }
        eventually("the proxy grants", || {
            (second.metric("lockstead_lease_good") >= 1.0).then_some(())
        });
        assert_eq!(holder(&own.server, &first, name), Some(one.id()), "it has waited for the row");
        assert_eq!(tries(&mut two, name).as_deref(), Some("0"), "{name}");
        // Beside it, each row is written first.
        one.lock("beside");
        assert_eq!(holder(&own.server, &first, "beside"), Some(one.id()));
        one.unlock("beside");
        one.unlock(name);
        two.ask_for(name);
        two.gets_it();
        two.unlock(name);
        drop((two, second));
        until_late(&first, &mut one);
    }
}

fn a_proxy_by_rows_alone_waits_for_the_sessions_of_a_stopped_proxy(server: &Server) {
    let by_rows = |url: &str, schema: &str| Proxy::start_on(url, schema, &BY_ROWS);
    assert!(waits_for_a_stopped_proxy(server, by_rows), "its session has ended first");
}

/// Whether a proxy by rows alone gives a lock away only when the session of a stopped one, which has it without a row, has
/// ended at the server.
fn waits_for_a_stopped_proxy(server: &Server, by_rows: impl Fn(&str, &str) -> Proxy) -> bool {
    let own = suited(server);
    let first = Proxy::start(&own.server.url, &SLOW);
    let mut one = Session::at(first.port);
    until_late(&first, &mut one);
    one.lock("s");
    first.signal("STOP");
    assert_eq!(holder(&own.server, &first, "s"), None, "the row is late");
    let second = by_rows(&own.server.url, &first.schema);
    let mut two = Session::at(second.port);
    two.ask_for("s");
    two.gets_it();
    let (mut root, flavour) = (own.server.root(), flavour_of(server));
    let waits = !is_at_server(&mut root, flavour, one.id());
    first.signal("CONT");
    if waits {
        one.send("DO 1");
        one.last_words();
    }
    waits
}

fn a_proxy_by_rows_alone_waits_for_the_sessions_of_the_process_before_it(server: &Server) {
    let own = suited(server);
    let folder = Folder::new();
    let state = folder.file("state").display().to_string();
    let state = ["--state-dir", &state];
    let mut first = Proxy::start(&own.server.url, &[&SLOW[..], &state].concat());
    let mut one = Session::at(first.port);
    until_late(&first, &mut one);
    let (mut root, flavour) = (own.server.root(), flavour_of(server));
    one.lock("p");
    one.send("SELECT SLEEP(600)");
    until_busy(&mut root, one.id());
    first.signal("KILL");
    first.wait();
    assert_eq!(holder(&own.server, &first, "p"), None, "the row is late");
    let second = Proxy::start_on(&own.server.url, &first.schema, &[&BY_ROWS[..], &state].concat());
    let mut two = Session::at(second.port);
    two.ask_for("p");
    two.gets_it();
    assert!(!is_at_server(&mut root, flavour, one.id()), "its session has ended first");
}

fn a_stopped_proxy_keeps_no_lock_from_another_one_of_its_mode(server: &Server) {
    let own = suited(server);
    let first = Proxy::start(&own.server.url, &LATEST);
    let second = join(&own.server, &first, &LATEST);
    let (mut one, mut two) = (Session::at(first.port), Session::at(second.port));
    until_late(&first, &mut one);
    until_late(&second, &mut two);
    for name in ["a", "b", "c"] {
        one.lock(name);
        assert_eq!(tries(&mut two, name).as_deref(), Some("0"));
        one.unlock(name);
        first.signal("STOP");
        two.lock(name);
        first.signal("CONT");
        assert_eq!(tries(&mut one, name).as_deref(), Some("0"));
        two.unlock(name);
    }
}

fn a_session_that_ends_leaves_no_lock(server: &Server) {
    let own = suited(server);
    let first = Proxy::start(&own.server.url, &SLOW);
    let mut waiter = Session::at(first.port);
    until_late(&first, &mut waiter);
    for _ in 0..5 {
        let mut one = Session::at(first.port);
        until_late(&first, &mut one);
        one.lock("end");
        waiter.ask_for("end");
        drop(one);
        waiter.gets_it();
        waiter.unlock("end");
    }
    // Nothing is left that a proxy by rows alone would wait for.
    let second = Proxy::start_on(&own.server.url, &first.schema, &BY_ROWS);
    eventually("the proxy grants", || (second.metric("lockstead_lease_good") >= 1.0).then_some(()));
}

fn a_delay_of_zero_holds_from_the_next_lock_on(server: &Server) {
    let own = suited(server);
    let never = ["--mode", "coexist", "--row-delay", "0s"];
    let proxy = Proxy::start(&own.server.url, &never);
    let mut one = Session::at(proxy.port);
    for _ in 0..10 {
        one.lock("z");
        assert_eq!(holder(&own.server, &proxy, "z"), Some(one.id()));
        one.unlock("z");
    }
    assert!(late(&proxy).abs() < f64::EPSILON);
}

/// The rows of others are not waited for, and the test above must notice.
#[cfg(feature = "mutants")]
mod left_out {
    use super::{BY_ROWS, Proxy, Server, on_both, waits_for_a_stopped_proxy};

    on_both! {
        mutant_late_rows_ignored
    }

    fn mutant_late_rows_ignored(server: &Server) {
        let mutant = |url: &str, schema: &str| {
            Proxy::start_mutant_on(url, schema, "LateRowsIgnored", &BY_ROWS)
        };
        assert!(!waits_for_a_stopped_proxy(server, mutant), "nobody notices");
    }
}
