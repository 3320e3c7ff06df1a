//! A planned switch of the primary is prepared: new statements wait, open transactions end, locks stay held.

use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

use super::ground::Ground;
use crate::admin::{Desk, Folder};
use crate::cli::text;
use crate::launch::{Launched, run};
use crate::link::Link;
use crate::proxy::{Proxy, free_port, fresh_schema};
use crate::script::Server;
use crate::session::Session;
use crate::stage::{eventually, on_both};
use crate::wire::{Execute, Shape};

on_both! {
    new_statements_wait_and_an_open_transaction_ends
    sessions_with_connections_of_their_own_wait_too
    statements_go_on_when_the_time_is_over
    a_session_that_waits_for_a_lock_is_not_in_the_way
    a_session_whose_transaction_has_failed_is_asked
    a_client_that_leaves_while_its_statement_waits_is_gone
    a_shutdown_lets_statements_go_on
    nothing_waits_without_a_lease
    holds_that_come_and_go_lose_nothing
}

/// Long enough for whatever a test does meanwhile.
const LONG: &str = "60s";
/// So long nothing comes that must not come.
const A_MOMENT: Duration = Duration::from_millis(300);

/// Asks a proxy from the shell.
struct Shell(Folder);

impl Shell {
    fn new() -> Self {
        Self(Folder::new())
    }

    fn place(&self) -> String {
        format!("unix:{}", self.0.socket().display())
    }

    fn ask(&self, words: &[&str]) -> Output {
        ask(&self.place(), words)
    }

    /// Begins to prepare a switch, which ends when no transaction is open.
    fn prepare(&self, hold: &'static str) -> JoinHandle<Output> {
        let place = self.place();
        thread::spawn(move || ask(&place, &["drain-primary", "--hold", hold, "--json"]))
    }

    /// The state of the preparation.
    fn shown(&self) -> Value {
        row(&self.ask(&["drain-primary", "--show", "--json"]))
    }

    fn cancel(&self) {
        let said = self.ask(&["drain-primary", "--cancel"]);
        assert_eq!(said.status.code(), Some(0), "{}", text(&said));
    }
}

fn ask(place: &str, words: &[&str]) -> Output {
    run(&[words, &["--admin", place]].concat())
}

/// The only row of an answer.
fn row(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", text(output));
    let rows: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    rows[0].clone()
}

fn until(proxy: &Proxy, metric: &str, value: f64) {
    let name = format!("lockstead_{metric}");
    eventually(&name, || ((proxy.metric(&name) - value).abs() < 0.1).then_some(()));
}

fn waits_on(session: &mut Session) {
    assert!(!session.client.readable_within(A_MOMENT), "it has an answer");
}

fn done(session: &mut Session) {
    let response = session.client.read_response(Shape::Query);
    assert!(response.error().is_none(), "{response:?}");
}

