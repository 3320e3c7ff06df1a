//! Several servers: Lockstead finds the one that takes writes, and follows it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use lockstead_support::Way;

use crate::admin::Folder;
use crate::adopt::{pair, until_alike};
use crate::cli::{install, least_rights, text};
use crate::launch::{Launched, program, run};
use crate::link::Link;
use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::{free_port, fresh_schema};
use crate::replicas::detach;
use crate::script::{Flavour, Server};
use crate::session::{Session, account};
use crate::stage::{eventually, on_both};
use crate::wire::{Account, Client, Shape};

on_both! {
    sessions_and_lock_tables_follow_a_planned_switch
    shared_sessions_go_on_at_the_new_writer
    shared_sessions_wait_for_a_writer_as_long_as_new_clients
    a_shared_session_learns_what_it_has_waited_for
    a_prepared_switch_costs_no_session
    a_statement_that_waits_for_a_switch_learns_that_its_session_ends
    a_held_lock_follows_a_planned_switch_and_a_crash
    a_held_lock_survives_a_switch_during_its_comparison
    a_client_that_comes_after_a_crash_waits_for_the_next_writer
    a_dead_server_is_passed_over_at_the_start
    sessions_stay_while_no_writer_is_known_and_new_ones_wait
    lists_that_cannot_be_followed_are_refused
}

/// Lock tables, and an account that has no more rights than it needs.
struct Tables {
    schema: String,
    account: String,
}

impl Tables {
    fn on(server: &Server) -> Self {
        let schema = fresh_schema();
        install(server, &schema);
        let account = schema.replace("lockstead_t", "lt_");
        let mut root = server.root();
        root.run(&format!("CREATE USER {account}@'%' IDENTIFIED BY 'pw'"));
        for right in least_rights(server) {
            let right = right.replace('$', &schema);
            root.run(&format!("GRANT {right} TO {account}@'%'"));
        }
        Self { schema, account }
    }

    fn url(&self, hosts: &str) -> String {
        format!("mysql://{}:pw@{hosts}/{}", self.account, self.schema)
    }

    /// Takes them away from a server that other tests have too.
    fn drop_from(&self, server: &Server) {
        let mut root = server.root();
        root.run(&format!("DROP DATABASE {}", self.schema));
        root.run(&format!("DROP USER {}@'%'", self.account));
    }
}

/// Opens or closes a server for writes.
pub(crate) fn set_writable(server: &Server, flavour: Flavour, writable: bool) {
    let value = u8::from(!writable);
    let variable = match flavour {
        Flavour::MySql if writable => "read_only=0, GLOBAL super_read_only",
        Flavour::MySql => "super_read_only",
        Flavour::MariaDb => "read_only",
    };
    server.root().run(&format!("SET GLOBAL {variable}={value}"));
}

/// A primary and its replica, which takes no writes, with lock tables.
pub(crate) struct Replicated {
    pub(crate) flavour: Flavour,
    pub(crate) first: OwnServer,
    pub(crate) second: OwnServer,
    tables: Tables,
}

impl Replicated {
    pub(crate) fn start(server: &Server) -> Self {
        let flavour = flavour_of(server);
        let options: &[&str] = match flavour {
            Flavour::MySql => &[],
            Flavour::MariaDb => &["--performance-schema=ON"],
        };
        let (first, second) = pair(flavour, options);
        set_writable(&second.server, flavour, false);
        let tables = Tables::on(&first.server);
        // For sessions that share connections.
        for table in ["performance_schema.session_connect_attrs", "mysql.global_priv"] {
            if flavour == Flavour::MariaDb {
                let account = &tables.account;
                first.server.root().run(&format!("GRANT SELECT ON {table} TO {account}@'%'"));
            }
        }
        until_alike(&first, &second, &tables.schema);
        Self { flavour, first, second, tables }
    }

    fn backends(&self) -> String {
        format!("127.0.0.1:{},127.0.0.1:{}", self.first.server.port, self.second.server.port)
    }

    /// Both, as arguments of a command.
    pub(crate) fn place(&self) -> [String; 4] {
        let (backends, url) = (self.backends(), self.tables.url(""));
        ["--backend".to_owned(), backends, "--store".to_owned(), url]
    }

