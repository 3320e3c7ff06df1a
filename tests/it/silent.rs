//! Servers that are there and say nothing: what the proxy itself asks has an end, what a client asks has none.

use std::net::Ipv4Addr;

use crate::launch::Launched;
use crate::link::Link;
use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::{Proxy, fresh_schema};
use crate::script::Server;
use crate::session::Session;
use crate::stage::{eventually, on_both};
use crate::wire::{End, Shape};
use crate::writers::{Replicated, taught};

on_both! {
    a_question_without_an_answer_ends_its_session
    a_statement_of_a_client_may_take_longer_than_a_question
    a_session_inside_a_question_learns_that_its_locks_are_lost
    a_session_inside_a_question_leaves_a_silent_former_writer
    shared_sessions_with_something_under_way_go_on_at_the_next_writer
    rows_of_a_lost_lease_go_with_the_process
    rows_go_with_the_process_though_late_renewals_arrive
}

/// From now on the proxy asks its server for the setting before it answers a lock call.
fn makes_it_ask(session: &mut Session) {
    session.run("SET sql_select_limit=DEFAULT");
}

/// A proxy whose sessions' way to the server can be stalled; its lock tables stay where they are.
fn through(link: &Link, server: &Server) -> Launched {
    let (backend, schema) = (format!("127.0.0.1:{}", link.port()), fresh_schema());
    let store = format!("mysql://root:rootpw@127.0.0.1:{}/{schema}", server.port);
    Launched::start_with_pages(&backend, &store, &["--create-schema"])
}

fn a_question_without_an_answer_ends_its_session(server: &Server) {
    let link = Link::start(server.port, Ipv4Addr::LOCALHOST);
    let proxy = through(&link, server);
    let [mut free, mut holder] = [(); 2].map(|()| Session::at(proxy.port));
    holder.lock("own");
    for session in [&mut free, &mut holder] {
        makes_it_ask(session);
    }
    link.stall();
    for session in [&mut free, &mut holder] {
        session.send("SELECT GET_LOCK('k', 0)");
    }
    for session in [&mut free, &mut holder] {
        assert_eq!(session.client.read_response(Shape::Query).end, End::Closed);
    }
    let met = proxy.metric("lockstead_limits_met_total{limit=\"answer\"}");
    assert!((met - 2.0).abs() < 0.1, "{met}");
    assert!(proxy.log().contains("does not answer a question"), "{}", proxy.log());
    link.heal();
    let mut next = Session::at(proxy.port);
    next.ask_for("own");
    next.gets_it();
}

fn a_statement_of_a_client_may_take_longer_than_a_question(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut session = Session::at(proxy.port);
    // Evaluated before the call.
    let sql = "SELECT GET_LOCK(CONCAT('k', SLEEP(12)), 0)";
    assert_eq!(session.value(sql).as_deref(), Some("1"));
    session.unlock("k0");
}

fn a_session_inside_a_question_learns_that_its_locks_are_lost(server: &Server) {
    let own = OwnServer::start(flavour_of(server), &[]);
    let proxy = Proxy::start(&own.server.url, &["--lease", "2s"]);
    let mut holder = Session::at(proxy.port);
    holder.lock("own");
    makes_it_ask(&mut holder);
    own.signal("STOP");
    holder.send("SELECT GET_LOCK('k', 0)");
    let words = holder.last_words().expect("a reason").message;
    own.signal("CONT");
    assert!(String::from_utf8_lossy(&words).contains("lost its lease"), "{words:?}");
}

/// A proxy that reaches the first server by this way.
fn before(both: &Replicated, way: &Link, settings: &[&str]) -> Launched {
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", way.port(), both.second.server.port);
    let (url, schema) = both.store(&hosts);
    let settings = [&["--lease", "20s"], settings].concat();
    let proxy = Launched::start_with_pages(&hosts, &format!("{url}{schema}"), &settings);
    eventually("it grants", || (proxy.metric("lockstead_lease_good") >= 1.0).then_some(()));
    proxy
}

fn a_session_inside_a_question_leaves_a_silent_former_writer(server: &Server) {
    let both = Replicated::start(server);
    let way = Link::to(both.first.server.port);
    let proxy = before(&both, &way, &[]);
    let mut session = Session::at(proxy.port);
    makes_it_ask(&mut session);
    way.stall();
    session.send("SELECT GET_LOCK('k', 0)");
    both.promote();
    assert_eq!(session.last_words().expect("a reason").code, 1053);
}

