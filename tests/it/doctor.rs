//! `lockstead doctor`: what it finds on a server, and how it says so.

use std::process::Output;

use lockstead_support::launch::lasting_port;
use serde_json::Value;

use crate::cli::{Person, install, least_rights, text};
use crate::launch::{program, run};
use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::fresh_schema;
use crate::script::{Flavour, Server};
use crate::stage::{Database, eventually, on_both};

on_both! {
    each_kind_of_object_is_found_with_its_line
    calls_in_programs_are_no_problem_in_mode_coexist
    a_name_in_a_string_a_comment_or_another_mode_is_no_call
    definitions_that_the_account_may_not_see_are_reported_with_the_privilege
    a_wrong_password_is_reported_and_never_shown
    a_sound_server_has_no_problem_and_each_unsafe_setting_is_one
}

struct Doctor<'a> {
    server: &'a Server,
    store: String,
}

impl<'a> Doctor<'a> {
    fn of(server: &'a Server, schema: &str) -> Self {
        Self { server, store: format!("{}{schema}", server.url) }
    }

    fn arguments<'b>(&'b self, backend: &'b str, extra: &[&'b str]) -> Vec<&'b str> {
        [&["doctor", "--backend", backend, "--store", &self.store], extra].concat()
    }

    fn run(&self, extra: &[&str]) -> Output {
        run(&self.arguments(&format!("127.0.0.1:{}", self.server.port), extra))
    }

    fn json(&self, extra: &[&str]) -> Value {
        let output = self.run(&[&["--json"], extra].concat());
        let report: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("no JSON: {e}: {}", text(&output)));
        let code = i32::from(report["problems"] != 0);
        assert_eq!(output.status.code(), Some(code), "{report:#}");
        report
    }

    fn codes(&self, extra: &[&str]) -> Vec<String> {
        let report = self.json(extra);
        let findings = report["findings"].as_array().expect("findings");
        findings.iter().map(|f| f["code"].as_str().expect("a code").to_owned()).collect()
    }

    /// `code kind name line: source` of what was found in a schema, sorted.
    fn found(&self, schema: &str) -> Vec<String> {
        let report = self.json(&[]);
        let said = text(&self.run(&[]));
        let mut found = Vec::new();
        for finding in report["findings"].as_array().expect("findings") {
            let object = &finding["object"];
            if object["schema"] != schema {
                continue;
            }
            let word = |value: &Value| value.as_str().expect("a word").to_owned();
            let (kind, name) = (word(&object["kind"]), word(&object["name"]));
            assert!(said.contains(&format!("{kind} {schema}.{name}\n")), "{name}: {said}");
            for line in object["lines"].as_array().expect("lines") {
                let line = format!("line {}: {}", line["line"], word(&line["source"]));
                assert!(said.contains(&line), "{line}: {said}");
                found.push(format!("{} {kind} {name} {line}", word(&finding["code"])));
            }
        }
        found.sort();
        found
    }
}

/// Runs statements in one session.
fn make(server: &Server, schema: &str, statements: &[&str]) {
    let mut root = server.root();
    root.run(&format!("USE {schema}"));
    for statement in statements {
        root.run(statement);
    }
}