/// In front of a pool, or where each session has its own connection.
fn hold(shell: &Shell, proxy: &Proxy, mut sessions: [Session; 3], table: &str, tied: u64) {
    let [idle, inside, holder] = &mut sessions;
    holder.lock("k");
    inside.run(&format!("CREATE TABLE {table} (n INT PRIMARY KEY)"));
    inside.run("BEGIN");
    inside.run(&format!("INSERT INTO {table} VALUES (1)"));
    let prepared = shell.prepare(LONG);
    until(proxy, "switchover_state", 1.0);
    idle.send(&format!("INSERT INTO {table} VALUES (2)"));
    until(proxy, "held_statements", 1.0);
    inside.run(&format!("INSERT INTO {table} VALUES (3)"));
    let open = shell.shown();
    assert_eq!(open["state"], "waiting for transactions", "{open}");
    assert_eq!((&open["transactions"], &open["statements"]), (&1.into(), &0.into()), "{open}");
    assert_eq!(open["open_sessions"], inside.id().to_string(), "{open}");
    assert!(!prepared.is_finished(), "a transaction is open");
    inside.run("COMMIT");
    let ready = row(&prepared.join().expect("it ends"));
    assert_eq!(ready["state"], "ready: switch now", "{ready}");
    // Of a pool, if there is one.
    let metric = |name: &str| proxy.metric(&format!("lockstead_pool_{name}"));
    let seated = metric("connections") - metric("free_connections");
    assert!(seated.abs() < 0.1, "{seated} sessions have not given their connections back");
    for (column, count) in [("transactions", 0), ("statements", 0), ("held", 1), ("tied", tied)] {
        assert_eq!(ready[column], count, "{column}: {ready}");
    }
    assert!(ready["seconds_left"].as_f64().is_some_and(|left| left > 10.0), "{ready}");
    until(proxy, "switchover_state", 2.0);
    waits_on(idle);
    inside.send(&format!("SELECT COUNT(*) FROM {table}"));
    until(proxy, "held_statements", 2.0);
    let again = shell.ask(&["drain-primary"]);
    assert_eq!(again.status.code(), Some(1), "{}", text(&again));
    assert!(text(&again).contains("is being prepared already"), "{}", text(&again));
    waits_on(inside);
    shell.cancel();
    done(idle);
    inside.reply();
    assert_eq!(inside.value(&format!("SELECT COUNT(*) FROM {table}")).as_deref(), Some("3"));
    assert_eq!(holder.value("SELECT IS_USED_LOCK('k')"), Some(holder.id().to_string()));
    let over = shell.shown();
    assert_eq!((&over["state"], &over["last_end"]), (&"off".into(), &"cancelled".into()));
    let nothing = shell.ask(&["drain-primary", "--cancel"]);
    assert_eq!(nothing.status.code(), Some(1), "{}", text(&nothing));
    until(proxy, "switchover_state", 0.0);
    until(proxy, "held_statements", 0.0);
    until(proxy, "switchovers_total{end=\"cancelled\"}", 1.0);
    let log = proxy.log();
    for line in [
        "a switchover is prepared: new statements wait",
        "ready for the switch of the primary: no transaction is open",
        "the hold for a switchover is over: statements go on",
    ] {
        assert_eq!(log.matches(line).count(), 1, "{line}: {log}");
    }
    let audit = log.lines().find(|line| line.contains("SWITCHOVER PREPARE '60s'"));
    assert!(audit.is_some_and(|line| line.contains("lockstead::audit")), "{log}");
}

fn new_statements_wait_and_an_open_transaction_ends(server: &Server) {
    let shell = Shell::new();
    let ground = Ground::new(server, 4, &["--admin", &shell.place()]);
    let sessions = [(); 3].map(|()| ground.session());
    let table = ground.tenant.database.table("t");
    hold(&shell, &ground.proxy, sessions, &table, 0);
}

fn sessions_with_connections_of_their_own_wait_too(server: &Server) {
    let shell = Shell::new();
    let desk = Desk::with(server, "", &["--admin", &shell.place()]);
    let database = crate::stage::Database::create(server);
    let sessions = [(); 3].map(|()| Session::at(desk.proxy.port));
    hold(&shell, &desk.proxy, sessions, &database.table("t"), 3);
}

fn statements_go_on_when_the_time_is_over(server: &Server) {
    let shell = Shell::new();
    let place = shell.place();
    let ground = Ground::new(server, 4, &["--admin", &place, "--switchover-hold", "1s"]);
    let [mut idle, mut inside] = [(); 2].map(|()| ground.session());
    inside.run("BEGIN");
    let late = thread::spawn(move || ask(&place, &["drain-primary"]));
    until(&ground.proxy, "switchover_state", 1.0);
    assert_eq!(idle.value("SELECT 7").as_deref(), Some("7"), "after the time");
    let late = late.join().expect("it ends");
    assert_eq!(late.status.code(), Some(1), "{}", text(&late));
    let said = text(&late);
    let session = format!("in the sessions {}.", inside.id());
    assert!(said.contains("not ready within 1s") && said.contains(&session), "{said}");
    inside.run("COMMIT");
    // The time may also be over when all is ready.
    let ready = shell.prepare("1s").join().expect("it ends");
    assert_eq!(row(&ready)["state"], "ready: switch now");
    for session in [&mut idle, &mut inside] {
        assert_eq!(session.value("SELECT 8").as_deref(), Some("8"));
    }
    until(&ground.proxy, "switchovers_total{end=\"limit\"}", 2.0);
    assert_eq!(shell.shown()["last_end"], "limit");
}