fn shared_sessions_with_something_under_way_go_on_at_the_next_writer(server: &Server) {
    let both = Replicated::start(server);
    let way = Link::to(both.first.server.port);
    let proxy = before(&both, &way, &["--pooling", "transaction", "--pool-size", "8"]);
    let account = taught(&both, std::slice::from_ref(&proxy));
    let users = format!("SELECT COUNT(*) FROM mysql.user WHERE user='{}'", account.user);
    eventually("the replica has the account", || {
        (both.second.server.root().column(&users) == ["1"]).then_some(())
    });
    let mut sessions = [(); 5].map(|()| Session::of(proxy.port, &account));
    for (n, session) in sessions.iter_mut().enumerate() {
        session.lock(&format!("k{n}"));
    }
    let [question, statement, transaction, wait, idle] = &mut sessions;
    makes_it_ask(question);
    transaction.run("BEGIN");
    statement.send("SELECT SLEEP(600)");
    let mut root = both.first.server.root();
    eventually("the statement runs", || {
        let sql =
            "SELECT COUNT(*) FROM information_schema.processlist WHERE info='SELECT SLEEP(600)'";
        (root.column(sql) == ["1"]).then_some(())
    });
    wait.ask_for("k0");
    way.stall();
    question.send("SELECT GET_LOCK('k', 0)");
    transaction.send("SELECT 7");
    both.promote();
    for session in [question, statement, transaction] {
        let answer = session.client.read_response(Shape::Query);
        assert_eq!(answer.end, End::Complete, "{}", proxy.log());
        assert!(answer.error().is_some(), "{answer:?}");
    }
    idle.send("SELECT IS_USED_LOCK('k4') = CONNECTION_ID()");
    assert_eq!(idle.reply().as_deref(), Some("1"));
    sessions[0].unlock("k0");
    sessions[3].gets_it();
    for (n, session) in sessions.iter_mut().enumerate().skip(1) {
        let own = session.value(&format!("SELECT IS_USED_LOCK('k{n}') = CONNECTION_ID()"));
        assert_eq!(own.as_deref(), Some("1"), "{}", proxy.log());
    }
}

/// The lease is lost, and the process ends before it can begin another.
fn rows_of_a_lost_lease_go_with_the_process(server: &Server) {
    end_after_a_lost_lease(server, |_| {});
}

/// Renewals were on their way when the lease was lost.
fn rows_go_with_the_process_though_late_renewals_arrive(server: &Server) {
    end_after_a_lost_lease(server, |renew| {
        let mut root = server.root();
        for _ in 0..300 {
            root.run(renew);
        }
    });
}

/// `arrives`: what comes in while the process ends, with the statement that renews its row.
fn end_after_a_lost_lease(server: &Server, arrives: impl Fn(&str) + Sync) {
    let link = Link::start(server.port, Ipv4Addr::LOCALHOST);
    let (backend, schema) = (format!("127.0.0.1:{}", server.port), fresh_schema());
    let store = format!("mysql://root:rootpw@127.0.0.1:{}/{schema}", link.port());
    let mut proxy = Launched::start(&backend, &store, &["--create-schema", "--lease", "6s"]);
    let mut holder = Session::at(proxy.port);
    for n in 0..20 {
        holder.lock(&format!("k{n}"));
    }
    link.stall();
    let words = holder.last_words().expect("a reason").message;
    assert!(String::from_utf8_lossy(&words).contains("lost its lease"), "{words:?}");
    proxy.signal("TERM");
    eventually("it shuts down", || proxy.log().contains("asked to stop").then_some(()));
    let renew = format!("UPDATE {schema}.proxies SET rvn = rvn + 1");
    std::thread::scope(|scope| {
        scope.spawn(|| arrives(&renew));
        link.heal();
        assert!(proxy.wait().is_some(), "it was killed");
    });
    let mut root = server.root();
    let held = format!("SELECT COUNT(*) FROM {schema}.locks WHERE holder<>0");
    assert_eq!(root.column(&held), ["0"], "{}", proxy.log());
    assert_eq!(root.column(&format!("SELECT COUNT(*) FROM {schema}.proxies")), ["0"]);
    root.run(&format!("DROP DATABASE {schema}"));
}
