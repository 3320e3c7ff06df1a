//! Rows that are claimed by the server's own lock: the server judges the claim, at the moment when it has the row.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use lockstead::lock::name::{Key, Name, computed};
use lockstead::store::batch::BatchResult;
use lockstead::store::rows::LockRow;
use lockstead::store::schema::{Installed, VERSION};
use lockstead::store::statement::{BatchWriter, LockChange, Others, Precedence};
use lockstead::store::user_locks::UserLocks;
use lockstead::types::{BackendId, ConnectionId, ProxyId};

use crate::cli::text;
use crate::invariants::{FLOOR, Store, acquire, agree, hex, key, live, release};
use crate::launch::{SERVE, run};
use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::{Proxy, fresh_schema};
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{eventually, on_both};

on_both! {
    a_session_with_the_servers_lock_takes_the_row_of_the_holder_before
    a_session_without_the_servers_lock_changes_nothing
    a_claim_is_judged_when_it_has_the_row
    a_lone_claim_after_one_of_the_same_proxy_is_judged_like_any_other
    claims_of_any_number_report_the_outcome_for_each_key
    a_name_reaches_the_server_as_its_client_gave_it
    a_row_that_is_kept_without_the_server_is_waited_for
    a_native_lock_is_not_taken_by_a_proxy_that_keeps_rows_alone
    a_row_of_another_run_or_server_proves_nothing
    a_proxy_that_waits_is_passed_only_from_one_native_holder_to_the_next
    the_servers_locks_are_listed_by_session
    tables_of_earlier_versions_are_upgraded_while_their_proxies_run
    a_claim_is_logged_as_a_row
}

pub(crate) fn family(server: &Server) -> lockstead::types::Flavour {
    match flavour_of(server) {
        Flavour::MySql => lockstead::types::Flavour::MySql,
        Flavour::MariaDb => lockstead::types::Flavour::MariaDb,
    }
}

/// The name of a lock that no other test takes: the server has one of each name.
fn own_name() -> String {
    fresh_schema()
}

/// A claim in the name of a session's connection.
fn claim(name: &str, id: u64, session: &Session) -> LockChange {
    claim_for(key(name), id, session)
}

fn claim_for(key: Key, id: u64, session: &Session) -> LockChange {
    let mut change = LockChange { key, ..acquire("x", id, FLOOR + id) };
    let grant = change.acquire.as_mut().expect("a grant");
    (grant.native, grant.conn) = (true, ConnectionId(session.id()));
    grant.turn = Precedence::Pass;
    change
}

/// A claim after a lock of the same proxy with this token.
fn claim_after(token: u64, name: &str, id: u64, session: &Session) -> LockChange {
    let mut change = claim(name, id, session);
    change.acquire.as_mut().expect("a grant").after = Some(token);
    change
}

fn with_turn(mut change: LockChange, turn: Precedence) -> LockChange {
    change.acquire.as_mut().expect("a grant").turn = turn;
    change
}

fn with_token(mut change: LockChange, token: u64) -> LockChange {
    change.acquire.as_mut().expect("a grant").token = token;
    change
}

/// The row of a batch of one, which was won.
#[track_caller]
fn won(result: BatchResult, writer: &BatchWriter, change: &LockChange) -> LockRow {
    let grant = change.acquire.as_ref().expect("a grant");
    let [row] = result.rows.try_into().expect("a row");
    let LockRow { holder, conn, .. } = row;
    assert!(result.guarded && result.unproven.is_empty());
    assert_eq!((holder, row.grant, conn), (writer.proxy.0, grant.id, grant.conn.0));
    row
}

