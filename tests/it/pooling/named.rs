//! Statements that a session with shared connections prepares in SQL.

use super::ground::Ground;
use crate::script::Server;
use crate::session::Session;
use crate::stage::on_both;

on_both! {
    a_statement_prepared_in_sql_keeps_the_connection_until_it_is_deallocated
    an_execution_in_sql_counts_as_the_text_that_it_executes
}

fn a_statement_prepared_in_sql_keeps_the_connection_until_it_is_deallocated(server: &Server) {
    let ground = Ground::new(server, 1, &[]);
    let (mut session, mut other) = (ground.session(), ground.session());
    ground.until_none_is_surplus();
    session.run("SET @text = 'SELECT 2'");
    session.run("PREPARE s FROM 'SELECT ? + 1'");
    session.run("PREPARE t FROM @text");
    ground.until_pinned_by(&["sql_prepare"]);
    session.run("SET @a = 4");
    assert_eq!(session.value("EXECUTE s USING @a").as_deref(), Some("5"));
    ground.until_pinned_by(&["sql_prepare"]);
    session.run("DEALLOCATE PREPARE t");
    ground.until_pinned_by(&["sql_prepare"]);
    session.run("DROP PREPARE s");
    ground.until_pinned_by(&[]);
    other.run("DO 1");
    assert_eq!(session.value("SELECT @a").as_deref(), Some("4"));
}

fn an_execution_in_sql_counts_as_the_text_that_it_executes(server: &Server) {
    let ground = Ground::new(server, 1, &[]);
    let (mut session, mut other) = (ground.session(), ground.session());
    ground.until_none_is_surplus();
    let run = |session: &mut Session, text: &str| {
        session.run(&format!("PREPARE s FROM '{text}'"));
        session.run("EXECUTE s");
        session.run("DEALLOCATE PREPARE s");
    };
    run(&mut session, "SELECT 7 INTO @x");
    ground.until_pinned_by(&[]);
    other.run("SET @x = 1");
    assert_eq!(session.value("SELECT @x").as_deref(), Some("7"));
    run(&mut session, "CREATE TEMPORARY TABLE x SELECT 1");
    ground.until_pinned_by(&["temp_table"]);
    session.client.reset_connection();
    // A text that is computed is not known.
    session.run("SET @text = 'SELECT 2'");
    session.run("PREPARE s FROM @text");
    session.run("EXECUTE s");
    session.run("DEALLOCATE PREPARE s");
    ground.until_pinned_by(&["routine"]);
}
