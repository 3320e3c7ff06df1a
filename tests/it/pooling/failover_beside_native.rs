//! Another server becomes the primary, and sessions have locks at the server beside their rows (mode coexist). The new
//! primary grants them to any client, since it knows nothing of those of the former one.

use std::time::Duration;

use super::failover::{Ground, POOLING, goes_on, lead, until_it_grants};
use super::ground::teach;
use crate::own_server::flavour_of;
use crate::replicas::{detach, promote};
use crate::script::Server;
use crate::stage::{eventually, on_both};
use crate::witnesses::has_it;
use crate::writers::set_writable;

on_both! {
    a_lock_passes_on_after_the_grace
    a_lock_is_not_granted_while_its_session_may_live_at_the_former_primary
    a_lock_by_rows_is_kept_beside_sessions_that_lock_at_the_server
}

const COEXIST: [&str; 4] = ["--mode", "coexist", "--row-delay", "0s"];

fn a_lock_passes_on_after_the_grace(server: &Server) {
    let ground = Ground::new(server, &COEXIST);
    let mut holder = ground.session(0);
    holder.lock("k");
    let token = ground.token(&ground.first, "k");
    ground.until_alike();
    ground.fail_over();
    holder.last_words();
    let mut next = ground.comes_in(1);
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
    // The proxy has seen the replica: it looks for one at each renewal.
    let renewals = || ground.proxies[0].metric("lockstead_lease_renewal_seconds_count");
    let before = renewals();
    eventually("two renewals", || (renewals() >= before + 2.0).then_some(()));
    // The next primary never gets the row of the other one.
    detach(&ground.second.server);
    holder.lock("k");
    // The former primary has no replica any more, as far as it shows.
    let mut root = ground.first.server.root();
    let processes = root.processes();
    let dumps = format!("SELECT id FROM {processes} WHERE command LIKE 'Binlog Dump%'");
    for id in root.column(&dumps) {
        root.run(&format!("KILL {id}"));
    }
    eventually("its replica is gone", || root.column(&dumps).is_empty().then_some(()));
    set_writable(&ground.first.server, flavour_of(server), false);
    // On a slow machine, the promotion may take longer than the lease.
    assert!(has_it(&mut holder), "it went with the role: nothing is shown");
    promote(&ground.second.server);
    // The other proxy stays.
    lead(&ground.ways[1], &ground.second);
    let mut next = ground.comes_in(1);
    next.ask_for("k");
    while !next.client.readable_within(Duration::from_millis(100)) {
        has_it(&mut holder);
    }
    next.gets_it();
    assert!(!has_it(&mut holder), "two holders");
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
    let mut next = ground.comes_in(1);
    ground.until_over(1.0, &mut next, "k");
    goes_on(&mut holder, "k", 1);
    assert_eq!(ground.second.server.root().column("SELECT IS_FREE_LOCK('k')"), ["1"], "given back");
    // The session of this lock ended with the former primary.
    next.ask_for("native");
    next.gets_it();
    assert_eq!(holder.value("SELECT GET_LOCK('native', 0)").as_deref(), Some("0"));
    next.ask_for("k");
    holder.unlock("k");
    next.gets_it();
    assert_eq!(holder.value("SELECT GET_LOCK('k', 0)").as_deref(), Some("0"));
}
