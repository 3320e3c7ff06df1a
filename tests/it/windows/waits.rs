//! Waits and grants, in every mode: who waits for what and for whom, and what calls came to.

use serde_json::Value;

use super::json;
use crate::admin::Desk;
use crate::own_server::flavour_of;
use crate::proxy::fresh_schema;
use crate::script::{Flavour, Server};
use crate::session::{Session, account, until_busy};
use crate::stage::{Database, eventually, on_both};
use crate::wire::library::Library;
use crate::wire::{Account, Execute, Param, Shape};

on_both! {
    a_wait_is_shown_and_counted_in_every_mode
    a_holder_that_connects_directly_is_shown
    waits_are_shown_as_far_as_the_statement_tells
    a_wait_begins_when_the_server_comes_to_it
    calls_are_counted_by_what_they_came_to
    a_deadlock_at_the_server_is_counted
}

/// Each mode, durable also with shared connections.
const MODES: [(&str, &[&str]); 4] = [
    ("observe", &["--mode", "observe"]),
    ("coexist", &["--mode", "coexist"]),
    ("durable", &["--mode", "durable"]),
    ("pooled", &["--mode", "durable", "--pooling", "transaction"]),
];

/// Those of this server's kind. MariaDB's performance schema is off here, and sessions share connections only with it.
fn modes(server: &Server) -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    let shares = flavour_of(server) == Flavour::MySql;
    MODES.into_iter().filter(move |(mode, _)| shares || *mode != "pooled")
}

/// A name of a lock that no other test takes.
fn fresh() -> String {
    fresh_schema().replace("lockstead_t", "w")
}

/// A session as PHP's mysqlnd logs in, without DEPRECATE_EOF, or as the tests' own client.
fn session(server: &Server, port: u16, library: &str) -> Session {
    let capabilities = Library::named(library).expect("listed").capabilities(flavour_of(server));
    Session::of(port, &Account { capabilities, ..account() })
}

/// The rows of a table over HTTP.
fn api(desk: &Desk, table: &str) -> Vec<Value> {
    let rows = json(desk.proxy.http, &format!("/api/v1/{table}"));
    rows.as_array().expect("a list").clone()
}

/// The only wait, by the shell.
fn only_wait(desk: &Desk) -> Value {
    eventually("one session waits", || {
        let rows = desk.rows(&["waiters"]);
        assert!(rows.len() < 2, "{rows:?}");
        rows.into_iter().next()
    })
}

fn nobody_waits(desk: &Desk) {
    eventually("nobody waits", || desk.rows(&["waiters"]).is_empty().then_some(()));
}

/// Whether a metric has this value.
fn reads(desk: &Desk, metric: &str, n: u32) -> bool {
    (desk.proxy.metric(metric) - f64::from(n)).abs() < 0.5
}

fn counted(desk: &Desk, function: &str, outcome: &str, n: u32) -> bool {
    let name =
        format!("lockstead_lock_calls_total{{function=\"{function}\",outcome=\"{outcome}\"}}");
    reads(desk, &name, n)
}

