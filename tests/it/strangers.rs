//! What those can do who never log in: guess, crowd others out, fill the log.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Instant;

use crate::admin_port::{Accounts, VIEWER, client, proxy};
use crate::cli::text;
use crate::link::{Link, connect};
use crate::proxy::Proxy;
use crate::script::Server;
use crate::stage::{eventually, on_both};
use crate::wire::{Account, Client};

on_both! {
    guesses_in_parallel_from_one_source_are_few
    a_flood_from_elsewhere_drowns_no_login
    a_known_administrator_is_not_drowned_by_many_sources
    strangers_do_not_fill_the_log
    a_server_that_cannot_be_reached_does_not_fill_the_log
}

/// How often a wrong password was looked at, and how often it was not.
fn guess(port: u16, times: usize) -> (usize, usize) {
    let eve = Account::new("eve", "not the password of eve");
    let one = || {
        let refused = Client::connect("127.0.0.1", port, &eve).expect("the port listens");
        assert!(!refused.login.succeeded());
        let last = refused.login.packets.last().expect("an answer");
        String::from_utf8_lossy(&last.payload).into_owned()
    };
    let answers: Vec<_> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..times).map(|_| scope.spawn(one)).collect();
        all.into_iter().map(|guess| guess.join().expect("an answer")).collect()
    });
    let with = |word: &str| answers.iter().filter(|answer| answer.contains(word)).count();
    (with("Access denied"), with("is blocked"))
}

fn guesses_in_parallel_from_one_source_are_few(server: &Server) {
    let accounts = Accounts::new();
    let (proxy, port) = proxy(server, &accounts);
    let begun = Instant::now();
    let looked_at = eventually("it is blocked", || {
        // Fewer than the logins that may be under way at once.
        let (looked_at, blocked) = guess(port, 24);
        (blocked > 0).then_some(looked_at)
    });
    // Ten at once, and another one every six seconds.
    let earned = usize::try_from(begun.elapsed().as_secs() / 6).expect("a number");
    assert!(looked_at <= 11 + earned, "{looked_at} guesses in {:?}", begun.elapsed());
    // The right password is not looked at either: it would be a guess. From elsewhere it is.
    let right = client("mysql", port, ("eve", VIEWER), &[], "SHOW LEASE");
    assert!(text(&right).contains("ERROR 1129"), "{}", text(&right));
    let elsewhere = ["--bind-address=127.0.0.2"];
    let right = client("mysql", port, ("eve", VIEWER), &elsewhere, "SHOW LEASE");
    assert!(right.status.success(), "{}", text(&right));
    assert!(proxy.metric("lockstead_limits_met_total{limit=\"admin_passwords\"}") >= 1.0);
}

/// A login that has got as far as the greeting.
struct Begun(TcpStream);

impl Begun {
    fn from(port: u16, source: Ipv4Addr) -> Option<Self> {
        let mut stream = connect(port, source).expect("the port listens");
        let mut greeting = [0; 5];
        stream.read_exact(&mut greeting).ok().map(|()| Self(stream))
    }

    /// What is said to a login that is none; nothing to one that has given way.
    fn goes_on(mut self) -> bool {
        let mut said = Vec::new();
        let _ = self.0.write_all(b"\x05\0\0\x01hello");
        let _ = self.0.read_to_end(&mut said);
        String::from_utf8_lossy(&said).contains("Bad handshake")
    }
}

fn a_flood_from_elsewhere_drowns_no_login(server: &Server) {
    let accounts = Accounts::new();
    let (proxy, port) = proxy(server, &accounts);
    let slow = Begun::from(port, Ipv4Addr::LOCALHOST).expect("a greeting");
    let flood: Vec<_> =
        (0..100).map(|_| connect(port, Ipv4Addr::new(127, 0, 0, 9)).expect("it listens")).collect();
    eventually("some have given way", || {
        (proxy.metric("lockstead_limits_met_total{limit=\"admin_connections\"}") >= 60.0)
            .then_some(())
    });
    assert!(slow.goes_on(), "it was crowded out");
    drop(flood);
}