    /// Account and schema of a proxy that reaches both at these addresses.
    pub(crate) fn store(&self, hosts: &str) -> (String, &str) {
        (format!("mysql://{}:pw@{hosts}/", self.tables.account), &self.tables.schema)
    }

    /// A proxy that has both in its list.
    pub(crate) fn proxy(&self, extra: &[&str]) -> Launched {
        let (backends, url) = (self.backends(), self.tables.url(""));
        let proxy = Launched::start_with_pages(&backends, &url, extra);
        eventually("it grants", || (proxy.metric("lockstead_lease_good") >= 1.0).then_some(()));
        proxy
    }

    pub(crate) fn promote(&self) {
        let stop = match self.flavour {
            Flavour::MySql => "STOP REPLICA; RESET REPLICA ALL",
            Flavour::MariaDb => "STOP SLAVE; RESET SLAVE ALL",
        };
        Session::at(self.second.server.port).run(stop);
        set_writable(&self.second.server, self.flavour, true);
    }

    fn until_no_writer(&self, proxy: &Launched) {
        eventually("no writer is known", || {
            let known = [&self.first, &self.second].map(|server| is_writer(proxy, server));
            (known == [false, false]).then_some(())
        });
    }
}

/// By the metrics of the proxy.
pub(crate) fn is_writer(proxy: &Launched, server: &OwnServer) -> bool {
    let label = format!("{{backend=\"127.0.0.1:{}\"}}", server.server.port);
    proxy.metric(&format!("lockstead_server_writer{label}")) > 0.0
}

/// The port of the server that works for a session.
pub(crate) fn port_of(session: &mut Session) -> u16 {
    session.value("SELECT @@port").expect("a port").parse().expect("a number")
}

/// A client that connects now, and the session that it gets.
fn connects(port: u16) -> JoinHandle<Session> {
    thread::spawn(move || Session::at(port))
}

fn sessions_and_lock_tables_follow_a_planned_switch(server: &Server) {
    let both = Replicated::start(server);
    let proxy = both.proxy(&["--lease", "5s", "--on-failover", "adopt"]);
    let (first, second) = (both.first.server.port, both.second.server.port);
    let mut idle = Session::at(proxy.port);
    let mut busy = Session::at(proxy.port);
    assert_eq!(port_of(&mut idle), first);
    idle.lock("k");
    busy.send("SELECT SLEEP(600)");
    set_writable(&both.first.server, both.flavour, false);
    both.until_no_writer(&proxy);
    let page = proxy.page("/readyz");
    assert!(page.contains(" 503 ") && page.contains("no server can be the writer"), "{page}");
    assert_eq!(idle.value("SELECT 1").as_deref(), Some("1"), "nobody is sent away yet");
    let late = connects(proxy.port);
    both.promote();
    let mut late = late.join().expect("a session");
    assert_eq!(port_of(&mut late), second);
    for left in [&mut idle, &mut busy] {
        assert_eq!(left.last_words().map(|words| words.code), Some(1053));
    }
    assert!(is_writer(&proxy, &both.second));
    assert_eq!(proxy.metric("lockstead_writer_changes_total").to_string(), "1");
    assert_eq!(proxy.log().matches("another server is the writer").count(), 1, "{}", proxy.log());
    // The lock tables there belong to the old one, until they are adopted.
    eventually("it grants nothing", || proxy.log().contains("no locks are granted").then_some(()));
    assert_eq!(late.value("SELECT GET_LOCK('free', 0)").as_deref(), Some("0"));
    let (backends, url) = (both.backends(), both.tables.url(""));
    let adopt = ["adopt", "--yes", "--lease", "5s", "--backend", &backends, "--store", &url];
    let adopted = run(&adopt);
    assert_eq!(adopted.status.code(), Some(0), "{}", text(&adopted));
    let mut holder = Session::at(proxy.port);
    holder.ask_for("k");
    holder.gets_it();
    let held = format!("SELECT COUNT(*) FROM {}.held_locks", both.tables.schema);
    assert_eq!(both.second.server.root().column(&held), ["1"]);
    // The old one comes back as if it were the writer.
    set_writable(&both.first.server, both.flavour, true);
    eventually("it warns", || (proxy.metric("lockstead_writer_rivals") > 0.0).then_some(()));
    assert_eq!(port_of(&mut holder), second);
    assert_eq!(port_of(&mut Session::at(proxy.port)), second);
    assert_eq!(proxy.log().matches("several servers take writes").count(), 1, "{}", proxy.log());
}