fn a_wait_is_shown_and_counted_in_every_mode(server: &Server) {
    for (mode, settings) in modes(server) {
        for library in ["mysqlnd", "own"] {
            let at = format!("{mode}, {library}");
            let desk = Desk::with(server, "", settings);
            let name = fresh();
            let mut a = session(server, desk.proxy.port, library);
            let mut b = session(server, desk.proxy.port, library);
            assert_eq!(a.value(&format!("SELECT GET_LOCK('{name}', 1)")).as_deref(), Some("1"));
            b.value("SELECT 1");
            b.send(&format!("SELECT GET_LOCK('{name}', 40)"));
            let wait = only_wait(&desk);
            let expected = [
                ("name", Value::from(name.clone())),
                ("connection_id", b.id().into()),
                ("holder", a.id().into()),
                ("certain", "yes".into()),
                ("place", if settings[1] == "durable" { 1.into() } else { Value::Null }),
            ];
            for (column, value) in expected {
                assert_eq!(wait[column], value, "{at}, {column}: {wait}");
            }
            for column in ["owner", "holder_owner"] {
                let owner = wait[column].as_str().unwrap_or_default();
                assert!(owner.starts_with("root@"), "{at}, {column}: {wait}");
            }
            assert!(wait["waited_seconds"].as_f64().is_some_and(|s| s < 40.0), "{at}: {wait}");
            let (shown, _) = desk.client("mysql", "SHOW WAITERS");
            assert!(shown.contains(&name), "{at}: {shown}");
            let status = eventually("the page shows it", || {
                let status = json(desk.proxy.http, "/api/v1/status");
                (status["clusters"][0]["waiting"] == 1).then_some(status)
            });
            assert_eq!(status["waiters"][0]["holder"], a.id(), "{at}: {status}");
            assert_eq!(status["contended"][0]["name"], name, "{at}: {status}");
            assert_eq!(status["contended"][0]["waiters_here"], 1, "{at}: {status}");
            // Other tests take locks at the server itself.
            assert!(status["clusters"][0]["held"].as_u64() >= Some(1), "{at}: {status}");
            assert_eq!(api(&desk, "waiters")[0]["name"], name, "{at}");
            let sessions = api(&desk, "sessions");
            let of =
                |id: u64| sessions.iter().find(|row| row["connection_id"] == id).expect("shown");
            assert_eq!(of(b.id())["waits_for"], name, "{at}: {sessions:?}");
            assert_eq!(
                (&of(a.id())["locks"], &of(b.id())["locks"]),
                (&1.into(), &0.into()),
                "{at}"
            );
            assert!(desk.proxy.metric("lockstead_lock_longest_wait_seconds") > 0.0, "{at}");
            assert!(reads(&desk, "lockstead_locks_waiting", 1), "{at}");
            assert!(reads(&desk, "lockstead_lock_wait_seconds_count", 1), "{at}: a's");
            a.unlock(&name);
            b.gets_it();
            nobody_waits(&desk);
            b.unlock(&name);
            eventually(&format!("{at}: both holds have ended"), || {
                (reads(&desk, "lockstead_lock_hold_seconds_count", 2)).then_some(())
            });
            assert!(reads(&desk, "lockstead_lock_wait_seconds_count", 2), "{at}");
            assert!(reads(&desk, "lockstead_locks_waiting", 0), "{at}");
            assert!(reads(&desk, "lockstead_locks_held", 0), "{at}");
            for function in ["get_lock", "release_lock"] {
                assert!(counted(&desk, function, "one", 2), "{at}: {function}");
            }
        }
    }
}

/// A client that connects directly has the lock.
fn a_holder_that_connects_directly_is_shown(server: &Server) {
    let desk = Desk::with(server, "", &["--mode", "coexist"]);
    let name = fresh();
    let mut direct = Session::at(server.port);
    let mut b = Session::at(desk.proxy.port);
    direct.lock(&name);
    b.ask_for(&name);
    let wait = eventually("the holder is known", || {
        Some(only_wait(&desk)).filter(|wait| wait["holder"] == direct.id())
    });
    assert!(wait["holder_owner"].as_str().is_some_and(|o| o.starts_with("root@")), "{wait}");
    direct.unlock(&name);
    b.gets_it();
    nobody_waits(&desk);
}

fn waits_are_shown_as_far_as_the_statement_tells(server: &Server) {
    let lists_names = flavour_of(server) == Flavour::MySql;
    let db = Database::create(server);
    let routine = db.table("p");
    let name = fresh();
    let body = format!("DO GET_LOCK('{name}', 40)");
    server.root().run(&format!("CREATE PROCEDURE {routine}() {body}"));
    for mode in ["observe", "coexist"] {
        let desk = Desk::with(server, "", &["--mode", mode]);
        let coexists = mode == "coexist";
        let mut direct = Session::at(server.port);
        let mut b = Session::at(desk.proxy.port);
        let get = b.client.prepare(b"SELECT GET_LOCK(?, ?)").statement_id().expect("prepared");
        let half = name.split_at(4);
        let computed = format!("SELECT GET_LOCK(CONCAT('{}', '{}'), 40)", half.0, half.1);
        let larger = format!("SELECT 1, GET_LOCK('{name}', 40)");
        let call = format!("CALL {routine}()");
        // The name that is shown, and whether the wait is certain.
        let told = if coexists && lists_names { &name } else { "<computed>" };
        let cases = [
            (None, Some((&*name, true))),
            (Some(format!("DO GET_LOCK('{name}', 40)")), Some((&*name, true))),
            (Some(computed), Some((told, true))),
            (Some(larger), Some((&*name, coexists))),
            (Some(call), Some((told, true)).filter(|_| coexists)),
        ];
        for (sql, expected) in cases {
            let at = format!("{mode}, {sql:?}");
            direct.lock(&name);
            if let Some(sql) = &sql {
                b.send(sql);
            } else {
                let params = vec![Param::Text(name.clone().into_bytes()), Param::Long(40)];
                b.client.send_execute(get, &Execute { params, ..Execute::default() });
            }
            until_busy(&mut server.root(), b.id());
            if let Some((shown, certain)) = expected {
                let certain = if certain { "yes" } else { "no" };
                let wait = eventually(&at, || {
                    Some(only_wait(&desk)).filter(|w| w["certain"] == certain && w["name"] == shown)
                });
                assert_eq!(wait["connection_id"], b.id(), "{at}: {wait}");
                // An observing proxy knows what its own sessions hold.
                let holder =
                    if coexists && shown == name { direct.id().into() } else { Value::Null };
                assert_eq!(wait["holder"], holder, "{at}: {wait}");
            } else {
                assert!(desk.rows(&["waiters"]).is_empty(), "{at}");
            }
            direct.unlock(&name);
            let shape = if sql.is_some() { Shape::Query } else { Shape::Execute };
            assert_eq!(b.client.read_response(shape).error(), None, "{at}");
            nobody_waits(&desk);
            b.run("SELECT RELEASE_ALL_LOCKS()");
        }
    }
}

