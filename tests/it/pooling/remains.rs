//! What a session leaves on its connection changes nothing for the next one, which gets what differs.

use super::ground::Ground;
use crate::own_server::flavour_of;
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{Database, on_both};
use crate::wire::Kind;
use crate::wire::capability::DEPRECATE_EOF;
use crate::wire::library::{LIBRARIES, OWN};

on_both! {
    variables_of_a_session_are_as_after_a_login_for_the_next
    a_session_in_a_wide_collation_changes_no_texts_of_the_next
    a_schema_has_its_character_set_after_a_move
    values_that_replace_those_of_the_schema_stay_set
    a_connection_is_reset_where_the_next_session_may_not_set_back
    warnings_outlive_a_move_and_another_character_set
    bytes_that_no_literal_has_keep_their_session
    a_variable_of_two_names_is_one
    a_setting_for_one_transaction_is_used_up_by_it
    a_setting_for_one_transaction_stays_its_session_s
    a_number_of_rows_outlives_a_move_beside_warnings
}

/// Two sessions of one account over one connection.
fn two(server: &Server) -> (Ground, [Session; 2]) {
    let ground = Ground::new(server, 1, &[]);
    let sessions = [ground.session(), ground.session()];
    ground.until_none_is_surplus();
    (ground, sessions)
}

/// MySQL takes DEFAULT for the opposite of these variables' default.
fn variables_of_a_session_are_as_after_a_login_for_the_next(server: &Server) {
    let (ground, [mut one, mut other]) = two(server);
    let asked = "SELECT @@foreign_key_checks, @@unique_checks, @@sql_safe_updates, @@sql_notes, @@autocommit";
    let values = |session: &mut Session| {
        let row = format!("SELECT CONCAT_WS(' ', {})", asked.trim_start_matches("SELECT "));
        session.value(&row).expect("a row")
    };
    let login = values(&mut other);
    for variables in [
        "foreign_key_checks",
        "unique_checks",
        "sql_notes",
        "foreign_key_checks = 0, unique_checks",
    ] {
        one.run(&format!("SET {variables} = 0"));
        assert_eq!(values(&mut other), login, "{variables}");
        one.run(&format!("SET {variables} = 1"));
        assert_eq!(values(&mut other), login, "{variables}");
    }
    one.run("SET foreign_key_checks = 0");
    other.run("DO 1");
    assert_eq!(one.value("SELECT @@foreign_key_checks").as_deref(), Some("0"));
    let moved = ground.proxy.metric("lockstead_pool_moves_total{sent=\"delta\"}");
    assert!(moved > 10.0, "{moved}");
}

/// Servers know no language by a text in one.
fn a_session_in_a_wide_collation_changes_no_texts_of_the_next(server: &Server) {
    let (_ground, [mut one, mut other]) = two(server);
    other.run(
        "SET lc_time_names = 'de_AT', time_zone = '+05:00', sql_mode = 'ANSI_QUOTES', @a = 'text'",
    );
    for collation in ["utf16_bin", "ucs2_general_ci", "utf32_bin", "utf8mb4_bin"] {
        one.run(&format!("SET collation_connection = {collation}"));
        let row =
            other.value("SELECT CONCAT_WS(' ', @@lc_time_names, @@time_zone, @@sql_mode, @a)");
        assert_eq!(row.as_deref(), Some("de_AT +05:00 ANSI_QUOTES text"), "{collation}");
    }
}

/// A reset leaves the schema selected, and not the variables that go with it.
fn a_schema_has_its_character_set_after_a_move(server: &Server) {
    let (ground, [mut one, mut other]) = two(server);
    let schema = Database::create(ground.server());
    let mut root = ground.server().root();
    root.run(&format!("ALTER DATABASE {} CHARACTER SET cp1250", schema.name));
    root.run(&format!("GRANT ALL ON {}.* TO {}", schema.name, ground.tenant.name));
    for session in [&mut one, &mut other] {
        session.run(&format!("USE {}", schema.name));
    }
    for leaving in ["DO 1", "SET @only_here = 1", "SET sql_mode = ''"] {
        other.run(leaving);
        assert_eq!(
            one.value("SELECT @@character_set_database").as_deref(),
            Some("cp1250"),
            "{leaving}"
        );
        other.client.prepare(b"SELECT 1");
        assert_eq!(
            one.value("SELECT @@collation_database").as_deref(),
            Some("cp1250_general_ci"),
            "{leaving}"
        );
    }
}

/// To select a schema sets these variables to its own.
fn values_that_replace_those_of_the_schema_stay_set(server: &Server) {
    let (ground, [mut one, mut other]) = two(server);
    let schemas = [0, 1].map(|_| Database::create(ground.server()));
    let mut root = ground.server().root();
    for (session, schema) in [&mut one, &mut other].into_iter().zip(&schemas) {
        root.run(&format!("GRANT ALL ON {}.* TO {}", schema.name, ground.tenant.name));
        session.run(&format!("USE {}", schema.name));
    }
    for session in [&mut one, &mut other] {
        session.run("SET collation_database = 'latin1_bin'");
    }
    let asked = "SELECT @@collation_database";
    for _ in 0..2 {
        for session in [&mut one, &mut other] {
            assert_eq!(session.value(asked).as_deref(), Some("latin1_bin"));
        }
    }
    one.run(&format!("USE {}", schemas[1].name));
    let own = one.value(asked);
    assert_ne!(own.as_deref(), Some("latin1_bin"));
    other.run("DO 1");
    assert_eq!(one.value(asked), own, "the schema's own");
}