/// An account whose sessions share connections, with a schema of its name and a table.
fn application(both: &Replicated, proxy: &Launched) -> Account {
    let app = fresh_schema().replace("lockstead_t", "lockstead_d");
    let mut root = both.first.server.root();
    root.run(&format!("CREATE DATABASE {app}"));
    root.run(&format!("CREATE TABLE {app}.t (n INT PRIMARY KEY)"));
    root.run(&format!("CREATE USER {app}@'%' IDENTIFIED BY 'its password'"));
    root.run(&format!("GRANT ALL ON {app}.* TO {app}@'%'"));
    let app_account = Account { user: app, password: "its password".to_owned(), ..account() };
    eventually("the proxy knows the password", || {
        let mut session = Session::of(proxy.port, &app_account);
        session.run("DO 0");
        let page = proxy.page("/metrics");
        let mut pins = page.lines().filter(|line| line.starts_with("lockstead_pinned_sessions{"));
        pins.all(|line| line.ends_with(" 0")).then_some(())
    });
    app_account
}

/// Longer than a session may wait for one of several connections.
fn shared_sessions_wait_for_a_writer_as_long_as_new_clients(server: &Server) {
    let both = Replicated::start(server);
    let shares = ["--lease", "2s", "--pooling", "transaction", "--pool-size", "1"];
    let proxy = both.proxy(&[&shares[..], &["--pool-wait", "5s", "--writer-wait", "10m"]].concat());
    let app = application(&both, &proxy);
    let mut sessions = [(); 3].map(|()| Session::of(proxy.port, &app));
    both.first.kill();
    both.until_no_writer(&proxy);
    for session in &mut sessions {
        session.send("SELECT @@port");
    }
    let began = Instant::now();
    let a_while = Duration::from_secs(7);
    eventually("pool_wait has passed", || (began.elapsed() >= a_while).then_some(()));
    both.promote();
    for session in &mut sessions {
        let response = session.client.read_response(Shape::Query);
        // The first one may meet the end of its connection.
        if response.error().is_some() {
            assert_eq!(response.error(), Some(1105), "{response:?}");
        }
        assert_eq!(port_of(session), both.second.server.port);
    }
}

fn a_shared_session_learns_what_it_has_waited_for(server: &Server) {
    let both = Replicated::start(server);
    let shares = ["--lease", "2s", "--pooling", "transaction", "--pool-size", "1"];
    let proxy =
        both.proxy(&[&shares[..], &["--pool-wait", "100ms", "--writer-wait", "1s"]].concat());
    let app = application(&both, &proxy);
    let mut sessions = [(); 2].map(|()| Session::of(proxy.port, &app));
    both.first.kill();
    both.until_no_writer(&proxy);
    for session in &mut sessions {
        session.send("SELECT 1");
    }
    for session in &mut sessions {
        let response = session.client.read_response(Shape::Query);
        assert_eq!(response.error(), Some(1429), "{response:?}");
        let said = String::from_utf8_lossy(&response.packets[0].payload).into_owned();
        assert!(said.contains("(writer_wait)") && said.contains("does not answer"), "{said}");
    }
}

