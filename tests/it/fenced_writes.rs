//! With `fenced_commit = "all"` a write with autocommit of a session whose lock has passed on does nothing.

use crate::fenced_commit::{Table, commits, late, pass_on};
use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::Proxy;
use crate::script::{Flavour, Server};
use crate::session::{Session, account};
use crate::stage::{eventually, on_both};
use crate::wire::capability::{DEFAULT, DEPRECATE_EOF, SESSION_TRACK};
use crate::wire::{Account, Execute, Param, Response, Shape, render};

on_both! {
    a_write_after_the_lock_has_passed_on_is_not_made
    no_write_is_made_after_a_takeover
    a_fenced_write_looks_like_any_other
    a_fenced_write_tells_its_transaction_s_number
    a_fenced_write_leaves_no_more_than_is_documented
    writes_are_fenced_and_other_statements_are_not
    a_write_whose_rows_are_busy_is_not_made
    a_write_that_is_broken_off_leaves_nothing
    locked_tables_and_settings_for_transactions_are_left_alone
}

const ALL: [&str; 4] = ["--fenced-commit", "all", "--lease", "10m"];

/// Sends an INSERT of this number, as a text or as a prepared statement.
fn send_insert(session: &mut Session, table: &Table, n: u32, prepared: bool) {
    if prepared {
        let text = format!("INSERT INTO {} VALUES (?)", table.name);
        let id = session.client.prepare(text.as_bytes()).statement_id().expect("prepared");
        let params = vec![Param::LongLong(n.into())];
        session.client.send_execute(id, &Execute { params, ..Execute::default() });
    } else {
        session.send(&format!("INSERT INTO {} VALUES ({n})", table.name));
    }
}

fn a_write_after_the_lock_has_passed_on_is_not_made(server: &Server) {
    let own = OwnServer::start(flavour_of(server), &["--performance-schema=ON"]);
    let server = &own.server;
    let table = Table::on(server);
    for (round, pooling) in ["session", "transaction"].into_iter().enumerate() {
        let settings = [&ALL[..], &["--pooling", pooling]].concat();
        let proxy = Proxy::start(&server.url, &settings);
        for (n, prepared) in [(1, false), (2, true)] {
            let n = n + 2 * u32::try_from(round).expect("few");
            let mut holder = Session::at(proxy.port);
            let name = format!("k{n}");
            holder.lock(&name);
            pass_on(&mut server.root(), &proxy.schema, &name);
            send_insert(&mut holder, &table, n, prepared);
            let words = holder.last_words().map(|words| words.code);
            assert_eq!(words, Some(4031), "{pooling} {prepared}");
            assert!(!table.has(n), "{pooling} {prepared}");
        }
        assert_eq!(commits(&proxy, "lost"), "2");
    }
}

fn no_write_is_made_after_a_takeover(server: &Server) {
    for prepared in [false, true] {
        let proxy = Proxy::start(&server.url, &ALL);
        let write =
            |session: &mut Session, table: &Table, n| send_insert(session, table, n, prepared);
        assert_eq!(late(server, &proxy, |_, _, _| (), write), None, "{prepared}");
    }
}

/// Compares the response, and all that a session can ask for afterwards.
fn a_fenced_write_looks_like_any_other(server: &Server) {
    let own = OwnServer::start(flavour_of(server), &["--performance-schema=ON"]);
    let server = &own.server;
    let table = Table::on(server);
    for pooling in ["session", "transaction"] {
        let settings = [&ALL[..], &["--pooling", pooling]].concat();
        let proxy = Proxy::start(&server.url, &settings);
        for (capabilities, tracks) in [
            (DEFAULT, false),
            (DEFAULT, true),
            (DEFAULT & !DEPRECATE_EOF, false),
            (DEFAULT & !SESSION_TRACK, false),
        ] {
            let account = Account { capabilities, ..account() };
            let [direct, through] = [server.port, proxy.port]
                .map(|port| said(&table, Session::of(port, &account), tracks));
            for (through, direct) in through.iter().zip(&direct) {
                assert_eq!(through, direct, "{pooling} {capabilities:x} {tracks}");
            }
        }
        assert_eq!(commits(&proxy, "lost"), "0");
    }
}

