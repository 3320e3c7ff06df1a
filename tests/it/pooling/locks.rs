//! Held locks and waits for locks, which need no server connection.

use std::time::{Duration, Instant};

use super::ground::{Ground, until_waiting};
use crate::script::Server;
use crate::session::Session;
use crate::stage::{eventually, on_both};
use crate::wire::{End, Shape};

on_both! {
    a_lock_outlives_every_free_connection
    a_lock_outlives_the_connection_that_its_session_has
    waiters_have_no_connection
    a_session_has_one_id_everywhere
    a_lock_outlives_the_first_connection_of_its_session
    a_lock_outlives_a_connection_with_a_variable
    a_waiter_that_gets_no_connection_in_time_goes_on
}

const USED: &str = "SELECT IS_USED_LOCK";

fn a_lock_outlives_every_free_connection(server: &Server) {
    let ground = Ground::new(server, 4, &["--idle-keep", "100ms"]);
    let mut sessions: Vec<Session> = (0..12).map(|_| ground.session()).collect();
    for (n, session) in sessions.iter_mut().enumerate() {
        session.lock(&format!("k{n}"));
    }
    ground.until_all_have_left();
    let killed = ground.kill_connections();
    assert!(!killed.is_empty());
    all_go_on(&ground, &mut sessions);
}

fn a_lock_outlives_the_connection_that_its_session_has(server: &Server) {
    let ground = Ground::new(server, 4, &["--idle-keep", "1h"]);
    let mut sessions: Vec<Session> = (0..8).map(|_| ground.session()).collect();
    for (n, session) in sessions.iter_mut().enumerate() {
        session.lock(&format!("k{n}"));
    }
    // Each has had another one by now.
    for session in sessions.iter_mut().rev() {
        session.run("DO 0");
    }
    for session in &mut sessions {
        session.run("DO 0");
    }
    assert!(!ground.has_no_seated_session());
    let killed = ground.kill_connections();
    assert_eq!(killed.len(), 4, "{killed:?}");
    ground.until_all_have_left();
    all_go_on(&ground, &mut sessions);
}

/// Sessions that hold `k0`, `k1` and so on do so still.
fn all_go_on(ground: &Ground, sessions: &mut [Session]) {
    let mut other = ground.session();
    for (n, session) in sessions.iter_mut().enumerate() {
        let id = Some(session.id().to_string());
        assert_eq!(other.value(&format!("{USED}('k{n}')")), id, "session {n}");
        assert_eq!(session.value("SELECT CONCAT('goes', ' on')").as_deref(), Some("goes on"));
    }
    for (n, session) in sessions.iter_mut().enumerate() {
        session.unlock(&format!("k{n}"));
    }
}

fn waiters_have_no_connection(server: &Server) {
    let ground = Ground::new(server, 2, &["--pool-wait", "3s"]);
    let mut holder = ground.session();
    holder.lock("k");
    let mut waiters: Vec<Session> = (0..5).map(|_| ground.session()).collect();
    for (n, waiter) in (1..).zip(&mut waiters) {
        waiter.send("SELECT GET_LOCK('k', 20)");
        until_waiting(&ground.proxy, n);
    }
    let mut other = ground.session();
    let until = Instant::now() + Duration::from_secs(1);
    while Instant::now() < until {
        assert_eq!(other.value("SELECT 7").as_deref(), Some("7"));
    }
    other.run("BEGIN");
    assert_eq!(holder.value("SELECT 8").as_deref(), Some("8"), "there is another connection");
    let connections = ground.tenant.connections();
    assert!(connections.len() <= 2, "{connections:?}");
    other.run("COMMIT");
    holder.unlock("k");
    for n in 0..waiters.len() {
        waiters[n].gets_it();
        if let Some(next) = waiters.get_mut(n + 1) {
            let early = next.client.readable_within(Duration::from_millis(50));
            assert!(!early, "waiter {} has not waited for waiter {n}", n + 1);
        }
        waiters[n].unlock("k");
    }
    assert!(other.is_free("k"));
}

fn a_session_has_one_id_everywhere(server: &Server) {
    let ground = Ground::new(server, 1, &[]);
    let mut sessions = [ground.session(), ground.session(), ground.session()];
    for round in 0..2 {
        for (n, session) in sessions.iter_mut().enumerate() {
            if round == 0 {
                session.lock(&format!("k{n}"));
            }
            let id = session.id().to_string();
            let told = session
                .value(&format!("SELECT CONCAT(CONNECTION_ID(), ' ', IS_USED_LOCK('k{n}'))"));
            assert_eq!(told, Some(format!("{id} {id}")), "session {n}, round {round}");
            let told = session.value("SELECT CONNECTION_ID()");
            assert_eq!(told, Some(id), "session {n}, round {round}");
        }
    }
}

/// The session has not been on another connection yet: its state after the login must be known nevertheless.
fn a_lock_outlives_the_first_connection_of_its_session(server: &Server) {
    let ground = Ground::new(server, 20, &["--idle-keep", "1h"]);
    let mut sessions: Vec<Session> = (0..4).map(|_| ground.session()).collect();
    for (n, session) in sessions.iter_mut().enumerate() {
        session.lock(&format!("k{n}"));
    }
    ground.kill_connections();
    ground.until_all_have_left();
    all_go_on(&ground, &mut sessions);
}

/// A statement has named the variable since the session came to the connection, and nothing has changed it.
fn a_lock_outlives_a_connection_with_a_variable(server: &Server) {
    let ground = Ground::new(server, 1, &["--idle-keep", "1h"]);
    let mut sessions = [ground.session(), ground.session()];
    for (n, session) in sessions.iter_mut().enumerate() {
        session.run(&format!("SET @x = {n}"));
        session.lock(&format!("k{n}"));
    }
    // The session has its variable on another connection than the one that it was set on.
    assert_eq!(sessions[0].value("SELECT @x").as_deref(), Some("0"));
    ground.kill_connections();
    ground.until_all_have_left();
    for (n, session) in sessions.iter_mut().enumerate() {
        assert_eq!(session.value("SELECT @x"), Some(n.to_string()));
    }
    all_go_on(&ground, &mut sessions);
}

/// The lock comes while all connections are taken. The client gets an error, or its answer.
fn a_waiter_that_gets_no_connection_in_time_goes_on(server: &Server) {
    let ground = Ground::new(server, 1, &["--pool-wait", "300ms"]);
    let (mut holder, mut waiter) = (ground.session(), ground.session());
    holder.lock("k");
    waiter.ask_for("k");
    until_waiting(&ground.proxy, 1);
    holder.run("BEGIN");
    holder.unlock("k");
    let response = waiter.client.read_response(Shape::Query);
    holder.run("COMMIT");
    if response.end == End::Closed {
        eventually("at least the lock is free", || holder.is_free("k").then_some(()));
    }
    assert_ne!(response.end, End::Closed, "its session is over");
    assert_eq!(waiter.value("SELECT 7").as_deref(), Some("7"));
}
