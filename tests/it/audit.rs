//! The proxy notices changes to the lock tables by hand.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use lockstead_support::patience::within;

use crate::cli::install;
use crate::own_server::flavour_of;
use crate::proxy::{Proxy, fresh_schema};
use crate::script::Server;
use crate::session::{Session, until_busy};
use crate::stage::{PATIENCE, eventually, is_at_server, join, on_both};
use crate::wire::Shape;

on_both! {
    a_session_whose_lock_s_row_is_gone_is_closed
    a_lock_whose_row_was_gone_is_granted_above_its_last_token
    a_release_reports_that_the_row_was_gone
    sessions_at_work_keep_their_locks_under_many_audits
    locks_of_a_proxy_whose_row_is_gone_pass_on
    a_start_waits_for_the_session_that_has_locked_the_tables
}

const LEASE: [&str; 2] = ["--lease", "2s"];
/// Nothing is compared within a test.
const ENDLESS: [&str; 2] = ["--lease", "10m"];

fn said(words: Option<crate::wire::response::ErrPacket>) -> String {
    let words = words.expect("a reason");
    assert_eq!(words.code, 4031);
    String::from_utf8_lossy(&words.message).into_owned()
}

fn a_session_whose_lock_s_row_is_gone_is_closed(server: &Server) {
    for deed in [
        "DELETE FROM {}.locks WHERE k='Lk'",
        "UPDATE {}.locks SET holder=0 WHERE k='Lk'",
        "UPDATE {}.locks SET holder=77 WHERE k='Lk'",
        "UPDATE {}.locks SET tok=tok+1 WHERE k='Lk'",
        "TRUNCATE TABLE {}.locks",
        "CREATE TABLE {}.other LIKE {}.locks; DROP TABLE {}.locks; \
         RENAME TABLE {}.other TO {}.locks",
    ] {
        let proxy = Proxy::start(&server.url, &LEASE);
        let mut root = Session::at(server.port);
        let (mut holder, mut beside) = (Session::at(proxy.port), Session::at(proxy.port));
        holder.lock("k");
        if deed.contains("WHERE") {
            beside.lock("another");
        }
        root.run(&deed.replace("{}", &proxy.schema));
        let words = said(holder.last_words());
        assert!(words.contains("The row of the lock 'k'"), "{deed}: {words}");
        eventually("its connection is ended", || {
            let mut root = server.root();
            (!is_at_server(&mut root, flavour_of(server), holder.id())).then_some(())
        });
        assert!(proxy.metric("lockstead_lost_rows_total") >= 1.0, "{deed}");
        assert!(proxy.metric("lockstead_fenced_sessions_total") >= 1.0, "{deed}");
        assert_eq!(beside.value("SELECT 1").as_deref(), Some("1"), "{deed}");
        if deed.contains("WHERE") {
            beside.unlock("another");
        }
    }
}

fn a_lock_whose_row_was_gone_is_granted_above_its_last_token(server: &Server) {
    let a = Proxy::start(&server.url, &LEASE);
    let b = join(server, &a, &LEASE);
    let mut holder = Session::at(a.port);
    let token = |name: &str| -> u64 {
        let sql = format!("SELECT token FROM {}.held_locks WHERE name='{name}'", a.schema);
        server.root().column(&sql)[0].parse().expect("a token")
    };
    for _ in 0..20 {
        holder.lock("k");
        holder.unlock("k");
    }
    holder.lock("k");
    let before = token("k");
    server.root().run(&format!("DELETE FROM {}.locks", a.schema));
    said(holder.last_words());
    let base = format!("SELECT base>={before} FROM {}.meta", a.schema);
    eventually("the base is raised", || (server.root().column(&base) == ["1"]).then_some(()));
    let mut next = Session::at(b.port);
    next.lock("k");
    assert!(token("k") > before, "{} is not above {before}", token("k"));
}

fn a_release_reports_that_the_row_was_gone(server: &Server) {
    let proxy = Proxy::start(&server.url, &ENDLESS);
    for call in ["RELEASE_LOCK('k')", "RELEASE_ALL_LOCKS()"] {
        let mut holder = Session::at(proxy.port);
        holder.lock("k");
        server.root().run(&format!("DELETE FROM {}.locks", proxy.schema));
        holder.send(&format!("SELECT {call}"));
        let response = holder.client.read_response(Shape::Query);
        assert_eq!(response.error(), Some(4031), "{call}");
    }
    let mut next = Session::at(proxy.port);
    next.lock("k");
    next.unlock("k");
}