fn each_kind_of_object_is_found_with_its_line(server: &Server) {
    let db = Database::create(server);
    make(
        server,
        &db.name,
        &[
            "CREATE TABLE t (a INT)",
            "CREATE PROCEDURE p1()\nBEGIN\n  SELECT 'it''s';\n  DO GET_LOCK('a', 0);\n  DO 1;\n\tSELECT get_lock(\n'b', 0) + RELEASE_LOCK('b');\nEND",
            "CREATE FUNCTION `f``1`() RETURNS INT NO SQL RETURN `IS_FREE_LOCK`('a')",
            "CREATE TRIGGER t1 BEFORE INSERT ON t FOR EACH ROW BEGIN\n  SET @x = 'it\\'s';\n  SET @x = IS_USED_LOCK ('a');\nEND",
            "CREATE EVENT e1 ON SCHEDULE EVERY 1 DAY DISABLE DO BEGIN\n  DO RELEASE_ALL_LOCKS(); END",
            "CREATE VIEW v1 AS SELECT IS_USED_LOCK('\u{e4}\x1b[2J') AS c",
            "CREATE PROCEDURE p2()\nBEGIN\n  SET @s = 'SELECT GET_LOCK(''a'', 0)';\n  PREPARE s FROM @s;\n  EXECUTE s;\nEND",
        ],
    );
    let mut expected = vec![
        "calls event e1 line 2: DO RELEASE_ALL_LOCKS(); END".to_owned(),
        "calls function f`1 line 3: RETURN `IS_FREE_LOCK`('a')".to_owned(),
        "calls procedure p1 line 4: DO GET_LOCK('a', 0);".to_owned(),
        "calls procedure p1 line 6: SELECT get_lock(".to_owned(),
        "calls procedure p1 line 7: 'b', 0) + RELEASE_LOCK('b');".to_owned(),
        "calls trigger t1 line 3: SET @x = IS_USED_LOCK ('a');".to_owned(),
        "calls view v1 line 1: select is_used_lock('\u{e4}\\u{1b}[2J') AS `c`".to_owned(),
        "may-call procedure p2 line 3: SET @s = 'SELECT GET_LOCK(''a'', 0)';".to_owned(),
    ];
    if flavour_of(server) == Flavour::MariaDb {
        make(
            server,
            &db.name,
            &[
                "SET sql_mode=ORACLE",
                "CREATE PACKAGE k AS PROCEDURE p(); END",
                "CREATE PACKAGE BODY k AS PROCEDURE p() AS BEGIN\n DO GET_LOCK('a', 0); END; END",
                "SET sql_mode='MSSQL'",
                "CREATE PROCEDURE p3()\nDO [GET_LOCK]('a', 0)",
            ],
        );
        expected.push("calls package body k line 2: DO GET_LOCK('a', 0); END; END".to_owned());
        expected.push("calls procedure p3 line 2: DO [GET_LOCK]('a', 0)".to_owned());
    }
    expected.sort();
    let doctor = Doctor::of(server, &fresh_schema());
    assert_eq!(doctor.found(&db.name), expected);
    let report = doctor.json(&[]);
    let of = |code: &str| {
        report["findings"].as_array().expect("findings").iter().find(|f| f["code"] == code).cloned()
    };
    // The server's own procedures are counted, no more.
    let system = of("system").expect("sys.ps_setup_save calls");
    assert!(system["object"].is_null() && system["severity"] == "note", "{system}");
    assert!(!report.to_string().contains("ps_setup_save"), "{report:#}");
    let on = server.root().column("SELECT @@global.event_scheduler") == ["ON"];
    let told = of("event-scheduler").is_some_and(|f| f.to_string().contains(&db.table("e1")));
    assert_eq!(told, on);
}

fn calls_in_programs_are_no_problem_in_mode_coexist(server: &Server) {
    let db = Database::create(server);
    make(server, &db.name, &["CREATE PROCEDURE p1() DO GET_LOCK('a', 0)"]);
    let doctor = Doctor::of(server, &fresh_schema());
    for (mode, severity, says) in [
        ("durable", "problem", "do not exclude sessions that lock through Lockstead"),
        ("coexist", "note", "exclude all sessions in mode coexist"),
    ] {
        let report = doctor.json(&["--mode", mode]);
        let findings = report["findings"].as_array().expect("findings");
        let of_ours = |f: &&Value| f["object"]["schema"] == db.name.as_str();
        let found: Vec<_> = findings.iter().filter(of_ours).collect();
        assert_eq!(found.len(), 1, "{report:#}");
        assert_eq!(found[0]["severity"], severity);
        assert!(found[0]["text"].to_string().contains(says), "{}", found[0]);
    }
}

