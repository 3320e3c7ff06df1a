//! Clients that connect and never log in, as load balancers do: the server must not take them
//! for failed handshakes, or it would block the proxy's host.

use std::io::Read;
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use crate::forwarder::Forwarder;
use crate::launch::Launched;
use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::fresh_schema;
use crate::script::{Flavour, Server};
use crate::session::Session;
use crate::stage::{PATIENCE, eventually, on_both};
use crate::wire::frame::Frames;

on_both! {
    probes_that_leave_behind_the_greeting_are_no_errors
    probes_at_the_same_time_are_no_errors
    probes_that_stay_are_no_errors
}

/// A proxy that the server sees at an address of its own, where its errors are counted.
struct Seen {
    proxy: Launched,
    link: Forwarder,
    address: Ipv4Addr,
    server: Server,
    _own: Option<OwnServer>,
}

impl Seen {
    fn start(server: &Server, extra: &[&str]) -> Self {
        // MariaDB shows its counts only with the performance schema, which is off by default.
        let own = (flavour_of(server) == Flavour::MariaDb)
            .then(|| OwnServer::start(Flavour::MariaDb, &["--performance-schema=ON"]));
        let server = own.as_ref().map_or(server, |own| &own.server).clone();
        let address = Ipv4Addr::new(127, 0, 0, rand::random_range(2..255));
        let link = Forwarder::start(server.port, address);
        let backend = format!("127.0.0.1:{}", link.port);
        let store = format!("{}{}", server.url, fresh_schema());
        let extra = [&["--create-schema"], extra].concat();
        let proxy = Launched::start(&backend, &store, &extra);
        let seen = Self { proxy, link, address, server, _own: own };
        // The first connection makes the server remember the address.
        drop(Session::at(seen.proxy.port));
        seen
    }

    fn probe(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.proxy.port)).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }

    fn errors(&self) -> Vec<String> {
        self.server.root().column(&format!(
            "SELECT CONCAT_WS(' ', SUM_CONNECT_ERRORS, COUNT_HOST_BLOCKED_ERRORS, \
             COUNT_HANDSHAKE_ERRORS) FROM performance_schema.host_cache WHERE IP='{}'",
            self.address
        ))
    }

    /// A client gets in, and when the proxy has let go of all connections, none was an error.
    fn assert_unharmed(&self) {
        assert_eq!(Session::at(self.proxy.port).value("SELECT 1").as_deref(), Some("1"));
        eventually("no connection is left over", || (self.link.open() == 0).then_some(()));
        assert_eq!(self.errors(), ["0 0 0"]);
    }
}

/// Reads the greeting.
fn greet(stream: TcpStream) -> TcpStream {
    let copy = stream.try_clone().expect("a copy");
    let (_, greeting) = Frames::new(copy).read(Instant::now() + PATIENCE).expect("a greeting");
    assert_eq!(greeting[0], 10);
    stream
}

fn probes_that_leave_behind_the_greeting_are_no_errors(server: &Server) {
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