fn a_session_with_the_servers_lock_takes_the_row_of_the_holder_before(server: &Server) {
    let k = &*own_name();
    let mut store = Store::new(server);
    let (one, two) = (store.join(1), store.join(2));
    let (mut a, mut b) = (Session::at(server.port), Session::at(server.port));
    a.lock(k);
    let first = claim(k, 10, &a);
    let first = won(store.run_one(&one, first.clone()), &one, &first);
    assert_eq!(first.run, store.conn.run_number());
    a.unlock(k);
    b.lock(k);
    // Whether the other proxy has said that it is released or not.
    let second = claim(k, 20, &b);
    let result = store.run_among(&two, std::slice::from_ref(&second), &live(&[1]));
    let second = won(result, &two, &second);
    assert!(second.token > first.token);
    let late = store.run_one(&one, release(k, first.token));
    assert!(late.missed);
    assert_eq!(store.holder(k), "2");
    // Two sessions of one proxy, and a session that had the lock before.
    b.unlock(k);
    a.lock(k);
    for (id, writer) in [(30, &two), (31, &two), (32, &one)] {
        let again = claim(k, id, &a);
        let before = store.token(k);
        let row = won(store.run_one(writer, again.clone()), writer, &again);
        assert!(row.token > before);
        assert_eq!(store.token(k), row.token);
    }
    let sql = "SELECT CONCAT_WS(' ',conn,sess=proof,run) FROM {}.locks";
    assert_eq!(store.sql(sql), [format!("{} 1 {}", a.id(), store.conn.run_number())]);
}

fn a_session_without_the_servers_lock_changes_nothing(server: &Server) {
    let mut store = Store::new(server);
    let one = store.join(1);
    let (mut a, mut b) = (Session::at(server.port), Session::at(server.port));
    let names = [own_name(), own_name(), own_name()];
    let [held, free, new] = names.each_ref().map(String::as_str);
    a.lock(held);
    let change = claim(held, 10, &a);
    won(store.run_one(&one, change.clone()), &one, &change);
    b.lock(free);
    let change = claim(free, 11, &b);
    let row = won(store.run_one(&one, change.clone()), &one, &change);
    store.run_one(&one, release(free, row.token));
    b.unlock(free);
    let rows =
        "SELECT CONCAT_WS(' ',k,tok,holder,sess,conn,run,proof,want) FROM {}.locks ORDER BY k";
    let before = store.sql(rows);
    for turn in [Precedence::Pass, Precedence::Take, Precedence::Queue(5)] {
        for name in [held, free, new] {
            let late = with_turn(claim(name, 20, &b), turn);
            let result = store.run_one(&one, late);
            assert!(result.guarded);
            assert_eq!(result.unproven, HashSet::from([key(name)]), "{name}");
        }
        assert_eq!(store.sql(rows), before);
    }
}

/// A claim that waits for the row while its session lets go, and the next one's claim is on the way.
fn a_claim_is_judged_when_it_has_the_row(server: &Server) {
    late_claim(server, |_, name, id, session| claim(name, id, session));
}

/// A late claim where the row is the proxy's own, and a statement of less work changes it.
fn a_lone_claim_after_one_of_the_same_proxy_is_judged_like_any_other(server: &Server) {
    late_claim(server, claim_after);
    let k = &*own_name();
    let mut store = Store::new(server);
    let (one, two) = (store.join(1), store.join(2));
    let (mut a, mut b) = (Session::at(server.port), Session::at(server.port));
    a.lock(k);
    let first = claim(k, 10, &a);
    let mut token = won(store.run_one(&one, first.clone()), &one, &first).token;
    let (run, sql) =
        (store.conn.run_number(), "SELECT CONCAT_WS(' ',conn,sess=proof,run,tok) FROM {}.locks");
    for id in 11..14 {
        a.unlock(k);
        b.lock(k);
        let next = claim_after(token, k, id, &b);
        let row = won(store.run_one(&one, next.clone()), &one, &next);
        assert!(row.token > token && row.run == run);
        token = row.token;
        assert_eq!(store.sql(sql), [format!("{} 1 {run} {token}", b.id())]);
        std::mem::swap(&mut a, &mut b);
    }
    // A session that does not have the lock changes nothing.
    let vain = store.run_one(&one, claim_after(token, k, 20, &b));
    assert_eq!(vain.unproven, HashSet::from([key(k)]));
    // Another proxy's session has had it since, and the claim knows nothing of that.
    a.unlock(k);
    b.lock(k);
    let other = claim(k, 30, &b);
    let other = won(store.run_one(&two, other.clone()), &two, &other);
    b.unlock(k);
    a.lock(k);
    let back = claim_after(token, k, 40, &a);
    assert!(won(store.run_one(&one, back.clone()), &one, &back).token > other.token);
    // The outcome names the proxy that waits.
    let waits = with_turn(acquire(k, 50, FLOOR + 500), Precedence::Queue(5));
    store.run_among(&two, std::slice::from_ref(&waits), &live(&[1]));
    let last = claim_after(store.token(k), k, 60, &a);
    let last = with_token(last, FLOOR + 1000);
    let result = store.run_among(&one, std::slice::from_ref(&last), &live(&[2]));
    assert_eq!(won(result, &one, &last).want, 2);
}

