//! Who has a connection, who waits for one, and for how long.

use std::time::Duration;

use super::ground::{Ground, until_queued};
use crate::script::Server;
use crate::session::Session;
use crate::stage::on_both;
use crate::wire::render::summary;
use crate::wire::response::ErrPacket;

on_both! {
    a_statement_that_waits_too_long_is_refused_and_its_session_goes_on
    who_waits_for_a_connection_is_served_in_the_order_of_coming
    who_leaves_the_queue_keeps_nobody_waiting
    an_error_keeps_nobody_waiting
    conditions_of_every_kind_keep_nobody_waiting
    an_error_among_warnings_keeps_its_session_where_it_is
}

fn a_statement_that_waits_too_long_is_refused_and_its_session_goes_on(server: &Server) {
    let ground = Ground::new(server, 1, &["--pool-wait", "300ms"]);
    ground.create_table("t (id INT PRIMARY KEY)");
    let (mut busy, mut other) = (ground.session(), ground.session());
    other.run("SET @x = 5");
    ground.until_none_is_surplus();
    busy.run("BEGIN");
    busy.run("INSERT INTO t VALUES (1)");
    for sql in ["SELECT @x", "INSERT INTO t VALUES (2)", "SELECT GET_LOCK('k', 0)"] {
        let refused = other.client.query(sql.as_bytes());
        let packet = refused.packets.last().expect("an answer");
        let error = ErrPacket::parse(&packet.payload);
        assert_eq!((error.code, &error.state[..]), (1040, &b"08004"[..]), "{sql}: {error:?}");
        let waited = refused.took;
        assert!(waited >= Duration::from_millis(290), "{sql}: {waited:?}");
        assert!(waited < Duration::from_secs(20), "{sql}: {waited:?}");
    }
    let ping = other.client.ping();
    assert_eq!(ping.error(), Some(1040), "{ping:?}");
    assert!(ground.proxy.metric("lockstead_pool_timeouts_total") >= 4.0);
    assert_eq!(busy.value("SELECT COUNT(*) FROM t").as_deref(), Some("1"));
    busy.run("COMMIT");
    assert_eq!(other.value("SELECT @x").as_deref(), Some("5"));
    other.run("INSERT INTO t VALUES (2)");
    other.lock("k");
    assert_eq!(busy.value("SELECT COUNT(*) FROM t").as_deref(), Some("2"));
}

fn who_waits_for_a_connection_is_served_in_the_order_of_coming(server: &Server) {
    let ground = Ground::new(server, 1, &["--pool-wait", "30s"]);
    ground.create_table("t (id INT AUTO_INCREMENT PRIMARY KEY, who INT)");
    let mut busy = ground.session();
    let mut others: Vec<Session> = (0..5).map(|_| ground.session()).collect();
    ground.until_none_is_surplus();
    busy.run("BEGIN");
    let mut queued = ground.proxy.metric("lockstead_pool_waits_total");
    // The last that logged in is the first to ask.
    for (n, other) in others.iter_mut().enumerate().rev() {
        other.send(&format!("INSERT INTO t (who) VALUES ({n})"));
        queued += 1.0;
        until_queued(&ground.proxy, queued);
    }
    busy.run("COMMIT");
    for other in &mut others {
        let response = other.client.read_response(crate::wire::Shape::Query);
        assert_eq!(response.error(), None, "{response:?}");
    }
    let order = format!("SELECT who FROM {} ORDER BY id", ground.tenant.database.table("t"));
    assert_eq!(ground.server().root().column(&order), ["4", "3", "2", "1", "0"]);
}

fn who_leaves_the_queue_keeps_nobody_waiting(server: &Server) {
    let ground = Ground::new(server, 1, &["--pool-wait", "30s"]);
    let (mut busy, mut other) = (ground.session(), ground.session());
    let leavers: Vec<Session> = (0..3).map(|_| ground.session()).collect();
    ground.until_none_is_surplus();
    busy.run("BEGIN");
    let mut queued = ground.proxy.metric("lockstead_pool_waits_total");
    let leave: [fn(Session); 3] =
        [|s| s.client.say_quit(), |s| s.client.hang_up(), |s| s.client.reset_tcp()];
    let mut asked = Vec::new();
    for mut leaver in leavers {
        leaver.send("SELECT 1");
        queued += 1.0;
        until_queued(&ground.proxy, queued);
        asked.push(leaver);
    }
    other.send("SELECT 7");
    until_queued(&ground.proxy, queued + 1.0);
    for (leaver, leave) in asked.into_iter().zip(leave) {
        leave(leaver);
    }
    busy.run("COMMIT");
    assert_eq!(other.reply().as_deref(), Some("7"));
    assert_eq!(busy.value("SELECT 8").as_deref(), Some("8"));
    assert_eq!(ground.tenant.connections().len(), 1);
}

