//! Names that were chosen to do harm: in the lock tables, the view, the administration, the command
//! line, over HTTP, in log and metrics each is text and nothing else.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::admin::Desk;
use crate::cli::text;
use crate::own_server::flavour_of;
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{eventually, on_both};
use crate::windows::json;
use crate::wire::{Account, Shape};

on_both! {
    hostile_names_are_text_everywhere
    hostile_names_are_text_where_the_log_is_json
    a_deadlock_over_hostile_names_is_shown
    a_hostile_owner_makes_no_line_of_the_log
}

/// A name as a client writes it in SQL, as people are shown it, and as they can type it in a shell.
struct Name {
    sql: String,
    shown: String,
    typed: String,
}

impl Name {
    fn new(name: &str) -> Self {
        Self { sql: quoted(name), shown: name.to_owned(), typed: name.to_owned() }
    }
}

fn quoted(name: &str) -> String {
    let name = name.replace('\\', r"\\").replace('\'', r"\'").replace('\0', r"\0");
    format!("'{name}'")
}

fn names(flavour: Flavour) -> Vec<Name> {
    let mut names: Vec<Name> = [
        "'); DROP TABLE locks; --",
        "<script>alert(1)</script>",
        "\x1b[31mred\x1b[0m",
        "\x1b]0;title\x07\u{9b}2J",
        "two\nlines\r\nand\ttabs",
        "2026-01-01T00:00:00Z  INFO one\n2026-01-01T00:00:00Z ERROR two",
        "=cmd()|' /C calc'!A0",
        "left\u{202e}tfel\u{2066}",
        r#"back\slash\\, 'quote' "quote" `quote` \' \0"#,
        r#"{"json":[1,"#,
        "100% _under_ %s {} ${x}",
        "\u{feff}\u{200b}",
        "\u{61c}mark\u{180e}\u{ad}",
    ]
    .map(Name::new)
    .into();
    names.push(Name::new(&"é".repeat(64)));
    // Both servers cut there when they compare; a shell has no words with it.
    names.push(Name { typed: "cut".to_owned(), ..Name::new("cut\0here") });
    // MySQL refuses what its utf8mb3 has not.
    if flavour == Flavour::MariaDb {
        names.push(Name::new(&"\u{1f512}".repeat(48)));
        // A name that is no text is shown in hexadecimal digits, so that it differs from others.
        for digits in ["41FF1B5B33316DFE", "41FE1B5B33316DFF"] {
            names.push(Name { sql: format!("X'{digits}'"), ..Name::new(digits) });
        }
    }
    names
}

/// What moves a cursor, ends a line, or turns one around.
fn does_harm(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{e0000}'..='\u{e0fff}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Lines for display, in which nothing does harm.
fn harmless(lines: &str) -> Vec<&str> {
    let lines: Vec<&str> = lines.split_terminator('\n').collect();
    for line in &lines {
        assert!(!line.contains(does_harm), "{line:?}");
    }
    lines
}

fn texts<'a>(rows: &'a [Value], column: &str) -> BTreeSet<&'a str> {
    rows.iter().filter_map(|row| row[column].as_str()).collect()
}

fn hostile_names_are_text_everywhere(server: &Server) {
    let desk = Desk::with(server, "", &["--log-format", "text"]);
    through_everything(server, &desk);
    for line in harmless(&desk.proxy.log()) {
        let level = line.split_whitespace().nth(1);
        assert!(matches!(level, Some("INFO" | "WARN" | "ERROR")), "no event of its own: {line:?}");
    }
}

fn hostile_names_are_text_where_the_log_is_json(server: &Server) {
    let desk = Desk::with(server, "", &["--log-format", "json"]);
    through_everything(server, &desk);
    for line in desk.proxy.log().lines() {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line:?}"));
        assert!(event["level"].is_string() && event["timestamp"].is_string(), "{line}");
    }
}

