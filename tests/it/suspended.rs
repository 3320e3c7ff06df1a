//! Proxies that cannot renew their lease in time. Sessions that hold locks are held back, go on after a renewal, and
//! are closed where their locks may have gone to others.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use crate::launch::Launched;
use crate::link::Link;
use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::{Proxy, fresh_schema};
use crate::script::Server;
use crate::session::{Session, until_busy};
use crate::stage::{Database, eventually, is_at_server, join, on_both};
use crate::wire::Shape;

on_both! {
    a_primary_that_hangs_costs_no_session_its_locks
    a_proxy_cut_off_alone_loses_its_locks_to_another
    sessions_are_closed_when_no_renewal_succeeds_for_long
    an_answer_under_way_reaches_a_suspended_client
    a_wait_of_a_suspended_session_is_answered_when_it_goes_on
    a_suspended_client_may_quit
    a_proxy_shuts_down_while_sessions_are_suspended
}

const LEASE: [&str; 2] = ["--lease", "3s"];
const TWO_LEASES: Duration = Duration::from_secs(6);

fn until_suspended(proxy: &lockstead_support::Proxy) {
    let said = || proxy.log().contains("sessions that hold locks are suspended");
    eventually("sessions are suspended", || said().then_some(()));
}

fn until_passed(time: Duration, since: Instant) {
    eventually("the time has passed", || (since.elapsed() >= time).then_some(()));
}

/// A proxy whose way to its store alone can be stalled, and that way.
fn start_apart(server: &Server, schema: &str) -> (Launched, Link) {
    let link = Link::start(server.port, Ipv4Addr::LOCALHOST);
    let backend = format!("127.0.0.1:{}", server.port);
    let store = format!("mysql://root:rootpw@127.0.0.1:{}/{schema}", link.port());
    let extra = ["--create-schema", LEASE[0], LEASE[1]];
    (Launched::start(&backend, &store, &extra), link)
}

fn tokens(server: &Server, schema: &str) -> Vec<String> {
    let sql = format!("SELECT CONCAT(name,' ',token) FROM {schema}.held_locks ORDER BY name");
    server.root().column(&sql)
}

/// A table that sessions write to.
fn ledger(server: &Server, database: &Database) -> String {
    let table = database.table("ledger");
    server.root().run(&format!("CREATE TABLE {table} (entry VARCHAR(20))"));
    table
}

fn a_primary_that_hangs_costs_no_session_its_locks(server: &Server) {
    let own = OwnServer::start(flavour_of(server), &[]);
    let a = Proxy::start(&own.server.url, &LEASE);
    let b = join(&own.server, &a, &[LEASE[0], LEASE[1], "--backend-compression", "zlib"]);
    let database = Database::create(&own.server);
    let table = ledger(&own.server, &database);
    let mut of_a = Session::at(a.port);
    let mut of_b = Session::at(b.port);
    let mut asks_a = Session::at(a.port);
    let mut asks_b = Session::at(b.port);
    of_a.lock("of a");
    of_b.lock("of b");
    asks_a.ask_for("of b");
    asks_b.ask_for("of a");
    for proxy in [&a, &b] {
        let waits = || proxy.metric("lockstead_locks_waiting") >= 1.0;
        eventually("a session waits", || waits().then_some(()));
    }
    let before = tokens(&own.server, &a.schema);
    own.signal("STOP");
    let stopped = Instant::now();
    for proxy in [&a, &b] {
        until_suspended(proxy);
        let suspended = || proxy.metric("lockstead_suspended_sessions") >= 1.0;
        eventually("the suspended session is counted", || suspended().then_some(()));
    }
    of_a.send(&format!("INSERT INTO {table} VALUES ('of a')"));
    of_b.send("SELECT IS_USED_LOCK('of b')");
    assert!(a.page("/readyz").contains("sessions that hold locks have been suspended for"));
    until_passed(TWO_LEASES, stopped);
    own.signal("CONT");
    let inserted = of_a.client.read_response(Shape::Query);
    assert_eq!(inserted.error(), None);
    assert_eq!(of_b.reply(), Some(of_b.id().to_string()));
    assert_eq!(tokens(&own.server, &a.schema), before);
    for (proxy, other) in [(&a, &mut asks_a), (&b, &mut asks_b)] {
        assert!(
            !other.client.readable_within(Duration::from_millis(1)),
            "there is a second holder"
        );
        let count =
            |result| proxy.metric(&format!("lockstead_suspensions_total{{result=\"{result}\"}}"));
        assert!(count("resumed") >= 1.0 && count("closed") < 1.0);
        assert!(proxy.metric("lockstead_fenced_sessions_total") < 1.0);
        assert!(proxy.metric("lockstead_takeovers_total") < 1.0);
        let suspended = || proxy.metric("lockstead_suspended_sessions") >= 1.0;
        eventually("nobody is suspended", || (!suspended()).then_some(()));
    }
    assert_eq!(own.server.root().column(&format!("SELECT entry FROM {table}")), ["of a"]);
    of_a.unlock("of a");
    of_b.unlock("of b");
    asks_a.gets_it();
    asks_b.gets_it();
}

