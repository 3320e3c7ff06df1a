//! Proxies that die, freeze or lose their store: no other proxy takes their locks before they are
//! certainly lost, and then any may.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use crate::launch::Launched;
use crate::link::Link;
use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::{Proxy, fresh_schema};
use crate::script::Server;
use crate::script::server::Root;
use crate::session::{Session, until_busy};
use crate::stage::{Database, Deadline, PATIENCE, eventually, is_at_server, join, on_both};
use crate::wire::render;

on_both! {
    the_locks_of_a_killed_proxy_pass_on_after_its_lease
    a_restarted_proxy_frees_its_predecessor_s_locks_at_once
    a_live_proxy_is_not_taken_for_a_dead_predecessor
    a_proxy_without_its_store_makes_no_further_files
    a_frozen_proxy_finds_its_sessions_fenced
    a_proxy_that_lost_its_store_lets_go_before_another_has_the_lock
    a_grant_gets_no_answer_when_its_lease_is_over
    a_proxy_that_lost_its_store_keeps_sessions_without_locks
    a_proxy_that_lost_its_store_is_part_of_no_deadlock
    one_long_lease_is_not_waited_for_ever_after
    a_proxy_told_to_stop_hands_its_locks_over
    a_proxy_told_to_stop_lets_statements_end
    a_proxy_told_to_stop_ends_open_transactions_at_its_limit
}

const LEASE: [&str; 2] = ["--lease", "3s"];
/// After a renewal, no other proxy takes the locks for this long.
const NOT_BEFORE: Duration = Duration::from_secs(3);
/// A lease and generous time for everything else.
const NOT_AFTER: Duration = Duration::from_secs(13);

/// A lease that no test outlives: what comes before its end comes for another reason.
const ENDLESS: [&str; 2] = ["--lease", "10m"];

fn token(server: &Server, schema: &str, name: &str) -> u64 {
    let sql = format!("SELECT token FROM {schema}.held_locks WHERE name='{name}'");
    server.root().column(&sql)[0].parse().expect("a token")
}

fn until_waiting(proxy: &Proxy) {
    eventually("a session waits", || {
        (proxy.metric("lockstead_locks_waiting") >= 1.0).then_some(())
    });
}

/// Waits until a proxy renews its lease; a moment before that.
fn until_renewed(root: &mut Root, schema: &str, port: u16) -> Instant {
    let sql = format!("SELECT rvn FROM {schema}.proxies WHERE addr='127.0.0.1:{port}'");
    let first = root.column(&sql);
    let mut before = Instant::now();
    eventually("the lease is renewed", || {
        let looked = Instant::now();
        if root.column(&sql) != first {
            return Some(before);
        }
        before = looked;
        None
    })
}

/// Stops a proxy; the signal is sent before its last thread has noticed.
fn freeze(proxy: &Proxy) {
    proxy.signal("STOP");
    let tasks = format!("/proc/{}/task", proxy.pid());
    eventually("every thread has stopped", || {
        let tasks = std::fs::read_dir(&tasks).expect("the proxy's threads");
        let mut states = tasks.flatten().filter_map(|task| {
            let stat = std::fs::read_to_string(task.path().join("stat")).ok()?;
            Some(stat.rsplit_once(')')?.1.trim_start().starts_with('T'))
        });
        states.all(|stopped| stopped).then_some(())
    });
}

/// A table that sessions write to when they should not.
fn ledger(server: &Server, database: &Database) -> String {
    let table = database.table("ledger");
    server.root().run(&format!("CREATE TABLE {table} (entry VARCHAR(20))"));
    table
}

fn the_locks_of_a_killed_proxy_pass_on_after_its_lease(server: &Server) {
    let mut a = Proxy::start(&server.url, &LEASE);
    let b = join(server, &a, &LEASE);
    let database = Database::create(server);
    let table = ledger(server, &database);
    let mut root = server.root();
    let mut busy = Session::at(a.port);
    let mut waiter = Session::at(b.port);
    busy.lock("k");
    waiter.ask_for("k");
    until_waiting(&b);
    let before = token(server, &a.schema, "k");
    // The server does not notice that its peer is gone while a statement runs.
    busy.send(&format!("SELECT SLEEP(20); INSERT INTO {table} VALUES ('late')"));
    until_busy(&mut root, busy.id());
    let renewed = until_renewed(&mut root, &a.schema, a.port);
    a.signal("KILL");
    a.wait();
    waiter.gets_it();
    let took = renewed.elapsed();
    assert!(!is_at_server(&mut root, flavour_of(server), busy.id()), "its session still works");
    assert!(took > NOT_BEFORE, "granted after {took:?}, within the lease");
    assert!(took < NOT_AFTER, "granted after {took:?}");
    assert!(token(server, &b.schema, "k") > before);
    let count = format!("SELECT COUNT(*) FROM {table}");
    assert_eq!(waiter.value(&count).as_deref(), Some("0"));
    eventually("the dead proxy's row is swept", || {
        let rows = root.column(&format!("SELECT addr FROM {}.proxies", b.schema));
        (rows == [format!("127.0.0.1:{}", b.port)]).then_some(())
    });
}

