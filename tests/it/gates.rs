//! Waits are shown to the server, and nothing of them is left when they end.

use std::time::Duration;

use crate::launch::Launched;
use crate::link::Link;
use crate::own_server::flavour_of;
use crate::proxy::{Proxy, fresh_schema};
use crate::script::server::Root;
use crate::script::{Flavour, Server};
use crate::session::{Session, first_value, until_busy};
use crate::stage::{eventually, is_at_server, on_both};
use crate::wire::{Execute, Param, Response, Shape};

on_both! {
    the_processlist_shows_a_wait
    kill_query_reaches_a_waiter_through_any_proxy
    a_wait_goes_on_and_is_shown_again_when_the_gatekeeper_is_killed
    a_waiter_that_leaves_opens_its_gate
    a_waiter_that_is_killed_opens_its_gate
    a_waiter_of_a_proxy_that_shuts_down_opens_its_gate
    a_fenced_waiter_opens_its_gate
    a_grant_that_meets_a_kill_is_answered_or_given_back
    many_waits_are_shown_at_once
    a_prepared_wait_is_ended_again_and_again
    a_session_goes_on_when_its_gate_can_be_opened_again
    a_gate_is_released_whatever_the_limit_of_rows
}

/// What the process list says of a session: state and text.
fn seen(root: &mut Root, id: u64) -> String {
    // MySQL's information_schema refuses while any session's text has bytes of another character set.
    let table = root.processes();
    let sql = format!("SELECT CONCAT_WS('|',COMMAND,STATE,INFO) FROM {table} WHERE ID={id}");
    root.column(&sql).concat()
}

/// The gate at which a session waits, once it does.
fn gate_of(root: &mut Root, session: &Session) -> String {
    until_busy(root, session.id());
    let seen = seen(root, session.id());
    let at = seen.find("lockstead_gate_").unwrap_or_else(|| panic!("no gate in {seen}"));
    seen[at..].split('\'').next().expect("a name").to_owned()
}

/// No gate is closed, and nobody has the lock of this one.
fn until_open(root: &mut Root, proxy: &Proxy, gate: &str) {
    eventually("no gate is left", || (gates(proxy).0 == "0").then_some(()));
    let sql = format!("SELECT IS_FREE_LOCK('{gate}')");
    eventually("the server has no lock of it", || (root.column(&sql) == ["1"]).then_some(()));
}

/// No lock of the server's own is left in these sessions.
fn no_native_lock(server: &Server, sessions: &[&Session]) {
    if flavour_of(server) == Flavour::MariaDb {
        return;
    }
    for session in sessions {
        let sql = format!(
            "SELECT OBJECT_NAME FROM performance_schema.metadata_locks l \
             JOIN performance_schema.threads t ON t.THREAD_ID=l.OWNER_THREAD_ID \
             WHERE OBJECT_TYPE='USER LEVEL LOCK' AND PROCESSLIST_ID={}",
            session.id()
        );
        let left = || server.root().column(&sql);
        eventually("the session's own locks are gone", || left().is_empty().then_some(()));
    }
}

/// The number of closed gates, and how often one failed.
fn gates(proxy: &Proxy) -> (String, String) {
    let shown = |metric: &str| proxy.metric(metric).to_string();
    (shown("lockstead_gates"), shown("lockstead_gate_failures_total"))
}

/// Whether a reply is that of a killed wait; otherwise it is 1.
fn was_killed(server: &Server, reply: &Response) -> bool {
    match flavour_of(server) {
        Flavour::MySql if reply.error().is_some() => {
            assert_eq!(reply.error(), Some(1317));
            true
        }
        Flavour::MariaDb if first_value("a wait", reply).is_none() => true,
        Flavour::MySql | Flavour::MariaDb => {
            assert_eq!(first_value("a wait", reply).as_deref(), Some("1"));
            false
        }
    }
}

fn the_processlist_shows_a_wait(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut root = server.root();
    let (mut holder, mut waiter) = (Session::at(proxy.port), Session::at(proxy.port));
    holder.lock("k");
    waiter.ask_for("k");
    let gate = gate_of(&mut root, &waiter);
    assert_eq!(gates(&proxy), ("1".to_owned(), "0".to_owned()));
    let seen = seen(&mut root, waiter.id());
    let text = format!("Query|User lock|SELECT GET_LOCK(_utf8mb4'{gate}',");
    assert!(seen.starts_with(&text), "{seen}");
    holder.unlock("k");
    waiter.gets_it();
    until_open(&mut root, &proxy, &gate);
    no_native_lock(server, &[&holder, &waiter]);
    assert_eq!(waiter.value("SELECT RELEASE_ALL_LOCKS()").as_deref(), Some("1"));
    assert_eq!(gates(&proxy).1, "0");
}

