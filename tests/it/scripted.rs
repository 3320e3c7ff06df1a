//! A server that says what a test tells it to, byte for byte, behind a proxy of its own.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;

use crate::launch::Launched;
use crate::proxy::fresh_schema;
use crate::script::Server;
use crate::stage::PATIENCE;
use crate::wire::command::QUERY;

/// Capabilities of a plain modern server, without any that asks for more than one packet to log
/// in: everything but TLS, compression and plugins.
const PLAIN: u32 = 0x019f_a687;

/// One connection, on either side of the proxy.
pub(crate) struct Peer {
    pub(crate) stream: TcpStream,
}

impl Peer {
    pub(crate) fn new(stream: TcpStream) -> Self {
        stream.set_nodelay(true).expect("no delay");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_write_timeout(Some(PATIENCE)).expect("a timeout");
        Self { stream }
    }

    /// Sends bytes as they are.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("sent");
    }

    /// Sends bytes in pieces, each in a segment of its own as far as the kernel goes along.
    pub(crate) fn send_in_pieces(&mut self, bytes: &[u8], size: usize) {
        for piece in bytes.chunks(size) {
            self.send(piece);
        }
    }

    /// Receives exactly as many bytes.
    pub(crate) fn receive(&mut self, n: usize) -> Vec<u8> {
        let mut bytes = vec![0; n];
        self.stream.read_exact(&mut bytes).expect("received");
        bytes
    }

    /// Receives one frame, header included.
    pub(crate) fn frame(&mut self) -> Vec<u8> {
        let mut bytes = self.receive(4);
        let n = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]) as usize;
        bytes.extend(self.receive(n));
        bytes
    }

    /// Receives up to the other side's end; a reset is an end too.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let read = self.stream.read_to_end(&mut bytes);
        if let Err(e) = read {
            assert_eq!(e.kind(), std::io::ErrorKind::ConnectionReset, "{e}");
        }
        bytes
    }

    /// Ends this side only.
    pub(crate) fn half_close(&self) {
        self.stream.shutdown(Shutdown::Write).expect("shut down");
    }
}

/// A packet: header and payload, in as many frames as it takes.
pub(crate) fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(payload.len() + 8);
    let mut sequence = sequence;
    let mut rest = payload;
    loop {
        let (part, after) = rest.split_at(rest.len().min(0x00ff_ffff));
        let length = u32::try_from(part.len()).expect("24 bits").to_le_bytes();
        out.extend_from_slice(&[length[0], length[1], length[2], sequence]);
        out.extend_from_slice(part);
        if part.len() < 0x00ff_ffff {
            return out;
        }
        sequence = sequence.wrapping_add(1);
        rest = after;
    }
}

/// An OK packet without anything to say.
pub(crate) fn ok(sequence: u8) -> Vec<u8> {
    packet(sequence, &[0, 0, 0, 2, 0, 0, 0])
}

/// A statement's packet.
pub(crate) fn query(text: &[u8]) -> Vec<u8> {
    packet(0, &[&[QUERY], text].concat())
}

/// A result of one column and rows with these values.
pub(crate) fn result(values: &[&[u8]]) -> Vec<u8> {
    let mut out = packet(1, &[1]);
    out.extend(packet(2, b"\x03def\0\0\0\x01x\0\x0c\x2d\0\x10\0\0\0\xfd\0\0\0\0\0"));
    let mut sequence = 3;
    for value in values {
        let length = value.len().to_le_bytes();
        let mut row = match value.len() {
            0..=250 => vec![length[0]],
            251..=0xffff => [&[0xfc], &length[..2]].concat(),
            0x1_0000..=0x00ff_ffff => [&[0xfd], &length[..3]].concat(),
            _ => [&[0xfe], &length[..]].concat(),
        };
        row.extend_from_slice(value);
        out.extend(packet(sequence, &row));
        sequence += u8::try_from(1 + row.len() / 0x00ff_ffff).expect("few frames");
    }
    out.extend(packet(sequence, &[0xfe, 0, 0, 2, 0, 0, 0]));
    out
}

/// A greeting's payload.
pub(crate) fn greeting(version: &str, capabilities: u32) -> Vec<u8> {
    let bits = capabilities.to_le_bytes();
    let mut out = vec![10];
    out.extend_from_slice(version.as_bytes());
    out.extend_from_slice(&[0, 7, 0, 0, 0]);
    out.extend_from_slice(b"12345678\0");
    out.extend_from_slice(&bits[..2]);
    out.extend_from_slice(&[255, 2, 0]);
    out.extend_from_slice(&bits[2..]);
    out.push(21);
    out.extend_from_slice(&[0; 10]);
    out.extend_from_slice(b"abcdefghijkl\0mysql_native_password\0");
    out
}

