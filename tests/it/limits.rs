//! Limits: each is met with a clear error and counted, and the session goes on.

use std::io::Read;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::own_server::flavour_of;
use crate::proxy::{Proxy, fresh_schema};
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{eventually, on_both};
use crate::wire::{Execute, Param, Shape};

on_both! {
    a_session_holds_so_many_locks_and_no_more
    prepared_lock_calls_take_so_much_memory_and_no_more
    so_many_sessions_wait_and_no_more
    one_client_too_many_gets_an_error
    so_many_logins_are_begun_in_a_second
    named_locks_have_metrics_of_their_own
    a_text_that_reads_in_many_ways_keeps_nobody_waiting
}

fn met(proxy: &Proxy, limit: &str) -> f64 {
    proxy.metric(&format!("lockstead_limits_met_total{{limit=\"{limit}\"}}"))
}

/// The error of a statement.
fn error(session: &mut Session, sql: &str) -> String {
    session.send(sql);
    let response = session.client.read_response(Shape::Query);
    let packet = response.packets.iter().find(|p| p.payload.first() == Some(&0xff));
    let packet = packet.unwrap_or_else(|| panic!("no error: {sql}"));
    String::from_utf8_lossy(&packet.payload[3..]).into_owned()
}

fn a_session_holds_so_many_locks_and_no_more(server: &Server) {
    let proxy = Proxy::start(&server.url, &["--max-session-locks", "2"]);
    let mut session = Session::at(proxy.port);
    session.lock("a");
    session.lock("b");
    let refused = error(&mut session, "SELECT GET_LOCK('c', 0)");
    assert!(
        refused.contains("42000User 'root@127.0.0.1' has exceeded Lockstead's 'max_session_locks'"),
        "{refused}"
    );
    assert!(session.is_free("c"));
    // Not one more: the same again.
    session.lock("a");
    assert_eq!(met(&proxy, "max_session_locks").to_bits(), 1_f64.to_bits());
    session.unlock("b");
    session.lock("c");
}

/// The id of a statement that is prepared, or the error.
fn prepare(session: &mut Session, sql: &str) -> Result<u32, String> {
    let response = session.client.prepare(sql.as_bytes());
    let payload = &response.packets[0].payload;
    match payload[..] {
        [0, a, b, c, d, ..] => Ok(u32::from_le_bytes([a, b, c, d])),
        _ => Err(String::from_utf8_lossy(&payload[3..]).into_owned()),
    }
}

fn prepared_lock_calls_take_so_much_memory_and_no_more(server: &Server) {
    let proxy = Proxy::start(&server.url, &["--max-session-memory", "30000"]);
    let mut session = Session::at(proxy.port);
    let sql = format!("SELECT GET_LOCK(?, 0) AS {}", "x".repeat(60));
    let execution = |param| Execute { params: vec![param], ..Execute::default() };
    let mut ids = Vec::new();
    let refused = loop {
        match prepare(&mut session, &sql) {
            Ok(id) => ids.push(id),
            Err(error) => break error,
        }
        assert!(ids.len() < 1000, "no limit");
    };
    let says = "42000User 'root@127.0.0.1' has exceeded Lockstead's 'max_session_memory'";
    assert!(refused.contains(says), "{refused}");
    assert!(ids.len() > 2, "room for {} statements", ids.len());
    // The client does not have it, so the server must not keep it.
    let kept = match flavour_of(server) {
        Flavour::MySql => {
            "SELECT COUNT(*) FROM performance_schema.prepared_statements_instances \
             WHERE owner_thread_id = PS_CURRENT_THREAD_ID()"
        }
        Flavour::MariaDb => {
            "SELECT (SELECT variable_value FROM information_schema.session_status \
             WHERE variable_name = 'Com_stmt_prepare') - variable_value \
             FROM information_schema.session_status WHERE variable_name = 'Com_stmt_close'"
        }
    };
    assert_eq!(session.value(kept), Some(ids.len().to_string()));
    let named = error(&mut session, &format!("PREPARE s FROM \"{sql}{}\"", " ".repeat(1000)));
    assert!(named.contains("'max_session_memory'"), "{named}");
    // Statements without a lock call have no such limit.
    assert!(prepare(&mut session, "SELECT ?").is_ok());
    let first = ids.remove(0);
    session.client.send_long_data(first, 0, &[b'a'; 5000]);
    let long = session.client.execute(first, &execution(Param::LongData(253)));
    assert_eq!(long.error(), Some(1226), "no room for what is bound piece by piece");
    // The long data is forgotten, by the server too.
    let plain = session.client.execute(first, &execution(Param::Text(b"a".to_vec())));
    assert_eq!(plain.error(), None);
    assert!(!session.is_free("a"));
    // There is room again.
    session.client.close_statement(first);
    prepare(&mut session, &sql).expect("prepared");
    assert_eq!(met(&proxy, "max_session_memory").to_bits(), 3_f64.to_bits());
}