fn a_name_in_a_string_a_comment_or_another_mode_is_no_call(server: &Server) {
    let db = Database::create(server);
    make(
        server,
        &db.name,
        &[
            "CREATE TABLE get_lock (a INT)",
            // Where information_schema shows strings without their escapes, this looks like a call.
            "CREATE PROCEDURE p1() COMMENT 'GET_LOCK(1)'\nBEGIN\n  SELECT 'it''s \\' + GET_LOCK(1)', \"\\\", GET_LOCK(2)\"; # GET_LOCK(3)\n INSERT INTO get_lock (a) VALUES (1);\n END",
            "CREATE VIEW v1 AS SELECT 'it''s \\' + GET_LOCK(1)' AS `GET_LOCK(1)`",
            "CREATE FUNCTION release_lock () RETURNS INT NO SQL RETURN 'GET_LOCK'",
            "SET sql_mode='NO_BACKSLASH_ESCAPES'",
            "CREATE PROCEDURE p2() SELECT '\\', \"GET_LOCK\", \"(\"",
            "CREATE PROCEDURE p3()\nSELECT '\\', GET_LOCK('a', 0), '\\'",
            "SET sql_mode='ANSI_QUOTES'",
            "CREATE PROCEDURE p4()\nSELECT \"GET_LOCK\"('a', 0)",
            "CREATE PROCEDURE p5() SELECT a \"GET_LOCK(1)\" FROM \"get_lock\"",
        ],
    );
    let found = Doctor::of(server, &fresh_schema()).found(&db.name);
    let expected = [
        "calls procedure p3 line 2: SELECT '\\', GET_LOCK('a', 0), '\\'",
        "calls procedure p4 line 2: SELECT \"GET_LOCK\"('a', 0)",
    ];
    assert_eq!(found, expected);
}

fn definitions_that_the_account_may_not_see_are_reported_with_the_privilege(server: &Server) {
    let db = Database::create(server);
    make(
        server,
        &db.name,
        &[
            "CREATE PROCEDURE p() DO GET_LOCK('a', 0)",
            "CREATE VIEW v AS SELECT GET_LOCK('a', 0) AS a",
        ],
    );
    let doctor = Doctor::of(server, &fresh_schema());
    let url = |person: &Person| format!("mysql://{}:pw@127.0.0.1:{}/", person.name, server.port);
    let blind = Person::create(server, &db.name, &["EXECUTE ON PROCEDURE $.p", "SELECT ON $.v"]);
    let said = text(&doctor.run(&["--account", &url(&blind)]));
    let routines = match flavour_of(server) {
        Flavour::MySql => "SHOW_ROUTINE ON *.*",
        Flavour::MariaDb => "SELECT ON mysql.proc",
    };
    assert_eq!(said.matches("cannot see the text of 1").count(), 2, "{said}");
    for right in [routines, "TRIGGER ON *.*", "EVENT ON *.*", "SELECT, SHOW VIEW ON *.*"] {
        assert!(said.contains(&format!("GRANT {right} to")), "{right}: {said}");
    }
    assert!(!said.contains("calls:"), "{said}");
    let rights = [routines, "TRIGGER ON *.*", "EVENT ON *.*", "SELECT, SHOW VIEW ON *.*"];
    let seeing = Person::create(server, &db.name, &rights);
    let codes = doctor.codes(&["--account", &url(&seeing)]);
    assert!(!codes.iter().any(|c| c.starts_with("hidden")), "{codes:?}");
    assert!(codes.contains(&"calls".to_owned()), "{codes:?}");
}

fn a_wrong_password_is_reported_and_never_shown(server: &Server) {
    let doctor = Doctor::of(server, &fresh_schema());
    let person = Person::create(server, "", &[]);
    let place = format!("{}@127.0.0.1:{}", person.name, server.port);
    let with = |password: &str| {
        let account = format!("mysql://{place}");
        let backend = format!("127.0.0.1:{}", server.port);
        let mut command = program(&doctor.arguments(&backend, &["--account", &account]));
        command.env("LOCKSTEAD_ACCOUNT_PASSWORD", password).output().expect("it runs")
    };
    let refused = with("tulip");
    let said = text(&refused);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains(&place) && said.contains("Access denied"), "{said}");
    assert!(said.contains("user and password") && !said.contains("tulip"), "{said}");
    let seen = with("pw");
    assert_eq!(seen.status.code(), Some(1), "{}", text(&seen));
    assert!(!text(&seen).contains("rootpw"), "{}", text(&seen));
    for (account, fix) in [("tulip", "mysql://"), ("mysql://:tulip@h/", "names no user")] {
        let refused = doctor.run(&["--account", account]);
        let said = text(&refused);
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains("--account") && said.contains(fix), "{said}");
        assert!(!said.contains("tulip"), "{said}");
    }
}