/// A claim, which knows the token of the one before, waits for the row while its session lets go.
fn late_claim(server: &Server, claim_of: fn(u64, &str, u64, &Session) -> LockChange) {
    let k = &*own_name();
    let mut store = Store::new(server);
    let mut root = server.root();
    let one = store.join(1);
    let mut a = Session::at(server.port);
    a.lock(k);
    let held = claim(k, 10, &a);
    let token = won(store.run_one(&one, held.clone()), &one, &held).token;
    let schema = store.url.schema.clone();
    for attempt in 1.. {
        a.run(&format!("DO RELEASE_LOCK('{k}')"));
        a.lock(k);
        let mut blocker = Session::at(server.port);
        blocker.run("BEGIN");
        blocker.run(&format!("UPDATE {schema}.locks SET owner='blocked'"));
        let late = claim_of(token, k, 100 + attempt, &a);
        let statement = format!(
            "SELECT info FROM {} WHERE id={} AND info IS NOT NULL",
            root.processes(),
            store.conn.id()
        );
        let result = std::thread::scope(|scope| {
            let store = &mut store;
            let late = scope.spawn(|| {
                let Store { runtime, conn, .. } = store;
                runtime.block_on(conn.run_batch(&one, &[late], &Others::default()))
            });
            // Nothing else keeps it in one statement for so long.
            let mut last = (Vec::new(), Instant::now());
            eventually("the claim waits for the row", || {
                let now = root.column(&statement);
                if now != last.0 || now.is_empty() {
                    last = (now, Instant::now());
                }
                (last.1.elapsed() > Duration::from_millis(100) || late.is_finished()).then_some(())
            });
            a.unlock(k);
            blocker.run("COMMIT");
            late.join().expect("a claim")
        });
        match result {
            // The batch has waited for too long, or a busy server wants the statement prepared again.
            Err(e) if e.is_retryable() && attempt < 20 => {}
            result => {
                let result = result.expect("a batch");
                assert_eq!(result.unproven, HashSet::from([key(k)]));
                assert_eq!(result.rows[0].grant, 10, "it was won after its session had let go");
                return;
            }
        }
    }
}

