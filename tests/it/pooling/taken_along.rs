//! Warnings and errors that a session takes along when another one needs its connection.

use super::ground::Ground;
use crate::own_server::flavour_of;
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::on_both;
use crate::wire::render;

on_both! {
    warnings_are_taken_along_by_a_client_that_does_not_ask_for_them_soon
    warnings_end_with_the_statement_that_clears_them
    a_session_with_many_warnings_keeps_its_connection
}

/// Statements that leave something to ask for.
const LEAVING: [&str; 4] = [
    "SELECT 1 / 0, 2 / 0",
    "INSERT INTO t VALUES (1)",
    "SELECT nosuch",
    "DROP TABLE IF EXISTS nosuch1, nosuch2",
];

/// Texts that ask for it.
const ASKING: [&str; 7] = [
    "SHOW WARNINGS",
    "SHOW ERRORS",
    "SHOW COUNT(*) WARNINGS",
    "/* driver */ show count(*) errors;",
    "SHOW WARNINGS",
    "SELECT ROW_COUNT(), FOUND_ROWS()",
    "SHOW WARNINGS",
];
/// The question for the counts of warnings and errors on MariaDB.
const VARIABLES: &str = "SELECT @@warning_count, @@error_count AS e";

/// A session with the only connection, another one that needs it, and one at the server itself.
fn three(server: &Server) -> (Ground, [Session; 3]) {
    let ground = Ground::new(server, 1, &["--pool-wait", "3s"]);
    ground.create_table("t (id INT PRIMARY KEY)");
    let sessions = [
        ground.session(),
        ground.session(),
        Session::of(ground.server().port, &ground.tenant.account),
    ];
    ground.until_none_is_surplus();
    (ground, sessions)
}

/// What a text is answered, all of it.
fn said(session: &mut Session, text: &str) -> String {
    let response = session.client.query(text.as_bytes());
    let packets = response.packets.iter().map(|packet| format!("{:02x?}", packet.payload));
    format!("{text}: {}\n{}", render::summary(&response), packets.collect::<Vec<_>>().join("\n"))
}

fn warnings_are_taken_along_by_a_client_that_does_not_ask_for_them_soon(server: &Server) {
    let (ground, [mut session, mut other, mut direct]) = three(server);
    direct.run("INSERT INTO t VALUES (1)");
    for leaving in LEAVING {
        assert_eq!(said(&mut session, leaving), said(&mut direct, leaving));
        ground.until_pinned_by(&["diagnostics"]);
        other.run("SELECT 1 / 0 UNION SELECT 1 / 0");
        let variables = (flavour_of(server) == Flavour::MariaDb).then_some(VARIABLES);
        for asking in variables.into_iter().chain(ASKING) {
            assert_eq!(said(&mut session, asking), said(&mut direct, asking), "after {leaving}");
        }
        other.run("SELECT 1");
    }
}

fn warnings_end_with_the_statement_that_clears_them(server: &Server) {
    let (ground, [mut session, mut other, mut direct]) = three(server);
    for procedure in ["calls() UPDATE t SET id = 2", "selects() SELECT id FROM t"] {
        direct.run(&format!("CREATE PROCEDURE {procedure}"));
    }
    let clearing =
        ["SELECT 1", "SELECT id FROM t", "BEGIN", "SELECT 3 / 0", "CALL calls()", "CALL selects()"];
    for clears in clearing {
        said(&mut session, "SELECT 1 / 0, 2 / 0");
        said(&mut direct, "SELECT 1 / 0, 2 / 0");
        ground.until_pinned_by(&["diagnostics"]);
        other.run("DO 1");
        for text in [clears, "SHOW WARNINGS", "SHOW COUNT(*) WARNINGS", "COMMIT"] {
            assert_eq!(said(&mut session, text), said(&mut direct, text), "after {clears}");
        }
        session.client.reset_connection();
        direct.client.reset_connection();
    }
}

fn a_session_with_many_warnings_keeps_its_connection(server: &Server) {
    let (ground, [mut session, mut other, mut direct]) = three(server);
    let many = format!("SELECT {}", vec!["1 / 0"; 65].join(", "));
    assert_eq!(said(&mut session, &many), said(&mut direct, &many));
    let refused = render::summary(&other.client.query(b"DO 1"));
    assert!(refused.starts_with("ERR 1040/08004"), "{refused}");
    ground.until_pinned_by(&["diagnostics"]);
    assert_eq!(said(&mut session, "SHOW WARNINGS"), said(&mut direct, "SHOW WARNINGS"));
    session.run("SELECT id FROM t");
    other.run("DO 1");
}
