//! Another server becomes the primary, and sessions have locks at the server beside their rows (mode coexist): it
//! grants them to any client, since it knows nothing of those of the former primary.

use std::time::Duration;

use super::failover::{Ground, POOLING, goes_on, lead, until_it_grants};
use super::ground::teach;
use crate::own_server::{OwnServer, flavour_of};
use crate::replicas::{detach, promote};
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{eventually, on_both};
use crate::wire::Kind;
use crate::wire::decode::text_row;

on_both! {
    a_lock_passes_on_after_the_grace
    a_lock_is_not_granted_while_its_session_may_live_at_the_former_primary
    a_lock_by_rows_is_kept_beside_sessions_that_lock_at_the_server
}

const COEXIST: [&str; 2] = ["--mode", "coexist"];

fn read_only(server: &OwnServer) {
    let variable = match flavour_of(&server.server) {
        Flavour::MySql => "super_read_only",
        Flavour::MariaDb => "read_only",
    };
    server.server.root().run(&format!("SET GLOBAL {variable}=1"));
}

/// A client comes in when the proxy keeps locks at the next primary: one that comes before may be taken for one at the
/// former primary.
fn comes_in(ground: &Ground, proxy: usize) -> Session {
    eventually("it joins the next epoch", || {
        (ground.proxies[proxy].metric("lockstead_failovers_total") >= 1.0).then_some(())
    });
    eventually("clients log in at the next primary", || {
        let mut session = ground.session(proxy);
        session.value("SELECT 1").is_some().then_some(session)
    })
}

fn a_lock_passes_on_after_the_grace(server: &Server) {
    let ground = Ground::new(server, &COEXIST);
    let mut holder = ground.session(0);
    holder.lock("k");
    let token = ground.token(&ground.first, "k");
    ground.until_alike();
    ground.fail_over();
    holder.last_words();
    let mut next = comes_in(&ground, 1);
    assert_eq!(next.value("SELECT GET_LOCK('k', 0)").as_deref(), Some("0"), "in the grace");
    assert_eq!(next.value("SELECT GET_LOCK('free', 0)").as_deref(), Some("0"), "in the grace");
    let at_the_server = ground.second.server.root().column("SELECT IS_FREE_LOCK('k')");
    assert_eq!(at_the_server, ["1"], "given back");
    next.ask_for("k");
    next.gets_it();
    assert!(ground.token(&ground.second, "k") > token);
    next.unlock("k");
}

fn a_lock_is_not_granted_while_its_session_may_live_at_the_former_primary(server: &Server) {
    let ground = Ground::new(server, &COEXIST);
    let mut holder = ground.session(0);
    holder.lock("before");
    ground.until_alike();
    // The next primary never gets the row of the other one.
    detach(&ground.second.server);
    holder.lock("k");
    read_only(&ground.first);
    promote(&ground.second.server);
    // The other proxy stays.
    lead(&ground.ways[1], &ground.second);
    let mut next = comes_in(&ground, 1);
    next.ask_for("k");
    let mut asked = 0;
    while !next.client.readable_within(Duration::from_millis(100)) {
        asked += usize::from(has_it(&mut holder));
    }
    next.gets_it();
    assert!(!has_it(&mut holder), "two holders");
    assert!(asked > 0, "the session at the former primary went at once: nothing was shown");
}

/// Whether the session lives, and the lock is its own for all that it can see.
fn has_it(session: &mut Session) -> bool {
    let response = session.client.query(b"SELECT IS_USED_LOCK('k')=CONNECTION_ID()");
    let row = response.packets.iter().find(|p| p.kind == Kind::TextRow);
    row.is_some_and(|row| text_row(&row.payload) == Some(vec![Some(&b"1"[..])]))
}

/// One proxy's sessions share connections and have rows alone.
fn a_lock_by_rows_is_kept_beside_sessions_that_lock_at_the_server(server: &Server) {
    let mut ground = Ground::new(server, &COEXIST);
    let by_rows = ground.proxy(0, &POOLING);
    until_it_grants(&by_rows);
    ground.first.server.root().run("FLUSH PRIVILEGES");
    teach(&by_rows, &ground.account);
    ground.proxies[0] = by_rows;
    let mut holder = ground.session(0);
    let mut before = ground.session(1);
    holder.lock("k");
    assert_eq!(before.value("SELECT GET_LOCK('k', 0)").as_deref(), Some("0"));
    before.lock("native");
    ground.until_alike();
    ground.fail_over();
    before.last_words();
    let mut next = comes_in(&ground, 1);
    ground.until_over(1.0, &mut next, "k");
    goes_on(&mut holder, "k", 1);
    assert_eq!(ground.second.server.root().column("SELECT IS_FREE_LOCK('k')"), ["1"], "given back");
    // Its session ended with the former primary.
    next.ask_for("native");
    next.gets_it();
    assert_eq!(holder.value("SELECT GET_LOCK('native', 0)").as_deref(), Some("0"));
    next.ask_for("k");
    holder.unlock("k");
    next.gets_it();
    assert_eq!(holder.value("SELECT GET_LOCK('k', 0)").as_deref(), Some("0"));
}