/// Proven and not, in rows that are there and not, beside releases and grants of other kinds.
fn claims_of_any_number_report_the_outcome_for_each_key(server: &Server) {
    let mut store = Store::new(server);
    let one = store.join(1);
    let (mut a, b) = (Session::at(server.port), Session::at(server.port));
    let mut id = 1000;
    for size in (1..12).chain([31, 32, 33, 100, 256]) {
        let names: Vec<String> = (0..size).map(|n| format!("{size:03} {n:03}")).collect();
        let locks: Vec<String> = names.iter().map(|name| format!("GET_LOCK('{name}',0)")).collect();
        a.run(&format!("DO {}", locks.join(",")));
        for _ in 0..3 {
            let mut changes = Vec::new();
            for (n, name) in names.iter().enumerate() {
                id += 1;
                match n % 5 {
                    1 => changes.push(claim(name, id, &b)),
                    // By its row alone.
                    2 => changes.push(acquire(name, id, FLOOR + id)),
                    _ => changes.push(claim(name, id, &a)),
                }
            }
            changes.sort_by(|x, y| x.key.cmp(&y.key));
            let result = store.run_among(&one, &changes, &Others::default());
            let rows = agree(&store, &result, &changes);
            let unproven: HashSet<Key> =
                names.iter().skip(1).step_by(5).map(|name| key(name)).collect();
            assert_eq!(result.unproven, unproven, "size {size}");
            for change in changes {
                let grant = change.acquire.as_ref().expect("a grant");
                let row = rows.iter().find(|row| row.key == change.key.as_bytes());
                if unproven.contains(&change.key) {
                    assert!(row.is_none());
                } else if let Some(row) = row.filter(|row| row.grant == grant.id) {
                    assert_eq!(row.token, grant.token, "size {size}");
                    assert_eq!(row.run != 0, grant.native);
                } else {
                    assert!(!grant.native, "size {size}");
                }
            }
            // Locks that only a row keeps are free for the next round.
            store.sql("UPDATE {}.locks SET holder=0 WHERE proof<>sess");
        }
        a.run("DO RELEASE_ALL_LOCKS()");
    }
}

/// The key of a name, as the proxy has it computed.
fn named(session: &mut Session, expression: &str, server: &Server) -> Name {
    let flavour = family(server);
    let (folded, chars) = match flavour {
        lockstead::types::Flavour::MySql => (
            format!("LOWER(CONVERT({expression} USING utf8mb3) COLLATE utf8mb3_general_ci)"),
            format!("CHAR_LENGTH(CONVERT({expression} USING utf8mb3))"),
        ),
        lockstead::types::Flavour::MariaDb => (expression.to_owned(), "0".to_owned()),
    };
    let folded = session.value(&format!("SELECT HEX({folded})")).expect("a name");
    let chars = session.value(&format!("SELECT {chars}")).expect("a number");
    let folded = hex::decode(folded).expect("digits");
    computed(&folded, chars.parse().expect("a number"), b"?", flavour).expect("a valid name")
}

fn a_name_reaches_the_server_as_its_client_gave_it(server: &Server) {
    let mut store = Store::new(server);
    let one = store.join(1);
    let mut names = vec![
        "'Job A'",
        "'  '",
        "x'00'",
        "'a\\0b'",
        "CAST('Bytes' AS BINARY)",
        "_latin1 x'c9e9'",
        "_utf8mb3 x'c389c3a9'",
        "_utf8mb4 x'c389c3a9'",
        "_ucs2 x'00410062'",
        "_utf16 x'0041'",
        "_sjis x'835c'",
        "_gbk x'815c'",
        "_cp1251 x'c6e6'",
        // İ, the Kelvin sign, Ⱥ
        "_utf8mb4 x'c4b0e284aac8ba'",
        "REPEAT('A',64)",
        "REPEAT(_utf8mb4 x'c389',64)",
        "REPEAT(_utf8mb4 x'e6bca2',64)",
        "CONCAT(REPEAT(_latin1 x'c9',63),_latin1 x'00')",
    ];
    if flavour_of(server) == Flavour::MariaDb {
        names.extend(["REPEAT('A',192)", "REPEAT(_utf8mb4 x'f09f9880',48)", "x'ff41'"]);
        names.push("CONCAT('A',REPEAT(x'00',191))");
    }
    let flavour = family(server);
    for (id, name) in (10..).zip(names) {
        let (mut a, b) = (Session::at(server.port), Session::at(server.port));
        assert_eq!(a.value(&format!("SELECT GET_LOCK({name},0)")).as_deref(), Some("1"), "{name}");
        let Name { key, .. } = named(&mut a, name, server);
        let other = store.run_one(&one, claim_for(key.clone(), 1000 + id, &b));
        assert_eq!(other.unproven.len(), 1, "{name}");
        // Once for the row that is not there, once for the one that is.
        for round in [2000, 3000] {
            let own = claim_for(key.clone(), round + id, &a);
            won(store.run_one(&one, own.clone()), &one, &own);
        }
        if flavour == lockstead::types::Flavour::MySql {
            let listed = store.runtime.block_on(store.conn.user_locks(Some(&[a.id()])));
            let UserLocks::Listed { locks, .. } = listed.expect("a list") else {
                panic!("no list");
            };
            let keys: Vec<&Key> = locks.iter().map(|lock| &lock.name.key).collect();
            assert_eq!(keys, [&key], "{name}");
        }
        // The next name may be the same lock.
        a.run("DO RELEASE_ALL_LOCKS()");
        store.sql(&format!("DELETE FROM {{}}.locks WHERE k=x'{}'", hex(&key)));
    }
}

