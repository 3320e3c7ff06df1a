//! Shapes of statements with lock calls, counted where that is asked for.

use serde_json::Value;

use crate::admin::Desk;
use crate::cli::text;
use crate::script::Server;
use crate::session::Session;
use crate::stage::on_both;
use crate::wire::{Execute, Param};

on_both! {
    statements_with_lock_calls_are_counted_by_shape
    shapes_beyond_the_setting_are_counted_together
    digests_are_off_until_they_are_asked_for
}

/// Statement, calls, and those that were answered 1, 0, NULL; statements that are not covered.
fn counted(row: &Value) -> (Option<&str>, [u64; 5]) {
    let counts = ["calls", "one", "zero", "null", "not_covered"];
    (row["statement"].as_str(), counts.map(|column| row[column].as_u64().expect("a number")))
}

fn statements_with_lock_calls_are_counted_by_shape(server: &Server) {
    let desk = Desk::with(server, "digests = 10\n", &[]);
    let mut session = Session::at(desk.proxy.port);
    let mut other = Session::at(desk.proxy.port);
    session.lock("a");
    session.lock("b");
    assert_eq!(other.value("SELECT GET_LOCK('a', 0) /* tulip */").as_deref(), Some("0"));
    assert_eq!(other.value("SELECT GET_LOCK('a', 1e0)").as_deref(), Some("0"));
    assert_eq!(other.value("SELECT 'x', 1 + GET_LOCK('c', 0)").as_deref(), Some("x"));
    let id = session.client.prepare(b"SELECT RELEASE_LOCK(?)").packets[0].payload[1..5].to_vec();
    let id = u32::from_le_bytes(id.try_into().expect("four bytes"));
    for name in ["b", "nobody has it"] {
        let params = vec![Param::Text(name.into())];
        let execute = Execute { params, ..Execute::default() };
        assert_eq!(session.client.execute(id, &execute).error(), None);
    }
    assert_eq!(session.run("SET @s = 'DO RELEASE_LOCK(\\'a\\')'").error(), None);
    assert_eq!(session.run("PREPARE s FROM @s").error(), None);
    assert_eq!(session.run("EXECUTE s").error(), None);
    session.send("SELECT IF(RAND(), GET_LOCK('d', 0), 0)");
    session.client.read_response(crate::wire::Shape::Query);
    session.value("SELECT 1");
    let rows = desk.rows(&["digests"]);
    let mut all: Vec<_> = rows.iter().map(counted).collect();
    // The longest comes first: it has waited.
    assert_eq!(all[0], (Some("SELECT GET_LOCK(?, ?)"), [4, 2, 2, 0, 0]));
    assert!(rows[0]["longest_seconds"].as_f64() >= Some(1.0), "{rows:?}");
    assert!(rows[0]["total_seconds"].as_f64() >= rows[0]["longest_seconds"].as_f64());
    all.sort_unstable();
    assert_eq!(
        all,
        [
            (Some("DO RELEASE_LOCK(?)"), [1, 1, 0, 0, 0]),
            (Some("SELECT ?, ? + GET_LOCK(?, ?)"), [1, 1, 0, 0, 0]),
            (Some("SELECT GET_LOCK(?, ?)"), [4, 2, 2, 0, 0]),
            (Some("SELECT IF(RAND(), GET_LOCK(?, ?), ?)"), [0, 0, 0, 0, 1]),
            (Some("SELECT RELEASE_LOCK(?)"), [2, 1, 0, 1, 0]),
        ]
    );
    // The servers' own clients, and the page's JSON, have the same.
    let (said, complaint) = desk.client("mysql", "SHOW DIGESTS");
    assert!(said.contains("SELECT GET_LOCK(?, ?)\t4\t2\t2\t0\t0\t"), "{said}{complaint}");
    assert!(desk.proxy.page("/api/v1/digests").contains("\"DO RELEASE_LOCK(?)\""));
}

fn shapes_beyond_the_setting_are_counted_together(server: &Server) {
    let desk = Desk::with(server, "digests = 1\n", &[]);
    let mut session = Session::at(desk.proxy.port);
    session.lock("a");
    session.unlock("a");
    assert!(session.is_free("a"));
    let rows = desk.rows(&["digests"]);
    let all: Vec<_> = rows.iter().map(counted).collect();
    assert_eq!(all, [(Some("SELECT GET_LOCK(?, ?)"), [1, 1, 0, 0, 0]), (None, [2, 2, 0, 0, 0])]);
}

fn digests_are_off_until_they_are_asked_for(server: &Server) {
    let desk = Desk::with(server, "", &[]);
    let mut before = Session::at(desk.proxy.port);
    before.lock("a");
    let output = desk.ask(&["digests"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("digests are off: set digests = 200"), "{}", text(&output));
    std::fs::write(desk.folder.file("settings.toml"), "digests = 5\n").expect("written");
    desk.rows(&["reload"]);
    let mut later = Session::at(desk.proxy.port);
    later.lock("b");
    assert_eq!(counted(&desk.rows(&["digests"])[0]).1, [1, 1, 0, 0, 0]);
}