/// Commands in one write: the second runs when the first has ended.
fn a_wait_begins_when_the_server_comes_to_it(server: &Server) {
    for mode in ["observe", "coexist"] {
        let desk = Desk::with(server, "", &["--mode", mode]);
        let (first, second) = (fresh(), fresh());
        let mut direct = Session::at(server.port);
        let mut b = Session::at(desk.proxy.port);
        direct.lock(&first);
        direct.lock(&second);
        b.ask_for(&first);
        b.ask_for(&second);
        for name in [&first, &second] {
            let wait = only_wait(&desk);
            assert_eq!(wait["name"], **name, "{mode}");
            direct.unlock(name);
            b.gets_it();
        }
        nobody_waits(&desk);
    }
}

fn calls_are_counted_by_what_they_came_to(server: &Server) {
    for (mode, settings) in modes(server) {
        let desk = Desk::with(server, "", settings);
        let name = fresh();
        let (mut a, mut b) = (Session::at(desk.proxy.port), Session::at(desk.proxy.port));
        a.lock(&name);
        let zero = b.value(&format!("SELECT GET_LOCK('{name}', 0)"));
        assert_eq!(zero.as_deref(), Some("0"), "{mode}");
        b.ask_for(&name);
        let wait = only_wait(&desk);
        // KILL QUERY ends the wait: with an error at MySQL, with NULL at MariaDB.
        let mut killer = Session::at(desk.proxy.port);
        // In mode durable it finds the wait soon after that has begun.
        eventually("the wait ends", || {
            killer.run(&format!("KILL QUERY {}", wait["connection_id"]));
            desk.rows(&["waiters"]).is_empty().then_some(())
        });
        b.client.read_response(Shape::Query);
        a.value(&format!("SELECT IS_USED_LOCK('{name}')"));
        a.value(&format!("SELECT IS_FREE_LOCK('{name}')"));
        a.value("SELECT RELEASE_LOCK('nobody has it')");
        a.value("SELECT RELEASE_ALL_LOCKS()");
        for (function, outcome) in [
            ("get_lock", "one"),
            ("get_lock", "zero"),
            ("get_lock", "ended"),
            ("is_used_lock", "one"),
            ("is_free_lock", "zero"),
            ("release_lock", "null"),
            ("release_all_locks", "one"),
        ] {
            assert!(counted(&desk, function, outcome, 1), "{mode}: {function} {outcome}");
        }
        assert!(reads(&desk, "lockstead_lock_wait_seconds_count", 1), "{mode}");
        nobody_waits(&desk);
    }
}

fn a_deadlock_at_the_server_is_counted(server: &Server) {
    for mode in ["observe", "coexist"] {
        let desk = Desk::with(server, "", &["--mode", mode]);
        let (one, two) = (fresh(), fresh());
        let (mut a, mut b) = (Session::at(desk.proxy.port), Session::at(desk.proxy.port));
        a.lock(&one);
        b.lock(&two);
        a.ask_for(&two);
        until_busy(&mut server.root(), a.id());
        // One of the two gets the error, and the other waits on.
        b.ask_for(&one);
        eventually(mode, || {
            let found = "lockstead_deadlocks_total{found=\"server\"}";
            (reads(&desk, found, 1)).then_some(())
        });
        assert!(counted(&desk, "get_lock", "ended", 1), "{mode}");
    }
}