fn a_session_that_waits_for_a_lock_is_not_in_the_way(server: &Server) {
    let shell = Shell::new();
    let ground = Ground::new(server, 4, &["--admin", &shell.place()]);
    let [mut holder, mut waiter] = [(); 2].map(|()| ground.session());
    holder.lock("k");
    waiter.ask_for("k");
    until(&ground.proxy, "locks_waiting", 1.0);
    holder.run("BEGIN");
    let prepared = shell.prepare(LONG);
    until(&ground.proxy, "switchover_state", 1.0);
    eventually("the wait is seen", || (shell.shown()["waiting"] == 1).then_some(()));
    // Granted, but its statement goes on only after the switch.
    holder.unlock("k");
    until(&ground.proxy, "held_statements", 1.0);
    waits_on(&mut waiter);
    holder.run("COMMIT");
    let ready = row(&prepared.join().expect("it ends"));
    assert_eq!((&ready["state"], &ready["waiting"]), (&"ready: switch now".into(), &1.into()));
    shell.cancel();
    waiter.gets_it();
    assert_eq!(holder.value("SELECT IS_USED_LOCK('k')"), Some(waiter.id().to_string()));
}

/// A deadlock, for example, has ended it, and its error does not say so.
fn a_session_whose_transaction_has_failed_is_asked(server: &Server) {
    let shell = Shell::new();
    let ground = Ground::new(server, 4, &["--admin", &shell.place()]);
    ground.create_table("t (n INT PRIMARY KEY)");
    let [mut one, mut other] = [(); 2].map(|()| ground.session());
    for (session, n) in [(&mut one, 1), (&mut other, 2)] {
        session.run("BEGIN");
        session.run(&format!("INSERT INTO t VALUES ({n})"));
    }
    one.send("INSERT INTO t VALUES (2)");
    other.send("INSERT INTO t VALUES (1)");
    let ended = [&mut one, &mut other].map(|s| s.client.read_response(Shape::Query).error());
    assert!(ended.contains(&Some(1213)), "{ended:?}");
    let survivor = if ended[0].is_none() { &mut one } else { &mut other };
    survivor.run("COMMIT");
    let ready = shell.prepare(LONG).join().expect("it ends");
    assert_eq!(row(&ready)["state"], "ready: switch now");
    shell.cancel();
}

fn a_client_that_leaves_while_its_statement_waits_is_gone(server: &Server) {
    let shell = Shell::new();
    let ground = Ground::new(server, 4, &["--admin", &shell.place()]);
    ground.create_table("t (n INT PRIMARY KEY)");
    let [mut leaves, mut quits, mut stays] = [(); 3].map(|()| ground.session());
    let prepared = shell.prepare(LONG);
    assert_eq!(row(&prepared.join().expect("it ends"))["state"], "ready: switch now");
    leaves.send("INSERT INTO t VALUES (1)");
    until(&ground.proxy, "held_statements", 1.0);
    leaves.client.hang_up();
    until(&ground.proxy, "held_statements", 0.0);
    // COM_QUIT need not wait.
    quits.client.quit();
    until(&ground.proxy, "sessions", 1.0);
    shell.cancel();
    assert_eq!(stays.value("SELECT COUNT(*) FROM t").as_deref(), Some("0"));
}

fn a_shutdown_lets_statements_go_on(server: &Server) {
    let shell = Shell::new();
    let mut ground = Ground::new(server, 4, &["--admin", &shell.place()]);
    let mut idle = ground.session();
    let prepared = shell.prepare(LONG);
    assert_eq!(row(&prepared.join().expect("it ends"))["state"], "ready: switch now");
    idle.send("SELECT 9");
    until(&ground.proxy, "held_statements", 1.0);
    ground.proxy.signal("TERM");
    assert_eq!(idle.reply().as_deref(), Some("9"));
    assert_eq!(idle.last_words().map(|words| words.code), Some(1053));
    assert_eq!(ground.proxy.wait(), Some(0), "{}", ground.proxy.log());
}

