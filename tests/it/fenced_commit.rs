//! A COMMIT of a session whose lock has passed on does nothing (I11), and any other is as without a fence.

use std::thread;
use std::time::Duration;

use lockstead_support::Way;
use lockstead_support::server::Root;

use crate::cli::text;
use crate::launch::{Launched, run};
use crate::link::Link;
use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::{Proxy, fresh_schema};
use crate::script::{Flavour, Server};
use crate::session::{Session, account, first_value, until_busy};
use crate::stage::{Database, eventually, on_both};
use crate::windows::json;
use crate::wire::capability::{DEFAULT, DEPRECATE_EOF};
use crate::wire::{Account, End, Shape, render};

on_both! {
    a_commit_after_the_lock_has_passed_on_is_not_made
    nothing_is_committed_after_a_takeover_whenever_it_comes
    a_connection_that_ends_before_the_commit_was_sent_is_a_rollback
    a_fenced_commit_looks_like_any_other
    on_mariadb_a_fenced_commit_leaves_no_warnings_and_its_own_count_of_rows
    a_takeover_waits_for_a_commit_that_is_on_its_way
    an_account_without_the_right_commits_without_a_fence
    where_no_question_is_allowed_the_server_says_what_it_would_have
    statements_that_commit_are_fenced_and_no_others
    a_commit_after_an_error_that_hides_a_transaction_is_fenced
    a_snapshot_from_before_the_lock_is_no_obstacle
    many_locks_are_asked_for_in_turn
    a_commit_that_waits_too_long_for_its_rows_can_be_repeated
}

/// A table for what sessions write.
pub(crate) struct Table {
    pub(crate) name: String,
    server: Server,
    _database: Database,
}

impl Table {
    pub(crate) fn on(server: &Server) -> Self {
        let database = Database::create(server);
        let name = database.table("t");
        server.root().run(&format!("CREATE TABLE {name} (n INT PRIMARY KEY)"));
        Self { name, server: server.clone(), _database: database }
    }

    /// Has a session insert this number in a transaction, which stays open.
    pub(crate) fn insert(&self, session: &mut Session, n: u32) {
        session.run("BEGIN");
        session.run(&format!("INSERT INTO {} VALUES ({n})", self.name));
    }

    pub(crate) fn has(&self, n: u32) -> bool {
        let sql = format!("SELECT COUNT(*) FROM {} WHERE n={n}", self.name);
        self.server.root().column(&sql) == ["1"]
    }
}

/// Takes a lock's row away, as a grant to another proxy would.
pub(crate) fn pass_on(root: &mut Root, schema: &str, name: &str) {
    let passing = passing_on(root, schema, name);
    root.run(&passing);
}

/// The statement for that.
fn passing_on(root: &mut Root, schema: &str, name: &str) -> String {
    let key = root.column(&format!("SELECT HEX(k) FROM {schema}.locks WHERE name='{name}'"));
    let set = format!("UPDATE {schema}.locks SET tok=tok+1,holder=5,sess=5");
    format!("{set} WHERE k=x'{}'", key.concat())
}

pub(crate) fn commits(proxy: &lockstead_support::Proxy, result: &str) -> String {
    proxy.metric(&format!("lockstead_fenced_commits_total{{result=\"{result}\"}}")).to_string()
}

fn a_commit_after_the_lock_has_passed_on_is_not_made(server: &Server) {
    // Where the proxies find each other's connections.
    let own = OwnServer::start(flavour_of(server), &["--performance-schema=ON"]);
    let server = &own.server;
    let table = Table::on(server);
    for pooling in ["session", "transaction"] {
        // The proxy cannot look at the rows itself.
        let way = Link::to(server.port);
        let schema = fresh_schema();
        let backend = format!("127.0.0.1:{}", server.port);
        let store = format!("mysql://root:rootpw@127.0.0.1:{}/{schema}", way.port());
        let settings = ["--create-schema", "--lease", "10m", "--pooling", pooling];
        let proxy = Launched::start_with_pages(&backend, &store, &settings);
        let mut holder = Session::at(proxy.port);
        holder.lock("k");
        holder.lock("l");
        table.insert(&mut holder, 1);
        way.hold(Way::ToServer);
        pass_on(&mut server.root(), &schema, "l");
        holder.send("COMMIT");
        let words = holder.last_words().expect("an error");
        assert_eq!(words.code, 4031, "{words:?}");
        assert!(!table.has(1));
        assert_eq!(commits(&proxy, "lost"), "1");
        eventually("it is logged", || proxy.log().contains("a COMMIT was not sent").then_some(()));
        assert_eq!(proxy.log().matches("a COMMIT was not sent").count(), 1, "{}", proxy.log());
        way.heal();
        server.root().run(&format!("DROP DATABASE {schema}"));
    }
}