fn so_many_sessions_wait_and_no_more(server: &Server) {
    let proxy = Proxy::start(&server.url, &["--max-waiters", "1"]);
    let mut holder = Session::at(proxy.port);
    let mut waiter = Session::at(proxy.port);
    let mut other = Session::at(proxy.port);
    holder.lock("a");
    waiter.ask_for("a");
    eventually("it waits", || (proxy.metric("lockstead_locks_waiting") >= 1.0).then_some(()));
    let refused = error(&mut other, "SELECT GET_LOCK('a', 10)");
    assert!(refused.contains("'max_waiters'"), "{refused}");
    assert_eq!(other.value("SELECT GET_LOCK('a', 0)").as_deref(), Some("0"), "that is no wait");
    holder.unlock("a");
    waiter.gets_it();
    waiter.unlock("a");
    assert_eq!(other.value("SELECT GET_LOCK('a', 10)").as_deref(), Some("1"));
}

/// What a client is told in place of a greeting.
fn greeted(port: u16) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    let mut head = [0; 4];
    stream.read_exact(&mut head).expect("a packet");
    let mut payload = vec![0; usize::from(u16::from_le_bytes([head[0], head[1]]))];
    stream.read_exact(&mut payload).expect("a packet");
    String::from_utf8_lossy(&payload).into_owned()
}

fn one_client_too_many_gets_an_error(server: &Server) {
    let proxy = Proxy::start(&server.url, &["--max-connections", "1"]);
    let first = Session::at(proxy.port);
    for _ in 0..5 {
        let told = greeted(proxy.port);
        assert!(told.contains("Too many connections"), "{told:?}");
    }
    assert_eq!(met(&proxy, "max_connections").to_bits(), 5_f64.to_bits());
    drop(first);
    eventually("there is room again", || {
        (!greeted(proxy.port).contains("Too many connections")).then_some(())
    });
}

fn so_many_logins_are_begun_in_a_second(server: &Server) {
    let proxy = Proxy::start(&server.url, &["--max-login-rate", "1"]);
    let told: Vec<String> = (0..30).map(|_| greeted(proxy.port)).collect();
    let refused = told.iter().filter(|told| told.contains("max_login_rate")).count();
    assert!(refused > 0, "thirty logins took thirty seconds");
    assert!(told.iter().all(|told| told.contains("max_login_rate") || !told.contains("Too many")));
    assert!(met(&proxy, "max_login_rate") > 0.0);
}

fn named_locks_have_metrics_of_their_own(server: &Server) {
    let proxy = Proxy::start(&server.url, &["--metrics-locks", "job:*,nightly"]);
    let mut session = Session::at(proxy.port);
    for name in ["job:1", "nightly", "other"] {
        session.lock(name);
    }
    session.unlock("nightly");
    let of = |metric: &str, lock: &str| {
        proxy.metric(&format!("lockstead_named_{metric}{{lock=\"{lock}\"}}")).to_bits()
    };
    assert_eq!(of("lock_grants_total", "job:1"), 1_f64.to_bits());
    assert_eq!(of("locks_held", "job:1"), 1_f64.to_bits());
    assert_eq!(of("locks_held", "nightly"), 0_f64.to_bits());
    assert!(!proxy.page("/metrics").contains("lock=\"other\""));
}

/// A text of so many items with a lock call, and something between.
fn items(between: &[u8]) -> Vec<u8> {
    const SIZE: usize = 40_000;
    let mut text = [&b"SELECT GET_LOCK('k', 0), "[..], between].concat();
    text.extend(b", a".iter().cycle().take(SIZE));
    text
}

/// The least that a text takes, and the most that a lock and its release take another session
/// meanwhile.
fn taken(port: u16, text: &[u8]) -> (Duration, Duration) {
    let once = || {
        let (mut session, mut other) = (Session::at(port), Session::at(port));
        other.lock("a");
        other.unlock("a");
        std::thread::scope(|scope| {
            let sender = scope.spawn(move || {
                let began = Instant::now();
                session.client.send_query(text, &[]);
                session.client.read_response(Shape::Query);
                began.elapsed()
            });
            let mut longest = Duration::ZERO;
            while !sender.is_finished() {
                let began = Instant::now();
                other.lock("a");
                other.unlock("a");
                longest = longest.max(began.elapsed());
            }
            (sender.join().expect("answered"), longest)
        })
    };
    let all: Vec<_> = std::iter::repeat_with(once).take(3).collect();
    let least = |nth: fn(&(Duration, Duration)) -> Duration| all.iter().map(nth).min();
    (least(|t| t.0).unwrap_or_default(), least(|t| t.1).unwrap_or_default())
}

fn a_text_that_reads_in_many_ways_keeps_nobody_waiting(server: &Server) {
    // Known in all modes, and in none.
    let plain = items(b"'x'");
    let odd = items(b"\"\\\x81a[\xa0 \xff --\x7f\"");
    let dir = std::env::temp_dir().join(fresh_schema());
    let dir = dir.to_str().expect("a plain path");
    for extra in [&[][..], &["--mode", "observe", "--state-dir", dir]] {
        let proxy = Proxy::start(&server.url, extra);
        let (usual, waits) = taken(proxy.port, &plain);
        let (took, waited) = taken(proxy.port, &odd);
        println!("{extra:?}: {took:?} and {waited:?}, else {usual:?} and {waits:?}");
        assert!(took < 6 * usual, "{extra:?}: {took:?}, a plain text {usual:?}");
        assert!(waited < 6 * usual, "{extra:?}: another one {waited:?}, a plain text {usual:?}");
    }
    // Where nothing was kept there is nothing to remove.
    let _ = std::fs::remove_dir_all(dir);
}