/// A state directory that goes with the test.
struct StateDir(String);

impl StateDir {
    fn new() -> Self {
        let name = format!("lockstead-state-{:016x}", rand::random::<u64>());
        Self(std::env::temp_dir().join(name).to_string_lossy().into_owned())
    }

    fn files(&self) -> usize {
        let files = std::fs::read_dir(&self.0).expect("the state directory").flatten();
        // Beside those of incarnations there are a certificate and a socket.
        files.filter(|file| file.path().extension().is_some_and(|end| end == "lock")).count()
    }
}

impl Drop for StateDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn a_restarted_proxy_frees_its_predecessor_s_locks_at_once(server: &Server) {
    let state = StateDir::new();
    let extra = [&ENDLESS[..], &["--state-dir", &state.0]].concat();
    let mut a = Proxy::start(&server.url, &extra);
    let database = Database::create(server);
    let table = ledger(server, &database);
    let mut root = server.root();
    let mut idle = Session::at(a.port);
    let mut busy = Session::at(a.port);
    idle.lock("idle");
    busy.lock("busy");
    busy.send(&format!("SELECT SLEEP(20); INSERT INTO {table} VALUES ('late')"));
    until_busy(&mut root, busy.id());
    a.signal("KILL");
    a.wait();
    let successor = Proxy::start_on(&server.url, &a.schema, &extra);
    let mut next = Session::at(successor.port);
    next.run("SELECT GET_LOCK('another', 600)");
    for name in ["idle", "busy"] {
        next.ask_for(name);
        next.gets_it();
    }
    assert!(!is_at_server(&mut root, flavour_of(server), busy.id()), "granted too early");
    let entries = root.column(&format!("SELECT entry FROM {table}"));
    assert!(entries.is_empty(), "written without the lock: {entries:?}");
    eventually("only its own file is left", || (state.files() == 1).then_some(()));
    drop(successor);
    assert_eq!(state.files(), 1, "a killed proxy leaves its file");
}

fn a_live_proxy_is_not_taken_for_a_dead_predecessor(server: &Server) {
    let state = StateDir::new();
    let extra = [&ENDLESS[..], &["--state-dir", &state.0]].concat();
    let a = Proxy::start(&server.url, &extra);
    let mut holder = Session::at(a.port);
    holder.lock("k");
    let mut b = join(server, &a, &[&extra[..], &["--admin", "off"]].concat());
    let mut other = Session::at(b.port);
    other.lock("of b");
    assert_eq!(other.value("SELECT GET_LOCK('k', 0.5)").as_deref(), Some("0"));
    assert_eq!(state.files(), 2);
    holder.unlock("k");
    other.unlock("of b");
    b.signal("TERM");
    assert_eq!(b.wait(), Some(0));
    assert_eq!(state.files(), 1, "a proxy that ends in order takes its file along");
}

fn a_proxy_without_its_store_makes_no_further_files(server: &Server) {
    let state = StateDir::new();
    let own = OwnServer::start(flavour_of(server), &[]);
    let proxy = Proxy::start(&own.server.url, &["--lease", "1s", "--state-dir", &state.0]);
    own.stop();
    eventually("the lease runs out", || proxy.log().contains("the lease ran out").then_some(()));
    let attempts = || proxy.metric("lockstead_store_errors_total{kind=\"connect\"}");
    let before = attempts();
    eventually("it has tried again", || (attempts() >= before + 3.0).then_some(()));
    assert_eq!(state.files(), 1);
}