/// A takeover and a COMMIT at the same time: one of them is first, and both know which.
fn nothing_is_committed_after_a_takeover_whenever_it_comes(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    assert_eq!(late_commit(server, &proxy, |session, _, _| session.send("COMMIT")), None);
}

/// The first round of many, if any, in which something was committed after the takeover. `commit` sends a COMMIT
/// in the session's transaction, in which the round's number was inserted into the table.
pub(crate) fn late_commit(
    server: &Server,
    proxy: &Proxy,
    commit: impl Fn(&mut Session, &Table, u32),
) -> Option<u32> {
    late(server, proxy, |session, table, n| table.insert(session, n), commit)
}

/// The first round of many, if any, in which something was committed after the takeover. `begin` comes before the lock
/// can pass on, and `commit` sends what commits the round's number.
pub(crate) fn late(
    server: &Server,
    proxy: &Proxy,
    begin: impl Fn(&mut Session, &Table, u32),
    commit: impl Fn(&mut Session, &Table, u32),
) -> Option<u32> {
    let table = Table::on(server);
    let mut root = server.root();
    root.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    let (mut before, mut after) = (0, 0);
    for round in 0..250_u32 {
        let mut holder = Session::at(proxy.port);
        let name = format!("k{round}");
        holder.lock(&name);
        begin(&mut holder, &table, round);
        let passing = passing_on(&mut root, &proxy.schema, &name);
        commit(&mut holder, &table, round);
        thread::park_timeout(Duration::from_micros(u64::from(round % 25) * 60));
        root.run("BEGIN");
        root.run(&passing);
        let seen = format!("SELECT COUNT(*) FROM {} WHERE n={round}", table.name);
        let committed = root.column(&seen) == ["1"];
        root.run("COMMIT");
        let response = holder.client.read_response(Shape::Query);
        let is = table.has(round);
        if is && !committed {
            return Some(round);
        }
        let ok = response.error().is_none() && response.end == End::Complete;
        assert!(is || !ok, "round {round}: {response:?}");
        *(if is { &mut before } else { &mut after }) += 1;
    }
    assert!(before > 0 && after > 0, "{before} commits came before, {after} were refused");
    None
}

fn a_connection_that_ends_before_the_commit_was_sent_is_a_rollback(server: &Server) {
    let own = OwnServer::start(flavour_of(server), &["--performance-schema=ON"]);
    let server = &own.server;
    let table = Table::on(server);
    let proxy = Proxy::start(&server.url, &["--lease", "10m", "--pooling", "transaction"]);
    let mut root = server.root();
    root.run("CREATE USER 'app'@'%' IDENTIFIED BY ''");
    root.run("GRANT ALL ON *.* TO 'app'@'%'");
    let app = Account { user: "app".to_owned(), password: String::new(), ..account() };
    eventually("the proxy knows the account", || {
        Session::of(proxy.port, &app).run("DO 0");
        let page = proxy.page("/metrics");
        let mut pins = page.lines().filter(|line| line.starts_with("lockstead_pinned_sessions{"));
        pins.all(|line| line.ends_with(" 0")).then_some(())
    });
    let mut holder = Session::of(proxy.port, &app);
    holder.lock("k");
    table.insert(&mut holder, 1);
    let id = root.column("SELECT trx_mysql_thread_id FROM information_schema.innodb_trx").concat();
    // The question waits for its row.
    root.run("BEGIN");
    root.run(&format!("SELECT * FROM {}.locks FOR UPDATE", proxy.schema));
    holder.send("COMMIT");
    let runs = format!(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE id={id} AND command='Query'"
    );
    eventually("it is asked", || (server.root().column(&runs) == ["1"]).then_some(()));
    root.run(&format!("KILL {id}"));
    assert_eq!(holder.client.read_response(Shape::Query).error(), Some(1213));
    root.run("ROLLBACK");
    assert!(!table.has(1));
    holder.unlock("k");
}