fn a_proxy_cut_off_alone_loses_its_locks_to_another(server: &Server) {
    let b = Proxy::start(&server.url, &LEASE);
    let (a, link) = start_apart(server, &b.schema);
    let database = Database::create(server);
    let table = ledger(server, &database);
    let mut holder = Session::at(a.port);
    let mut waiter = Session::at(b.port);
    holder.run("SELECT GET_LOCK('k', 600)");
    waiter.ask_for("k");
    link.stall();
    let stalled = Instant::now();
    until_suspended(&a);
    holder.send(&format!("INSERT INTO {table} VALUES ('late')"));
    waiter.gets_it();
    let mut root = server.root();
    assert!(!is_at_server(&mut root, flavour_of(server), holder.id()), "it still works");
    let words = holder.last_words().expect("a reason").message;
    assert!(String::from_utf8_lossy(&words).contains("lost its lease"), "{words:?}");
    until_passed(TWO_LEASES, stalled);
    link.heal();
    let mut next = Session::at(a.port);
    eventually("the proxy grants again", || {
        let sql = "SELECT GET_LOCK('new', 1)";
        let granted = next.client.query(sql.as_bytes()).error().is_none();
        (granted && !waiter.is_free("new")).then_some(())
    });
    assert_eq!(next.value("SELECT GET_LOCK('k', 0)").as_deref(), Some("0"), "still the waiter's");
    let entries = root.column(&format!("SELECT entry FROM {table}"));
    assert!(entries.is_empty(), "written without the lock: {entries:?}");
}

fn sessions_are_closed_when_no_renewal_succeeds_for_long(server: &Server) {
    let own = OwnServer::start(flavour_of(server), &[]);
    let proxy = Proxy::start(&own.server.url, &["--lease", "1s"]);
    let mut holder = Session::at(proxy.port);
    holder.lock("k");
    own.signal("STOP");
    holder.send("SELECT 'too late'");
    let words = holder.last_words().expect("a reason").message;
    assert!(String::from_utf8_lossy(&words).contains("lost its lease"), "{words:?}");
    assert!(proxy.log().contains("are suspended"), "{}", proxy.log());
    let closed = || proxy.metric("lockstead_suspensions_total{result=\"closed\"}") >= 1.0;
    eventually("that is counted", || closed().then_some(()));
    own.signal("CONT");
}

fn an_answer_under_way_reaches_a_suspended_client(server: &Server) {
    let (proxy, link) = start_apart(server, &fresh_schema());
    let mut busy = Session::at(proxy.port);
    let mut root = server.root();
    busy.lock("k");
    busy.send("SELECT SLEEP(4)");
    until_busy(&mut root, busy.id());
    link.stall();
    until_suspended(&proxy);
    assert_eq!(busy.reply().as_deref(), Some("0"));
    busy.send("SELECT GET_LOCK('k', 0)");
    assert!(!busy.client.readable_within(Duration::from_millis(50)), "it may be lost by now");
    link.heal();
    assert_eq!(busy.reply().as_deref(), Some("1"));
    assert_eq!(busy.value("SELECT 7").as_deref(), Some("7"));
    busy.unlock("k");
    busy.unlock("k");
}

fn a_wait_of_a_suspended_session_is_answered_when_it_goes_on(server: &Server) {
    let (proxy, link) = start_apart(server, &fresh_schema());
    let mut holder = Session::at(proxy.port);
    let mut waiter = Session::at(proxy.port);
    holder.lock("k");
    waiter.lock("own");
    let began = Instant::now();
    waiter.send("SELECT GET_LOCK('k', 4)");
    link.stall();
    until_suspended(&proxy);
    until_passed(Duration::from_secs(5), began);
    link.heal();
    assert_eq!(waiter.reply().as_deref(), Some("0"));
    assert_eq!(waiter.value("SELECT 7").as_deref(), Some("7"));
    waiter.unlock("own");
    holder.unlock("k");
}

fn a_suspended_client_may_quit(server: &Server) {
    let (proxy, link) = start_apart(server, &fresh_schema());
    let mut holder = Session::at(proxy.port);
    let mut next = Session::at(proxy.port);
    let mut root = server.root();
    holder.lock("k");
    link.stall();
    until_suspended(&proxy);
    let id = holder.id();
    holder.client.say_quit();
    let at_server = |root: &mut _| is_at_server(root, flavour_of(server), id);
    eventually("its session has ended", || (!at_server(&mut root)).then_some(()));
    link.heal();
    next.ask_for("k");
    next.gets_it();
}

fn a_proxy_shuts_down_while_sessions_are_suspended(server: &Server) {
    let own = OwnServer::start(flavour_of(server), &[]);
    let mut proxy = Proxy::start(&own.server.url, &["--lease", "10s", "--drain-timeout", "1s"]);
    let mut idle = Session::at(proxy.port);
    let mut busy = Session::at(proxy.port);
    idle.lock("idle");
    busy.lock("busy");
    own.signal("STOP");
    until_suspended(&proxy);
    busy.send("SELECT 'later'");
    proxy.signal("TERM");
    for session in [&mut idle, &mut busy] {
        assert_eq!(session.last_words().expect("a reason").code, 1053);
    }
    assert!(proxy.wait().is_some(), "it was killed");
    own.signal("CONT");
}
