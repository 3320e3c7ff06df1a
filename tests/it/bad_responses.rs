//! Answers that no server gives: the session ends at once, and no client gets what may be the answer to another command.

use crate::proxy::Proxy;
use crate::script::Server;
use crate::scripted::{Peer, Scripted, ok, packet, result};
use crate::session::Session;
use crate::stage::{eventually, on_both};

on_both! {
    an_answer_that_cannot_be_followed_ends_its_session
    the_rest_of_an_answer_is_not_the_next_one
    an_error_may_come_unasked
    a_client_that_goes_is_no_answer
}

/// A server that gives one of these answers to each connection's first command, which ends with the answer's number, and
/// waits for the end.
fn saying(store: &Server, answers: &[Vec<u8>]) -> Scripted {
    let answers = answers.to_vec();
    Scripted::with_pages(store, move |peer: &mut Peer| {
        let asked = peer.frame();
        let nth = asked[asked.len() - 1].wrapping_sub(b'a');
        // The proxy asks whether the server is there, too.
        let Some(answer) = answers.get(usize::from(nth)) else { return };
        peer.send(answer);
        peer.rest();
    })
}

/// The n-th of some commands.
fn nth(n: usize, command: &[u8]) -> Vec<u8> {
    let letter = b"abcdefghijklmnopqrstuvwxyz"[n];
    packet(0, &[command, &[letter]].concat())
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a counter")]
fn counted(scripted: &Scripted, command: &str) -> u64 {
    let metric = format!("lockstead_protocol_errors_total{{command=\"{command}\"}}");
    scripted.proxy.metric(&metric) as u64
}

const QUERY: &[u8] = b"\x03whatever ";
const PREPARE: &[u8] = b"\x16whatever ";

fn an_answer_that_cannot_be_followed_ends_its_session(store: &Server) {
    let rows = result(&[b"one"]);
    let (head, row) = rows.split_at(rows.len() - 11 - 8);
    // The row and the end, counted as those of another answer.
    let mut other = row.to_vec();
    other[3] = 1;
    let cases = [
        (packet(1, &[0]), QUERY),
        (packet(1, b""), QUERY),
        (packet(1, &[0xfc, 1]), QUERY),
        (packet(1, &[1, 1]), QUERY),
        (packet(1, &[0xff]), QUERY),
        (packet(1, &[0xfe, 0]), QUERY),
        ([packet(1, &[1]), packet(2, b"\x03one")].concat(), QUERY),
        ([head, &packet(4, &[0xfe, 0])].concat(), QUERY),
        ([head, &other].concat(), QUERY),
        (ok(2), QUERY),
        (ok(0), QUERY),
        // The packet's length alone would make the client wait for ever.
        ([0xff, 0xff, 0xff, 9, 1, 2, 3, 4, 5, 6, 7, 8].repeat(3), QUERY),
        (packet(1, &[0, 1, 0, 0, 0]), PREPARE),
        (packet(1, &[1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), PREPARE),
    ];
    let answers: Vec<Vec<u8>> = cases.iter().map(|(answer, _)| answer.clone()).collect();
    let scripted = saying(store, &answers);
    let mut seen = [0, 0];
    for (n, (answer, command)) in cases.iter().enumerate() {
        let mut client = scripted.client();
        client.send(&nth(n, command));
        let said = client.rest();
        assert!(said.len() < answer.len(), "{answer:02x?} has reached the client: {said:02x?}");
        seen[usize::from(*command == PREPARE)] += 1;
        eventually("it is counted", || {
            let now = ["query", "stmt_prepare"].map(|command| counted(&scripted, command));
            (now == seen).then_some(())
        });
    }
    // One line for all that come within a second.
    let log = scripted.proxy.log();
    assert!(log.contains("the server's answer cannot be followed"), "{log}");
    assert!(log.contains("command=\"query\"") && !log.contains("whatever"), "{log}");
}

fn the_rest_of_an_answer_is_not_the_next_one(store: &Server) {
    let answer = [ok(1), packet(2, b"\x03one"), packet(3, &ok(1)[4..])].concat();
    let scripted = saying(store, &[answer]);
    // With nothing asked, and with another command under way.
    for (commands, label) in [(1, "none"), (2, "query")] {
        let mut client = scripted.client();
        client.send(&nth(0, QUERY).repeat(commands));
        assert_eq!(client.rest(), ok(1), "after {commands}");
        eventually("it is counted", || (counted(&scripted, label) == 1).then_some(()));
    }
}

fn an_error_may_come_unasked(store: &Server) {
    let words = packet(0, b"\xff\xbf\x0f#HY000The client was disconnected because of inactivity");
    let sent = [ok(1), words].concat();
    let said = sent.clone();
    let scripted = Scripted::with_pages(store, move |peer: &mut Peer| {
        if peer.frame().last() == Some(&b'b') {
            peer.frame();
        }
        peer.send(&said);
    });
    // Whether another command has come meanwhile or not.
    for commands in [0, 1] {
        let mut client = scripted.client();
        client.send(&nth(commands, QUERY).repeat(commands + 1));
        assert_eq!(client.rest(), sent);
        assert_eq!(counted(&scripted, "none") + counted(&scripted, "query"), 0);
    }
}

/// The server learns it when the statement ends, and sends a TLS alert in its answer's place.
fn a_client_that_goes_is_no_answer(server: &Server) {
    let proxy = Proxy::start(&server.url, &["--mode", "coexist", "--backend-tls", "required"]);
    let mut session = Session::at(proxy.port);
    let shown = session.client.query(b"SHOW STATUS LIKE 'Ssl_cipher'");
    assert!(crate::wire::render::summary(&shown).contains("TLS"), "no TLS to the server");
    session.send("SELECT SLEEP(0.2)");
    drop(session);
    eventually("the session ends", || (proxy.metric("lockstead_sessions") < 1.0).then_some(()));
    assert!(!proxy.log().contains("cannot be followed"), "{}", proxy.log());
}
