//! The command line: what it refuses and how it says so, its exit codes, its pages.

use std::io::{BufRead, BufReader, ErrorKind};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use lockstead_support::launch::refusing_address;

use crate::launch::{Launched, program, run};
use crate::own_server::flavour_of;
use crate::proxy::{Proxy, fresh_schema};
use crate::script::{Flavour, Server};
use crate::session::{Session, account, until_busy};
use crate::stage::{eventually, on_both};
use crate::wire::Account;

on_both! {
    a_wrong_password_is_refused
    a_missing_right_on_the_tables_is_refused_with_the_grant
    a_missing_schema_is_refused_with_ways_to_make_it
    a_missing_table_is_refused_as_one
    the_printed_schema_may_be_run_again
    an_account_that_may_not_see_or_end_sessions_is_warned_about
    check_tells_what_is_there_and_what_is_missing
    the_printed_schema_and_the_least_rights_are_enough
    the_least_rights_are_enough_to_take_over
    the_pages_tell_how_the_proxy_is
    a_store_on_another_server_than_the_sessions_is_refused
    without_sight_of_other_sessions_a_broken_ones_lock_stays_held
}

/// Whether `check` has warned, except of locks that other tests take at the server at that moment.
pub(crate) fn warns(said: &str) -> bool {
    let of_others = |line: &str| line.contains("held at the server itself");
    said.lines().any(|line| line.contains("warning") && !of_others(line))
}

pub(crate) fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// A file that is removed with it.
struct File(PathBuf);

impl File {
    fn create(contents: &str) -> Self {
        let path = std::env::temp_dir().join(format!("{}.toml", fresh_schema()));
        std::fs::write(&path, contents).expect("a file");
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a plain path")
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// An account with these rights and the password `pw`, dropped with it. `$` is the schema.
pub(crate) struct Person {
    pub(crate) name: String,
    server: Server,
}

impl Person {
    pub(crate) fn create(server: &Server, schema: &str, rights: &[&str]) -> Self {
        let name = fresh_schema().replace("lockstead_t", "lt_");
        let mut root = server.root();
        root.run(&format!("CREATE USER {name}@'%' IDENTIFIED BY 'pw'"));
        for right in rights {
            let right = right.replace('$', schema);
            root.run(&format!("GRANT {right} TO {name}@'%'"));
        }
        Self { name, server: server.clone() }
    }

    fn store(&self, schema: &str) -> String {
        format!("mysql://{}:pw@127.0.0.1:{}/{schema}", self.name, self.server.port)
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.server.root().run(&format!("DROP USER {}@'%'", self.name));
        }
    }
}

const ON_TABLES: &str = "SELECT, INSERT, UPDATE, DELETE ON $.*";

/// The documented least rights.
pub(crate) fn least_rights(server: &Server) -> Vec<&'static str> {
    match flavour_of(server) {
        Flavour::MySql => vec![
            ON_TABLES,
            "SELECT ON performance_schema.threads",
            "SELECT ON performance_schema.session_connect_attrs",
            "SELECT ON performance_schema.metadata_locks",
            "SELECT ON performance_schema.replication_connection_configuration",
            "SELECT ON performance_schema.replication_connection_status",
            "SELECT ON performance_schema.replication_applier_status",
            "SELECT ON performance_schema.replication_group_members",
            "PROCESS ON *.*",
            "CONNECTION_ADMIN ON *.*",
        ],
        Flavour::MariaDb => vec![ON_TABLES, "PROCESS ON *.*", "CONNECTION ADMIN ON *.*"],
    }
}

/// Runs what `schema print` prints, as a DBA does.
pub(crate) fn install(server: &Server, schema: &str) {
    let flavour = match flavour_of(server) {
        Flavour::MySql => "mysql",
        Flavour::MariaDb => "mariadb",
    };
    let printed = run(&["schema", "print", "--schema", schema, "--flavour", flavour]);
    assert_eq!(printed.status.code(), Some(0));
    let sql = String::from_utf8(printed.stdout).expect("text");
    Session::at(server.port).run(sql.trim().trim_end_matches(';'));
}

