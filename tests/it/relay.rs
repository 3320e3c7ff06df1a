//! Bytes pass as they are, in any pieces and of any size.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::proxy::{Proxy, fresh_schema};
use crate::script::Server;
use crate::scripted::{Peer, Scripted, greeting, login, ok, packet, query, result, version_like};
use crate::session::Session;
use crate::stage::{eventually, on_both};
use crate::wire::Shape;

on_both! {
    the_greeting_passes_but_for_what_is_agreed_on_each_leg
    the_tag_is_the_first_attribute_of_a_login
    a_question_for_a_password_in_clear_is_not_passed_on
    responses_pass_in_pieces_of_any_size
    commands_pass_in_pieces_of_any_size
    packets_of_sixteen_mebibytes_pass
    a_replication_stream_passes_both_ways
    lock_calls_after_a_refused_stream_are_durable
    a_result_that_breaks_off_arrives_as_far_as_it_came
    a_server_s_unasked_last_words_arrive
    a_client_that_ends_its_side_still_gets_its_reply
}

const COMPRESSION: u32 = 1 << 5 | 1 << 26;
const TLS_AND_COMPRESSION: u32 = COMPRESSION | 1 << 11;

fn the_greeting_passes_but_for_what_is_agreed_on_each_leg(store: &Server) {
    for offered in [u32::MAX, !1, 0x0000_a200, TLS_AND_COMPRESSION | 0x0008_a201] {
        let hello = greeting(version_like(store), offered);
        let scripted = Scripted::greeting(store, &hello, |_| {});
        let expected = greeting(version_like(store), offered | COMPRESSION);
        assert_eq!(scripted.connect().frame(), packet(0, &expected), "{offered:#x}");
    }
}

/// Nothing of a client's goes to the server unread because of a command that the server has refused.
fn lock_calls_after_a_refused_stream_are_durable(server: &Server) {
    const TABLE_DUMP: u8 = 0x13;
    let proxy = Proxy::start(&server.url, &[]);
    let mut session = Session::at(proxy.port);
    let name = fresh_schema();
    // The second is longer than a buffer, and so comes in pieces.
    for body in [b"\x01a\x01b".to_vec(), vec![b'a'; 200_000]] {
        let answer = session.client.command(TABLE_DUMP, &body, Shape::Execute);
        assert_eq!(answer.error(), Some(1047), "the server knows no such command");
    }
    session.lock(&name);
    let native = server.root().column(&format!("SELECT IS_FREE_LOCK('{name}')"));
    assert_eq!(native, ["1"], "the server has the lock");
}

fn the_tag_is_the_first_attribute_of_a_login(store: &Server) {
    const CAPABILITIES: u32 = 0x0018_8201;
    let hello = greeting(version_like(store), 0x019f_a687 | TLS_AND_COMPRESSION);
    let scripted = Scripted::greeting(store, &hello, |peer| {
        let login = peer.frame();
        // The login comes back as an error's text, which passes before the login is over.
        peer.send(&packet(2, &[&[0xff, 1, 0], &login[4..]].concat()));
    });
    let tag = store
        .root()
        .column(&format!("SELECT LPAD(LOWER(HEX(id)), 16, '0') FROM {}.proxies", scripted.schema));
    let tag = [&b"\x0a_lockstead\x10"[..], tag[0].as_bytes()].concat();
    let own = b"\x01a\x01b\x0a_lockstead\x06forged\x01c\x01d";
    for (asked, attributes, kept) in [
        (CAPABILITIES, &own[..], &b"\x01a\x01b\x01c\x01d"[..]),
        (CAPABILITIES | 1 << 5, b"", b""),
        (CAPABILITIES & !0x0010_0000, b"", b""),
    ] {
        let has_attributes = asked & 0x0010_0000 != 0;
        let length = [u8::try_from(attributes.len()).expect("short")];
        let tail = if has_attributes { [&length[..], attributes].concat() } else { Vec::new() };
        let mut peer = scripted.connect();
        peer.frame();
        peer.send(&packet(1, &[login(asked), tail].concat()));
        let list = [&tag[..], kept].concat();
        let length = u8::try_from(list.len()).expect("short");
        let expected = [&login(CAPABILITIES)[..], &[length], &list].concat();
        assert_eq!(peer.frame()[7..], expected, "{asked:#x}");
    }
}

