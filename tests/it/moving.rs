//! What administrators see of mode coexist, while a site moves in.

use serde_json::Value;

use crate::admin::{Desk, Folder};
use crate::cli::text;
use crate::launch::run;
use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::{Proxy, free_port};
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{Database, eventually, join, on_both};
use crate::windows::json;

on_both! {
    proxies_are_shown_with_their_modes
    locks_that_only_the_server_holds_are_listed
    a_lock_that_is_taken_at_the_server_is_seen_in_mode_durable
    a_lock_of_the_server_alone_that_a_session_here_holds_is_told_apart
    statements_whose_locks_only_the_server_knows_are_counted_and_logged_once
    check_and_doctor_say_whether_it_is_time_for_the_next_step
    modes_that_do_not_exclude_each_other_are_reported
}

const COEXIST: [&str; 2] = ["--mode", "coexist"];

/// A server that lists its own locks: MariaDB does with a plugin.
fn listing(server: &Server) -> Option<OwnServer> {
    let flavour = flavour_of(server);
    (flavour == Flavour::MariaDb)
        .then(|| OwnServer::start(flavour, &["--plugin-load-add=metadata_lock_info"]))
}

fn proxies_are_shown_with_their_modes(server: &Server) {
    let desk = Desk::with(server, "", &COEXIST);
    let durable = join(server, &desk.proxy, &["--mode", "durable"]);
    let modes = |rows: &[Value]| {
        let of = |port: u16| {
            let address = format!("127.0.0.1:{port}");
            let row = rows.iter().find(|row| row["address"] == *address);
            row.expect("the proxy is shown")["mode"].clone()
        };
        [of(desk.proxy.port), of(durable.port)]
    };
    let expected = ["coexist", "durable"].map(Value::from);
    assert_eq!(modes(&desk.rows(&["proxies"])), expected);
    let status = json(desk.proxy.http, "/api/v1/status");
    assert_eq!(modes(status["proxies"].as_array().expect("a list")), expected);
}

/// The rows of a lock that say by what it is held.
fn held_by(desk: &Desk, name: &str, by: &str) -> Vec<Value> {
    let mut rows = desk.rows(&["locks", "--like", name]);
    rows.retain(|row| row["held_by"] == by);
    rows
}

fn locks_that_only_the_server_holds_are_listed(server: &Server) {
    let own = listing(server);
    let server = own.as_ref().map_or(server, |own| &own.server);
    let desk = Desk::with(server, "", &COEXIST);
    let (mut direct, mut here) = (Session::at(server.port), Session::at(desk.proxy.port));
    direct.lock("mv1 direct");
    here.lock("mv1 here");
    let lock = eventually("it is listed", || held_by(&desk, "mv1 d%", "server").pop());
    assert_eq!(
        (&lock["name"], &lock["connection_id"]),
        (&"mv1 direct".into(), &direct.id().into())
    );
    let owner = lock["owner"].as_str().expect("an owner");
    assert!(owner == "root@localhost" || owner == "root@127.0.0.1", "{owner}");
    for unknown in ["token", "proxy", "proxy_state", "since_utc", "held_seconds"] {
        assert_eq!(lock[unknown], Value::Null, "{unknown}");
    }
    // A session of the proxy has a row, and is not listed twice.
    let rows = desk.rows(&["locks", "--like", "mv1%"]);
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert_eq!(held_by(&desk, "mv1 here", "row")[0]["connection_id"], here.id());
    assert!(desk.rows(&["locks", "--like", "mv1_x%"]).is_empty());
    let shown = eventually("the page lists it", || {
        let status = json(desk.proxy.http, "/api/v1/status");
        let locks = status["locks"].as_array()?;
        locks.iter().find(|row| row["name"] == "mv1 direct").cloned()
    });
    assert_eq!((&shown["held_by"], &shown["owner"]), (&"server".into(), &owner.into()));
    let refused = desk.ask(&["release", "mv1 direct"]);
    let (code, said) = (refused.status.code(), text(&refused));
    assert!(code == Some(1) && said.contains("only the server holds this lock"), "{said}");
    assert!(said.contains(&format!("at the server: KILL {}", direct.id())), "{said}");
    assert_eq!(direct.value("SELECT IS_USED_LOCK('mv1 direct')"), Some(direct.id().to_string()));
    server.root().run(&format!("KILL {}", direct.id()));
    eventually("it is gone", || held_by(&desk, "mv1 d%", "server").is_empty().then_some(()));
    let released = desk.ask(&["release", "mv1 direct"]);
    assert!(text(&released).contains("already free"), "{}", text(&released));
}