/// A client that does not stop: statements, transactions, a prepared statement, a lock that others want too. How often.
fn keeps_working(mut session: Session, table: &str, over: &AtomicBool) -> u32 {
    let prepared = session.client.prepare(format!("INSERT INTO {table} VALUES (0)").as_bytes());
    assert!(prepared.error().is_none(), "{prepared:?}");
    let id = prepared.packets[0].payload[1..5].try_into().expect("the id of a statement");
    let id = u32::from_le_bytes(id);
    let mut rounds = 0;
    while !over.load(Ordering::Relaxed) {
        session.run(&format!("INSERT INTO {table} VALUES (1)"));
        for sql in ["BEGIN", &format!("INSERT INTO {table} VALUES (2)"), "COMMIT"] {
            session.run(sql);
        }
        let inserted = session.client.execute(id, &Execute::default());
        assert!(inserted.error().is_none(), "{inserted:?}");
        assert_eq!(session.value("SELECT GET_LOCK('wanted', 60)").as_deref(), Some("1"));
        session.unlock("wanted");
        rounds += 1;
    }
    rounds
}

/// Ends clients that do not stop by themselves.
struct EndsThem<'a>(&'a AtomicBool);

impl Drop for EndsThem<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn holds_that_come_and_go_lose_nothing(server: &Server) {
    let shell = Shell::new();
    let ground = Ground::new(server, 3, &["--admin", &shell.place()]);
    ground.create_table("t (n INT)");
    let table = ground.tenant.database.table("t");
    let over = AtomicBool::new(false);
    let rounds: u32 = thread::scope(|scope| {
        // Also if something fails here.
        let ends = EndsThem(&over);
        let working = [(); 6].map(|()| {
            let (session, table, over) = (ground.session(), &table, &over);
            scope.spawn(move || keeps_working(session, table, over))
        });
        for nth in 0..20 {
            let ready = shell.prepare(LONG).join().expect("it ends");
            assert_eq!(row(&ready)["state"], "ready: switch now", "{nth}");
            let rows = || ground.server().root().column(&format!("SELECT COUNT(*) FROM {table}"));
            assert_eq!(rows(), rows(), "nothing is written");
            shell.cancel();
        }
        drop(ends);
        working.into_iter().map(|thread| thread.join().expect("no error")).sum()
    });
    let rows = ground.server().root().column(&format!("SELECT COUNT(*) FROM {table}"));
    assert_eq!(rows, [(rounds * 3).to_string()]);
    until(&ground.proxy, "held_statements", 0.0);
    until(&ground.proxy, "locks_held", 0.0);
}

fn nothing_waits_without_a_lease(server: &Server) {
    let network = Link::to(server.port);
    let (shell, schema) = (Shell::new(), fresh_schema());
    let store = format!("mysql://root:rootpw@127.0.0.1:{}/{schema}", network.port());
    let backend = format!("127.0.0.1:{}", server.port);
    let extra = ["--admin", &shell.place(), "--create-schema", "--lease", "2s"];
    let proxy = Launched::start_with_pages(&backend, &store, &extra);
    let mut session = Session::at(proxy.port);
    network.lead_to(free_port());
    network.cut();
    eventually("no lease", || (proxy.metric("lockstead_lease_good") < 1.0).then_some(()));
    let said = shell.ask(&["drain-primary"]);
    assert_eq!(said.status.code(), Some(1), "{}", text(&said));
    assert!(text(&said).contains("the lease does not allow new grants"), "{}", text(&said));
    assert_eq!(session.value("SELECT 1").as_deref(), Some("1"));
    drop(proxy);
    server.root().run(&format!("DROP DATABASE {schema}"));
}
