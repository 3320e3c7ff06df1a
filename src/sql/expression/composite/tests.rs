//! Where lock calls are in larger statements.

use super::*;
use crate::sql::classify::{Statement, classify_exactly};
use crate::sql::lexer::dialect::Dialect;
const MYSQL: Dialect = Dialect::MYSQL;

fn composite(sql: &str) -> Composite {
    match classify_exactly(sql.as_bytes(), MYSQL) {
        Statement::Composite(composite) => composite,
        other => panic!("{sql}: {other:?}"),
    }
}

#[test]
fn a_call_is_certain_where_nothing_decides_about_it() {
    // A bar after each certain call.
    for sql in [
        "SELECT GET_LOCK('a',0)|, IS_FREE_LOCK('b')| AS x, 1",
        "SELECT COALESCE(GET_LOCK('a',0), GET_LOCK('b',0))",
        "SELECT COALESCE(GET_LOCK('a',0)|, 0), NULLIF(GET_LOCK('b',0), 1)",
        "SELECT CAST(GET_LOCK('a',0) AS SIGNED) + GET_LOCK('b',0), RELEASE_LOCK('a')",
        "SELECT CAST(GET_LOCK('a',0)| AS SIGNED)",
        "SELECT CAST('x' AS JSON), GET_LOCK('a',0)",
        "SELECT GET_LOCK('a',0)| = 1, GET_LOCK('a',0) ^ NULL, NULL = GET_LOCK('a',0)",
        "SELECT RELEASE_ALL_LOCKS()|, RELEASE_ALL_LOCKS() IS NULL",
        "SELECT IF(GET_LOCK('a',0), RELEASE_LOCK('a'), 0) FROM DUAL",
        "SELECT GET_LOCK('a',0) AS x, (SELECT x) + 1",
        "SELECT NOT RELEASE_LOCK('a')|, 1 + GET_LOCK('a',0)",
        "SELECT CASE WHEN GET_LOCK('a',0) THEN RELEASE_LOCK('a') END",
        "SELECT EXISTS(SELECT GET_LOCK('a',0)), (SELECT GET_LOCK('b',0))",
        "SELECT 1, SLEEP(1), GET_LOCK('a',0)",
        "SELECT EXP(1000), GET_LOCK('a',0)",
        "SELECT _gbk'a' <=> n'b', GET_LOCK('a',0)",
        "SELECT GET_LOCK('a',0) LIMIT 0",
        "SELECT GET_LOCK('a',0), 1 FETCH FIRST 0 ROWS ONLY",
        "SELECT GET_LOCK('a',0), 1 OFFSET 1 ROWS",
        "SELECT /*+ SET_VAR(sql_select_limit=0) */ GET_LOCK('a',0), 1",
        "SELECT 9223372036854775807+1, GET_LOCK('a',0)",
        "SELECT GET_LOCK('a',0)|, 9223372036854775807+1",
        "SELECT GET_LOCK('a',0) UNION SELECT 1",
        "SELECT GET_LOCK('a',0) WHERE 1=0",
        "(SELECT GET_LOCK('a',0))",
        "SELECT @x := GET_LOCK('a',0)|",
        "SELECT GET_LOCK('a',0)|, 2 INTO @x, @y",
        "SET @x = GET_LOCK('a',0)|, @y := 1 + GET_LOCK('b',0)",
        "SET @x = 0 AND 1 = GET_LOCK('a',0), @y = @z := GET_LOCK('b',0)|",
        "DO GET_LOCK('a',0)|, 0 AND GET_LOCK('b',0)",
        "SELECT {fn GET_LOCK('a',0)}|, 1",
        "SELECT {fn GET_LOCK('a',0)+1}, 1",
    ] {
        let plain = sql.replace('|', "");
        let mut marked = plain.clone();
        for call in composite(&plain).calls.iter().rev().filter(|c| c.certain) {
            marked.insert(call.span.end, '|');
        }
        assert_eq!(marked, sql);
    }
}

