//! Commands sent without waiting for replies: answered in order, and as the server answers.

use crate::own_server::flavour_of;
use crate::proxy::Proxy;
use crate::script::{Flavour, Server};
use crate::session::{Raw, Session};
use crate::stage::{Database, PATIENCE, on_both};
use crate::wire::command::{PING, QUERY, QUIT, STMT_CLOSE, STMT_EXECUTE, STMT_PREPARE};
use crate::wire::frame::Missing;
use crate::wire::{Execute, Param};

on_both! {
    statements_in_one_write_are_answered_in_order
    lock_calls_between_statements_are_answered_in_order
    a_statement_prepared_and_executed_in_one_write_is_answered
    more_statements_than_may_be_owed_are_answered
    statements_after_a_wait_are_run_when_it_is_over
    an_empty_packet_does_no_harm
}

fn packet(payload: &[u8]) -> Vec<u8> {
    crate::scripted::packet(0, payload)
}

fn query(text: &str) -> Vec<u8> {
    packet(&[&[QUERY][..], text.as_bytes()].concat())
}

/// All frames that answer these bytes and a COM_QUIT after them.
fn answers(port: u16, bytes: &[u8]) -> Vec<([u8; 4], Vec<u8>)> {
    let mut raw = Raw::at(port);
    raw.bytes(&[bytes, &packet(&[QUIT])].concat());
    let deadline = std::time::Instant::now() + PATIENCE;
    let mut frames = Vec::new();
    loop {
        match raw.frames.read(deadline) {
            Ok(frame) => frames.push(frame),
            Err(Missing::Closed) => return frames,
            Err(Missing::TimedOut) => panic!("still open after {frames:?}"),
        }
    }
}

/// Asserts that equal frames come from the server itself and through the proxy.
fn assert_alike(server: &Server, bytes: &[u8]) {
    let proxy = Proxy::start(&server.url, &[]);
    let [direct, proxied] = [server.port, proxy.port].map(|port| {
        let mut frames = answers(port, bytes);
        for (_, payload) in &mut frames {
            // MariaDB numbers the prepared statements of all sessions together.
            if payload.len() == 12 && payload[0] == 0 {
                payload[1..5].fill(0);
            }
        }
        frames
    });
    assert!(!direct.is_empty());
    assert_eq!(proxied, direct);
}

fn statements_in_one_write_are_answered_in_order(server: &Server) {
    let mut bytes = Vec::new();
    for n in 0..40 {
        bytes.extend(query(&format!("SELECT {n}")));
        bytes.extend(packet(&[PING]));
        bytes.extend(query("SELECT nothing"));
        bytes.extend(query("SELECT 1; SELECT 2"));
    }
    assert_alike(server, &bytes);
}

fn lock_calls_between_statements_are_answered_in_order(server: &Server) {
    let database = Database::create(server);
    let mut bytes = Vec::new();
    for text in [
        "SELECT 1",
        "SELECT GET_LOCK('$', 0)",
        "SELECT GET_LOCK('$', 0) AS again",
        "SELECT 2",
        "DO GET_LOCK('$ other', 0)",
        "SELECT ROW_COUNT()",
        "SELECT IS_FREE_LOCK('$')",
        "SELECT RELEASE_LOCK('$')",
        "SELECT 3",
        "SELECT IS_FREE_LOCK('$')",
        "SELECT RELEASE_ALL_LOCKS()",
        "SELECT 4",
        "SELECT RELEASE_LOCK('$')",
    ] {
        bytes.extend(query(&text.replace('$', &database.name)));
    }
    assert_alike(server, &bytes);
}

fn a_statement_prepared_and_executed_in_one_write_is_answered(server: &Server) {
    let database = Database::create(server);
    let mut bytes = Vec::new();
    let mariadb = flavour_of(server) == Flavour::MariaDb;
    let statements = [
        "SELECT CONCAT('given ', ?)",
        "SELECT GET_LOCK(?, 0)",
        "SELECT CONCAT('again ', ?)",
        "SELECT RELEASE_LOCK(?)",
    ];
    // MySQL counts from 1 in every session. MariaDB counts for all of them together and takes this
    // id for the statement prepared last, but then lock calls are refused.
    let count = if mariadb { 1 } else { statements.len() };
    for (id, text) in (1..).zip(&statements[..count]) {
        let id = if mariadb { u32::MAX } else { id };
        let params = vec![Param::Text(database.name.clone().into_bytes())];
        let execute = Execute { params, ..Execute::default() };
        bytes.extend(packet(&[&[STMT_PREPARE], text.as_bytes()].concat()));
        if !mariadb {
            // To MySQL this is an id like any other.
            let none = u32::MAX.to_le_bytes();
            bytes.extend(packet(&[&[STMT_EXECUTE][..], &none, &execute.body(false)].concat()));
            bytes.extend(packet(&[&[STMT_CLOSE][..], &none].concat()));
        }
        for _ in 0..2 {
            let id = id.to_le_bytes();
            bytes.extend(packet(&[&[STMT_EXECUTE][..], &id, &execute.body(false)].concat()));
        }
        bytes.extend(packet(&[&[STMT_CLOSE][..], &id.to_le_bytes()].concat()));
        bytes.extend(query("SELECT 'between'"));
    }
    assert_alike(server, &bytes);
}

fn more_statements_than_may_be_owed_are_answered(server: &Server) {
    let bytes: Vec<u8> = (0..2000).flat_map(|n| query(&format!("SELECT {n}"))).collect();
    assert_alike(server, &bytes);
}

fn statements_after_a_wait_are_run_when_it_is_over(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let database = Database::create(server);
    let table = database.table("t");
    server.root().run(&format!("CREATE TABLE {table} (n INT)"));
    let mut holder = Session::at(proxy.port);
    let mut waiter = Session::at(proxy.port);
    holder.lock("k");
    waiter.ask_for("k");
    waiter.send(&format!("INSERT INTO {table} VALUES (1)"));
    waiter.send(&format!("SELECT COUNT(*) FROM {table}"));
    let counted = holder.value(&format!("SELECT COUNT(*)+SLEEP(1) FROM {table}"));
    assert_eq!(counted.as_deref(), Some("0"), "a statement overtook the wait before it");
    holder.unlock("k");
    waiter.gets_it();
    waiter.client.read_response(crate::wire::Shape::Query);
    assert_eq!(waiter.reply().as_deref(), Some("1"));
}

fn an_empty_packet_does_no_harm(server: &Server) {
    let proxy = Proxy::start(&server.url, &[]);
    let mut waiter = Session::at(proxy.port);
    // The byte after an empty packet must not be taken for its command.
    for next in [0x03_u8, 0x16, 0x17, 0x1f, 0x11, 0x01] {
        let mut raw = Raw::at(proxy.port);
        raw.command(&[&[QUERY][..], b"SELECT GET_LOCK('k', 600)"].concat());
        crate::stage::eventually("the lock is held", || {
            (proxy.metric("lockstead_locks_held") >= 1.0).then_some(())
        });
        waiter.ask_for("k");
        let mut bytes = packet(&[]);
        bytes.extend_from_slice(&[next, 0, 0, 0]);
        bytes.extend_from_slice(&vec![0; usize::from(next)]);
        raw.bytes(&bytes);
        drop(raw);
        waiter.gets_it();
        waiter.unlock("k");
    }
}