fn a_gate_is_released_whatever_the_limit_of_rows(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut holder = Session::at(proxy.port);
    let mut waiter = Session::at(proxy.port);
    let mut root = server.root();
    holder.lock("k");
    waiter.run("SET sql_select_limit=0");
    for _ in 0..2 {
        waiter.send("SELECT GET_LOCK('k', 1) LIMIT 1");
        let gate = gate_of(&mut root, &waiter);
        assert_eq!(waiter.reply().as_deref(), Some("0"));
        until_open(&mut root, &proxy, &gate);
    }
    no_native_lock(server, &[&waiter]);
}

fn kill_query_reaches_a_waiter_through_any_proxy(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let second = Proxy::start_on(&server.url, &proxy.schema, &[]);
    let mut root = server.root();
    let mut holder = Session::at(proxy.port);
    let (mut waiter, mut there) = (Session::at(proxy.port), Session::at(second.port));
    eventually("the second proxy grants", || {
        (second.metric("lockstead_lease_good") >= 1.0).then_some(())
    });
    holder.lock("k");
    for text in ["at the server", "through a proxy", "through another"] {
        // A gate is the same in every character set.
        waiter.run("SET collation_connection=ucs2_general_ci");
        waiter.ask_for("k");
        let gate = gate_of(&mut root, &waiter);
        let kill = format!("KILL QUERY {}", waiter.id());
        match text {
            "at the server" => root.run(&kill),
            "through a proxy" => holder.run(&kill),
            _ => there.run(&kill),
        };
        let reply = waiter.client.read_response(Shape::Query);
        assert!(was_killed(server, &reply), "{text}");
        until_open(&mut root, &proxy, &gate);
    }
    // And one that waits at a proxy for a holder at another.
    there.ask_for("k");
    gate_of(&mut root, &there);
    holder.run(&format!("KILL QUERY {}", there.id()));
    assert!(was_killed(server, &there.client.read_response(Shape::Query)));
    holder.unlock("k");
    no_native_lock(server, &[&holder, &waiter, &there]);
}

fn a_wait_goes_on_and_is_shown_again_when_the_gatekeeper_is_killed(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut root = server.root();
    let mut holder = Session::at(proxy.port);
    let mut waiters = [Session::at(proxy.port), Session::at(proxy.port)];
    holder.lock("k");
    let mut gate = String::new();
    for waiter in &mut waiters {
        waiter.ask_for("k");
        gate = gate_of(&mut root, waiter);
    }
    for _ in 0..3 {
        let keeper = root.column(&format!("SELECT IS_USED_LOCK('{gate}')"));
        root.run(&format!("KILL {}", keeper[0]));
        eventually("they wait at other gates", || {
            let now: Vec<String> = waiters.iter().map(|w| seen(&mut root, w.id())).collect();
            let shown =
                |s: &String| s.contains("User lock|SELECT GET_LOCK(_utf8mb4'lockstead_gate_");
            let old = now.iter().any(|s| s.contains(&gate));
            (now.iter().all(shown) && !old).then_some(())
        });
        gate = gate_of(&mut root, &waiters[1]);
    }
    assert!(proxy.metric("lockstead_gate_failures_total") >= 3.0);
    assert_eq!(gates(&proxy).0, "2");
    root.run(&format!("KILL QUERY {}", waiters[0].id()));
    assert!(was_killed(server, &waiters[0].client.read_response(Shape::Query)));
    holder.unlock("k");
    waiters[1].gets_it();
    until_open(&mut root, &proxy, &gate);
    no_native_lock(server, &[&waiters[0], &waiters[1]]);
}

