//! `lockstead check` and `/readyz` where clients cannot log in, and files that are no good.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use pem::Pem;
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use rustls::pki_types::UnixTime;

use crate::cli::{install, least_rights, text, warns};
use crate::launch::run;
use crate::own_server::{OwnServer, flavour_of};
use crate::proxy::{Proxy, fresh_schema};
use crate::script::Server;
use crate::session::Session;
use crate::stage::{eventually, on_both};
use crate::wire::Client;

on_both! {
    a_server_that_is_not_trusted_is_reported_by_check_and_readyz
    a_server_that_requires_tls_is_reported_too
    certificates_outside_their_validity_are_reported
    a_state_directory_that_cannot_be_written_is_reported
    each_of_several_servers_is_asked_before_check_says_what_it_is
}

/// A folder of a test's own; removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(fresh_schema());
        std::fs::create_dir(&path).expect("a folder");
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("a plain path").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn check(server: &Server, extra: &[&str]) -> Output {
    let backend = format!("127.0.0.1:{}", server.port);
    let store = format!("{}{}", server.url, fresh_schema());
    let place = ["check", "--create-schema", "--backend", &backend, "--store", &store];
    let off = if extra.contains(&"--state-dir") { &[][..] } else { &["--state-dir", "off"] };
    run(&[&place[..], off, extra].concat())
}

/// Runs `check` with lock tables.
fn check_made(server: &Server, extra: &[&str]) -> Output {
    let backend = format!("127.0.0.1:{}", server.port);
    let schema = fresh_schema();
    let store = format!("{}{schema}", server.url);
    let place = ["--backend", &backend, "--store", &store, "--state-dir", "off"];
    let made = run(&[&["schema", "install"], &place[..], extra].concat());
    assert!(made.status.success(), "{}", text(&made));
    run(&[&["check"], &place[..], extra].concat())
}

#[track_caller]
fn assert_fails(checked: &Output, why: &str) {
    let said = text(checked);
    assert_eq!(checked.status.code(), Some(1), "{said}");
    let line = said.lines().find(|line| line.contains("FAILED")).expect("a line");
    assert!(line.contains(why), "{why} in: {said}");
    assert_eq!(said.matches("FAILED").count(), 1, "nothing else failed: {said}");
}

#[track_caller]
fn assert_passes(checked: &Output, what: &str) {
    let said = text(checked);
    assert_eq!(checked.status.code(), Some(0), "{said}");
    assert!(said.contains(what), "{what} in: {said}");
}

fn a_server_that_is_not_trusted_is_reported_by_check_and_readyz(server: &Server) {
    let good = server.root().column("SELECT @@ssl_ca").concat();
    let bad = good.replace("/ca.pem", "/client-cert.pem");
    let folder = Folder::new();
    let ca = folder.file("ca.pem");
    let trust = |file: &str| assert!(std::fs::copy(file, &ca).is_ok());
    for mode in ["verify-ca", "verify-identity"] {
        let settings = ["--backend-tls", mode, "--backend-tls-ca", &ca];
        trust(&bad);
        assert_fails(&check(server, &settings), "no TLS with the server");
        let proxy = Proxy::start(&server.url, &settings);
        let ready = |code: &str| {
            let page = proxy.page("/readyz");
            page.contains(code).then_some(page)
        };
        let said = eventually("it is not ready", || ready(" 503 ").filter(|p| p.contains("TLS")));
        assert!(said.contains("clients cannot log in") && said.contains("certificate"), "{said}");
        assert!(proxy.metric("lockstead_backend_up") < 1.0);
        // A CA that is the right one is seen without any client.
        trust(&good);
        assert_passes(&check(server, &settings), "backend login   ok: TLS");
        proxy.signal("HUP");
        eventually("it is ready", || ready(" 200 "));
        Session::at(proxy.port);
        // And a wrong one by the first client.
        trust(&bad);
        proxy.signal("HUP");
        eventually("a client is refused, and the page tells", || {
            let client = Client::connect("127.0.0.1", proxy.port, &server.root);
            assert!(client.is_ok());
            ready(" 503 ")
        });
    }
    // Clients with TLS would not get in.
    assert_fails(&check(server, &["--backend-tls-ca", &bad]), "no TLS with the server");
    assert_passes(&check(server, &["--backend-tls-ca", &good]), "backend login   ok: TLS");
}

fn a_server_that_requires_tls_is_reported_too(server: &Server) {
    let own = OwnServer::start(flavour_of(server), &["--require-secure-transport=ON"]);
    let mode = |mode| ["--store-tls", "required", "--backend-tls", mode];
    assert_fails(&check_made(&own.server, &mode("off")), "require_secure_transport");
    assert_passes(&check_made(&own.server, &mode("required")), "backend login   ok: TLS");
    let proxy = Proxy::start(&own.server.url, &mode("off"));
    assert!(proxy.log().contains("require_secure_transport"), "{}", proxy.log());
}