fn through_everything(server: &Server, desk: &Desk) {
    let names = names(flavour_of(server));
    let all: BTreeSet<&str> = names.iter().map(|name| name.shown.as_str()).collect();
    assert_eq!(all.len(), names.len());
    let mut pairs: Vec<(Session, Session)> = names
        .iter()
        .map(|name| {
            let mut holder = Session::at(desk.proxy.port);
            let mut waiter = Session::at(desk.proxy.port);
            let got = holder.value(&format!("SELECT GET_LOCK({}, 0)", name.sql));
            assert_eq!(got.as_deref(), Some("1"), "{:?}", name.shown);
            waiter.send(&format!("SELECT GET_LOCK({}, 600)", name.sql));
            (holder, waiter)
        })
        .collect();
    eventually("all wait", || (desk.rows(&["waiters"]).len() == names.len()).then_some(()));
    are_shown(server, desk, &all);
    for (name, (holder, waiter)) in names.iter().zip(&mut pairs) {
        is_chosen_and_released(desk, name);
        assert!(holder.last_words().is_some(), "{:?}", name.shown);
        waiter.gets_it();
    }
    let log = desk.proxy.log();
    assert_eq!(log.matches("a lock is released by force").count(), names.len(), "{log}");
}

/// The exact text where machines read, harmless text where people do.
fn are_shown(server: &Server, desk: &Desk, all: &BTreeSet<&str>) {
    let view = format!("SELECT name FROM {}.held_locks", desk.proxy.schema);
    let view = server.root().column(&view);
    assert_eq!(&view.iter().map(String::as_str).collect::<BTreeSet<_>>(), all);
    for (table, column) in [("locks", "name"), ("waiters", "name"), ("sessions", "waits_for")] {
        assert_eq!(&texts(&desk.rows(&[table]), column), all, "{table}");
        let told = json(desk.proxy.http, &format!("/api/v1/{table}"));
        assert_eq!(&texts(told.as_array().expect("a list"), column), all, "{table}");
        let printed = text(&desk.ask(&[table]));
        let rows = desk.rows(&[table]).len();
        assert_eq!(harmless(&printed).len(), rows + 1, "{table}: {printed}");
    }
    let status = eventually("the status shows all", || {
        let status = json(desk.proxy.http, "/api/v1/status");
        (status["locks"].as_array()?.len() == all.len()).then_some(status)
    });
    for table in ["locks", "waiters"] {
        assert_eq!(&texts(status[table].as_array().expect("a list"), "name"), all, "{table}");
    }
    for path in ["/metrics", "/readyz", "/livez"] {
        let page = desk.proxy.page(path);
        for part in
            ["DROP TABLE", "<script", "/C calc", "tfel", "back\\slash", "\x1b", "_under_", "é"]
        {
            assert!(!page.contains(part), "{path} has {part}");
        }
    }
}

/// By the name as it is shown, and no other is meant.
fn is_chosen_and_released(desk: &Desk, name: &Name) {
    let Name { shown, typed, .. } = name;
    let pattern = |name: &str| name.replace('\\', r"\\").replace('%', r"\%").replace('_', r"\_");
    let like = if typed == shown { pattern(typed) } else { format!("{typed}%") };
    let found = desk.rows(&["locks", "--like", &like]);
    assert_eq!(texts(&found, "name"), BTreeSet::from([shown.as_str()]), "{like:?}");
    let token = found[0]["token"].as_str().expect("a token");
    // At the socket itself, by clients that send what they are given.
    for client in ["mysql", "mariadb"] {
        let sql = format!("SHOW LOCKS LIKE {}", quoted(&pattern(shown)));
        let (out, complaint) = desk.client(client, &sql);
        assert!(complaint.is_empty() && out.contains(token), "{client}: {out}{complaint}");
    }
    let released = desk.ask(&["release", typed]);
    assert_eq!(released.status.code(), Some(0), "{shown:?}: {}", text(&released));
    let printed = text(&released);
    let lines = harmless(&printed);
    assert!(lines.len() == 2 && lines[1].contains("released"), "{printed}");
}