/// Compares the response, and all that a session can ask for afterwards.
fn a_fenced_commit_looks_like_any_other(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let table = Table::on(server);
    let [direct, through] = [server.port, proxy.port].map(|port| {
        let old = Account { capabilities: DEFAULT & !DEPRECATE_EOF, ..account() };
        [account(), old].map(|account| all_that_is_said(&table, Session::of(port, &account)))
    });
    for (direct, through) in direct.as_flattened().iter().zip(through.as_flattened()) {
        assert_eq!(through, direct);
    }
    assert_eq!(commits(&proxy, "fenced"), "8");
}

/// The responses to statements around commits of a session that holds a lock.
fn all_that_is_said(table: &Table, mut session: Session) -> [String; 32] {
    let mysql = flavour_of(&table.server) == Flavour::MySql;
    // Not '*', which has numbers of transactions and statements.
    let more = if mysql { "" } else { ",max_statement_time,innodb_snapshot_isolation" };
    session.run(&format!(
        "SET session_track_transaction_info='CHARACTERISTICS', session_track_state_change=ON, \
         session_track_system_variables='autocommit,sql_mode,lock_wait_timeout{more}'"
    ));
    session.run("SELECT GET_LOCK('k', 0)");
    let mut said = Vec::new();
    for commit in ["COMMIT", "COMMIT AND CHAIN", "BEGIN", "START TRANSACTION READ ONLY"] {
        table.insert(&mut session, 1);
        // MariaDB loses both: docs/differences-reference.md.
        let rows = if mysql { "SQL_CALC_FOUND_ROWS 1 UNION SELECT 2 LIMIT 1" } else { "1" };
        let warns = if mysql { "'a'" } else { "'7'" };
        for statement in [
            &format!("SELECT CAST({warns} AS SIGNED), LAST_INSERT_ID(7)")[..],
            &format!("SELECT {rows}"),
            commit,
            "SELECT ROW_COUNT(), LAST_INSERT_ID(), FOUND_ROWS(), @@lock_wait_timeout",
            "SHOW WARNINGS",
            "ROLLBACK",
            &format!("DELETE FROM {}", table.name),
            commit,
        ] {
            let response = render::response(&session.client.query(statement.as_bytes()));
            // Without the time that it took.
            let response = response.rsplit_once(" after ").map_or(&response[..], |(all, _)| all);
            said.push(format!("{statement}\n{response}"));
        }
        session.run("ROLLBACK");
    }
    session.run("SELECT RELEASE_LOCK('k')");
    said.try_into().expect("eight statements, four times")
}

/// The question reads a table, and in MariaDB such a statement leaves its own rows and warnings.
fn on_mariadb_a_fenced_commit_leaves_no_warnings_and_its_own_count_of_rows(server: &Server) {
    let table = Table::on(server);
    let proxy = Proxy::start(&server.url, &[]);
    let left = |port| {
        let mut session = Session::at(port);
        session.run("SELECT GET_LOCK('k', 0)");
        let left = ["FOUND_ROWS()", "@@warning_count"].map(|asked| {
            table.insert(&mut session, 1);
            session.run("SELECT SQL_CALC_FOUND_ROWS 1 UNION SELECT 2 LIMIT 1");
            session.run("SELECT CAST('a' AS SIGNED) UNION SELECT 'b' + 1");
            session.run("COMMIT");
            let left = session.value(&format!("SELECT {asked}")).expect("a number");
            session.run(&format!("DELETE FROM {}", table.name));
            left
        });
        session.run("SELECT RELEASE_LOCK('k')");
        left
    };
    let both = [left(server.port), left(proxy.port)];
    match flavour_of(server) {
        Flavour::MySql => assert_eq!(both, [["2", "0"], ["2", "0"]]),
        Flavour::MariaDb => assert_eq!(both, [["2", "2"], ["1", "0"]]),
    }
}