#[test]
fn a_call_beside_tables_is_reached_where_nothing_before_it_can_fail() {
    // A bar after each call that the server reaches, two if it is evaluated in any case.
    for sql in [
        "INSERT INTO t VALUES (GET_LOCK('a',0)||, 1 + GET_LOCK('b',0)|, GET_LOCK('c',0))",
        "INSERT INTO t (a, b) VALUES (1.5, @x, -1, ?, NULL, NOW(), 'x', x AND GET_LOCK('a',0)|)",
        "INSERT t VALUE (GET_LOCK('a',0)||), (GET_LOCK('b',0))",
        "INSERT INTO t VALUES (1+1, GET_LOCK('a',0))",
        "INSERT INTO t VALUES (f(), GET_LOCK('a',0))",
        "INSERT INTO t VALUES (NOW (), GET_LOCK('a',0))",
        "INSERT INTO t VALUES (NOW(3), UNIX_TIMESTAMP(), CURDATE(), SYSDATE(6), GET_LOCK('a',0)||)",
        "INSERT INTO t VALUES (CURRENT_TIMESTAMP, CURRENT_TIMESTAMP(6), GET_LOCK('a',0)||), (NOW(3), 1)",
        "REPLACE t SET a=UTC_TIMESTAMP(), b=GET_LOCK('a',0)||",
        "INSERT INTO t VALUES (NOW (3), GET_LOCK('a',0))",
        "INSERT INTO t VALUES (`NOW`(3), GET_LOCK('a',0))",
        "INSERT INTO t VALUES (NOW(x), GET_LOCK('a',0))",
        "INSERT INTO t VALUES (UNIX_TIMESTAMP(3), GET_LOCK('a',0))",
        "INSERT INTO t VALUES (CURDATE(3), GET_LOCK('a',0))",
        "INSERT INTO t VALUES ((SELECT v FROM u), GET_LOCK('a',0))",
        "INSERT INTO t SET a = 1, b = GET_LOCK('a',0)|| ON DUPLICATE KEY UPDATE b = GET_LOCK('b',0)",
        "REPLACE INTO t (a) SELECT IF(1, GET_LOCK('a',0), 2)|, 5",
        "INSERT INTO t SELECT GET_LOCK('a',0) AS x, (SELECT x)",
        "INSERT INTO t SELECT GET_LOCK('a',0) FROM u",
        "INSERT INTO t SELECT GET_LOCK('a',0) WHERE 0",
        "INSERT INTO t VALUES (1) RETURNING GET_LOCK('a',0)",
        "SET @a = 1, @b = GET_LOCK('a',0)||, @c = (SELECT v FROM u), @d = GET_LOCK('b',0)",
        "SET @a = 1 + 1, @b = GET_LOCK('a',0)",
        "SET @@sql_mode = 'x', @b = GET_LOCK('a',0)",
        "SET @b = 0 OR GET_LOCK('a',0)|, @@sql_mode = 'x'",
        "DO GET_LOCK('a',0)||, (SELECT v FROM t), GET_LOCK('b',0)",
        "CALL p(GET_LOCK('a',0))",
        "UPDATE t SET a = GET_LOCK('a',0)",
        "DELETE FROM t WHERE GET_LOCK('a',0)",
        "SELECT GET_LOCK('a',0), v FROM t",
        "SELECT GET_LOCK('a',0), (SELECT v FROM t)",
        "SHOW TABLES WHERE GET_LOCK('a',0)",
    ] {
        let plain = sql.replace(")|||", ")||").replace("0)||", "0)").replace("0)|", "0)");
        let plain = plain.replace("2)|", "2)");
        let mut marked = plain.clone();
        let composite = composite(&plain);
        for call in composite.calls.iter().rev() {
            let reached = call.item.as_ref().is_some_and(|item| item.reached);
            let bars = if !reached {
                ""
            } else if call.certain {
                "||"
            } else {
                "|"
            };
            let at = call.item.as_ref().filter(|_| reached && !call.certain);
            marked.insert_str(at.map_or(call.span.end, |item| item.span.end), bars);
        }
        assert_eq!(marked, sql);
    }
}

#[test]
fn tables_are_told_from_what_only_looks_like_them() {
    for (sql, tables) in [
        ("SELECT GET_LOCK('a',0) FROM t", true),
        ("SELECT 1 FROM DUAL WHERE GET_LOCK('a',0)", false),
        ("SELECT g FROM (SELECT GET_LOCK('a',0) g) d", false),
        ("SELECT g FROM (SELECT GET_LOCK('a',0) g) d, t", true),
        ("SELECT g FROM (SELECT GET_LOCK('a',0) g) d JOIN t", true),
        ("SELECT g, (SELECT MAX(x) FROM t) FROM (SELECT GET_LOCK('a',0) g) d", true),
        ("SELECT GET_LOCK(TRIM('x' FROM y),0), 1", false),
        ("WITH c AS (SELECT GET_LOCK('a',0)) SELECT * FROM c", false),
        ("WITH c (x) AS (SELECT GET_LOCK('a',0)) SELECT * FROM c JOIN `c` d", false),
        ("WITH c AS (SELECT GET_LOCK('a',0)) SELECT * FROM t", true),
        ("SELECT GET_LOCK('a',0), (TABLE t)", true),
        ("UPDATE t SET a=1 WHERE IS_USED_LOCK('a')=1", true),
        ("WITH c AS (SELECT GET_LOCK('a',0) g) UPDATE t JOIN c SET t.n=t.n+1", true),
        ("WITH c AS (SELECT GET_LOCK('a',0) g) UPDATE c, t SET t.n=t.n+1", true),
        ("WITH c AS (SELECT GET_LOCK('a',0) g) DELETE FROM t WHERE n IN (TABLE c)", true),
        ("WITH c AS (SELECT GET_LOCK('a',0) g) SELECT * FROM c FOR UPDATE", false),
        ("SELECT GET_LOCK('a',0) FROM (t)", true),
        ("SELECT GET_LOCK('a',0) FROM ((t, u))", true),
        ("SELECT GET_LOCK('a',0) FROM {oj t}", true),
        ("SELECT g FROM ((SELECT GET_LOCK('a',0) g) d)", false),
    ] {
        assert_eq!(composite(sql).tables, tables, "{sql}");
    }
}

