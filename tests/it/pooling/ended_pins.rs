//! What ties a session to its shared connection for a while only.

use super::ground::{Ground, Suited, Tenant};
use crate::script::Server;
use crate::session::Session;
use crate::stage::{eventually, on_both};
use crate::wire::render;

on_both! {
    found_rows_are_taken_along_after_the_next_statement
    a_call_ties_nobody_to_a_connection_that_another_needs
    a_session_gives_its_connection_back_some_time_after_a_call
    a_lock_that_a_routine_takes_keeps_its_session_until_a_routine_frees_it
    a_routine_s_leftovers_keep_its_session
    the_next_session_is_asked_when_one_must_keep_its_connection
    a_temporary_table_keeps_its_session_until_it_is_dropped
    a_value_that_is_set_keeps_its_session_until_it_is_used_up
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

/// Routines in the account's schema, which the proxy reads when it starts.
fn create_routines(tenant: &Tenant, server: &Server) {
    let (schema, name) = (&tenant.database.name, &tenant.name);
    for routine in [
        "notes(n INT) BEGIN SELECT n INTO @Noted; SELECT 'seen' AS x; END".to_owned(),
        format!("takes() BEGIN DO GET_LOCK('native {name}', 0); END"),
        format!("frees() BEGIN DO RELEASE_LOCK('native {name}'); END"),
        "makes() BEGIN CREATE TEMPORARY TABLE made SELECT 7 AS v; END".to_owned(),
        "prepares() BEGIN PREPARE left_over FROM 'SELECT 7'; END".to_owned(),
        "tidies() BEGIN DROP TEMPORARY TABLE tmp; END".to_owned(),
    ] {
        server.root().run(&format!("CREATE PROCEDURE {schema}.{routine}"));
    }
}

/// A session with the only connection, and another one that needs it.
fn two_of_one(server: &Server, idle_keep: &str) -> (Ground, Session, Session) {
    let extra = ["--idle-keep", idle_keep, "--pool-wait", "1s"];
    let ground = Ground::of(Suited::to(server), 1, &extra, create_routines);
    let (mut session, mut other) = (ground.session(), ground.session());
    ground.until_none_is_surplus();
    eventually("the proxy has read the routines", || {
        session.client.query(b"CALL notes(0)");
        let read = !waits_in_vain(&mut other);
        if !read {
            session.client.reset_connection();
        }
        read.then_some(())
    });
    (ground, session, other)
}

/// Whether a session gets no connection in time.
fn waits_in_vain(session: &mut Session) -> bool {
    render::summary(&session.client.query(b"DO 1")).starts_with("ERR 1040/08004")
}

fn a_call_ties_nobody_to_a_connection_that_another_needs(server: &Server) {
    let (ground, mut session, mut other) = two_of_one(server, "1h");
    let audits = || ground.proxy.metric("lockstead_pool_audits_total{found=\"clear\"}");
    let before = audits();
    for n in ["5", "6"] {
        session.client.query(format!("CALL notes({n})").as_bytes());
        ground.until_pinned_by(&["routine"]);
        other.run("SET @noted = 'another'");
        assert_eq!(session.value("SELECT @noted").as_deref(), Some(n));
        ground.until_pinned_by(&[]);
        assert_eq!(other.value("SELECT @noted").as_deref(), Some("another"));
    }
    assert!((audits() - before - 2.0).abs() < 0.5);
}

fn a_session_gives_its_connection_back_some_time_after_a_call(server: &Server) {
    let (ground, mut session, _other) = two_of_one(server, "50ms");
    session.client.query(b"CALL notes(5)");
    ground.until_all_have_left();
    ground.until_pinned_by(&[]);
    assert_eq!(session.value("SELECT @noted").as_deref(), Some("5"));
}

fn a_lock_that_a_routine_takes_keeps_its_session_until_a_routine_frees_it(server: &Server) {
    let (ground, mut session, mut other) = two_of_one(server, "1s");
    session.run("CALL takes()");
    assert!(waits_in_vain(&mut other));
    ground.until_pinned_by(&["routine"]);
    let mut root = ground.server().root();
    let free = format!("SELECT IS_FREE_LOCK('native {}')", ground.tenant.name);
    assert_eq!(root.column(&free), ["0"]);
    assert!(ground.proxy.metric("lockstead_pool_audits_total{found=\"left\"}") >= 1.0);
    session.run("CALL frees()");
    assert_eq!(root.column(&free), ["1"]);
    other.run("DO 1");
    ground.until_pinned_by(&[]);
}

fn a_routine_s_leftovers_keep_its_session(server: &Server) {
    let (ground, mut session, mut other) = two_of_one(server, "1s");
    for (leaves, asks) in [("makes", "SELECT v FROM made"), ("prepares", "EXECUTE left_over")] {
        session.run(&format!("CALL {leaves}()"));
        assert!(waits_in_vain(&mut other), "{leaves}");
        assert_eq!(session.value(asks).as_deref(), Some("7"), "{leaves}");
        session.client.reset_connection();
        other.run("DO 1");
    }
    ground.until_pinned_by(&[]);
}

fn the_next_session_is_asked_when_one_must_keep_its_connection(server: &Server) {
    let extra = ["--idle-keep", "1h", "--pool-wait", "20s"];
    let ground = Ground::of(Suited::to(server), 3, &extra, create_routines);
    let mut sessions = [(); 4].map(|()| ground.session());
    let [one, two, free, other] = &mut sessions;
    ground.until_none_is_surplus();
    // These have rested for longest when another connection is needed, and a look at the server ties them to theirs.
    for tied in [one, two] {
        eventually("the proxy has read the routines", || {
            tied.client.reset_connection();
            tied.run("CALL makes()");
            ground.pins().iter().any(|pin| pin.contains("\"routine\"")).then_some(())
        });
    }
    let kept = || ground.proxy.metric("lockstead_pool_audits_total{found=\"left\"}");
    let before = kept();
    free.run("DO 1");
    other.run("DO 1");
    assert!(kept() > before, "one was asked in vain");
}

fn a_temporary_table_keeps_its_session_until_it_is_dropped(server: &Server) {
    let (ground, mut session, mut other) = two_of_one(server, "1s");
    let make = "CREATE TEMPORARY TABLE IF NOT EXISTS tmp (a INT)";
    for drop in ["DROP TEMPORARY TABLE tmp", "DROP TABLE tmp", "CALL tidies()"] {
        session.run(make);
        session.run("CREATE TEMPORARY TABLE `t 2` SELECT 1 AS a");
        assert!(waits_in_vain(&mut other), "{drop}");
        ground.until_pinned_by(&["temp_table"]);
        session.run("DROP TABLE `t 2`");
        assert!(waits_in_vain(&mut other), "one is left: {drop}");
        session.run(drop);
        other.run("SELECT 1");
        ground.until_pinned_by(&[]);
        session.run("DO 1");
    }
    // One that has another name.
    session.run(make);
    session.run("ALTER TABLE tmp RENAME TO u");
    assert!(waits_in_vain(&mut other));
    session.run("DROP TABLE u");
    assert!(waits_in_vain(&mut other), "nobody can tell");
}

fn a_value_that_is_set_keeps_its_session_until_it_is_used_up(server: &Server) {
    let (ground, mut session, mut other) = two_of_one(server, "1s");
    ground.create_table("n (id INT PRIMARY KEY AUTO_INCREMENT, v INT)");
    for (sets, ends) in [
        ("SET timestamp = 1000000000", "SET timestamp = DEFAULT"),
        ("SET insert_id = 70", "INSERT INTO n (v) VALUES (1)"),
    ] {
        session.run(sets);
        assert!(waits_in_vain(&mut other), "{sets}");
        ground.until_pinned_by(&["one_shot_value"]);
        session.run(ends);
        other.run("DO 1");
        ground.until_pinned_by(&[]);
    }
    assert_eq!(session.value("SELECT MAX(id) FROM n").as_deref(), Some("70"));
    assert_eq!(session.value("SELECT NOW() > '2020-01-01'").as_deref(), Some("1"));
    // Nothing uses up the seeds.
    session.run("SET rand_seed1 = 10, rand_seed2 = 20");
    session.run("DO RAND()");
    assert!(waits_in_vain(&mut other));
    ground.until_pinned_by(&["one_shot_value"]);
}