fn a_waiter_that_leaves_opens_its_gate(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut root = server.root();
    let mut holder = Session::at(proxy.port);
    holder.lock("k");
    let ways: [fn(Session); 4] = [
        |s| s.client.hang_up(),
        |s| s.client.reset_tcp(),
        |mut s| {
            // After further commands.
            s.send("SELECT 1");
            s.send("SELECT 2");
            s.client.hang_up();
        },
        |mut s| {
            s.client.send(&[1]);
            s.client.hang_up();
        },
    ];
    for (n, leave) in ways.into_iter().enumerate() {
        for holds in [false, true] {
            let mut waiter = Session::at(proxy.port);
            let id = waiter.id();
            if holds {
                waiter.lock("own");
                waiter.run("BEGIN");
            }
            waiter.ask_for("k");
            let gate = gate_of(&mut root, &waiter);
            leave(waiter);
            until_open(&mut root, &proxy, &gate);
            eventually("its session is gone", || {
                (!is_at_server(&mut root, flavour_of(server), id)).then_some(())
            });
            let own = holder.value("SELECT GET_LOCK('own', 20)");
            assert_eq!(own.as_deref(), Some("1"), "{n} {holds}");
            holder.unlock("own");
        }
    }
    eventually("nobody waits", || (proxy.metric("lockstead_locks_waiting") < 1.0).then_some(()));
    assert_eq!(gates(&proxy).1, "0");
}

fn a_waiter_that_is_killed_opens_its_gate(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut root = server.root();
    let (mut holder, mut waiter) = (Session::at(proxy.port), Session::at(proxy.port));
    holder.lock("k");
    waiter.lock("own");
    waiter.ask_for("k");
    let gate = gate_of(&mut root, &waiter);
    holder.run(&format!("KILL {}", waiter.id()));
    assert!(waiter.last_words().is_none());
    until_open(&mut root, &proxy, &gate);
    assert_eq!(holder.value("SELECT GET_LOCK('own', 20)").as_deref(), Some("1"));
}

fn a_waiter_of_a_proxy_that_shuts_down_opens_its_gate(server: &Server) {
    let mut proxy = Proxy::start(&server.url, &[]);
    let mut root = server.root();
    let (mut holder, mut waiter) = (Session::at(proxy.port), Session::at(proxy.port));
    holder.lock("k");
    waiter.lock("own");
    waiter.ask_for("k");
    let gate = gate_of(&mut root, &waiter);
    holder.send("SELECT SLEEP(2)");
    until_busy(&mut root, holder.id());
    proxy.signal("TERM");
    let words = waiter.client.read_response(Shape::Query);
    assert_eq!(words.error(), Some(1053));
    until_open(&mut root, &proxy, &gate);
    assert_eq!(holder.reply().as_deref(), Some("0"), "the statement was let run");
    assert_eq!(proxy.wait(), Some(0));
}

fn a_fenced_waiter_opens_its_gate(server: &Server) {
    let proxy = Proxy::start(&server.url, &["--lease", "3s"]);
    let mut root = server.root();
    let (mut holder, mut waiter) = (Session::at(proxy.port), Session::at(proxy.port));
    holder.lock("k");
    waiter.lock("own");
    waiter.ask_for("k");
    let gate = gate_of(&mut root, &waiter);
    root.run(&format!("UPDATE {}.proxies SET rvn=rvn+1", proxy.schema));
    let words = waiter.client.read_response(Shape::Query);
    assert_eq!(words.error(), Some(4031));
    until_open(&mut root, &proxy, &gate);
}

fn a_grant_that_meets_a_kill_is_answered_or_given_back(server: &Server) {
    const ROUNDS: u32 = 200;
    let proxy = Proxy::start(&server.url, &[]);
    let mut root = server.root();
    let mut killer = server.root();
    let (mut holder, mut waiter) = (Session::at(proxy.port), Session::at(proxy.port));
    let mut ended = 0;
    holder.lock("k");
    let mut before = Duration::from_millis(2);
    let step = Duration::from_micros(100);
    for _ in 0..ROUNDS {
        waiter.ask_for("k");
        until_busy(&mut root, waiter.id());
        let kill = format!("KILL QUERY {}", waiter.id());
        std::thread::scope(|scope| {
            // Time itself is tested: the kill must meet the grant. Each round moves the kill a little towards it.
            scope.spawn(|| {
                std::thread::park_timeout(before);
                killer.run(&kill)
            });
            std::thread::park_timeout(Duration::from_millis(2));
            holder.unlock("k");
        });
        let reply = waiter.client.read_response(Shape::Query);
        if was_killed(server, &reply) {
            ended += 1;
            before += step;
        } else {
            before = before.saturating_sub(step);
            waiter.unlock("k");
        }
        assert_eq!(waiter.value("SELECT 7").as_deref(), Some("7"), "the kill is over");
        assert_eq!(waiter.value("SELECT RELEASE_ALL_LOCKS()").as_deref(), Some("0"));
        // A grant that nobody wants any more may be on its way back.
        assert_eq!(holder.value("SELECT GET_LOCK('k', 60)").as_deref(), Some("1"));
    }
    assert!(ended > 0 && ended < ROUNDS, "{ended} of {ROUNDS} were killed");
    eventually("no gate is left", || (gates(&proxy).0 == "0").then_some(()));
    no_native_lock(server, &[&holder, &waiter]);
    assert_eq!(gates(&proxy).1, "0");
}