fn a_lock_that_is_taken_at_the_server_is_seen_in_mode_durable(server: &Server) {
    let own = listing(server);
    let server = own.as_ref().map_or(server, |own| &own.server);
    let desk = Desk::with(server, "", &["--mode", "durable"]);
    let name = format!("past {}", desk.proxy.schema);
    let (mut session, mut waiter) = (Session::at(desk.proxy.port), Session::at(desk.proxy.port));
    session.lock(&name);
    // The waiter shows its wait at a lock of the server's own, which is the proxy's.
    waiter.ask_for(&name);
    let mut direct = Session::at(server.port);
    direct.lock(&name);
    let row = eventually("the second holder is listed", || held_by(&desk, &name, "server").pop());
    assert_eq!((&row["connection_id"], &row["proxy"]), (&direct.id().into(), &Value::Null));
    assert_eq!(held_by(&desk, &name, "row").len(), 1);
    assert!(desk.proxy.metric("lockstead_direct_locks") >= 1.0);
    assert!(desk.proxy.metric("lockstead_direct_locks_seen_total") >= 1.0);
    let listed = json(desk.proxy.http, "/api/v1/locks").to_string();
    assert!(listed.contains(&name) && listed.contains("\"server\""), "{listed}");
    assert!(!listed.contains("lockstead_gate_"), "{listed}");
    eventually("the log shows it", || {
        let log = desk.proxy.log();
        let says = |line: &str| {
            line.contains("a lock was taken at the server itself") && line.contains(&name)
        };
        log.lines().any(says).then_some(())
    });
    let store = format!("{}{}", server.url, desk.proxy.schema);
    let place = ["--backend", &format!("127.0.0.1:{}", server.port), "--store", &store];
    for command in ["check", "doctor"] {
        let output =
            run(&[&[command], &place[..], &["--state-dir", "off", "--mode", "durable"]].concat());
        assert!(text(&output).contains("held at the server itself"), "{}", text(&output));
    }
    direct.unlock(&name);
    eventually("it is gone", || held_by(&desk, &name, "server").is_empty().then_some(()));
    session.unlock(&name);
    waiter.gets_it();
}

fn a_lock_of_the_server_alone_that_a_session_here_holds_is_told_apart(server: &Server) {
    let own = listing(server);
    let server = own.as_ref().map_or(server, |own| &own.server);
    let desk = Desk::with(server, "", &COEXIST);
    let rows = join(server, &desk.proxy, &["--mode", "durable"]);
    let db = Database::create(server);
    let function = db.table("f");
    server
        .root()
        .run(&format!("CREATE FUNCTION {function}() RETURNS INT NO SQL RETURN GET_LOCK('mv2',0)"));
    let (mut a, mut b) = (Session::at(desk.proxy.port), Session::at(rows.port));
    b.lock("mv2");
    // The server grants it, and the row is another session's.
    assert_eq!(a.value(&format!("SELECT {function}()")).as_deref(), Some("1"));
    let lock = eventually("it is listed", || held_by(&desk, "mv2", "server").pop());
    assert_eq!(lock["connection_id"], a.id());
    assert_eq!(lock["proxy"], format!("127.0.0.1:{}", desk.proxy.port));
    assert_eq!(lock["proxy_state"], "live");
    assert_eq!(held_by(&desk, "mv2", "row")[0]["connection_id"], b.id());
}