/// The server asks for it after the login; neither leg is encrypted.
fn a_question_for_a_password_in_clear_is_not_passed_on(store: &Server) {
    let hello = greeting(version_like(store), 0x019f_a687);
    let ended = Arc::new(AtomicBool::new(false));
    let in_order = Arc::clone(&ended);
    let scripted = Scripted::greeting(store, &hello, move |peer| {
        peer.frame();
        peer.send(&packet(2, b"\xfemysql_clear_password\0"));
        in_order.store(peer.frame() == packet(3, b""), Ordering::SeqCst);
        peer.send(&packet(4, b"\xff\x15\x04#28000Access denied"));
    });
    let mut peer = scripted.connect();
    peer.frame();
    peer.send(&packet(1, &login(0x0008_8201)));
    let refused = peer.frame();
    let text = String::from_utf8_lossy(&refused[4..]).into_owned();
    assert!(refused[3] == 2 && text.contains("mysql_clear_password"), "{refused:?}");
    // A login that breaks off would count against the proxy's host.
    eventually("an empty answer", || ended.load(Ordering::SeqCst).then_some(()));
}

/// Plays a server that answers the n-th command with the n-th response, in pieces.
fn answering(responses: &[Vec<u8>], piece: usize) -> impl Fn(&mut Peer) + Send + Sync + 'static {
    let responses = responses.to_vec();
    move |peer| {
        for response in &responses {
            peer.frame();
            peer.send_in_pieces(response, piece);
        }
        peer.rest();
    }
}

fn responses_pass_in_pieces_of_any_size(store: &Server) {
    let more = packet(1, &[0, 0, 0, 10, 0, 0, 0]);
    let long = vec![b'y'; 70_000];
    let responses = [
        ok(1),
        result(&[b"one", b"", b"\xfe\xff\0", &[b'x'; 300]]),
        [more, counted_from(2, &result(&[b"second"]))].concat(),
        packet(1, b"\xff\x28\x04#42000Syntax"),
        result(&[&long, b"short", &long]),
        result(&[]),
        ok(1),
    ];
    for piece in [1, 3, 5, 1021, 65_536] {
        let scripted = Scripted::start(store, answering(&responses, piece));
        let mut client = scripted.client();
        for response in &responses {
            client.send(&query(b"whatever"));
            assert_eq!(client.receive(response.len()), *response, "in pieces of {piece}");
        }
    }
}

fn commands_pass_in_pieces_of_any_size(store: &Server) {
    let mut commands: Vec<Vec<u8>> = [0x03, 0x02, 0x0e, 0x16, 0x19, 0x1b, 0x05, 0x7f, 0xef]
        .iter()
        .map(|byte| packet(0, &[&[*byte], &b"SELECT 'anything \0 goes'"[..]].concat()))
        .collect();
    commands.push(query(&vec![b'z'; 70_000]));
    commands.push(query("SELECT 'ünïcödé 🔒'".as_bytes()));
    commands.push(query(b""));
    commands.push(packet(0, b""));
    commands.push(packet(0, &[0x0e]));
    let all = commands.concat();
    for piece in [1, 3, 5, 1021, 65_536] {
        let length = all.len();
        let scripted = Scripted::start(store, move |peer| {
            let seen = peer.receive(length);
            peer.send(&packet(1, &[&[0xff, 1, 0], &seen[..]].concat()));
        });
        let mut client = scripted.client();
        client.send_in_pieces(&all, piece);
        let echo = client.receive(length + 7);
        assert!(echo[7..] == all, "in pieces of {piece}");
    }
}

/// Frames that begin with 1, counted from another number.
fn counted_from(first: u8, frames: &[u8]) -> Vec<u8> {
    let (mut out, mut at) = (frames.to_vec(), 0);
    while at < out.len() {
        let length = u32::from_le_bytes([out[at], out[at + 1], out[at + 2], 0]) as usize;
        out[at + 3] += first - 1;
        at += 4 + length;
    }
    out
}

