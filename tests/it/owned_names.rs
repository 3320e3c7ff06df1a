//! Names that stay with a proxy (`keep_names`): a lock passes between its sessions in memory, and others find what is so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::own_server::{OwnServer, SharedServers, flavour_of};
use crate::proxy::Proxy;
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{eventually, join, on_both};

on_both! {
    a_name_that_is_used_again_passes_without_a_write
    a_session_finds_its_token_in_the_tables_at_once
    another_proxy_gets_a_name_that_is_only_kept
    another_proxy_hears_who_has_a_lock_that_no_row_shows_yet
    a_busy_name_passes_to_a_proxy_that_wants_it
    a_name_is_given_back_when_its_time_is_over
    a_stopped_owner_keeps_a_lock_that_no_row_shows
    tokens_grow_after_the_death_of_an_owner
}

/// A server whose lists show the sessions of a proxy that is gone.
pub(crate) fn suited(server: &Server) -> Arc<OwnServer> {
    static RUNNING: SharedServers = SharedServers::none();
    let flavour = flavour_of(server);
    let options: &[&str] = match flavour {
        Flavour::MySql => &[],
        Flavour::MariaDb => &["--performance-schema=ON"],
    };
    RUNNING.get(flavour, options)
}

const KEEPS: [&str; 4] = ["--lease", "3s", "--keep-names", "2s"];
/// So long that no name is given back before the end of a test.
const LONG: [&str; 4] = ["--lease", "10s", "--keep-names", "1m"];

fn in_memory(proxy: &Proxy) -> f64 {
    proxy.metric("lockstead_granted_in_memory_total")
}

/// Uses a name until it stays.
fn use_until_kept(proxy: &Proxy, session: &mut Session, name: &str) {
    let before = in_memory(proxy);
    eventually("the name is kept", || {
        session.lock(name);
        session.unlock(name);
        (in_memory(proxy) > before).then_some(())
    });
}

fn token(session: &mut Session, schema: &str, name: &str) -> u64 {
    let sql = format!("SELECT token FROM {schema}.held_locks WHERE name='{name}'");
    session
        .value(&sql)
        .unwrap_or_else(|| panic!("{name} is not in the tables"))
        .parse()
        .expect("a token")
}

fn tries(session: &mut Session, name: &str) -> Option<String> {
    session.value(&format!("SELECT GET_LOCK('{name}', 0)"))
}

/// Waits for a lock.
fn gets(session: &mut Session, name: &str) {
    let got = session.value(&format!("SELECT GET_LOCK('{name}', 60)"));
    assert_eq!(got.as_deref(), Some("1"), "{name}");
}

fn is_free(session: &mut Session, name: &str) -> Option<String> {
    session.value(&format!("SELECT IS_FREE_LOCK('{name}')"))
}

fn a_name_that_is_used_again_passes_without_a_write(server: &Server) {
    let own = suited(server);
    let a = Proxy::start(&own.server.url, &LONG);
    let (mut one, mut two) = (Session::at(a.port), Session::at(a.port));
    use_until_kept(&a, &mut one, "k");
    let conn = format!("SELECT conn FROM {}.locks WHERE k='Lk'", a.schema);
    eventually("the row shows nobody", || (own.server.root().column(&conn) == ["0"]).then_some(()));
    let granted = in_memory(&a);
    for _ in 0..50 {
        one.lock("k");
        assert_eq!(tries(&mut two, "k").as_deref(), Some("0"));
        one.unlock("k");
        two.lock("k");
        two.unlock("k");
    }
    // Not all of them: a busy machine may renew the lease late.
    assert!(in_memory(&a) - granted >= 50.0);
}

fn a_session_finds_its_token_in_the_tables_at_once(server: &Server) {
    let own = suited(server);
    let a = Proxy::start(&own.server.url, &LONG);
    let (mut one, mut two) = (Session::at(a.port), Session::at(a.port));
    use_until_kept(&a, &mut one, "k");
    let mut last = 0;
    for _ in 0..20 {
        for session in [&mut one, &mut two] {
            session.lock("k");
            let token = token(session, &a.schema, "k");
            assert!(token > last, "{token} after {last}");
            last = token;
            session.unlock("k");
            let shown = format!("SELECT COUNT(*) FROM {}.held_locks", a.schema);
            assert_eq!(session.value(&shown).as_deref(), Some("0"));
        }
    }
}