/// A user's name is the client's own, too.
fn a_hostile_owner_makes_no_line_of_the_log(server: &Server) {
    let user = "a\n\u{1b}[31mERROR\u{61c}";
    let named = format!("{}@'%'", quoted(user));
    let mut root = server.root();
    root.run(&format!("DROP USER IF EXISTS {named}"));
    root.run(&format!("CREATE USER {named} IDENTIFIED BY 'tulips'"));
    root.run(&format!("GRANT SELECT ON *.* TO {named}"));
    for form in ["text", "json"] {
        let levels = "info,lockstead::locks=debug,lockstead::sessions=debug";
        let desk = Desk::with(server, "", &["--log-format", form, "--log-level", levels]);
        let mut session = Session::of(desk.proxy.port, &Account::new(user, "tulips"));
        session.lock("job");
        session.send("SELECT a FROM (SELECT 1 AS a) t ORDER BY GET_LOCK(CONCAT('b', a), 0)");
        session.client.read_response(Shape::Query);
        assert_eq!(desk.ask(&["release", "job"]).status.code(), Some(0));
        eventually("its end is told", || desk.proxy.log().contains("revoked").then_some(()));
        let log = desk.proxy.log();
        let about: Vec<&str> =
            harmless(&log).into_iter().filter(|line| line.contains("ERROR")).collect();
        assert!(about.len() >= 3, "{log}");
        for line in about {
            assert!(line.contains("owner") || line.contains("released: token"), "{line:?}");
        }
    }
    root.run(&format!("DROP USER {named}"));
}

fn a_deadlock_over_hostile_names_is_shown(server: &Server) {
    let desk = Desk::with(server, "", &["--log-level", "info,lockstead::locks=debug"]);
    let mut pairs = vec![["\x1b[31m\nred", "<script>alert(1)</script>\u{202e}"].map(Name::new)];
    if flavour_of(server) == Flavour::MariaDb {
        // No text, alike but for one byte.
        let digits = |digits: &str| Name { sql: format!("X'{digits}'"), ..Name::new(digits) };
        pairs.push(["41FF1B5B33316DFE", "41FE1B5B33316DFE"].map(digits));
    }
    for names in &pairs {
        shows_a_deadlock_over(&desk, names);
    }
    harmless(&desk.proxy.log());
    // Both are still shown, and the log has the same names.
    let all: BTreeSet<&str> = pairs.iter().flatten().map(|name| name.shown.as_str()).collect();
    assert_eq!(texts(&desk.rows(&["deadlocks"]), "waited_for"), all);
    for name in all.iter().filter(|name| name.starts_with("41F")) {
        let told = || desk.proxy.log().matches(name).count() == 3;
        eventually("it was granted, in the circle, and released", || told().then_some(()));
    }
}

fn shows_a_deadlock_over(desk: &Desk, names: &[Name; 2]) {
    let mut sessions = [(); 2].map(|()| Session::at(desk.proxy.port));
    for (session, name) in sessions.iter_mut().zip(names) {
        let got = session.value(&format!("SELECT GET_LOCK({}, 0)", name.sql));
        assert_eq!(got.as_deref(), Some("1"), "{:?}", name.shown);
    }
    let before = desk.rows(&["deadlocks"]).len();
    sessions[0].send(&format!("SELECT GET_LOCK({}, 600)", names[1].sql));
    eventually("the first waits", || (!desk.rows(&["waiters"]).is_empty()).then_some(()));
    sessions[1].send(&format!("SELECT GET_LOCK({}, 600)", names[0].sql));
    let rows = eventually("the deadlock is told", || {
        Some(desk.rows(&["deadlocks"])).filter(|rows| rows.len() > before)
    });
    let shown: BTreeSet<&str> = names.iter().map(|name| name.shown.as_str()).collect();
    assert_eq!(texts(&rows[..2], "waited_for"), shown);
    let printed = text(&desk.ask(&["deadlocks"]));
    assert_eq!(harmless(&printed).len(), before + 3, "{printed}");
    // That of the second before may still be served.
    eventually("it is in the JSON", || {
        let told = json(desk.proxy.http, "/api/v1/deadlocks");
        let rows = told.as_array().filter(|rows| rows.len() > before)?;
        assert_eq!(texts(&rows[..2], "waited_for"), shown);
        Some(())
    });
    drop(sessions);
    eventually("nobody waits", || desk.rows(&["waiters"]).is_empty().then_some(()));
}
