//! No form of a statement reaches the server's own lock functions unseen.

use crate::own_server::flavour_of;
use crate::proxy::{Proxy, fresh_schema};
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{Database, on_both};
use crate::wire::Shape;

on_both! {
    no_form_takes_the_server_s_own_lock
    a_backtick_that_may_be_a_letter_hides_no_call_in_a_long_text
}

/// Statements whose calls the server evaluates at once, each after what prepares it. The same with
/// `{fn}` for the call.
const BOTH: [&[&str]; 12] = [
    &["ALTER EVENT e ON SCHEDULE EVERY {call}+1 DAY"],
    &["ALTER EVENT e ON SCHEDULE EVERY 1 DAY ENDS NOW() + INTERVAL {call}+1 DAY"],
    &["CREATE EVENT f ON SCHEDULE AT NOW() + INTERVAL 1+{call} DAY DO SELECT 1"],
    &["CREATE EVENT f ON SCHEDULE EVERY {call}+1 DAY DO SELECT 1"],
    &["KILL {call}"],
    &["PURGE BINARY LOGS BEFORE '2001-01-01' + INTERVAL {call} DAY"],
    &["CREATE TABLE r AS SELECT {call} AS v"],
    &["SET NAMES swe7", "SELECT @a`, {call}, @b`"],
    &["SET NAMES swe7", "SET @a`=1, @b={call}, @c`=2"],
    &["SELECT GET_LOCK('{name}', -1e300)"],
    &["DO GET_LOCK('{name}', -1e300+0)"],
    &["EXPLAIN SELECT * FROM (SELECT {call}) d"],
];

const MARIADB: [&[&str]; 19] = [
    &["SELECT mariadb_schema.{call}"],
    &["SELECT 1 + `mariadb_schema` . /* c */ {call}"],
    &["SELECT oracle_schema.{call}, maxdb_schema.{call}"],
    &["SELECT mariadb_schema/*!50000.{call}*/"],
    &["SELECT /*!mariadb_schema*/.{call}"],
    &["CREATE TABLE r SELECT mariadb_schema.{call} AS v"],
    &["BEGIN NOT ATOMIC SELECT mariadb_schema.{call}; END"],
    &["PREPARE s FROM 'SELECT ?'", "EXECUTE s USING mariadb_schema.{call}"],
    &["SET @t=\"SELECT mariadb_schema.{call}\"", "EXECUTE IMMEDIATE @t"],
    &["SET STATEMENT max_statement_time={call} FOR SELECT 1"],
    &["SET STATEMENT max_statement_time={call} FOR SELECT GET_LOCK('{name}2',0)"],
    &["SET STATEMENT max_statement_time={call} FOR EXECUTE IMMEDIATE 'SELECT 1'"],
    &["EXECUTE IMMEDIATE \"SET STATEMENT max_statement_time={call} FOR SELECT 1\""],
    &["CREATE TABLE r (a INT) PARTITION BY SYSTEM_TIME INTERVAL {call} DAY"],
    &["FOR i IN 1..{call} DO SELECT i; END FOR"],
    &["FOR i IN 1 . . {call} DO SELECT i; END FOR"],
    &["SET sql_mode=ORACLE", "FOR i IN 1..{call} LOOP NULL; END LOOP"],
    &["SET NAMES swe7, sql_mode=MSSQL", "SELECT 1 AS [, {call} AS ]"],
    &["SET sql_mode=ORACLE", "SELECT oracle_schema.\"GET_LOCK\"('{name}',0)"],
];

fn no_form_takes_the_server_s_own_lock(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let database = Database::create(server);
    let mut root = server.root();
    let mut forms = BOTH.to_vec();
    if flavour_of(server) == Flavour::MariaDb {
        forms.extend(MARIADB);
    }
    for form in forms {
        let name = fresh_schema();
        let mut session = Session::at(proxy.port);
        session.run(&format!("USE {}", database.name));
        root.run(&format!("DROP EVENT IF EXISTS {}.f", database.name));
        root.run(&format!(
            "CREATE EVENT IF NOT EXISTS {}.e ON SCHEDULE EVERY 1 DAY DO SELECT 1",
            database.name
        ));
        for statement in form {
            let call = format!("GET_LOCK('{name}',0)");
            session.send(&statement.replace("{call}", &call).replace("{name}", &name));
            session.client.read_response(Shape::Query);
            let holder = root.column(&format!(
                "SELECT COALESCE(IS_USED_LOCK('{name}'),IS_USED_LOCK('{name}2'),'nobody')"
            ));
            assert_eq!(holder, ["nobody"], "{statement}");
        }
    }
}

/// In the name of a variable swe7 has it for a letter, so that it begins no quotes.
fn a_backtick_that_may_be_a_letter_hides_no_call_in_a_long_text(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut session = Session::at(proxy.port);
    let name = fresh_schema();
    session.lock(&name);
    // Longer than what is held back, and read by nobody before it is sent.
    let long =
        format!("SET NAMES swe7; SELECT '{}', @a`, GET_LOCK('{name}',0), @b`", "x".repeat(70_000));
    session.send(&long);
    session.client.read_response(Shape::Query);
    let holder = server.root().column(&format!("SELECT IFNULL(IS_USED_LOCK('{name}'),'nobody')"));
    assert_eq!(holder, ["nobody"]);
}