/// The responses to writes and to what is asked afterwards.
fn said(table: &Table, mut session: Session, tracks: bool) -> Vec<String> {
    if tracks {
        session.run(
            "SET session_track_transaction_info='CHARACTERISTICS', session_track_state_change=ON, \
             session_track_system_variables='autocommit,sql_mode'",
        );
    }
    let database = table.name.rsplit_once('.').expect("a schema").0.to_owned();
    session.run(&format!("USE {database}"));
    session.run("CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, v INT, w TINYINT, UNIQUE (v))");
    session.run("CREATE TABLE m (id INT PRIMARY KEY) ENGINE=MyISAM");
    session.run("SET sql_mode='NO_ENGINE_SUBSTITUTION'");
    session.run("SELECT GET_LOCK('k', 0)");
    let mut said = Vec::new();
    for write in [
        "INSERT INTO a (v) VALUES (1),(2),(3)",
        "UPDATE a SET w=5",
        "UPDATE a SET w=5",
        "UPDATE a SET w=6 WHERE id=0",
        "INSERT INTO a (v) VALUES (1)",
        "INSERT INTO a (v) VALUES (4); INSERT INTO a (v) VALUES (5)",
        "INSERT INTO a (v) VALUES (7) ON DUPLICATE KEY UPDATE w=9",
        "INSERT IGNORE INTO a (v, w) VALUES (1, 1), (8, 1)",
        "REPLACE INTO a (v) VALUES (8)",
        "DELETE FROM a WHERE v=8",
        "INSERT INTO absent VALUES (1)",
        "INSERT INTO m VALUES (1)",
        "DELETE FROM m",
        "SET TRANSACTION READ ONLY",
        "DELETE FROM a WHERE v=7",
        "DELETE FROM a WHERE v=7",
        "INSERT INTO a (v) SELECT v+100 FROM a",
        "DELETE FROM a",
    ] {
        said.push((write, session.client.query(write.as_bytes())));
        for question in ["SELECT LAST_INSERT_ID(), @@autocommit", "SELECT COUNT(*), SUM(w) FROM a"]
        {
            said.push((question, session.client.query(question.as_bytes())));
        }
    }
    let id = session.client.prepare(b"INSERT INTO a (v) VALUES (?)").statement_id().expect("an id");
    for n in [1, 2, 2] {
        let params = vec![Param::LongLong(n)];
        let execute = Execute { params, ..Execute::default() };
        said.push(("EXECUTE", session.client.execute(id, &execute)));
    }
    for statement in ["ROLLBACK", "SELECT COUNT(*) FROM a"] {
        said.push((statement, session.client.query(statement.as_bytes())));
    }
    session.run("SELECT RELEASE_LOCK('k')");
    session.run("DROP TABLE a, m");
    // Without the time that they took.
    let words = |(statement, response): &(&str, Response)| {
        let words = render::response(response);
        let words = words.rsplit_once(" after ").map_or(words.clone(), |(all, _)| all.to_owned());
        format!("{statement}\n{words}")
    };
    said.iter().map(words).collect()
}

/// MySQL tells the number of the transaction with the answer to what commits it.
fn a_fenced_write_tells_its_transaction_s_number(server: &Server) {
    if flavour_of(server) == Flavour::MariaDb {
        return;
    }
    let gtids = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--performance-schema=ON"];
    let own = OwnServer::start(Flavour::MySql, &gtids);
    let server = &own.server;
    let table = Table::on(server);
    let uuid = server.root().column("SELECT @@server_uuid").concat();
    for pooling in ["session", "transaction"] {
        let settings = [&ALL[..], &["--pooling", pooling]].concat();
        let proxy = Proxy::start(&server.url, &settings);
        let numbers = [server.port, proxy.port].map(|port| {
            let mut session = Session::at(port);
            session.run("SET session_track_gtids=OWN_GTID");
            session.run("SELECT GET_LOCK('k', 0)");
            let response = session.run(&format!("INSERT INTO {} VALUES (1)", table.name));
            let told = render::response(&response).matches(&uuid).count();
            let none = session.run(&format!("DELETE FROM {} WHERE n=2", table.name));
            session.run(&format!("DELETE FROM {}", table.name));
            session.run("SELECT RELEASE_LOCK('k')");
            (told, render::response(&none).matches(&uuid).count())
        });
        assert_eq!(numbers, [(1, 0), (1, 0)], "{pooling}");
        assert!(commits(&proxy, "fenced") != "0", "{pooling}");
    }
}