/// A server that does not list its own locks, and what its operator is told to do.
fn silent(server: &Server) -> (Option<OwnServer>, &'static str) {
    match flavour_of(server) {
        Flavour::MySql => {
            let limit = ["--performance-schema-max-metadata-locks=10000"];
            let own = OwnServer::start(Flavour::MySql, &limit);
            (Some(own), "performance_schema_max_metadata_locks")
        }
        Flavour::MariaDb => (None, "INSTALL SONAME 'metadata_lock_info'"),
    }
}

fn statements_whose_locks_only_the_server_knows_are_counted_and_logged_once(server: &Server) {
    let (own, remedy) = silent(server);
    let listed = listing(server);
    for (own, lists) in [(own, false), (listed, true)] {
        let server = own.as_ref().map_or(server, |own| &own.server);
        let proxy = Proxy::start(&server.url, &["--mode", "coexist", "--log-format", "json"]);
        let db = Database::create(server);
        let routine = db.table("p");
        server.root().run(&format!("CREATE PROCEDURE {routine}() BEGIN DO GET_LOCK('mv3',0); END"));
        let mut a = Session::at(proxy.port);
        for n in 1..4 {
            a.run(&format!("SELECT GET_LOCK(CONCAT('mv3 secret', {n}), 0)"));
        }
        a.run(&format!("CALL {routine}()"));
        // These tell their names.
        a.run("SELECT GET_LOCK('mv3 a', 0), GET_LOCK('mv3 b', 0)");
        a.run("SELECT RELEASE_LOCK(CONCAT('mv3 ', 'b')), IS_FREE_LOCK(CONCAT('mv3 ', 'c'))");
        let counted = |takes: &str| {
            let label = format!("{{takes_lock=\"{takes}\"}}");
            proxy.metric(&format!("lockstead_native_only_statements_total{label}"))
        };
        let expected = if lists { (0.0, 0.0) } else { (3.0, 1.0) };
        assert_eq!((counted("yes"), counted("perhaps")), expected, "lists: {lists}");
        let log = proxy.log();
        assert!(!log.contains("secret"), "{log}");
        let lines: Vec<Value> = log
            .lines()
            .filter(|line| line.contains("only the server knows which locks"))
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        let statements: Vec<&str> =
            lines.iter().map(|l| l["fields"]["statement"].as_str().expect("text")).collect();
        if lists {
            assert!(statements.is_empty(), "{statements:?}");
        } else {
            assert_eq!(statements.len(), 2, "{statements:?}");
            assert!(
                statements[0].contains("CONCAT") && statements[0].contains('?'),
                "{statements:?}"
            );
            assert!(statements[1].starts_with("CALL"), "{statements:?}");
            let why = lines[0]["fields"]["why"].as_str().expect("a reason");
            assert!(why.contains(remedy), "{why}");
        }
        a.run("DO RELEASE_ALL_LOCKS()");
    }
}

/// What check says, and the codes of the doctor's findings, for a mode at the lock tables of a proxy.
fn advice(server: &Server, desk: &Desk, mode: &str) -> (String, Vec<String>) {
    let backend = format!("127.0.0.1:{}", server.port);
    let store = format!("{}{}", server.url, desk.proxy.schema);
    let admin = format!("unix:{}", desk.folder.socket().display());
    let folder = Folder::new();
    let state = folder.file(".").display().to_string();
    let place = ["--backend", &backend, "--store", &store, "--admin", &admin];
    let settings = [&place[..], &["--state-dir", &state, "--mode", mode]].concat();
    let said = text(&run(&[&["check"], &settings[..]].concat()));
    let found = run(&[&["doctor", "--json"], &settings[..]].concat());
    let report: Value = serde_json::from_slice(&found.stdout).expect("JSON");
    let findings = report["findings"].as_array().expect("findings").iter();
    let code = |f: &Value| {
        format!(
            "{} {}",
            f["severity"].as_str().expect("a word"),
            f["code"].as_str().expect("a code")
        )
    };
    let ours = ["native-list", "mixed-modes", "not-yet"];
    let codes = findings.filter(|f| ours.iter().any(|code| f["code"] == *code)).map(code);
    (said, codes.collect())
}

