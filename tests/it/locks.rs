//! Locks as rows: who holds them, who waits, and how they change hands.

use crate::proxy::Proxy;
use crate::script::Server;
use crate::session::{Session, account};
use crate::stage::{Database, eventually, on_both};

on_both! {
    clocks_and_zones_of_sessions_change_nothing
    a_held_lock_is_a_row_that_says_who_holds_it
    a_token_grows_with_every_grant
    a_row_that_is_not_used_is_deleted_and_tokens_grow_all_the_same
    waiter_gets_the_lock_when_its_holder_disconnects
    waiters_are_served_in_the_order_they_came
    two_proxies_exclude_each_other
    a_waiter_gets_a_lock_that_is_released_at_another_proxy
    the_holder_at_another_proxy_is_shown_by_its_connection_id
    a_waiter_that_gave_up_is_passed_over
    a_waiter_that_left_is_passed_over
    one_session_holds_two_hundred_locks
    release_all_frees_what_was_taken_more_than_once
    reset_connection_rolls_back_and_releases
    change_user_rolls_back_and_releases
}

/// The rows of `held_locks`, without the token.
fn held(server: &Server, proxy: &Proxy) -> Vec<String> {
    server.root().column(&format!(
        "SELECT CONCAT_WS(' ', name, connection_id, owner, proxy, proxy_state) \
         FROM {}.held_locks ORDER BY name",
        proxy.schema
    ))
}

fn token(server: &Server, proxy: &Proxy, name: &str) -> u64 {
    let sql = format!("SELECT token FROM {}.held_locks WHERE name='{name}'", proxy.schema);
    server.root().column(&sql)[0].parse().expect("a token")
}

fn until_waiting(proxy: &Proxy, sessions: f64) {
    eventually("sessions wait", || {
        (proxy.metric("lockstead_locks_waiting") >= sessions).then_some(())
    });
}

fn clocks_and_zones_of_sessions_change_nothing(server: &Server) {
    let proxy = Proxy::start(&server.url, &["--lease", "3s"]);
    let mut sessions: Vec<Session> =
        ["timestamp=1000000000", "timestamp=2000000000", "time_zone='+13:00'"]
            .iter()
            .map(|setting| {
                let mut session = Session::at(proxy.port);
                session.run(&format!("SET {setting}"));
                session
            })
            .collect();
    let renewals = || proxy.metric("lockstead_lease_renewal_seconds_count");
    let mut last = 0;
    for session in &mut sessions {
        session.lock("k");
        let now = token(server, &proxy, "k");
        assert!(now > last, "{now} after {last}");
        last = now;
        let recent = format!(
            "SELECT ABS(TIMESTAMPDIFF(SECOND,since_utc,UTC_TIMESTAMP()))<600 FROM {}.held_locks",
            proxy.schema
        );
        assert_eq!(server.root().column(&recent), ["1"]);
        let before = renewals();
        eventually("the lease is renewed", || (renewals() > before).then_some(()));
        session.unlock("k");
    }
    assert!(proxy.metric("lockstead_store_rights{right=\"kill\"}") >= 1.0);
}

fn a_held_lock_is_a_row_that_says_who_holds_it(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut holder = Session::at(proxy.port);
    holder.lock("orders");
    let row = format!("orders {} root@127.0.0.1 127.0.0.1:{} live", holder.id(), proxy.port);
    assert_eq!(held(server, &proxy), [row]);
    assert!(token(server, &proxy, "orders") > 0);
    holder.unlock("orders");
    assert!(held(server, &proxy).is_empty());
}

fn a_token_grows_with_every_grant(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut sessions = [Session::at(proxy.port), Session::at(proxy.port)];
    let mut last = 0;
    for turn in 0..6 {
        let session = &mut sessions[turn % 2];
        session.lock("t");
        let now = token(server, &proxy, "t");
        assert!(now > last, "{now} after {last}");
        last = now;
        session.lock("t");
        assert_eq!(token(server, &proxy, "t"), now, "taking it again is no new grant");
        session.unlock("t");
        session.unlock("t");
    }
}