fn a_known_administrator_is_not_drowned_by_many_sources(server: &Server) {
    let accounts = Accounts::new();
    let (proxy, port) = proxy(server, &accounts);
    let here = ["--bind-address=127.0.0.2"];
    assert!(client("mysql", port, ("eve", VIEWER), &here, "SHOW LEASE").status.success());
    let slow = Begun::from(port, Ipv4Addr::new(127, 0, 0, 2)).expect("a greeting");
    let flood: Vec<_> =
        (0..100).map(|n| connect(port, Ipv4Addr::new(127, 0, 7, n)).expect("it listens")).collect();
    eventually("some have given way", || {
        (proxy.metric("lockstead_limits_met_total{limit=\"admin_connections\"}") >= 60.0)
            .then_some(())
    });
    assert!(slow.goes_on(), "it was crowded out");
    drop(flood);
}

/// How many lines of the log have this, and how many others they say were left out.
fn lines(proxy: &Proxy, with: &str) -> (usize, u64) {
    let log = proxy.log();
    let lines = log.lines().filter(|line| line.contains(with));
    lines.fold((0, 0), |(count, left_out), line| {
        let said = line.split("left_out=").nth(1).and_then(|rest| rest.split(' ').next());
        (count + 1, left_out + said.map_or(0, |said| said.parse().expect("a number")))
    })
}

/// Does something again and again, until a line says how many are left out.
fn until_told(proxy: &Proxy, with: &str, mut again: impl FnMut()) {
    let mut done = 0;
    let (count, left_out) = eventually("what is left out is counted", || {
        for _ in 0..50 {
            again();
            done += 1;
        }
        let lines = lines(proxy, with);
        assert!(lines.0 < 500, "{} lines of {done}", lines.0);
        Some(lines).filter(|(_, left_out)| *left_out > 0)
    });
    assert!(count < done / 2, "{count} lines of {done}");
    assert!(left_out < done as u64, "{left_out} of {done}");
}

fn strangers_do_not_fill_the_log(server: &Server) {
    let proxy = Proxy::start(&server.url, &["--proxy-protocol", "127.0.0.1"]);
    until_told(&proxy, "a connection without its PROXY header", || {
        let mut stranger = connect(proxy.port, Ipv4Addr::LOCALHOST).expect("it listens");
        let _ = stranger.write_all(b"GET / HTTP/1.1\r\n\r\n");
        let _ = stranger.read_to_end(&mut Vec::new());
    });
    let closed = proxy.metric("lockstead_sessions_closed_total{reason=\"no_proxy_header\"}");
    assert!(closed >= 50.0, "all are counted: {closed}");
}

fn a_server_that_cannot_be_reached_does_not_fill_the_log(server: &Server) {
    let to_server = Link::start(server.port, Ipv4Addr::LOCALHOST);
    let url = server.url.replace(&format!(":{}", server.port), &format!(":{}", to_server.port()));
    let proxy = Proxy::start(&url, &[]);
    // Another program now listens in its place, and closes every connection.
    let other = TcpListener::bind("127.0.0.1:0").expect("a free port");
    to_server.lead_to(other.local_addr().expect("bound").port());
    std::thread::spawn(move || other.incoming().for_each(drop));
    until_told(&proxy, "no connection to the server for a client", || {
        let mut stranger = connect(proxy.port, Ipv4Addr::LOCALHOST).expect("it listens");
        let _ = stranger.read_to_end(&mut Vec::new());
        to_server.cut();
    });
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for line in proxy.log().lines() {
        let told = line.split_once("lockstead::").map_or(line, |(_, told)| told);
        let what: String = told.chars().filter(|c| !c.is_ascii_digit()).collect();
        *lines.entry(what).or_default() += 1;
    }
    assert!(lines.values().all(|count| *count < 100), "{lines:#?}");
}
