//! State that a session leaves on a connection, and that the next one must not find.

use std::sync::Arc;

use super::ground::{Ground, Suited, WAYS, options, until_waiting};
use crate::own_server::{OwnServer, flavour_of};
use crate::script::{Flavour, Server};
use crate::session::{Session, account};
use crate::stage::{eventually, on_both};
use crate::wire::capability::IGNORE_SPACE;
use crate::wire::{Account, render};

on_both! {
    the_next_session_finds_nothing_of_the_last_one
    sessions_find_their_own_state_on_a_shared_connection
    nothing_runs_where_the_state_of_the_session_cannot_be_put
    a_variable_that_nobody_may_set_any_more_is_told_at_the_move
    a_session_whose_schema_is_gone_is_in_none
    a_mode_that_only_logins_add_is_as_the_session_has_it
    a_reset_frees_locks_and_leaves_a_clean_session
    a_change_of_user_frees_locks_and_leaves_a_clean_session
    a_quit_frees_locks_and_leaves_a_clean_connection
}

fn a_variable_that_nobody_may_set_any_more_is_told_at_the_move(server: &Server) {
    let flavour = flavour_of(server);
    if flavour == Flavour::MySql {
        return;
    }
    let more = [options(flavour), &["--query-cache-type=1", "--query-cache-size=1M"]].concat();
    let own = Arc::new(OwnServer::start(flavour, &more));
    let ground = Ground::before(Suited::alone(&own), 1, &[]);
    let [mut session, mut other] = [ground.session(), ground.session()];
    session.lock("k");
    session.run("SET SESSION query_cache_type = DEMAND");
    own.server.root().run("SET GLOBAL query_cache_type = OFF");
    assert_eq!(session.value("SELECT 7").as_deref(), Some("7"), "it has not moved");
    other.run("DO 0");
    for _ in 0..2 {
        assert_eq!(session.client.query(b"SELECT 7").error(), Some(1429));
    }
    own.server.root().run("SET GLOBAL query_cache_type = ON");
    assert_eq!(session.value("SELECT @@query_cache_type").as_deref(), Some("DEMAND"));
    session.unlock("k");
}

/// Leaves all kinds of state, among them a lock of the server's own, which a function takes.
fn litter(session: &mut Session, native: &str) {
    session.run("SET @x = 'left behind', sql_mode = 'ANSI_QUOTES', time_zone = '+05:00'");
    session.run("CREATE TEMPORARY TABLE t (mine INT)");
    session.run("CREATE TEMPORARY TABLE other (mine INT)");
    session.run("PREPARE s FROM 'SELECT 1'");
    assert_eq!(session.value(&format!("SELECT takes('{native}')")).as_deref(), Some("1"));
    session.lock("k");
    session.run("LOCK TABLES u WRITE");
}

/// The state that a session sees. The last question replaces an error, which would keep the session on its connection.
fn found(session: &mut Session) -> Vec<String> {
    let questions = [
        "SELECT @x",
        "SELECT @@sql_mode = @@GLOBAL.sql_mode, @@time_zone = @@GLOBAL.time_zone, @@autocommit",
        "SELECT * FROM other",
        "DEALLOCATE PREPARE s",
        "SELECT COUNT(*) FROM t",
    ];
    let mut answers = Vec::new();
    for sql in questions {
        answers.push(render::summary(&session.client.query(sql.as_bytes())));
    }
    answers
}

const NOTHING: [&str; 5] = ["NULL", "1 | 1 | 1", "ERR 1146/42S02", "ERR 1243/HY000", "0"];

fn ground(server: &Server, size: u32) -> Ground {
    let ground = Ground::new(server, size, &[]);
    ground.create_table("t (id INT)");
    ground.create_table("u (id INT)");
    ground.server().root().run(&format!(
        "CREATE FUNCTION {}.takes(name VARCHAR(64)) RETURNS INT DETERMINISTIC NO SQL RETURN GET_LOCK(name, 0)",
        ground.tenant.database.name
    ));
    ground
}

