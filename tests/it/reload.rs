//! Settings that are read again while the proxy runs.

use crate::admin::Desk;
use crate::cli::text;
use crate::script::Server;
use crate::session::{Session, account};
use crate::stage::{eventually, on_both};
use crate::wire::{Client, Shape};

on_both! {
    new_sessions_have_the_settings_that_were_read_again
    a_wrong_setting_is_refused_and_all_stay
    settings_that_need_a_restart_are_named_and_stay
    a_signal_reads_the_settings_again
    logs_are_let_through_by_the_level_that_was_read_again
}

impl Desk {
    fn write(&self, settings: &str) {
        std::fs::write(self.folder.file("settings.toml"), settings).expect("written");
    }

    /// What RELOAD says, as `what: result`.
    fn reload(&self) -> Vec<String> {
        let rows = self.rows(&["reload"]);
        let text = |row: &serde_json::Value, key: &str| row[key].as_str().expect("text").to_owned();
        rows.iter().map(|row| format!("{}: {}", text(row, "what"), text(row, "result"))).collect()
    }

    /// What the proxy says to a client that it has no room for.
    fn has_room(&self) -> bool {
        let client = Client::connect("127.0.0.1", self.proxy.port, &account());
        client.is_ok_and(|client| client.login.succeeded())
    }
}

const UNCHANGED: [&str; 2] = ["configuration: unchanged", "certificates: read again"];

fn new_sessions_have_the_settings_that_were_read_again(server: &Server) {
    let desk = Desk::with(server, "max_connections = 50\n", &[]);
    let mut open = Session::at(desk.proxy.port);
    open.lock("kept");
    assert_eq!(desk.reload(), UNCHANGED);
    desk.write("max_connections = 1\nunsupported = 'native'\ndrain_timeout = '7s'\n");
    assert_eq!(
        desk.reload(),
        [
            "unsupported: native, was refuse",
            "max_connections: 1, was 50",
            "drain_timeout: 7s, was 30s",
            "certificates: read again",
        ]
    );
    assert_eq!(desk.reload(), UNCHANGED);
    // Each statement is of its session's settings.
    let beside = "SELECT RAND() < 2 AND GET_LOCK('a', 0)";
    assert!(!desk.has_room(), "the limit is not in force");
    open.send(beside);
    let refused = open.client.read_response(Shape::Query).error();
    assert_eq!(refused, Some(1235), "the session's own settings");
    desk.write("max_connections = 3\nunsupported = 'native'\n");
    desk.reload();
    assert!(desk.has_room());
    let mut new = Session::at(desk.proxy.port);
    assert_eq!(new.value(beside).as_deref(), Some("1"));
    assert!(!new.is_free("kept"), "the lock of a session that was there");
    let config = desk.rows(&["sessions"]);
    assert!(config.iter().any(|row| row["locks"] == 1), "{config:?}");
}

fn a_wrong_setting_is_refused_and_all_stay(server: &Server) {
    let desk = Desk::with(server, "", &[]);
    let _open = Session::at(desk.proxy.port);
    for (wrong, says) in [
        ("lease = 'never'", "settings.toml:2: `lease`"),
        ("log_level = 'lockstead=loud'", "`log_level`"),
        ("log_level = 'inof'", "is no level"),
        ("login_timeout = '0s'", "100ms to 1h"),
        ("tls_cert = '/nowhere'\ntls_key = '/nowhere'", "/nowhere"),
        ("what = 1", "settings.toml:2: `what`"),
    ] {
        desk.write(&format!("max_connections = 1\n{wrong}\n"));
        let answer = desk.ask(&["reload"]);
        let said = text(&answer);
        assert_eq!(answer.status.code(), Some(1), "{said}");
        assert!(said.contains("nothing was changed") && said.contains(says), "{said}");
        assert!(desk.has_room(), "a part of it is in force: {wrong}");
    }
    desk.write("max_connections = 1\n");
    desk.reload();
    assert!(!desk.has_room());
}

fn settings_that_need_a_restart_are_named_and_stay(server: &Server) {
    let desk = Desk::with(server, "lease = '10s'\n", &[]);
    desk.write("lease = '20s'\nlog_format = 'json'\nlogin_timeout = '3s'\n");
    let said = [
        "lease: 20s needs a restart, 10s stays",
        "login_timeout: 3s, was 10s",
        "log_format: json needs a restart, text stays",
        "certificates: read again",
    ];
    assert_eq!(desk.reload(), said);
    // Settings that need a restart are named again.
    let again = desk.reload();
    assert_eq!(again, [said[0], said[2], said[3]]);
    assert_eq!(desk.rows(&["lease"])[0]["lease_seconds"].as_f64(), Some(10.0));
    desk.write("lease = '10s'\nlogin_timeout = '3s'\n");
    assert_eq!(desk.reload(), UNCHANGED);
    // Flags override the file.
    desk.write("workers = 4\n");
    assert!(!desk.reload().iter().any(|row| row.starts_with("workers")));
}

fn a_signal_reads_the_settings_again(server: &Server) {
    let desk = Desk::with(server, "max_connections = 10000\n", &[]);
    let _open = Session::at(desk.proxy.port);
    desk.write("max_connections = 1\nlease = '11s'\n");
    desk.proxy.signal("HUP");
    eventually("the limit is in force", || (!desk.has_room()).then_some(()));
    for said in ["max_connections: 1, was 10000", "lease: 11s needs a restart, 30s stays"] {
        eventually(said, || desk.proxy.log().contains(said).then_some(()));
    }
    desk.write("max_connections = 4294967295\n");
    desk.proxy.signal("HUP");
    eventually("the refusal is logged", || {
        desk.proxy.log().contains("`max_connections`: 4294967295 is outside").then_some(())
    });
}

fn logs_are_let_through_by_the_level_that_was_read_again(server: &Server) {
    for format in ["text", "json"] {
        let desk = Desk::with(server, "log_level = 'info'\n", &["--log-format", format]);
        desk.write("log_level = 'error'\n");
        desk.reload();
        desk.write("log_level = 'lockstead=info'\n");
        desk.reload();
        desk.ask(&["drain"]);
        eventually("the audit is logged", || desk.proxy.log().contains("\"DRAIN\"").then_some(()));
        let log = desk.proxy.log();
        assert_eq!(log.matches("\"RELOAD\"").count(), 1, "{log}");
    }
}
