//! Who had a lock before: holds that are over, in every mode.

use serde_json::Value;

use super::json;
use crate::admin::Desk;
use crate::cli::text;
use crate::launch::run;
use crate::proxy::{Proxy, fresh_schema};
use crate::script::Server;
use crate::session::Session;
use crate::stage::{eventually, on_both};

on_both! {
    the_last_holders_of_a_lock_are_shown_in_every_mode
    a_lock_that_was_taken_away_says_so
    holds_that_end_with_their_session_say_why
    no_more_holds_are_remembered_than_the_setting_says
    holds_are_written_into_a_table_where_that_is_wanted
    a_history_that_cannot_be_written_stops_nobody
    a_history_that_the_account_may_not_write_is_reported
}

/// Name, connection and end of each hold that is remembered, the one that ended last first.
fn ends(rows: &[Value]) -> Vec<(String, u64, String)> {
    let told = |row: &Value, field: &str| row[field].as_str().expect("a text").to_owned();
    let of = |row: &Value| {
        let conn = row["connection_id"].as_u64().expect("a number");
        (told(row, "name"), conn, told(row, "ended_by"))
    };
    rows.iter().map(of).collect()
}

/// As many holds as there are to be.
fn until(desk: &Desk, most: usize) -> Vec<Value> {
    eventually("the holds are over", || {
        Some(desk.rows(&["history"])).filter(|rows| rows.len() >= most)
    })
}

fn the_last_holders_of_a_lock_are_shown_in_every_mode(server: &Server) {
    for mode in ["observe", "coexist", "durable"] {
        let desk = Desk::with(server, "", &["--mode", mode]);
        let name = fresh_schema().replace("lockstead_t", "h");
        let at = || Session::at(desk.proxy.port);
        let (mut a, mut b, mut c) = (at(), at(), at());
        let ids = [a.id(), b.id(), c.id()];
        a.lock(&name);
        assert_eq!(desk.rows(&["history"]), [Value::Null; 0], "{mode}: it is still held");
        a.unlock(&name);
        until(&desk, 1);
        b.lock(&name);
        drop(b);
        until(&desk, 2);
        c.lock(&name);
        server.root().run(&format!("KILL {}", ids[2]));
        let rows = until(&desk, 3);
        let expected = [(ids[2], "server"), (ids[1], "client"), (ids[0], "released")];
        let expected = expected.map(|(id, end)| (name.clone(), id, end.to_owned()));
        assert_eq!(ends(&rows), expected, "{mode}");
        let listen = format!("127.0.0.1:{}", desk.proxy.port);
        for row in &rows {
            let owner = row["owner"].as_str().expect("a text");
            assert!(owner.starts_with("root@"), "{mode}: {row}");
            assert_eq!(row["proxy"].as_str(), Some(&*listen), "{mode}: {row}");
            assert_eq!(row["token"].is_null(), mode == "observe", "{mode}: {row}");
            assert!(row["taken_utc"].as_str() <= row["ended_utc"].as_str(), "{mode}: {row}");
            assert!(row["held_seconds"].is_f64(), "{mode}: {row}");
        }
        assert_eq!(desk.rows(&["history", "--like", "nobody's%"]).len(), 0, "{mode}");
        assert_eq!(desk.rows(&["history", "--like", &name]).len(), 3, "{mode}");
        let (shown, _) = desk.client("mysql", &format!("SHOW HISTORY LIKE '{name}'"));
        assert!(shown.contains("\treleased"), "{mode}: {shown}");
        for place in ["history", "status"] {
            eventually("it is told over HTTP", || {
                let told = json(desk.proxy.http, &format!("/api/v1/{place}"));
                let rows = if place == "status" { &told["history"] } else { &told };
                (ends(rows.as_array().expect("a list")) == expected).then_some(())
            });
        }
    }
}

fn a_lock_that_was_taken_away_says_so(server: &Server) {
    let desk = Desk::with(server, "", &["--mode", "durable"]);
    let mut holder = Session::at(desk.proxy.port);
    holder.lock("a");
    desk.rows(&["release", "a"]);
    assert_eq!(ends(&until(&desk, 1)), [("a".to_owned(), holder.id(), "revoked".to_owned())]);
}

/// With the lease, and at the end of the proxy.
fn holds_that_end_with_their_session_say_why(server: &Server) {
    let desk = Desk::with(server, "history_rows = 1000\n", &["--mode", "durable"]);
    let mut fenced = Session::at(desk.proxy.port);
    fenced.lock("fenced");
    // Another proxy has taken its locks over.
    server.root().run(&format!("UPDATE {}.proxies SET state=2", desk.proxy.schema));
    let rows = until(&desk, 1);
    assert_eq!(ends(&rows)[0], ("fenced".to_owned(), fenced.id(), "fenced".to_owned()));
    let granting = || desk.proxy.metric("lockstead_lease_good") >= 1.0;
    eventually("it grants again", || granting().then_some(()));
    let mut drained = Session::at(desk.proxy.port);
    drained.lock("drained");
    desk.proxy.signal("TERM");
    eventually("all are written", || {
        let rows = written(server, &desk);
        let ends = ["fenced", "drained"];
        let told = |end: &&str| {
            let row = |row: &&String| row.starts_with(*end) && row.ends_with(&format!(" {end}"));
            rows.iter().any(|r| row(&r))
        };
        ends.iter().all(told).then_some(())
    });
}