fn backend(server: &Server) -> String {
    format!("127.0.0.1:{}", server.port)
}

/// `serve` must end by itself with this exit code; what it said.
fn refused(arguments: &[&str], code: i32) -> String {
    let output = run(&[&["serve", "--http", "off", "--listen", "127.0.0.1:0"], arguments].concat());
    let said = text(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    said
}

#[test]
fn the_version_is_printed() {
    for arguments in [&["version"], &["--version"]] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(text(&output), format!("lockstead {}\n", env!("CARGO_PKG_VERSION")));
    }
}

#[test]
fn a_wrong_setting_is_refused_by_its_line_before_a_socket_opens() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a free port");
    server.set_nonblocking(true).expect("nonblocking");
    let place = server.local_addr().expect("bound");
    let good = format!("backend = \"{place}\"\nstore = \"mysql://a:b@{place}/c\"\n");
    for (line, key, fix) in [
        ("lisen = \"127.0.0.1:6033\"", "lisen", "listen"),
        ("listen = \"6033\"", "listen", "127.0.0.1:6033"),
        ("lease = \"30\"", "lease", "30s"),
        ("lease = \"10ms\"", "lease", "1s to 1h"),
        ("workers = 1000", "workers", "256"),
        ("workers = \"many\"", "workers", "usize"),
        ("max_connections = 2000000", "max_connections", "0 to"),
        ("log_format = \"xml\"", "log_format", "json"),
        ("http = \"here\"", "http", "127.0.0.1:"),
        ("fast_path = true", "fast_path", "is gone: bare lock calls"),
        ("learn_passwords = \"hash\"", "learn_passwords", "\"clear\""),
    ] {
        let file = File::create(&format!("# settings\n{good}{line}\n"));
        for command in ["serve", "check"] {
            let output = run(&[command, "--config", file.path()]);
            let said = text(&output);
            assert_eq!(output.status.code(), Some(2), "{line}: {said}");
            assert!(said.contains(key) && said.contains(fix), "{line}: {said}");
            assert!(said.contains(&format!("{}:4: ", file.path())), "{line}: {said}");
        }
    }
    let nobody = server.accept().expect_err("a connection was made");
    assert_eq!(nobody.kind(), ErrorKind::WouldBlock);
}

#[test]
fn a_flag_or_variable_that_is_gone_is_refused_with_what_to_do() {
    let said = refused(&["--on-lease-lost", "close"], 2);
    assert!(said.contains("`on_lease_lost`: is gone: ") && said.contains("Delete"), "{said}");
    let mut check = program(&["check", "--backend", "127.0.0.1:1"]);
    check.env("LOCKSTEAD_ON_BACKEND_LOSS", "error");
    let output = check.output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output);
    assert!(said.contains("`on_backend_loss`: is gone: "), "{said}");
}

#[test]
fn a_missing_setting_is_refused_with_an_example() {
    let said = refused(&["--backend", "127.0.0.1:3306"], 2);
    assert!(said.contains("`store`") && said.contains("mysql://"), "{said}");
    let said = refused(&["--config", "/no/such/file.toml"], 2);
    assert!(said.contains("/no/such/file.toml"), "{said}");
}

#[test]
fn a_missing_server_is_reported_and_check_fails() {
    let (_taken, place) = refusing_address();
    let place = place.to_string();
    let store = format!("mysql://root:secret@{place}/locks");
    let said = refused(&["--backend", &place, "--store", &store], 1);
    assert!(said.contains("Is the server up") && said.contains(&place), "{said}");
    assert!(!said.contains("secret"), "the password is shown: {said}");
    let output = run(&["check", "--backend", &place, "--store", &store]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output).matches("FAILED").count(), 2, "{}", text(&output));
}

