//! Deadlocks of locks: inside a proxy, over several, and what looks like one.

use std::time::Duration;

use crate::own_server::flavour_of;
use crate::proxy::Proxy;
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{eventually, join, on_both};
use crate::wire::Shape;

on_both! {
    a_circle_inside_a_proxy_ends_as_it_closes
    a_circle_over_two_proxies_ends
    a_circle_over_three_proxies_and_local_waits_ends
    waits_in_a_row_are_no_deadlock
    waits_that_only_look_like_a_circle_go_on
    a_proxy_takes_back_a_wait_that_is_over
}

fn code(server: &Server) -> u16 {
    if flavour_of(server) == Flavour::MySql { 3058 } else { 1213 }
}

/// The result of a wait: 1 for the lock, else the error's code.
fn outcome(session: &mut Session) -> u16 {
    let response = session.client.read_response(Shape::Query);
    response.error().unwrap_or(1)
}

fn until_waiting(proxies: &[&Proxy], sessions: u32) {
    eventually("the sessions wait", || {
        let waiting = proxies.iter().map(|p| p.metric("lockstead_locks_waiting"));
        (waiting.sum::<f64>() > f64::from(sessions) - 0.5).then_some(())
    });
}

fn a_circle_inside_a_proxy_ends_as_it_closes(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    for length in [2, 3, 40] {
        let mut sessions: Vec<Session> = (0..length).map(|_| Session::at(proxy.port)).collect();
        for (n, session) in sessions.iter_mut().enumerate() {
            session.lock(&format!("k{n}"));
        }
        for (n, session) in sessions[..length - 1].iter_mut().enumerate() {
            session.ask_for(&format!("k{}", n + 1));
        }
        until_waiting(&[&proxy], u32::try_from(length).expect("few") - 1);
        let last = &mut sessions[length - 1];
        last.ask_for("k0");
        assert_eq!(outcome(last), code(server), "length {length}");
        // The victim's locks and its session are as they were, and the others go on.
        last.unlock(&format!("k{}", length - 1));
        for n in (0..length - 1).rev() {
            assert_eq!(outcome(&mut sessions[n]), 1);
            assert_eq!(sessions[n].value("SELECT RELEASE_ALL_LOCKS()").as_deref(), Some("2"));
        }
    }
    assert!(proxy.metric("lockstead_deadlocks_total{found=\"here\"}") >= 3.0);
}

/// A circle of sessions at the proxies in turn; the one that gets the error lets the others go on.
fn circle(server: &Server, proxies: &[&Proxy], length: usize) {
    let mut sessions: Vec<Session> =
        (0..length).map(|n| Session::at(proxies[n * proxies.len() / length].port)).collect();
    for (n, session) in sessions.iter_mut().enumerate() {
        session.lock(&format!("circle{n}"));
    }
    for (n, session) in sessions.iter_mut().enumerate() {
        session.ask_for(&format!("circle{}", (n + 1) % length));
    }
    // Exactly one gives up; then one after the other gets its lock and lets both go.
    let victim = eventually("one gives up", || {
        sessions.iter_mut().position(|s| s.client.readable_within(Duration::from_millis(1)))
    });
    assert_eq!(outcome(&mut sessions[victim]), code(server));
    assert_eq!(sessions[victim].value("SELECT RELEASE_ALL_LOCKS()").as_deref(), Some("1"));
    for back in 1..length {
        let next = &mut sessions[(victim + length - back) % length];
        assert_eq!(outcome(next), 1);
        assert_eq!(next.value("SELECT RELEASE_ALL_LOCKS()").as_deref(), Some("2"));
    }
}

fn a_circle_over_two_proxies_ends(server: &Server) {
    let a = Proxy::start(&server.url, &[]);
    let b = join(server, &a, &[]);
    for _ in 0..3 {
        circle(server, &[&a, &b], 2);
    }
    let found = |p: &Proxy| p.metric("lockstead_deadlocks_total{found=\"across\"}");
    assert!(found(&a) + found(&b) >= 3.0);
}

fn a_circle_over_three_proxies_and_local_waits_ends(server: &Server) {
    let a = Proxy::start(&server.url, &[]);
    let (b, c) = (join(server, &a, &[]), join(server, &a, &[]));
    circle(server, &[&a, &b, &c], 7);
}

fn waits_in_a_row_are_no_deadlock(server: &Server) {
    let a = Proxy::start(&server.url, &[]);
    let b = join(server, &a, &[]);
    // Longer than the 32 at which the servers see a deadlock where none is.
    let mut sessions: Vec<Session> =
        (0..36).map(|n| Session::at(if n % 2 == 0 { a.port } else { b.port })).collect();
    for (n, session) in sessions.iter_mut().enumerate() {
        session.lock(&format!("k{n}"));
    }
    for (n, session) in sessions.iter_mut().enumerate().skip(1) {
        session.ask_for(&format!("k{}", n - 1));
    }
    until_waiting(&[&a, &b], 35);
    // Deadlocks that begin later are found meanwhile, over the same two proxies.
    for _ in 0..2 {
        circle(server, &[&a, &b], 2);
    }
    for (n, session) in sessions.iter_mut().enumerate() {
        let all = if n == 0 { "1" } else { "2" };
        if n > 0 {
            assert_eq!(outcome(session), 1, "session {n}");
        }
        assert_eq!(session.value("SELECT RELEASE_ALL_LOCKS()").as_deref(), Some(all));
    }
}

/// Timeouts of 0 and sessions that hold nothing close no circle.
fn waits_that_only_look_like_a_circle_go_on(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut one = Session::at(proxy.port);
    let mut two = Session::at(proxy.port);
    let mut three = Session::at(proxy.port);
    one.lock("a");
    two.lock("b");
    one.ask_for("b");
    three.ask_for("a");
    until_waiting(&[&proxy], 2);
    assert_eq!(two.value("SELECT GET_LOCK('a',0)").as_deref(), Some("0"));
    assert_eq!(two.value("SELECT GET_LOCK('b',5)").as_deref(), Some("1"), "it has it");
    two.run("DO RELEASE_ALL_LOCKS()");
    assert_eq!(outcome(&mut one), 1);
    one.run("DO RELEASE_ALL_LOCKS()");
    assert_eq!(outcome(&mut three), 1);
}

fn a_proxy_takes_back_a_wait_that_is_over(server: &Server) {
    let a = Proxy::start(&server.url, &[]);
    let b = join(server, &a, &[]);
    let (mut one, mut two) = (Session::at(a.port), Session::at(b.port));
    one.lock("a");
    two.lock("b");
    two.ask_for("a");
    let rows = || server.root().column(&format!("SELECT conn FROM {}.waits", a.schema));
    eventually("the wait is told", || (rows() == [two.id().to_string()]).then_some(()));
    one.unlock("a");
    assert_eq!(outcome(&mut two), 1);
    eventually("it is taken back", || rows().is_empty().then_some(()));
}