fn a_row_that_is_kept_without_the_server_is_waited_for(server: &Server) {
    let k = &*own_name();
    let mut store = Store::new(server);
    let (one, two) = (store.join(1), store.join(2));
    let mut a = Session::at(server.port);
    let token = store.take(&one, k, 10).token;
    a.lock(k);
    let queue = |id| with_turn(claim(k, id, &a), Precedence::Queue(token));
    let waits = store.run_among(&two, &[queue(20)], &live(&[1]));
    assert!(waits.unproven.is_empty());
    assert_eq!((waits.rows[0].holder, waits.rows[0].want, waits.rows[0].run), (1, 2, 0));
    store.run_one(&one, release(k, token));
    // The row is left to the proxy that waits, whose claim it is.
    assert_eq!(store.run_among(&one, &[acquire(k, 11, FLOOR)], &live(&[2])).rows[0].holder, 0);
    let change = queue(21);
    let row = won(store.run_among(&two, std::slice::from_ref(&change), &live(&[1])), &two, &change);
    store.run_one(&two, release(k, row.token));
    // A grant by the row alone after a native one is no native one.
    let row = store.take(&one, k, 12);
    assert_eq!(row.run, 0);
    assert_eq!(store.run_one(&two, claim(k, 22, &a)).rows[0].holder, 1);
    // Unless its proxy is dead and clean.
    store.revoke(1);
    store.declare_clean(1);
    let change = claim(k, 23, &a);
    let others = Others { clean: vec![ProxyId(1)], ..Others::default() };
    won(store.run_among(&two, std::slice::from_ref(&change), &others), &two, &change);
}

fn a_native_lock_is_not_taken_by_a_proxy_that_keeps_rows_alone(server: &Server) {
    let k = &*own_name();
    let mut store = Store::new(server);
    let (one, two) = (store.join(1), store.join(2));
    let mut a = Session::at(server.port);
    a.lock(k);
    let held = claim(k, 10, &a);
    let row = won(store.run_one(&one, held.clone()), &one, &held);
    for turn in [Precedence::Yield, Precedence::Take, Precedence::Queue(row.token)] {
        let rival = with_turn(acquire(k, 20, FLOOR), turn);
        let result = store.run_among(&two, &[rival], &live(&[1]));
        assert_eq!((result.rows[0].holder, result.rows[0].grant), (1, 10));
    }
    assert_eq!(store.want(k), "2");
    store.run_one(&one, release(k, row.token));
    assert_eq!(store.take(&two, k, 21).run, 0);
}

fn a_row_of_another_run_or_server_proves_nothing(server: &Server) {
    let k = &*own_name();
    let mut store = Store::new(server);
    let (one, two) = (store.join(1), store.join(2));
    let mut a = Session::at(server.port);
    a.lock(k);
    let held = claim(k, 10, &a);
    won(store.run_one(&one, held.clone()), &one, &held);
    let mut id = 20;
    for (change, holds) in [
        ("run=run+1", true),
        ("run=run-3", false),
        ("run=run+6", false),
        ("run=run-1", true),
        ("run=run ^ (1 << 40)", false),
        ("run=run ^ (1 << 40)", true),
        ("proof=proof+1", false),
    ] {
        store.sql(&format!("UPDATE {{}}.locks SET {change}"));
        // The other proxy's claim leaves the row to be changed again.
        id += 1;
        let result = store.run_one(&two, claim(k, id, &a));
        assert_eq!(result.rows[0].holder == 2, holds, "{change}");
        assert!(result.unproven.is_empty());
        if holds {
            let here = store.conn.run_number();
            store.sql(&format!("UPDATE {{}}.locks SET holder=1, run={here}"));
        }
    }
}