fn a_takeover_waits_for_a_commit_that_is_on_its_way(server: &Server) {
    // A server of the test's own, since all commits at it wait.
    let own = OwnServer::start(flavour_of(server), &[]);
    let server = &own.server;
    let table = Table::on(server);
    let proxy = Proxy::start(&server.url, &["--lease", "10m"]);
    let (mut root, mut other) = (server.root(), Session::at(server.port));
    let mut holder = Session::at(proxy.port);
    holder.lock("k");
    table.insert(&mut holder, 1);
    root.run("FLUSH TABLES WITH READ LOCK");
    holder.send("COMMIT");
    until_busy(&mut server.root(), holder.id());
    let update = format!("SELECT 1 FROM {}.locks FOR UPDATE", proxy.schema);
    let look = match flavour_of(server) {
        // That statement would wait for the table.
        Flavour::MySql => format!(
            "SELECT COUNT(*) FROM performance_schema.data_locks WHERE object_schema='{}' \
             AND object_name='locks' AND lock_type='RECORD'",
            proxy.schema
        ),
        Flavour::MariaDb => format!("{update} NOWAIT"),
    };
    eventually("its row is locked", || {
        let response = other.client.query(look.as_bytes());
        let locked = match flavour_of(server) {
            Flavour::MySql => first_value(&look, &response).as_deref() == Some("1"),
            Flavour::MariaDb => response.error() == Some(1205),
        };
        locked.then_some(())
    });
    assert!(!holder.client.readable_within(Duration::ZERO), "the COMMIT waits");
    root.run("UNLOCK TABLES");
    assert_eq!(holder.client.read_response(Shape::Query).error(), None);
    assert!(table.has(1));
    other.run(&update);
    holder.unlock("k");
}

fn an_account_without_the_right_commits_without_a_fence(server: &Server) {
    let table = Table::on(server);
    let socket = std::env::temp_dir().join(fresh_schema());
    let admin = format!("unix:{}", socket.display());
    let proxy = Proxy::start(&server.url, &["--admin", &admin]);
    let user = fresh_schema().replace("lockstead_t", "lf_");
    let mut root = server.root();
    root.run(&format!("CREATE USER {user}@'%' IDENTIFIED BY 'pw'"));
    root.run(&format!("GRANT ALL ON {} TO {user}@'%'", table.name));
    let account = Account { user: user.clone(), password: "pw".to_owned(), ..account() };
    let mut holder = Session::of(proxy.port, &account);
    holder.lock("k");
    for n in 0..3 {
        table.insert(&mut holder, n);
        holder.run("COMMIT");
        assert_eq!(holder.value("SELECT @@warning_count").as_deref(), Some("0"), "of the question");
        assert!(table.has(n));
    }
    assert_eq!((commits(&proxy, "denied"), commits(&proxy, "fenced")), ("3".into(), "0".into()));
    let log = proxy.log();
    assert_eq!(log.matches("COMMITs of this account are not fenced").count(), 1, "{log}");
    eventually("the page says what to do", || {
        let status = json(proxy.http, "/api/v1/status");
        let said = status["clusters"][0]["unfenced"].as_str()?.to_owned();
        (said.starts_with("3 COMMITs") && said.contains("grants --application")).then_some(())
    });
    let place = ["--backend", &format!("127.0.0.1:{}", server.port), "--admin", &admin];
    let rest = ["--store", &format!("{}{}", server.url, proxy.schema), "--state-dir", "off"];
    for command in ["check", "doctor"] {
        let said = text(&run(&[&[command], &place[..], &rest].concat()));
        assert!(said.contains("has sent 3 COMMITs"), "{said}");
        assert!(command == "doctor" || said.contains("fenced commit   explicit"), "{said}");
    }
    let said = text(&run(&["grants", "--flavour", "mysql"]));
    assert!(said.contains("-- GRANT SELECT (k,tok,holder) ON `lockstead`.locks TO"), "{said}");
    // As documented, another account's.
    let other = format!("{user}2");
    root.run(&format!("CREATE USER {other}@'%' IDENTIFIED BY 'pw'"));
    root.run(&format!("GRANT ALL ON {} TO {other}@'%'", table.name));
    let grants = ["grants", "--store", &format!("{}{}", server.url, proxy.schema), "--backend"];
    let backend = format!("127.0.0.1:{}", server.port);
    let application = ["--application", &format!("{other}@%")];
    let printed = run(&[&grants[..], &[&backend], &application].concat());
    assert_eq!(printed.status.code(), Some(0), "{}", text(&printed));
    for statement in text(&printed).lines().filter(|line| !line.starts_with("--")) {
        root.run(statement.trim_end_matches(';'));
    }
    let mut holder = Session::of(proxy.port, &Account { user: other.clone(), ..account });
    holder.lock("l");
    table.insert(&mut holder, 3);
    holder.run("COMMIT");
    assert_eq!((commits(&proxy, "fenced"), table.has(3)), ("1".into(), true));
    root.run(&format!("DROP USER {user}@'%',{other}@'%'"));
}