fn check_and_doctor_say_whether_it_is_time_for_the_next_step(server: &Server) {
    let (own, remedy) = silent(server);
    let own = own.as_ref().map_or(server, |own| &own.server);
    let desk = Desk::with(own, "", &COEXIST);
    let (said, codes) = advice(own, &desk, "coexist");
    assert!(said.contains(remedy), "{said}");
    assert_eq!(codes, ["note native-list"]);
    let mut a = Session::at(desk.proxy.port);
    a.run("SELECT GET_LOCK(CONCAT('mv', '4'), 0)");
    let (said, codes) = advice(own, &desk, "durable");
    assert!(said.contains("not yet") && said.contains("1 statements that lock"), "{said}");
    assert_eq!(codes, ["problem not-yet", "note mixed-modes"]);
    // A server that lists its locks shows those of direct clients.
    let own = OwnServer::start(
        flavour_of(server),
        match flavour_of(server) {
            Flavour::MySql => &[],
            Flavour::MariaDb => &["--plugin-load-add=metadata_lock_info"],
        },
    );
    let desk = Desk::with(&own.server, "", &COEXIST);
    assert_eq!(advice(&own.server, &desk, "coexist").1, [""; 0]);
    let mut direct = Session::at(own.server.port);
    direct.lock("mv5");
    eventually("it is seen", || {
        (desk.proxy.metric("lockstead_direct_locks_seen_total") >= 1.0).then_some(())
    });
    direct.unlock("mv5");
    let (said, codes) = advice(&own.server, &desk, "coexist");
    assert!(said.contains("has seen 1 locks of clients that do not come through it"), "{said}");
    assert_eq!(codes, ["note not-yet"]);
}

fn modes_that_do_not_exclude_each_other_are_reported(server: &Server) {
    let desk = Desk::with(server, "", &["--mode", "durable"]);
    assert_eq!(advice(server, &desk, "durable").1, [""; 0]);
    let doctor = |mode| advice(server, &desk, mode).1;
    assert!(doctor("observe").contains(&"problem mixed-modes".to_owned()));
    assert!(doctor("coexist").contains(&"note mixed-modes".to_owned()));
}

#[test]
fn clusters_that_do_not_exclude_each_other_are_reported() {
    let server = Server::from_env(Flavour::MySql);
    let (folder, backend) = (Folder::new(), format!("127.0.0.1:{}", server.port));
    let check = |second: &str| {
        let cluster = |name: &str, mode: &str| {
            let state = folder.file(name).display().to_string();
            std::fs::create_dir_all(&state).expect("a folder");
            format!(
                "[[cluster]]\nname = \"{name}\"\nmode = \"{mode}\"\nbackend = \"{backend}\"\n\
                 store = \"{}lockstead\"\nstate_dir = \"{state}\"\n\
                 [[listener]]\ncluster = \"{name}\"\nlisten = \"127.0.0.1:{}\"\n",
                server.url,
                free_port()
            )
        };
        let file = folder.file("settings.toml");
        let settings = cluster("watches", "observe") + &cluster("shop", second);
        std::fs::write(&file, format!("admin = \"off\"\n{settings}")).expect("written");
        text(&run(&["check", "--config", &file.display().to_string()]))
    };
    let told = format!("watches (observe) and shop (durable) have the same backend {backend}");
    let said = check("durable");
    assert!(said.contains(&told), "{said}");
    let said = check("coexist");
    assert!(said.contains("shop") && !said.contains("have the same backend"), "{said}");
}