fn packets_of_sixteen_mebibytes_pass(store: &Server) {
    // Payloads of a frame less one byte, of a frame, which takes an empty one after it, and so on.
    for size in [0x00ff_fffe, 0x00ff_ffff, 0x0100_0000, 2 * 0x00ff_ffff] {
        let there: Vec<u8> = (0..size - 1).map(|n| b"abcdefg "[n % 8]).collect();
        let command = query(&there);
        // The length of a row's value takes 4 or 9 bytes before it.
        let value = vec![b'v'; size - if size > 0x0100_0000 { 9 } else { 4 }];
        // Counted on from the command's last frame.
        let first = u8::try_from(1 + size / 0x00ff_ffff).expect("few frames");
        let back = [counted_from(first, &result(&[&value, b"next"])), ok(1)].concat();
        let (length, answer) = (command.len(), back.clone());
        let expected = command.clone();
        let scripted = Scripted::start(store, move |peer| {
            let seen = peer.receive(length);
            assert!(seen == expected, "the command of {size} bytes is another");
            peer.send(&answer[..answer.len() - 11]);
            peer.frame();
            peer.send(&answer[answer.len() - 11..]);
            peer.rest();
        });
        let mut client = scripted.client();
        client.send(&command);
        assert!(client.receive(back.len() - 11) == back[..back.len() - 11], "{size} bytes");
        client.send(&query(b"next"));
        assert_eq!(client.frame(), ok(1), "after {size} bytes");
    }
}

fn a_replication_stream_passes_both_ways(store: &Server) {
    const EVENTS: usize = 500;
    let event = |n: usize| packet(n.to_le_bytes()[0], &[&[0][..], &[b'e'; 777]].concat());
    let dump = packet(0, b"\x12\x04\0\0\0\0\0\x01\0\0\0binlog.000001");
    let ack = packet(0, b"\xef\x01\0\0\0\0\0\0\0binlog.000001");
    let (dumped, acked) = (dump.clone(), ack.clone());
    let scripted = Scripted::start(store, move |peer| {
        assert_eq!(peer.frame(), dumped);
        for n in 0..EVENTS {
            peer.send(&event(n));
            if n % 100 == 99 {
                assert_eq!(peer.frame(), acked);
            }
        }
        // An end of the stream that looks like one, and more after it.
        peer.send(&packet(9, &[0xfe, 0, 0, 2, 0]));
        peer.send(&event(EVENTS));
        peer.rest();
    });
    let mut client = scripted.client();
    client.send(&dump);
    for n in 0..EVENTS {
        assert_eq!(client.frame(), event(n));
        if n % 100 == 99 {
            client.send(&ack);
        }
    }
    assert_eq!(client.frame(), packet(9, &[0xfe, 0, 0, 2, 0]));
    assert_eq!(client.frame(), event(EVENTS));
}

fn a_result_that_breaks_off_arrives_as_far_as_it_came(store: &Server) {
    let whole = result(&[b"one", &[b'x'; 1000]]);
    for kept in [0, 3, 5, 40, whole.len() - 12, whole.len() - 1] {
        let part = whole[..kept].to_vec();
        let sent = part.clone();
        let scripted = Scripted::start(store, move |peer| {
            peer.frame();
            peer.send(&sent);
        });
        let mut client = scripted.client();
        client.send(&query(b"whatever"));
        assert_eq!(client.rest(), part, "{kept} bytes");
    }
}

fn a_server_s_unasked_last_words_arrive(store: &Server) {
    let words = packet(0, b"\xff\xbf\x0f#HY000The client was disconnected because of inactivity");
    let sent = words.clone();
    let scripted = Scripted::start(store, move |peer| peer.send(&sent));
    assert_eq!(scripted.client().rest(), words);
}

fn a_client_that_ends_its_side_still_gets_its_reply(store: &Server) {
    let reply = result(&[b"the reply"]);
    let sent = reply.clone();
    let scripted = Scripted::start(store, move |peer| {
        assert_eq!(peer.frame(), query(b"whatever"));
        // The client's end is seen here before the reply goes out.
        let mut byte = [0];
        assert_eq!(peer.stream.read(&mut byte).expect("an end"), 0);
        peer.stream.write_all(&sent).expect("sent");
    });
    let mut client = scripted.client();
    client.send(&query(b"whatever"));
    client.half_close();
    assert_eq!(client.rest(), reply);
}
