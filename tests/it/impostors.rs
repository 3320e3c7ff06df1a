//! A peer in the server's place: what the proxy tells it of its own account.

use std::fmt::Debug;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

use lockstead::protocol::auth::OwnKey;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::launch::{Launched, SERVE, run};
use crate::own_server::flavour_of;
use crate::proxy::fresh_schema;
use crate::script::{Flavour, Server};
use crate::stage::{eventually, on_both};
use crate::wire::capability::{
    CONNECT_WITH_DB, LONG_PASSWORD, PLUGIN_AUTH, PROTOCOL_41, RESERVED2, SSL,
};

on_both! {
    an_impostor_learns_nothing_of_the_store_s_account
    without_tls_anywhere_no_password_leaves_for_a_probe_s_sake
    no_impostor_learns_the_lock_tables_account
}

/// What the peer has for TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Offers {
    Nothing,
    /// With a certificate of its own.
    Tls,
}

/// What was said on one connection after the greeting, packet by packet, less questions for TLS.
type Said = Vec<Vec<u8>>;

/// Greets as a server, asks for the password, and writes down what it is told.
struct Impostor {
    port: u16,
    logins: Arc<Mutex<Vec<Said>>>,
}

impl Impostor {
    fn start(flavour: Flavour, offers: Offers) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let logins: Arc<Mutex<Vec<Said>>> = Arc::default();
        let all = Arc::clone(&logins);
        let tls = Arc::new(server_config());
        let key = Arc::new(OwnKey::generate().expect("a key"));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (all, tls, key) = (Arc::clone(&all), Arc::clone(&tls), Arc::clone(&key));
                std::thread::spawn(move || {
                    let mut said = Said::new();
                    // The login may end in any way.
                    let _ = hear(stream, (flavour, offers), &tls, key.pem(), &mut said);
                    if !said.is_empty() {
                        all.lock().expect("logins").push(said);
                    }
                });
            }
        });
        Self { port, logins }
    }

    fn logins(&self) -> Vec<Said> {
        self.logins.lock().expect("logins").clone()
    }

    /// Somebody connects through the proxy and leaves.
    fn probe(proxy: u16) {
        let mut stream = TcpStream::connect(("127.0.0.1", proxy)).expect("a connection");
        // The greeting, or an error in its place.
        stream.read_exact(&mut [0; 5]).expect("a packet");
    }
}

fn server_config() -> ServerConfig {
    let dir = std::env::temp_dir().join(fresh_schema());
    let dev = std::env::var("LOCKSTEAD_DEV_DIR").expect("LOCKSTEAD_DEV_DIR");
    let made = Command::new(format!("{dev}/certificates.sh")).arg(&dir).status();
    assert!(made.expect("certificates.sh runs").success());
    let cert = CertificateDer::from_pem_file(dir.join("server-cert.pem")).expect("a certificate");
    let key = PrivateKeyDer::from_pem_file(dir.join("server-key.pem")).expect("a key");
    let _ = std::fs::remove_dir_all(&dir);
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![cert], key)
        .expect("a pair")
}

fn greeting((flavour, offers): (Flavour, Offers)) -> Vec<u8> {
    let version: &[u8] = match flavour {
        Flavour::MySql => b"9.7.4",
        Flavour::MariaDb => b"5.5.5-10.11.19-MariaDB",
    };
    let plain = LONG_PASSWORD | PROTOCOL_41 | RESERVED2 | PLUGIN_AUTH | CONNECT_WITH_DB;
    let bits = if offers == Offers::Tls { plain | SSL } else { plain }.to_le_bytes();
    let tail = b"\x15\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0caching_sha2_password\0";
    // Without a connection's id the proxy cannot tell that it is not the store's server, and starts.
    [b"\x0a", version, b"\0\0\0\0\0abcdefgh\0", &bits[..2], b"\x2d\x02\0", &bits[2..], tail]
        .concat()
}

fn hear(
    mut stream: TcpStream,
    shown: (Flavour, Offers),
    tls: &Arc<ServerConfig>,
    key: &[u8],
    said: &mut Said,
) -> io::Result<()> {
    send(&mut stream, 0, &greeting(shown))?;
    let (seq, first) = receive(&mut stream)?;
    if first.len() > 32 {
        said.push(first);
        return ask(&mut stream, seq, key, said);
    }
    let connection = ServerConnection::new(Arc::clone(tls)).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, stream);
    let (seq, login) = receive(&mut stream)?;
    said.push(login);
    ask(&mut stream, seq, key, said)
}

/// Asks for the password in full, and for it under a key.
fn ask(stream: &mut (impl Read + Write), seq: u8, key: &[u8], said: &mut Said) -> io::Result<()> {
    // A client that has named another plugin is asked for this one.
    let switch = b"\xfecaching_sha2_password\0abcdefghijklmnopqrst\0";
    send(stream, seq + 1, switch)?;
    let (seq, proof) = receive(stream)?;
    said.push(proof);
    send(stream, seq + 1, &[1, 4])?;
    let (seq, answer) = receive(stream)?;
    let asks = answer == [2];
    said.push(answer);
    if asks {
        send(stream, seq + 1, &[&[1], key].concat())?;
        said.push(receive(stream)?.1);
    }
    Ok(())
}

fn send(stream: &mut impl Write, seq: u8, payload: &[u8]) -> io::Result<()> {
    let length = u32::try_from(payload.len()).expect("short").to_le_bytes();
    stream.write_all(&[&length[..3], &[seq], payload].concat())?;
    stream.flush()
}