/// Grants, releases and hand-overs are under way while rows are read.
fn sessions_at_work_keep_their_locks_under_many_audits(server: &Server) {
    let often = ["--lease", "5s", "--collect-after", "1s"];
    let a = Proxy::start(&server.url, &often);
    let b = join(server, &a, &often);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for n in 0..12 {
            let (over, port) = (&over, if n % 2 == 0 { a.port } else { b.port });
            scope.spawn(move || {
                let mut session = Session::at(port);
                session.run(&format!("SELECT GET_LOCK('own{n}', 60)"));
                while !over.load(Ordering::Relaxed) {
                    let name = format!("shared{}", rand::random_range(0..3));
                    session.run(&format!("SELECT GET_LOCK('{name}', 60)"));
                    session.unlock(&name);
                }
                session.unlock(&format!("own{n}"));
            });
        }
        // A lease has fifteen renewals and three audits.
        let worked = [&a, &b].map(|proxy| {
            let renewals = || proxy.metric("lockstead_lease_renewal_seconds_count");
            let enough = renewals() + 18.0;
            within(PATIENCE, || (renewals() >= enough).then_some(())).is_some()
        });
        over.store(true, Ordering::Relaxed);
        assert_eq!(worked, [true; 2], "both proxies renew for longer than a lease");
    });
    for proxy in [&a, &b] {
        assert!(proxy.metric("lockstead_lost_rows_total") < 1.0);
        assert!(proxy.metric("lockstead_ghost_rows_total") < 1.0);
    }
}

fn locks_of_a_proxy_whose_row_is_gone_pass_on(server: &Server) {
    let often = ["--lease", "2s", "--collect-after", "2s"];
    let mut dying = Proxy::start(&server.url, &often);
    let other = join(server, &dying, &often);
    let (mut idle, mut busy) = (Session::at(dying.port), Session::at(dying.port));
    let (mut one, mut two) = (Session::at(other.port), Session::at(other.port));
    idle.lock("idle");
    busy.lock("busy");
    one.ask_for("idle");
    two.ask_for("busy");
    let mut root = server.root();
    busy.send("SELECT SLEEP(8)");
    until_busy(&mut root, busy.id());
    dying.signal("KILL");
    dying.wait();
    root.run(&format!(
        "DELETE FROM {}.proxies WHERE addr='127.0.0.1:{}'",
        other.schema, dying.port
    ));
    one.gets_it();
    two.gets_it();
    assert!(!is_at_server(&mut root, flavour_of(server), busy.id()), "granted too early");
    // A proxy that lives goes on as another incarnation, and lets go.
    root.run(&format!("DELETE FROM {}.proxies", other.schema));
    one.last_words();
    let mut next = Session::at(other.port);
    eventually("it grants again", || {
        let asked = next.client.query(b"SELECT GET_LOCK('idle', 1)");
        (asked.error().is_none() && !next.is_free("idle")).then_some(())
    });
    eventually("only rows of known proxies are left", || {
        let sql = format!(
            "SELECT COUNT(*) FROM {0}.locks WHERE holder NOT IN (SELECT id FROM {0}.proxies) AND holder<>0",
            other.schema
        );
        (root.column(&sql) == ["0"]).then_some(())
    });
}

fn a_start_waits_for_the_session_that_has_locked_the_tables(server: &Server) {
    let schema = fresh_schema();
    install(server, &schema);
    let mut other = Session::at(server.port);
    other.run(&format!("LOCK TABLES {schema}.locks WRITE"));
    let proxy = thread::scope(|scope| {
        let start = scope.spawn(|| Proxy::start_on(&server.url, &schema, &[]));
        let waiting = format!(
            "SELECT id FROM information_schema.processlist \
             WHERE state LIKE 'Waiting for table%' AND info LIKE '%{schema}%'"
        );
        let mut seen = BTreeSet::new();
        eventually("it tries again", || {
            seen.extend(server.root().column(&waiting));
            (seen.len() > 1).then_some(())
        });
        other.run("UNLOCK TABLES");
        start.join().expect("started")
    });
    assert!(proxy.log().contains("another session has locked the lock tables"), "{}", proxy.log());
    Session::at(proxy.port).lock("k");
    drop(proxy);
    server.root().run(&format!("DROP DATABASE {schema}"));
}
