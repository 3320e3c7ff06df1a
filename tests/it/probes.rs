//! Clients that connect and never log in, as load balancers do: the server must not take them
//! for failed handshakes, or it would block the proxy's host.

use std::io::Read;
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use crate::launch::{Launched, run};
use crate::link::Link;
use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::{Proxy, fresh_schema};
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{PATIENCE, eventually, on_both, own_address};
use crate::wire::Client;
use crate::wire::frame::Frames;

on_both! {
    probes_that_leave_after_the_greeting_are_no_errors
    probes_at_the_same_time_are_no_errors
    probes_that_stay_are_no_errors
    probes_that_stay_as_long_as_they_may_are_no_errors
    state_left_by_a_probe_has_the_globals_of_its_time
    probes_are_no_errors_where_tls_is_demanded
    a_server_that_is_not_trusted_counts_no_errors_either
    commands_that_ask_for_a_greeting_are_no_errors
}

/// A proxy that the server sees at an address of its own, where its errors are counted.
pub(crate) struct Seen {
    pub(crate) proxy: Launched,
    pub(crate) link: Link,
    address: Ipv4Addr,
    pub(crate) server: Server,
    /// What was counted for the address before.
    before: Vec<String>,
    _own: Option<OwnServer>,
}

impl Seen {
    pub(crate) fn start(server: &Server, extra: &[&str]) -> Self {
        Self::start_with(server, |_| extra.iter().map(|&e| e.to_owned()).collect())
    }

    /// A proxy whose arguments need what the server tells.
    fn start_with(server: &Server, extra: impl Fn(&Server) -> Vec<String>) -> Self {
        // MariaDB shows its counts only with the performance schema, which is off by default.
        let own = (flavour_of(server) == Flavour::MariaDb)
            .then(|| OwnServer::start(Flavour::MariaDb, &["--performance-schema=ON"]));
        let server = own.as_ref().map_or(server, |own| &own.server).clone();
        let address = own_address();
        let link = Link::start(server.port, address);
        let backend = format!("127.0.0.1:{}", link.port());
        let store = format!("{}{}", server.url, fresh_schema());
        let extra = extra(&server);
        let extra: Vec<&str> = extra.iter().map(String::as_str).collect();
        let proxy = Launched::start(&backend, &store, &[&["--create-schema"], &extra[..]].concat());
        let mut seen = Self { proxy, link, address, server, before: Vec::new(), _own: own };
        // The first connection makes the server remember the address.
        drop(Session::at(seen.link.port()));
        seen.before = seen.errors();
        seen
    }

    pub(crate) fn probe(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.proxy.port)).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }

    pub(crate) fn errors(&self) -> Vec<String> {
        self.server.root().column(&format!(
            "SELECT CONCAT_WS(' ', SUM_CONNECT_ERRORS, COUNT_HOST_BLOCKED_ERRORS, \
             COUNT_HANDSHAKE_ERRORS) FROM performance_schema.host_cache WHERE IP='{}'",
            self.address
        ))
    }

    /// A client gets in, and when the proxy has let go of all connections, none was an error.
    pub(crate) fn assert_unharmed(&self) {
        assert_eq!(Session::at(self.proxy.port).value("SELECT 1").as_deref(), Some("1"));
        eventually("no connection is left over", || (self.link.open() == 0).then_some(()));
        assert_eq!(self.errors(), self.before, "errors of connections, blocks, handshakes");
    }

    /// Asserts that at most a few errors are counted that the proxy cannot know of: what is no character in a character
    /// set of which it knows nothing. None is left to block the host.
    pub(crate) fn assert_hardly_harmed(&self, few: u64) {
        let count = |errors: &[String]| -> Vec<u64> {
            let words = errors.first().expect("a row").split(' ');
            words.map(|n| n.parse().expect("a number")).collect()
        };
        assert_eq!(Session::at(self.proxy.port).value("SELECT 1").as_deref(), Some("1"));
        eventually("no connection is left over", || (self.link.open() == 0).then_some(()));
        let (before, now) = (count(&self.before), count(&self.errors()));
        assert_eq!(now[..2], before[..2], "errors that count, and blocks");
        assert!(now[2] - before[2] <= few, "{} broken handshakes", now[2] - before[2]);
    }
}

/// Reads the greeting.
pub(crate) fn greet(stream: TcpStream) -> TcpStream {
    let copy = stream.try_clone().expect("a copy");
    let (_, greeting) = Frames::new(copy).read(Instant::now() + PATIENCE).expect("a greeting");
    assert_eq!(greeting[0], 10);
    stream
}

fn probes_that_leave_after_the_greeting_are_no_errors(server: &Server) {
    let seen = Seen::start(server, &[]);
    for _ in 0..300 {
        drop(greet(seen.probe()));
    }
    seen.assert_unharmed();
}

fn probes_at_the_same_time_are_no_errors(server: &Server) {
    let seen = Seen::start(server, &[]);
    for reads in [true, false] {
        let mut probes: Vec<TcpStream> = (0..120).map(|_| seen.probe()).collect();
        if reads {
            probes = probes.into_iter().map(greet).collect();
        }
        drop(probes);
        seen.assert_unharmed();
    }
}

fn probes_that_stay_are_no_errors(server: &Server) {
    // The proxy loses its patience long before the server would.
    let seen = Seen::start(server, &["--login-timeout", "1s"]);
    let mut probes: Vec<TcpStream> = (0..20).map(|_| greet(seen.probe())).collect();
    let began = Instant::now();
    for probe in &mut probes {
        assert_eq!(probe.read(&mut [0; 64]).expect("the proxy's end"), 0);
    }
    assert!(began.elapsed() < Duration::from_secs(9), "the server's own patience ends at ten");
    seen.assert_unharmed();
}

