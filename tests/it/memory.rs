//! However much passes through, the proxy stays small.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::script::Server;
use crate::scripted::{Peer, Scripted, ok, packet, query, result};
use crate::stage::{eventually, on_both};

on_both! {
    a_big_result_takes_little_memory
    a_client_that_does_not_read_takes_little_memory
    a_big_file_takes_little_memory
    a_big_statement_with_a_lock_call_takes_little_memory
}

/// What the proxy's memory may grow by, whatever passes through.
const LITTLE: u64 = 24 << 20;
const MEBIBYTE: usize = 1 << 20;

/// A row of a mebibyte, numbered 0.
fn row() -> Vec<u8> {
    let mut payload = vec![0xfd, 0xfc, 0xff, 0x0f];
    payload.extend((4..MEBIBYTE).map(|n| b"abcdefg"[n % 7]));
    packet(0, &payload)
}

/// Sends a result of so many rows, and counts the bytes that were taken.
fn send_rows(peer: &mut Peer, rows: usize, taken: &AtomicU64) {
    let empty = result(&[]);
    let (head, _) = empty.split_at(empty.len() - 11);
    peer.send(head);
    let mut row = row();
    for n in 3..rows + 3 {
        row[3] = n.to_le_bytes()[0];
        for piece in row.chunks(65_536) {
            peer.send(piece);
            taken.fetch_add(piece.len() as u64, Ordering::SeqCst);
        }
    }
    peer.send(&end(rows));
}

/// What ends a result of so many rows.
fn end(rows: usize) -> Vec<u8> {
    packet((rows + 3).to_le_bytes()[0], &[0xfe, 0, 0, 2, 0, 0, 0])
}

fn receive_rows(client: &mut Peer, rows: usize) {
    client.receive(result(&[]).len() - 11);
    let mut row = row();
    for n in 3..rows + 3 {
        row[3] = n.to_le_bytes()[0];
        assert!(client.frame() == row, "frame {n}");
    }
    assert_eq!(client.frame(), end(rows));
}

fn a_big_result_takes_little_memory(store: &Server) {
    const ROWS: usize = 300;
    let scripted = Scripted::start(store, |peer| {
        peer.frame();
        send_rows(peer, ROWS, &AtomicU64::new(0));
        peer.frame();
        peer.send(&ok(1));
        peer.rest();
    });
    let mut client = scripted.client();
    let before = scripted.peak_memory();
    client.send(&query(b"whatever"));
    receive_rows(&mut client, ROWS);
    client.send(&query(b"the next"));
    assert_eq!(client.frame(), ok(1));
    let grown = scripted.peak_memory() - before;
    assert!(grown < LITTLE, "the proxy grew by {grown} bytes");
}

fn a_client_that_does_not_read_takes_little_memory(store: &Server) {
    const ROWS: usize = 200;
    let taken = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&taken);
    let scripted = Scripted::start(store, move |peer| {
        peer.frame();
        send_rows(peer, ROWS, &count);
        peer.rest();
    });
    let mut client = scripted.client();
    let before = scripted.peak_memory();
    client.send(&query(b"whatever"));
    let mut seen = (0, Instant::now());
    eventually("the server is held back", || {
        let now = taken.load(Ordering::SeqCst);
        if now != seen.0 {
            seen = (now, Instant::now());
        }
        (now > 0 && seen.1.elapsed() > Duration::from_secs(1)).then_some(())
    });
    assert!(seen.0 < 100 * MEBIBYTE as u64, "{} bytes taken from the server", seen.0);
    let grown = scripted.peak_memory() - before;
    assert!(grown < LITTLE, "the proxy grew by {grown} bytes");
    receive_rows(&mut client, ROWS);
}

fn a_big_file_takes_little_memory(store: &Server) {
    const CHUNKS: usize = 200;
    let scripted = Scripted::start(store, |peer| {
        peer.frame();
        peer.send(&packet(1, b"\xfb/a/file"));
        let mut row = row();
        for n in 2..CHUNKS + 2 {
            row[3] = n.to_le_bytes()[0];
            assert!(peer.frame() == row, "frame {n}");
        }
        assert_eq!(peer.frame(), packet(0, &[]));
        peer.send(&ok(1));
        peer.frame();
        peer.send(&ok(1));
        peer.rest();
    });
    let mut client = scripted.client();
    let before = scripted.peak_memory();
    client.send(&query(b"LOAD DATA LOCAL INFILE '/a/file' INTO TABLE t"));
    assert_eq!(client.frame(), packet(1, b"\xfb/a/file"));
    let mut row = row();
    for n in 2..CHUNKS + 2 {
        row[3] = n.to_le_bytes()[0];
        client.send(&row);
    }
    client.send(&packet(0, &[]));
    assert_eq!(client.frame(), ok(1));
    client.send(&query(b"the next"));
    assert_eq!(client.frame(), ok(1));
    let grown = scripted.peak_memory() - before;
    assert!(grown < LITTLE, "the proxy grew by {grown} bytes");
}

fn a_big_statement_with_a_lock_call_takes_little_memory(store: &Server) {
    const FRAMES: usize = 12;
    const FRAME: usize = 0x00ff_ffff;
    let frame = |n: usize, first: &[u8], rest: u8| {
        let head = [&[0xff, 0xff, 0xff, n.to_le_bytes()[0]], first].concat();
        let length = head.len();
        [head, vec![rest; FRAME + 4 - length]].concat()
    };
    let scripted = Scripted::start(store, move |peer| {
        let call = b"\x03SELECT GET_LOCK(\x01\n";
        assert!(peer.frame() == frame(0, call, 1), "the first frame is another");
        for n in 1..FRAMES {
            assert!(peer.frame() == frame(n, b"", 1), "frame {n} is another");
        }
        assert_eq!(peer.frame(), packet(FRAMES.to_le_bytes()[0], &[]));
        peer.send(&packet(13, b"\xff\x28\x04#42000You have an error"));
        peer.frame();
        peer.send(&ok(1));
        peer.rest();
    });
    let mut client = scripted.client();
    let before = scripted.peak_memory();
    client.send(&frame(0, b"\x03SELECT GET_LOCK('k', 0)", b' '));
    for n in 1..FRAMES {
        client.send(&frame(n, b"", b'\''));
    }
    client.send(&packet(FRAMES.to_le_bytes()[0], &[]));
    let refusal = client.frame();
    assert!(refusal.starts_with(&[refusal[0], refusal[1], 0, 13, 0xff, 0xd3, 0x04]));
    client.send(&query(b"the next"));
    assert_eq!(client.frame(), ok(1));
    let grown = scripted.peak_memory() - before;
    assert!(grown < LITTLE, "the proxy grew by {grown} bytes");
}