fn a_sound_server_has_no_problem_and_each_unsafe_setting_is_one(shared: &Server) {
    let flavour = flavour_of(shared);
    let own = OwnServer::start(flavour, &["--sync-binlog=1"]);
    let schema = fresh_schema();
    let doctor = Doctor::of(&own.server, &schema);
    assert_eq!(doctor.codes(&[]), ["store", "system"], "no schema yet");
    install(&own.server, &schema);
    assert_eq!(doctor.codes(&[]), ["system"]);
    let output = doctor.run(&[]);
    assert!(text(&output).ends_with("\n0 problems, 1 note\n"), "{}", text(&output));
    let there = doctor.codes(&["--account", &shared.url]);
    assert!(there.contains(&"elsewhere".to_owned()), "{there:?}");
    let mut root = own.server.root();
    let table = format!("{schema}.adoptions");
    for (set, reset, codes) in [
        ("SET GLOBAL sync_binlog=0", "SET GLOBAL sync_binlog=1", &["binlog-sync"][..]),
        (
            "SET GLOBAL innodb_flush_log_at_trx_commit=2",
            "SET GLOBAL innodb_flush_log_at_trx_commit=1",
            &["redo-log"],
        ),
        (
            "SET GLOBAL binlog_format=STATEMENT",
            "SET GLOBAL binlog_format=MIXED",
            &["binlog-format", "store"],
        ),
        ("DO 0", "SET GLOBAL binlog_format=ROW", &["binlog-mixed"]),
        ("SET GLOBAL read_only=1", "SET GLOBAL read_only=0", &["read-only", "store"]),
        (
            &format!("ALTER TABLE {table} ENGINE=MyISAM"),
            &format!("ALTER TABLE {table} ENGINE=InnoDB"),
            &["engine"],
        ),
        ("SET GLOBAL init_connect='DO IS_FREE_LOCK(1)'", "SET GLOBAL init_connect=''", &["calls"]),
    ] {
        root.run(set);
        let mut found = doctor.codes(&[]);
        found.retain(|code| code != "system");
        assert_eq!(found, codes, "{set}");
        root.run(reset);
    }
    let weak = Person::create(&own.server, &schema, &["SELECT, INSERT, UPDATE, DELETE ON $.*"]);
    let store = format!("mysql://{}:pw@127.0.0.1:{}/{schema}", weak.name, own.server.port);
    let codes = Doctor { server: &own.server, store }.codes(&["--account", &own.server.url]);
    let missing = least_rights(&own.server).len() - 1; // less that on the tables
    assert_eq!(codes, [vec!["store-account"; missing], vec!["system"]].concat());
    drop(weak);
    assert_eq!(doctor.codes(&[]), ["system"]);
    own.stop();
    let output = doctor.run(&[]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("Is the server up"), "{}", text(&output));
}

#[test]
fn a_replication_group_is_told_by_its_mode() {
    // One that no connection of another test has when the member begins to listen there.
    let local = format!("--loose-group-replication-local-address=127.0.0.1:{}", lasting_port());
    let own = OwnServer::start(
        Flavour::MySql,
        &[
            "--sync-binlog=1",
            "--gtid-mode=ON",
            "--enforce-gtid-consistency=ON",
            "--plugin-load-add=group_replication.so",
            "--loose-group-replication-group-name=a0000000-0000-0000-0000-000000000000",
            "--loose-group-replication-bootstrap-group=ON",
            "--loose-group-replication-start-on-boot=OFF",
            &local,
        ],
    );
    let schema = fresh_schema();
    install(&own.server, &schema);
    let doctor = Doctor::of(&own.server, &schema);
    assert_eq!(doctor.codes(&[]), ["system"], "no member yet");
    let mut root = own.server.root();
    root.run("START GROUP_REPLICATION");
    eventually("the server is the primary", || {
        let role = "SELECT member_role FROM performance_schema.replication_group_members \
                    WHERE member_state='ONLINE'";
        (root.column(role) == ["PRIMARY"]).then_some(())
    });
    assert_eq!(doctor.codes(&[]), ["group", "system"]);
    root.run("SELECT group_replication_switch_to_multi_primary_mode()");
    assert_eq!(doctor.codes(&[]), ["group-multi-primary", "system"]);
}