fn receive(stream: &mut impl Read) -> io::Result<(u8, Vec<u8>)> {
    let mut header = [0; 4];
    stream.read_exact(&mut header)?;
    let mut payload = vec![0; usize::from(header[0]) | usize::from(header[1]) << 8];
    stream.read_exact(&mut payload)?;
    Ok((header[3], payload))
}

/// In mode durable the proxy is not ready before it has compared `backend` and `store`.
const BESIDE: [&str; 3] = ["--create-schema", "--mode", "coexist"];
const USER: &str = "keeper_of_locks";
const PASSWORD: &str = "a-secret-that-is-looked-for";

/// The account of the lock tables, dropped with this.
struct Keeper<'a>(&'a Server, String);

impl<'a> Keeper<'a> {
    fn create(server: &'a Server) -> Self {
        let name = format!("{USER}{:04x}", rand::random::<u16>());
        let how = match flavour_of(server) {
            Flavour::MySql => "IDENTIFIED WITH caching_sha2_password BY",
            Flavour::MariaDb => "IDENTIFIED BY",
        };
        server.root().run(&format!("CREATE USER {name} {how} '{PASSWORD}'"));
        server.root().run(&format!("GRANT ALL ON *.* TO {name}"));
        Self(server, name)
    }

    fn store(&self, port: u16) -> String {
        format!("mysql://{}:{PASSWORD}@127.0.0.1:{port}/{}", self.1, fresh_schema())
    }
}

impl Drop for Keeper<'_> {
    fn drop(&mut self) {
        self.0.root().run(&format!("DROP USER {}", self.1));
    }
}

fn has(packet: &[u8], text: &str) -> bool {
    packet.windows(text.len()).any(|window| window == text.as_bytes())
}

fn assert_says_nothing(said: &Said, case: &dyn Debug) {
    for packet in said {
        assert!(!has(packet, USER), "{case:?}: the account is named: {said:?}");
        assert!(!has(packet, PASSWORD), "{case:?}: its password is told: {said:?}");
    }
    // A proof is something to try passwords on.
    assert!(has(&said[0], "lockstead_probe\0\0"), "{case:?}: not the login of the probe: {said:?}");
    assert!(said[1..].iter().all(|packet| packet.len() <= 1), "{case:?}: {said:?}");
}

fn ca(server: &Server) -> String {
    server.root().column("SELECT @@ssl_ca").concat()
}

fn an_impostor_learns_nothing_of_the_store_s_account(server: &Server) {
    let (keeper, ca) = (Keeper::create(server), ca(server));
    for offers in [Offers::Nothing, Offers::Tls] {
        for demands in [
            &["--backend-tls", "verify-ca"][..],
            &["--backend-tls", "required"],
            &["--backend-tls", "verify-identity", "--store-tls", "verify-identity"],
            &["--store-tls", "verify-ca"],
            &["--tls", "require"],
        ] {
            let case = (offers, demands);
            let impostor = Impostor::start(flavour_of(server), offers);
            let extra = [&BESIDE[..], &["--backend-tls-ca", &ca], demands].concat();
            let backend = format!("127.0.0.1:{}", impostor.port);
            let proxy = Launched::start(&backend, &keeper.store(server.port), &extra);
            for said in impostor.logins() {
                assert_says_nothing(&said, &case);
            }
            let before = impostor.logins().len();
            Impostor::probe(proxy.port);
            eventually("the probe's connection is completed", || {
                (impostor.logins().len() > before).then_some(())
            });
            drop(proxy);
            for said in impostor.logins() {
                assert_says_nothing(&said, &case);
            }
        }
    }
}

fn without_tls_anywhere_no_password_leaves_for_a_probe_s_sake(server: &Server) {
    let keeper = Keeper::create(server);
    let impostor = Impostor::start(flavour_of(server), Offers::Nothing);
    let backend = format!("127.0.0.1:{}", impostor.port);
    let proxy = Launched::start(&backend, &keeper.store(server.port), &BESIDE);
    let before = impostor.logins().len();
    Impostor::probe(proxy.port);
    let said = eventually("the probe's connection is completed", || {
        impostor.logins().get(before).cloned()
    });
    // The proof for a nonce, but neither the question for a key nor what is under it.
    assert_eq!(said.len(), 3, "{said:?}");
    assert_eq!(said[2], [7], "{said:?}");
}

/// Whichever command it is that logs in.
fn no_impostor_learns_the_lock_tables_account(server: &Server) {
    let (keeper, ca) = (Keeper::create(server), ca(server));
    for offers in [Offers::Nothing, Offers::Tls] {
        for mode in ["verify-ca", "verify-identity"] {
            let impostor = Impostor::start(flavour_of(server), offers);
            let (backend, store) =
                (format!("127.0.0.1:{}", impostor.port), keeper.store(impostor.port));
            let place = ["--backend", &backend, "--store", &store, "--state-dir", "off"];
            let place = [&place[..], &["--store-tls", mode, "--backend-tls-ca", &ca]].concat();
            for command in [&["check"][..], &SERVE, &["doctor"], &["schema", "install"]] {
                let done = run(&[command, &place].concat());
                assert!(!done.status.success(), "{command:?}");
            }
            let adopted = run(&[&["adopt", "--yes"][..], &place].concat());
            assert!(!adopted.status.success());
            for said in impostor.logins() {
                assert_says_nothing(&said, &(offers, mode));
            }
        }
    }
}