fn where_no_question_is_allowed_the_server_says_what_it_would_have(server: &Server) {
    let table = Table::on(server);
    let proxy = Proxy::start(&server.url, &[]);
    let mut holder = Session::at(proxy.port);
    holder.lock("k");
    holder.run("SET autocommit=0");
    holder.run(&format!("LOCK TABLES {} WRITE", table.name));
    holder.run(&format!("INSERT INTO {} VALUES (1)", table.name));
    holder.run("COMMIT");
    holder.run("UNLOCK TABLES");
    assert_eq!((commits(&proxy, "failed"), table.has(1)), ("1".into(), true));
    holder.run("SET autocommit=1");
    holder.run("XA START 'x'");
    holder.run(&format!("INSERT INTO {} VALUES (2)", table.name));
    assert_eq!(holder.client.query(b"COMMIT").error(), Some(1399));
    holder.run("XA END 'x'");
    assert_eq!(holder.client.query(b"COMMIT").error(), Some(1399));
    holder.run("XA ROLLBACK 'x'");
    holder.unlock("k");
}

fn statements_that_commit_are_fenced_and_no_others(server: &Server) {
    let table = Table::on(server);
    let proxy = Proxy::start(&server.url, &[]);
    let mut session = Session::at(proxy.port);
    let mut asked = 0;
    for (n, (statement, fences)) in [
        ("COMMIT", true),
        ("/* a */ commit work", true),
        ("COMMIT AND NO CHAIN", true),
        ("BEGIN", true),
        ("START TRANSACTION", true),
        ("SET AUTOCOMMIT = 1", false),
        ("ROLLBACK", false),
        ("SELECT 1", false),
        ("SET @x='committed'", false),
    ]
    .into_iter()
    .enumerate()
    {
        let n = u32::try_from(n).expect("few");
        // Without a lock, nothing is asked.
        table.insert(&mut session, n);
        session.run(statement);
        session.run("ROLLBACK");
        session.run(&format!("DELETE FROM {}", table.name));
        session.lock("k");
        // Without a transaction neither.
        session.run(statement);
        session.run("ROLLBACK");
        session.run("START TRANSACTION READ ONLY");
        session.run("COMMIT");
        table.insert(&mut session, n);
        session.run(statement);
        asked += u32::from(fences);
        assert_eq!(commits(&proxy, "fenced"), asked.to_string(), "{statement}");
        session.run("ROLLBACK");
        assert_eq!(table.has(n), fences, "{statement}");
        session.run("ROLLBACK");
        session.unlock("k");
    }
    // With the switch off, that is how a transaction ends.
    for statement in ["SET AUTOCOMMIT = 1", "SET @@session.autocommit=ON, @x=1"] {
        session.run("SET autocommit=0");
        session.lock("k");
        session.run(&format!("INSERT INTO {} VALUES (100)", table.name));
        session.run(statement);
        asked += 1;
        assert_eq!(commits(&proxy, "fenced"), asked.to_string(), "{statement}");
        session.run(&format!("DELETE FROM {}", table.name));
        session.unlock("k");
    }
}