/// As between proxies that keep rows alone: a free row is left to the one that waits.
fn a_proxy_that_waits_is_passed_only_from_one_native_holder_to_the_next(server: &Server) {
    let k = &*own_name();
    let mut store = Store::new(server);
    let (one, two) = (store.join(1), store.join(2));
    let (mut a, mut b) = (Session::at(server.port), Session::at(server.port));
    a.lock(k);
    let held = claim(k, 10, &a);
    let token = won(store.run_one(&one, held.clone()), &one, &held).token;
    let waits = with_turn(acquire(k, 20, FLOOR), Precedence::Queue(token));
    store.run_among(&two, &[waits], &live(&[1]));
    a.unlock(k);
    b.lock(k);
    let next = claim(k, 11, &b);
    let row = won(store.run_among(&one, std::slice::from_ref(&next), &live(&[2])), &one, &next);
    assert_eq!(row.want, 2, "it waits on");
    // Often enough.
    let yields = with_turn(claim(k, 12, &b), Precedence::Yield);
    let result = store.run_among(&one, &[yields], &live(&[2]));
    assert_eq!((result.rows[0].grant, result.unproven.len()), (11, 0));
    store.run_one(&one, release(k, row.token));
    let result = store.run_among(&one, &[claim(k, 13, &b)], &live(&[2]));
    assert_eq!((result.rows[0].holder, result.rows[0].want), (0, 2));
    let result = store.run_among(&two, &[acquire(k, 21, FLOOR)], &live(&[1]));
    assert_eq!(result.rows[0].holder, 2);
}

fn the_servers_locks_are_listed_by_session(server: &Server) {
    let flavour = flavour_of(server);
    let own = (flavour == Flavour::MariaDb)
        .then(|| OwnServer::start(flavour, &["--plugin-load-add=metadata_lock_info"]));
    let listing = own.as_ref().map_or(server, |own| &own.server);
    let mut store = Store::new(listing);
    let (mut a, mut b) = (Session::at(listing.port), Session::at(listing.port));
    a.run("DO GET_LOCK('One',0), GET_LOCK('one',0), GET_LOCK('é',0)");
    b.run("DO GET_LOCK('two',0)");
    let list = |store: &mut Store, of: Option<&[u64]>| {
        let listed = store.runtime.block_on(store.conn.user_locks(of)).expect("an answer");
        let UserLocks::Listed { locks, garbled } = listed else { panic!("{listed:?}") };
        let mut names: Vec<(u64, String)> =
            locks.iter().map(|lock| (lock.conn.0, lock.name.key.shown())).collect();
        names.sort();
        (names, garbled)
    };
    let of_a: &[&str] =
        if flavour == Flavour::MySql { &["one", "é"] } else { &["One", "one", "é"] };
    let of_a: Vec<_> = of_a.iter().map(|name| (a.id(), (*name).to_owned())).collect();
    assert_eq!(list(&mut store, Some(&[a.id()])), (of_a.clone(), vec![]));
    let (all, _) = list(&mut store, None);
    assert!(of_a.iter().all(|lock| all.contains(lock)) && all.contains(&(b.id(), "two".into())));
    if flavour == Flavour::MariaDb {
        // MariaDB's table has no room for such letters.
        b.run("DO GET_LOCK(_utf8mb4 x'f09f9880',0)");
        let (names, garbled) = list(&mut store, Some(&[b.id()]));
        assert_eq!((names.len(), garbled), (1, vec![BackendId(b.id())]));
        let mut plain = Store::new(server);
        let listed = plain.runtime.block_on(plain.conn.user_locks(None)).expect("an answer");
        assert!(matches!(listed, UserLocks::Unlisted(why) if why.contains("INSTALL SONAME")));
    }
    let asked = [(key("two"), b.id()), (key("two"), a.id()), (key("none"), a.id())];
    let asked = asked.map(|(key, conn)| (key, BackendId(conn)));
    let held = store.runtime.block_on(store.conn.holds_natively(&asked)).expect("an answer");
    assert_eq!(held, [true, false, false]);
}

