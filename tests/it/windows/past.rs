//! Who had a lock before: holds that are over, in every mode.

use serde_json::Value;

use super::json;
use crate::admin::Desk;
use crate::cli::text;
use crate::proxy::fresh_schema;
use crate::script::Server;
use crate::session::Session;
use crate::stage::{eventually, on_both};

on_both! {
    the_last_holders_of_a_lock_are_shown_in_every_mode
    a_lock_that_was_taken_away_says_so
    no_more_holds_are_remembered_than_the_setting_says
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