#[test]
fn an_expression_with_effects_is_not_run_again() {
    for (sql, repeatable) in [
        ("SELECT IF(1,GET_LOCK('a',0),`GET_LOCK`('b',0))", true),
        ("SELECT 1 IN (2,3), GET_LOCK('a',0)", true),
        ("SELECT UUID(), GET_LOCK('a',0)", false),
        ("SELECT f(1), GET_LOCK('a',0)", false),
        ("SELECT `ABS`(1), GET_LOCK('a',0)", false),
        ("SELECT d.ABS(1), GET_LOCK('a',0)", false),
        ("SELECT @x := 1, GET_LOCK('a',0)", false),
        ("SELECT NEXT VALUE FOR s, GET_LOCK('a',0)", false),
        ("SELECT s.nextval, GET_LOCK('a',0)", false),
        ("SELECT now(1), GET_LOCK('a',0)", true),
        ("SELECT now (1), GET_LOCK('a',0)", false),
        ("SELECT abs (1), GET_LOCK('a',0)", true),
        ("SELECT md5(1), GET_LOCK('a',0)", false),
    ] {
        assert_eq!(composite(sql).repeatable, repeatable, "{sql}");
    }
}

#[test]
fn calls_nested_deeply_are_refused_before_they_are_read() {
    let nested = |n| format!("SELECT 1,{}1{}", "GET_LOCK(".repeat(n), ",0)".repeat(n));
    assert_eq!(composite(&nested(64)).calls.len(), 1);
    for n in [65, 5000] {
        assert_eq!(classify_exactly(nested(n).as_bytes(), MYSQL), Statement::Other, "{n}");
    }
}

#[test]
fn parts_are_where_they_stand() {
    let sql =
        "SET @a = 1, @b = IFNULL(NULL, GET_LOCK(CONCAT('x', @a), RELEASE_LOCK('y'))), @c = 2;";
    let read = composite(sql);
    let [call] = read.calls.as_slice() else { panic!("{read:?}") };
    assert_eq!(
        &sql[call.item.clone().expect("assigned").span],
        "IFNULL(NULL, GET_LOCK(CONCAT('x', @a), RELEASE_LOCK('y')))"
    );
    let [name, timeout] = call.arguments.as_slice() else { panic!("{call:?}") };
    assert_eq!(&sql[name.span.clone()], "CONCAT('x', @a)");
    assert!(name.assigned_here && !timeout.assigned_here && call.conditional);
    assert_eq!(timeout.calls.len(), 1);
    assert_eq!(&sql[..read.end], sql.trim_end_matches(';'));
    let sql = "SELECT GET_LOCK('a',0), 2 INTO @x , @`y` FROM DUAL";
    let (span, variables) = composite(sql).into.expect("INTO");
    assert_eq!((&sql[span], variables), ("INTO @x , @`y`", 2));
    for sql in ["SELECT GET_LOCK('a',0) INTO @a.b", "SELECT GET_LOCK('a',0)+1 INTO @.b"] {
        assert_eq!(classify_exactly(sql.as_bytes(), MYSQL), Statement::Other, "{sql}");
    }
}

/// Twice as long may take little more than twice the time, whatever is in the text.
#[test]
fn hostile_texts_take_no_longer_than_their_length_allows() {
    let call = "GET_LOCK('a',0)";
    let calls = format!("{call},").repeat(20);
    let shapes: [(&str, &str, &str); 9] = [
        ("SELECT 1", ",1", ""),
        ("SELECT (", "(", ""),
        ("SELECT f(1)", ",f(1)", ""),
        ("WITH c(x) AS (SELECT 1)", ",c(x) AS (SELECT 1)", " SELECT 1"),
        ("SELECT 1 FROM (SELECT 1) d", ",t", ""),
        ("SET @a=1", ",@a=@a", ""),
        ("SELECT CASE 1 WHEN 1 THEN 1 END", ",CASE 1 WHEN 1 THEN 1 END", ""),
        ("SELECT GET_LOCK('a',1", "+@a", ")"),
        ("SELECT 1 WHERE 1", " AND IF(1,1,1)", ""),
    ];
    for (start, again, end) in shapes {
        let text = |size: usize| {
            let middle = again.repeat(size / again.len());
            let closing = if again == "(" { ")".repeat(middle.len() + 1) } else { String::new() };
            let number = if again == "(" { "1" } else { "" };
            let calls = if start.starts_with("SET") || end.starts_with(" SELECT") {
                format!("{end},{call}")
            } else {
                format!("{end},{calls}1")
            };
            format!("{start}{middle}{number}{closing}{calls}")
        };
        let time = |size: usize| {
            let text = text(size);
            let started = std::time::Instant::now();
            std::hint::black_box(classify_exactly(text.as_bytes(), MYSQL));
            started.elapsed()
        };
        let best = |size: usize| (0..3).map(|_| time(size)).min().unwrap_or_default();
        let (small, large) = (best(4_000), best(32_000));
        let allowed = small * 40 + std::time::Duration::from_millis(20);
        assert!(large < allowed, "{start}: {small:?} becomes {large:?}");
    }
}