fn a_frozen_proxy_finds_its_sessions_fenced(server: &Server) {
    let a = Proxy::start(&server.url, &LEASE);
    let b = join(server, &a, &LEASE);
    let database = Database::create(server);
    let table = ledger(server, &database);
    let mut early = Session::at(a.port);
    let mut late = Session::at(a.port);
    let mut silent = Session::at(a.port);
    let mut waiter = Session::at(b.port);
    early.lock("early");
    late.lock("late");
    silent.lock("silent");
    waiter.ask_for("late");
    until_waiting(&b);
    freeze(&a);
    early.send(&format!("INSERT INTO {table} VALUES ('early')"));
    waiter.gets_it();
    waiter.run("SELECT GET_LOCK('early', 600)");
    late.send(&format!("INSERT INTO {table} VALUES ('late')"));
    a.signal("CONT");
    for (name, session) in [("early", &mut early), ("late", &mut late), ("silent", &mut silent)] {
        let words = session.last_words().expect("a reason");
        let words = String::from_utf8_lossy(&words.message).into_owned();
        assert!(words.contains("lost its lease"), "{words}");
        assert!(words.contains(&format!("'{name}':")), "{words}");
    }
    let mut again = Session::at(a.port);
    eventually("the resumed proxy grants again", || {
        (again.value("SELECT GET_LOCK('silent', 1)").as_deref() == Some("1")).then_some(())
    });
    assert_eq!(again.value("SELECT GET_LOCK('late', 0)").as_deref(), Some("0"));
    let entries = server.root().column(&format!("SELECT entry FROM {table}"));
    assert!(entries.is_empty(), "written without the lock: {entries:?}");
}

/// A proxy whose way to its store can be stalled, and that way.
fn start_on_a_thread(server: &Server, schema: &str) -> (Launched, Link) {
    let link = Link::start(server.port, Ipv4Addr::LOCALHOST);
    let backend = format!("127.0.0.1:{}", server.port);
    let store = format!("mysql://root:rootpw@127.0.0.1:{}/{schema}", link.port());
    let extra = ["--create-schema", LEASE[0], LEASE[1]];
    (Launched::start(&backend, &store, &extra), link)
}

fn a_proxy_that_lost_its_store_lets_go_before_another_has_the_lock(server: &Server) {
    let b = Proxy::start(&server.url, &LEASE);
    let (a, link) = start_on_a_thread(server, &b.schema);
    let database = Database::create(server);
    let table = ledger(server, &database);
    let mut root = server.root();
    let mut holder = Session::at(a.port);
    let mut busy = Session::at(a.port);
    let mut waiter = Session::at(b.port);
    holder.run("SELECT GET_LOCK('k', 600)");
    busy.run("SELECT GET_LOCK('busy', 600)");
    waiter.ask_for("k");
    until_waiting(&b);
    let before = token(server, &b.schema, "k");
    busy.send(&format!("SELECT SLEEP(20); INSERT INTO {table} VALUES ('late')"));
    until_busy(&mut root, busy.id());
    let renewed = until_renewed(&mut root, &b.schema, a.port);
    link.stall();
    waiter.gets_it();
    let took = renewed.elapsed();
    assert!(took > NOT_BEFORE && took < NOT_AFTER, "granted after {took:?}");
    // A busy machine may be late to close a session, which hears no answer for all that.
    if !holder.client.readable_within(Duration::from_millis(1)) {
        holder.send("SELECT 'too late'");
    }
    for session in [&mut holder, &mut busy] {
        assert!(!is_at_server(&mut root, flavour_of(server), session.id()), "it still works");
    }
    let heard = holder.client.read_until_closed();
    let [words] = &heard.packets[..] else { panic!("{}", render::response(&heard)) };
    let words = String::from_utf8_lossy(&words.payload).into_owned();
    assert!(words.contains("lost its lease"), "{words}");
    busy.last_words();
    assert!(token(server, &b.schema, "k") > before);
    waiter.run("SELECT GET_LOCK('busy', 600)");
    link.heal();
    let mut next = Session::at(a.port);
    eventually("the proxy grants again", || {
        let sql = "SELECT GET_LOCK('new', 1)";
        (next.client.query(sql.as_bytes()).error().is_none() && !waiter.is_free("new"))
            .then_some(())
    });
    assert_eq!(next.value("SELECT GET_LOCK('k', 0)").as_deref(), Some("0"), "still the waiter's");
    let entries = root.column(&format!("SELECT entry FROM {table}"));
    assert!(entries.is_empty(), "written without the lock: {entries:?}");
}