/// MySQL lets every session demand row events, and few have the right to end that.
fn a_connection_is_reset_where_the_next_session_may_not_set_back(server: &Server) {
    if flavour_of(server) == Flavour::MariaDb {
        return;
    }
    let (ground, [mut one, mut other]) = two(server);
    let asked = "SELECT @@require_row_format";
    for _ in 0..2 {
        one.run("SET SESSION require_row_format = ON");
        assert_eq!(other.value(asked).as_deref(), Some("0"));
        assert_eq!(one.value(asked).as_deref(), Some("1"));
    }
    let resets = ground.proxy.metric("lockstead_pool_moves_total{sent=\"reset\"}");
    assert!(resets >= 2.0, "{resets}");
}

/// MariaDB keeps them through statements that use no table.
fn warnings_outlive_a_move_and_another_character_set(server: &Server) {
    let (ground, [mut one, mut other]) = two(server);
    let mut native = Session::of(ground.server().port, &ground.tenant.account);
    for (nth, charset) in ["latin1", "cp1251", "utf8mb4", "utf8mb4"].into_iter().enumerate() {
        let mut said = Vec::new();
        let wrong =
            ["SET lc_time_names = 'xx_XX'", "SELECT @@sql_mode, \"x\", 'a' || 'b', 'a\\'"][nth % 2];
        for session in [&mut one, &mut native] {
            session.client.query(wrong.as_bytes());
            other.run("SET @from = 1");
            session.run(&format!("SET NAMES {charset}"));
            other.run("SET @from = 2");
            session.run("DO LAST_INSERT_ID(44)");
            other.run("SET @from = 3");
            let list = session.client.query(b"SHOW WARNINGS").packets;
            let rows = list.iter().filter(|p| p.kind == Kind::TextRow);
            said.push((
                session.value("SHOW COUNT(*) WARNINGS"),
                rows.map(|p| p.payload.clone()).collect::<Vec<_>>(),
            ));
        }
        assert_eq!(said[0], said[1], "{charset}");
    }
}

/// MariaDB gives a variable another character set when it prepares a statement that assigns to it.
fn bytes_that_no_literal_has_keep_their_session(server: &Server) {
    let ground = Ground::new(server, 2, &[]);
    let mut sessions = [(); 3].map(|()| ground.session());
    ground.until_none_is_surplus();
    let mut native = Session::of(ground.server().port, &ground.tenant.account);
    for session in [&mut sessions[0], &mut native] {
        session.run("SET NAMES utf8mb4");
        session.run("SET @f = _binary x'c49d1d455f68aa11'");
        session.client.prepare(b"SET @f = CONCAT(?, 1)");
    }
    for n in 0..4 {
        for session in &mut sessions[1..] {
            session.run(&format!("SET @a = {n}"));
        }
        let asked = "SELECT CONCAT_WS(' ', HEX(@f), CHARSET(@f))";
        assert_eq!(sessions[0].value(asked), native.value(asked));
    }
}

/// MariaDB has such variables, and variables that are parts of others. On MySQL few accounts may set its only two names of one.
fn a_variable_of_two_names_is_one(server: &Server) {
    let pairs = match flavour_of(server) {
        Flavour::MySql => &[][..],
        Flavour::MariaDb => &[
            ("max_delayed_threads", "max_insert_delayed_threads", "0"),
            ("min_examined_row_limit", "log_slow_min_examined_row_limit", "7"),
            ("slow_query_log", "log_slow_query", "1"),
            ("tmp_table_size", "tmp_memory_table_size", "20480"),
            ("log_queries_not_using_indexes", "log_slow_filter", "1"),
        ],
    };
    let (ground, [mut one, mut other]) = two(server);
    let mut native = Session::of(ground.server().port, &ground.tenant.account);
    for (first, second, value) in pairs {
        let asked = format!("SELECT CONCAT_WS(' ', @@{first}, @@{second})");
        let login = native.value(&asked);
        one.run(&format!("SET {second} = DEFAULT, {first} = {value}"));
        assert_eq!(other.value(&asked), login, "{first}");
        for session in [&mut other, &mut native] {
            session.run(&format!("SET {second} = DEFAULT"));
            session.run(&format!("SET {first} = {value}"));
        }
        one.run("DO 1");
        assert_eq!(other.value(&asked), native.value(&asked), "{first}");
        for session in [&mut one, &mut other, &mut native] {
            session.run(&format!("SET {first} = DEFAULT, {second} = DEFAULT"));
        }
    }
    for session in [&mut one, &mut native] {
        session.run("SET @a = CONVERT(NULL USING latin1) COLLATE latin1_german2_ci");
    }
    other.run("DO 1");
    assert_eq!(one.value("SELECT COLLATION(@a)"), native.value("SELECT COLLATION(@a)"));
}