fn a_wrong_password_is_refused(server: &Server) {
    let store = format!("mysql://root:wrong@127.0.0.1:{}/locks", server.port);
    let said = refused(&["--backend", &backend(server), "--store", &store], 1);
    assert!(said.contains("Access denied") && said.contains("user and password"), "{said}");
}

fn a_missing_schema_is_refused_with_ways_to_make_it(server: &Server) {
    let store = format!("{}{}", server.url, fresh_schema());
    let said = refused(&["--backend", &backend(server), "--store", &store], 1);
    assert!(said.contains("--create-schema") && said.contains("schema print"), "{said}");
    assert!(said.contains("is not installed"), "{said}");
    let place = ["check", "--backend", &backend(server), "--store", &store, "--create-schema"];
    let checked = run(&place);
    assert_eq!(checked.status.code(), Some(0), "{}", text(&checked));
    assert!(text(&checked).contains("will be created at start"), "{}", text(&checked));
    let made = server.root().column(&format!(
        "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = '{}'",
        store.rsplit('/').next().expect("a schema")
    ));
    assert_eq!(made, ["0"], "a check makes nothing");
}

fn a_missing_table_is_refused_as_one(server: &Server) {
    let schema = fresh_schema();
    install(server, &schema);
    let person = Person::create(server, &schema, &least_rights(server));
    let place = ["--backend", &backend(server), "--store", &person.store(&schema)];
    for (table, problem) in
        [("releases", "is not whole"), ("locks", "is not whole"), ("meta", "is not installed")]
    {
        server.root().run(&format!("DROP TABLE {schema}.{table}"));
        let checked = run(&[&["check"][..], &place].concat());
        assert_eq!(checked.status.code(), Some(1), "{table}");
        for said in [text(&checked), refused(&place, 1)] {
            assert!(said.contains(problem) && said.contains("schema print"), "{table}: {said}");
            assert!(said.contains(table) && !said.contains("GRANT"), "{table}: {said}");
        }
    }
    server.root().run(&format!("DROP DATABASE {schema}"));
}

fn the_printed_schema_may_be_run_again(server: &Server) {
    let schema = fresh_schema();
    install(server, &schema);
    let store = format!("{}{schema}", server.url);
    let proxy = Launched::start(&backend(server), &store, &[]);
    let mut holder = Session::at(proxy.port);
    holder.lock("k");
    let held = format!("SELECT CONCAT(name, token) FROM {schema}.held_locks");
    let meta = format!("SELECT CONCAT(epoch, base, ident) FROM {schema}.meta");
    let before = [&held, &meta].map(|sql| server.root().column(sql));
    install(server, &schema);
    assert_eq!([&held, &meta].map(|sql| server.root().column(sql)), before);
    holder.unlock("k");
    drop(proxy);
    // As `lockstead grants --viewer` makes it for others to read.
    let own = format!("CREATE OR REPLACE VIEW {schema}.held_locks AS SELECT 'own' AS name");
    server.root().run(&own);
    install(server, &schema);
    let name = format!("SELECT name FROM {schema}.held_locks");
    assert_eq!(server.root().column(&name), ["own"]);
    server.root().run(&format!("DROP DATABASE {schema}"));
}

fn a_missing_right_on_the_tables_is_refused_with_the_grant(server: &Server) {
    let schema = fresh_schema();
    install(server, &schema);
    let grant = format!("GRANT {}", ON_TABLES.replace('$', &format!("`{schema}`")));
    for missing in ["INSERT", "UPDATE", "DELETE"] {
        let rights = ON_TABLES.replace(&format!("{missing}, "), "");
        let rights = rights.replace(&format!(", {missing} "), " ");
        let person = Person::create(server, &schema, &[&rights]);
        let store = person.store(&schema);
        let said = refused(&["--backend", &backend(server), "--store", &store], 1);
        assert!(said.contains(&grant), "without {missing}: {said}");
    }
}