fn writes_are_fenced_and_other_statements_are_not(server: &Server) {
    let table = Table::on(server);
    let proxy = Proxy::start(&server.url, &ALL);
    let mut session = Session::at(proxy.port);
    let (mut fenced, mut unfenced, name) = (0, 0, &table.name);
    session.run(&format!("CREATE PROCEDURE {name}_p() INSERT INTO {name} VALUES (1)"));
    for (text, result) in [
        (format!("INSERT INTO {name} VALUES (1)"), Some(true)),
        (format!("UPDATE {name} SET n=2"), Some(true)),
        (format!("DELETE FROM {name}"), Some(true)),
        (format!("INSERT INTO {name} SELECT ROW_COUNT()"), Some(false)),
        (format!("CALL {name}_p()"), Some(false)),
        (format!("TRUNCATE TABLE {name}"), Some(false)),
        ("SELECT 1".to_owned(), None),
        ("DO 1".to_owned(), None),
    ] {
        // Without a lock, nothing is asked.
        session.run(&text);
        session.run(&format!("DELETE FROM {name}"));
        session.lock("k");
        // Not in a transaction either.
        session.run("BEGIN");
        if !text.starts_with("TRUNCATE") {
            session.run(&text);
        }
        session.run("ROLLBACK");
        session.run(&text);
        fenced += u32::from(result == Some(true));
        unfenced += u32::from(result == Some(false));
        let counted = (commits(&proxy, "fenced"), commits(&proxy, "unfenced"));
        assert_eq!(counted, (fenced.to_string(), unfenced.to_string()), "{text}");
        session.unlock("k");
        session.run(&format!("DELETE FROM {name}"));
    }
}

/// What a session can ask for afterwards. docs/differences-reference.md has what a session with its own connection does
/// not find.
fn a_fenced_write_leaves_no_more_than_is_documented(server: &Server) {
    let own = OwnServer::start(flavour_of(server), &["--performance-schema=ON"]);
    let server = &own.server;
    let table = Table::on(server);
    let mut root = server.root();
    root.run("CREATE USER 'app'@'%' IDENTIFIED BY ''");
    root.run("GRANT ALL ON *.* TO 'app'@'%'");
    let app = Account { user: "app".to_owned(), password: String::new(), ..account() };
    let left = |port| {
        let mut session = Session::of(port, &app);
        session.run("SELECT GET_LOCK('k', 0)");
        let asked = ["ROW_COUNT()", "FOUND_ROWS()", "@@warning_count"].map(|asked| {
            let good = format!("INSERT INTO {} VALUES (1),(2),(3)", table.name);
            let warns = format!("INSERT IGNORE INTO {} VALUES (1),(4)", table.name);
            let left = [&good, &warns, &good].map(|write| {
                session.run("SELECT 1 UNION SELECT 2");
                session.client.query(write.as_bytes());
                session.value(&format!("SELECT {asked}")).expect("a number")
            });
            session.run(&format!("DELETE FROM {}", table.name));
            left.join(",")
        });
        session.run(&format!("INSERT INTO {} VALUES (1)", table.name));
        session.run(&format!("INSERT IGNORE INTO {} VALUES (1),(2)", table.name));
        let warnings = session.run("SHOW WARNINGS").packets.len();
        session.run(&format!("DELETE FROM {}", table.name));
        session.run("SELECT RELEASE_LOCK('k')");
        (asked.join(" "), warnings)
    };
    let direct = left(server.port);
    let [own, shared] = ["session", "transaction"].map(|pooling| {
        let settings = [&ALL[..], &["--pooling", pooling]].concat();
        let proxy = Proxy::start(&server.url, &settings);
        if pooling == "transaction" {
            eventually("the proxy knows the account", || {
                Session::of(proxy.port, &app).run("DO 0");
                let page = proxy.page("/metrics");
                let mut pins = page.lines().filter(|l| l.starts_with("lockstead_pinned_sessions{"));
                pins.all(|line| line.ends_with(" 0")).then_some(())
            });
        }
        let through = left(proxy.port);
        assert!(commits(&proxy, "fenced") != "0");
        through
    });
    match flavour_of(server) {
        Flavour::MySql => {
            assert_eq!(direct.0, "3,1,-1 2,2,2 0,1,1");
            // @@warning_count is the connection's.
            assert_eq!(shared, ("3,1,-1 2,2,2 0,0,0".to_owned(), direct.1));
            assert_eq!(own.0, "0,0,0 2,2,2 0,0,0");
        }
        Flavour::MariaDb => {
            assert_eq!(shared, direct);
            assert_eq!(own.0, "0,0,0 1,1,2 0,0,1");
        }
    }
    assert!(own.1 < direct.1, "the list of warnings is empty");
}

fn a_write_whose_rows_are_busy_is_not_made(server: &Server) {
    let table = Table::on(server);
    let proxy = Proxy::start(&server.url, &ALL);
    let mut root = server.root();
    let mut holder = Session::at(proxy.port);
    holder.run("SET innodb_lock_wait_timeout=1");
    holder.lock("k");
    root.run("BEGIN");
    root.run(&format!("SELECT * FROM {}.locks FOR UPDATE", proxy.schema));
    let insert = format!("INSERT INTO {} VALUES (1)", table.name);
    assert_eq!(holder.client.query(insert.as_bytes()).error(), Some(1205));
    root.run("ROLLBACK");
    assert_eq!((holder.value("SELECT @@autocommit").as_deref(), table.has(1)), (Some("1"), false));
    holder.run(&insert);
    assert!(table.has(1));
    holder.unlock("k");
}