fn shared_sessions_go_on_at_the_new_writer(server: &Server) {
    let both = Replicated::start(server);
    let proxy = both.proxy(&["--lease", "2s", "--pooling", "transaction"]);
    let (first, second) = (both.first.server.port, both.second.server.port);
    let app_account = application(&both, &proxy);
    let app = app_account.user.clone();
    let [mut idle, mut inside, mut pinned] =
        [(); 3].map(|()| Session::of(proxy.port, &app_account));
    let tables =
        format!("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema='{app}'");
    eventually("the replica has the table", || {
        (both.second.server.root().column(&tables) == ["1"]).then_some(())
    });
    assert_eq!(port_of(&mut idle), first);
    idle.run("SET @carried=7");
    inside.run(&format!("BEGIN; INSERT INTO {app}.t VALUES (1)"));
    pinned.run(&format!("CREATE TEMPORARY TABLE {app}.own (n INT)"));
    set_writable(&both.first.server, both.flavour, false);
    both.promote();
    eventually("it is the writer", || is_writer(&proxy, &both.second).then_some(()));
    assert_eq!(pinned.last_words().map(|words| words.code), Some(1053));
    assert_eq!(port_of(&mut idle), second);
    assert_eq!(idle.value("SELECT @carried").as_deref(), Some("7"));
    inside.send(&format!("SELECT COUNT(*) FROM {app}.t"));
    assert_eq!(inside.client.read_response(Shape::Query).error(), Some(1213));
    assert_eq!(inside.value(&format!("SELECT COUNT(*) FROM {app}.t")).as_deref(), Some("0"));
    assert_eq!(port_of(&mut inside), second);
    let free = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE user='{app}'");
    eventually("no connection to the old one is left", || {
        (both.first.server.root().column(&free) == ["0"]).then_some(())
    });
}

/// Of a client that does not stop: an insert, or a transaction with two. Every answer must be OK. The last number.
fn keeps_inserting(port: u16, account: &Account, until: &AtomicBool, from: u32) -> u32 {
    let mut session = Session::of(port, account);
    let mut n = from;
    while !until.load(Ordering::Relaxed) {
        session.run(&format!("INSERT INTO t VALUES ({})", n + 1));
        for sql in ["BEGIN", &format!("INSERT INTO t VALUES ({})", n + 2), "COMMIT"] {
            session.run(sql);
        }
        n += 2;
    }
    n
}

fn a_prepared_switch_costs_no_session(server: &Server) {
    let both = Replicated::start(server);
    let folder = Folder::new();
    let admin = format!("unix:{}", folder.socket().display());
    let proxy = both.proxy(&["--lease", "10s", "--pooling", "transaction", "--admin", &admin]);
    let app = fresh_schema().replace("lockstead_t", "lockstead_d");
    let mut root = both.first.server.root();
    root.run(&format!("CREATE DATABASE {app}"));
    root.run(&format!("CREATE TABLE {app}.t (n INT PRIMARY KEY)"));
    root.run(&format!("CREATE USER {app}@'%' IDENTIFIED BY ''"));
    root.run(&format!("GRANT ALL ON {app}.* TO {app}@'%'"));
    let account = Account {
        user: app.clone(),
        password: String::new(),
        database: Some(app.clone()),
        ..account()
    };
    eventually("the proxy knows the account", || {
        let mut session = Session::of(proxy.port, &account);
        session.run("DO 0");
        let page = proxy.page("/metrics");
        let mut pins = page.lines().filter(|line| line.starts_with("lockstead_pinned_sessions{"));
        pins.all(|line| line.ends_with(" 0")).then_some(())
    });
    let (mut holder, mut waiter) =
        (Session::of(proxy.port, &account), Session::of(proxy.port, &account));
    holder.lock("k");
    holder.run("SET @carried=7");
    waiter.ask_for("k");
    let mut failed = Session::of(proxy.port, &account);
    let absent = failed.client.query(b"SELECT * FROM absent");
    assert_eq!(absent.error(), Some(1146));
    let over = AtomicBool::new(false);
    let last = thread::scope(|scope| {
        let inserting = [1, 2, 3].map(|nth: u32| {
            let (account, over) = (&account, &over);
            scope.spawn(move || keeps_inserting(proxy.port, account, over, nth << 20))
        });
        let rows = format!("SELECT COUNT(*) > 50 FROM {app}.t");
        eventually("there are rows", || {
            (both.first.server.root().column(&rows) == ["1"]).then_some(())
        });
        let ready = run(&["drain-primary", "--hold", "60s", "--admin", &admin]);
        assert_eq!(ready.status.code(), Some(0), "{}", text(&ready));
        assert!(text(&ready).contains("ready: switch now"), "{}", text(&ready));
        set_writable(&both.first.server, both.flavour, false);
        until_alike(&both.first, &both.second, &both.tables.schema);
        let count = format!("SELECT COUNT(*) FROM {app}.t");
        eventually("the replica has all rows", || {
            let [first, second] =
                [&both.first, &both.second].map(|s| s.server.root().column(&count));
            (first == second).then_some(())
        });
        both.promote();
        eventually("statements go on", || {
            (proxy.metric("lockstead_switchovers_total{end=\"moved\"}") > 0.0).then_some(())
        });
        let more = format!("SELECT COUNT(*) > 50 + ({}) FROM {app}.t", {
            both.first.server.root().column(&count)[0].clone()
        });
        eventually("there are more rows", || {
            (both.second.server.root().column(&more) == ["1"]).then_some(())
        });
        over.store(true, Ordering::Relaxed);
        inserting.map(|thread| thread.join().expect("no error"))
    });
    let expected: u32 = last.iter().map(|last| last & ((1 << 20) - 1)).sum();
    let rows = both.second.server.root().column(&format!("SELECT COUNT(*) FROM {app}.t"));
    assert_eq!(rows, [expected.to_string()], "each once");
    assert_eq!(failed.value("SELECT 1").as_deref(), Some("1"));
    assert_eq!(holder.value("SELECT @carried").as_deref(), Some("7"));
    assert_eq!(holder.value("SELECT IS_USED_LOCK('k') = CONNECTION_ID()").as_deref(), Some("1"));
    assert_eq!(port_of(&mut holder), both.second.server.port);
    holder.unlock("k");
    waiter.gets_it();
    let kept = proxy.metric("lockstead_failover_locks_total{result=\"kept\"}");
    assert_eq!(kept.to_string(), "1");
}