fn an_account_that_may_not_see_or_end_sessions_is_warned_about(server: &Server) {
    let schema = fresh_schema();
    install(server, &schema);
    let person = Person::create(server, &schema, &[ON_TABLES]);
    let store = person.store(&schema);
    // Such an account cannot know that no other proxy was here, so it waits a lease at first.
    let proxy = Launched::start(&backend(server), &store, &["--lease", "1s"]);
    eventually("both rights are missed", || {
        let log = proxy.log();
        let warnings = || log.lines().filter(|l| l.contains("WARN"));
        let kill = match flavour_of(server) {
            Flavour::MySql => "lacks CONNECTION_ADMIN",
            Flavour::MariaDb => "lacks CONNECTION ADMIN",
        };
        let both = ["lacks PROCESS", kill];
        both.iter().all(|right| warnings().any(|l| l.contains(right))).then_some(())
    });
    let mut session = Session::at(proxy.port);
    session.ask_for("k");
    session.gets_it();
    let output = run(&["check", "--backend", &backend(server), "--store", &store]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output).matches("MISSING").count(), 2, "{}", text(&output));
}

fn check_tells_what_is_there_and_what_is_missing(server: &Server) {
    let schema = fresh_schema();
    let store = format!("{}{schema}", server.url);
    let place = ["--backend", &backend(server), "--store", &store];
    let output = run(&[&["check"][..], &place].concat());
    assert_eq!(output.status.code(), Some(1), "no schema yet: {}", text(&output));
    for expected in ["created", "already there"] {
        let output = run(&[&["schema", "install"][..], &place].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        assert!(text(&output).contains(expected), "{}", text(&output));
    }
    let output = run(&[&["check"][..], &place].concat());
    let said = text(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(!said.contains("MISSING") && !warns(&said), "{said}");
    assert!(!said.contains("rootpw"), "the password is shown: {said}");
    let ident = server.root().column(&format!("SELECT ident FROM {schema}.meta")).concat();
    assert!(said.contains(&format!("belongs to this server ({ident})")), "{said}");
    server.root().run(&format!("UPDATE {schema}.meta SET ident='another'"));
    let output = run(&[&["check"][..], &place].concat());
    let said = text(&output);
    let (code, words) = match flavour_of(server) {
        Flavour::MySql => (0, "a new epoch begins there"),
        Flavour::MariaDb => (1, "may write on a read-only server"),
    };
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.contains(words) && !said.contains("lockstead adopt"), "{said}");
    let output = run(&[&["check", "--on-failover", "adopt"][..], &place].concat());
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&ident) && said.contains("belong to another."), "{said}");
    assert!(said.contains("lockstead adopt"), "{said}");
}