/// By a deadlock, or by KILL QUERY: the session is in no transaction then, and its next write commits.
fn a_write_that_is_broken_off_leaves_nothing(server: &Server) {
    let table = Table::on(server);
    let proxy = Proxy::start(&server.url, &ALL);
    let (name, mut root) = (&table.name, server.root());
    root.run(&format!("INSERT INTO {name} VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9)"));
    let (mut holder, mut other) = (Session::at(proxy.port), Session::at(server.port));
    holder.lock("k");
    // The other session has changed more rows, so the server breaks off the holder's transaction.
    other.run("BEGIN");
    other.run(&format!("DELETE FROM {name} WHERE n>1"));
    let (id, update) =
        (holder.id(), format!("UPDATE {name} SET n=n+100 WHERE n IN (1,2) ORDER BY n"));
    let first = format!("SELECT n FROM {name} WHERE n=1 FOR UPDATE SKIP LOCKED");
    let mut until_one_row_is_changed = |holder: &mut Session| {
        holder.send(&update);
        eventually("it has the first row", || root.column(&first).is_empty().then_some(()));
    };
    until_one_row_is_changed(&mut holder);
    other.send(&format!("DELETE FROM {name} WHERE n=1"));
    assert_eq!(holder.client.read_response(Shape::Query).error(), Some(1213));
    assert_eq!(other.client.read_response(Shape::Query).error(), None);
    other.run("ROLLBACK");
    other.run("BEGIN");
    other.run(&format!("DELETE FROM {name} WHERE n=2"));
    until_one_row_is_changed(&mut holder);
    root.run(&format!("KILL QUERY {id}"));
    assert_eq!(holder.client.read_response(Shape::Query).error(), Some(1317));
    other.run("ROLLBACK");
    let left = root.column(&format!("SELECT CONCAT(COUNT(*),' ',MAX(n)) FROM {name}"));
    assert_eq!(left, ["9 9"]);
    assert_eq!(holder.value("SELECT @@autocommit").as_deref(), Some("1"));
    holder.run(&format!("INSERT INTO {name} VALUES (10)"));
    assert!(table.has(10));
    holder.unlock("k");
}

fn locked_tables_and_settings_for_transactions_are_left_alone(server: &Server) {
    let table = Table::on(server);
    let proxy = Proxy::start(&server.url, &ALL);
    let name = &table.name;
    let [direct, through] = [server.port, proxy.port].map(|port| {
        let mut session = Session::at(port);
        session.lock("k");
        let mut said = Vec::new();
        for text in [
            "SET completion_type='RELEASE'",
            &format!("INSERT INTO {name} VALUES (1)"),
            "SET completion_type='CHAIN'",
            &format!("INSERT INTO {name} VALUES (2)"),
            "SET completion_type=DEFAULT",
            &format!("LOCK TABLES {name} WRITE"),
            &format!("INSERT INTO {name} VALUES (3)"),
            "SELECT * FROM mysql.user",
            &format!("INSERT INTO {name} VALUES (4)"),
            "UNLOCK TABLES",
            "SET TRANSACTION READ ONLY",
            "START TRANSACTION",
            &format!("INSERT INTO {name} VALUES (5)"),
            "ROLLBACK",
            "XA START 'x'",
            &format!("INSERT INTO {name} VALUES (6)"),
            "XA END 'x'",
            "XA ROLLBACK 'x'",
            &format!("DELETE FROM {name}"),
        ] {
            let response = session.client.query(text.as_bytes());
            let words: Vec<_> = response.packets.iter().map(|p| p.payload.clone()).collect();
            said.push((text.to_owned(), words));
        }
        session.unlock("k");
        said
    });
    assert_eq!(through, direct);
    assert_eq!((commits(&proxy, "fenced"), commits(&proxy, "failed")), ("3".into(), "2".into()));
}

/// The question is not asked of the holder, and the test above must notice.
#[cfg(feature = "mutants")]
mod left_out {
    use super::{ALL, Proxy, Server, late, on_both, send_insert};

    on_both! {
        mutant_fence_by_name
    }

    fn mutant_fence_by_name(server: &Server) {
        let proxy = Proxy::start_mutant(&server.url, "FenceByName", &ALL);
        let found = late(
            server,
            &proxy,
            |_, _, _| (),
            |session, table, n| {
                send_insert(session, table, n, false);
            },
        );
        assert!(found.is_some(), "nobody notices");
    }
}