/// The tables of a version before, and a grant of its proxies.
fn tables_of_earlier_versions_are_upgraded_while_their_proxies_run(server: &Server) {
    let k = &*own_name();
    let mut store = Store::new(server);
    let one = store.join(1);
    let mut a = Session::at(server.port);
    a.lock(k);
    let held = claim(k, 10, &a);
    let row = won(store.run_one(&one, held.clone()), &one, &held);
    store.run_one(&one, release(k, row.token));
    // A grant by a proxy of version 1 does not know the new columns.
    store.sql("UPDATE {}.locks SET holder=1, sess=77, tok=tok+1");
    assert_eq!(store.run_one(&one, claim(k, 11, &a)).rows[0].run, 0);
    assert_eq!(store.holder(k), "1");

    let schema = store.url.schema.clone();
    let place = ["--backend", &format!("127.0.0.1:{}", server.port), "--store"];
    let url = format!("{}{schema}", server.url);
    let place = [&place[..], &[&url, "--state-dir", "off"]].concat();
    let back = [
        "ALTER TABLE {}.locks DROP COLUMN run, DROP COLUMN proof",
        "ALTER TABLE {}.proxies DROP COLUMN mode",
        "ALTER TABLE {}.proxies DROP COLUMN tables, DROP COLUMN keeps",
    ];
    // The second time an upgrade broke off.
    for (left, version) in [(&back[..], 1), (&back[1..], 1), (&back[2..], 2)] {
        for sql in left {
            store.sql(sql);
        }
        store.sql(&format!("UPDATE {{}}.meta SET ver={version}"));
        for command in [&["check"][..], &SERVE] {
            let output = run(&[command, &place[..]].concat());
            let said = text(&output);
            assert_eq!(output.status.code(), Some(1), "{said}");
            let other = format!("has version {version}, this build needs {VERSION}");
            assert!(said.contains(&other), "{said}");
            assert!(said.contains("lockstead schema install") && said.contains("ADD COLUMN keeps"));
        }
        let output = run(&[&["schema", "install"], &place[..]].concat());
        assert!(text(&output).contains(": upgraded"), "{}", text(&output));
        assert_eq!(store.sql("SELECT ver FROM {}.meta"), [VERSION.to_string()]);
    }
    let again = store.runtime.block_on(store.conn.install()).expect("an answer");
    assert_eq!(again, Installed::Nothing);
    store.sql("DELETE FROM {}.proxies");
    store.sql("DELETE FROM {}.locks");
    let proxy = Proxy::start_on(&server.url, &schema, &[]);
    Session::at(proxy.port).lock("other");
}

/// In format MIXED, too: what a replica would see for a call of its own is not the same.
fn a_claim_is_logged_as_a_row(server: &Server) {
    let k = &*own_name();
    let options = ["--log-bin=binlog", "--binlog-format=MIXED", "--server-id=7"];
    let own = OwnServer::start(flavour_of(server), &options);
    let mut store = Store::new(&own.server);
    let one = store.join(1);
    let mut a = Session::at(own.server.port);
    a.lock(k);
    store.sql("FLUSH BINARY LOGS");
    for id in [10, 11] {
        let change = claim(k, id, &a);
        won(store.run_one(&one, change.clone()), &one, &change);
    }
    let log = store.sql("SHOW BINARY LOGS").pop().expect("a log");
    let mut root = own.server.root();
    let events = root.run(&format!("SHOW BINLOG EVENTS IN '{log}'"));
    let events: Vec<u8> = events.packets.into_iter().flat_map(|packet| packet.payload).collect();
    let events = String::from_utf8_lossy(&events);
    assert!(events.contains("rite_rows"), "{events}");
    assert!(!events.contains("INSERT INTO"), "{events}");
}
