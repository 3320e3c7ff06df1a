//! Sessions that wait for a connection, and for how long.

use std::time::Duration;

use super::ground::{Ground, until_queued};
use crate::script::Server;
use crate::session::Session;
use crate::stage::{Deadline, on_both};
use crate::wire::response::ErrPacket;

on_both! {
    a_statement_that_waits_too_long_is_refused_and_its_session_goes_on
    waiting_sessions_get_connections_in_the_order_of_their_coming
    a_session_that_leaves_the_queue_keeps_no_other_waiting
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
        let limit = Deadline::after(Duration::from_secs(20));
        let refused = other.client.query(sql.as_bytes());
        let packet = refused.packets.last().expect("an answer");
        let error = ErrPacket::parse(&packet.payload);
        assert_eq!((error.code, &error.state[..]), (1040, &b"08004"[..]), "{sql}: {error:?}");
        let waited = refused.took;
        assert!(waited >= Duration::from_millis(290), "{sql}: {waited:?}");
        assert!(!limit.left().is_zero(), "{sql}: {waited:?}");
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

fn waiting_sessions_get_connections_in_the_order_of_their_coming(server: &Server) {
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

fn a_session_that_leaves_the_queue_keeps_no_other_waiting(server: &Server) {
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