fn many_waits_are_shown_at_once(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut root = server.root();
    let mut holder = Session::at(proxy.port);
    holder.lock("k");
    let mut waiters: Vec<Session> = (0..60).map(|_| Session::at(proxy.port)).collect();
    for (before, waiter) in (0_u8..).zip(&mut waiters) {
        waiter.ask_for("k");
        eventually("it waits", || {
            let waiting = proxy.metric("lockstead_locks_waiting");
            (waiting > f64::from(before)).then_some(())
        });
    }
    for waiter in &waiters {
        until_busy(&mut root, waiter.id());
    }
    assert_eq!(gates(&proxy), ("60".to_owned(), "0".to_owned()));
    for waiter in &mut waiters[..30] {
        root.run(&format!("KILL QUERY {}", waiter.id()));
        assert!(was_killed(server, &waiter.client.read_response(Shape::Query)));
    }
    holder.unlock("k");
    for waiter in &mut waiters[30..] {
        waiter.gets_it();
        waiter.unlock("k");
    }
    eventually("no gate is left", || (gates(&proxy).0 == "0").then_some(()));
    let all: Vec<&Session> = waiters.iter().collect();
    no_native_lock(server, &all);
}

fn a_prepared_wait_is_ended_again_and_again(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut root = server.root();
    let (mut holder, mut waiter) = (Session::at(proxy.port), Session::at(proxy.port));
    holder.lock("k");
    let prepared = waiter.client.prepare(b"SELECT GET_LOCK(?, 600)");
    let id = prepared.statement_id().expect("a statement");
    let execute = Execute { params: vec![Param::Text(b"k".to_vec())], ..Execute::default() };
    for _ in 0..3 {
        waiter.client.send_execute(id, &execute);
        until_busy(&mut root, waiter.id());
        root.run(&format!("KILL QUERY {}", waiter.id()));
        let reply = waiter.client.read_response(Shape::Execute);
        assert_eq!(reply.error().is_some(), flavour_of(server) == Flavour::MySql);
    }
    waiter.client.send_execute(id, &execute);
    until_busy(&mut root, waiter.id());
    holder.unlock("k");
    assert_eq!(waiter.client.read_response(Shape::Execute).error(), None);
    assert_eq!(waiter.value("SELECT RELEASE_ALL_LOCKS()").as_deref(), Some("1"));
}

fn a_session_goes_on_when_its_gate_can_be_opened_again(server: &Server) {
    let link = Link::start(server.port, std::net::Ipv4Addr::LOCALHOST);
    let store = format!("mysql://root:rootpw@127.0.0.1:{}/{}", link.port(), fresh_schema());
    let backend = format!("127.0.0.1:{}", server.port);
    let proxy = Launched::start(&backend, &store, &["--create-schema"]);
    let mut root = server.root();
    let (mut holder, mut waiter) = (Session::at(proxy.port), Session::at(proxy.port));
    holder.lock("k");
    waiter.send("SELECT GET_LOCK('k', 2)");
    let gate = gate_of(&mut root, &waiter);
    link.stall();
    assert_eq!(waiter.reply().as_deref(), Some("0"), "its time is over nevertheless");
    waiter.send("SELECT 7");
    link.heal();
    assert_eq!(waiter.reply().as_deref(), Some("7"));
    let free = format!("SELECT IS_FREE_LOCK('{gate}')");
    eventually("the gate is open", || (root.column(&free) == ["1"]).then_some(()));
}