/// Of whom nobody asks what it was. Who does ask later is told.
fn an_error_keeps_nobody_waiting(server: &Server) {
    let ground = Ground::new(server, 1, &["--pool-wait", "1s"]);
    let (mut one, mut other) = (ground.session(), ground.session());
    assert_eq!(one.client.query(b"SELECT * FROM nothing").error(), Some(1146));
    assert_eq!(other.value("SELECT 7").as_deref(), Some("7"));
    let listed = summary(&one.client.query(b"SHOW ERRORS"));
    assert!(listed.starts_with("Error | 1146 | "), "{listed}");
}

fn conditions_of_every_kind_keep_nobody_waiting(server: &Server) {
    let ground = Ground::new(server, 1, &["--pool-wait", "1s"]);
    ground.create_table("t (id INT PRIMARY KEY, n TINYINT)");
    let long = format!("SELECT {}", "a_name_that_no_column_has, ".repeat(8));
    let many = (0..64).map(|n| format!("CAST('x{n}' AS SIGNED)")).collect::<Vec<_>>().join(",");
    for statement in [
        "DO CAST('x' AS SIGNED)",
        "DROP TABLE IF EXISTS nothing",
        "DROP TABLE IF EXISTS nothing, none",
        "INSERT INTO t VALUES (1, 1), (1, 2)",
        "SELECT 1 FROM t WHERE `\u{e9}` = 1",
        &long,
        &format!("SELECT {many}"),
    ] {
        let texts = [
            "SHOW WARNINGS",
            "SHOW ERRORS LIMIT 5",
            "SHOW WARNINGS LIMIT 1, 60",
            "SHOW COUNT(*) WARNINGS",
            "GET DIAGNOSTICS @n = NUMBER, @r = ROW_COUNT",
            "GET DIAGNOSTICS CONDITION 1 @s = RETURNED_SQLSTATE, @c = MYSQL_ERRNO, @m = MESSAGE_TEXT",
            "SHOW WARNINGS",
            "SELECT @n, @r, @s, @c, @m",
        ];
        // The same in a session that has the connection all the time.
        let mut alone = Session::of(ground.server().port, &ground.tenant.account);
        alone.client.query(statement.as_bytes());
        let expected = texts.map(|text| alone.client.query(text.as_bytes()).packets);
        let (mut one, mut other) = (ground.session(), ground.session());
        ground.until_none_is_surplus();
        one.client.query(statement.as_bytes());
        for (text, expected) in texts.iter().zip(&expected) {
            assert_eq!(other.value("SELECT 7").as_deref(), Some("7"), "{statement}: {text}");
            let told = one.client.query(text.as_bytes()).packets;
            assert_eq!(&told, expected, "{statement}: {text}");
        }
        one.client.quit();
        other.client.quit();
    }
    assert_eq!(ground.tenant.connections().len(), 1);
}

/// No other list is made of one statement: its session keeps the connection until the next.
fn an_error_among_warnings_keeps_its_session_where_it_is(server: &Server) {
    let ground = Ground::new(server, 1, &["--pool-wait", "300ms"]);
    let (mut one, mut other) = (ground.session(), ground.session());
    ground.until_none_is_surplus();
    one.run("SIGNAL SQLSTATE '01000'");
    one.client.query(b"GET DIAGNOSTICS CONDITION 7 @x = MESSAGE_TEXT");
    assert_eq!(one.value("SHOW COUNT(*) WARNINGS").as_deref(), Some("2"));
    assert_eq!(other.client.query(b"SELECT 7").error(), Some(1040));
    let pins = ground.pins();
    assert!(pins[0].starts_with("{reason=\"diagnostics\"}"), "{pins:?}");
    assert_eq!(one.value("SHOW COUNT(*) ERRORS").as_deref(), Some("1"));
    one.run("SET @x = 1");
    one.client.query(b"SELECT * FROM nothing");
    assert_eq!(other.value("SELECT 7").as_deref(), Some("7"));
}