/// An error says nothing of transactions, and the flags before it were those outside of one.
fn a_commit_after_an_error_that_hides_a_transaction_is_fenced(server: &Server) {
    let table = Table::on(server);
    let proxy = Proxy::start(&server.url, &["--lease", "10m"]);
    server.root().run(&format!(
        "CREATE PROCEDURE {}_p() BEGIN INSERT INTO {} VALUES (1); SELECT * FROM absent.t; END",
        table.name, table.name
    ));
    let mut holder = Session::at(proxy.port);
    holder.run("SET autocommit=0");
    holder.lock("k");
    holder.client.query(format!("CALL {}_p()", table.name).as_bytes());
    pass_on(&mut server.root(), &proxy.schema, "k");
    holder.send("COMMIT");
    assert_eq!(holder.last_words().map(|words| words.code), Some(4031));
    assert_eq!((commits(&proxy, "lost"), table.has(1)), ("1".into(), false));
}

/// The snapshot does not have the lock's row as it is.
fn a_snapshot_from_before_the_lock_is_no_obstacle(server: &Server) {
    let table = Table::on(server);
    let proxy = Proxy::start(&server.url, &[]);
    let mut session = Session::at(proxy.port);
    if flavour_of(server) == Flavour::MariaDb {
        session.run("SET innodb_snapshot_isolation=ON");
    }
    session.lock("k");
    session.unlock("k");
    table.insert(&mut session, 1);
    session.run(&format!("SELECT * FROM {}", table.name));
    session.run(&format!("SELECT * FROM {}.locks", proxy.schema));
    session.lock("k");
    // Nor is a limit of the session's.
    session.run("SET sql_select_limit=0, max_join_size=1, sql_big_selects=0");
    session.run("COMMIT");
    assert_eq!((commits(&proxy, "fenced"), table.has(1)), ("1".into(), true));
}

fn many_locks_are_asked_for_in_turn(server: &Server) {
    let table = Table::on(server);
    let schema = fresh_schema();
    let store = format!("{}{schema}", server.url);
    let backend = format!("127.0.0.1:{}", server.port);
    let settings = ["--create-schema", "--pooling", "session"];
    let proxy = Launched::start_with_pages(&backend, &store, &settings);
    let mut session = Session::at(proxy.port);
    for n in 0..1_001 {
        session.lock(&format!("k{n}"));
    }
    table.insert(&mut session, 1);
    session.run("COMMIT");
    assert_eq!((commits(&proxy, "fenced"), table.has(1)), ("1".into(), true));
    // Each is asked for.
    for (n, name) in ["k0", "k500", "k1000"].into_iter().enumerate() {
        let mut session = Session::at(proxy.port);
        let n = u32::try_from(n).expect("few") + 2;
        for other in 0..1_001 {
            session.lock(&format!("{n}.{other}"));
        }
        table.insert(&mut session, n);
        pass_on(&mut server.root(), &schema, &name.replace('k', &format!("{n}.")));
        session.send("COMMIT");
        assert_eq!(session.last_words().map(|words| words.code), Some(4031), "{name}");
        assert!(!table.has(n));
    }
    drop(proxy);
    server.root().run(&format!("DROP DATABASE {schema}"));
}

fn a_commit_that_waits_too_long_for_its_rows_can_be_repeated(server: &Server) {
    let table = Table::on(server);
    let proxy = Proxy::start(&server.url, &["--lease", "10m"]);
    let mut root = server.root();
    let mut holder = Session::at(proxy.port);
    holder.run("SET innodb_lock_wait_timeout=1");
    holder.lock("k");
    table.insert(&mut holder, 1);
    root.run("BEGIN");
    root.run(&format!("SELECT * FROM {}.locks FOR UPDATE", proxy.schema));
    assert_eq!(holder.client.query(b"COMMIT").error(), Some(1205));
    assert!(!table.has(1));
    root.run("ROLLBACK");
    holder.run("COMMIT");
    assert!(table.has(1));
    holder.unlock("k");
}

/// The rule is left out, and the test above must notice.
#[cfg(feature = "mutants")]
mod left_out {
    use super::{Proxy, Server, late_commit, on_both};

    on_both! {
        mutant_fence_by_name
    }

    fn mutant_fence_by_name(server: &Server) {
        let proxy = Proxy::start_mutant(&server.url, "FenceByName", &[]);
        let found = late_commit(server, &proxy, |session, _, _| session.send("COMMIT"));
        assert!(found.is_some(), "nobody notices");
    }
}