/// However the transaction ends.
fn a_setting_for_one_transaction_is_used_up_by_it(server: &Server) {
    let (ground, [_, mut other]) = two(server);
    let schema = Database::create(ground.server());
    let mut root = ground.server().root();
    root.run(&format!("GRANT ALL ON {}.* TO {}", schema.name, ground.tenant.name));
    let mut account = ground.tenant.account.clone();
    // Reports come late after rows.
    account.capabilities &= !DEPRECATE_EOF;
    let mut one = Session::of(ground.proxy.port, &account);
    let mut native = Session::of(ground.server().port, &account);
    native.run(&format!("CREATE TABLE {}.t (v INT)", schema.name));
    let insert = format!("INSERT INTO {}.t VALUES (1)", schema.name);
    for (begins, ends) in [
        ("BEGIN", "COMMIT"),
        ("BEGIN", "ROLLBACK"),
        ("BEGIN", "SET autocommit = 1"),
        ("BEGIN", "BEGIN"),
        ("BEGIN", "DO 1"),
        ("DO 1", "SET autocommit = 1"),
        ("SELECT 1", "COMMIT"),
    ] {
        let mut said = Vec::new();
        for session in [&mut one, &mut native] {
            session.run("SET autocommit = 0");
            session.run("SET TRANSACTION READ ONLY");
            session.run(begins);
            session.run("SELECT 1");
            session.run("SELECT LAST_INSERT_ID()");
            session.run("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE");
            session.run(ends);
            session.run("SET autocommit = 1");
            session.run(&format!("SELECT COUNT(*) FROM {}.t", schema.name));
            for _ in 0..3 {
                other.run("DO 1");
                said.push(session.client.query(insert.as_bytes()).error());
            }
        }
        assert_eq!(said[..3], said[3..], "{begins}, {ends}");
    }
}

/// Of a client that hears EOF packets MariaDB does not tell when such a setting is used up: statements on tables of engines
/// without transactions do not.
fn a_setting_for_one_transaction_stays_its_session_s(server: &Server) {
    let ground = Ground::new(server, 1, &[]);
    let schema = Database::create(ground.server());
    let mut root = ground.server().root();
    root.run(&format!("GRANT ALL ON {}.* TO {}", schema.name, ground.tenant.name));
    let mut account = ground.tenant.account.clone();
    account.capabilities &= !DEPRECATE_EOF;
    let mut native = Session::of(ground.server().port, &account);
    native.run(&format!("CREATE TABLE {}.t (v INT)", schema.name));
    native.run(&format!("CREATE TABLE {}.plain (v INT) ENGINE = MyISAM", schema.name));
    let insert = format!("INSERT INTO {}.t VALUES (1)", schema.name);
    let plain = format!("SELECT * FROM {}.plain", schema.name);
    for (statement, told) in [
        ("SHOW VARIABLES LIKE 'port'", true),
        (&format!("DESC {}.t", schema.name), true),
        (&plain, false),
        ("SELECT SUBSTRING('abc' FROM 2)", false),
        ("SELECT * FROM (SELECT 1) d", false),
    ] {
        let [mut one, mut other] = [(); 2].map(|()| Session::of(ground.proxy.port, &account));
        for session in [&mut one, &mut native] {
            session.run("SET TRANSACTION READ ONLY");
            session.run(statement);
        }
        for _ in 0..2 {
            let error = other.client.query(insert.as_bytes()).error();
            assert!(error.is_none(), "{statement}: {error:?}");
        }
        let said = [&mut one, &mut native].map(|s| s.client.query(insert.as_bytes()).error());
        assert!(!told || said[0] == said[1], "{statement}: {said:?}");
        native.run("BEGIN");
        native.run("COMMIT");
    }
}

/// MySQL warns of each such SELECT. Of a client that hears EOF packets the server tells some state late, and its warnings
/// again.
fn a_number_of_rows_outlives_a_move_beside_warnings(server: &Server) {
    let ground = Ground::new(server, 1, &[]);
    let by = |name: &str| LIBRARIES.iter().find(|library| library.name == name);
    for library in [Some(&OWN), by("mysqlnd"), by("mysql2"), by("libmariadb")] {
        let library = library.expect("a library");
        let account = ground.tenant.account.clone().by(library, flavour_of(server));
        let [mut one, mut other] = [(); 2].map(|()| Session::of(ground.proxy.port, &account));
        one.run("SELECT SQL_CALC_FOUND_ROWS 1 + 'a' UNION SELECT 2 UNION SELECT 3 LIMIT 1");
        // Has the connection when the client has asked for nothing for a while.
        other.run("DO 1");
        let found = one.value("SELECT FOUND_ROWS()");
        assert_eq!(found.as_deref(), Some("3"), "{}", library.name);
    }
}