/// A self-signed certificate with its key, valid between these days, counted from today.
fn make(folder: &Folder, name: &str, (begin, end): (i64, i64)) -> [String; 2] {
    let moment = |days: i64| {
        let today = Duration::from_secs(UnixTime::now().as_secs());
        let by = Duration::from_hours(24 * days.unsigned_abs());
        let since = if days < 0 { today.saturating_sub(by) } else { today + by };
        rcgen::date_time_ymd(1970, 1, 1) + since
    };
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    (params.not_before, params.not_after) = (moment(begin), moment(end));
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let cert = params.self_signed(&key).expect("a certificate");
    let put = |name: &str, kind: &str, der: &[u8]| {
        let path = folder.file(name);
        std::fs::write(&path, pem::encode(&Pem::new(kind, der))).expect("written");
        path
    };
    [
        put(&format!("{name}-cert.pem"), "CERTIFICATE", cert.der()),
        put(&format!("{name}-key.pem"), "PRIVATE KEY", &key.serialize_der()),
    ]
}

fn certificates_outside_their_validity_are_reported(server: &Server) {
    let folder = Folder::new();
    let good = make(&folder, "good", (-1, 400));
    let soon = make(&folder, "soon", (-1, 10));
    let over = make(&folder, "over", (-10, -1));
    let early = make(&folder, "early", (1, 400));
    let clients = |[cert, key]: &[String; 2]| {
        check(server, &["--tls-cert", cert, "--tls-key", key, "--http", "off"])
    };
    assert_fails(&clients(&over), "tls_cert");
    assert_fails(&clients(&early), "is not valid before");
    assert_passes(&clients(&soon), "expires at");
    let said = text(&clients(&good));
    assert!(!warns(&said), "{said}");
    let pages = |[cert, key]: &[String; 2]| {
        let http = ["--http", "127.0.0.1:0"];
        check(server, &[&["--http-tls-cert", cert, "--http-tls-key", key], &http[..]].concat())
    };
    assert_fails(&pages(&over), "http_tls_cert");
    assert_passes(&pages(&good), "configuration   ok");
    let vouched =
        |ca: &str| check(server, &["--tls-client-ca", ca, "--tls-client-cert", "request"]);
    assert_fails(&vouched(&over[0]), "tls_client_ca");
    // One of several suffices.
    let both = folder.file("both.pem");
    let all = [&over[0], &good[0]].map(|file| std::fs::read(file).expect("read")).concat();
    std::fs::write(&both, all).expect("written");
    assert_passes(&vouched(&both), "expired at");
}

fn a_state_directory_that_cannot_be_written_is_reported(server: &Server) {
    let folder = Folder::new();
    let file = folder.file("file");
    std::fs::write(&file, "").expect("written");
    for dir in [file.clone(), format!("{file}/below"), "/proc/lockstead".to_owned()] {
        assert_fails(&check(server, &["--state-dir", &dir]), "state directory");
    }
    let there = folder.0.to_string_lossy();
    assert_passes(&check(server, &["--state-dir", &there]), "state directory ok");
    let left = std::fs::read_dir(&folder.0).expect("a folder").count();
    assert_eq!(left, 1, "what was written is gone");
    let new = format!("{there}/a/b");
    assert_passes(&check(server, &["--state-dir", &new]), "created at start");
    assert!(!Path::new(&new).exists());
}

/// The writer is known before a slow server has answered.
fn each_of_several_servers_is_asked_before_check_says_what_it_is(server: &Server) {
    let mute = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let slow = format!("127.0.0.1:{}", mute.local_addr().expect("an address").port());
    let (schema, account) = (fresh_schema(), fresh_schema().replace("lockstead_t", "lt_"));
    install(server, &schema);
    let mut root = server.root();
    root.run(&format!("CREATE USER {account}@'%' IDENTIFIED BY 'pw'"));
    for right in least_rights(server) {
        root.run(&format!("GRANT {} TO {account}@'%'", right.replace('$', &schema)));
    }
    let backends = format!("127.0.0.1:{},{slow}", server.port);
    let store = format!("mysql://{account}:pw@/{schema}");
    let place = ["check", "--backend", &backends, "--store", &store, "--state-dir", "off"];
    let checked = run(&place);
    assert_fails(&checked, &format!("{slow} does not answer"));
    root.run(&format!("DROP USER {account}@'%'"));
    root.run(&format!("DROP DATABASE {schema}"));
}