/// A connection that is opened has the mode again, though the session's reset has taken it on MariaDB.
fn a_mode_that_only_logins_add_is_as_the_session_has_it(server: &Server) {
    let ground = Ground::new(server, 1, &[]);
    ground.create_table("t (id INT)");
    let tenant = &ground.tenant.account;
    let spaces = Account { capabilities: tenant.capabilities | IGNORE_SPACE, ..tenant.clone() };
    let mut session = Session::of(ground.proxy.port, &spaces);
    // Another account's, since all connections of this one are ended.
    let root = account();
    let root = Account { user: root.user, password: root.password, ..spaces.clone() };
    let mut direct = Session::of(ground.server().port, &root);
    let mut other = ground.session();
    for reset in [false, true] {
        if reset {
            session.client.reset_connection();
            direct.client.reset_connection();
        }
        session.run("DO 0");
        // The session gives its connection to another one, and that one ends.
        other.run("DO 0");
        ground.kill_connections();
        let [own, of_direct] = [&mut session, &mut direct]
            .map(|session| render::summary(&session.client.query(b"SELECT COUNT (*) FROM t")));
        assert_eq!(own, of_direct, "reset: {reset}");
    }
}

fn nothing_runs_where_the_state_of_the_session_cannot_be_put(server: &Server) {
    let ground = Ground::new(server, 1, &["--idle-keep", "50ms"]);
    ground.create_table("t (id INT)");
    let role = format!("{}_role", ground.tenant.name);
    let mut root = ground.server().root();
    let mut create = || {
        root.run(&format!("CREATE ROLE {role}"));
        root.run(&format!("GRANT {role} TO {}@'%'", ground.tenant.name));
    };
    create();
    let mut session = ground.session();
    session.run(&format!("SET ROLE {role}"));
    ground.until_all_have_left();
    // Otherwise the connection would still have the role.
    let mut stranger = ground.session();
    stranger.run("DO 1");
    ground.until_all_have_left();
    let mut other = ground.server().root();
    other.run(&format!("DROP ROLE {role}"));
    let refused = session.client.query(b"INSERT INTO t VALUES (1)");
    assert_eq!(refused.error(), Some(1429), "{}", render::response(&refused));
    let count = format!("SELECT COUNT(*) FROM {}", ground.tenant.database.table("t"));
    assert_eq!(other.column(&count), ["0"]);
    create();
    session.run("INSERT INTO t VALUES (1)");
    other.run(&format!("DROP ROLE {role}"));
}

fn a_session_whose_schema_is_gone_is_in_none(server: &Server) {
    let ground = Ground::new(server, 1, &[]);
    ground.create_table("t (id INT)");
    let gone = format!("{}_gone", ground.tenant.name);
    let mut root = ground.server().root();
    root.run(&format!("CREATE DATABASE {gone}"));
    root.run(&format!("GRANT ALL ON {gone}.* TO {}@'%'", ground.tenant.name));
    let (mut session, mut other) = (ground.session(), ground.session());
    session.run(&format!("USE {gone}"));
    ground.until_none_is_surplus();
    other.run("INSERT INTO t VALUES (1)");
    root.run(&format!("DROP DATABASE {gone}"));
    for _ in 0..3 {
        assert_eq!(other.value("SELECT COUNT(*) FROM t").as_deref(), Some("1"));
        // Not in that of the other session, which had the connection.
        let refused = session.client.query(b"INSERT INTO t VALUES (2)");
        assert_eq!(refused.error(), Some(1046), "{}", render::response(&refused));
        // From a table, so that MariaDB forgets the error.
        let schema = "SELECT DATABASE() FROM information_schema.engines LIMIT 1";
        assert_eq!(session.value(schema), None);
    }
    root.run(&format!("CREATE DATABASE {gone}"));
    other.run("DO 1");
    assert_eq!(session.value("SELECT DATABASE()"), Some(gone.clone()));
    root.run(&format!("DROP DATABASE {gone}"));
}

/// Waits until a lock of the server itself is free.
fn until_free(ground: &Ground, native: &str) {
    let mut root = ground.server().root();
    eventually("the server's own lock is free", || {
        (root.column(&format!("SELECT IS_FREE_LOCK('{native}')")) == ["1"]).then_some(())
    });
}

/// Waits until no session is pinned.
fn until_free_of_pins(ground: &Ground) {
    eventually("no session is pinned", || ground.pins().is_empty().then_some(()));
}