/// Without a pool, the session ends with the old primary: the statement is not sent there.
fn a_statement_that_waits_for_a_switch_learns_that_its_session_ends(server: &Server) {
    let both = Replicated::start(server);
    let folder = Folder::new();
    let admin = format!("unix:{}", folder.socket().display());
    let proxy = both.proxy(&["--lease", "10s", "--admin", &admin]);
    let mut session = Session::at(proxy.port);
    let ready = run(&["drain-primary", "--hold", "60s", "--admin", &admin]);
    assert_eq!(ready.status.code(), Some(0), "{}", text(&ready));
    let schema = fresh_schema();
    session.send(&format!("CREATE DATABASE {schema}"));
    eventually("it waits", || (proxy.metric("lockstead_held_statements") > 0.0).then_some(()));
    set_writable(&both.first.server, both.flavour, false);
    both.promote();
    let response = session.client.read_response(Shape::Query);
    assert_eq!(response.error(), Some(1053), "{response:?}");
    assert_eq!(response.packets[0].sequence(), 1, "it is an answer");
    let databases =
        format!("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name='{schema}'");
    for one in [&both.first, &both.second] {
        assert_eq!(one.server.root().column(&databases), ["0"]);
    }
}

/// An account of the primary's that these proxies know.
pub(crate) fn taught(both: &Replicated, proxies: &[Launched]) -> Account {
    let user = fresh_schema().replace("lockstead_t", "lockstead_d");
    // Without a password each login teaches the proxy.
    both.first.server.root().run(&format!("CREATE USER {user}@'%' IDENTIFIED BY ''"));
    let account = Account { user, password: String::new(), ..account() };
    for proxy in proxies {
        eventually("the proxy knows the account", || {
            let mut session = Session::of(proxy.port, &account);
            session.run("DO 0");
            let page = proxy.page("/metrics");
            let mut pins = page.lines().filter(|l| l.starts_with("lockstead_pinned_sessions{"));
            pins.all(|line| line.ends_with(" 0")).then_some(())
        });
    }
    account
}