fn no_more_holds_are_remembered_than_the_setting_says(server: &Server) {
    let desk = Desk::with(server, "history = 2\n", &["--mode", "durable"]);
    let mut session = Session::at(desk.proxy.port);
    for name in ["a", "b", "c"] {
        session.lock(name);
        session.unlock(name);
    }
    let names: Vec<_> = ends(&until(&desk, 2)).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["c", "b"]);
    std::fs::write(desk.folder.file("settings.toml"), "history = 0\n").expect("written");
    desk.rows(&["reload"]);
    let output = desk.ask(&["history"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("set history = 4000"), "{}", text(&output));
}

/// Rows of the table, the oldest first.
fn written(server: &Server, desk: &Desk) -> Vec<String> {
    let table = format!("{}.lock_history", desk.proxy.schema);
    let columns = "name,token>0,proxy,connection_id,owner,taken_utc<=ended_utc,ended_by";
    let fields = columns.split(',').collect::<Vec<_>>().join(",' ',");
    server.root().column(&format!("SELECT CONCAT({fields}) FROM {table} ORDER BY id"))
}

fn holds_are_written_into_a_table_where_that_is_wanted(server: &Server) {
    for mode in ["coexist", "durable"] {
        let desk = Desk::with(server, "history_rows = 3\n", &["--mode", mode]);
        let old = "(name,token,proxy,connection_id,owner,taken_utc,ended_utc,ended_by) \
                   SELECT 'old',1,'p',1,'o',UTC_TIMESTAMP(),UTC_TIMESTAMP(),'released' FROM";
        let table = format!("{}.lock_history", desk.proxy.schema);
        let three = "(SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) t";
        assert_eq!(server.root().run(&format!("INSERT INTO {table} {old} {three}")).error(), None);
        let name = fresh_schema().replace("lockstead_t", "h");
        let mut session = Session::at(desk.proxy.port);
        let id = session.id();
        session.lock(&name);
        drop(session);
        let listen = format!("127.0.0.1:{}", desk.proxy.port);
        let rows = eventually("it is written, in place of the oldest", || {
            let rows = written(server, &desk);
            (rows.len() == 3 && rows[2].starts_with(&name)).then_some(rows)
        });
        assert!(rows[2].ends_with(" 1 client"), "{mode}: {rows:?}");
        assert!(rows[2].starts_with(&format!("{name} 1 {listen} {id} root@")), "{mode}: {rows:?}");
        // A hold that ends with the proxy is written, too.
        let mut last = Session::at(desk.proxy.port);
        last.lock("last");
        desk.proxy.signal("TERM");
        eventually("it is written at the proxy's end", || {
            let rows = written(server, &desk);
            rows.last().is_some_and(|row| row.starts_with("last ")).then_some(())
        });
    }
}

fn a_history_that_cannot_be_written_stops_nobody(server: &Server) {
    let desk = Desk::with(server, "history_rows = 1000\n", &[]);
    let table = format!("{}.lock_history", desk.proxy.schema);
    server.root().run(&format!("DROP TABLE {table}"));
    let mut session = Session::at(desk.proxy.port);
    session.lock("a");
    session.unlock("a");
    eventually("the log says so", || {
        let log = desk.proxy.log();
        (log.contains("the history of locks cannot be written") && log.contains("lock_history"))
            .then_some(())
    });
    session.lock("b");
    session.unlock("b");
    eventually("it is tried again", || {
        (desk.proxy.metric("lockstead_history_failures_total") > 1.5).then_some(())
    });
    let log = desk.proxy.log();
    assert_eq!(log.matches("the history of locks cannot be written").count(), 1, "{log}");
    assert!(log.contains("run `lockstead schema install`"), "{log}");
    // An installation adds the table, and what was remembered is written.
    let store = format!("{}{}", server.url, desk.proxy.schema);
    let backend = format!("127.0.0.1:{}", server.port);
    let added = run(&["schema", "install", "--backend", &backend, "--store", &store]);
    assert!(text(&added).contains("upgraded"), "{}", text(&added));
    eventually("both are written", || (written(server, &desk).len() == 2).then_some(()));
    eventually("the log says so, too", || {
        desk.proxy.log().contains("the history of locks is written again").then_some(())
    });
    assert!(desk.proxy.metric("lockstead_history_lost_total") < 0.5);
}

fn a_history_that_the_account_may_not_write_is_reported(server: &Server) {
    let schema = fresh_schema();
    drop(Proxy::start_on(&server.url, &schema, &[]));
    let name = schema.replace("lockstead_t", "a");
    let mut root = server.root();
    root.run(&format!("CREATE USER {name}@'%' IDENTIFIED BY 'pw'"));
    for table in root.column(&format!("SHOW TABLES FROM {schema}")) {
        let writes = if table == "lock_history" { "" } else { ", INSERT, UPDATE, DELETE" };
        root.run(&format!("GRANT SELECT{writes} ON {schema}.{table} TO {name}@'%'"));
    }
    server.warm_up(&name, "pw");
    let url = server.url.replace("root:rootpw@", &format!("{name}:pw@"));
    let proxy = Proxy::start_on(&url, &schema, &["--history-rows", "1000", "--lease", "2s"]);
    let mut session = Session::at(proxy.port);
    // The store account cannot see whether other proxies are gone, so the proxy waits a lease.
    assert_eq!(session.value("SELECT GET_LOCK('a',600)").as_deref(), Some("1"));
    session.unlock("a");
    eventually("the log says what is missing", || {
        let log = proxy.log();
        (log.contains("1142") && log.contains("GRANT SELECT, INSERT and DELETE")).then_some(())
    });
    session.lock("b");
    assert!(proxy.metric("lockstead_history_failures_total") > 0.5);
    root.run(&format!("DROP USER {name}@'%'"));
}