/// A login's payload up to the attributes.
pub(crate) fn login(capabilities: u32) -> Vec<u8> {
    let mut out = capabilities.to_le_bytes().to_vec();
    out.extend_from_slice(&[0, 0, 0, 64, 45]);
    out.extend_from_slice(&[0; 23]);
    out.extend_from_slice(b"somebody\0\0");
    if capabilities & 0x0008_0000 != 0 {
        out.extend_from_slice(b"mysql_native_password\0");
    }
    out
}

/// A proxy in front of a scripted server, with its lock tables on a real one.
pub(crate) struct Scripted {
    pub(crate) proxy: Launched,
    pub(crate) schema: String,
}

impl Scripted {
    /// Each connection gets this payload as its greeting; then it is played.
    pub(crate) fn greeting(
        store: &Server,
        hello: &[u8],
        play: impl Fn(&mut Peer) + Send + Sync + 'static,
    ) -> Self {
        Self::through(Launched::start, store, hello, play)
    }

    /// A scripted server behind a proxy that this function starts.
    fn through(
        start: fn(&str, &str, &[&str]) -> Launched,
        store: &Server,
        hello: &[u8],
        play: impl Fn(&mut Peer) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let backend = listener.local_addr().expect("bound").to_string();
        let (hello, play) = (packet(0, hello), Arc::new(play));
        let real = (store.host.clone(), store.port);
        std::thread::spawn(move || {
            let mut clients = listener.incoming().flatten();
            // The first is the proxy's own, which checks whether this is the store's server: it is told so.
            if let Some(own) = clients.next() {
                join(
                    &own,
                    &TcpStream::connect((real.0.as_str(), real.1)).expect("the store's server"),
                );
            }
            for stream in clients {
                let (hello, play) = (hello.clone(), Arc::clone(&play));
                std::thread::spawn(move || {
                    let mut peer = Peer::new(stream);
                    peer.send(&hello);
                    play(&mut peer);
                });
            }
        });
        let schema = fresh_schema();
        let place = format!("{}/{schema}", store.url.trim_end_matches('/'));
        let proxy = start(&backend, &place, &["--create-schema"]);
        Self { proxy, schema }
    }

    /// A server that accepts every login and then plays.
    pub(crate) fn start(store: &Server, play: impl Fn(&mut Peer) + Send + Sync + 'static) -> Self {
        let hello = greeting(version_like(store), PLAIN);
        Self::greeting(store, &hello, after_login(play))
    }

    /// A scripted server behind a proxy whose pages can be read.
    pub(crate) fn with_pages(
        store: &Server,
        play: impl Fn(&mut Peer) + Send + Sync + 'static,
    ) -> Self {
        let hello = greeting(version_like(store), PLAIN);
        Self::through(Launched::start_with_pages, store, &hello, after_login(play))
    }

    /// A connection that has not said anything yet.
    pub(crate) fn connect(&self) -> Peer {
        Peer::new(TcpStream::connect(("127.0.0.1", self.proxy.port)).expect("a connection"))
    }

    /// A connection that is logged in.
    pub(crate) fn client(&self) -> Peer {
        let mut peer = self.connect();
        peer.frame();
        peer.send(&packet(1, &login(PLAIN)));
        assert_eq!(peer.frame(), ok(2));
        peer
    }

    /// The most memory the proxy ever had, in bytes.
    pub(crate) fn peak_memory(&self) -> u64 {
        let path = format!("/proc/{}/status", self.proxy.pid());
        let status = std::fs::read_to_string(path).expect("the proxy's status");
        let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).expect("VmHWM");
        let kib = line.split_whitespace().next().expect("a number");
        kib.parse::<u64>().expect("a number") * 1024
    }
}

/// Has two peers talk to each other.
fn join(one: &TcpStream, other: &TcpStream) {
    for (from, to) in [(one, other), (other, one)] {
        let (mut from, mut to) =
            (from.try_clone().expect("a copy"), to.try_clone().expect("a copy"));
        std::thread::spawn(move || {
            // However it ends, the other one learns of it.
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
    }
}

/// Accepts a login, and then plays.
fn after_login(
    play: impl Fn(&mut Peer) + Send + Sync + 'static,
) -> impl Fn(&mut Peer) + Send + Sync + 'static {
    move |peer| {
        peer.frame();
        peer.send(&ok(2));
        play(peer);
    }
}

/// A version text of the store's family.
pub(crate) fn version_like(store: &Server) -> &'static str {
    match crate::own_server::flavour_of(store) {
        crate::script::Flavour::MySql => "9.7.4",
        crate::script::Flavour::MariaDb => "5.5.5-10.11.19-MariaDB",
    }
}