/// Another server becomes the writer, which never got the lock, while a connection for the comparison is opened slowly.
fn a_held_lock_survives_a_switch_during_its_comparison(server: &Server) {
    let both = Replicated::start(server);
    let way = Link::to(both.first.server.port);
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", way.port(), both.second.server.port);
    let settings = ["--lease", "9s", "--pooling", "transaction", "--connect-timeout", "20s"];
    let (backends, url) = (both.backends(), both.tables.url(&hosts));
    let proxy = Launched::start_with_pages(&backends, &url, &settings);
    eventually("it grants", || (proxy.metric("lockstead_lease_good") >= 1.0).then_some(()));
    let account = taught(&both, std::slice::from_ref(&proxy));
    let mut holder = Session::of(proxy.port, &account);
    let users = format!("SELECT COUNT(*) FROM mysql.user WHERE user='{}'", account.user);
    eventually("the replica has the account", || {
        (both.second.server.root().column(&users) == ["1"]).then_some(())
    });
    detach(&both.second.server);
    // Connections for changes are there from then on.
    holder.lock("before");
    holder.unlock("before");
    for direction in [Way::ToServer, Way::ToClient] {
        way.delay(direction, Duration::from_millis(200));
    }
    holder.lock("k");
    let open = way.open();
    eventually("the lock is to be compared with its row", || (way.open() > open).then_some(()));
    set_writable(&both.first.server, both.flavour, false);
    both.promote();
    eventually("it follows", || (proxy.metric("lockstead_failovers_total") >= 1.0).then_some(()));
    let own = holder.value("SELECT IS_USED_LOCK('k') = CONNECTION_ID()");
    assert_eq!(own.as_deref(), Some("1"), "{}", proxy.log());
    assert_eq!(holder.value("SELECT RELEASE_LOCK('k')").as_deref(), Some("1"));
}

/// The proxies find the next writer by themselves, and carry the lock there: a rival at another proxy never gets it.
fn a_held_lock_follows_a_planned_switch_and_a_crash(server: &Server) {
    let both = Replicated::start(server);
    let shared = ["--lease", "10s", "--pooling", "transaction"];
    let proxies = [both.proxy(&shared), both.proxy(&shared)];
    let account = taught(&both, &proxies);
    let [mut holder, mut rival] = [0, 1].map(|n: usize| Session::of(proxies[n].port, &account));
    let fencing = format!("GRANT SELECT (k,tok,holder) ON {}.locks", both.tables.schema);
    both.first.server.root().run(&format!("{fencing} TO {}@'%'", account.user));
    holder.ask_for("k");
    holder.gets_it();
    let users = format!("SELECT COUNT(*) FROM mysql.user WHERE user='{}'", account.user);
    until_alike(&both.first, &both.second, &both.tables.schema);
    eventually("the replica has the account", || {
        (both.second.server.root().column(&users) == ["1"]).then_some(())
    });
    // The old one takes no writes before the new one does, and then it dies.
    set_writable(&both.first.server, both.flavour, false);
    both.promote();
    for proxy in &proxies {
        eventually("it follows", || {
            let joined = proxy.metric("lockstead_failovers_total") >= 1.0;
            (is_writer(proxy, &both.second) && joined).then_some(())
        });
    }
    both.first.kill();
    for n in 0..30 {
        assert_eq!(rival.value("SELECT GET_LOCK('k', 0)").as_deref(), Some("0"), "{n}");
        let own = holder.value("SELECT IS_USED_LOCK('k') = CONNECTION_ID()");
        assert_eq!(own.as_deref(), Some("1"), "{n}");
    }
    assert_eq!(port_of(&mut holder), both.second.server.port);
    // The rows at the new writer are those that the question asks for.
    holder.run("BEGIN");
    holder.run("COMMIT");
    let fenced = proxies[0].metric("lockstead_fenced_commits_total{result=\"fenced\"}");
    assert_eq!(fenced.to_string(), "1");
    assert_eq!(holder.value("SELECT RELEASE_LOCK('k')").as_deref(), Some("1"));
    assert_eq!(rival.value("SELECT GET_LOCK('k', 60)").as_deref(), Some("1"));
    let kept = |n: usize| proxies[n].metric("lockstead_failover_locks_total{result=\"kept\"}");
    assert_eq!([kept(0), kept(1)].map(|kept| kept.to_string()), ["1", "0"]);
}

fn a_client_that_comes_after_a_crash_waits_for_the_next_writer(server: &Server) {
    let both = Replicated::start(server);
    let proxy = both.proxy(&["--lease", "2s"]);
    let second = both.second.server.port;
    let mut before = Session::at(proxy.port);
    both.first.kill();
    before.last_words();
    let late = connects(proxy.port);
    both.until_no_writer(&proxy);
    both.promote();
    let mut late = late.join().expect("a session");
    assert_eq!(port_of(&mut late), second);
    assert_eq!(port_of(&mut Session::at(proxy.port)), second);
}