fn the_next_session_finds_nothing_of_the_last_one(server: &Server) {
    let ground = ground(server, 1);
    let native = format!("native {}", ground.tenant.name);
    for (way, leave) in WAYS {
        let (mut first, mut second) = (ground.session(), ground.session());
        assert_eq!(found(&mut second), NOTHING, "before {way}");
        litter(&mut first, &native);
        let connection = ground.tenant.only_connection();
        leave(first);
        assert_eq!(second.value("SELECT 7").as_deref(), Some("7"), "after {way}");
        assert_eq!(ground.tenant.only_connection(), connection, "after {way}");
        assert_eq!(found(&mut second), NOTHING, "after {way}");
        until_free(&ground, &native);
        second.lock("k");
        second.run("INSERT INTO u VALUES (1)");
        second.unlock("k");
        assert_eq!(found(&mut ground.session()), NOTHING, "a new one after {way}");
    }
}

fn sessions_find_their_own_state_on_a_shared_connection(server: &Server) {
    let ground = ground(server, 1);
    let mut sessions: Vec<Session> = (0..4).map(|_| ground.session()).collect();
    let zone = |n: usize| format!("+0{n}:00");
    for (n, session) in sessions.iter_mut().enumerate() {
        session.run(&format!(
            "SET @x = {n}, time_zone = '{}', sql_select_limit = {}",
            zone(n),
            n + 7
        ));
        session.lock(&format!("k{n}"));
    }
    for _ in 0..3 {
        for (n, session) in sessions.iter_mut().enumerate() {
            let own = session.value(&format!(
                "SELECT CONCAT_WS(' ', @x, @@time_zone, @@sql_select_limit, IS_USED_LOCK('k{n}'))"
            ));
            let expected = format!("{n} {} {} {}", zone(n), n + 7, session.id());
            assert_eq!(own, Some(expected));
        }
    }
    assert_eq!(found(&mut ground.session()), NOTHING);
    until_free_of_pins(&ground);
}

/// A session with all that; `end` in it; then nothing of it is left, for it or for others.
fn begins_anew(server: &Server, size: u32, end: impl Fn(&Ground, &mut Session)) {
    let ground = ground(server, size);
    let native = format!("native {}", ground.tenant.name);
    let (mut first, mut waiter) = (ground.session(), ground.session());
    first.lock("k");
    waiter.ask_for("k");
    until_waiting(&ground.proxy, 1);
    litter(&mut first, &native);
    first.run("SET autocommit = 0");
    first.run("INSERT INTO u VALUES (1)");
    end(&ground, &mut first);
    until_free(&ground, &native);
    waiter.gets_it();
    assert_eq!(first.value("SELECT RELEASE_LOCK('k')").as_deref(), Some("0"), "not its own");
    assert_eq!(found(&mut waiter), NOTHING, "another session");
    assert_eq!(found(&mut first), NOTHING, "the session itself");
    waiter.unlock("k");
    first.lock("k");
    waiter.run("INSERT INTO u VALUES (1)");
    assert_eq!(first.value("SELECT COUNT(*) FROM u").as_deref(), Some("1"), "rolled back");
    first.client.quit();
    assert!(eventually("the lock is free", || waiter.is_free("k").then_some(true)));
    assert_eq!(found(&mut ground.session()), NOTHING, "a new session");
}

fn a_reset_frees_locks_and_leaves_a_clean_session(server: &Server) {
    begins_anew(server, 1, |_, session| {
        assert_eq!(session.client.reset_connection().error(), None);
    });
}

fn a_change_of_user_frees_locks_and_leaves_a_clean_session(server: &Server) {
    // The connection of another account, as the proxy sees it, is the session's for good.
    begins_anew(server, 2, |ground, session| {
        let account: &Account = &ground.tenant.account;
        let changed = session.client.change_user(account);
        assert_eq!(changed.error(), None, "{changed:?}");
        let who = session.value("SELECT CONCAT_WS(' ', CURRENT_USER(), DATABASE())");
        let expected = format!("{}@% {}", ground.tenant.name, ground.tenant.database.name);
        assert_eq!(who, Some(expected));
    });
}

fn a_quit_frees_locks_and_leaves_a_clean_connection(server: &Server) {
    let ground = ground(server, 1);
    for (way, leave) in WAYS {
        let (mut first, mut second) = (ground.session(), ground.session());
        first.lock("k");
        first.run("SET @x = 5");
        second.run("DO 0");
        leave(first);
        eventually("the lock is free", || second.is_free("k").then_some(()));
        assert_eq!(found(&mut second), NOTHING, "after {way}");
        until_free_of_pins(&ground);
    }
}