/// A number that grows with each statement of a connection: MySQL counts them, MariaDB numbers them.
fn statements_of(root: &mut Root, id: u64) -> u64 {
    let mariadb = root.column("SELECT VERSION()").concat().contains("MariaDB");
    let sql = if mariadb {
        format!("SELECT QUERY_ID FROM information_schema.PROCESSLIST WHERE ID={id}")
    } else {
        format!(
            "SELECT VARIABLE_VALUE FROM performance_schema.status_by_thread \
             JOIN performance_schema.threads USING (THREAD_ID) \
             WHERE PROCESSLIST_ID={id} AND VARIABLE_NAME='Questions'"
        )
    };
    root.column(&sql).concat().parse().expect("a number")
}

/// The server says the answer, with the lock's value in it. It says so in time and is heard late.
fn a_grant_gets_no_answer_when_its_lease_is_over(server: &Server) {
    let b = Proxy::start(&server.url, &LEASE);
    let links = [(); 2].map(|()| Link::start(server.port, Ipv4Addr::LOCALHOST));
    let [backend, store] = &links;
    let a = Launched::start(
        &format!("127.0.0.1:{}", backend.port()),
        &format!("mysql://root:rootpw@127.0.0.1:{}/{}", store.port(), b.schema),
        &LEASE,
    );
    let mut root = server.root();
    let mut late = Session::at(a.port);
    let mut waiter = Session::at(b.port);
    late.run("SELECT GET_LOCK('before', 600)");
    late.unlock("before");
    // The server got its last statement so long ago that it is asked for the next answer.
    late.run("DO SLEEP(0.6)");
    backend.mute();
    let before = statements_of(&mut root, late.id());
    late.send("SELECT GET_LOCK('k', 600)");
    eventually("the lock is held", || {
        let sql = format!("SELECT name FROM {}.held_locks", b.schema);
        (root.column(&sql) == ["k"]).then_some(())
    });
    eventually("the server has said it", || {
        (statements_of(&mut root, late.id()) > before).then_some(())
    });
    store.stall();
    waiter.ask_for("k");
    waiter.gets_it();
    backend.heal();
    let heard = late.client.read_response(crate::wire::Shape::Query);
    assert_eq!(heard.error(), Some(4031), "{}", render::response(&heard));
}

/// The proxy's row still shows a wait that is over, and the proxy cannot remove that.
fn a_proxy_that_lost_its_store_is_part_of_no_deadlock(server: &Server) {
    let b = Proxy::start(&server.url, &LEASE);
    let (a, link) = start_on_a_thread(server, &b.schema);
    let mut root = server.root();
    let (mut there, mut here) = (Session::at(a.port), Session::at(b.port));
    there.run("SELECT GET_LOCK('of a', 600)");
    here.run("SELECT GET_LOCK('of b', 600)");
    there.send("SELECT GET_LOCK('of b', 1)");
    let told = format!("SELECT COUNT(*) FROM {}.waits", b.schema);
    eventually("the wait is told", || (root.column(&told) == ["1"]).then_some(()));
    link.stall();
    assert_eq!(there.reply().as_deref(), Some("0"));
    assert_eq!(root.column(&told), ["1"], "taken back");
    here.ask_for("of a");
    here.gets_it();
    assert!(b.metric("lockstead_deadlocks_total{found=\"across\"}") < 1.0);
}

fn one_long_lease_is_not_waited_for_ever_after(server: &Server) {
    let schema = fresh_schema();
    let mut trial = Proxy::start_on(&server.url, &schema, &["--lease", "6s"]);
    let longest = || server.root().column(&format!("SELECT ttl_ms FROM {schema}.meta")).concat();
    assert_eq!(longest(), "6000");
    trial.signal("TERM");
    assert_eq!(trial.wait(), Some(0));
    let began = Instant::now();
    let _later = Proxy::start_on(&server.url, &schema, &["--lease", "2s"]);
    eventually("the longer lease is forgotten", || (longest() == "2000").then_some(()));
    assert!(began.elapsed() > Duration::from_secs(6), "somebody might have had it");
    let _longer = Proxy::start_on(&server.url, &schema, &["--lease", "9s"]);
    assert_eq!(longest(), "9000");
}

