//! What ties a session to its shared connection for a while only.

use super::ground::Ground;
use crate::script::Server;
use crate::stage::on_both;

on_both! {
    found_rows_are_taken_along_after_the_next_statement
}

fn found_rows_are_taken_along_after_the_next_statement(server: &Server) {
    let ground = Ground::new(server, 1, &[]);
    ground.create_table("n (id INT)");
    let (mut session, mut other) = (ground.session(), ground.session());
    ground.until_none_is_surplus();
    session.run("INSERT INTO n VALUES (1), (2), (3), (4), (5)");
    session.run("SELECT SQL_CALC_FOUND_ROWS id FROM n LIMIT 2");
    assert!(ground.pins().iter().any(|pin| pin.contains("found_rows")), "the next one may ask");
    session.run("SET @x = 1");
    ground.until_pinned_by(&[]);
    other.run("SELECT 1 UNION SELECT 2");
    assert_eq!(session.value("SELECT FOUND_ROWS()").as_deref(), Some("5"));
    session.run("SET @x = 1");
    ground.until_pinned_by(&[]);
    other.run("DO 1");
    assert_eq!(session.value("SELECT FOUND_ROWS()").as_deref(), Some("1"));
}