fn the_printed_schema_and_the_least_rights_are_enough(server: &Server) {
    let schema = fresh_schema();
    install(server, &schema);
    let person = Person::create(server, &schema, &least_rights(server));
    let store = person.store(&schema);
    let output = run(&["check", "--backend", &backend(server), "--store", &store]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(!text(&output).contains("MISSING"), "{}", text(&output));
    let proxy = Launched::start(&backend(server), &store, &[]);
    assert!(!proxy.log().contains("WARN"), "{}", proxy.log());
    let mut holder = Session::at(proxy.port);
    let mut waiter = Session::at(proxy.port);
    holder.lock("k");
    waiter.ask_for("k");
    server.root().run(&format!("KILL {}", holder.id()));
    waiter.gets_it();
    waiter.unlock("k");
}

fn the_least_rights_are_enough_to_take_over(server: &Server) {
    let schema = fresh_schema();
    install(server, &schema);
    let person = Person::create(server, &schema, &least_rights(server));
    let client = Person::create(server, &schema, &[]);
    let store = person.store(&schema);
    let start = || Launched::start(&backend(server), &store, &["--lease", "3s"]);
    let a = start();
    let mut busy = Session::of(
        a.port,
        &Account { user: client.name.clone(), password: "pw".into(), ..account() },
    );
    busy.lock("k");
    busy.send("SELECT SLEEP(600)");
    until_busy(&mut server.root(), busy.id());
    drop(a);
    let b = start();
    let mut next = Session::at(b.port);
    next.ask_for("k");
    next.gets_it();
}

fn the_pages_tell_how_the_proxy_is(server: &Server) {
    let mut dead = Proxy::start(&server.url, &["--lease", "10m"]);
    eventually("it is ready", || dead.page("/readyz").starts_with("HTTP/1.1 200").then_some(()));
    assert!(dead.page("/livez").starts_with("HTTP/1.1 200"));
    assert!(dead.page("/nothing").starts_with("HTTP/1.1 404"));
    Session::at(dead.port).run("DO GET_LOCK('k', 0)");
    let page = dead.page("/metrics");
    assert!(page.contains("text/plain; version=0.0.4"), "{page}");
    let call = "lockstead_lock_calls_total{function=\"get_lock\",outcome=\"one\"} 1";
    assert!(page.contains(call), "{page}");
    dead.signal("KILL");
    dead.wait();
    // Nothing is granted while the dead one's lease may run.
    let waiting = Proxy::start_on(&server.url, &dead.schema, &[]);
    let page = waiting.page("/readyz");
    assert!(page.starts_with("HTTP/1.1 503") && page.contains("startup wait"), "{page}");
    assert!(waiting.page("/livez").starts_with("HTTP/1.1 200"));
}

fn a_store_on_another_server_than_the_sessions_is_refused(server: &Server) {
    let schema = fresh_schema();
    install(server, &schema);
    let other = match flavour_of(server) {
        Flavour::MySql => Flavour::MariaDb,
        Flavour::MariaDb => Flavour::MySql,
    };
    let other = backend(&Server::from_env(other));
    let store = format!("{}{schema}", server.url);
    let said = refused(&["--backend", &other, "--store", &store], 1);
    assert!(said.contains("is another server"), "{said}");
}

fn without_sight_of_other_sessions_a_broken_ones_lock_stays_held(server: &Server) {
    let schema = fresh_schema();
    install(server, &schema);
    let person = Person::create(server, &schema, &[ON_TABLES]);
    let store = person.store(&schema);
    let proxy = Launched::start(&backend(server), &store, &["--lease", "1s"]);
    let mut holder = Session::at(proxy.port);
    holder.ask_for("k");
    holder.gets_it();
    let mut root = server.root();
    root.run(&format!("KILL {}", holder.id()));
    eventually("the proxy says that it cannot see", || {
        proxy.log().contains("cannot see whether ended sessions are gone").then_some(())
    });
    let held = root.column(&format!("SELECT COUNT(*) FROM {schema}.held_locks"));
    assert_eq!(held, ["1"]);
}

/// A store that takes connections and says nothing.
#[test]
fn a_proxy_that_is_told_to_stop_while_it_starts_stops() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("bound").port();
    let store = format!("mysql://root:x@127.0.0.1:{port}/db");
    let backend = format!("127.0.0.1:{port}");
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--http", "off", "--state-dir", "off"];
    let patience = ["--connect-timeout", "10m", "--backend", &backend, "--store", &store];
    let mut child = program(&[&arguments[..], &patience].concat()).spawn().expect("it starts");
    let _connection = silent.accept().expect("it connects");
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn too_few_open_files_are_reported() {
    let server = Server::from_env(Flavour::MySql);
    let proxy = format!(
        "ulimit -n 300 && exec {} serve --mode durable --create-schema --state-dir off --http off --listen 127.0.0.1:0 \
         --max-connections 10000 --backend {} --store {}{}",
        env!("CARGO_BIN_EXE_lockstead"),
        backend(&server),
        server.url,
        fresh_schema()
    );
    let mut child = Command::new("sh").args(["-c", &proxy]).stderr(Stdio::piped()).spawn();
    let child = child.as_mut().expect("a shell");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let told =
        lines.any(|l| l.is_ok_and(|l| l.contains("needs 20100 open files, the limit is 300")));
    child.kill().expect("kill");
    child.wait().expect("it ends");
    assert!(told);
}