fn probes_that_stay_as_long_as_they_may_are_no_errors(server: &Server) {
    // By default, the proxy would wait as long as the server does.
    let seen = Seen::start(server, &[]);
    let mut probes: Vec<TcpStream> = (0..20).map(|_| greet(seen.probe())).collect();
    // Time itself is tested: a login may take ten seconds. Some probes leave after more than half of them; the
    // connections that they used keep their age, and must not reach the server's limit with another client.
    std::thread::park_timeout(Duration::from_secs(6));
    probes.truncate(10);
    for (nth, probe) in probes.iter_mut().enumerate() {
        assert_eq!(probe.read(&mut [0; 64]).expect("the proxy's end"), 0);
        // The time that a probe has used is not taken from the next client.
        if nth == 0 {
            let mut next = greet(seen.probe());
            next.set_read_timeout(Some(Duration::from_secs(1))).expect("a timeout");
            let end = next.read(&mut [0; 64]);
            assert!(end.is_err(), "a client has a second for its login: {end:?}");
        }
    }
    seen.assert_unharmed();
}

/// The id in the greeting of a probe, which then leaves.
fn probe_and_leave(port: u16) -> u64 {
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    let copy = stream.try_clone().expect("a copy");
    let (_, greeting) = Frames::new(copy).read(Instant::now() + PATIENCE).expect("a greeting");
    // Protocol 10, the version as a string with its end, the id.
    let end = greeting.iter().position(|byte| *byte == 0).expect("a version");
    let id = greeting[end + 1..end + 5].try_into().expect("four bytes");
    u64::from(u32::from_le_bytes(id))
}

// On a server of its own, since the values apply to every session.
fn state_left_by_a_probe_has_the_globals_of_its_time(server: &Server) {
    let own = OwnServer::start(flavour_of(server), &[]);
    let server = &own.server;
    let proxy = Proxy::start(&server.url, &[]);
    let precision = |session: &mut Session| session.value("SELECT @@div_precision_increment");
    let sessions = || std::iter::repeat_with(|| Session::at(proxy.port)).take(20);
    // The spare may be completed before a client comes, on a slow machine: then again.
    let mut heir = eventually("a client gets a probe's connection", || {
        server.root().run("SET GLOBAL div_precision_increment=4");
        let id = probe_and_leave(proxy.port);
        server.root().run("SET GLOBAL div_precision_increment=9");
        sessions().find(|session| session.id() == id)
    });
    // Ids only grow.
    let newer = sessions().find(|session| session.id() > heir.id());
    let mut newer = newer.expect("a connection opened for its client");
    assert_eq!(precision(&mut newer).as_deref(), Some("9"), "of a connection of its own");
    assert_eq!(precision(&mut heir).as_deref(), Some("4"), "of the probe's connection");
}

/// The file with the CA of the server's certificate.
fn ca(server: &Server) -> String {
    server.root().column("SELECT @@ssl_ca").concat()
}

fn probes_are_no_errors_where_tls_is_demanded(server: &Server) {
    for mode in ["required", "verify-ca"] {
        let extra = |server: &Server| {
            ["--backend-tls", mode, "--backend-tls-ca", &ca(server)].map(str::to_owned).to_vec()
        };
        let seen = Seen::start_with(server, extra);
        for _ in 0..20 {
            drop(greet(seen.probe()));
        }
        let left: Vec<TcpStream> = (0..20).map(|_| greet(seen.probe())).collect();
        drop(left);
        seen.assert_unharmed();
        // The probes' connections end with the store's account, and not as nobody. MySQL does not count that.
        let refused = seen.server.root().column(&format!(
            "SELECT COUNT_AUTHENTICATION_ERRORS FROM performance_schema.host_cache WHERE IP='{}'",
            seen.address
        ));
        assert_eq!(refused, ["0"], "{mode}");
    }
}

fn a_server_that_is_not_trusted_counts_no_errors_either(server: &Server) {
    let extra = |server: &Server| {
        let another = ca(server).replace("/ca.pem", "/client-cert.pem");
        ["--backend-tls", "verify-ca", "--backend-tls-ca", &another].map(str::to_owned).to_vec()
    };
    let seen = Seen::start_with(server, extra);
    for tls in [false, true] {
        let mut account = server.root.clone();
        account.wrap.tls = tls;
        for _ in 0..5 {
            let client = Client::connect("127.0.0.1", seen.proxy.port, &account);
            let client = client.expect("a connection");
            assert!(!client.login.succeeded(), "the server is not trusted");
        }
    }
    let left: Vec<TcpStream> = (0..10).map(|_| greet(seen.probe())).collect();
    drop(left);
    eventually("no connection is left over", || (seen.link.open() == 0).then_some(()));
    assert_eq!(seen.errors(), seen.before, "errors of connections, blocks, handshakes");
    Session::at(seen.link.port());
}

fn commands_that_ask_for_a_greeting_are_no_errors(server: &Server) {
    let seen = Seen::start(server, &[]);
    let backend = format!("127.0.0.1:{}", seen.link.port());
    let store = format!("{}{}", seen.server.url, fresh_schema());
    let place = ["--backend", &backend, "--store", &store, "--state-dir", "off"];
    for command in [&["grants"][..], &["check", "--create-schema"]] {
        let done = run(&[command, &place].concat());
        assert!(done.status.success(), "{command:?}: {done:?}");
    }
    seen.assert_unharmed();
}