fn a_dead_server_is_passed_over_at_the_start(server: &Server) {
    let tables = Tables::on(server);
    let (dead, port) = (free_port(), server.port);
    let backends = format!("127.0.0.1:{dead},127.0.0.1:{port}");
    let url = tables.url("");
    let proxy = Launched::start_with_pages(&backends, &url, &[]);
    assert_eq!(port_of(&mut Session::at(proxy.port)), port);
    let up = |port| proxy.metric(&format!("lockstead_server_up{{backend=\"127.0.0.1:{port}\"}}"));
    assert_eq!((up(dead), up(port)), (0.0, 1.0));
    let checked = run(&["check", "--backend", &backends, "--store", &url, "--state-dir", "off"]);
    let said = text(&checked);
    for line in [
        format!("server          FAILED: 127.0.0.1:{dead} does not answer"),
        format!("server          127.0.0.1:{port} takes writes"),
        format!("writer          127.0.0.1:{port}"),
    ] {
        assert!(said.contains(&line), "{line}: {said}");
    }
    drop(proxy);
    tables.drop_from(server);
}

fn sessions_stay_while_no_writer_is_known_and_new_ones_wait(server: &Server) {
    let tables = Tables::on(server);
    // The questions go another way than the sessions.
    let way = Link::to(server.port);
    let (dead, nobody) = (free_port(), free_port());
    let backends = format!("127.0.0.1:{},127.0.0.1:{dead}", server.port);
    let url = tables.url(&format!("127.0.0.1:{},127.0.0.1:{dead}", way.port()));
    let waits = ["--lease", "10m", "--writer-wait", "1s"];
    let proxy = Launched::start_with_pages(&backends, &url, &waits);
    let mut session = Session::at(proxy.port);
    way.lead_to(nobody);
    way.cut();
    eventually("no writer is known", || {
        let page = proxy.page("/readyz");
        page.contains("no server can be the writer").then_some(())
    });
    let refused = Client::connect("127.0.0.1", proxy.port, &account()).expect("a connection");
    let error = refused.login.packets.last().expect("an error");
    let said = String::from_utf8_lossy(&error.payload);
    assert!(said.contains("writer_wait") && said.contains("does not answer"), "{said}");
    assert_eq!(error.payload[1..3], 1429_u16.to_le_bytes());
    assert_eq!(session.value("SELECT 1").as_deref(), Some("1"));
    way.lead_to(server.port);
    eventually("it is known again", || proxy.page("/readyz").contains(" 200 ").then_some(()));
    assert_eq!(port_of(&mut Session::at(proxy.port)), server.port);
    assert_eq!(session.value("SELECT 1").as_deref(), Some("1"));
    assert_eq!(proxy.metric("lockstead_writer_changes_total").to_string(), "0");
    drop(proxy);
    tables.drop_from(server);
}

fn lists_that_cannot_be_followed_are_refused(server: &Server) {
    let backends = format!("127.0.0.1:{},127.0.0.1:{}", server.port, free_port());
    let check = |store: &str| {
        let output = run(&["check", "--backend", &backends, "--store", store]);
        (output.status.code(), text(&output))
    };
    let (code, said) = check(&format!("mysql://root:rootpw@127.0.0.1:{}/x", server.port));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("`store`: names 1 hosts"), "{said}");
    // Such an account could write on a replica.
    let (code, said) = check("mysql://root:rootpw@/x");
    let passes = flavour_of(server) == Flavour::MariaDb;
    assert_eq!(code, Some(1), "{said}");
    assert_eq!(said.contains("READ ONLY ADMIN"), passes, "{said}");
    let mut repeated = program(&["check", "--backend", "127.0.0.1:1", "--backend", "127.0.0.1:2"]);
    let repeated = repeated.args(["--store", "mysql://a:b@/x"]).output().expect("it runs");
    assert!(text(&repeated).contains("127.0.0.1:2 does not answer"), "{}", text(&repeated));
    let twice = run(&["check", "--backend", "db:1,db:1", "--store", "mysql://a:b@/x"]);
    assert!(text(&twice).contains("`backend`: names db:1 twice"), "{}", text(&twice));
}
