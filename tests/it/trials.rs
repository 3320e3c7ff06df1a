//! Statements that are run to learn the server's order are ended in the middle.

use crate::own_server::flavour_of;
use crate::proxy::{Proxy, fresh_schema};
use crate::script::server::Root;
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{eventually, on_both};
use crate::wire::Shape;

on_both! {
    kill_query_ends_a_trial_and_nothing_is_taken
    a_session_that_is_killed_in_a_trial_leaves_nothing
}

/// Sends a statement that the server evaluates for minutes, and waits until it tries it.
fn try_for_long(session: &mut Session, root: &mut Root, flavour: Flavour, name: &str) {
    let limit = match flavour {
        Flavour::MySql => "cte_max_recursion_depth",
        Flavour::MariaDb => "max_recursive_iterations",
    };
    session.run(&format!("SET SESSION {limit}=1000000000"));
    session.send(&format!(
        "SELECT (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<1000000000) \
         SELECT COUNT(i) FROM n) + IF(GET_LOCK('{name}',0), 1, 0)"
    ));
    let id = session.id();
    let seen = format!("SELECT INFO FROM {} WHERE ID={id}", root.processes());
    eventually("a trial runs", || {
        root.column(&seen).concat().contains("lockstead_probe").then_some(())
    });
}

fn kill_query_ends_a_trial_and_nothing_is_taken(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let (mut session, mut other) = (Session::at(proxy.port), Session::at(proxy.port));
    let (name, mut root) = (fresh_schema(), server.root());
    try_for_long(&mut session, &mut root, flavour_of(server), &name);
    root.run(&format!("KILL QUERY {}", session.id()));
    assert_eq!(session.client.read_response(Shape::Query).error(), Some(1317));
    assert!(other.is_free(&name));
    // The server's own locks are counted in a way that bypasses the proxy.
    let native = match flavour_of(server) {
        Flavour::MySql => {
            let sql = "SELECT COUNT(*) FROM performance_schema.metadata_locks l \
                       JOIN performance_schema.threads t ON t.THREAD_ID=l.OWNER_THREAD_ID \
                       WHERE OBJECT_TYPE='USER LEVEL LOCK' AND PROCESSLIST_ID=";
            root.column(&format!("{sql}{}", session.id())).concat()
        }
        Flavour::MariaDb => {
            let hidden =
                "EXECUTE IMMEDIATE CONCAT('SELECT RELEASE_ALL_',IF(RAND()<2,'LOCKS()',''))";
            session.value(hidden).expect("a number")
        }
    };
    assert_eq!(native, "0");
    session.lock(&name);
    assert!(!other.is_free(&name));
}

fn a_session_that_is_killed_in_a_trial_leaves_nothing(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let (mut session, mut other) = (Session::at(proxy.port), Session::at(proxy.port));
    let (name, mut root) = (fresh_schema(), server.root());
    session.lock("held");
    try_for_long(&mut session, &mut root, flavour_of(server), &name);
    root.run(&format!("KILL {}", session.id()));
    eventually("its locks are free", || other.is_free("held").then_some(()));
    assert!(other.is_free(&name));
}