fn a_row_that_is_not_used_is_deleted_and_tokens_grow_all_the_same(server: &Server) {
    let a = Proxy::start(&server.url, &["--collect-after", "1s"]);
    let b = Proxy::start_on(&server.url, &a.schema, &["--collect-after", "1s"]);
    let (mut one, mut two) = (Session::at(a.port), Session::at(b.port));
    one.lock("held");
    let mut last = 0;
    for round in 0..3 {
        let session = if round % 2 == 0 { &mut one } else { &mut two };
        session.run("SELECT GET_LOCK('seldom', 60)");
        let now = token(server, &a, "seldom");
        assert!(now > last, "{now} after {last}");
        last = now;
        session.unlock("seldom");
        eventually("the row of the free lock is gone", || {
            let sql = format!("SELECT COUNT(*) FROM {}.locks", a.schema);
            (server.root().column(&sql) == ["1"]).then_some(())
        });
    }
    assert!(!two.is_free("held"));
    one.unlock("held");
}

fn waiter_gets_the_lock_when_its_holder_disconnects(server: &Server) {
    type Way = fn(Session);
    let ways: [(&str, Way); 3] = [
        ("COM_QUIT", |mut s| drop(s.client.quit())),
        ("FIN", |s| s.client.hang_up()),
        ("RST", |s| s.client.reset_tcp()),
    ];
    let proxy = Proxy::start(&server.url, &[]);
    for (way, leave) in ways {
        let mut holder = Session::at(proxy.port);
        let mut waiter = Session::at(proxy.port);
        holder.lock("k");
        waiter.ask_for("k");
        until_waiting(&proxy, 1.0);
        println!("the holder leaves by {way}");
        leave(holder);
        waiter.gets_it();
        waiter.unlock("k");
    }
}

fn waiters_are_served_in_the_order_they_came(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut holder = Session::at(proxy.port);
    holder.lock("queue");
    let mut waiters: Vec<Session> = (0..5).map(|_| Session::at(proxy.port)).collect();
    for (before, waiter) in (1_u8..).zip(&mut waiters) {
        waiter.ask_for("queue");
        until_waiting(&proxy, f64::from(before));
    }
    let mut last = token(server, &proxy, "queue");
    holder.unlock("queue");
    for waiter in &mut waiters {
        // If another session were served before this one, it would keep the lock, and this one would wait.
        waiter.gets_it();
        let now = token(server, &proxy, "queue");
        assert!(now > last);
        last = now;
        waiter.unlock("queue");
    }
}

fn two_proxies_exclude_each_other(server: &Server) {
    let a = Proxy::start(&server.url, &[]);
    let b = Proxy::start_on(&server.url, &a.schema, &[]);
    let mut at_a = Session::at(a.port);
    let mut at_b = Session::at(b.port);
    at_a.lock("x");
    assert_eq!(at_b.value("SELECT GET_LOCK('x', 0)").as_deref(), Some("0"));
    assert_eq!(at_b.value("SELECT RELEASE_LOCK('x')").as_deref(), Some("0"), "not its own");
    at_b.run("SELECT GET_LOCK('y', 600)");
    assert_eq!(at_a.value("SELECT GET_LOCK('y', 1)").as_deref(), Some("0"));
    at_a.unlock("x");
    at_b.run("SELECT GET_LOCK('x', 600)");
    assert!(!at_a.is_free("x"));
}

fn a_waiter_gets_a_lock_that_is_released_at_another_proxy(server: &Server) {
    let a = Proxy::start(&server.url, &[]);
    let b = Proxy::start_on(&server.url, &a.schema, &[]);
    let mut at_a = Session::at(a.port);
    let mut at_b = Session::at(b.port);
    at_a.lock("x");
    at_b.ask_for("x");
    until_waiting(&b, 1.0);
    let before = token(server, &a, "x");
    at_a.unlock("x");
    at_b.gets_it();
    assert!(token(server, &b, "x") > before);
}

fn the_holder_at_another_proxy_is_shown_by_its_connection_id(server: &Server) {
    let a = Proxy::start(&server.url, &[]);
    let b = Proxy::start_on(&server.url, &a.schema, &[]);
    let mut at_a = Session::at(a.port);
    let mut at_b = Session::at(b.port);
    at_a.lock("x");
    assert_eq!(at_b.value("SELECT IS_USED_LOCK('x')"), Some(at_a.id().to_string()));
    assert!(!at_b.is_free("x"));
    at_a.unlock("x");
    assert_eq!(at_b.value("SELECT IS_USED_LOCK('x')"), None);
    assert!(at_b.is_free("x"));
}