fn another_proxy_gets_a_name_that_is_only_kept(server: &Server) {
    let own = suited(server);
    let a = Proxy::start(&own.server.url, &LONG);
    let b = join(&own.server, &a, &LONG);
    let (mut one, mut two) = (Session::at(a.port), Session::at(b.port));
    for (name, way) in [("waits", 0), ("tries", 1), ("asks", 2)] {
        use_until_kept(&a, &mut one, name);
        let began = Instant::now();
        match way {
            0 => gets(&mut two, name),
            1 => assert_eq!(tries(&mut two, name).as_deref(), Some("1")),
            _ => assert_eq!(is_free(&mut two, name).as_deref(), Some("1")),
        }
        assert!(began.elapsed() < Duration::from_secs(50), "not after its time: {name}");
        two.run("DO RELEASE_ALL_LOCKS()");
    }
    assert!(a.metric("lockstead_name_recalls_total{way=\"received\"}") > 0.5);
}

fn another_proxy_hears_who_has_a_lock_that_no_row_shows_yet(server: &Server) {
    let own = suited(server);
    let a = Proxy::start(&own.server.url, &LONG);
    let b = join(&own.server, &a, &LONG);
    let (mut one, mut two) = (Session::at(a.port), Session::at(b.port));
    for way in 0..3 {
        let name = format!("k{way}");
        use_until_kept(&a, &mut one, &name);
        one.lock(&name);
        match way {
            0 => assert_eq!(is_free(&mut two, &name).as_deref(), Some("0")),
            1 => assert_eq!(tries(&mut two, &name).as_deref(), Some("0")),
            _ => {
                let used = two.value(&format!("SELECT IS_USED_LOCK('{name}')"));
                assert_eq!(used, Some(one.id().to_string()));
            }
        }
        // A lock that was released is free for a client that is told so.
        one.unlock(&name);
        assert_eq!(tries(&mut two, &name).as_deref(), Some("1"));
        two.unlock(&name);
    }
}

/// Sessions of the owner take the lock in turn, and never leave the name alone.
fn a_busy_name_passes_to_a_proxy_that_wants_it(server: &Server) {
    let own = suited(server);
    let a = Proxy::start(&own.server.url, &LONG);
    let b = join(&own.server, &a, &LONG);
    let mut one = Session::at(a.port);
    use_until_kept(&a, &mut one, "k");
    let busy = AtomicBool::new(true);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut session = Session::at(a.port);
                while busy.load(Ordering::SeqCst) {
                    gets(&mut session, "k");
                    session.unlock("k");
                }
            });
        }
        let mut two = Session::at(b.port);
        for _ in 0..5 {
            gets(&mut two, "k");
            two.unlock("k");
        }
        busy.store(false, Ordering::SeqCst);
    });
}

fn a_name_is_given_back_when_its_time_is_over(server: &Server) {
    let own = suited(server);
    let a = Proxy::start(&own.server.url, &KEEPS);
    let mut one = Session::at(a.port);
    use_until_kept(&a, &mut one, "k");
    let holder = format!("SELECT holder FROM {}.locks WHERE k='Lk'", a.schema);
    eventually("the name is given back", || {
        (own.server.root().column(&holder) == ["0"]).then_some(())
    });
    assert!(a.metric("lockstead_owned_names") < 0.5);
    // The name is used as before.
    one.lock("k");
    assert!(token(&mut one, &a.schema, "k") > 0);
}

fn a_stopped_owner_keeps_a_lock_that_no_row_shows(server: &Server) {
    let own = suited(server);
    let a = Proxy::start(&own.server.url, &LONG);
    let b = join(&own.server, &a, &["--lease", "1m", "--keep-names", "1m"]);
    let (mut one, mut two) = (Session::at(a.port), Session::at(b.port));
    use_until_kept(&a, &mut one, "k");
    for _ in 0..10 {
        one.lock("k");
        a.signal("STOP");
        assert_eq!(tries(&mut two, "k").as_deref(), Some("0"));
        a.signal("CONT");
        one.unlock("k");
        assert_eq!(tries(&mut two, "k").as_deref(), Some("1"));
        two.unlock("k");
    }
}

fn tokens_grow_after_the_death_of_an_owner(server: &Server) {
    let own = suited(server);
    let mut a = Proxy::start(&own.server.url, &LONG);
    let b = join(&own.server, &a, &LONG);
    let (mut one, mut two) = (Session::at(a.port), Session::at(b.port));
    use_until_kept(&a, &mut one, "k");
    let mut last = 0;
    for _ in 0..20 {
        one.lock("k");
        last = token(&mut one, &a.schema, "k").max(last);
        one.unlock("k");
        // In memory alone.
        one.lock("k");
        one.unlock("k");
    }
    one.lock("k");
    a.signal("KILL");
    a.wait();
    gets(&mut two, "k");
    // The last hold had one more token, or two.
    assert!(token(&mut two, &b.schema, "k") > last + 2);
}
