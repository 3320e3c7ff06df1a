//! Fifty sessions in each errand, and one in that of a first login, before a network that drops their packets: no reset
//! comes, and no end.

use std::collections::HashSet;
use std::net::Ipv4Addr;
use std::sync::Arc;

use lockstead_support::hole::BlackHole;

use super::{Errand, OF_ALL, OF_SHARED, Stage, until_closed};
use crate::launch::Launched;
use crate::link::Link;
use crate::own_server::{OwnServer, flavour_of};
use crate::pooling::ground::options;
use crate::script::Server;
use crate::session::Session;
use crate::stage::{eventually, on_both};
use crate::wire::{End, Shape};

on_both! {
    #[ignore = "make test-black-hole runs it: it needs root"]
    sessions_in_a_black_hole_hear_that_they_are_killed
    #[ignore = "make test-black-hole runs it: it needs root"]
    sessions_in_a_black_hole_hear_that_the_proxy_stops
    #[ignore = "make test-black-hole runs it: it needs root"]
    sessions_in_a_black_hole_end_by_themselves
    #[ignore = "make test-black-hole runs it: it needs root"]
    locks_of_sessions_in_a_black_hole_pass_on_when_the_server_is_rid_of_them
}

/// Sessions that wait together.
const MANY: u16 = 50;
/// Orders to the proxy at a time.
const AT_ONCE: usize = 8;
const DEDICATED: [&str; 2] = ["--pooling", "session"];
const SHARED: [&str; 2] = ["--pooling", "transaction"];

/// Each errand, with the pooling in which sessions meet it.
fn all() -> impl Iterator<Item = (&'static Errand, [&'static str; 2])> {
    let dedicated = OF_ALL.iter().map(|errand| (errand, DEDICATED));
    let shared = OF_ALL.iter().chain(&OF_SHARED).map(|errand| (errand, SHARED));
    dedicated.chain(shared)
}

/// A server for a thousand sessions.
fn large(server: &Server) -> Arc<OwnServer> {
    let flavour = flavour_of(server);
    let options = [options(flavour), &["--max-connections=2000"]].concat();
    Arc::new(OwnServer::start(flavour, &options))
}

/// A stage whose way leads over a network that can drop packets.
fn stage(own: &Arc<OwnServer>, settings: &[&str]) -> (BlackHole, Stage) {
    let hole = BlackHole::dig().expect("a network");
    let listener = hole.listener().expect("a listener at its other end");
    let way = Link::from(listener, own.server.port, Ipv4Addr::LOCALHOST);
    (hole, Stage::at(Arc::clone(own), way, MANY, &[&["--mode", "durable"], settings].concat()))
}

/// Has sessions wait for this, and drops their packets from then on.
fn begin(errand: &Errand, stage: &Stage, hole: &BlackHole) -> Vec<Session> {
    let sessions = (errand.begin)(stage);
    hole.open().expect("packets are dropped");
    sessions
}

fn sessions_in_a_black_hole_hear_that_they_are_killed(server: &Server) {
    let own = large(server);
    for (errand, pooling) in all() {
        let (hole, stage) = stage(&own, &pooling);
        let mut sessions = begin(errand, &stage, &hole);
        // All within the limit of a question; the proxy takes some orders at once.
        std::thread::scope(|scope| {
            for part in sessions.chunks_mut(usize::from(MANY).div_ceil(AT_ONCE)) {
                let stage = &stage;
                scope.spawn(move || {
                    for session in part {
                        // One that shares its connections may have ended with that of another.
                        stage.try_kill(session.id());
                        until_closed(session, errand.name);
                    }
                });
            }
        });
        assert!(stage.cut(errand.name) > 0.5, "{}: {}", errand.name, stage.proxy.log());
        // None has ended by the limit of a question, though some may have been a step further. Of those that share
        // connections, the others are on their way to one.
        if pooling == DEDICATED {
            let page = stage.proxy.page("/metrics");
            let cut = page.lines().filter(|line| line.starts_with("lockstead_errands_cut_total{"));
            let cut: f64 =
                cut.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum();
            assert!(cut > f64::from(MANY) - 0.5, "{}: {cut}", errand.name);
        }
        hole.close().expect("packets pass");
    }
}

fn sessions_in_a_black_hole_hear_that_the_proxy_stops(server: &Server) {
    let own = large(server);
    for (errand, pooling) in all() {
        let (hole, mut stage) = stage(&own, &[&pooling[..], &["--drain-timeout", "1s"]].concat());
        let mut sessions = begin(errand, &stage, &hole);
        stage.proxy.signal("TERM");
        for session in &mut sessions {
            until_closed(session, errand.name);
        }
        assert!(stage.proxy.wait().is_some(), "{}: it was killed", errand.name);
        hole.close().expect("packets pass");
    }
}

/// Nobody ends them: the limits of questions do, and that of silence.
fn sessions_in_a_black_hole_end_by_themselves(server: &Server) {
    let own = large(server);
    // All together: some limits are of a minute.
    std::thread::scope(|scope| {
        for (errand, pooling) in all() {
            let own = &own;
            scope.spawn(move || {
                let (hole, stage) = stage(own, &pooling);
                let mut sessions = begin(errand, &stage, &hole);
                for session in &mut sessions {
                    session.client.patience *= 3;
                }
                if pooling == DEDICATED {
                    for session in &mut sessions {
                        until_closed(session, errand.name);
                    }
                    return;
                }
                // Such a session is told that there is no connection, and may go on. Some have asked for nothing.
                let idle = match errand.name {
                    "give_back" => usize::from(MANY),
                    "login" => 1,
                    _ => 0,
                };
                for session in sessions.iter_mut().skip(idle) {
                    let end = session.client.read_response(Shape::Query).end;
                    assert!(matches!(end, End::Complete | End::Closed), "{}: {end:?}", errand.name);
                }
            });
        }
    });
}

/// A lock whose session has written something is free only when that can be committed no more.
fn locks_of_sessions_in_a_black_hole_pass_on_when_the_server_is_rid_of_them(server: &Server) {
    let own = large(server);
    let fence = OF_ALL.iter().find(|errand| errand.name == "fence").expect("in the list");
    for pooling in [DEDICATED, SHARED] {
        let (hole, stage) = stage(&own, &pooling);
        let port = own.server.port;
        let store = format!("mysql://root:rootpw@127.0.0.1:{port}/{}", stage.schema);
        let other = Launched::start(&format!("127.0.0.1:{port}"), &store, &["--mode", "durable"]);
        let mut next = Session::of(other.port, &stage.account);
        let mut sees = own.server.root();
        sees.run("SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED");
        let rows = format!("SELECT COUNT(*) FROM {}.counter", stage.schema);
        let sessions = begin(fence, &stage, &hole);
        let mut dirty = || -> usize { sees.column(&rows)[0].parse().expect("a number") };
        assert_eq!(dirty(), usize::from(MANY));
        for session in &sessions {
            stage.kill(session.id());
        }
        let mut left: HashSet<u16> = (0..MANY).collect();
        eventually("all locks pass on", || {
            left.retain(|n| {
                let taken = next.value(&format!("SELECT GET_LOCK('fenced {n}', 0)"));
                taken.as_deref() != Some("1")
            });
            // Each that was granted meanwhile belongs to one that the server was rid of.
            let alive = dirty();
            assert!(alive <= left.len(), "{alive} can commit, {} have their lock", left.len());
            left.is_empty().then_some(())
        });
        hole.close().expect("packets pass");
    }
}