fn a_waiter_that_gave_up_is_passed_over(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut holder = Session::at(proxy.port);
    let mut hasty = Session::at(proxy.port);
    let mut patient = Session::at(proxy.port);
    holder.lock("k");
    hasty.send("SELECT GET_LOCK('k', 1)");
    until_waiting(&proxy, 1.0);
    patient.ask_for("k");
    until_waiting(&proxy, 2.0);
    assert_eq!(hasty.reply().as_deref(), Some("0"));
    holder.unlock("k");
    patient.gets_it();
    patient.unlock("k");
    assert!(hasty.is_free("k"));
    assert_eq!(hasty.value("SELECT RELEASE_LOCK('k')"), None, "nobody holds it");
}

fn a_waiter_that_left_is_passed_over(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut holder = Session::at(proxy.port);
    let mut leaver = Session::at(proxy.port);
    let mut patient = Session::at(proxy.port);
    holder.lock("k");
    leaver.ask_for("k");
    until_waiting(&proxy, 1.0);
    patient.ask_for("k");
    until_waiting(&proxy, 2.0);
    leaver.client.reset_tcp();
    eventually("it is no longer counted", || {
        (proxy.metric("lockstead_locks_waiting") < 2.0).then_some(())
    });
    holder.unlock("k");
    patient.gets_it();
}

fn one_session_holds_two_hundred_locks(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut holder = Session::at(proxy.port);
    for n in 0..200 {
        holder.lock(&format!("many {n}"));
    }
    assert_eq!(held(server, &proxy).len(), 200);
    assert!(proxy.metric("lockstead_locks_held") >= 200.0);
    assert_eq!(holder.value("SELECT RELEASE_ALL_LOCKS()").as_deref(), Some("200"));
    assert!(held(server, &proxy).is_empty());
}

fn release_all_frees_what_was_taken_more_than_once(server: &Server) {
    let a = Proxy::start(&server.url, &[]);
    let b = Proxy::start_on(&server.url, &a.schema, &[]);
    let mut at_a = Session::at(a.port);
    let mut at_b = Session::at(b.port);
    for name in ["x", "x", "x", "y"] {
        at_a.lock(name);
    }
    at_a.unlock("x");
    assert_eq!(at_a.value("SELECT RELEASE_ALL_LOCKS()").as_deref(), Some("3"));
    assert!(held(server, &a).is_empty());
    for name in ["x", "y"] {
        at_b.run(&format!("SELECT GET_LOCK('{name}', 600)"));
    }
}

/// A session with a lock and an open transaction; a waiter for the lock; then `end`.
fn the_waiter_finds_nothing_left(server: &Server, end: impl FnOnce(&mut Session)) {
    let proxy = Proxy::start(&server.url, &[]);
    let database = Database::create(server);
    let table = database.table("t");
    server.root().run(&format!("CREATE TABLE {table} (id INT PRIMARY KEY)"));
    let mut holder = Session::at(proxy.port);
    let mut waiter = Session::at(proxy.port);
    holder.lock("k");
    holder.run(&format!("BEGIN; INSERT INTO {table} VALUES (1)"));
    waiter.ask_for("k");
    until_waiting(&proxy, 1.0);
    end(&mut holder);
    waiter.gets_it();
    // Waits for nobody: an open transaction would hold this very row.
    waiter.run(&format!("SET innodb_lock_wait_timeout=1; INSERT INTO {table} VALUES (1)"));
    assert_eq!(holder.value("SELECT RELEASE_LOCK('k')").as_deref(), Some("0"), "not its own");
    holder.lock("other");
}

fn reset_connection_rolls_back_and_releases(server: &Server) {
    the_waiter_finds_nothing_left(server, |session| {
        assert_eq!(session.client.reset_connection().error(), None);
    });
}

fn change_user_rolls_back_and_releases(server: &Server) {
    the_waiter_finds_nothing_left(server, |session| {
        assert_eq!(session.client.change_user(&account()).error(), None);
    });
}