fn a_proxy_that_lost_its_store_keeps_sessions_without_locks(server: &Server) {
    let schema = fresh_schema();
    let (a, link) = start_on_a_thread(server, &schema);
    let mut holder = Session::at(a.port);
    let mut bystander = Session::at(a.port);
    holder.lock("k");
    bystander.lock("b");
    bystander.unlock("b");
    let mut root = server.root();
    let first = root.column(&format!("SELECT id FROM {schema}.proxies"));
    link.stall();
    let words = holder.last_words().expect("a reason").message;
    assert!(String::from_utf8_lossy(&words).contains("lost its lease"), "{words:?}");
    assert_eq!(bystander.value("SELECT 1").as_deref(), Some("1"));
    link.heal();
    let mut next = Session::at(a.port);
    eventually("the proxy grants again", || {
        next.client.query(b"DO GET_LOCK('k', 1)");
        let sql = format!("SELECT connection_id FROM {schema}.held_locks WHERE name='k'");
        (root.column(&sql) == [next.id().to_string()]).then_some(())
    });
    assert_eq!(bystander.value("SELECT 1").as_deref(), Some("1"));
    assert_eq!(bystander.value("SELECT GET_LOCK('b', 600)").as_deref(), Some("1"));
    eventually("only its new incarnation is left", || {
        let now = root.column(&format!("SELECT id FROM {schema}.proxies"));
        (now.len() == 1 && now != first).then_some(())
    });
    assert_eq!(bystander.value("SELECT RELEASE_LOCK('b')").as_deref(), Some("1"));
}

fn assert_no_row(server: &Server, proxy: &Proxy) {
    let sql = format!("SELECT addr FROM {}.proxies", proxy.schema);
    let left = server.root().column(&sql);
    assert!(!left.contains(&format!("127.0.0.1:{}", proxy.port)), "{left:?}");
}

fn a_proxy_told_to_stop_hands_its_locks_over(server: &Server) {
    let mut a = Proxy::start(&server.url, &ENDLESS);
    let b = join(server, &a, &ENDLESS);
    let mut holder = Session::at(a.port);
    let mut waiting_there = Session::at(a.port);
    let mut waiter = Session::at(b.port);
    holder.lock("k");
    waiting_there.ask_for("k");
    until_waiting(&a);
    waiter.ask_for("k");
    until_waiting(&b);
    a.signal("TERM");
    assert_eq!(a.wait(), Some(0));
    waiter.gets_it();
    assert_no_row(server, &a);
    for session in [&mut holder, &mut waiting_there] {
        assert_eq!(session.last_words().expect("a reason").code, 1053);
    }
}

fn a_proxy_told_to_stop_lets_statements_end(server: &Server) {
    let mut a = Proxy::start(&server.url, &ENDLESS);
    let database = Database::create(server);
    let table = ledger(server, &database);
    let mut busy = Session::at(a.port);
    let mut idle = Session::at(a.port);
    busy.lock("k");
    idle.lock("i");
    busy.send(&format!("INSERT INTO {table} SELECT SLEEP(2)"));
    until_busy(&mut server.root(), busy.id());
    a.signal("TERM");
    assert_eq!(idle.last_words().expect("a reason").code, 1053);
    let refused = std::net::TcpStream::connect(("127.0.0.1", a.port));
    assert!(refused.is_err(), "a new client is taken while the proxy drains");
    let inserted = busy.client.read_response(crate::wire::Shape::Query);
    assert_eq!(inserted.error(), None);
    busy.last_words();
    assert_eq!(a.wait(), Some(0));
    assert_no_row(server, &a);
    let count = format!("SELECT COUNT(*) FROM {table}");
    assert_eq!(server.root().column(&count), ["1"]);
    let sql = format!("SELECT COUNT(*) FROM {}.held_locks", a.schema);
    assert_eq!(server.root().column(&sql), ["0"]);
}

fn a_proxy_told_to_stop_ends_open_transactions_at_its_limit(server: &Server) {
    let limit = ["--lease", "10m", "--drain-timeout", "1s"];
    let mut a = Proxy::start(&server.url, &limit);
    let database = Database::create(server);
    let table = ledger(server, &database);
    let mut open = Session::at(a.port);
    open.lock("k");
    open.run(&format!("BEGIN; INSERT INTO {table} VALUES ('never')"));
    let limit = Deadline::after(PATIENCE);
    a.signal("TERM");
    assert_eq!(a.wait(), Some(0));
    assert!(!limit.left().is_zero());
    assert_eq!(open.last_words().expect("a reason").code, 1053);
    assert_no_row(server, &a);
    let mut root = server.root();
    assert_eq!(root.column(&format!("SELECT COUNT(*) FROM {table}")), ["0"]);
    let sql = format!("SELECT COUNT(*) FROM {}.held_locks", a.schema);
    assert_eq!(root.column(&sql), ["0"]);
}
